//! The sync under way, and when the next one is due.

use std::time::{Duration, Instant};

use beads_store::{MAX_ROUNDS, Pace};
use tokio::sync::{mpsc, oneshot};

use crate::config::Config;
use crate::failure::{Code, Failure};
use crate::request::{Reply, Request};
use crate::service::{Reach, SyncResult};

/// After a sync that failed, the next try waits this long, and twice as long each time, up to the second.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(15);

/// A server that says that it is asked too often is left alone for as long as it asks, up to the second. When it does not say how
/// long, or the git library keeps that to itself, it is the first, and twice as long each time it says so again.
const RATE_LIMITED: Duration = Duration::from_secs(60);
const LONGEST_RATE_LIMITED: Duration = Duration::from_secs(15 * 60);

/// How often a daemon looks for changes of others while they are at work and somebody here waits for something.
const FAST_INTERVAL: Duration = Duration::from_secs(2);

/// A client that waits for a sync.
pub struct Waiter {
    pub reply: oneshot::Sender<Reply>,
    pub request: Request,
    /// A claim that the sync is to confirm, as it will be shown.
    pub claimed: Option<serde_json::Value>,
}

/// A moment before which nothing is tried, because the last try failed; and how long that pause was.
type Retry = Option<(Instant, Duration)>;

pub struct Saver {
    pub results: mpsc::UnboundedReceiver<Result<SyncResult, Failure>>,
    pub send: mpsc::UnboundedSender<Result<SyncResult, Failure>>,
    pub running: bool,
    /// The first and the latest change that is not on the ref.
    first_change: Option<Instant>,
    last_change: Option<Instant>,
    retry: Retry,
    /// The same for the remote alone: saving here goes on while it is away.
    remote_retry: Retry,
    last_exchange: Instant,
    /// How contended the remote has been, and until when it is left to others on that account.
    pace: Pace,
    breather: Option<Instant>,
    /// Something was saved here meanwhile that the remote does not have.
    owed: bool,
    /// Until when it is kept back to stay within the budget of pushes.
    budget: Option<Instant>,
    /// Somebody asked for the sync under way.
    pub asked: bool,
    /// Others are at work, and somebody here waits for what they do.
    pub eager: bool,
    /// Who waits for the sync under way, and who for the one after it.
    pub waiting: Vec<Waiter>,
    pub next_waiting: Vec<Waiter>,
}

impl Default for Saver {
    fn default() -> Self {
        let (send, results) = mpsc::unbounded_channel();
        Self {
            results,
            send,
            running: false,
            first_change: None,
            last_change: None,
            retry: None,
            remote_retry: None,
            last_exchange: Instant::now(),
            pace: Pace::default(),
            breather: None,
            owed: false,
            budget: None,
            asked: false,
            eager: false,
            waiting: Vec::new(),
            next_waiting: Vec::new(),
        }
    }
}

impl Saver {
    pub fn changed(&mut self, now: Instant) {
        self.first_change.get_or_insert(now);
        self.last_change = Some(now);
    }

    /// After a little quiet, but never longer after the first change than the maximum.
    pub fn save_due(&self, config: &Config) -> Option<Instant> {
        if self.running {
            return None;
        }
        let quiet = self.last_change? + config.duration("sync.quiet");
        let latest = self.first_change? + config.duration("sync.max_delay");
        let due = quiet.min(latest);
        Some(self.retry.map_or(due, |(not_before, _)| due.max(not_before)))
    }

    /// Returns when to look for changes of others, to push what was kept back, or to try a failed remote again.
    pub fn exchange_due(&self, config: &Config) -> Option<Instant> {
        if self.running {
            return None;
        }
        if let Some((not_before, _)) = self.remote_retry {
            return Some(not_before);
        }
        let kept_back = self.breather.max(self.budget).filter(|_| self.owed);
        let due = [self.look_due(config), kept_back].into_iter().flatten().min()?;
        Some(self.breather.map_or(due, |breather| due.max(breather)))
    }

    /// Returns when to look for changes of others. The budget of pushes does not delay that.
    fn look_due(&self, config: &Config) -> Option<Instant> {
        let interval = config.duration("sync.interval");
        let interval = if self.eager { interval.min(FAST_INTERVAL) } else { interval };
        (!interval.is_zero()).then(|| self.last_exchange + interval)
    }

