//! The envelope of full views, the same for success and failure.

use beads_core::Timestamp;
use beads_engine::escape::escape_json;
use beads_engine::failure::{Code, Failure};
use beads_store::{RealWorld, World};
use serde_json::{Map, Value, json};

use super::budget::{self, Budgeted};
use super::portal::Caller;
use super::session::Session;
use super::toolset::Toolset;
use super::{code, redact};

/// Errors have a fixed budget, large enough for any useful message.
const MAX_ERROR_CHARS: usize = 2_000;

/// The warning that the server's program was removed while it ran.
pub const RESTART: &str = "RESTART_NEEDED";
pub const RESTART_MESSAGE: &str =
    "bd was removed while this server ran; changes are saved locally but not pushed";
pub const RESTART_FIX: &str = "tell the user to restart this MCP server";

/// A suggested call that the client can make unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    what: Value,
    reason: &'static str,
}

impl Suggestion {
    pub fn tool(target: &str, params: &Value, reason: &'static str) -> Self {
        Self { what: json!({"action": "call_tool", "target": target, "params": params}), reason }
    }

    pub fn method(method: &str, params: &Value, reason: &'static str) -> Self {
        Self { what: json!({"action": "call_method", "method": method, "params": params}), reason }
    }

    fn json(self) -> Value {
        let mut suggestion = self.what;
        suggestion["reason"] = self.reason.into();
        suggestion["priority"] = "high".into();
        suggestion["validated"] = true.into();
        suggestion
    }
}

pub fn succeeded(intent: &str, fitted: &Budgeted, session: &Session, suggestions: Vec<Suggestion>) -> String {
    let warning = |code: &&str| json!({"code": code, "message": meaning(code), "recovery": "raise max_chars, or ask for less"});
    let warnings: Vec<Value> = fitted.warnings.iter().map(warning).collect();
    envelope(intent, session, &fitted.result, &Value::Null, &warnings, suggestions)
}

pub fn failed(intent: &str, failure: &Failure, session: &Session, suggestions: Vec<Suggestion>) -> String {
    // A client that calls a full view knows the full toolset.
    let mut error = json!({
        "code": code::code(failure),
        "message": failure.message,
        "recovery": code::recovery(failure, Toolset::Full),
    });
    if !failure.details.is_null() {
        error["details"] = failure.details.clone();
    }
    redact::value(&mut error);
    // Messages quote the caller's input, which may be long.
    budget::shorten(&mut error, MAX_ERROR_CHARS);
    envelope(intent, session, &json!({}), &error, &[], suggestions)
}

fn envelope(
    intent: &str,
    session: &Session,
    result: &Value,
    error: &Value,
    warnings: &[Value],
    suggestions: Vec<Suggestion>,
) -> String {
    let timestamp = Timestamp::text_of(RealWorld.now_ms());
    let suggestions: Vec<Value> = suggestions.into_iter().map(Suggestion::json).collect();
    let mut warnings = warnings.to_vec();
    if session.must_restart() {
        warnings.push(json!({"code": RESTART, "message": RESTART_MESSAGE, "recovery": RESTART_FIX}));
    }
    let envelope = json!({
        "success": error.is_null(),
        "intent": intent,
        "result": result,
        "warnings": warnings,
        "suggestions": suggestions,
        "context": {"workspace": session.workspace.as_str()},
        "error": error,
        "timestamp": timestamp,
    });
    escape_json(envelope.to_string())
}

fn meaning(code: &str) -> &'static str {
    match code {
        "BUDGET_MIN_CLAMPED" => "max_chars was too small for any answer and was raised",
        "BUDGET_MINIMAL" => "the answer does not fit",
        _ => "the answer was cut to fit",
    }
}

/// Suggests the call for the next page of a list.
pub fn next_page(tool: &str, mut arguments: Map<String, Value>, offset: usize) -> Suggestion {
    arguments.insert("offset".into(), offset.into());
    let mut params = Value::Object(arguments);
    redact::value(&mut params);
    Suggestion::tool(tool, &params, "Read the next page")
}

/// Suggests calls that help after a failure.
pub fn recovery_suggestions(
    failure: &Failure,
    arguments: &Map<String, Value>,
    caller: Caller<'_>,
) -> Vec<Suggestion> {
    match failure.code {
        Code::RevisionMismatch | Code::Conflict => {
            let named = arguments.get("target").or_else(|| arguments.get("id"));
            let resolve = |named| super::target::reference(caller.session, caller.actor, named).ok();
            let id = failure.details["id"].as_str().map(str::to_owned).or_else(|| named.and_then(resolve));
            let show =
                |id: String| Suggestion::tool("beads_show", &json!({"id": id}), "Read its current state");
            id.map(show).into_iter().collect()
        }
        Code::Usage | Code::InvalidValue | Code::InvalidType | Code::MissingField => {
            vec![Suggestion::method("tools/list", &json!({"toolset": "full"}), "See the tool's arguments")]
        }
        _ => code::recovery_calls(failure)
            .into_iter()
            .map(|(tool, params)| Suggestion::tool(tool, &params, "Continue with this call"))
            .collect(),
    }
}
