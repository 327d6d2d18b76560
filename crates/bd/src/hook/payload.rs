use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use beads_engine::session_id::SessionId;
use serde_json::Value;

/// How long to wait for the payload. After that, it counts as empty.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Far more than a payload needs, which contains the last message of an agent at most.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The payload of a hook, with the field names of the agent that sent it.
#[derive(Debug, Default)]
pub struct Payload(Value);

impl Payload {
    /// Reads standard input unless it is a terminal. Anything but JSON counts as an empty payload.
    pub fn read() -> Self {
        if std::io::stdin().is_terminal() {
            return Self::default();
        }
        let (sender, receiver) = mpsc::channel();
        // If the pipe is never closed, this thread waits until the process exits, which is soon.
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes);
            // The receiver may have given up.
            let _ = sender.send(read.map(|_| bytes));
        });
        match receiver.recv_timeout(TIMEOUT) {
            Ok(Ok(bytes)) => Self::parse(&bytes),
            _ => Self::default(),
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        Self(serde_json::from_slice(bytes).unwrap_or_default())
    }

    fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0[*name].as_str()).filter(|text| !text.trim().is_empty())
    }

    /// Returns the session that the hook belongs to.
    pub fn session(&self) -> Option<SessionId> {
        self.text(&["session_id", "sessionId", "conversation_id", "conversationId"])?.parse().ok()
    }

    /// Returns the subagent that the hook belongs to.
    pub fn agent(&self) -> Option<&str> {
        self.text(&["agent_id", "agentId"])
    }

    /// Returns whether the model is called for the first time since the agent started. Antigravity has no hook
    /// for the start, but one before each call.
    pub fn is_first_call(&self) -> bool {
        self.0["invocationNum"].as_u64().is_none_or(|number| number == 0)
    }

    /// Returns whether the agent must not be kept from stopping: a hook has already made it continue, it was
    /// interrupted or failed, or its background tasks are still running.
    pub fn may_stop(&self) -> bool {
        self.0["stop_hook_active"].as_bool() == Some(true)
            || self.0["loop_count"].as_u64().is_some_and(|count| count > 0)
            || matches!(self.0["status"].as_str(), Some("aborted" | "error"))
            || self.0["fullyIdle"].as_bool() == Some(false)
            || self.text(&["error"]).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_names_of_each_agent_are_understood() {
        let of = |text: &str| Payload::parse(text.as_bytes());
        let session = |text: &str| of(text).session().map(|id| id.to_string());
        assert_eq!(session(r#"{"session_id": "a"}"#).as_deref(), Some("a"));
        assert_eq!(session(r#"{"sessionId": "b", "timestamp": 1}"#).as_deref(), Some("b"));
        assert_eq!(session(r#"{"conversation_id": "c", "loop_count": 0}"#).as_deref(), Some("c"));
        assert_eq!(session(r#"{"conversationId": "d", "fullyIdle": true}"#).as_deref(), Some("d"));
        for odd in ["", "{", "[]", "7", r#"{"session_id": 7}"#, r#"{"session_id": " "}"#, "\u{0}"] {
            assert_eq!(session(odd), None, "{odd}");
            assert!(!of(odd).may_stop() && of(odd).agent().is_none() && of(odd).is_first_call(), "{odd}");
        }
        let stopping = [r#"{"stop_hook_active": true}"#, r#"{"loop_count": 1}"#, r#"{"status": "aborted"}"#];
        for again in stopping.into_iter().chain([r#"{"fullyIdle": false}"#, r#"{"error": "no quota"}"#]) {
            assert!(of(again).may_stop(), "{again}");
        }
        assert!(!of(r#"{"stop_hook_active": false, "loop_count": 0, "status": "completed"}"#).may_stop());
        assert!(!of(r#"{"fullyIdle": true, "error": "", "terminationReason": "model_stop"}"#).may_stop());
        assert!(
            of(r#"{"invocationNum": 0}"#).is_first_call() && !of(r#"{"invocationNum": 1}"#).is_first_call()
        );
    }
}
