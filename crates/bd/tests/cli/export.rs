use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, both, wait_until};

/// Creates an epic with a blocked child, a note and a deleted bead.
fn fill(bd: &Sandbox) -> [String; 3] {
    let epic = bd.create(&["Epic, \"quoted\"", "--type", "epic"]);
    let child = bd.create(&["Child", "--parent", &epic, "--labels", "x", "--notes", "remember"]);
    let other = bd.create(&["Other <b>", "-d", "two\nlines"]);
    bd.json(&["dep", "add", &child, &other]);
    bd.json(&["note", "add", &child, "seen"]);
    let gone = bd.create(&["Gone"]);
    bd.json(&["delete", &gone]);
    [epic, child, other]
}

#[test]
fn importing_our_own_export_is_the_identity() {
    both(|bd| {
        fill(bd);
        let fingerprint = bd.json(&["verify"])["fingerprint"].clone();
        let lines = bd.text(&["export"]);
        let ids: Vec<String> = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
            .collect();
        assert!(ids.is_sorted() && ids.len() == 4, "{ids:?}");
        let again =
            bd.run_with_input(&["import", "-", "--json"], lines.as_bytes()).succeeded("import").value();
        assert_eq!(
            (&again["unchanged"], &again["updated"], &again["edges"]),
            (&json!(4), &json!(0), &json!(0))
        );
        assert_eq!(bd.json(&["verify"])["fingerprint"], fingerprint);
        let other = Sandbox::new(Mode::Embedded);
        other.run_with_input(&["import", "-"], lines.as_bytes()).succeeded("import");
        assert_eq!(other.json(&["verify"])["fingerprint"], fingerprint);
        assert_eq!(other.text(&["export"]), lines);
    });
}

#[test]
fn a_file_is_replaced_in_one_step() {
    both(|bd| {
        fill(bd);
        let path = bd.dir().join("out.jsonl");
        std::fs::write(&path, "old").unwrap();
        let answer = bd.json(&["export", "-o", "out.jsonl"]);
        assert_eq!((&answer["format"], &answer["beads"]), (&json!("jsonl"), &json!(4)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bd.text(&["export"]));
        let left: Vec<_> =
            std::fs::read_dir(bd.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
        assert_eq!(bd.json(&["export"])["content"], bd.text(&["export"]));
        bd.error(&["export", "-o", "no/such/dir/x"], "io_error");
    });
}

#[test]
fn tables_pages_and_graphs() {
    both(|bd| {
        let [epic, child, other] = fill(bd);
        let csv = bd.text(&["export", "--format", "csv"]);
        assert!(csv.starts_with("id,title,status,") && csv.contains("\"Epic, \"\"quoted\"\"\""), "{csv}");
        assert!(csv.contains("\"two\nlines\"") && csv.ends_with("\r\n"), "{csv}");
        let page = bd.text(&["export", "--format", "md"]);
        assert!(page.contains("## Open (3)"), "{page}");
        let under_epic = format!(
            "### {epic} Epic, \"quoted\"\n\n- [ ] **{child}** Child (P2 task; #x; waits for {other})\n"
        );
        assert!(page.contains(&under_epic), "{page}");
        assert!(page.contains(&format!("waits for {other}")) && page.contains("Other \\<b\\>"), "{page}");
        let dot = bd.text(&["export", "--format", "dot"]);
        assert!(dot.contains(&format!("\"{child}\" -> \"{other}\" [label=\"blocks\"")), "{dot}");
        let chart = bd.text(&["export", "--format", "mermaid"]);
        assert!(chart.starts_with("flowchart LR\n") && chart.contains("-->|blocks|"), "{chart}");
        bd.error(&["export", "--format", "xml"], "invalid_value");
    });
}

#[test]
fn the_file_at_export_path_follows_every_change() {
    both(|bd| {
        bd.json(&["config", "set", "sync.quiet", "0s"]);
        bd.json(&["config", "set", "export.path", ".beads/issues.jsonl"]);
        let path = bd.dir().join(".beads/issues.jsonl");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "", "written at once");
        let id = bd.create(&["Seen by a viewer"]);
        wait_until("the file has the bead", || std::fs::read_to_string(&path).unwrap().contains(&id));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bd.text(&["export"]));
        bd.json(&["config", "unset", "export.path"]);
        std::fs::remove_file(&path).unwrap();
        bd.create(&["Unseen"]);
        bd.json(&["sync"]);
        assert!(!path.exists());
    });
}

