//! Data from a remote is hostile until decoded. Each fixture goes through a real remote and a real `bd sync`,
//! which must fail with an error that names file and line, change nothing locally, and succeed again once the
//! remote is repaired.

use std::collections::BTreeMap;

use beads_core::limits::MAX_DECODED_LINE_BYTES;
use beads_store::REF;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Remote, titles};
use crate::bystander::Bystander;
use crate::sandbox::{Mode, Run, Sandbox, both};

const STATE: &str = "state.jsonl";
const DEPS: &str = "deps.jsonl";
const TOMBSTONES: &str = "tombstones.jsonl";
const META: &str = "meta.json";
const CONFLICTS: &str = "conflicts.jsonl";

const FILE: i32 = 0o100_644;

/// The tree of a commit: mode and content by name.
type Files = BTreeMap<String, (i32, Vec<u8>)>;

/// A change to a valid tree.
enum Damage {
    /// Changes the JSON of one line. Checksums are recomputed, so that the damage itself is detected.
    Json(fn(&mut Value)),
    /// Replaces the first text with the second in one line.
    Text(&'static str, &'static str),
    /// Changes the bytes of the file.
    Bytes(fn(&mut Vec<u8>)),
    /// Changes the tree. Checksums are not recomputed.
    Tree(fn(&mut Files)),
}

use Damage::{Bytes, Json, Text, Tree};

/// The file, the line that the error must name (0 for none), and the damage.
type Fixture = (&'static str, usize, Damage);

fn set(line: &mut Value, field: &str, value: Value) {
    line[field] = value;
}

fn swap_lines(bytes: &mut Vec<u8>) {
    let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.swap(0, 1);
    *bytes = lines.concat();
}

fn repeat_first_line(bytes: &mut Vec<u8>) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let first = bytes[..end].to_vec();
    *bytes = [first.as_slice(), bytes].concat();
}

