//! Words of other trackers, in ours.

use crate::{BeadType, EdgeKind, Status, words};

/// What a foreign status means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MappedStatus {
    pub status: Status,
    /// The word is one of ours and needs not be kept.
    pub exact: bool,
    /// Open, but not to be handed out.
    pub shelved: bool,
    pub tombstone: bool,
}

/// A word nobody knows is open, or closed if the line says when it was closed.
pub(crate) fn mapped_status(word: &str, has_closed_at: bool) -> MappedStatus {
    let plain = |status, exact| MappedStatus { status, exact, shelved: false, tombstone: false };
    match word {
        "" | "open" => plain(Status::Open, true),
        "in_progress" => plain(Status::InProgress, true),
        "closed" => plain(Status::Closed, true),
        "in-progress" => plain(Status::InProgress, false),
        "deferred" | "pinned" => MappedStatus { shelved: true, ..plain(Status::Open, false) },
        "tombstone" => MappedStatus { tombstone: true, ..plain(Status::Open, true) },
        _ => match words::known_status(word) {
            Some(status) => plain(status, false),
            None if has_closed_at => plain(Status::Closed, false),
            None => plain(Status::Open, false),
        },
    }
}

/// `None` for a type of other trackers, which is a task here.
pub(crate) fn mapped_type(word: &str) -> Option<BeadType> {
    if word.is_empty() { Some(BeadType::Task) } else { word.parse().ok() }
}

/// The kind, and whether it says all that the word did.
pub(super) fn mapped_edge(word: &str) -> (EdgeKind, bool) {
    if word.is_empty() {
        return (EdgeKind::Blocks, true);
    }
    match word.parse::<EdgeKind>() {
        // `relates-to` and other spellings come back as they were.
        Ok(kind) => (kind, word == kind.client_name()),
        Err(_) => (EdgeKind::Related, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_mapped_as_documented() {
        let status = |word| mapped_status(word, false).status;
        assert_eq!(["blocked", "deferred", "pinned", "whatever"].map(status), [Status::Open; 4]);
        assert_eq!(["hooked", "review"].map(status), [Status::InProgress; 2]);
        assert_eq!(mapped_status("done", true).status, Status::Closed);
        assert!(mapped_status("pinned", false).shelved && mapped_status("tombstone", false).tombstone);
        assert_eq!(mapped_type("merge-request"), None);
        assert_eq!(mapped_edge("parent_child"), (EdgeKind::Parent, false));
        assert_eq!(mapped_edge("parent-child"), (EdgeKind::Parent, true));
        assert_eq!(mapped_edge("supersedes"), (EdgeKind::Related, false));
    }
}