#[test]
fn a_file_that_cannot_be_written_never_fails_a_mutation() {
    both(|bd| {
        bd.json(&["config", "set", "export.path", "out/issues.jsonl"]);
        std::fs::remove_dir_all(bd.dir().join("out")).unwrap();
        std::fs::write(bd.dir().join("out"), "in the way").unwrap();
        let run = bd.run(&["create", "Still made", "--json"]);
        assert_eq!(run.exit, Some(0), "{run:?}");
        assert_eq!(bd.run(&["list", "--json"]).value().as_array().unwrap().len(), 1);
        std::fs::remove_file(bd.dir().join("out")).unwrap();
        std::fs::write(bd.dir().join("file.txt"), "in the way").unwrap();
        let error = bd.error(&["config", "set", "export.path", "file.txt/issues.jsonl"], "io_error");
        assert!(error["message"].as_str().unwrap().ends_with("export.path was not changed"), "{error}");
        assert_eq!(bd.json(&["config", "get", "export.path"])["value"], "out/issues.jsonl");
    });
}

/// The daemon asked git's index for such a path and panicked.
#[test]
fn an_export_path_may_lead_out_of_the_work_tree() {
    both(|bd| {
        bd.json(&["config", "set", "export.path", "../beside.jsonl"]);
        assert_eq!(std::fs::read_to_string(bd.dir().join("../beside.jsonl")).unwrap(), "");
    });
}

/// With `--no-auto-flush` or `--sandbox` the file stays as it is, even after an import. The next command without it writes
/// all changes.
#[test]
fn without_flushing_the_file_waits_for_the_next_change() {
    let bd = Sandbox::new(Mode::Embedded);
    bd.json(&["config", "set", "export.path", "issues.jsonl"]);
    let path = bd.dir().join("issues.jsonl");
    let content = || std::fs::read_to_string(&path).unwrap();
    let line = r#"{"id":"bd-9","title":"imported","created_at":"2020-01-01T00:00:00Z"}"#;
    for flag in ["--no-auto-flush", "--sandbox"] {
        bd.json(&["create", "unseen", flag]);
        bd.run_with_input(&["import", "-", flag], line.as_bytes()).succeeded(flag);
        assert_eq!(content(), "", "{flag}");
    }
    let run = crate::sandbox::Run::of(bd.command(&["create", "unseen too"]).env("BEADS_NO_AUTO_FLUSH", "1"));
    assert_eq!((run.exit, content().as_str()), (Some(0), ""));
    bd.create(&["seen"]);
    assert_eq!(content(), bd.text(&["export"]));
    assert!(content().contains("imported") && content().contains("unseen too"));
}

/// Imports `length` beads, each the child of the previous one; the first is an epic.
fn chain(bd: &Sandbox, length: usize) {
    let line = |n: usize| {
        let parent =
            (n > 0).then(|| json!({"depends_on_id": format!("bd-c{}", n - 1), "type": "parent-child"}));
        json!({
            "id": format!("bd-c{n}"),
            "title": format!("link {n}"),
            "issue_type": if n == 0 { "epic" } else { "task" },
            "status": "open",
            "priority": 2,
            "created_at": "2026-01-01T00:00:00Z",
            "dependencies": parent.into_iter().collect::<Vec<_>>(),
        })
    };
    let lines: Vec<String> = (0..length).map(|n| line(n).to_string()).collect();
    bd.run_with_input(&["import", "-"], lines.join("\n").as_bytes()).succeeded("import");
}

