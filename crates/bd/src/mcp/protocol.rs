//! The revisions of MCP that clients speak, and how a connection in each of them looks. Up to 2025-11-25 a connection opens
//! with `initialize`; from 2026-07-28 every request says for itself who asks and in which revision.

use beads_engine::daemon::VERSION;
use serde_json::{Map, Value, json};

use super::rpc::RpcError;

/// The first revision without a handshake.
pub const STATELESS: &str = "2026-07-28";

/// Revisions that open with `initialize`, newest first.
const WITH_HANDSHAKE: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

const INSTRUCTIONS: &str = "Tracks this repository's tasks (beads), shared by all agents working on it. \
     Call next to claim one and get its brief, note what others should know, done when finished.";

/// How one request is to be answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Era {
    /// The request carries its own context: revision 2026-07-28.
    pub stateless: bool,
    /// The client's name, when the request itself tells.
    pub client: Option<String>,
}

fn all_versions() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(WITH_HANDSHAKE).collect()
}

/// What a request says about itself in `_meta`.
pub fn era(method: &str, params: &Map<String, Value>) -> Result<Era, RpcError> {
    let meta = params.get("_meta").and_then(Value::as_object);
    let version = meta.and_then(|meta| meta.get(VERSION_KEY));
    let discovers = method == "server/discover";
    if version.is_none() && !discovers {
        return Ok(Era::default());
    }
    let missing = |key: &str| {
        RpcError::new(RpcError::INVALID_PARAMS, format!("_meta lacks {key}, or has it in another form"))
    };
    let version = version.and_then(Value::as_str).ok_or_else(|| missing(VERSION_KEY))?;
    if !all_versions().contains(&version) {
        let data = json!({"supported": all_versions(), "requested": version});
        let error = RpcError::new(RpcError::UNSUPPORTED_VERSION, "Unsupported protocol version");
        return Err(RpcError { data: Some(data), ..error });
    }
    let stateless = discovers || version == STATELESS;
    if stateless && !meta.and_then(|meta| meta.get(CAPABILITIES_KEY)).is_some_and(Value::is_object) {
        return Err(missing(CAPABILITIES_KEY));
    }
    Ok(Era { stateless, client: meta.and_then(|meta| meta.get(CLIENT_KEY)).and_then(name) })
}

/// The name in an `Implementation` object.
pub fn name(info: &Value) -> Option<String> {
    info["name"].as_str().filter(|name| !name.trim().is_empty()).map(str::to_owned)
}

fn server_info() -> Value {
    json!({"name": "beads", "version": VERSION})
}

/// The answer to `initialize`: the revision asked for, or the newest with a handshake.
pub fn initialize(params: &Map<String, Value>) -> Result<Value, RpcError> {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let asked = asked.ok_or_else(|| RpcError::new(RpcError::INVALID_PARAMS, "protocolVersion is missing"))?;
    let version = WITH_HANDSHAKE.into_iter().find(|version| *version == asked);
    Ok(json!({
        "protocolVersion": version.unwrap_or(WITH_HANDSHAKE[0]),
        // The end of a claim is a log message, which only a client with a handshake can be sent.
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    }))
}

/// The answer to `server/discover`.
pub fn discover() -> Value {
    json!({
        "supportedVersions": all_versions(),
        "capabilities": {"tools": {}},
        "instructions": INSTRUCTIONS,
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// A result in the form of its revision.
pub fn finished(mut result: Value, stateless: bool) -> Value {
    if let (true, Some(result)) = (stateless, result.as_object_mut()) {
        result.insert("resultType".into(), json!("complete"));
        let meta = result.entry("_meta").or_insert_with(|| json!({}));
        meta[SERVER_KEY] = server_info();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(meta: Value) -> Map<String, Value> {
        Map::from_iter([("_meta".to_owned(), meta)])
    }

    #[test]
    fn the_handshake_settles_on_what_both_speak() {
        let version = |asked: &str| {
            initialize(&Map::from_iter([("protocolVersion".to_owned(), json!(asked))])).unwrap()["protocolVersion"]
                .clone()
        };
        for known in WITH_HANDSHAKE {
            assert_eq!(version(known), known);
        }
        assert_eq!(version("2023-01-01"), "2025-11-25");
        assert_eq!(version(STATELESS), "2025-11-25");
        assert_eq!(initialize(&Map::new()).unwrap_err().code, RpcError::INVALID_PARAMS);
    }

    #[test]
    fn a_request_without_a_handshake_says_who_asks() {
        let whole =
            json!({VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}, CLIENT_KEY: {"name": "x", "version": "1"}});
        assert_eq!(era("tools/list", &params(whole)), Ok(Era { stateless: true, client: Some("x".into()) }));
        assert_eq!(era("tools/list", &Map::new()), Ok(Era::default()));
        let refused = |method: &str, meta: Value| era(method, &params(meta)).unwrap_err().code;
        assert_eq!(refused("tools/list", json!({VERSION_KEY: STATELESS})), RpcError::INVALID_PARAMS);
        assert_eq!(refused("server/discover", json!({})), RpcError::INVALID_PARAMS);
        let later = json!({VERSION_KEY: "2030-01-01", CAPABILITIES_KEY: {}});
        let error = era("server/discover", &params(later)).unwrap_err();
        assert_eq!(error.code, RpcError::UNSUPPORTED_VERSION);
        assert_eq!(error.data.unwrap()["supported"][0], STATELESS);
    }
}
