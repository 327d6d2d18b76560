use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use beads_engine::session_id::SessionId;
use serde_json::Value;

/// A program that has not written its payload by then has none.
const PATIENCE: Duration = Duration::from_secs(2);

/// Payloads may contain the last message of an agent, but no more.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What a program tells a hook, in its own words.
#[derive(Debug, Default)]
pub struct Payload(Value);

impl Payload {
    /// Reads standard input, unless a person types there. Anything but a JSON object counts as nothing.
    pub fn read() -> Self {
        if std::io::stdin().is_terminal() {
            return Self::default();
        }
        let (sender, receiver) = mpsc::channel();
        // A program that never closes the pipe leaves this thread waiting until the process ends, which is soon.
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes);
            // The receiver may have given up.
            let _ = sender.send(read.map(|_| bytes));
        });
        match receiver.recv_timeout(PATIENCE) {
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

    /// Which run of the agent the hook belongs to.
    pub fn session(&self) -> Option<SessionId> {
        self.text(&["session_id", "sessionId", "conversation_id"])?.parse().ok()
    }

    /// Which subagent the hook belongs to.
    pub fn agent(&self) -> Option<&str> {
        self.text(&["agent_id", "agentId"])
    }

    /// Whether the agent stops after a hook has already made it go on, or because it was interrupted.
    pub fn may_stop(&self) -> bool {
        self.0["stop_hook_active"].as_bool() == Some(true)
            || self.0["loop_count"].as_u64().is_some_and(|count| count > 0)
            || matches!(self.0["status"].as_str(), Some("aborted" | "error"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_its_own_words() {
        let of = |text: &str| Payload::parse(text.as_bytes());
        let session = |text: &str| of(text).session().map(|id| id.to_string());
        assert_eq!(session(r#"{"session_id": "a"}"#).as_deref(), Some("a"));
        assert_eq!(session(r#"{"sessionId": "b", "timestamp": 1}"#).as_deref(), Some("b"));
        assert_eq!(session(r#"{"conversation_id": "c", "loop_count": 0}"#).as_deref(), Some("c"));
        for odd in ["", "{", "[]", "7", r#"{"session_id": 7}"#, r#"{"session_id": " "}"#, "\u{0}"] {
            assert_eq!(session(odd), None, "{odd}");
            assert!(!of(odd).may_stop() && of(odd).agent().is_none(), "{odd}");
        }
        for again in [r#"{"stop_hook_active": true}"#, r#"{"loop_count": 1}"#, r#"{"status": "aborted"}"#] {
            assert!(of(again).may_stop(), "{again}");
        }
        assert!(!of(r#"{"stop_hook_active": false, "loop_count": 0, "status": "completed"}"#).may_stop());
    }
}
