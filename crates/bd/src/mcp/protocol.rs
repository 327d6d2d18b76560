//! The supported revisions of MCP. Up to 2025-11-25 a connection opens with `initialize`. From 2026-07-28
//! every request names its client and revision.

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

/// The revision and client of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestMeta {
    /// The request carries its own context: revision 2026-07-28.
    pub stateless: bool,
    /// The client's name, if the request has it.
    pub client: Option<String>,
}

fn all_versions() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(WITH_HANDSHAKE).collect()
}

/// Reads the `_meta` of a request.
pub fn request_meta(method: &str, params: &Map<String, Value>) -> Result<RequestMeta, RpcError> {
    let meta = params.get("_meta").and_then(Value::as_object);
    let version = meta.and_then(|meta| meta.get(VERSION_KEY));
    let discovers = method == "server/discover";
    if version.is_none() && !discovers {
        return Ok(RequestMeta::default());
    }
    let missing = |key: &str| {
        RpcError::new(RpcError::INVALID_PARAMS, format!("{key} is missing from _meta or has the wrong type"))
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
    Ok(RequestMeta { stateless, client: meta.and_then(|meta| meta.get(CLIENT_KEY)).and_then(name) })
}

/// Returns the name in an `Implementation` object.
pub fn name(info: &Value) -> Option<String> {
    info["name"].as_str().filter(|name| !name.trim().is_empty()).map(str::to_owned)
}

fn server_info() -> Value {
    json!({"name": "beads", "version": VERSION})
}

/// Answers `initialize` with the requested revision, or the newest one with a handshake.
pub fn initialize(params: &Map<String, Value>) -> Result<Value, RpcError> {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let requested =
        requested.ok_or_else(|| RpcError::new(RpcError::INVALID_PARAMS, "protocolVersion is missing"))?;
    let version = WITH_HANDSHAKE.into_iter().find(|version| *version == requested);
    Ok(json!({
        "protocolVersion": version.unwrap_or(WITH_HANDSHAKE[0]),
        // The end of a claim is sent as a log message, which needs a handshake.
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    }))
}

/// Answers `server/discover`.
pub fn discover() -> Value {
    json!({
        "supportedVersions": all_versions(),
        "capabilities": {"tools": {}},
        "instructions": INSTRUCTIONS,
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// Adds the fields that the revision requires to a result.
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
    fn the_handshake_picks_a_revision_that_both_support() {
        let version = |requested: &str| {
            initialize(&Map::from_iter([("protocolVersion".to_owned(), json!(requested))])).unwrap()["protocolVersion"]
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
    fn a_request_without_a_handshake_names_its_client() {
        let whole =
            json!({VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}, CLIENT_KEY: {"name": "x", "version": "1"}});
        assert_eq!(
            request_meta("tools/list", &params(whole)),
            Ok(RequestMeta { stateless: true, client: Some("x".into()) })
        );
        assert_eq!(request_meta("tools/list", &Map::new()), Ok(RequestMeta::default()));
        let refused = |method: &str, meta: Value| request_meta(method, &params(meta)).unwrap_err().code;
        assert_eq!(refused("tools/list", json!({VERSION_KEY: STATELESS})), RpcError::INVALID_PARAMS);
        assert_eq!(refused("server/discover", json!({})), RpcError::INVALID_PARAMS);
        let later = json!({VERSION_KEY: "2030-01-01", CAPABILITIES_KEY: {}});
        let error = request_meta("server/discover", &params(later)).unwrap_err();
        assert_eq!(error.code, RpcError::UNSUPPORTED_VERSION);
        assert_eq!(error.data.unwrap()["supported"][0], STATELESS);
    }
}
