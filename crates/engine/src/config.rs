//! The settings of one replica. Every key has an effect; unknown keys are rejected.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::limits::MIN_TOMBSTONE_TTL_MS;
use beads_store::hub::postgres::Address;
use beads_store::{Transport, replace_file};

use crate::dialect::Dialect;
use crate::failure::{Code, Failure};
use crate::scope::Scope;

/// The key of the prefix of new ids. It is stored in the synced state and is the same on every replica.
pub const PREFIX_KEY: &str = "issue_prefix";

/// Other settings that are stored in the synced state and are the same on every replica, with their
/// descriptions.
pub const REPLICATED: &[(&str, &str)] = &[
    (
        beads_core::STATUS_CUSTOM,
        "custom status names, such as qa:in_progress,someday:frozen; a name without a status means open",
    ),
    (
        beads_core::CLOSE_CHECK,
        "what bd close does if blockers or children are open: warn, refuse or off [default: warn]",
    ),
    (
        beads_core::CLOSE_REQUIRE_EVIDENCE,
        "whether bd close needs --evidence: off, warn or require [default: off]",
    ),
    (
        beads_core::CLAIM_REF_PREFIX,
        "prefix of claim refs, such as refs/heads/beads-claims/; refs/beads/claims/ if empty",
    ),
    (beads_core::TYPE_CUSTOM, "custom type names, such as rfc:epic; a name without a type means task"),
];

/// Returns whether a setting is stored in the synced state instead of this replica's configuration.
pub fn is_replicated(key: &str) -> bool {
    REPLICATED.iter().any(|(known, _)| *known == key)
}

/// Returns whether a setting names a program, a file or an address: what the daemon or a command of the user then runs,
/// writes or connects to, outside of the sandbox that a caller may be in.
pub fn reaches_outside(key: &str) -> bool {
    matches!(key, "export.path" | "hub.url" | "pager" | "sync.remote")
}

/// A setting of this replica.
#[derive(Debug)]
pub struct Key {
    /// The name of the setting.
    pub name: &'static str,
    /// The value if it is not set.
    pub default: &'static str,
    /// What the setting does, in one line.
    pub about: &'static str,
    /// Rejects invalid values.
    check: fn(&str) -> Result<(), Failure>,
    /// The bounds of a duration. A value outside them, from a file of an earlier version, is clamped.
    bounds: Option<Bounds>,
}

/// The shortest and the longest valid duration, and whether 0 is valid, too.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    min: Duration,
    max: Duration,
    allow_zero: bool,
}

impl Bounds {
    const fn new(min: Duration, max: Duration) -> Option<Self> {
        Some(Self { min, max, allow_zero: false })
    }

    fn check(self, value: Duration) -> Result<(), Failure> {
        if self.clamp(value) == value {
            return Ok(());
        }
        let or_zero = if self.allow_zero { "0, or " } else { "" };
        Err(Failure::invalid(format!("must be {or_zero}from {:?} to {:?}", self.min, self.max)))
    }

    fn clamp(self, value: Duration) -> Duration {
        if self.allow_zero && value.is_zero() { value } else { value.clamp(self.min, self.max) }
    }
}

