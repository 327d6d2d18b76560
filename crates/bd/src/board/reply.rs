//! Replies of the server: JSON, compressed if the client accepts it, and errors with a code and a message.

use std::io::Write;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use beads_engine::failure::{Code, Failure};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde_json::json;

use super::auth::Refusal;

/// Shorter replies are sent as they are: compressing them costs more than it saves.
const COMPRESS_FROM: usize = 4_096;

/// Returns a reply with a body of this type. Data is never stored by the browser.
pub fn body(status: StatusCode, kind: &'static str, content: impl Into<Body>) -> Response {
    let reply = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind)
        .header(header::CACHE_CONTROL, "no-store")
        .body(content.into());
    reply.unwrap_or_default()
}

/// Returns a value as JSON.
pub fn json<T: Serialize>(value: &T, headers: &HeaderMap) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => compressed(text, "application/json", headers),
        Err(error) => failure(&Failure::internal(error)),
    }
}

/// Returns a text, compressed if the client accepts that.
pub fn compressed(text: Vec<u8>, kind: &'static str, headers: &HeaderMap) -> Response {
    match accepts_gzip(headers).then(|| packed(&text, Compression::fast())).flatten() {
        Some(packed) => gzip(packed, kind),
        None => body(StatusCode::OK, kind, text),
    }
}

/// Returns whether the client accepts compressed replies.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|value| value.split(',').any(|one| one.trim().starts_with("gzip")))
}

/// Compresses a text, unless it is short.
pub fn packed(text: &[u8], level: Compression) -> Option<Vec<u8>> {
    if text.len() < COMPRESS_FROM {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 4), level);
    encoder.write_all(text).and_then(|()| encoder.finish()).ok()
}

/// Returns a reply whose content is compressed already.
pub fn gzip(packed: impl Into<Body>, kind: &'static str) -> Response {
    let mut reply = body(StatusCode::OK, kind, packed);
    reply.headers_mut().insert(header::CONTENT_ENCODING, header::HeaderValue::from_static("gzip"));
    reply
}

/// Returns the reply to a request that failed in the store.
pub fn failure(failure: &Failure) -> Response {
    let status = match failure.code {
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Usage | Code::InvalidValue => StatusCode::BAD_REQUEST,
        Code::DaemonUnreachable | Code::Busy | Code::Timeout => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::CONFLICT,
    };
    let text = json!({"error": failure}).to_string();
    body(status, "application/json", text)
}

/// Returns the reply to a request that the gate refused.
pub fn refused(refusal: Refusal) -> Response {
    let (status, code, message) = match refusal {
        Refusal::Host => {
            (StatusCode::MISDIRECTED_REQUEST, "wrong_host", "this address does not belong to the board")
        }
        Refusal::Origin => (StatusCode::FORBIDDEN, "wrong_origin", "the request comes from another site"),
        Refusal::Token => (
            StatusCode::UNAUTHORIZED,
            "wrong_token",
            "the token is missing or was replaced; open the address that bd board prints",
        ),
    };
    error(status, code, message)
}

/// Returns an error of the server itself.
pub fn error(status: StatusCode, code: &str, message: &str) -> Response {
    let text = json!({"error": {"code": code, "message": message}}).to_string();
    body(status, "application/json", text)
}
