//! Where claims are decided.

use std::str::FromStr;

/// The setting `claim.scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// By the remote if it accepts claim refs, otherwise on this machine.
    Auto,
    /// On this machine.
    Local,
    /// By the remote.
    Remote,
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "local" => Ok(Self::Local),
            "remote" => Ok(Self::Remote),
            _ => Err(format!("{text:?} is not auto, local or remote")),
        }
    }
}
