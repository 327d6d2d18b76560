//! `bd mcp`, spoken to over its standard input and output as a client does.

mod client;
mod full;
mod portals;
mod protocol;
mod sessions;
mod tokens;
