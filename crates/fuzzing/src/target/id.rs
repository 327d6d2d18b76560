//! Everything that is one short text: what can be read prints as something that reads the same.

use std::fmt::Display;
use std::str::FromStr;

use beads_core::{
    Actor, BeadId, BeadType, ConflictId, EdgeKind, Label, Line, Prefix, Stamp, Status, Timestamp, Title,
};
use beads_store::Cursor;

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

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    settles::<BeadId>(text);
    settles::<Prefix>(text);
    settles::<Actor>(text);
    settles::<Label>(text);
    settles::<Title>(text);
    settles::<Line>(text);
    settles::<ConflictId>(text);
    settles::<Stamp>(text);
    settles::<Timestamp>(text);
    settles::<Status>(text);
    settles::<BeadType>(text);
    settles::<EdgeKind>(text);
    settles::<Cursor>(text);
    let _ = beads_engine::config::parse_duration(text);
}

fn settles<T: FromStr + Display + PartialEq>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    let printed = value.to_string();
    let again = printed.parse::<T>().ok().expect("what was printed can be read");
    assert!(again == value, "{text:?} prints as {printed:?}, which means something else");
}
