//! Repositories that are moved, deleted, cloned again or restored from a backup while a daemon is running.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Mode, Run, Sandbox, commit_something, is_alive, remove_directory, wait_until};

/// Creates a store with one bead that stays in the journal (nothing is saved).
fn unsaved() -> Sandbox {
    let bd = Sandbox::new(Mode::Daemon);
    for key in ["sync.quiet", "sync.max_delay", "sync.interval"] {
        bd.text(&["config", "set", key, "1h"]);
    }
    bd.text(&["daemon", "stop"]);
    bd.create(&["one"]);
    bd
}

fn titles(run: &Run) -> Vec<String> {
    let beads: Value = run.value();
    let title = |bead: &Value| bead["title"].as_str().unwrap().to_owned();
    let mut titles: Vec<_> = beads.as_array().unwrap().iter().map(title).collect();
    titles.sort_unstable();
    titles
}

fn list(bd: &Sandbox) -> Run {
    let run = bd.run(&["list", "--json"]);
    assert_eq!(run.exit, Some(0), "{run:?}");
    run
}

/// Returns the rescue files in this sandbox's home directory.
fn rescued(bd: &Sandbox) -> Vec<PathBuf> {
    let directory = bd.root().join("home/.local/state/beads/rescued");
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "journal"))
        .collect()
}

fn join(bd: &Sandbox, file: &Path, force: bool) -> Run {
    let file = file.to_str().unwrap();
    let force = force.then_some("--force");
    bd.run(&["import", "--rescued", file, "--json"].into_iter().chain(force).collect::<Vec<_>>())
}

/// Asserts that every command mentions a rescue file and that the unsaved bead can be imported from it.
fn assert_rescued(bd: &Sandbox, force: bool) {
    let run = bd.run(&["create", "two", "--json"]);
    assert_eq!(run.exit, Some(0), "{run:?}");
    let files = rescued(bd);
    assert_eq!(files.len(), 1, "{files:?}");
    let file = files[0].to_str().unwrap();
    let run = list(bd);
    assert_eq!(titles(&run), ["two"]);
    assert!(run.stderr.starts_with("Note: ") && run.stderr.contains(file), "{run:?}");
    let doctor = bd.run(&["doctor", "--json"]).value();
    assert!(doctor["checks"].to_string().contains(file), "{doctor}");
    if force {
        let refused = join(bd, &files[0], false);
        assert_eq!(refused.value()["error"]["code"], "unrelated_store", "{refused:?}");
        assert_eq!(titles(&list(bd)), ["two"]);
    }
    let joined = join(bd, &files[0], force);
    assert_eq!(joined.exit, Some(0), "{joined:?}");
    assert_eq!(joined.value()["added"], 1, "{joined:?}");
    let run = list(bd);
    assert_eq!((titles(&run), run.stderr.as_str()), (vec!["one".to_owned(), "two".to_owned()], ""));
    assert_eq!(bd.json(&["validate"]), serde_json::json!([]));
}

#[test]
fn a_moved_repository_keeps_working_without_a_message() {
    let bd = unsaved();
    let pid = bd.daemon_pid().unwrap();
    let elsewhere = bd.root().join("elsewhere");
    std::fs::rename(bd.dir(), &elsewhere).unwrap();
    let run = |args: &[&str]| Run::of(bd.command(args).current_dir(&elsewhere)).succeeded(args);
    assert_eq!(titles(&run(&["list", "--json"])), ["one"]);
    run(&["create", "two"]);
    assert_eq!(titles(&run(&["list", "--json"])), ["one", "two"]);
    wait_until("the old daemon exits", || !is_alive(pid));
    assert!(rescued(&bd).is_empty(), "nothing is missing");
    run(&["daemon", "stop"]);
}

#[test]
fn a_repository_that_is_deleted_and_recreated_loses_nothing() {
    let bd = unsaved();
    remove_directory(bd.dir());
    std::fs::create_dir(bd.dir()).unwrap();
    commit_something(bd.dir());
    assert_rescued(&bd, true);
}

#[test]
fn a_fresh_clone_of_the_same_remote_imports_a_rescue_file_without_force() {
    let bd = Sandbox::new(Mode::Daemon);
    let remote = bd.root().join("remote.git");
    git2::Repository::init_bare(&remote).unwrap();
    let clone = || bd.repository().remote("origin", remote.to_str().unwrap()).map(drop).unwrap();
    clone();
    for key in ["sync.quiet", "sync.max_delay", "sync.interval"] {
        bd.text(&["config", "set", key, "1h"]);
    }
    bd.text(&["daemon", "stop"]);
    bd.create(&["one"]);
    remove_directory(bd.dir());
    std::fs::create_dir(bd.dir()).unwrap();
    commit_something(bd.dir());
    clone();
    assert_rescued(&bd, false);
}