/// More than ten pushes a second would be no limit.
const MAX_PUSH_RATE: u32 = 600;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// All settings of a replica.
pub const KEYS: &[Key] = &[
    Key {
        name: "actor",
        default: "",
        about: "the actor, unless --actor or $BD_ACTOR is set; if empty, user@host, plus the worktree's name in a linked worktree",
        check: is_actor,
        bounds: None,
    },
    Key {
        name: "claim.lease",
        default: "2h",
        about: "how long a claim lasts",
        check: is_duration,
        // A shorter lease would expire before its holder can renew it.
        bounds: Bounds::new(SECOND, YEAR),
    },
    Key {
        name: "claim.scope",
        default: "auto",
        about: "where claims are decided: remote (by a ref on the remote), local (on this machine), auto (remote while others are active)",
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
        about: "how long an idle daemon keeps running",
        check: is_duration,
        bounds: Bounds::new(Duration::from_millis(10), YEAR),
    },
    Key {
        name: "export.path",
        default: "",
        about: "a file to keep up to date with bd export, relative to the main work tree; none if empty",
        check: |_| Ok(()),
        bounds: None,
    },
    Key {
        name: "hub.offline_claims",
        default: "refuse",
        about: "claims while the hub is unreachable: refuse, or git (decided without the hub, never confirmed)",
        check: is_offline_claims,
        bounds: None,
    },
    Key {
        name: "hub.poll",
        default: "1s",
        about: "how often to ask the hub for changes if it cannot notify this machine, from 100ms to 1h",
        check: is_duration,
        bounds: Bounds::new(Duration::from_millis(100), Duration::from_secs(60 * 60)),
    },
    Key {
        name: "hub.url",
        default: "",
        about: "the hub, such as postgres://user@host/database, without a password; $BD_HUB_URL if that is set; none if empty",
        check: is_hub_url,
        bounds: None,
    },
    Key {
        name: "json.dialect",
        default: "",
        about: "the JSON dialect of --json: spec or compat; depends on the caller if empty",
        check: is_dialect,
        bounds: None,
    },
    Key {
        name: "pager",
        default: "",
        about: "the program that shows long text on a terminal, or none; $PAGER if empty, else less",
        check: |_| Ok(()),
        bounds: None,
    },
    Key {
        name: "sync.auto",
        default: "",
        about: "true: publish a new store to the remote automatically; false: sync only on bd sync; empty: sync only if the remote has a store",
        check: is_switch,
        bounds: None,
    },
    Key {
        name: "sync.deadline",
        default: "60s",
        about: "how long a sync may take, from 1s to 1d",
        check: is_duration,
        bounds: Bounds::new(SECOND, DAY),
    },
    Key {
        name: "gc.tombstone_ttl",
        default: "",
        about: "how long deletions are remembered, at least 7d; forever if empty",
        check: is_ttl,
        bounds: None,
    },
    Key {
        name: "sync.keep_daemon",
        default: "false",
        about: "true: a daemon with a hub or a remote keeps running, so that a board or a waiting agent here sees changes at once",
        check: is_switch,
        bounds: None,
    },
    Key {
        name: "sync.interval",
        default: "60s",
        about: "how often the daemon fetches changes of others, at least 1s; 0 for never",
        check: is_duration,
        bounds: Some(Bounds { min: SECOND, max: YEAR, allow_zero: true }),
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
        about: "pushes per minute of all machines together, 0 for no limit; if empty, 6 over a network and no limit for a local path",
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
        about: "the remote to sync with, or \"none\"; origin or the only remote if empty",
        check: |_| Ok(()),
        bounds: None,
    },
    Key {
        name: "sync.transport",
        default: "auto",
        about: "how to reach the remote: auto, git or native",
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
    let min = Duration::from_millis(MIN_TOMBSTONE_TTL_MS);
    if value.is_empty() || parse_duration(value)? >= min {
        return Ok(());
    }
    Err(Failure::invalid("must be at least 7d"))
}

fn is_offline_claims(value: &str) -> Result<(), Failure> {
    match value {
        "refuse" | "git" => Ok(()),
        _ => Err(Failure::invalid("must be refuse or git")),
    }
}

fn is_hub_url(value: &str) -> Result<(), Failure> {
    if value.is_empty() {
        return Ok(());
    }
    Address::refuse_password(value)?;
    Ok(Address::parse(value).map(|_| ())?)
}

fn is_dialect(value: &str) -> Result<(), Failure> {
    if value.is_empty() { Ok(()) } else { value.parse::<Dialect>().map(|_| ()) }
}

fn is_transport(value: &str) -> Result<(), Failure> {
    value.parse::<Transport>().map(|_| ()).map_err(Failure::invalid)
}

/// The settings of a replica, as strings that were valid when they were set.
#[derive(Debug, Clone, Default)]
pub struct Config {
    values: BTreeMap<String, String>,
}

impl Config {
    /// Reads the settings of the store in a directory. Without a file, every setting has its default.
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

    /// Replaces the file atomically.
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

    /// Returns the value of a setting, or its default.
    pub fn get(&self, key: &str) -> Result<&str, Failure> {
        let known = find_key(key)?;
        Ok(self.values.get(known.name).map_or(known.default, String::as_str))
    }

    /// Changes a setting. Rejects unknown keys and invalid values.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let known = find_key(key)?;
        if let Some(bounds) = known.bounds {
            parse_duration(value)
                .and_then(|value| bounds.check(value))
                .map_err(|failure| with_key(known, &failure))?;
        }
        self.put(key, value)
    }

    /// Changes a setting without checking its bounds.
    fn put(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let known = find_key(key)?;
        (known.check)(value).map_err(|failure| with_key(known, &failure))?;
        self.values.insert(known.name.to_owned(), value.to_owned());
        Ok(())
    }

    /// Resets a setting to its default.
    pub fn unset(&mut self, key: &str) -> Result<(), Failure> {
        self.values.remove(find_key(key)?.name);
        Ok(())
    }

    /// Returns every key with its value.
    pub fn all(&self) -> BTreeMap<String, String> {
        let value = |key: &Key| self.values.get(key.name).cloned().unwrap_or_else(|| key.default.to_owned());
        KEYS.iter().map(|key| (key.name.to_owned(), value(key))).collect()
    }

    /// Returns how long deletions are remembered: `BD_TOMBSTONE_TTL_MS`, or else the setting; `None` for
    /// forever.
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

    /// Returns how to reach the remote.
    pub fn transport(&self) -> Transport {
        self.get("sync.transport").ok().and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    /// Returns the value of a duration setting, clamped to its bounds.
    ///
    /// # Panics
    ///
    /// Panics if the key is not one of a duration.
    pub fn duration(&self, key: &'static str) -> Duration {
        let text = self.get(key).expect("the key is in the table");
        let value = parse_duration(text).expect("values are checked when they are set");
        find_key(key).ok().and_then(|known| known.bounds).map_or(value, |bounds| bounds.clamp(value))
    }
}

/// Prefixes an error with the name of the setting.
fn with_key(key: &Key, failure: &Failure) -> Failure {
    Failure::invalid(format!("{}: {}", key.name, failure.message))
}

fn path(store_dir: &Path) -> PathBuf {
    store_dir.join("config.json")
}

/// Rejects an unknown key.
pub fn check_key(key: &str) -> Result<(), Failure> {
    if key == PREFIX_KEY || is_replicated(key) { Ok(()) } else { find_key(key).map(|_| ()) }
}

fn find_key(key: &str) -> Result<&'static Key, Failure> {
    KEYS.iter()
        .find(|known| known.name == key)
        .ok_or_else(|| Failure::new(Code::UnknownKey, format!("there is no setting {key:?}")))
}

/// Parses a duration such as `90s`, `15m`, `2h` or `1d12h`, or a number of seconds.
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
    fn out_of_bounds_durations_are_rejected_but_still_load() {
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
                Bounds::check(
                    find_key(key).unwrap().bounds.unwrap(),
                    config.duration(find_key(key).unwrap().name)
                )
                .is_ok()
            );
        }
        Config::default().set("sync.interval", "0").unwrap();
        for key in KEYS {
            Config::default().set(key.name, key.default).unwrap();
        }
    }
}
