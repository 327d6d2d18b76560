//! Hooks of coding agents: their payloads, and the answers they understand. A failing hook never blocks an
//! agent: if the payload cannot be read or the store does not answer, the answer is empty.

mod dialect;
mod payload;
mod reminders;

pub use dialect::HookClient;
pub use payload::Payload;
pub use reminders::Reminders;
