//! Hostile and damaged files: each is an error that names the file and the line.

use std::fmt::Debug;

use beads_core::snapshot::{DEPS, META, STATE, TOMBSTONES};
use beads_core::{Error, Snapshot};

use crate::support::example::example;
use crate::support::files::{file_mut, replaced, sealed};

/// File, line, original text, replacement, and part of the expected error. Checksums are updated, so that the
/// damage itself is found.
type Row = (&'static str, usize, &'static str, &'static str, &'static str);

const STATE_ROWS: &[Row] = &[
    // JSON and its canonical form.
    (STATE, 1, r#""id":"#, r#""id":"bd-a1","id":"#, "duplicate field `id`"),
    (STATE, 1, r#""priority":2"#, r#""colour":1,"priority":2"#, "unknown field `colour`"),
    (STATE, 1, r#""priority":2"#, r#""priority": 2"#, "canonical"),
    (STATE, 1, r#"{"_at""#, r#" {"_at""#, "canonical"),
    (STATE, 1, r#""task"}"#, "\"task\"}\r", "canonical"),
    (STATE, 1, r#""task"}"#, r#""task"} {}"#, "trailing characters"),
    (STATE, 1, r#""task"}"#, r#""task""#, "EOF"),
    (STATE, 1, r#""priority":2,"status":"open""#, r#""status":"open","priority":2"#, "canonical"),
    (STATE, 2, "{", "\n{", "EOF"),
    (STATE, 3, "ä/ö", r"ä\/ö", "canonical"),
    (STATE, 3, "It works", r"\u0049t works", "canonical"),
    (STATE, 3, r"\u001b", r"\u001B", "canonical"),
    (STATE, 3, r"Tab\t", r"Tab\u0009", "canonical"),
    (STATE, 3, "ä/ö", r"\u00e4/ö", "canonical"),
    (STATE, 3, "ä/ö", r"\ud800/ö", "hex escape"),
    (STATE, 3, r"Tab\t", "Tab\t", "control character"),
    (STATE, 3, r"Tab\t", r"Tab\u0000", "NUL"),
    (STATE, 1, r#""priority":2"#, r#""design":null,"priority":2"#, "canonical"),
    (STATE, 1, r#""priority":2"#, r#""design":"","priority":2"#, "canonical"),
    // Required fields.
    (STATE, 1, r#""id":"bd-a1","#, "", "id is missing"),
    (STATE, 1, r#""_at":[1702234567910,4660],"#, "", "_at and _by"),
    (STATE, 1, r#""_by":"ann@mac","#, "", "_at and _by"),
    (STATE, 1, r#""created_at":[1702234567910,4660],"#, "", "created_at is missing"),
    (STATE, 1, r#""created_by":"ann@mac","#, "", "created_by is missing"),
    (STATE, 1, r#""title":"Title of bd-a1","#, "", "title is missing"),
    (STATE, 1, r#""priority":2,"#, "", "priority is missing"),
    (STATE, 1, r#""status":"open","#, "", "status is missing"),
    (STATE, 1, r#","type":"task""#, "", "type is missing"),
    // Values out of their range.
    (STATE, 1, r#""priority":2"#, r#""priority":2.0"#, "floating point"),
    (STATE, 1, r#""priority":2"#, r#""priority":5"#, "not 0, 1, 2, 3 or 4"),
    (STATE, 1, r#""priority":2"#, r#""priority":-1"#, "integer `-1`"),
    (STATE, 1, r#""priority":2"#, r#""priority":"2""#, "expected u64"),
    (STATE, 1, r#""status":"open""#, r#""status":"blocked""#, "unknown variant `blocked`"),
    (STATE, 1, r#""type":"task""#, r#""type":"story""#, "unknown variant `story`"),
    (STATE, 1, "Title of bd-a1", " ", "invalid title"),
    (STATE, 1, "Title of bd-a1", r"two\nlines", "invalid title"),
    (STATE, 1, r#""_by":"ann@mac""#, r#""_by":"""#, "invalid actor"),
    (STATE, 1, "[1702234567910,4660]", "[4102444800000,4660]", "2100"),
    (STATE, 1, "[1702234567910,4660]", "[1702234567910,4294967296]", "4294967296"),
    (STATE, 1, "[1702234567910,4660]", "[-1,4660]", "-1"),
    (STATE, 1, "[1702234567910,4660]", "[1702234567910.0,4660]", "floating point"),
    (STATE, 1, "[1702234567910,4660]", "[1702234567910]", "length 1"),
    (STATE, 1, "[1702234567910,4660]", "[1702234567910,4660,0]", "trailing"),
    (STATE, 1, r#""id":"bd-a1""#, r#""id":"bda1""#, "must contain a '-'"),
    (STATE, 1, r#""id":"bd-a1""#, r#""id":"../-a1""#, "invalid id"),
    (STATE, 3, r#""estimated_minutes":90"#, r#""estimated_minutes":5256001"#, "more than"),
    (STATE, 3, r#""due_at":1703000000000"#, r#""due_at":4102444800000"#, "2100"),
    (STATE, 3, r#""due_at":1703000000000"#, r#""due_at":"2023-12-19T15:33:20Z""#, "expected u64"),
    // Groups.
    (STATE, 1, r#""created_at""#, r#""closed_reason":"why","created_at""#, "belong to a closed bead"),
    (STATE, 4, r#""assignee":"bob@pc","#, "", "assignee_expires without assignee"),
    // Labels, notes, metadata.
    (STATE, 3, r#"["Zoo","api","ä"]"#, r#"["api","Zoo","ä"]"#, "canonical"),
    (STATE, 3, r#"["Zoo","api","ä"]"#, r#"["Zoo","api","api","ä"]"#, "canonical"),
    (STATE, 3, r#"["Zoo","api","ä"]"#, r#"["Zoo"," api","ä"]"#, "canonical"),
    (STATE, 3, r#"["Zoo","api","ä"]"#, r#"["Zoo","a,pi","ä"]"#, "invalid label"),
    (STATE, 3, r#"["Zoo","api","ä"]"#, "[]", "canonical"),
    (STATE, 3, r#""at":[1702234568010,51966]"#, r#""at":[1702234568009,51966]"#, "notes are not in order"),
    (STATE, 3, r#""slot":"notes""#, r#""slot":"title""#, "unknown variant `title`"),
    (STATE, 3, r#""slot":"notes""#, r#""slot":"notes","x":1"#, "unknown field `x`"),
    (STATE, 3, r#","id":"e15ca91f034b""#, "", "missing field `id`"),
    (STATE, 1, r#""priority":2"#, r#""notes":[],"priority":2"#, "canonical"),
    (STATE, 3, r#"{"points":0.5,"#, r#"{"points":0.5,"points":0.5,"#, "canonical"),
    (STATE, 3, r#"{"points":0.5,"#, r#"{"gone":null,"points":0.5,"#, "canonical"),
    (STATE, 3, r#"{"points":0.5,"#, r#"{"points":0.50,"#, "canonical"),
    (STATE, 3, r#"{"points":0.5,"#, r#"{"points":1e999,"#, "out of range"),
    (STATE, 1, r#""priority":2"#, r#""metadata":{},"priority":2"#, "canonical"),
    (STATE, 1, r#""priority":2"#, r#""metadata":[1],"priority":2"#, "expected a map"),
    // Stamps of single registers.
    (STATE, 1, r#""created_at""#, r#""_v":{},"created_at""#, "canonical"),
    (STATE, 4, "[[1702234568090,51966]", "[[1702234568100,51966]", "canonical"),
    (STATE, 4, r#""_v":{"#, r#""_v":{"updated_at":[[1,0],"x"],"#, "unknown variant `updated_at`"),
    (STATE, 4, r#""_v":{"#, r#""_v":{"title":[[1,0],"x"],"#, "canonical"),
    (STATE, 4, r#""_v":{"#, r#""_v":{"acceptance_criteria":[[1,0],"x"],"#, "canonical"),
    // Ids and births.
    (STATE, 1, r#""created_at""#, r#""born":"bd-a1","created_at""#, "canonical"),
    (STATE, 2, r#""id":"bd-a18ifbb5""#, r#""id":"bd-a18ifbb6""#, "should have the id bd-a18ifbb5"),
    (STATE, 5, r#""id":"bd-z9apegbs""#, r#""id":"bd-d1x""#, "out of order"),
];

const OTHER_ROWS: &[Row] = &[
    (TOMBSTONES, 1, r#"["bd-a18ifbb5"]"#, r#"["bd-a18ifbb6"]"#, r#"should be [bd-a18ifbb5]"#),
    (TOMBSTONES, 1, r#"["bd-a18ifbb5"]"#, r#"["bd-a18ifbb5","bd-a18ifbb5"]"#, "should be"),
    (TOMBSTONES, 1, r#","remapped":["bd-a18ifbb5"]"#, "", "neither a bead nor remapped"),
    (TOMBSTONES, 1, r#"["bd-a18ifbb5"]"#, "[]", "neither a bead nor remapped"),
    (TOMBSTONES, 1, "[0,0]", "[1,0]", "a deletion without its bead"),
    (TOMBSTONES, 1, r#""remapped""#, r#""reason":"x","remapped""#, "a deletion without its bead"),
    (TOMBSTONES, 1, "ann@mac", "bob@pc", "deleted_by should be the creator of bd-a1"),
    (TOMBSTONES, 2, r#""reason":"duplicate""#, r#""reason":"""#, "canonical"),
    (TOMBSTONES, 2, r#""reason":"duplicate""#, r#""remapped":["bd-x"]"#, "no bead lost the id bd-d1"),
    (TOMBSTONES, 2, r#""reason":"duplicate""#, r#""cause":"x""#, "unknown field `cause`"),
    (TOMBSTONES, 2, r#""deleted_at":[1702234568200,4660],"#, "", "missing field `deleted_at`"),
    (TOMBSTONES, 2, r#""deleted_by":"ann@mac","#, "", "missing field `deleted_by`"),
    (TOMBSTONES, 2, "[1702234568200,4660]", "[1702234568189,4660]", "changed after its deletion"),
    (TOMBSTONES, 2, r#""created_at""#, r#""born":"bd-d1","created_at""#, "canonical"),
    (TOMBSTONES, 2, r#""notes":"#, r#""id":"bd-d1","notes":"#, "the id occurs twice"),
    (TOMBSTONES, 2, r#""_at":[1702234567930,4660],"#, "", "_at and _by"),
    (TOMBSTONES, 2, r#""id":"bd-d1""#, r#""id":"bd-p1""#, "already occurs in state.jsonl line 3"),
    (TOMBSTONES, 3, r#""id":"bd-z9""#, r#""id":"bd-b9""#, "out of order"),
    (DEPS, 1, r#""kind":"discovered_from""#, r#""kind":"child""#, "unknown variant `child`"),
    (DEPS, 1, r#","to":"bd-gone""#, "", "missing field `to`"),
    (DEPS, 1, r#""to":"bd-gone""#, r#""to":"gone""#, "invalid id"),
    (DEPS, 1, r#""to":"bd-gone""#, r#""to":"bd-gone","weight":1"#, "unknown field `weight`"),
    (DEPS, 1, r#""from":"bd-a1""#, r#""from":"bd-a1","from":"bd-a1""#, "duplicate field `from`"),
    (DEPS, 2, r#""from":"bd-a18ifbb5""#, r#""from":"bd-a0""#, "out of order"),
    (DEPS, 3, r#""deleted_by":"bob@pc","#, "", "must occur together"),
    (DEPS, 3, r#"{"created_at""#, r#"{"_at":[1,0],"_by":"x","created_at""#, "both deleted and re-added"),
    (DEPS, 4, r#""_by":"ann@mac","#, "", "must occur together"),
    (DEPS, 4, r#""_at":[1702234568310,4660]"#, r#""_at":[1702234568290,4660]"#, "canonical"),
    (META, 1, r#"{"format_version":1"#, r#"{"format_version":0"#, "never existed"),
    (META, 1, r#"{"format_version":1"#, r#"{"format_version":"1""#, "expected u64"),
    (META, 1, r#"{"format_version":1"#, r#"{"format_version":1.0"#, "floating point"),
    (META, 1, r#""format_version":1,"#, "", "missing field `format_version`"),
    (META, 1, r#""prefix":"app","#, r#""prefix":"app","stamp":1,"#, "unknown field `stamp`"),
    (META, 1, r#""prefix":"app","#, "", "missing field `prefix`"),
    (META, 1, r#""prefix":"app""#, r#""prefix":"App""#, "invalid prefix"),
    (META, 1, r#""prefix":"app""#, r#""prefix":"app-""#, "canonical"),
    (META, 1, r#""prefix_at":[1702234568390,4660],"#, "", "inconsistent"),
    (META, 1, r#""prefix_at":[1702234568390,4660],"prefix_by":"ann@mac","#, "", "inconsistent"),
    (
        META,
        1,
        r#""prefix_by":"ann@mac""#,
        r#""prefix_by":"ann@mac","prefix_by":"ann@mac""#,
        "duplicate field",
    ),
    (META, 1, r#"{"deps.jsonl""#, r#"{"deps.jsonl":"0","deps.jsonl""#, "canonical"),
    (META, 1, r#""deps.jsonl":"9"#, r#""deps.jsonl":"8"#, "the checksum of deps.jsonl is wrong"),
    (META, 1, r#"{"deps.jsonl""#, r#"{"conflicts.txt":"0","deps.jsonl""#, "not part of the format"),
    (META, 1, r#","prefix""#, r#", "prefix""#, "canonical"),
];

#[test]
fn every_damage_is_an_error_with_file_and_line() {
    let mut wrong = Vec::new();
    for row @ (file, line, from, to, says) in STATE_ROWS.iter().chain(OTHER_ROWS) {
        let damaged = replaced(&example().encode(), file, *line, from, to);
        wrong.extend(differs(row, &damaged, file, *line, says));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(STATE_ROWS.len() + OTHER_ROWS.len() >= 110, "rows are missing");
}

fn expect(what: &str, damaged: &Snapshot, file: &str, line: usize, says: &str) {
    assert_eq!(differs(&what, damaged, file, line, says), None);
}

/// Returns a description if decoding does not fail as expected.
fn differs(what: &dyn Debug, damaged: &Snapshot, file: &str, line: usize, says: &str) -> Option<String> {
    match damaged.decode() {
        Err(Error::Corrupt { file: at, line: number, reason })
            if (at, number) == (file, line) && reason.contains(says) =>
        {
            None
        }
        Err(error) => Some(format!("{what:?}: {error}")),
        Ok(_) => Some(format!("{what:?}: was accepted")),
    }
}

/// Edits a file and updates the checksums.
fn edited(file: &str, edit: impl FnOnce(&mut Vec<u8>)) -> Snapshot {
    let mut files = example().encode();
    edit(file_mut(&mut files, file));
    sealed(files)
}

fn line_of(file: &str, number: usize) -> Vec<u8> {
    let mut files = example().encode();
    file_mut(&mut files, file).split_inclusive(|byte| *byte == b'\n').nth(number - 1).unwrap().to_vec()
}

#[test]
fn lines_are_complete_unique_and_sorted() {
    let lines = [(STATE, 5), (TOMBSTONES, 3), (DEPS, 4)];
    for (file, last) in lines {
        expect(
            "no final newline",
            &edited(file, |bytes| bytes.truncate(bytes.len() - 1)),
            file,
            last,
            "incomplete",
        );
        let doubled = edited(file, |bytes| bytes.extend(line_of(file, last)));
        expect("a line twice", &doubled, file, last + 1, "duplicate");
        let swapped = edited(file, |bytes| *bytes = [line_of(file, 2), line_of(file, 1)].concat());
        expect("swapped lines", &swapped, file, 2, "out of order");
        let bad_utf8 = edited(file, |bytes| bytes[3] = 0xff);
        expect("bad UTF-8", &bad_utf8, file, 1, "UTF-8");
        let overlong = edited(file, |bytes| bytes[1..3].copy_from_slice(&[0xc0, 0xaf]));
        expect("overlong UTF-8", &overlong, file, 1, "UTF-8");
        let bom = edited(file, |bytes| *bytes = [b"\xef\xbb\xbf", bytes.as_slice()].concat());
        expect("byte order mark", &bom, file, 1, "expected value");
        expect("an empty line", &edited(file, |bytes| bytes.push(b'\n')), file, last + 1, "EOF");
    }
}

#[test]
fn meta_is_one_canonical_line() {
    let edited_meta = |edit: fn(&mut Vec<u8>)| {
        let mut files = example().encode();
        edit(&mut files.meta);
        files
    };
    expect("no newline", &edited_meta(|meta| meta.truncate(meta.len() - 1)), META, 1, "canonical");
    expect("two newlines", &edited_meta(|meta| meta.push(b'\n')), META, 1, "canonical");
    expect("empty", &edited_meta(Vec::clear), META, 1, "EOF");
    expect("bad UTF-8", &edited_meta(|meta| meta[4] = 0x80), META, 1, "UTF-8");
}

#[test]
fn a_newer_format_asks_for_an_upgrade() {
    let mut files = example().encode();
    files.meta = b"{ \"format_version\": 4, \"compression\": \"zstd\" }".to_vec();
    assert_eq!(files.decode().unwrap_err(), Error::NewerFormat { found: 4, known: 3 });
    assert!(files.decode().unwrap_err().to_string().ends_with("upgrade bd"));
}

#[test]
fn missing_checksums_are_a_warning_and_wrong_ones_an_error() {
    let mut files = example().encode();
    let meta = String::from_utf8(files.meta).unwrap();
    let start = meta.find(r#","sha256""#).unwrap();
    files.meta = format!("{}}}\n", &meta[..start]).into_bytes();
    let decoded = files.decode().unwrap();
    assert!(decoded.state == example());
    assert_eq!(decoded.warnings.len(), 3, "{:?}", decoded.warnings);
    let mut files = example().encode();
    files.tombstones.clear();
    expect("emptied file", &files, META, 1, "the checksum of tombstones.jsonl is wrong");
}

/// The record of a collision is missing, so the error has to name the bead that lost its id.
#[test]
fn a_missing_remapped_line_is_reported_at_the_line_of_its_bead() {
    let only_two = edited(TOMBSTONES, |bytes| drop(bytes.drain(..line_of(TOMBSTONES, 1).len())));
    expect("no remapped line", &only_two, STATE, 2, "[bd-a18ifbb5] lost the id bd-a1");
}

#[test]
fn a_collision_that_never_happened_is_rejected() {
    let unborn = replaced(&example().encode(), STATE, 2, r#""born":"bd-a1","#, "");
    expect("born is gone", &unborn, TOMBSTONES, 1, "no bead lost the id bd-a1");
}

#[test]
fn one_bead_with_two_ids_is_rejected() {
    let twice = String::from_utf8(line_of(STATE, 1)).unwrap();
    let twice = twice.replace(r#""created_at""#, r#""born":"bd-a1","created_at""#);
    let twice = twice.replace(r#""id":"bd-a1""#, r#""id":"bd-zz""#).into_bytes();
    let files = edited(STATE, |bytes| bytes.extend(twice));
    expect("one birth, two lines", &files, STATE, 6, "occurs twice");
}

#[test]
fn length_limits_are_enforced() {
    let long = |file, from: &str, to: &str| replaced(&example().encode(), file, 1, from, to);
    let title = long(STATE, "Title of bd-a1", &"t".repeat(4097));
    expect("title", &title, STATE, 1, "invalid title");
    let by = long(STATE, r#""_by":"ann@mac""#, &format!(r#""_by":"{}""#, "a".repeat(257)));
    expect("actor", &by, STATE, 1, "invalid actor");
    let id = long(STATE, r#""id":"bd-a1""#, &format!(r#""id":"bd-{}""#, "a".repeat(126)));
    expect("birth id", &id, STATE, 1, "too long");
    let id = long(DEPS, r#""from":"bd-a1""#, &format!(r#""from":"bd-{}""#, "a".repeat(190)));
    expect("any id", &id, DEPS, 1, "too long");
    let labels: Vec<_> = (100..357).map(|n| format!("\"{n}\"")).collect();
    let labels = format!(r#""labels":[{}],"priority":2"#, labels.join(","));
    expect("labels", &long(STATE, r#""priority":2"#, &labels), STATE, 1, "more than 256 labels");
}

#[test]
fn metadata_has_a_maximum_depth() {
    let nested = |depth: usize| format!(r#""metadata":{{"x":{}{}}},"#, "[".repeat(depth), "]".repeat(depth));
    let put = |file, before: &str, depth| {
        let line = if file == STATE { 1 } else { 2 };
        replaced(&example().encode(), file, line, before, &(nested(depth) + before))
    };
    let places = [(STATE, r#""priority""#, 1), (TOMBSTONES, r#""notes""#, 2)];
    for (file, before, line) in places {
        let files = put(file, before, 64);
        let state = files.decode().unwrap_or_else(|error| panic!("{error}")).state;
        assert!(state.encode() == files);
        expect("one too deep", &put(file, before, 65), file, line, "nested deeper than 64");
        expect("a bomb", &put(file, before, 1_000_000), file, line, "recursion limit");
    }
}

/// §5.2.1 lets the writer choose `_at`; our encoder always uses the greatest mark.
#[test]
fn a_register_may_be_newer_than_its_line() {
    let older = r#"{"_at":[1702234567910,4660],"_by":"ann@mac","_v":{"status":[[1702234599000,43],"x"]},"#;
    let canonical = example().encode();
    let files = replaced(&canonical, STATE, 1, r#"{"_at":[1702234567910,4660],"_by":"ann@mac","#, older);
    let state = files.decode().unwrap().state;
    let encoded = state.encode();
    assert!(encoded != files && encoded != canonical);
    assert!(
        encoded.state.starts_with(br#"{"_at":[1702234599000,43],"_by":"x","_v":{"acceptance_criteria":"#)
    );
    assert!(encoded.decode().unwrap().state == state);
}
