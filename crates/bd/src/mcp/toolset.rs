//! Which tools a server lists. Tools that are not listed can be called too.

use serde_json::Value;

use super::rpc::RpcError;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Toolset {
    /// status, next, done
    Core,
    /// Core plus note, make, mail
    #[default]
    Daily,
    /// Daily plus every operation as a separate tool
    Full,
}

impl Toolset {
    /// Returns the toolset that `tools/list` asks for, else the one that the server was started with.
    pub fn from_params(params: &serde_json::Map<String, Value>, started: Self) -> Result<Self, RpcError> {
        match params.get("toolset").map(Value::as_str) {
            None => Ok(started),
            Some(Some("core")) => Ok(Self::Core),
            Some(Some("daily")) => Ok(Self::Daily),
            Some(Some("full")) => Ok(Self::Full),
            Some(_) => Err(RpcError::new(RpcError::INVALID_PARAMS, "toolset must be core, daily or full")),
        }
    }
}
