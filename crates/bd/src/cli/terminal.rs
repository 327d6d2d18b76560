//! What is known about the terminal that standard output may be.

use std::io::IsTerminal;

use beads_engine::request::{LocalClock, Zone};

use super::globals::variable;

/// When text is colored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorWhen {
    /// Returns whether colors are switched on or off regardless of the terminal.
    pub fn choice(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::Always => Some(true),
            Self::Never => Some(false),
        }
    }
}

/// Returns the columns and rows of the terminal, or `None` if standard output is not a terminal.
pub fn size() -> Option<(usize, usize)> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok();
    let or = |given: Option<u16>, default: usize| match given {
        Some(given) if given > 0 => given.into(),
        _ => default,
    };
    Some((or(size.map(|size| size.ws_col), 80), or(size.map(|size| size.ws_row), 24)))
}

/// Returns whether the environment allows colors on a terminal.
pub fn allows_color() -> bool {
    variable("NO_COLOR").is_none() && !is_dumb()
}

/// Returns whether the terminal only understands plain text.
pub fn is_dumb() -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

/// Returns the time and the time zone of this process.
pub fn local_clock() -> LocalClock {
    LocalClock { now_ms: beads_store::World::now_ms(&beads_store::RealWorld), zone: Zone::system() }
}