#[test]
fn a_long_chain_of_parents_makes_pages_that_grow_with_its_length_only() {
    let bd = Sandbox::new(Mode::Embedded);
    let length = 2_000;
    chain(&bd, length);
    let page = bd.text(&["export", "--format", "md"]);
    let (_, below) = page.split_once("### bd-c0 link 0\n").expect("a heading for the epic");
    assert_eq!(below.lines().filter(|line| line.starts_with("- [ ]")).count(), length - 1);
    // Indenting would take four characters per level: 8,000 in the last row alone.
    let tree = bd.text(&["list", "--tree", "--all"]);
    assert_eq!(tree.lines().count(), length);
    let longest = tree.lines().map(str::len).max().unwrap();
    assert!(longest < 400, "the longest row has {longest} bytes");
    assert!(tree.lines().last().unwrap().contains(&format!("…{} ", length - 2)), "the depth is shown");
}

/// `bd import --from legacy-store` reads the directory that `bd export --format legacy-store` writes.
#[test]
fn a_legacy_store_survives_a_round_trip() {
    let state = concat!(
        r#"{"_at":[1765400000500,1],"_by":"ann","_v":{"title":[[1765400000400,2],"bob"]},"created_at":[1765400000000,3],"created_by":"ann","#,
        r#""description":"d","id":"bd-a1","labels":["x"],"notes":[{"at":[1765400000200,0],"author":"bob","content":"said","id":"n1"}],"#,
        r#""priority":0,"status":"Human Review","title":"A","type":"bug"}"#,
        "\n",
        r#"{"_at":[1765400000700,0],"_by":"ann","closed_at":[1765400000700,0],"closed_by":"ann","closed_reason":"dup","created_at":[1765400000000,0],"#,
        r#""created_by":"ann","description":"","id":"bd-b2","labels":[],"priority":2,"status":"closed","title":"B","type":"task"}"#,
        "\n",
    );
    let deps = "{\"created_at\":[1765400000600,0],\"created_by\":\"ann\",\"from\":\"bd-a1\",\"kind\":\"blocks\",\"to\":\"bd-b2\"}\n";
    let tombstones =
        "{\"deleted_at\":[1765400010000,2],\"deleted_by\":\"ann\",\"id\":\"bd-gone\",\"reason\":\"dup\"}\n";
    both(|bd| {
        let (old, new) = (bd.root().join("old"), bd.root().join("new"));
        std::fs::create_dir(&old).unwrap();
        for (name, content) in
            [("state.jsonl", state), ("deps.jsonl", deps), ("tombstones.jsonl", tombstones)]
        {
            std::fs::write(old.join(name), content).unwrap();
        }
        let imported = bd.run(&["import", "--from", "legacy-store", old.to_str().unwrap(), "--json"]);
        assert_eq!(imported.value()["created"], 2);
        let before = bd.text(&["export"]);
        let exported = bd.json(&["export", "--format", "legacy-store", "-o", new.to_str().unwrap()]);
        assert_eq!((&exported["format"], &exported["beads"]), (&json!("legacy_store"), &json!(3)));
        for (name, content) in
            [("state.jsonl", state), ("deps.jsonl", deps), ("tombstones.jsonl", tombstones)]
        {
            assert_eq!(std::fs::read_to_string(new.join(name)).unwrap(), content, "{name}");
        }
        let again = bd.json(&["import", "--from", "legacy-store", new.to_str().unwrap()]);
        assert_eq!((&again["created"], &again["updated"]), (&json!(0), &json!(0)), "{again}");
        assert_eq!(bd.text(&["export"]), before);
        // Each export needs a new directory.
        bd.error(&["export", "--format", "legacy-store"], "usage");
        bd.error(&["export", "--format", "legacy-store", "-o", new.to_str().unwrap()], "invalid_value");
    });
}
