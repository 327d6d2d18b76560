//! Time and fresh ids: the two things a command takes from outside. Both can be fixed for tests.

use super::error::{Error, Reason, Result};
use super::moment::Moment;

/// `BB_NOW` stops the clock, `BB_ID` fixes the next id.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    now: Option<Moment>,
    id: Option<String>,
}

/// Four hex digits as the contract prints them, then longer ones: the second of a busy swarm has more messages than
/// four digits can tell apart.
const TAG_LENGTHS: [usize; 4] = [4, 4, 8, 16];

impl Clock {
    /// The wall clock and random ids.
    pub fn system() -> Clock {
        Clock::default()
    }

    /// As the environment says.
    pub fn from_env() -> Result<Clock> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let now = set("BB_NOW").map(|text| {
            let bad = |_| Error::invalid(Reason::InvalidNow, format!("BB_NOW is not RFC 3339: '{text}'."));
            text.parse().map_err(bad)
        });
        Clock::fixed(now.transpose()?, set("BB_ID"))
    }

    /// What is `None` comes from the system.
    pub fn fixed(now: Option<Moment>, id: Option<String>) -> Result<Clock> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if let Some(id) = &id
            && (id.is_empty() || id.len() > 64 || !id.bytes().all(plain))
        {
            let message = format!("BB_ID takes 1 to 64 letters, digits, '_' and '-', not '{id}'.");
            return Err(Error::invalid(Reason::InvalidId, message));
        }
        Ok(Clock { now, id })
    }

    /// The same clock, with the next id fixed.
    pub fn with_id(self, id: &str) -> Result<Clock> {
        Clock::fixed(self.now, Some(id.to_owned()))
    }

    pub fn now(&self) -> Moment {
        self.now.unwrap_or_else(Moment::now)
    }

    /// A new id `<prefix><time>_<tag>` for which `taken` says no. A fixed id that starts with the prefix is the whole
    /// id, any other the tag.
    pub fn mint(&self, prefix: &str, now: Moment, taken: impl Fn(&str) -> Result<bool>) -> Result<String> {
        let made = |tag: &str| format!("{prefix}{}_{tag}", now.compact());
        if let Some(fixed) = &self.id {
            let id = if fixed.starts_with(prefix) { fixed.clone() } else { made(fixed) };
            return if taken(&id)? { Err(exhausted(&id)) } else { Ok(id) };
        }
        for length in TAG_LENGTHS {
            let id = made(&random_hex(length)?);
            if !taken(&id)? {
                return Ok(id);
            }
        }
        Err(exhausted(prefix))
    }
}

fn exhausted(id: &str) -> Error {
    Error::invalid(Reason::IdTaken, format!("The id '{id}' is already taken. Nothing was changed."))
}

fn random_hex(length: usize) -> Result<String> {
    let bits = getrandom::u64()
        .map_err(|why| Error::unreadable(std::path::Path::new("the system's random source"), why))?;
    Ok(format!("{bits:016x}")[..length].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Moment {
        "2026-02-13T22:00:01Z".parse().unwrap()
    }

    #[test]
    fn a_fixed_id_is_whole_or_a_tag() {
        let fixed = |id: &str| Clock::fixed(None, Some(id.to_owned())).unwrap();
        assert_eq!(fixed("7f3c").mint("msg_", at(), |_| Ok(false)).unwrap(), "msg_20260213_220001_7f3c");
        assert_eq!(fixed("msg_x").mint("msg_", at(), |_| Ok(false)).unwrap(), "msg_x");
        let taken = fixed("7f3c").mint("msg_", at(), |_| Ok(true)).unwrap_err();
        assert_eq!(taken.reason, Some(Reason::IdTaken));
        assert!(Clock::fixed(None, Some("a/b".to_owned())).is_err());
    }

    #[test]
    fn a_taken_id_makes_room_for_a_longer_one() {
        let id = Clock::system().mint("msg_", at(), |id| Ok(id.len() < 30)).unwrap();
        assert_eq!(id.len(), "msg_20260213_220001_".len() + 16);
    }
}
