//! `--dry-run` always wins: no verb that accepts it changes anything.

use std::collections::BTreeSet;

use beads::operations::TABLE;

use crate::sandbox::both;

#[test]
fn dry_run_changes_nothing_for_any_verb() {
    both(|bd| {
        let ids: Vec<String> = ["bd-1", "bd-2", "bd-3"].map(|id| bd.create(&["x", "--id", id])).into();
        let epic = bd.create(&["epic", "-t", "epic"]);
        let child = bd.create(&["child", "--parent", &epic]);
        bd.json(&["close", &child]);
        bd.json_as("bob", &["claim", &ids[1], "--lease", "1h"]);
        let file = |name: &str, text: &str| {
            let path = bd.root().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let graph = file("graph.json", r#"{"beads":[{"name":"a","title":"A"}]}"#);
        let markdown = file("plan.md", "## One\n\ntext\n");
        let lines = file("issues.jsonl", r#"{"id":"bd-9","title":"imported"}"#);
        let bin = bd.root().join("linked");
        std::fs::create_dir(&bin).unwrap();
        let bin = bin.to_str().unwrap();
        let commands: [(&str, &[&str]); 13] = [
            ("create", &["create", "new", "--dry-run"]),
            ("create", &["create", "--graph", &graph, "--dry-run"]),
            ("create", &["create", "--file", &markdown, "--dry-run"]),
            ("delete", &["delete", &ids[0], "--dry-run"]),
            ("delete", &["delete", &ids[0], "--force", "--dry-run"]),
            ("undo", &["undo", "--dry-run"]),
            ("reclaim", &["reclaim", "--expired", "--dry-run"]),
            ("epic close-eligible", &["epic", "close-eligible", "--dry-run"]),
            ("import", &["import", &lines, "--dry-run"]),
            ("repair", &["repair", "--dry-run"]),
            ("tool install", &["tool", "install", "--dir", bin, "--dry-run"]),
            ("uninstall", &["uninstall", "--dry-run"]),
            ("archive", &["archive", "--closed-before", "2099-01-01", "--dry-run"]),
        ];
        let before = (bd.everything(), bd.json(&["status"])["position"].clone());
        for (_, args) in commands {
            assert_eq!(bd.run(args).exit, Some(0), "{args:?}");
            assert_eq!((bd.everything(), bd.json(&["status"])["position"].clone()), before, "{args:?}");
        }
        let batch = bd.run_with_input(&["batch", "--dry-run"], br#"{"op":"delete","id":"bd-1"}"#);
        assert_eq!(batch.exit, Some(0), "{batch:?}");
        for apply in [&["--apply", "--dry-run"][..], &["--dry-run", "--apply"]] {
            let args = [&["tool", "beads.delete"], apply].concat();
            let run = bd.run_with_input(&args, br#"{"id":"bd-1"}"#);
            assert_eq!((run.exit, &run.value()["metadata"]["applied"]), (Some(0), &false.into()), "{run:?}");
        }
        assert_eq!((bd.everything(), bd.json(&["status"])["position"].clone()), before);
        assert_eq!(std::fs::read_dir(bin).unwrap().count(), 0);

        let mut tried: BTreeSet<String> = commands.iter().map(|(verb, _)| (*verb).to_owned()).collect();
        tried.insert("batch".to_owned());
        let all = TABLE.iter().filter(|row| row.dry_run).map(|row| row.verb.to_owned()).collect();
        assert_eq!(tried, all, "this test must try every verb with --dry-run");
    });
}
