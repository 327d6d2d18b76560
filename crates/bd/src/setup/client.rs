/// A coding agent that `bd setup` configures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Client {
    Claude,
    Codex,
    Cursor,
    Gemini,
    Antigravity,
    /// GitHub Copilot, on the command line and in the cloud
    Copilot,
    Opencode,
    Aider,
    Windsurf,
    Zed,
    /// Any agent that reads AGENTS.md
    Generic,
    /// Programs written for the Go bd (same as bd init --compat)
    Clients,
}

impl Client {
    /// The clients that `--all` configures: those that read project files.
    pub const ALL: [Self; 11] = [
        Self::Claude,
        Self::Codex,
        Self::Cursor,
        Self::Gemini,
        Self::Antigravity,
        Self::Copilot,
        Self::Opencode,
        Self::Aider,
        Self::Windsurf,
        Self::Zed,
        Self::Generic,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Antigravity => "antigravity",
            Self::Copilot => "copilot",
            Self::Opencode => "opencode",
            Self::Aider => "aider",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Generic => "generic",
            Self::Clients => "clients",
        }
    }
}
