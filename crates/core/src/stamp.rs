//! Write stamps (§5.2.2): the total order that decides between concurrent writes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_MS;
use crate::{Actor, Error, Result};

/// The time of a write, `[ms, counter]`. Only the clock and the decoder create stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "(u64, u32)", into = "(u64, u32)")]
pub struct Stamp {
    ms: u64,
    counter: u32,
}

impl Stamp {
    /// A stamp before every minted stamp.
    pub const ZERO: Self = Self { ms: 0, counter: 0 };

    /// Rebuilds a stamp that was minted before. Fails if it is outside the bounds of the format.
    pub fn decode(ms: u64, counter: u32) -> Result<Self> {
        if ms >= MAX_MS {
            return Err(Error::invalid("stamp", format!("{ms} is not before the year 2100")));
        }
        Ok(Self { ms, counter })
    }

    /// Returns the milliseconds since 1970.
    pub fn ms(self) -> u64 {
        self.ms
    }

    /// Returns the counter. Its low 16 bits are the tag of the replica that minted the stamp.
    pub fn counter(self) -> u32 {
        self.counter
    }
}

/// Writes `ms.counter`, which is how fences are printed.
impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.ms, self.counter)
    }
}

impl std::str::FromStr for Stamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::invalid("fence", format!("{text:?} is not ms.counter"));
        let (ms, counter) = text.split_once('.').ok_or_else(bad)?;
        Self::decode(ms.parse().map_err(|_| bad())?, counter.parse().map_err(|_| bad())?)
    }
}

impl TryFrom<(u64, u32)> for Stamp {
    type Error = Error;

    fn try_from((ms, counter): (u64, u32)) -> Result<Self> {
        Self::decode(ms, counter)
    }
}

impl From<Stamp> for (u64, u32) {
    fn from(stamp: Stamp) -> Self {
        (stamp.ms, stamp.counter)
    }
}

/// A stamp and the actor who minted it. Marks are totally ordered (§8.6). One write puts the same mark on
/// every register it touches, so clones of a mark share their data.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(Arc<(Stamp, Actor)>);

impl Mark {
    /// Returns the mark of a write by `by` at `at`.
    pub fn new(at: Stamp, by: Actor) -> Self {
        Self(Arc::new((at, by)))
    }

    /// Returns the stamp.
    pub fn at(&self) -> Stamp {
        self.0.0
    }

    /// Returns the actor.
    pub fn by(&self) -> &Actor {
        &self.0.1
    }
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.at(), self.by())
    }
}

/// Writes `[[ms,counter],"actor"]`.
impl Serialize for Mark {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.at(), self.by()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (at, by) = Deserialize::deserialize(deserializer)?;
        Ok(Self::new(at, by))
    }
}