fn state_lines() -> Vec<Fixture> {
    let json = |edit: fn(&mut Value)| (STATE, 1, Json(edit));
    let text = |from, to| (STATE, 1, Text(from, to));
    vec![
        // Ids that are paths, or are not valid ids.
        json(|line| set(line, "id", json!("../../../etc/passwd-1"))),
        json(|line| set(line, "id", json!("/etc/passwd-1"))),
        json(|line| set(line, "id", json!("a/b-1"))),
        json(|line| set(line, "id", json!("..-"))),
        json(|line| set(line, "id", json!("-bd"))),
        json(|line| set(line, "id", json!(""))),
        json(|line| set(line, "id", json!("nodash"))),
        json(|line| set(line, "id", json!("bd-a 1"))),
        json(|line| set(line, "id", json!("bd-a\u{0}"))),
        json(|line| set(line, "id", json!("bd-a\n1"))),
        json(|line| set(line, "id", json!("bd-ä"))),
        json(|line| set(line, "id", json!("bd-a\\..\\x"))),
        json(|line| set(line, "id", json!(format!("bd-{}", "a".repeat(300))))),
        json(|line| set(line, "id", json!(7))),
        json(|line| set(line, "id", json!(null))),
        // Stamps out of bounds.
        json(|line| set(line, "_at", json!([4_102_444_800_000_u64, 1]))),
        json(|line| set(line, "_at", json!([1_700_000_000_000_u64, 4_294_967_296_u64]))),
        json(|line| set(line, "_at", json!([-1, 0]))),
        json(|line| set(line, "_at", json!([1]))),
        json(|line| set(line, "_at", json!([1, 2, 3]))),
        json(|line| set(line, "_at", json!("now"))),
        json(|line| set(line, "created_at", json!([18_446_744_073_709_551_615_u64, 0]))),
        json(|line| set(line, "created_at", json!(null))),
        json(|line| set(line, "_v", json!({"title": [[4_102_444_800_000_u64, 0], "x"]}))),
        json(|line| set(line, "_v", json!({"colour": [[1, 0], "x"]}))),
        json(|line| set(line, "_v", json!([]))),
        // Values that no writer produces.
        json(|line| set(line, "_by", json!(""))),
        json(|line| set(line, "created_by", json!("a\u{7}b"))),
        json(|line| set(line, "title", json!(""))),
        json(|line| set(line, "title", json!("two\nlines"))),
        json(|line| set(line, "title", json!("t".repeat(5000)))),
        json(|line| set(line, "priority", json!(5))),
        json(|line| set(line, "priority", json!(-1))),
        json(|line| set(line, "priority", json!(1.5))),
        json(|line| set(line, "priority", json!("2"))),
        json(|line| set(line, "status", json!("blocked"))),
        json(|line| set(line, "type", json!("story"))),
        json(|line| set(line, "labels", json!(["b", "a"]))),
        json(|line| set(line, "labels", json!(["a", "a"]))),
        json(|line| set(line, "labels", json!([]))),
        json(|line| set(line, "design", json!(null))),
        json(|line| set(line, "description", json!("nul \u{0}"))),
        json(|line| set(line, "colour", json!("red"))),
        json(|line| set(line, "notes", json!([{"id": "x"}]))),
        json(|line| set(line, "born", json!("bd-other"))),
        json(|line| {
            let deep = (0..65).fold(json!(1), |inner, _| json!([inner]));
            set(line, "metadata", json!({ "x": deep }));
        }),
        // Lines that are not canonical, or not JSON.
        text(r#""id":"#, r#""id":"bd-a1","id":"#),
        text(r#""priority":2"#, r#""priority": 2"#),
        text(r#""title":"one""#, r#""title":"\u006fne""#),
        text("}\n", "}\r\n"),
        text("}\n", "} {}\n"),
        text("}\n", "\n"),
        text("{", "not json {"),
        (STATE, 2, Bytes(swap_lines)),
        (STATE, 2, Bytes(repeat_first_line)),
        (STATE, 1, Bytes(|bytes| bytes[5] = 0xff)),
        (STATE, 1, Bytes(|bytes| bytes[1..3].copy_from_slice(&[0xc0, 0xaf]))),
        (STATE, 1, Bytes(|bytes| *bytes = [b"\xef\xbb\xbf", bytes.as_slice()].concat())),
        (STATE, 3, Bytes(|bytes| bytes.push(b'\n'))),
        (STATE, 2, Bytes(|bytes| bytes.truncate(bytes.len() - 1))),
        (STATE, 1, Bytes(|bytes| *bytes = vec![b'['; 1_000_000])),
        (STATE, 1, Bytes(|bytes| *bytes = vec![b'a'; 20 << 20])),
        (STATE, 1, Bytes(|bytes| *bytes = b"[]\n".to_vec())),
    ]
}

fn other_lines() -> Vec<Fixture> {
    vec![
        (DEPS, 1, Json(|line| set(line, "kind", json!("hates")))),
        (DEPS, 1, Json(|line| set(line, "from", json!("../x-1")))),
        (DEPS, 1, Json(|line| set(line, "created_at", json!([4_102_444_800_000_u64, 1])))),
        (DEPS, 2, Bytes(repeat_first_line)),
        (TOMBSTONES, 1, Json(|line| drop(line.as_object_mut().unwrap().remove("bead")))),
        (TOMBSTONES, 1, Json(|line| set(line, "deleted_at", json!([1, 4_294_967_296_u64])))),
        (TOMBSTONES, 1, Json(|line| set(line, "remapped", json!(["bd-a1"])))),
        (TOMBSTONES, 1, Bytes(|bytes| bytes[3] = 0xff)),
        (META, 1, Json(|meta| set(meta, "format_version", json!(0)))),
        (META, 1, Json(|meta| drop(meta.as_object_mut().unwrap().remove("format_version")))),
        (META, 1, Json(|meta| meta["sha256"][STATE] = json!("0".repeat(64)))),
        (META, 1, Json(|meta| meta["sha256"]["passwd"] = json!("0".repeat(64)))),
        (META, 1, Bytes(|bytes| *bytes = b"no json".to_vec())),
        // The file does not match its checksum.
        (META, 1, Tree(|files| files.get_mut(TOMBSTONES).unwrap().1.clear())),
        (CONFLICTS, 1, Tree(|files| drop(files.insert(CONFLICTS.into(), (FILE, b"{}\n".to_vec()))))),
        // Trees that are not stores.
        ("evil.sh", 0, Tree(|files| drop(files.insert("evil.sh".into(), (FILE, b"x".to_vec()))))),
        (".git", 0, Tree(|files| drop(files.insert(".gitmodules".into(), (FILE, b"x".to_vec()))))),
        (STATE, 0, Tree(|files| drop(files.remove(STATE)))),
        (META, 0, Tree(|files| drop(files.remove(META)))),
        (STATE, 0, Tree(|files| files.get_mut(STATE).unwrap().0 = 0o120_000)),
        (STATE, 0, Tree(|files| files.get_mut(STATE).unwrap().0 = 0o100_755)),
        (STATE, 0, Tree(|files| files.get_mut(STATE).unwrap().0 = 0o160_000)),
        ("link", 0, Tree(|files| drop(files.insert("link".into(), (0o120_000, b"/etc/passwd".to_vec()))))),
        ("sub", 0, Tree(|files| drop(files.insert("sub".into(), (0o160_000, b"x".to_vec()))))),
        ("", 0, Tree(BTreeMap::clear)),
    ]
}

fn apply(fixture: &Fixture, files: &mut Files) {
    let (name, number, damage) = fixture;
    if let Tree(edit) = damage {
        return edit(files);
    }
    let bytes = &mut files.get_mut(*name).unwrap().1;
    match damage {
        Json(edit) => edit_line(bytes, *number, |line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            edit(&mut value);
            format!("{value}\n")
        }),
        Text(from, to) => edit_line(bytes, *number, |line| {
            assert!(line.contains(from), "{line} has no {from}");
            match line.strip_suffix(from) {
                Some(rest) => format!("{rest}{to}"),
                None => line.replacen(from, to, 1),
            }
        }),
        Bytes(edit) => edit(bytes),
        Tree(_) => {}
    }
    if *name != META {
        seal(files);
    }
}

fn edit_line(bytes: &mut Vec<u8>, number: usize, edit: impl FnOnce(&str) -> String) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let line = &mut lines[number.saturating_sub(1)];
    *line = edit(std::str::from_utf8(line).unwrap()).into_bytes();
    *bytes = lines.concat();
}

fn seal(files: &mut Files) {
    let mut meta: Value = serde_json::from_slice(&files[META].1).unwrap();
    for (name, (_, bytes)) in files.iter().filter(|(name, _)| *name != META) {
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        meta["sha256"][name] = sum.into();
    }
    files.get_mut(META).unwrap().1 = format!("{meta}\n").into_bytes();
}

fn files_at(git: &git2::Repository) -> Files {
    let tree = git.find_reference(REF).unwrap().peel_to_tree().unwrap();
    let content = |entry: &git2::TreeEntry<'_>| git.find_blob(entry.id()).unwrap().content().to_vec();
    tree.iter().map(|entry| (entry.name().unwrap().to_owned(), (FILE, content(&entry)))).collect()
}

/// Commits a tree to the remote's ref, on top of the current commit.
fn publish(git: &git2::Repository, files: &Files) {
    let below = git.find_reference(REF).unwrap().peel_to_commit().unwrap();
    let mut tree = git.treebuilder(None).unwrap();
    for (name, (mode, bytes)) in files {
        let id = if *mode == 0o160_000 { below.id() } else { git.blob(bytes).unwrap() };
        tree.insert(name, id, *mode).unwrap();
    }
    let tree = git.find_tree(tree.write().unwrap()).unwrap();
    let who = git2::Signature::now("x", "x@localhost").unwrap();
    git.commit(Some(REF), &who, &who, "hostile", &tree, &[&below]).unwrap();
}

/// Creates a replica with a valid store of two beads, an edge and a deletion, and a remote that has the same
/// store.
fn prepare(remote: &Remote, bd: &Sandbox) {
    bd.create(&["one", "--id", "bd-a1"]);
    bd.create(&["two", "--id", "bd-b1"]);
    bd.create(&["gone", "--id", "bd-c1"]);
    bd.json(&["dep", "add", "bd-b1", "bd-a1"]);
    bd.json(&["delete", "bd-c1"]);
    bd.json(&["sync"]);
    assert!(remote.tip().is_some());
}

fn is_refused(remote: &Remote, bd: &Sandbox, number: usize, fixture: &Fixture) -> Result<(), String> {
    let good = remote.tip().unwrap();
    let mut files = files_at(&remote.git);
    apply(fixture, &mut files);
    publish(&remote.git, &files);
    let (before, tip) = (titles(bd), bd.repository().refname_to_id(REF).unwrap());
    let run = bd.run(&["sync", "--json"]);
    remote.git.reference(REF, good, true, "healed").unwrap();
    let wrong =
        |what: &str| Err(format!("fixture {number} ({} line {}): {what}: {run:?}", fixture.0, fixture.1));
    if run.exit != Some(1) || run.value()["error"]["code"] != "remote_invalid" {
        return wrong("not refused");
    }
    let message = run.value()["error"]["message"].as_str().unwrap().to_owned();
    let place =
        if fixture.1 > 0 { format!("{} line {}", fixture.0, fixture.1) } else { fixture.0.to_owned() };
    if !message.contains(&place) {
        return wrong("does not name the place");
    }
    if titles(bd) != before || bd.repository().refname_to_id(REF).unwrap() != tip {
        return wrong("something changed here");
    }
    Ok(())
}

#[test]
fn hostile_remotes_change_nothing() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Embedded);
    prepare(&remote, &bd);
    let fixtures: Vec<Fixture> = state_lines().into_iter().chain(other_lines()).collect();
    assert!(fixtures.len() >= 60, "fixtures were lost");
    let refused = |(number, fixture): (usize, &Fixture)| is_refused(&remote, &bd, number, fixture).err();
    let wrong: Vec<String> = fixtures.iter().enumerate().filter_map(refused).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    bd.json(&["sync"]);
    assert_eq!(titles(&bd), ["one", "two"]);
}

