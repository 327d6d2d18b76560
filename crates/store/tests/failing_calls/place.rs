//! The directories of a child, the same for every case, and the checks afterwards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use beads_store::{GitRepository, Repository, Transport};
use tempfile::TempDir;

use crate::activity::{ACKNOWLEDGED, Activity, PUSHED, SAVED, TRIED};
use crate::clones::{Clone, create};
use crate::fault::Fault;

pub struct Place {
    activity: Activity,
    root: TempDir,
}

/// What a child printed before it ended.
#[derive(Debug, Default)]
struct ChildReport {
    tried: BTreeSet<String>,
    acknowledged: BTreeSet<String>,
    saved: BTreeSet<String>,
    pushed: BTreeSet<String>,
}

impl Place {
    /// Uses memory if possible: durability is not tested here, and each case creates hundreds of files.
    pub fn new(activity: Activity) -> Self {
        let memory = Path::new("/dev/shm");
        let root = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let place = Self { activity, root };
        // Created at its final path, because a repository contains the path of its remote.
        activity.prepare(&place.here());
        std::fs::rename(place.here(), place.template()).unwrap();
        place
    }

    fn here(&self) -> PathBuf {
        self.root.path().join("case")
    }

    fn template(&self) -> PathBuf {
        self.root.path().join("template")
    }

    /// Runs one child with one fault. Returns how many calls could fail. Panics if something was lost.
    pub fn case(&self, fault: Fault) -> u64 {
        let report = self.root.path().join("report");
        let _ = std::fs::remove_dir_all(self.here());
        let _ = std::fs::remove_file(&report);
        copy_tree(&self.template(), &self.here());
        let output = self.child(fault, &report);
        let report = std::fs::read_to_string(&report).unwrap_or_default();
        let checked = std::panic::catch_unwind(|| self.check(fault, &output));
        if let Err(panic) = checked {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
            eprintln!("{:?} with {fault:?}:\n{report}{:?}\n{printed}", self.activity, output.status);
            std::panic::resume_unwind(panic);
        }
        report.lines().find_map(|line| line.strip_prefix("calls ")?.parse().ok()).unwrap_or(0)
    }

    fn child(&self, fault: Fault, report: &Path) -> Output {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["child_process", "--exact", "--nocapture", "--test-threads=1"]);
        child.env(crate::CHILD, self.activity.name());
        fault.arm(&mut child, &self.here(), report);
        child.output().unwrap()
    }

    fn check(&self, fault: Fault, output: &Output) {
        let has_error = String::from_utf8_lossy(&output.stderr).contains("error: ");
        match output.status.code() {
            Some(0) => assert!(!has_error),
            Some(1) => assert!(has_error, "a failure without a message"),
            code => assert!(code.is_none() && fault.how == "kill", "it crashed: {code:?}"),
        }
        let reported = ChildReport::read(&String::from_utf8_lossy(&output.stdout));
        if fault.at == 0 {
            assert!(
                output.status.success() && reported.acknowledged == reported.tried,
                "without a fault everything succeeds"
            );
        }
        let git_dir = self.here().join("ann/.git");
        assert_holds(&git_dir, &reported.saved);
        assert_holds(&self.here().join("remote.git"), &reported.pushed);
        let mut ann = Clone::open(&git_dir, "ann", Transport::Native);
        self.assert_all_there(&ann, &reported);
        ann.run(&create("bd-after", "after"));
        ann.replica.checkpoint(&ann.repository()).unwrap();
        ann.repository().pack_loose_history().unwrap();
        ann.sync();
        for place in [&git_dir, &self.here().join("remote.git")] {
            assert_holds(place, &reported.acknowledged);
            assert_sound(place);
        }
        let ann = ann.reopen();
        self.assert_all_there(&ann, &reported);
        let mut eve = Clone::new(&self.here(), "eve", Transport::Native);
        eve.sync();
        assert!(eve.state().encode() == ann.state().encode(), "another clone gets different bytes");
    }

    fn assert_all_there(&self, ann: &Clone, reported: &ChildReport) {
        let titles: Vec<String> =
            ann.replica.catalog().live().map(|(_, bead)| bead.title.value.to_string()).collect();
        for title in &reported.acknowledged {
            assert_eq!(titles.iter().filter(|there| *there == title).count(), 1, "{title} of {titles:?}");
        }
        let prepared = ["contested", "of ben", "prepared", "after"];
        let known = |title: &str| prepared.iter().any(|known| title.starts_with(known));
        assert!(titles.iter().all(|title| reported.tried.contains(title) || known(title)), "{titles:?}");
        let now_ms = ann.replica.now_ms();
        assert_eq!(ann.replica.catalog().findings(now_ms), [], "findings");
        if self.activity == Activity::Sync && reported.pushed.contains("one") {
            assert_eq!(ann.state().conflicts().len(), 1, "the losing title is kept");
        }
    }
}

impl ChildReport {
    fn read(output: &str) -> Self {
        let mut reported = Self::default();
        for line in output.lines() {
            if let Some(title) = line.strip_prefix(TRIED) {
                reported.tried.insert(title.to_owned());
            } else if let Some(title) = line.strip_prefix(ACKNOWLEDGED) {
                reported.acknowledged.insert(title.to_owned());
            } else if line == SAVED || line == PUSHED {
                reported.saved.clone_from(&reported.acknowledged);
                if line == PUSHED {
                    reported.pushed.clone_from(&reported.acknowledged);
                }
            }
        }
        reported
    }
}

/// Asserts that the ref alone holds these titles.
fn assert_holds(git_dir: &Path, titles: &BTreeSet<String>) {
    let repository = GitRepository::open(git_dir).unwrap();
    let tip = repository.tip().unwrap();
    let state = tip.map(|tip| repository.state_of(&tip).unwrap()).unwrap_or_default();
    let there: BTreeSet<String> = state.beads().values().map(|bead| bead.title.value.to_string()).collect();
    assert!(titles.is_subset(&there), "{titles:?} in {there:?} of {}", git_dir.display());
}

/// Asserts that every commit decodes to the state it was encoded from, and that no object is damaged.
fn assert_sound(git_dir: &Path) {
    let repository = GitRepository::open(git_dir).unwrap();
    let tip = repository.tip().unwrap().unwrap();
    for past in repository.history(&tip).unwrap() {
        let snapshot = repository.snapshot(&past.commit).unwrap();
        assert!(snapshot.decode().unwrap().state.encode() == snapshot, "{} is not canonical", past.commit);
    }
    let git = git2::Repository::open(git_dir).unwrap();
    let odb = git.odb().unwrap();
    let mut named = Vec::new();
    odb.foreach(|object| {
        named.push(*object);
        true
    })
    .unwrap();
    for object in named {
        odb.read(object).unwrap();
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}
