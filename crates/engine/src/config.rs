//! Settings of one replica. Every key has an effect; a key that nobody knows is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::limits::MIN_TOMBSTONE_TTL_MS;
use beads_store::{Transport, replace_file};

use crate::dialect::Dialect;
use crate::failure::{Code, Failure};
use crate::scope::Scope;

/// The prefix of minted ids is not local: it lives in the store and is the same on every replica.
pub const PREFIX_KEY: &str = "issue_prefix";

/// Settings that live in the store, too, with what they do. They are the same on every replica.
pub const REPLICATED: &[(&str, &str)] = &[
    (
        beads_core::STATUS_CUSTOM,
        "words for statuses on every replica, such as qa:in_progress,someday:frozen; open when it is not said",
    ),
    (
        beads_core::CLOSE_CHECK,
        "what bd close does about open blockers and open children: warn, refuse or off [default: warn]",
    ),
    (
        beads_core::CLOSE_REQUIRE_EVIDENCE,
        "whether a closing needs --evidence: off, warn or require [default: off]",
    ),
    (
        beads_core::CLAIM_REF_PREFIX,
        "where claim refs are, on every replica, such as refs/heads/beads-claims/; refs/beads/claims/ when empty",
    ),
    (beads_core::TYPE_CUSTOM, "words for types on every replica, such as rfc:epic; task when it is not said"),
];

/// Whether a setting is kept in the store and not with this replica.
pub fn is_replicated(key: &str) -> bool {
    REPLICATED.iter().any(|(known, _)| *known == key)
}

/// A key, its default, and what it does.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub default: &'static str,
    pub about: &'static str,
    /// Refuses what the setting could not mean.
    check: fn(&str) -> Result<(), Failure>,
    /// What a duration may be. A value outside, from a file of an earlier version, counts as the nearest bound.
    bounds: Option<Bounds>,
}

/// The shortest and the longest a duration may be, and whether 0 is fine beside them.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least: Duration,
    most: Duration,
    zero: bool,
}

impl Bounds {
    const fn new(least: Duration, most: Duration) -> Option<Self> {
        Some(Self { least, most, zero: false })
    }

    fn check(self, value: Duration) -> Result<(), Failure> {
        if self.clamp(value) == value {
            return Ok(());
        }
        let or_zero = if self.zero { "0, or " } else { "" };
        Err(Failure::invalid(format!("must be {or_zero}from {:?} to {:?}", self.least, self.most)))
    }

    fn clamp(self, value: Duration) -> Duration {
        if self.zero && value.is_zero() { value } else { value.clamp(self.least, self.most) }
    }
}

/// More than ten pushes a second are no limit.
const MAX_PUSH_RATE: u32 = 600;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub const KEYS: &[Key] = &[
    Key {
        name: "actor",
        default: "",
        about: "who acts, unless --actor or $BD_ACTOR says so; user@host, and the worktree's name in a linked one, when empty",
        check: is_actor,
        bounds: None,
    },
    Key {
        name: "claim.lease",
        default: "2h",
        about: "how long a claim lasts",
        check: is_duration,
        // A shorter one has run out before its holder can renew it.
        bounds: Bounds::new(SECOND, YEAR),
    },
    Key {
        name: "claim.scope",
        default: "auto",
        about: "where a claim is decided: remote by a ref on the remote, local on this machine, auto remote while others are at work",
        check: is_scope,
        bounds: None,
    },
    Key {
        name: "claim.timeout",
        default: "3s",
        about: "how long a claim waits for the remote",
        check: is_duration,
        bounds: Bounds::new(Duration::from_millis(100), DAY),
    },
    Key {
        name: "daemon.idle",
        default: "30m",
        about: "how long the daemon stays without being asked anything",
        check: is_duration,
        bounds: Bounds::new(Duration::from_millis(10), YEAR),
    },
    Key {
        name: "export.path",
        default: "",
        about: "a file that is kept up to date as bd export writes it, relative to the main work tree; none when empty",
        check: |_| Ok(()),
        bounds: None,
    },
    Key {
        name: "json.dialect",
        default: "",
        about: "what --json prints: spec or compat; by the caller when empty",
        check: is_dialect,
        bounds: None,
    },
    Key {
        name: "sync.auto",
        default: "",
        about: "true: publish a new store to the remote without being asked; false: no exchange but bd sync; when empty, join a store that the remote has",
        check: is_switch,
        bounds: None,
    },
    Key {
        name: "sync.deadline",
        default: "60s",
        about: "how long a whole sync may take, from 1s to 1d",
        check: is_duration,
        bounds: Bounds::new(SECOND, DAY),
    },
    Key {
        name: "gc.tombstone_ttl",
        default: "",
        about: "forget deletions older than this, at least 7d; never when empty",
        check: is_ttl,
        bounds: None,
    },
    Key {
        name: "sync.interval",
        default: "60s",
        about: "how often a running daemon looks for changes of others, at least 1s; 0 for never",
        check: is_duration,
        bounds: Some(Bounds { least: SECOND, most: YEAR, zero: true }),
    },
    Key {
        name: "sync.max_delay",
        default: "5s",
        about: "the longest a change waits to be saved and pushed",
        check: is_duration,
        bounds: Bounds::new(Duration::ZERO, DAY),
    },
    Key {
        name: "sync.push_rate",
        default: "",
        about: "pushes a minute that all machines share; 6 over a network and any number to a path when empty, 0 for any number",
        check: is_rate,
        bounds: None,
    },
    Key {
        name: "sync.quiet",
        default: "500ms",
        about: "how long to wait for more changes before saving and pushing",
        check: is_duration,
        bounds: Bounds::new(Duration::ZERO, DAY),
    },
    Key {
        name: "sync.remote",
        default: "",
        about: "the remote to synchronise with; origin or the only one when empty, none for \"none\"",
        check: |_| Ok(()),
        bounds: None,
    },
    Key {
        name: "sync.transport",
        default: "auto",
        about: "auto, git or native",
        check: is_transport,
        bounds: None,
    },
];

