/// A coding agent's program that `bd setup` configures.
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
    /// Whatever reads AGENTS.md
    Generic,
    /// Programs written for the Go bd, as bd init --compat sets this clone up for them
    Clients,
}

impl Client {
    /// Everything that `--all` sets up: the programs that read files of the project.
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

    /// The name on the command line.
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
