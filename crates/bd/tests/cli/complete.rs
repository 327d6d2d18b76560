//! `bd complete`, and the scripts that call it.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::mcp::conflicts::loser;
use crate::pty::{read_until, spawn_on_terminal};
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

#[test]
fn all_is_a_status_to_filter_by_but_not_one_to_set() {
    let bd = Sandbox::new(Mode::Embedded);
    store(&bd);
    assert_eq!(complete(&bd, &["list", "--status", "al"]), ["all"]);
    assert_eq!(complete(&bd, &["list", "--status", "open,al"]), ["open,all"]);
    assert!(complete(&bd, &["update", "bd-a1", "--status", "al"]).is_empty());
}

#[test]
fn conflicts_are_completed_with_their_bead_and_field() {
    let (bd, _remote, bead) = loser();
    let id = bd.json(&["conflicts"])[0]["id"].as_str().unwrap().to_owned();
    for verb in ["show", "restore", "dismiss"] {
        let shown = bd.text(&["complete", "--", "conflicts", verb, "CONFL"]);
        assert_eq!(shown, format!("{id}\t{bead} title\n"), "{verb}");
    }
    bd.json(&["conflicts", "dismiss", &id]);
    assert!(complete(&bd, &["conflicts", "dismiss", ""]).is_empty(), "a dismissed conflict is not listed");
}

/// Returns a command that runs a shell in the sandbox's repository with `bd` on its path, or `None` if the
/// shell is not installed.
fn shell(bd: &Sandbox, name: &str) -> Option<Command> {
    let paths = [Path::new("/usr/bin"), Path::new("/bin"), Path::new("/usr/local/bin")];
    let program = paths.iter().map(|directory| directory.join(name)).find(|path| path.exists())?;
    let ours = Path::new(env!("CARGO_BIN_EXE_bd")).parent().unwrap();
    let path = std::env::join_paths([ours].into_iter().chain(paths)).unwrap();
    let mut command = Command::new(program);
    command
        .current_dir(bd.dir())
        .env_clear()
        .env("PATH", path)
        .env("HOME", bd.root().join("home"))
        .env("BD_NO_DAEMON", "1")
        .env("BD_RUNTIME_DIR", bd.runtime_dir())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    Some(command)
}

/// Runs the script in a real bash, if there is one.
#[test]
fn the_bash_script_completes_ids() {
    let bd = Sandbox::new(Mode::Embedded);
    let Some(mut bash) = shell(&bd, "bash") else { return };
    store(&bd);
    let script = "source <(bd completions bash)\n\
        try() { COMP_LINE=\"$1\"; COMP_POINT=${#1}; COMP_TYPE=9; COMPREPLY=(); _bd; echo \"${COMPREPLY[*]}\"; }\n\
        try 'bd show bd-a'; try 'bd list --status=cl'; try 'bd list --assignee bob@m'; try 'bd unc'\n";
    let run = Run::of(bash.args(["--norc", "-c", script]));
    assert_eq!(run.stdout, "bd-a1\nclosed\nmac\nunclaim\n", "{run:?}");
}

/// Asks a real fish for its completions, if there is one.
#[test]
fn the_fish_script_completes_ids() {
    let bd = Sandbox::new(Mode::Embedded);
    let Some(mut fish) = shell(&bd, "fish") else { return };
    store(&bd);
    let script = "bd completions fish | source\n\
        for line in 'bd show bd-a' 'bd list --status=cl' 'bd list --assignee bob@m' 'bd unc' 'bd list --status op' \
        'bd list --label '\n\
        complete -C $line\nend\n";
    let run = Run::of(fish.args(["--no-config", "-c", script]));
    let ids = "bd-a1\tShip it\n--status=closed\nbob@mac\t1 bead\n";
    let unclaim = run.stdout.lines().find(|line| line.starts_with("unclaim\t")).unwrap_or_default();
    let rest = "open\nbackend\t1 bead\nurgent\t1 bead\n";
    assert_eq!(run.stdout, format!("{ids}{unclaim}\n{rest}"), "{run:?}");
}

/// What zsh does when it starts: it loads the completions, and Ctrl-X prints the line as it is then.
const ZSHRC: &str = "autoload -Uz compinit && compinit -u -D\n\
    source <(bd completions zsh)\n\
    PS1='ready> '\n\
    unsetopt zle_bracketed_paste\n\
    show_line() { print -r -- \"LINE\"\"=[$BUFFER]\"; BUFFER=''; zle -I }\n\
    zle -N show_line\n\
    bindkey '^X' show_line\n";

/// Presses Tab in a real zsh, if there is one.
#[test]
fn the_zsh_script_completes_ids() {
    let bd = Sandbox::new(Mode::Embedded);
    let Some(mut zsh) = shell(&bd, "zsh") else { return };
    store(&bd);
    let home = bd.root().join("home");
    std::fs::write(home.join(".zshrc"), ZSHRC).unwrap();
    zsh.args(["-i", "--no-globalrcs"]).env("ZDOTDIR", &home).env("TERM", "dumb");
    let (mut child, mut terminal) = spawn_on_terminal(zsh);
    let typed = [
        ("bd show bd-a\t", "bd show bd-a1 "),
        ("bd list --status=cl\t", "bd list --status=closed "),
        ("bd list --assignee bob@m\t", "bd list --assignee bob@mac "),
        ("bd unc\t", "bd unclaim "),
    ];
    let started = read_until(&mut terminal, |shown| shown.contains("ready> "));
    assert!(started.contains("ready> "), "{started:?}");
    for (keys, line) in typed {
        terminal.write_all(format!("{keys}\u{18}").as_bytes()).unwrap();
        let shown = read_until(&mut terminal, |shown| {
            shown.split_once("LINE=[").is_some_and(|(_, line)| line.contains("ready> "))
        });
        assert!(shown.contains(&format!("LINE=[{line}]")), "{keys:?}: {shown:?}");
    }
    terminal.write_all(b"exit\n").unwrap();
    read_until(&mut terminal, |_| false);
    assert!(child.wait().unwrap().success());
}
