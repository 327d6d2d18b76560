//! `bd mcp`: the store as a Model Context Protocol server on standard input and output (docs/MCP.md).
//!
//! The daily tools are [`portal`]s, which answer in a few lines and cost few tokens. [`full`] views offer all
//! operations and answer in an envelope.

mod artifact;
mod boundary;
mod budget;
mod claim_end;
mod code;
mod context;
mod decorate;
mod enums;
mod envelope;
mod expected;
mod full;
mod graph_name;
mod lines;
mod page;
mod patch;
mod portal;
mod protocol;
mod redact;
mod references;
mod renew;
mod revision;
pub mod rpc;
mod schema;
mod server;
mod session;
mod target;
mod toolset;
mod watch;
mod workspace;

pub use context::Context;
#[cfg(test)]
pub(crate) use portal::effects as portals;
pub use server::Server;
pub use session::Session;
pub use toolset::Toolset;

use beads_engine::failure::Failure;
use serde_json::{Map, Value};

use portal::ToolAnswer;

/// Returns the tools that a toolset lists.
fn listing(toolset: Toolset) -> Vec<Value> {
    let mut all: Vec<Value> = portal::listed(toolset).map(portal::Portal::listing).collect();
    if toolset == Toolset::Full {
        all.extend(full::listing());
    }
    all
}

fn is_tool(name: &str) -> bool {
    portal::find(name).is_some() || full::is_tool(name)
}

/// Returns the answer for a tool call that failed before the tool ran.
fn failed(name: &str, failure: &Failure, session: &Session, toolset: Toolset) -> ToolAnswer {
    let text = match portal::find(name) {
        Some(_) => code::error_line(failure, toolset),
        None => envelope::failed(name, failure, session, Vec::new()),
    };
    ToolAnswer { text, failed: true, data: Value::Null }
}

/// Calls a tool.
fn call(name: &str, arguments: Map<String, Value>, caller: portal::Caller<'_>) -> ToolAnswer {
    match portal::find(name) {
        Some(portal) => portal.call(arguments, caller),
        None => {
            let (text, failed) = full::call(name, arguments, caller);
            ToolAnswer { text, failed, data: Value::Null }
        }
    }
}
