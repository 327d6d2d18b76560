//! Short texts such as ids: whatever parses prints as a text that parses to the same value.

use std::fmt::Display;
use std::str::FromStr;

use beads_core::{
    Actor, BeadId, BeadType, ConflictId, EdgeKind, Label, Line, Prefix, Stamp, Status, Timestamp, Title,
};
use beads_store::Cursor;

/// Returns some texts of every kind.
pub fn corpus() -> Vec<Vec<u8>> {
    let texts = [
        "bd-1",
        "bd-a1b2.3.4",
        "ext-9",
        "ann@here",
        "CONFLICT-0123456789abcdef0123456789abcdef",
        "1700000000000.65537",
        "2025-01-02T03:04:05.678Z",
        "2025-01-02",
        "2h",
        "in_progress",
        "blocks",
        "parent-child",
        "task",
        "a label",
        "0a1b2c3d-42",
        "e\u{301}",
        "90m",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Parses the text as every kind of value.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_round_trip::<BeadId>(text);
    check_round_trip::<Prefix>(text);
    check_round_trip::<Actor>(text);
    check_round_trip::<Label>(text);
    check_round_trip::<Title>(text);
    check_round_trip::<Line>(text);
    check_round_trip::<ConflictId>(text);
    check_round_trip::<Stamp>(text);
    check_round_trip::<Timestamp>(text);
    check_round_trip::<Status>(text);
    check_round_trip::<BeadType>(text);
    check_round_trip::<EdgeKind>(text);
    check_round_trip::<Cursor>(text);
    let _ = beads_engine::config::parse_duration(text);
}

/// Checks that a value survives printing and parsing.
fn check_round_trip<T: FromStr + Display + PartialEq>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    let printed = value.to_string();
    let again = printed.parse::<T>().ok().expect("a printed value can be parsed");
    assert!(again == value, "{text:?} prints as {printed:?}, which means something else");
}
