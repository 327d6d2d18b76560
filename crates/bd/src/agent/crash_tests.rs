//! Kills a command at every point where its process could die.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::path::Path;

use super::clock::Clock;
use super::error::Result;
use super::register::{Register, register};
use super::release::{Release, release};
use super::reserve::{Reserve, reserve};
use super::root::Root;
use super::send::{Send, send};
use super::store::Store;
use super::{inbox, status};

thread_local! {
    static POINTS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

struct Died;

/// Panics when the countdown reaches zero. Called by `files` wherever a process may be killed.
pub fn crash_point() {
    match POINTS_LEFT.get() {
        Some(0) => {
            POINTS_LEFT.set(None);
            panic_any(Died);
        }
        Some(left) => POINTS_LEFT.set(Some(left - 1)),
        None => {}
    }
}

/// Runs `work` until it dies at its n-th crash point. Returns true if it finished first.
fn survives(n: usize, work: impl FnOnce() -> Result<()>) -> bool {
    POINTS_LEFT.set(Some(n));
    let ended = catch_unwind(AssertUnwindSafe(work));
    POINTS_LEFT.set(None);
    match ended {
        Ok(done) => done.is_ok(),
        Err(why) if why.is::<Died>() => false,
        Err(why) => std::panic::resume_unwind(why),
    }
}

fn store(dir: &Path, now: &str) -> Store {
    let root = Root::find(dir, Some(&dir.join("store")), None).unwrap();
    Store::new(root, Clock::fixed(Some(now.parse().unwrap()), None).unwrap())
}

fn at_noon(dir: &Path) -> Store {
    store(dir, "2026-02-13T12:00:00Z")
}

fn team(dir: &Path) {
    for name in ["amber", "birch", "cedar"] {
        let input = Register { name: name.to_owned(), role: "ui".to_owned(), ..Register::default() };
        register(&at_noon(dir), &input).unwrap();
    }
}

fn letter(to: &str) -> Send {
    Send {
        from: "amber".to_owned(),
        to: to.to_owned(),
        bead: Some("bd-1".to_owned()),
        category: "HANDOFF".to_owned(),
        subject: "s".to_owned(),
        body: "b".to_owned(),
        thread: None,
    }
}

fn mail(dir: &Path, agent: &str) -> Vec<String> {
    let input = inbox::Inbox { agent: agent.to_owned(), ..inbox::Inbox::default() };
    let messages = inbox::inbox(&at_noon(dir), &input).unwrap();
    messages.iter().map(|message| message.message_id.to_string()).collect()
}

fn index(dir: &Path) -> usize {
    let files = std::fs::read_dir(dir.join("store/messages/index")).unwrap();
    files.filter(|file| file.as_ref().unwrap().file_name() != ".tmp").count()
}

#[test]
fn a_broadcast_reaches_all_or_none_wherever_its_sender_dies() {
    let (mut none, mut all) = (0, 0);
    for n in 0.. {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        team(dir);
        send(&at_noon(dir), &letter("birch")).unwrap();
        let finished = survives(n, || send(&at_noon(dir), &letter("broadcast")).map(drop));
        // The next command finishes the broadcast, and then appends its own line.
        send(&at_noon(dir), &letter("birch")).unwrap();
        let (birch, cedar) = (mail(dir, "birch"), mail(dir, "cedar"));
        assert_eq!(birch.len(), 2 + cedar.len(), "after dying at point {n}");
        assert!(cedar.len() <= 1);
        assert_eq!(index(dir), birch.len() + cedar.len());
        if finished {
            assert_eq!(cedar.len(), 1);
            break;
        }
        if cedar.is_empty() { none += 1 } else { all += 1 }
    }
    assert!(none > 1 && all > 8, "crashes before and after the commit: {none}, {all}");
}

#[test]
fn a_reservation_leaves_the_active_ones_when_it_enters_the_history() {
    for n in 0.. {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        team(dir);
        let taken = |agent: &str, scope: &str, takeover_stale| Reserve {
            agent: agent.to_owned(),
            scope: scope.to_owned(),
            bead: Some("bd-1".to_owned()),
            takeover_stale,
            ..Reserve::default()
        };
        reserve(&at_noon(dir), &taken("amber", "src", false)).unwrap();
        reserve(&at_noon(dir), &taken("amber", "docs", false)).unwrap();
        let input = Release { agent: "amber".to_owned(), scope: "src".to_owned() };
        let released = survives(n, || release(&at_noon(dir), &input).map(drop));
        let later = store(dir, "2026-02-13T20:00:00Z");
        let took = survives(n, || reserve(&later, &taken("birch", "docs", true)).map(drop));
        let report = status::status(&later, &status::Status::default()).unwrap().summary;
        assert_eq!(
            report.active + report.released + report.expired,
            if report.active == 1 { 3 } else { 2 },
            "{n}"
        );
        if released && took {
            assert_eq!((report.active, report.released, report.expired), (1, 1, 1));
            break;
        }
    }
}

#[test]
fn a_preview_checks_and_writes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    team(dir);
    let preview = at_noon(dir).preview();
    assert!(send(&preview, &letter("birch")).is_ok());
    assert!(send(&preview, &letter("nobody")).is_err());
    assert!(mail(dir, "birch").is_empty());
}

#[test]
fn a_failed_write_is_undone() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    team(dir);
    send(&at_noon(dir), &letter("birch")).unwrap();
    // The log of the second recipient is a dangling link, which is not followed.
    std::os::unix::fs::symlink(dir.join("nowhere"), dir.join("store/messages/cedar.jsonl")).unwrap();
    let failed = send(&at_noon(dir), &letter("broadcast")).unwrap_err();
    assert_eq!(failed.code, super::error::Code::IoReadFailed);
    assert!(failed.message.contains("cedar.jsonl"), "{failed}");
    assert_eq!((mail(dir, "birch").len(), index(dir)), (1, 1));
    assert!(!dir.join("store/pending.json").exists() && !dir.join("nowhere").exists());
}
