use serde_json::{Value, json};

/// A program with hooks, by the form of answer that it reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum HookClient {
    #[default]
    Claude,
    Codex,
    Gemini,
    Cursor,
    Copilot,
}

impl HookClient {
    /// Text for the model, at the start of a session or a subagent.
    pub fn context(self, event: &str, text: &str) -> Value {
        match self {
            Self::Claude | Self::Codex | Self::Gemini => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            }
            Self::Cursor => json!({"additional_context": text}),
            Self::Copilot => json!({"additionalContext": text}),
        }
    }

    /// Whether each process of the program runs one session, so that an MCP server with the same parent as a hook is that session's.
    pub fn is_one_session(self) -> bool {
        match self {
            Self::Claude | Self::Gemini | Self::Copilot => true,
            Self::Codex | Self::Cursor => false,
        }
    }

    /// Asks the model to go on, with a reason.
    pub fn go_on(self, reason: &str) -> Value {
        match self {
            Self::Cursor => json!({"followup_message": reason}),
            _ => json!({"decision": "block", "reason": reason}),
        }
    }
}
