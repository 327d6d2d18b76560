//! A line to the MCP server.

use beads::mcp::rpc::{self, Incoming};
use serde_json::Value;

/// Returns some messages of clients.
pub fn corpus() -> Vec<Vec<u8>> {
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"show","arguments":{"id":"bd-1"}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":3,"method":"ping"}]"#,
    ];
    lines.iter().map(|line| line.as_bytes().to_vec()).collect()
}

/// Parses the message, and checks the reply to it.
pub fn run(bytes: &[u8]) {
    match rpc::read(bytes) {
        Ok(Incoming::Request { id, method, params }) => {
            assert!(id.is_string() || id.is_number(), "a reply to {id} would be ambiguous");
            let answer = rpc::answer(&id, Ok(Value::Object(params))).to_string();
            assert!(!answer.contains('\n'), "the reply to {method} would have two lines");
        }
        Ok(_) => {}
        Err((id, error)) => {
            assert!(!error.message.is_empty());
            assert!(!rpc::answer(&id, Err(error)).to_string().contains('\n'));
        }
    }
}
