use serde_json::{Value, json};

/// A coding agent with hooks, which determines the format of the answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum HookClient {
    #[default]
    Claude,
    Codex,
    Gemini,
    Cursor,
    Copilot,
    Opencode,
    Antigravity,
}

impl HookClient {
    /// Returns the answer that adds text to the model's context when a session or subagent starts.
    pub fn context(self, event: &str, text: &str) -> Value {
        match self {
            Self::Claude | Self::Codex | Self::Gemini => {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            }
            Self::Cursor => json!({"additional_context": text}),
            Self::Copilot => json!({"additionalContext": text}),
            Self::Opencode => json!({"context": text}),
            Self::Antigravity => json!({"injectSteps": [{"ephemeralMessage": text}]}),
        }
    }

    /// Returns whether each agent process runs one session. If so, an MCP server with the same parent process
    /// as the hook belongs to that session.
    pub fn runs_one_session(self) -> bool {
        match self {
            Self::Claude | Self::Gemini | Self::Copilot => true,
            Self::Codex | Self::Cursor | Self::Opencode | Self::Antigravity => false,
        }
    }

    /// Returns the answer that makes the model continue, with a reason.
    pub fn continue_with(self, reason: &str) -> Value {
        match self {
            Self::Cursor => json!({"followup_message": reason}),
            Self::Antigravity => json!({"decision": "continue", "reason": reason}),
            _ => json!({"decision": "block", "reason": reason}),
        }
    }
}