fn is_duration(value: &str) -> Result<(), Failure> {
    parse_duration(value).map(|_| ())
}

fn is_actor(value: &str) -> Result<(), Failure> {
    if value.is_empty() {
        return Ok(());
    }
    Ok(value.parse::<beads_core::Actor>().map(|_| ())?)
}

fn is_switch(value: &str) -> Result<(), Failure> {
    match value {
        "" | "true" | "false" => Ok(()),
        _ => Err(Failure::invalid("must be true, false or empty")),
    }
}

fn is_scope(value: &str) -> Result<(), Failure> {
    value.parse::<Scope>().map(|_| ()).map_err(Failure::invalid)
}

fn is_rate(value: &str) -> Result<(), Failure> {
    let fits = value.is_empty() || value.parse::<u32>().is_ok_and(|rate| rate <= MAX_PUSH_RATE);
    if fits {
        Ok(())
    } else {
        Err(Failure::invalid(format!("{value:?} is not a number up to {MAX_PUSH_RATE}")))
    }
}

fn is_ttl(value: &str) -> Result<(), Failure> {
    let least = Duration::from_millis(MIN_TOMBSTONE_TTL_MS);
    if value.is_empty() || parse_duration(value)? >= least {
        return Ok(());
    }
    Err(Failure::invalid("deletions are remembered for at least 7d"))
}

fn is_dialect(value: &str) -> Result<(), Failure> {
    if value.is_empty() { Ok(()) } else { value.parse::<Dialect>().map(|_| ()) }
}

fn is_transport(value: &str) -> Result<(), Failure> {
    value.parse::<Transport>().map(|_| ()).map_err(Failure::invalid)
}

/// The settings of a store, as strings that were valid when they were set.
#[derive(Debug, Clone, Default)]
pub struct Config {
    values: BTreeMap<String, String>,
}

