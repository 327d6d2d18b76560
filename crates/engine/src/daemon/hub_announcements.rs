//! Whether the hub can notify this machine.
//!
//! A pooler may pass the notification that a machine sends to itself, because both statements reach the same connection of
//! the server, and none of those that follow. So what a notification should have announced is noticed when it is missing.

/// After this many changes that no notification announced, notifications are not relied on any more.
const MAX_MISSED: u32 = 3;

/// Whether the changes of other machines are announced on one connection.
#[derive(Debug, Default)]
pub struct Announcements {
    arrive: bool,
    polls: u32,
    missed: u32,
}

impl Announcements {
    /// Returns whether a notification will announce the next change, so that polling is not needed.
    pub fn arrive(&self) -> bool {
        self.arrive
    }

    /// Records a notification. Returns what changed, if something did.
    pub fn heard(&mut self) -> Option<bool> {
        self.changed(self.missed < MAX_MISSED)
    }

    /// Records a timed poll, and whether it brought changes of other machines. Returns what changed, if something did.
    pub fn polled(&mut self, brought_news: bool) -> Option<bool> {
        self.polls += 1;
        if self.arrive && brought_news {
            self.missed += 1;
            return self.changed(false);
        }
        (!self.arrive && self.polls == 2).then_some(false)
    }

    fn changed(&mut self, arrive: bool) -> Option<bool> {
        let before = std::mem::replace(&mut self.arrive, arrive);
        (before != arrive).then_some(arrive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_hears_nothing_polls() {
        let mut announcements = Announcements::default();
        assert_eq!(announcements.polled(false), None);
        assert_eq!(announcements.polled(true), Some(false));
        assert!(!announcements.arrive());
    }

    #[test]
    fn a_change_that_was_not_announced_shows_that_notifications_do_not_arrive() {
        let mut announcements = Announcements::default();
        assert_eq!(announcements.heard(), Some(true), "its own notification");
        assert_eq!(announcements.polled(false), None);
        assert_eq!(announcements.polled(true), Some(false));
        assert_eq!(announcements.polled(true), None, "it polls already");
    }

    #[test]
    fn one_lost_notification_is_forgiven() {
        let mut announcements = Announcements::default();
        for _ in 0..MAX_MISSED {
            assert_eq!(announcements.heard(), Some(true));
            assert_eq!(announcements.heard(), None);
            assert_eq!(announcements.polled(true), Some(false));
        }
        assert_eq!(announcements.heard(), None);
        assert!(!announcements.arrive(), "too many were lost");
    }
}
