//! How much of itself a server shows. A tool that is not shown can be called all the same.

use serde_json::Value;

use super::rpc::RpcError;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Toolset {
    /// status, next, done
    Core,
    /// Those and note, make, mail
    #[default]
    Daily,
    /// Those and every operation under its own name
    Full,
}

impl Toolset {
    /// As `tools/list` asks for it, else as the server was started.
    pub fn asked(params: &serde_json::Map<String, Value>, started: Self) -> Result<Self, RpcError> {
        match params.get("toolset").map(Value::as_str) {
            None => Ok(started),
            Some(Some("core")) => Ok(Self::Core),
            Some(Some("daily")) => Ok(Self::Daily),
            Some(Some("full")) => Ok(Self::Full),
            Some(_) => Err(RpcError::new(RpcError::INVALID_PARAMS, "toolset is core, daily or full")),
        }
    }
}
