//! `bd mcp`, tested over its standard input and output, as a client uses it.

mod budgets;
pub mod client;
mod codes;
pub mod conflicts;
mod evidence;
mod full;
mod messages;
mod portals;
mod protocol;
mod secrets;
mod sessions;
mod targets;
mod tokens;
mod tour;
mod upgrade;
mod walk;