    /// When an exchange can be had that is wanted before its time: not while the remote is failing or left to others, and not at
    /// once after the last.
    pub fn sooner(&self, wanted: Instant) -> Option<Instant> {
        let spared = self.running || self.remote_retry.is_some();
        let earliest = self.last_exchange + FIRST_RETRY;
        let earliest = self.breather.map_or(earliest, |breather| breather.max(earliest));
        (!spared).then(|| wanted.max(earliest))
    }

    /// Begins a sync and returns how far it goes. A background sync leaves a failing or contended remote alone, and pushes nothing
    /// while the budget is used up.
    pub fn begun(&mut self, asked: bool, budget: Option<Instant>, config: &Config, now: Instant) -> Reach {
        (self.asked, self.budget) = (asked, budget);
        (self.first_change, self.last_change) = (None, None);
        let failing = self.remote_retry.is_some_and(|(not_before, _)| now < not_before);
        let resting = self.remote_retry.is_none() && self.breather.is_some_and(|until| now < until);
        let may_push = asked || budget.is_none_or(|until| until <= now);
        let may_look = may_push || self.look_due(config).is_some_and(|due| due <= now);
        let reach = match () {
            () if !asked && (failing || resting) || !may_look => Reach::Local,
            () if may_push => Reach::Remote { asked },
            () => Reach::Fetch,
        };
        self.owed = !may_push || reach == Reach::Local;
        if reach != Reach::Local {
            self.last_exchange = now;
        }
        reach
    }

    /// A fetch begins, which pushes nothing: whatever is due stays due.
    pub fn begun_fetch(&mut self) {
        self.asked = true;
    }

    /// Takes note of how many races an exchange took.
    pub fn raced(&mut self, result: Option<&SyncResult>, now: Instant) {
        let rounds = result
            .map(|result| &result.exchanged)
            .filter(|exchanged| exchanged.remote.is_some() && matches!(exchanged.reach, Reach::Remote { .. }))
            .and_then(|exchanged| match &exchanged.outcome {
                Ok(exchange) => Some(exchange.rounds),
                Err(failure) => is_contention(failure).then_some(MAX_ROUNDS),
            });
        let Some(rounds) = rounds else { return };
        let elapsed = now.saturating_duration_since(self.last_exchange);
        let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.pace.exchanged(rounds, elapsed);
        let pause = Duration::from_millis(self.pace.pause_ms(getrandom::u64().unwrap_or_default()));
        self.breather = (!pause.is_zero()).then(|| now + pause);
    }

    pub fn saved(&mut self) {
        self.retry = None;
    }

    pub fn exchanged(&mut self) {
        (self.retry, self.remote_retry) = (None, None);
    }

    pub fn failed(&mut self, now: Instant) {
        self.retry = longer(self.retry, now);
    }

    /// A remote that many want is not failing: who lost all its races is the next in turn.
    pub fn remote_failed(&mut self, failure: &Failure, now: Instant) {
        if is_rate_limit(failure) {
            let before = self.remote_retry.map(|(_, pause)| pause).filter(|pause| *pause >= RATE_LIMITED);
            let pause =
                wanted_pause(failure).unwrap_or_else(|| before.map_or(RATE_LIMITED, |pause| pause * 2));
            let pause = pause.clamp(FIRST_RETRY, LONGEST_RATE_LIMITED);
            self.remote_retry = Some((now + pause.mul_f64(1.0 + fraction() / 4.0), pause));
            return;
        }
        if !is_contention(failure) {
            // Somebody who asks in vain does not make the others wait longer.
            if !(self.asked && self.remote_retry.is_some()) {
                self.remote_retry = longer(self.remote_retry, now);
            }
            return;
        }
        let pause = FIRST_RETRY.mul_f64(fraction());
        self.remote_retry = Some((now + pause, FIRST_RETRY));
    }
}

fn longer(retry: Retry, now: Instant) -> Retry {
    let pause = retry.map_or(FIRST_RETRY, |(_, pause)| (pause * 2).min(LAST_RETRY));
    // Machines that failed together do not come back together.
    Some((now + pause.mul_f64(0.5 + fraction() / 2.0), pause))
}

/// A number between 0 and 1.
fn fraction() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