impl Config {
    pub fn load(store_dir: &Path) -> Result<Self, Failure> {
        let path = path(store_dir);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::io("read", &path, &error)),
        };
        let values: BTreeMap<String, String> = serde_json::from_slice(&bytes)
            .map_err(|error| Failure::new(Code::CorruptConfig, format!("{}: {error}", path.display())))?;
        let mut config = Self::default();
        for (key, value) in values {
            config.put(&key, &value).map_err(|failure| {
                Failure::new(Code::CorruptConfig, format!("{}: {}", path.display(), failure.message))
            })?;
        }
        Ok(config)
    }

    /// Replaces the file in one step.
    pub fn save(&self, store_dir: &Path) -> Result<(), Failure> {
        let path = path(store_dir);
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(store_dir)?;
            let mut content = serde_json::to_vec_pretty(&self.values)?;
            content.push(b'\n');
            replace_file(&path, &content)
        };
        write().map_err(|error| Failure::io("write", &path, &error))
    }

    pub fn get(&self, key: &str) -> Result<&str, Failure> {
        let known = known(key)?;
        Ok(self.values.get(known.name).map_or(known.default, String::as_str))
    }

    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let known = known(key)?;
        if let Some(bounds) = known.bounds {
            parse_duration(value)
                .and_then(|value| bounds.check(value))
                .map_err(|failure| naming(known, &failure))?;
        }
        self.put(key, value)
    }

    /// Takes a value that may be outside its bounds.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let known = known(key)?;
        (known.check)(value).map_err(|failure| naming(known, &failure))?;
        self.values.insert(known.name.to_owned(), value.to_owned());
        Ok(())
    }

    pub fn unset(&mut self, key: &str) -> Result<(), Failure> {
        self.values.remove(known(key)?.name);
        Ok(())
    }

    /// Every key with its value.
    pub fn all(&self) -> BTreeMap<String, String> {
        let value = |key: &Key| self.values.get(key.name).cloned().unwrap_or_else(|| key.default.to_owned());
        KEYS.iter().map(|key| (key.name.to_owned(), value(key))).collect()
    }

    /// How long deletions are remembered: `BD_TOMBSTONE_TTL_MS`, else the setting, else for ever.
    pub fn tombstone_ttl(&self) -> Result<Option<Duration>, Failure> {
        if let Some(text) = std::env::var("BD_TOMBSTONE_TTL_MS").ok().filter(|text| !text.is_empty()) {
            let bad =
                || Failure::invalid(format!("BD_TOMBSTONE_TTL_MS is {text:?}, not a number of milliseconds"));
            let ms: u64 = text.parse().map_err(|_| bad())?;
            return Ok(Some(Duration::from_millis(ms)));
        }
        let text = self.get("gc.tombstone_ttl")?;
        Ok(if text.is_empty() { None } else { Some(parse_duration(text)?) })
    }

    pub fn transport(&self) -> Transport {
        self.get("sync.transport").ok().and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    pub fn duration(&self, key: &'static str) -> Duration {
        let text = self.get(key).expect("the key is in the table");
        let value = parse_duration(text).expect("values are checked when they are set");
        known(key).ok().and_then(|known| known.bounds).map_or(value, |bounds| bounds.clamp(value))
    }
}

/// A refusal of a value, with the key before it.
fn naming(key: &Key, failure: &Failure) -> Failure {
    Failure::invalid(format!("{}: {}", key.name, failure.message))
}

fn path(store_dir: &Path) -> PathBuf {
    store_dir.join("config.json")
}

/// Refuses a key that nobody knows, before anything is made for its sake.
pub fn check_key(key: &str) -> Result<(), Failure> {
    if key == PREFIX_KEY || is_replicated(key) { Ok(()) } else { known(key).map(|_| ()) }
}

fn known(key: &str) -> Result<&'static Key, Failure> {
    KEYS.iter()
        .find(|known| known.name == key)
        .ok_or_else(|| Failure::new(Code::UnknownKey, format!("there is no setting {key:?}")))
}

/// `90s`, `15m`, `2h`, `1d12h`, or plain seconds.
pub fn parse_duration(text: &str) -> Result<Duration, Failure> {
    let bad = || Failure::invalid(format!("{text:?} is not a duration such as 90s, 15m or 2h"));
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let span: jiff::Span = text.parse().map_err(|_| bad())?;
    let reference = jiff::SpanRelativeTo::days_are_24_hours();
    let length = span.to_duration(reference).map_err(|_| bad())?;
    Duration::try_from(length).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_bounds_and_old_values_outside_them_still_load() {
        for (key, bad) in [
            ("sync.interval", "1ns"),
            ("sync.deadline", "0s"),
            ("claim.lease", "1ms"),
            ("sync.quiet", "9999d"),
        ] {
            let mut config = Config::default();
            assert_eq!(config.set(key, bad).unwrap_err().code, Code::InvalidValue, "{key}");
            config.put(key, bad).unwrap();
            assert!(
                Bounds::check(known(key).unwrap().bounds.unwrap(), config.duration(known(key).unwrap().name))
                    .is_ok()
            );
        }
        Config::default().set("sync.interval", "0").unwrap();
        for key in KEYS {
            Config::default().set(key.name, key.default).unwrap();
        }
    }
}
