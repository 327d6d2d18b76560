//! Truncation and flipped bits at every byte of every file: never a panic, never a state that the files do not say.
#![allow(clippy::unwrap_used)] // failing is a test's job

mod support;

use beads_core::snapshot::{DEPS, META, STATE, TOMBSTONES};
use beads_core::{Field, Snapshot, State};
use serde_json::{Map, Value, json};

use support::example::example;
use support::files::{file_mut, sealed, unsealed};
use support::show;

const SUMMED: [&str; 3] = [STATE, TOMBSTONES, DEPS];

/// Every damaged version of one file.
fn damages<'a>(files: &'a Snapshot, name: &'a str) -> impl Iterator<Item = Snapshot> + 'a {
    let length = file_mut(&mut files.clone(), name).len();
    let truncated = (0..length).map(move |end| damaged(files, name, |bytes| bytes.truncate(end)));
    let flipped =
        (0..length * 8).map(move |bit| damaged(files, name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8)));
    truncated.chain(flipped)
}

fn damaged(files: &Snapshot, name: &str, damage: impl FnOnce(&mut Vec<u8>)) -> Snapshot {
    let mut files = files.clone();
    damage(file_mut(&mut files, name));
    files
}

#[test]
fn checksums_find_every_damage() {
    let files = example().encode();
    for name in SUMMED {
        for damaged in damages(&files, name) {
            assert!(damaged.decode().is_err(), "was accepted:\n{}", show(&damaged));
            assert!(damaged.decode_again().is_err(), "was accepted, read again:\n{}", show(&damaged));
        }
    }
}

/// `meta.json` carries no checksum of its own (the commit does): damage there may be another prefix, no other state.
#[test]
fn a_damaged_meta_changes_at_most_the_prefix() {
    let files = example().encode();
    let mut survivors = 0;
    for damaged in damages(&files, META) {
        if let Ok(decoded) = damaged.decode() {
            survivors += 1;
            let encoded = decoded.state.encode();
            assert!(encoded == damaged, "{}", show(&damaged));
            assert!(decoded.state.beads() == example().beads() && decoded.state.edges() == example().edges());
        }
    }
    assert!(survivors > 0, "some flips make another valid prefix");
}

#[test]
fn without_checksums_a_damage_is_found_or_read_to_the_letter() {
    let files = unsealed(example().encode());
    let mut survivors = 0;
    for name in SUMMED {
        for damaged in damages(&files, name) {
            if let Ok(decoded) = damaged.decode() {
                survivors += 1;
                read_to_the_letter(&decoded.state, &damaged);
            }
        }
    }
    assert!(survivors > 0, "some flips make another valid text");
}

/// What was read says exactly what the files say. Of the marks it counts what they say about each register: `_at` may
/// have become another than the greatest, which is legal though not ours.
fn read_to_the_letter(state: &State, files: &Snapshot) {
    let encoded = unsealed(state.encode());
    if encoded != *files {
        for name in SUMMED {
            let lines = |files: &Snapshot| spelled_out(file_mut(&mut files.clone(), name));
            assert_eq!(lines(&encoded), lines(files), "{name}");
        }
        let again = encoded.decode().unwrap().state;
        assert!(again == *state && sealed(encoded) == again.encode());
    }
}

/// The lines of a file with the mark of every register written out.
fn spelled_out(file: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(file).unwrap().lines();
    lines
        .map(|text| {
            let mut line: Value = serde_json::from_str(text).unwrap();
            let has_bead = line.get("bead").is_some();
            let bead = if has_bead { &mut line["bead"] } else { &mut line };
            if bead.get("title").is_some() {
                spell_out(bead.as_object_mut().unwrap());
            }
            line
        })
        .collect()
}

fn spell_out(bead: &mut Map<String, Value>) {
    let top = json!([bead.remove("_at").unwrap(), bead.remove("_by").unwrap()]);
    let versions = bead.remove("_v").unwrap_or_default();
    let marks = Field::ALL.iter().map(|field| {
        let own = versions.get(field.name()).unwrap_or(&top);
        (field.name().to_owned(), own.clone())
    });
    bead.insert("marks".to_owned(), Value::Object(marks.collect()));
}
