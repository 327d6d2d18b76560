//! The payload that a harness writes to the standard input of a hook: a JSON object that names the session.

use std::io::Read;

use beads_engine::failure::Failure;
use beads_engine::session_id::SessionId;
use serde_json::Value;

/// Far more than a payload needs, which contains the last messages at most.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The fields in which harnesses pass the session id: Claude Code, Codex and Gemini CLI; Copilot; Cursor;
/// Antigravity; Codex's notifications.
const NAMES: [&str; 6] =
    ["session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "thread-id"];

/// Reads the payload of a hook. Returns null if there is none or it is not JSON.
pub fn read(input: impl Read) -> Value {
    let mut bytes = Vec::new();
    let _ = input.take(MAX_BYTES).read_to_end(&mut bytes);
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Returns the session that a payload names.
pub fn session(payload: &Value) -> Result<Option<SessionId>, Failure> {
    let named = NAMES.iter().find_map(|name| payload[*name].as_str().filter(|id| !id.is_empty()));
    named.map(|id| id.parse().map_err(Failure::invalid)).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_session_is_found_in_the_field_of_each_harness() {
        for name in NAMES {
            let payload = read(json!({"hook_event_name": "SessionEnd", name: "s-1"}).to_string().as_bytes());
            assert_eq!(session(&payload).unwrap().unwrap().as_str(), "s-1", "{name}");
        }
        assert_eq!(session(&read(&b"not JSON"[..])).unwrap(), None);
        assert_eq!(session(&json!({"session_id": ""})).unwrap(), None);
        assert!(session(&json!({"session_id": "two\nlines"})).is_err());
    }
}
