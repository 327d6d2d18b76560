//! No hint and no document suggests a destructive command, because an agent would run it.

use std::path::Path;

use beads::operations::TABLE;
use beads_engine::failure::Code;

use crate::sandbox::both;

/// Commands whose effect cannot easily be reversed.
const DESTRUCTIVE: [&str; 13] = [
    "--reset-gc-floor",
    "--force",
    "rm -",
    "reset --hard",
    "push -f",
    "push --delete",
    "git clean",
    "git gc",
    "branch -D",
    "update-ref -d",
    "reflog expire",
    "filter-branch",
    "kill -9",
];

/// Returns the verbs that the table of operations marks as destructive, as a document would write them.
fn destructive_verbs() -> impl Iterator<Item = String> {
    TABLE
        .iter()
        .filter(|row| row.destructive)
        .map(|row| if row.needs_apply { format!("{} --apply", row.verb) } else { format!("bd {}", row.verb) })
}

fn suggested(text: &str) -> Option<String> {
    let commands = DESTRUCTIVE.into_iter().map(str::to_owned);
    destructive_verbs().chain(commands).find(|command| text.contains(command.as_str()))
}

#[test]
fn no_hint_suggests_a_destructive_command() {
    for code in Code::ALL {
        for hint in code.hint().into_iter().chain(code.recovery()) {
            assert_eq!(suggested(hint), None, "{code}: {hint}");
        }
    }
}

#[test]
fn no_document_suggests_a_destructive_command() {
    // Documents may describe how to delete a bead, but no document suggests destroying a store.
    let described = ["bd delete", "bd undo", "bd uninstall", "--force", "kill -9", "git gc"];
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let documents = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = documents.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    for path in documents.chain([root.join("README.md")]) {
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let found = suggested(line).filter(|command| !described.contains(&command.as_str()));
            assert_eq!(found, None, "{}: {line}", path.display());
        }
    }
}

/// Common errors, with the text printed around the hint.
#[test]
fn no_error_suggests_a_destructive_command() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.json_as("bob", &["claim", &id]);
        for args in [
            &["show", "bd-none"][..],
            &["unclaim", &id],
            &["claim", &id],
            &["create", "y", "--id", &id],
            &["config", "set", "nope", "1"],
            &["import", "nowhere.jsonl"],
            &["dep", "add", &id, &id],
            &["update", &id, "--if-hash", "00"],
        ] {
            let run = bd.run(args);
            assert_ne!(run.exit, Some(0), "{args:?}");
            assert_eq!(suggested(&run.stderr), None, "{args:?}: {run:?}");
        }
        let missing = bd.run(&["import", "nowhere.jsonl", "--json"]).value()["error"].clone();
        assert!(missing["hint"].as_str().unwrap().contains("path"), "{missing}");
    });
}
