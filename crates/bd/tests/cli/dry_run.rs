//! `--dry-run` always wins: no verb that has it changes anything.

use std::collections::BTreeSet;

use crate::sandbox::{Sandbox, both};

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Every verb whose help has `--dry-run`, with the verbs below it.
fn verbs_with_dry_run(bd: &Sandbox) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = left.pop() {
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        args.push("--help");
        let help = bd.run(&args).stdout;
        if help.contains("--dry-run") && !words.is_empty() {
            found.insert(words.join(" "));
        }
        left.extend(listed(&help).into_iter().map(|name| [words.clone(), vec![name]].concat()));
    }
    found
}

#[test]
fn no_verb_changes_anything() {
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
        let commands: [(&str, &[&str]); 12] = [
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
        ];
        let before = (bd.everything(), bd.json(&["status"])["position"].clone());
        for (_, args) in commands {
            bd.run(args).succeeded(args);
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
        assert_eq!(verbs_with_dry_run(bd), tried, "this test must try every verb with --dry-run");
    });
}
