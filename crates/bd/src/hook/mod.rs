//! Hooks of the programs that run coding agents: what they write to us, and what they understand. A hook never blocks its program by
//! a mistake of ours: what cannot be read or answered is answered with nothing.

mod dialect;
mod payload;
mod reminders;

pub use dialect::HookClient;
pub use payload::Payload;
pub use reminders::Reminders;
