//! The standard input of a JSON tool, passed to each tool in turn.

use beads::tool::table;
use serde_json::Value;

/// Returns some inputs.
pub fn corpus() -> Vec<Vec<u8>> {
    let inputs = [
        r#"{"title":"x","priority":2,"labels":["a","b"],"description":"text","deps":["bd-1"]}"#,
        r#"{"id":"bd-1","title":"y","status":"in_progress","if_hash":"00"}"#,
        r#"{"id":"bd-1","actor":"ann","request_id":"r","fields":["id","title"]}"#,
        r#"{"ids":["bd-1","bd-2"]}"#,
        r#"{"items":[{"id":"bd-1"},{"id":"bd-2"}]}"#,
        r#"{"limit":10,"status":"open","priority_min":0}"#,
        r#"{"next":true,"lease":"90m"}"#,
        r#"{"content":"note","id":"bd-1"}"#,
        r#"{"from":"bd-1","to":"bd-2","kind":"blocks"}"#,
        r#"{"since":"0","timeout_ms":0}"#,
        r#"{"lines":"{\"id\":\"bd-1\"}\n"}"#,
        "{}",
    ];
    inputs.iter().map(|input| input.as_bytes().to_vec()).collect()
}

/// Checks the input with every tool.
pub fn run(bytes: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Value>(bytes) else { return };
    for tool in table() {
        let checked = tool.check(&input);
        assert_eq!(
            checked.is_ok(),
            tool.check(&input).is_ok(),
            "{} checks twice with different results",
            tool.name
        );
        if let Err(failure) = checked {
            assert!(!failure.message.is_empty(), "{} does not say why", tool.name);
        }
    }
}
