use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// 0 (critical), 1 (high), 2 (medium), 3 (low) or 4 (backlog).
// Parsed from `2`, `P2` or the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u64", into = "u64")]
#[cfg_attr(feature = "schema", schemars(extend("maximum" = 4)))]
pub struct Priority(u8);

impl Priority {
    /// The most urgent priority.
    pub const HIGHEST: Self = Self(0);

    /// Returns the priority as a number from 0 to 4.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(2)
    }
}

impl TryFrom<u64> for Priority {
    type Error = Error;

    fn try_from(number: u64) -> Result<Self> {
        match u8::try_from(number) {
            Ok(small @ 0..=4) => Ok(Self(small)),
            _ => Err(Error::invalid("priority", format!("{number} is not 0, 1, 2, 3 or 4"))),
        }
    }
}

impl From<Priority> for u64 {
    fn from(priority: Priority) -> Self {
        Self::from(priority.0)
    }
}

impl std::str::FromStr for Priority {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let lower = text.to_ascii_lowercase();
        let digits = lower.strip_prefix('p').unwrap_or(&lower);
        match (lower.as_str(), digits.as_bytes()) {
            ("critical" | "urgent", _) => Ok(Self(0)),
            ("high", _) => Ok(Self(1)),
            ("medium" | "normal", _) => Ok(Self(2)),
            ("low", _) => Ok(Self(3)),
            ("backlog", _) => Ok(Self(4)),
            (_, [digit @ b'0'..=b'4']) => Ok(Self(digit - b'0')),
            _ => Err(Error::invalid(
                "priority",
                format!("{text:?} is not 0, 1, 2, 3, 4, critical, high, medium, low or backlog"),
            )),
        }
    }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "P{}", self.0)
    }
}
