//! `bd complete`, and the scripts that call it.

use std::path::Path;
use std::process::Command;

use crate::sandbox::{Mode, Run, Sandbox, both};

/// Returns the completions of a command line: values without their descriptions.
fn complete(bd: &Sandbox, words: &[&str]) -> Vec<String> {
    let text = bd.text(&[&["complete", "--"], words].concat());
    text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

fn store(bd: &Sandbox) {
    bd.create(&["Ship it", "--id", "bd-a1", "-l", "backend,urgent"]);
    bd.create(&["Write it", "--id", "bd-b2", "--assignee", "bob@mac"]);
    bd.create(&["Done", "--id", "bd-c3"]);
    bd.json(&["close", "bd-c3"]);
}

#[test]
fn ids_come_with_titles_and_unfinished_beads_first() {
    both(|bd| {
        store(bd);
        assert_eq!(bd.text(&["complete", "--", "show", "bd-a"]), "bd-a1\tShip it\n");
        let all = complete(bd, &["show", ""]);
        assert_eq!((all.len(), all.last().map(String::as_str)), (3, Some("bd-c3")), "{all:?}");
        assert_eq!(complete(bd, &["show", "bd-a1", "bd-b"]), ["bd-b2"]);
        assert_eq!(complete(bd, &["dep", "add", "bd-a1", "bd-b"]), ["bd-b2"]);
        assert_eq!(complete(bd, &["create", "x", "--parent", "bd-a"]), ["bd-a1"]);
        assert_eq!(complete(bd, &["create", "x", "--deps", "bd-a1,bd-b"]), ["bd-a1,bd-b2"]);
        assert!(complete(bd, &["show", "bd-a1", "--session", ""]).is_empty(), "a session is no bead");
    });
}

#[test]
fn statuses_labels_actors_types_and_settings_are_completed() {
    both(|bd| {
        store(bd);
        assert_eq!(complete(bd, &["list", "--status", "in"]), ["in_progress"]);
        assert_eq!(complete(bd, &["list", "--status=in"]), ["--status=in_progress"]);
        assert_eq!(complete(bd, &["list", "--status", "de"]), ["deferred"]);
        assert_eq!(complete(bd, &["list", "--label", ""]), ["backend", "urgent"]);
        assert_eq!(complete(bd, &["list", "--assignee", ""]), ["me", "bob@mac"]);
        assert_eq!(complete(bd, &["list", "--label", "backend,u"]), ["backend,urgent"]);
        assert_eq!(complete(bd, &["label", "add", "bd-a1", "ur"]), ["urgent"]);
        assert_eq!(complete(bd, &["list", "--assignee", "b"]), ["bob@mac"]);
        assert_eq!(complete(bd, &["create", "x", "--type", "ep"]), ["epic"]);
        assert_eq!(complete(bd, &["config", "set", "sync.re"]), ["sync.remote"]);
        // The first custom status raises the format, which is reported on standard error.
        let run = bd.run(&["config", "set", "status.custom", "qa:in_progress"]);
        assert_eq!(run.exit, Some(0), "{run:?}");
        assert_eq!(complete(bd, &["update", "bd-a1", "--status", "q"]), ["qa"]);
    });
}

#[test]
fn verbs_and_options_are_completed() {
    let bd = Sandbox::new(Mode::Embedded);
    assert_eq!(complete(&bd, &["unc"]), ["unclaim"]);
    assert_eq!(complete(&bd, &["dep", "tr"]), ["tree"]);
    assert_eq!(complete(&bd, &["graph", "--format", "sv"]), ["svg"]);
    assert!(complete(&bd, &["show", "--act"]).contains(&"--actor".to_owned()), "global options, too");
    assert!(!complete(&bd, &["comp"]).contains(&"complete".to_owned()), "it is only for scripts");
}

/// The store of another directory is asked if the command line names it.
#[test]
fn the_store_that_the_command_line_names_is_asked() {
    let (here, there) = (Sandbox::new(Mode::Embedded), Sandbox::new(Mode::Embedded));
    store(&there);
    let directory = there.dir().to_str().unwrap();
    assert_eq!(complete(&here, &["-C", directory, "show", "bd-a"]), ["bd-a1"]);
    assert!(complete(&here, &["show", "bd-a"]).is_empty());
}

#[test]
fn errors_are_silent() {
    let bd = Sandbox::without_repository(Mode::Embedded);
    for words in [&["show", ""][..], &["-C", "/no/such/directory", "show", ""], &["nonsense", "--what", "x"]]
    {
        let run = bd.run(&[&["complete", "--"], words].concat());
        assert_eq!(
            (run.exit, run.stdout.as_str(), run.stderr.as_str()),
            (Some(0), "", ""),
            "{words:?}: {run:?}"
        );
    }
}

/// Runs the script in a real bash, if there is one.
#[test]
fn the_bash_script_completes_ids() {
    let bash = Path::new("/bin/bash");
    if !bash.exists() {
        return;
    }
    let bd = Sandbox::new(Mode::Embedded);
    store(&bd);
    let program = Path::new(env!("CARGO_BIN_EXE_bd"));
    let script = "source <(bd completions bash)\n\
        try() { COMP_LINE=\"$1\"; COMP_POINT=${#1}; COMP_TYPE=9; COMPREPLY=(); _bd; echo \"${COMPREPLY[*]}\"; }\n\
        try 'bd show bd-a'; try 'bd list --status=cl'; try 'bd list --assignee bob@m'; try 'bd unc'\n";
    let mut command = Command::new(bash);
    let path =
        std::env::join_paths([program.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    command
        .args(["--norc", "-c", script])
        .current_dir(bd.dir())
        .env_clear()
        .env("PATH", path)
        .env("HOME", bd.root().join("home"))
        .env("BD_NO_DAEMON", "1")
        .env("BD_RUNTIME_DIR", bd.runtime_dir())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let run = Run::of(&mut command);
    assert_eq!(run.stdout, "bd-a1\nclosed\nmac\nunclaim\n", "{run:?}");
}
