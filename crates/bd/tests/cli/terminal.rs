//! Control characters in beads are shown escaped and never sent to the terminal.

use crate::sandbox::both;

/// Colours, a title set by OSC, a C1 introducer, a carriage return, a backspace, a bidirectional override, DEL.
const HOSTILE: &str = "a\u{1b}[31mred\u{1b}]0;owned\u{7} \u{9b}2J \rover\u{8}\u{8} \u{202e}evil\u{200b} \u{7f} \u{2066}end\nsecond\tline";

fn harmless(what: &str, text: &str) {
    for c in text.chars() {
        let invisible =
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
        assert!(!invisible && (!c.is_control() || c == '\n' || c == '\t'), "{what} prints {c:?}: {text:?}");
    }
}

#[test]
fn no_terminal_control_is_printed() {
    both(|bd| {
        let id = bd.create(&[
            "x",
            "-d",
            HOSTILE,
            "--design",
            HOSTILE,
            "--acceptance",
            HOSTILE,
            "--notes",
            HOSTILE,
        ]);
        // The part of it that a title, a label, an actor and a reference may contain.
        let line = "bidi \u{202e}evil\u{200b}";
        bd.json(&["update", &id, "--title", line, "--add-label", line, "--external-ref", line, "-a", line]);
        let waits = bd.create(&[line, "--deps", &id, "--parent", &id]);
        bd.json_as(line, &["note", "add", &id, HOSTILE]);
        bd.json(&["close", &id, "--reason", HOSTILE]);
        let gone = bd.create(&[line]);
        bd.json_as(line, &["delete", &gone, "--reason", HOSTILE]);
        let epic = bd.create(&[line, "-t", "epic"]);
        for args in [
            &["show", &id][..],
            &["show", &waits],
            &["list"],
            &["search", "evil"],
            &["note", "list", &id],
            &["ready"],
            &["blocked"],
            &["deleted"],
            &["label", "list", &id],
            &["label", "list-all"],
            &["dep", "list", &waits],
            &["dep", "tree", &waits],
            &["epic", "status"],
            &["count", "--by-label"],
            &["count", "--by-assignee"],
            &["validate"],
            &["stale", "--days", "0"],
            &["update", &epic, "-p", "0"],
            &["reopen", &id],
            &["status"],
            &["children", &id],
            &["log", &id],
            &["blame", &id],
            &["diff", "1h"],
            &["graph", "--all"],
            &["plan"],
            &["claim", &epic],
            &["unclaim", &epic, "--reason", line],
            &["conflicts", "list"],
            &["watch", "--since", "0", "--timeout", "0"],
            &["config", "list"],
            &["info"],
            &["prime"],
        ] {
            let text = bd.text(args);
            harmless(&format!("{args:?}"), &text);
        }
        assert!(bd.text(&["show", &id]).contains("\\u{1b}[31mred"), "it is shown instead");
        // Stored data is never altered.
        let bead = bd.show(&id);
        assert_eq!(bead["description"], HOSTILE);
        assert_eq!(bead["notes"][1]["content"], HOSTILE);
        // Errors quote the arguments.
        for args in [&["show", HOSTILE][..], &["show", &gone], &["update", &id, "-t", HOSTILE], &[HOSTILE]] {
            let run = bd.run(args);
            assert_ne!(run.exit, Some(0));
            harmless(&format!("{args:?}"), &run.stderr);
            run.assert_one_error_line();
        }
    });
}

#[test]
fn json_holds_no_raw_control_byte() {
    both(|bd| {
        let id = bd.create(&["x", "-d", HOSTILE]);
        let run = bd.run(&["show", &id, "--json"]);
        assert!(run.stdout.bytes().all(|b| b == b'\n' || b >= 0x20), "{:?}", run.stdout);
        assert_eq!(run.value()[0]["description"], HOSTILE);
    });
}

#[test]
fn no_colour_when_piped() {
    both(|bd| {
        let id = bd.create(&["x", "-p", "0"]);
        for args in [&["list"][..], &["show", &id], &["dep", "tree", &id]] {
            assert!(!bd.text(args).contains('\u{1b}'), "{args:?}");
        }
    });
}
