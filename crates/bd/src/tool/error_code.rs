//! The few words by which tools name what went wrong (contract 3). The finer word is in `details.code`.

use beads_engine::failure::{Failure, exit};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    InvalidJson,
    MissingField,
    InvalidType,
    InvalidValue,
    NotFound,
    Conflict,
    PermissionDenied,
    Timeout,
    RateLimited,
    NetworkError,
    DependencyMissing,
    InternalError,
}

impl ErrorCode {
    pub fn exit(self) -> u8 {
        match self {
            Self::InvalidJson | Self::MissingField | Self::InvalidType | Self::InvalidValue => exit::USAGE,
            Self::NetworkError => exit::NETWORK,
            Self::DependencyMissing => exit::MISSING,
            _ => exit::DOMAIN,
        }
    }
}

/// Every code of `bd` and `bb`, as the tools say it.
pub fn error_code(failure: &Failure) -> ErrorCode {
    match failure.code.as_str() {
        "invalid_json" => ErrorCode::InvalidJson,
        "missing_field" | "MISSING_BEAD_ID" => ErrorCode::MissingField,
        "invalid_type" => ErrorCode::InvalidType,
        "usage" | "invalid_value" | "invalid_name" | "unknown_key" | "too_large" | "invalid_request"
        | "INVALID_ARGS" | "INVALID_CATEGORY" => ErrorCode::InvalidValue,
        "not_found"
        | "deleted"
        | "ambiguous_id"
        | "dependency_not_found"
        | "no_store"
        | "nothing_ready"
        | "nothing_to_undo"
        | "AGENT_NOT_FOUND"
        | "UNKNOWN_SENDER"
        | "UNKNOWN_RECIPIENT"
        | "MESSAGE_NOT_FOUND"
        | "RESERVATION_NOT_FOUND" => ErrorCode::NotFound,
        "conflict"
        | "request_id_reused"
        | "id_taken"
        | "already_claimed"
        | "not_holder"
        | "stale_claim"
        | "closed"
        | "self_dependency"
        | "cycle"
        | "partial_failure"
        | "cannot_undo"
        | "undo_conflict"
        | "sync_contention"
        | "cursor_expired"
        | "cursor_ahead"
        | "DUPLICATE_AGENT_ID"
        | "RESERVATION_CONFLICT"
        | "RESERVATION_STALE_FOUND" => ErrorCode::Conflict,
        "push_refused"
        | "unsafe_runtime_directory"
        | "permission_denied"
        | "ACK_FORBIDDEN"
        | "RELEASE_FORBIDDEN" => ErrorCode::PermissionDenied,
        "timeout" => ErrorCode::Timeout,
        "busy" | "too_many_requests" => ErrorCode::RateLimited,
        "network_error" => ErrorCode::NetworkError,
        "dependency_missing" => ErrorCode::DependencyMissing,
        _ => ErrorCode::InternalError,
    }
}