#[test]
fn pushed_changes_need_no_rescue_and_are_not_pushed_elsewhere() {
    let bd = Sandbox::new(Mode::Daemon);
    let (ours, theirs) = (bd.root().join("ours.git"), bd.root().join("theirs.git"));
    for remote in [&ours, &theirs] {
        git2::Repository::init_bare(remote).unwrap();
    }
    bd.repository().remote("origin", ours.to_str().unwrap()).unwrap();
    bd.create(&["one"]);
    bd.json(&["sync"]);
    remove_directory(bd.dir());
    std::fs::create_dir(bd.dir()).unwrap();
    commit_something(bd.dir());
    bd.repository().remote("origin", theirs.to_str().unwrap()).unwrap();
    assert!(titles(&list(&bd)).is_empty(), "another project");
    bd.create(&["two"]);
    bd.json(&["sync"]);
    assert_eq!(titles(&list(&bd)), ["two"]);
    assert!(rescued(&bd).is_empty());
}

#[test]
fn local_files_that_are_deleted_are_noticed() {
    let bd = unsaved();
    remove_directory(&bd.dir().join(".git/beads"));
    assert_rescued(&bd, true);
}

#[test]
fn a_backup_that_is_restored_in_place_is_noticed() {
    let bd = unsaved();
    let journal = bd.dir().join(".git/beads/journal.000000000001");
    let backup = std::fs::read(&journal).unwrap();
    bd.create(&["later"]);
    std::fs::write(&journal, backup).unwrap();
    assert_eq!(titles(&list(&bd)), ["one"], "what the backup holds");
    let files = rescued(&bd);
    assert_eq!(files.len(), 1);
    let joined = join(&bd, &files[0], false);
    assert_eq!(joined.exit, Some(0), "{joined:?}");
    assert_eq!(titles(&list(&bd)), ["later", "one"]);
}

#[test]
fn a_journal_whose_time_alone_differs_is_still_ours() {
    let bd = unsaved();
    let pid = bd.daemon_pid();
    let journal = std::fs::File::options().write(true).open(bd.dir().join(".git/beads/journal.000000000001"));
    journal.unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    bd.create(&["two"]);
    assert_eq!(bd.daemon_pid(), pid);
    assert!(rescued(&bd).is_empty());
}

#[test]
fn stopping_fails_where_nothing_can_be_saved_and_names_the_file() {
    let bd = unsaved();
    remove_directory(&bd.dir().join(".git"));
    commit_something(bd.dir());
    let run = bd.run(&["daemon", "stop", "--json"]);
    let files = rescued(&bd);
    assert_eq!(files.len(), 1, "{run:?}");
    let error = run.failed("daemon stop", "store_replaced");
    assert_eq!(error["details"]["rescue_file"], files[0].to_str().unwrap(), "{error}");
}

/// Without a daemon nothing watches the journal between two commands, so its end is checked when it is
/// opened.
#[test]
fn a_journal_rolled_back_between_two_commands_is_reported() {
    let bd = Sandbox::new(Mode::Embedded);
    for key in ["sync.quiet", "sync.max_delay"] {
        bd.text(&["config", "set", key, "1h"]);
    }
    bd.create(&["one"]);
    let journal = bd.dir().join(".git/beads/journal.000000000001");
    let backup = std::fs::read(&journal).unwrap();
    bd.create(&["later"]);
    let run = list(&bd);
    assert_eq!((titles(&run), run.stderr.as_str()), (vec!["later".to_owned(), "one".to_owned()], ""));
    std::fs::write(&journal, &backup).unwrap();
    let run = list(&bd);
    assert_eq!(titles(&run), ["one"], "what the backup holds");
    assert!(run.stderr.starts_with("Note: ") && run.stderr.contains("up to 1 change"), "{run:?}");
    let doctor = bd.run(&["doctor", "--json"]).value();
    assert!(
        doctor["overall_ok"] == false && doctor["checks"].to_string().contains("journal_went_back"),
        "{doctor}"
    );
    // It is mentioned until the record is moved away.
    assert!(list(&bd).stderr.contains("ended too early"));
    let directory = bd.root().join("home/.local/state/beads/journals");
    let records = std::fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path());
    let lost: Vec<_> = records.filter(|path| path.extension().is_some_and(|end| end == "lost")).collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    std::fs::remove_file(&lost[0]).unwrap();
    assert_eq!(list(&bd).stderr, "");
}

/// Changes that are in a commit are not lost with the journal.
#[test]
fn a_journal_rolled_back_after_a_save_is_not_reported() {
    let bd = Sandbox::new(Mode::Embedded);
    bd.create(&["one"]);
    let directory = bd.dir().join(".git/beads");
    let segments = || {
        let entries = std::fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path());
        let is_segment = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("journal.");
        entries.filter(is_segment).collect::<Vec<_>>()
    };
    let before: Vec<_> = segments().into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect();
    bd.create(&["later"]);
    bd.text(&["sync"]);
    segments().iter().for_each(|path| std::fs::remove_file(path).unwrap());
    before.iter().for_each(|(content, path)| std::fs::write(path, content).unwrap());
    let run = list(&bd);
    assert_eq!((titles(&run), run.stderr.as_str()), (vec!["later".to_owned(), "one".to_owned()], ""));
}
