//! An empty list says so on standard error; standard output stays empty for pipes.

use crate::sandbox::both;

#[test]
fn an_empty_list_says_so_on_standard_error() {
    both(|bd| {
        bd.text(&["init"]);
        for (args, note) in [
            (&["list"][..], "no beads match\n"),
            (&["ready"], "no beads match\n"),
            (&["search", "nothing"], "no beads match\n"),
            (&["recall"], "no memories match\n"),
            (&["questions"], "no open questions\n"),
            (&["conflicts"], "no conflicts\n"),
            (&["label", "list-all"], "no labels\n"),
            (&["epic", "status"], "no epics\n"),
            (&["graph"], "no beads match\n"),
            (&["validate"], "no problems found\n"),
            (&["renew"], "no claims to renew\n"),
            (&["unclaim", "--all"], "no claims to release\n"),
            (&["reclaim", "--expired"], "no expired claims\n"),
            (&["epic", "close-eligible"], "no epics to close\n"),
        ] {
            let run = bd.run(args);
            assert_eq!((run.exit, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", note), "{args:?}");
            let quiet = bd.run(&[args, &["-q"]].concat());
            assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""), "{args:?}");
        }
        assert_eq!(bd.run(&["list", "--json"]).stderr, "");
        bd.create(&["one"]);
        assert_eq!(bd.run(&["list"]).stderr, "");
    });
}

#[test]
fn messages_name_what_is_missing_and_what_changed() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        bd.run(&["migrate"]);
        let renew = bd.run(&["renew", "bd-1"]).stderr;
        assert!(renew.contains("no one holds it") && !renew.contains("none"), "{renew}");
        for args in [&["forget", "nope"][..], &["conflicts", "show", "CONFLICT-00000000"]] {
            let run = bd.run(args);
            assert!(
                run.exit != Some(0) && !run.stderr.contains("bd list shows all beads"),
                "{args:?}: {run:?}"
            );
        }
        let init = bd.run(&["init", "--prefix", "app"]);
        assert!(init.stderr.contains("the prefix was bd; new ids now start with app-"), "{init:?}");
        assert_eq!(bd.run(&["init", "--prefix", "app"]).stderr, "");
        bd.json_as("claude-1", &["claim", "bd-1"]);
        bd.json_as("claude-1", &["ask", "bd-1", "which one?"]);
        let answer = bd.text(&["answer", "bd-1", "the second"]);
        assert_eq!(answer, "answered bd-1: one (offered to claude-1, after ten minutes to everyone)\n");
    });
}