#[test]
fn a_newer_format_asks_for_an_upgrade() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Embedded);
    prepare(&remote, &bd);
    let mut files = files_at(&remote.git);
    apply(&(META, 1, Json(|meta| set(meta, "format_version", json!(4)))), &mut files);
    publish(&remote.git, &files);
    let (before, tip) = (titles(&bd), bd.repository().refname_to_id(REF).unwrap());
    let run = bd.run(&["sync", "--json"]);
    assert_eq!((run.exit, &run.value()["error"]["code"]), (Some(1), &json!("remote_invalid")), "{run:?}");
    let message = run.value()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("format version 4") && message.contains("upgrade bd"), "{message}");
    assert_eq!((titles(&bd), bd.repository().refname_to_id(REF).unwrap()), (before, tip));
}

#[test]
fn a_hostile_remote_is_in_the_status_until_it_is_repaired() {
    both(|bd| {
        let remote = Remote::new();
        bd.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        prepare(&remote, bd);
        let fixture = (STATE, 1, Json(|line| set(line, "id", json!("../x-1"))));
        is_refused(&remote, bd, 0, &fixture).unwrap();
        let error = bd.json(&["status"])["sync"]["last_error"].clone();
        assert_eq!(error["code"], "remote_invalid", "{error}");
        assert!(error["message"].as_str().unwrap().contains("state.jsonl line 1"), "{error}");
        bd.create(&["three"]);
        bd.json(&["sync"]);
        assert!(bd.json(&["status"])["sync"]["last_error"].is_null());
    });
}

