//! JSON-RPC 2.0 as MCP uses it: one message per line.

use serde_json::{Map, Value, json};

/// An incoming message.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// A response, which is ignored: this server sends no requests.
    Response,
}

/// A protocol error. Tools report their failures in the result instead.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    /// Revision 2026-07-28: the request names an unsupported revision.
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn no_method(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("unknown method {method}"))
    }
}

/// Parses one line. An error includes the request's id, if it has one.
pub fn read(line: &[u8]) -> Result<Incoming, (Value, RpcError)> {
    let bad = |message: &str| (Value::Null, RpcError::new(RpcError::INVALID_REQUEST, message));
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (Value::Null, RpcError::new(RpcError::PARSE, format!("not JSON: {error}"))))?;
    let Value::Object(mut message) = value else {
        return Err(bad("a message must be one JSON object; batches are not supported"));
    };
    let id = message.remove("id");
    let at = id.clone().filter(|id| id.is_string() || id.is_number()).unwrap_or_default();
    let refuse = |message: &str| Err((at.clone(), RpcError::new(RpcError::INVALID_REQUEST, message)));
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return refuse("jsonrpc must be \"2.0\"");
    }
    let Some(method) = message.remove("method") else {
        let answers = message.contains_key("result") || message.contains_key("error");
        return if answers { Ok(Incoming::Response) } else { refuse("method is missing") };
    };
    let Value::String(method) = method else { return refuse("method must be a string") };
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err((at, RpcError::new(RpcError::INVALID_PARAMS, "params must be an object")));
        }
    };
    match id {
        None => Ok(Incoming::Notification { method, params }),
        Some(id) if id.is_string() || id.is_number() => Ok(Incoming::Request { id, method, params }),
        Some(_) => refuse("id must be a string or a number"),
    }
}

pub fn answer(id: &Value, result: Result<Value, RpcError>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError { code, message, data }) => {
            let mut error = json!({"code": code, "message": message});
            if let Some(data) = data {
                error["data"] = data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

pub fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_message_is_refused_with_its_id_if_it_has_one() {
        let refused = |line: &str| read(line.as_bytes()).map_err(|(id, error)| (id, error.code)).unwrap_err();
        assert_eq!(refused("{"), (Value::Null, RpcError::PARSE));
        assert_eq!(refused("[]"), (Value::Null, RpcError::INVALID_REQUEST));
        assert_eq!(refused(r#"{"id":7}"#), (json!(7), RpcError::INVALID_REQUEST));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":7,"method":3}"#), (json!(7), RpcError::INVALID_REQUEST));
        assert_eq!(
            refused(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
            (Value::Null, RpcError::INVALID_REQUEST)
        );
        assert_eq!(
            refused(r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}"#),
            (json!("a"), RpcError::INVALID_PARAMS)
        );
    }

    #[test]
    fn responses_of_the_client_are_recognised() {
        assert_eq!(read(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Incoming::Response));
    }
}
