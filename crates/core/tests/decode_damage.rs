//! Truncation and flipped bits at every byte of every file never cause a panic or a state that differs from
//! the files.

use beads_core::snapshot::{DEPS, META, STATE, TOMBSTONES};
use beads_core::{Field, Snapshot, State};
use serde_json::{Map, Value, json};

use crate::support::example::example;
use crate::support::files::{file_mut, sealed, unsealed};
use crate::support::show;

const CHECKSUMMED: [&str; 3] = [STATE, TOMBSTONES, DEPS];

/// Returns every damaged version of one file.
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
fn checksums_detect_every_damage() {
    let files = example().encode();
    for name in CHECKSUMMED {
        for damaged in damages(&files, name) {
            assert!(damaged.decode().is_err(), "was accepted:\n{}", show(&damaged));
            assert!(damaged.decode_again().is_err(), "was accepted, read again:\n{}", show(&damaged));
        }
    }
}

/// `meta.json` has no checksum (the commit hash covers it). Damage may change the prefix, but no other part
/// of the state.
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
    assert!(survivors > 0, "some flips result in another valid prefix");
}

#[test]
fn without_checksums_damage_is_detected_or_decoded_exactly() {
    let files = unsealed(example().encode());
    let mut survivors = 0;
    for name in CHECKSUMMED {
        for damaged in damages(&files, name) {
            if let Ok(decoded) = damaged.decode() {
                survivors += 1;
                assert_decoded_exactly(&decoded.state, &damaged);
            }
        }
    }
    assert!(survivors > 0, "some flips result in another valid text");
}

/// Asserts that the state matches the files exactly. Only the mark of each register counts: `_at` may no
/// longer be the greatest mark, which is valid although our encoder would not write it.
fn assert_decoded_exactly(state: &State, files: &Snapshot) {
    let encoded = unsealed(state.encode());
    if encoded != *files {
        for name in CHECKSUMMED {
            let lines = |files: &Snapshot| with_all_marks(file_mut(&mut files.clone(), name));
            assert_eq!(lines(&encoded), lines(files), "{name}");
        }
        let again = encoded.decode().unwrap().state;
        assert!(again == *state && sealed(encoded) == again.encode());
    }
}

/// Returns the lines of a file with the mark of every register written out.
fn with_all_marks(file: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(file).unwrap().lines();
    lines
        .map(|text| {
            let mut line: Value = serde_json::from_str(text).unwrap();
            let has_bead = line.get("bead").is_some();
            let bead = if has_bead { &mut line["bead"] } else { &mut line };
            if bead.get("title").is_some() {
                expand_marks(bead.as_object_mut().unwrap());
            }
            line
        })
        .collect()
}

fn expand_marks(bead: &mut Map<String, Value>) {
    let top = json!([bead.remove("_at").unwrap(), bead.remove("_by").unwrap()]);
    let versions = bead.remove("_v").unwrap_or_default();
    let marks = Field::ALL.iter().map(|field| {
        let own = versions.get(field.name()).unwrap_or(&top);
        (field.name().to_owned(), own.clone())
    });
    bead.insert("marks".to_owned(), Value::Object(marks.collect()));
}
