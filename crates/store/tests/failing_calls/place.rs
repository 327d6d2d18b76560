//! Directories for a child, each time the same ones, and what must be true of them afterwards.

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

/// What a child said before it ended.
#[derive(Debug, Default)]
struct Told {
    tried: BTreeSet<String>,
    acknowledged: BTreeSet<String>,
    saved: BTreeSet<String>,
    pushed: BTreeSet<String>,
}

impl Place {
    /// In memory if that can be had: what a disk keeps is not asked here, and each case makes hundreds of files.
    pub fn new(activity: Activity) -> Self {
        let memory = Path::new("/dev/shm");
        let root = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let place = Self { activity, root };
        // Made where it will be used, because a repository knows the path of its remote.
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

    /// One child with one fault. Returns how many calls there were to fail; panics when something was lost.
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
            let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
            eprintln!("{:?} with {fault:?}:\n{report}{:?}\n{said}", self.activity, output.status);
            std::panic::resume_unwind(panic);
        }
        report.lines().find_map(|line| line.strip_prefix("calls ")?.parse().ok()).unwrap_or(0)
    }

    fn child(&self, fault: Fault, report: &Path) -> Output {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["the_child_of_the_others", "--exact", "--nocapture", "--test-threads=1"]);
        child.env(crate::CHILD, self.activity.name());
        fault.arm(&mut child, &self.here(), report);
        child.output().unwrap()
    }

    fn check(&self, fault: Fault, output: &Output) {
        let words = String::from_utf8_lossy(&output.stderr).contains("error: ");
        match output.status.code() {
            Some(0) => assert!(!words),
            Some(1) => assert!(words, "a failure without a word"),
            code => assert!(code.is_none() && fault.how == "kill", "it ended by itself: {code:?}"),
        }
        let told = Told::read(&String::from_utf8_lossy(&output.stdout));
        if fault.at == 0 {
            assert!(
                output.status.success() && told.acknowledged == told.tried,
                "without a fault all is well"
            );
        }
        let git_dir = self.here().join("ann/.git");
        assert_holds(&git_dir, &told.saved);
        assert_holds(&self.here().join("remote.git"), &told.pushed);
        let mut ann = Clone::open(&git_dir, "ann", Transport::Native);
        self.assert_all_there(&ann, &told);
        ann.run(&create("bd-after", "after"));
        ann.replica.checkpoint(&ann.repository()).unwrap();
        ann.repository().pack_loose_history().unwrap();
        ann.sync();
        for place in [&git_dir, &self.here().join("remote.git")] {
            assert_holds(place, &told.acknowledged);
            assert_sound(place);
        }
        let ann = ann.reopen();
        self.assert_all_there(&ann, &told);
        let mut eve = Clone::new(&self.here(), "eve", Transport::Native);
        eve.sync();
        assert!(eve.state().encode() == ann.state().encode(), "another clone gets other bytes");
    }

    fn assert_all_there(&self, ann: &Clone, told: &Told) {
        let titles: Vec<String> =
            ann.replica.catalog().live().map(|(_, bead)| bead.title.value.to_string()).collect();
        for title in &told.acknowledged {
            assert_eq!(titles.iter().filter(|there| *there == title).count(), 1, "{title} of {titles:?}");
        }
        let prepared = ["contested", "of ben", "prepared", "after"];
        let known = |title: &str| prepared.iter().any(|known| title.starts_with(known));
        assert!(titles.iter().all(|title| told.tried.contains(title) || known(title)), "{titles:?}");
        let now_ms = ann.replica.now_ms();
        assert_eq!(ann.replica.catalog().findings(now_ms), [], "findings");
        if self.activity == Activity::Sync && told.pushed.contains("one") {
            assert_eq!(ann.state().conflicts().len(), 1, "the losing title is kept");
        }
    }
}

impl Told {
    fn read(output: &str) -> Self {
        let mut told = Self::default();
        for line in output.lines() {
            if let Some(title) = line.strip_prefix(TRIED) {
                told.tried.insert(title.to_owned());
            } else if let Some(title) = line.strip_prefix(ACKNOWLEDGED) {
                told.acknowledged.insert(title.to_owned());
            } else if line == SAVED || line == PUSHED {
                told.saved.clone_from(&told.acknowledged);
                if line == PUSHED {
                    told.pushed.clone_from(&told.acknowledged);
                }
            }
        }
        told
    }
}

/// The ref alone holds these titles.
fn assert_holds(git_dir: &Path, titles: &BTreeSet<String>) {
    let repository = GitRepository::open(git_dir).unwrap();
    let tip = repository.tip().unwrap();
    let state = tip.map(|tip| repository.state_of(&tip).unwrap()).unwrap_or_default();
    let there: BTreeSet<String> = state.beads().values().map(|bead| bead.title.value.to_string()).collect();
    assert!(titles.is_subset(&there), "{titles:?} in {there:?} of {}", git_dir.display());
}

/// Every commit decodes to what it encodes from, and no object that has a name is damaged.
fn assert_sound(git_dir: &Path) {
    let repository = GitRepository::open(git_dir).unwrap();
    let tip = repository.tip().unwrap().unwrap();
    for past in repository.past(&tip).unwrap() {
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