/// A push of a few hundred kilobytes can inflate to a line of any length. The daemon refuses it in bounded
/// memory and keeps serving and saving.
#[test]
fn an_endless_line_is_refused_in_bounded_memory() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Daemon);
    prepare(&remote, &bd);
    let bystander = Bystander::of(&bd);
    bd.json(&["sync"]);
    let good = remote.tip().unwrap();
    let mut files = files_at(&remote.git);
    let text = "x".repeat(MAX_DECODED_LINE_BYTES + 1);
    let (_, state) = files.get_mut(STATE).unwrap();
    *state = String::from_utf8_lossy(state)
        .replacen(r#""id":"bd-a1""#, &format!(r#""description":"{text}","id":"bd-a1""#), 1)
        .into_bytes();
    assert!(state.len() > MAX_DECODED_LINE_BYTES);
    drop(text);
    seal(&mut files);
    publish(&remote.git, &files);
    drop(files);
    let sync = bd.command(&["sync", "--json"]).spawn().unwrap();
    bystander.is_served("a sync with an endless line");
    let run = Run::finish(sync);
    let error = run.failed("sync", "remote_invalid");
    assert!(error["message"].as_str().unwrap().contains("state.jsonl: a line is longer"), "{error}");
    bystander.is_served("what comes after it");
    bd.create(&["made meanwhile"]);
    remote.git.reference(REF, good, true, "healed").unwrap();
    bd.json(&["sync"]);
    assert_eq!(bd.daemon_pid(), Some(bystander.pid), "the daemon was not replaced");
}
