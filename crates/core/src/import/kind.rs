//! Maps statuses, types and dependency kinds of other trackers to ours.

use crate::{BeadType, EdgeKind, Status, TypeGroup, Word, words};

/// The meaning of a foreign status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappedStatus {
    pub status: Status,
    /// The foreign word, if it is more specific than the status.
    pub word: Option<Word>,
    /// Whether status and word represent the text completely, so that it need not be kept.
    pub exact: bool,
    pub tombstone: bool,
}

impl MappedStatus {
    fn plain(status: Status) -> Self {
        Self { status, word: None, exact: true, tombstone: false }
    }

    fn worded(status: Status, text: &str) -> Self {
        let word = text.parse::<Word>().ok().filter(|word| word.as_str() != status.as_str());
        let exact = word.as_ref().is_some_and(|word| word.as_str() == text);
        Self { word, exact, ..Self::plain(status) }
    }
}

/// Maps a foreign status. An unknown word means open, or closed if the line has a close time.
pub(crate) fn mapped_status(text: &str, has_closed_at: bool) -> MappedStatus {
    match text {
        "" => MappedStatus::plain(Status::Open),
        "tombstone" => MappedStatus { tombstone: true, ..MappedStatus::plain(Status::Open) },
        _ => match (text.parse::<Status>(), words::known_status(&text.to_ascii_lowercase())) {
            // Other spellings of our statuses are not exact, so an export writes the original.
            (Ok(status), _) => MappedStatus { exact: text == status.as_str(), ..MappedStatus::plain(status) },
            (Err(_), Some(status)) => MappedStatus::worded(status, text),
            (Err(_), None) if has_closed_at => MappedStatus::worded(Status::Closed, text),
            (Err(_), None) => MappedStatus::worded(Status::Open, text),
        },
    }
}

/// Maps a status of the last versions of the legacy store, such as `Todo` or `Human Review`.
pub(super) fn legacy_status(text: &str) -> Option<MappedStatus> {
    let word = text.to_ascii_lowercase().replace(' ', "_");
    Some(match word.as_str() {
        "todo" => MappedStatus::plain(Status::Open),
        "in_progress" => MappedStatus::plain(Status::InProgress),
        "human_review" | "rework" | "merging" => MappedStatus::worded(Status::InProgress, &word),
        "done" => MappedStatus::plain(Status::Closed),
        "cancelled" | "canceled" => MappedStatus::worded(Status::Closed, "cancelled"),
        "duplicate" => MappedStatus::worded(Status::Closed, "duplicate"),
        _ => return None,
    })
}

/// Maps a foreign type. Returns the type with its word, and whether they represent the text completely. An
/// unknown word means task.
pub(super) fn mapped_type(text: &str) -> (TypeGroup, bool) {
    match text.parse::<BeadType>() {
        Ok(kind) => (kind.into(), true),
        Err(_) if text.is_empty() => (TypeGroup::default(), true),
        Err(_) => {
            let kind = words::known_type(&text.to_ascii_lowercase()).unwrap_or_default();
            let word = text.parse::<Word>().ok().filter(|word| word.as_str() != kind.as_str());
            let exact = word.as_ref().is_some_and(|word| word.as_str() == text);
            (TypeGroup { kind, word }, exact)
        }
    }
}

/// Maps a foreign dependency kind. Returns the kind, and whether it represents the word completely.
pub(super) fn mapped_edge(word: &str) -> (EdgeKind, bool) {
    if word.is_empty() {
        return (EdgeKind::Blocks, true);
    }
    match word.parse::<EdgeKind>() {
        // `relates-to` and other spellings are not exact, so an export writes the original.
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
        assert!(mapped_status("tombstone", false).tombstone);
        for (text, word, exact) in [
            ("pinned", Some("pinned"), true),
            ("In Review!", None, false),
            ("Blocked", Some("blocked"), false),
            ("in-progress", None, false),
            ("closed", None, true),
        ] {
            let mapped = mapped_status(text, false);
            assert_eq!((mapped.word.as_ref().map(Word::as_str), mapped.exact), (word, exact), "{text}");
        }
        assert_eq!(legacy_status("Human Review").unwrap().status, Status::InProgress);
        assert_eq!(legacy_status("Cancelled").unwrap().status, Status::Closed);
        let (kind, exact) = mapped_type("merge-request");
        assert_eq!((kind.shown(), kind.kind, exact), ("merge-request", BeadType::Task, true));
        assert_eq!(mapped_edge("parent_child"), (EdgeKind::Parent, false));
        assert_eq!(mapped_edge("parent-child"), (EdgeKind::Parent, true));
        assert_eq!(mapped_edge("supersedes"), (EdgeKind::Related, false));
    }
}
