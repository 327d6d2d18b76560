use serde_json::json;

use crate::sandbox::{Run, Sandbox, both, set_mode};

/// Runs `bd edit` with an editor that runs this shell script; `$1` is the file.
fn edit(bd: &Sandbox, args: &[&str], script: &str) -> Run {
    let editor = bd.root().join("editor");
    std::fs::write(&editor, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
    set_mode(&editor, 0o755);
    let temp = bd.root().join("temp");
    std::fs::create_dir_all(&temp).unwrap();
    let mut command = bd.command(&[&["edit"], args].concat());
    Run::of(command.env("EDITOR", editor).env("TMPDIR", temp))
}

fn kept(bd: &Sandbox) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(bd.root().join("temp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn changed_text_is_one_update_and_unchanged_text_changes_nothing() {
    both(|bd| {
        let id = bd.create(&["old", "-l", "a", "-d", "first line\n\n---\nlast line"]);
        let before = bd.everything();
        let run = edit(bd, &[&id], "true");
        assert_eq!((run.exit, run.stdout.as_str()), (Some(0), ""), "{run:?}");
        assert_eq!(run.stderr, format!("note: {id} did not change\n"));
        assert_eq!(edit(bd, &[&id, "-q"], "true").stderr, "");
        assert_eq!(edit(bd, &[&id, "--json"], "true").value()[0]["id"], id.as_str());
        assert_eq!(bd.everything(), before);
        let script = "sed -i -e 's/^title: .*/title: new: title/' -e 's/^labels: .*/labels: b, c/' \
                      -e 's/^priority: .*/priority: 0/' -e 's/^assignee:.*/assignee: me/' -e 's/^last/new last/' \"$1\"";
        let run = edit(bd, &[&id, "--json"], script);
        assert_eq!(run.exit, Some(0), "{run:?}");
        let bead = bd.show(&id);
        assert_eq!((&bead["title"], &bead["labels"]), (&json!("new: title"), &json!(["b", "c"])));
        assert_eq!((&bead["priority"], &bead["assignee"]), (&json!(0), &json!(crate::sandbox::ACTOR)));
        assert_eq!(bead["description"], "first line\n\n---\nnew last line");
        assert_eq!(bd.json(&["log", &id])["writes"].as_array().map(Vec::len), Some(2), "one write");
        assert!(kept(bd).is_empty(), "no file is left behind");
    });
}

#[test]
fn text_that_cannot_be_applied_is_kept() {
    both(|bd| {
        let id = bd.create(&["old"]);
        // The bead changes while the editor is open.
        let bin = env!("CARGO_BIN_EXE_bd");
        let change = format!("{bin} update {id} -p 0 >&2; sed -i 's/^title: .*/title: mine/' \"$1\"");
        let run = edit(bd, &[&id], &change);
        assert_eq!(run.exit, Some(1), "{run:?}");
        let [path] = &kept(bd)[..] else { panic!("{:?}", kept(bd)) };
        assert!(run.stderr.contains(path.to_str().unwrap()), "{run:?}");
        assert!(std::fs::read_to_string(path).unwrap().contains("\ntitle: mine\n"));
        assert_eq!(bd.show(&id)["title"], "old");
        std::fs::remove_file(path).unwrap();
        let run = edit(bd, &[&id, "--json"], &change.replace("-p 0", "-p 1"));
        let path = run.value()["error"]["details"]["kept"].as_str().unwrap().to_owned();
        assert!(std::fs::read_to_string(&path).unwrap().contains("mine"), "{run:?}");
        std::fs::remove_file(path).unwrap();
        // The text cannot be read.
        let run = edit(bd, &[&id], "sed -i 's/^status: .*/colour: red/' \"$1\"");
        run.assert_one_error_line();
        let [path] = &kept(bd)[..] else { panic!("{:?}", kept(bd)) };
        assert!(run.stderr.contains("colour") && run.stderr.contains(path.to_str().unwrap()), "{run:?}");
        std::fs::remove_file(path).unwrap();
    });
}

#[test]
fn a_failed_or_missing_editor_changes_nothing() {
    both(|bd| {
        let id = bd.create(&["old"]);
        let run = edit(bd, &[&id], "exit 3");
        assert!(run.exit == Some(1) && run.stderr.contains("editor"), "{run:?}");
        assert!(kept(bd).is_empty(), "unchanged text is not kept");
        bd.error(&["edit", &id], "usage");
        assert_eq!(edit(bd, &["bd-nope", "--json"], "true").value()["error"]["code"], "not_found");
    });
}
