//! The time and new ids, the two nondeterministic inputs of a command. Tests can fix both.

use super::error::{Error, Reason, Result};
use super::moment::Moment;

/// A source of time and ids. `BB_NOW` fixes the time, `BB_ID` the next id.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    now: Option<Moment>,
    id: Option<String>,
}

/// Four hex digits as in the contract, then longer tags: a busy swarm can send more messages in one second
/// than four digits can distinguish.
const TAG_LENGTHS: [usize; 4] = [4, 4, 8, 16];

impl Clock {
    /// Returns the wall clock with random ids.
    pub fn system() -> Clock {
        Clock::default()
    }

    /// Builds a clock from `BB_NOW` and `BB_ID`.
    pub fn from_env() -> Result<Clock> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let now = set("BB_NOW").map(|text| {
            let bad = |_| Error::invalid(Reason::InvalidNow, format!("BB_NOW is not RFC 3339: '{text}'."));
            text.parse().map_err(bad)
        });
        Clock::fixed(now.transpose()?, set("BB_ID"))
    }

    /// Fixes the time, the id, or both; `None` means the system's.
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

    /// Returns the same clock with the next id fixed.
    pub fn with_id(self, id: &str) -> Result<Clock> {
        Clock::fixed(self.now, Some(id.to_owned()))
    }

    pub fn now(&self) -> Moment {
        self.now.unwrap_or_else(Moment::now)
    }

    /// Mints an id `<prefix><time>_<tag>` that is not `taken`. A fixed id that starts with the prefix is used
    /// whole, any other as the tag.
    pub fn mint(&self, prefix: &str, now: Moment, taken: impl Fn(&str) -> Result<bool>) -> Result<String> {
        let made = |tag: &str| format!("{prefix}{}_{tag}", now.compact());
        if let Some(fixed) = &self.id {
            let id = if fixed.starts_with(prefix) { fixed.clone() } else { made(fixed) };
            return if taken(&id)? { Err(id_taken(&id)) } else { Ok(id) };
        }
        for length in TAG_LENGTHS {
            let id = made(&random_hex(length)?);
            if !taken(&id)? {
                return Ok(id);
            }
        }
        Err(id_taken(prefix))
    }
}

fn id_taken(id: &str) -> Error {
    Error::invalid(Reason::IdTaken, format!("The id '{id}' is already taken. Nothing was changed."))
}

fn random_hex(length: usize) -> Result<String> {
    let bits = beads_store::random_u64()
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
    fn a_fixed_id_is_used_whole_or_as_the_tag() {
        let fixed = |id: &str| Clock::fixed(None, Some(id.to_owned())).unwrap();
        assert_eq!(fixed("7f3c").mint("msg_", at(), |_| Ok(false)).unwrap(), "msg_20260213_220001_7f3c");
        assert_eq!(fixed("msg_x").mint("msg_", at(), |_| Ok(false)).unwrap(), "msg_x");
        let taken = fixed("7f3c").mint("msg_", at(), |_| Ok(true)).unwrap_err();
        assert_eq!(taken.reason, Some(Reason::IdTaken));
        assert!(Clock::fixed(None, Some("a/b".to_owned())).is_err());
    }

    #[test]
    fn a_taken_id_is_replaced_by_a_longer_one() {
        let id = Clock::system().mint("msg_", at(), |id| Ok(id.len() < 30)).unwrap();
        assert_eq!(id.len(), "msg_20260213_220001_".len() + 16);
    }
}