/// Returns how long the server asked to be left alone.
fn wanted_pause(failure: &Failure) -> Option<Duration> {
    failure.details["retry_after_s"].as_u64().map(Duration::from_secs)
}

/// Returns whether a server said that it is asked too often.
fn is_rate_limit(failure: &Failure) -> bool {
    if wanted_pause(failure).is_some() {
        return true;
    }
    let said = failure.message.to_ascii_lowercase();
    let signs = ["error: 429", "status code: 429", "too many requests", "rate limit", "rate-limit"];
    failure.code == Code::NetworkError && signs.iter().any(|sign| said.contains(sign))
}

fn is_contention(failure: &Failure) -> bool {
    failure.code == Code::SyncContention
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ASKED: Reach = Reach::Remote { asked: true };
    const UNASKED: Reach = Reach::Remote { asked: false };
    const LONG: Duration = Duration::from_secs(3_600);

    fn contention() -> Failure {
        Failure::new(Code::SyncContention, "others were faster")
    }

    fn begun(saver: &mut Saver, asked: bool, budget: Option<Instant>, now: Instant) -> Reach {
        saver.begun(asked, budget, &Config::default(), now)
    }

    /// Else a daemon would wake for it again and again.
    fn is_done_when_due(saver: &mut Saver) {
        let due = saver.exchange_due(&Config::default()).expect("something is due");
        assert_eq!(begun(saver, false, None, due), UNASKED, "what is due is not put off again");
    }

    #[test]
    fn what_was_kept_back_for_others_is_due_when_their_time_is_over() {
        let mut saver = Saver::default();
        let now = Instant::now();
        saver.breather = Some(now + Duration::from_secs(5));
        assert_eq!(begun(&mut saver, false, None, now), Reach::Local);
        assert_eq!(saver.exchange_due(&Config::default()), saver.breather);
        is_done_when_due(&mut saver);
        assert!(saver.exchange_due(&Config::default()) > saver.breather, "nothing is owed any more");
    }

    #[test]
    fn somebody_who_asks_does_not_wait_for_others() {
        let mut saver = Saver::default();
        let now = Instant::now();
        saver.breather = Some(now + LONG);
        assert_eq!(begun(&mut saver, true, None, now), ASKED);
    }

    #[test]
    fn a_lost_contest_is_tried_again_soon_however_often_and_a_failing_remote_ever_later() {
        let mut saver = Saver { breather: Some(Instant::now() + LONG), ..Saver::default() };
        for _ in 0..10 {
            saver.remote_failed(&contention(), Instant::now());
            let due = saver.exchange_due(&Config::default()).expect("it is tried again");
            assert!(due <= Instant::now() + FIRST_RETRY);
            is_done_when_due(&mut saver);
        }
        for _ in 0..40 {
            saver.remote_failed(&away(), Instant::now());
        }
        let due = saver.exchange_due(&Config::default()).expect("it is tried again");
        assert!(due > Instant::now() + 4 * FIRST_RETRY && due <= Instant::now() + LAST_RETRY);
        is_done_when_due(&mut saver);
    }

    fn away() -> Failure {
        Failure::new(Code::NetworkError, "away")
    }

    #[test]
    fn an_explicit_attempt_never_lengthens_the_pause() {
        let mut saver = Saver::default();
        saver.remote_failed(&away(), Instant::now());
        let before = saver.remote_retry;
        for _ in 0..10 {
            assert_eq!(begun(&mut saver, true, None, Instant::now()), ASKED);
            saver.remote_failed(&away(), Instant::now());
        }
        assert_eq!(saver.remote_retry, before);
    }

    #[test]
    fn a_server_that_is_asked_too_often_is_left_alone() {
        let mut saver = Saver::default();
        let said = "fatal: unable to access: The requested URL returned error: 429";
        saver.remote_failed(&Failure::new(Code::NetworkError, said), Instant::now());
        assert!(saver.exchange_due(&Config::default()) >= Some(Instant::now() + RATE_LIMITED / 2));
        for _ in 0..9 {
            saver.remote_failed(&Failure::new(Code::NetworkError, said), Instant::now());
        }
        let due = saver.exchange_due(&Config::default());
        assert!(due >= Some(Instant::now() + LONGEST_RATE_LIMITED / 2), "ever longer while it says so");
        assert!(due <= Some(Instant::now() + LONGEST_RATE_LIMITED * 2));
        saver.remote_failed(&away(), Instant::now());
        assert!(saver.exchange_due(&Config::default()) <= Some(Instant::now() + LAST_RETRY));
    }

    #[test]
    fn a_server_is_left_alone_for_as_long_as_it_asks() {
        let mut saver = Saver::default();
        for (asked, expected) in [(120, 120), (7, 7), (0, 1), (u64::MAX, 15 * 60)] {
            let failure =
                Failure::new(Code::NetworkError, "error: 403").with(json!({"retry_after_s": asked}));
            saver.remote_failed(&failure, Instant::now());
            let (earliest, latest) = (Duration::from_secs(expected), Duration::from_secs(expected * 2));
            let due = saver.exchange_due(&Config::default());
            assert!(due > Some(Instant::now() + earliest - FIRST_RETRY), "{asked}");
            assert!(due < Some(Instant::now() + latest), "{asked}");
        }
    }

    #[test]
    fn what_the_budget_keeps_back_is_due_when_there_is_room_again() {
        let mut saver = Saver::default();
        let now = Instant::now();
        let room = now + Duration::from_secs(9);
        assert_eq!(begun(&mut saver, false, Some(room), now), Reach::Local);
        assert_eq!(saver.exchange_due(&Config::default()), Some(room));
        assert_eq!(begun(&mut saver, false, None, room), UNASKED);
        assert_eq!(begun(&mut saver, true, Some(room), now), ASKED, "who asks does not wait");
    }

    #[test]
    fn a_spent_budget_delays_pushes_and_not_fetches() {
        let mut saver = Saver::default();
        let interval = Config::default().duration("sync.interval");
        let start = saver.last_exchange;
        let (look, room) = (start + interval, start + 10 * interval);
        assert_eq!(begun(&mut saver, false, Some(room), start), Reach::Local);
        assert_eq!(saver.exchange_due(&Config::default()), Some(look));
        assert_eq!(begun(&mut saver, false, Some(room), look), Reach::Fetch);
        assert_eq!(saver.exchange_due(&Config::default()), Some(look + interval), "and again");
        assert_eq!(begun(&mut saver, false, None, room), UNASKED, "what was kept back is pushed");
    }

    #[test]
    fn others_are_looked_for_more_often_while_somebody_waits_for_them() {
        let saver = Saver { eager: true, ..Saver::default() };
        assert!(saver.exchange_due(&Config::default()) <= Some(Instant::now() + FAST_INTERVAL));
    }

    /// Counts how often an idle daemon tries a remote in so many minutes, when each try fails in the same way and takes no time. The clock is that of the test.
    fn tries(failure: &Failure, minutes: u64) -> usize {
        let start = Instant::now();
        let end = start + Duration::from_secs(60 * minutes);
        let mut saver = Saver { last_exchange: start, ..Saver::default() };
        saver.changed(start);
        let (mut now, mut tries, mut wakes) = (start, 0, 0);
        loop {
            let config = Config::default();
            let due = [saver.save_due(&config), saver.exchange_due(&config)].into_iter().flatten().min();
            now = now.max(due.expect("something is always due"));
            if now > end {
                return tries;
            }
            wakes += 1;
            assert!(wakes < 10_000, "a daemon that spins");
            if begun(&mut saver, false, None, now) != Reach::Local {
                tries += 1;
                saver.remote_failed(failure, now);
            }
        }
    }

    /// A remote with a branch `beads`, one with a stale lock file on the ref, and a push address that is another repository all
    /// answer so (`store/tests/refused_refs.rs`). Taken for a lost race, they were asked 399 to 588 times a minute.
    #[test]
    fn an_idle_daemon_asks_a_remote_that_refuses_its_ref_a_few_times_a_minute() {
        for code in [Code::PushRefused, Code::GitError, Code::NetworkError, Code::RemoteInvalid] {
            let failure = Failure::new(code.clone(), "it will not");
            let (first, hour) = (tries(&failure, 1), tries(&failure, 60));
            assert!((1..=12).contains(&first), "{code}: {first} tries in the first minute");
            assert!((60..=8 * 60).contains(&hour), "{code}: {hour} tries in an hour");
        }
    }
}
