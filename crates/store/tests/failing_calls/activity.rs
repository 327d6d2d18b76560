//! What a child process does while a system call fails. Like a daemon, it continues after an error.

use std::path::Path;

use beads_store::{Error, GitRepository, PACK_AFTER, Transport};

use crate::clones::{Clone, create, retitle, sync_all};

/// What the child prints, each time before anything else can happen.
pub const TRIED: &str = "tried ";
pub const ACKNOWLEDGED: &str = "acknowledged ";
pub const SAVED: &str = "saved";
pub const PUSHED: &str = "pushed";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// The first beads of a repository, and their first commits.
    FirstSave,
    /// Both sides have changes, and both wrote the same title.
    Sync,
    /// An empty clone adopts the remote's store, then pushes.
    FirstSync,
    /// There are enough loose commits to be packed.
    Pack,
}

impl Activity {
    pub const ALL: [Self; 4] = [Self::FirstSave, Self::Sync, Self::FirstSync, Self::Pack];

    pub fn name(self) -> &'static str {
        match self {
            Self::FirstSave => "first-save",
            Self::Sync => "sync",
            Self::FirstSync => "first-sync",
            Self::Pack => "pack",
        }
    }

    /// Creates the directories for the child.
    pub fn prepare(self, root: &Path) {
        git2::Repository::init_bare(root.join("remote.git")).unwrap();
        let mut ann = Clone::new(root, "ann", Transport::Native);
        match self {
            Self::FirstSave => {}
            Self::Sync => {
                ann.run(&create("bd-0", "contested"));
                let mut ben = Clone::new(root, "ben", Transport::Native);
                let mut both = [ann, ben];
                sync_all(&mut both);
                [ann, ben] = both;
                ben.run(&retitle("bd-0", "contested by ben"));
                ben.run(&create("bd-b", "of ben"));
                ben.sync();
                ann.run(&retitle("bd-0", "contested by ann"));
                ann.replica.checkpoint(&ann.repository()).unwrap();
            }
            Self::FirstSync => {
                let mut ben = Clone::new(root, "ben", Transport::Native);
                ben.run(&create("bd-b", "of ben"));
                ben.sync();
            }
            Self::Pack => {
                for number in 0..PACK_AFTER {
                    ann.run(&create(&format!("bd-p{number}"), &format!("prepared {number}")));
                    ann.replica.checkpoint(&ann.repository()).unwrap();
                }
            }
        }
    }

    /// Runs the activity. Returns whether anything failed; each error was printed.
    pub fn run(self, root: &Path) -> bool {
        let mut worker = Worker { root, clone: None, failed: false };
        match self {
            Self::FirstSave => {
                worker.write("one");
                worker.write("two");
                worker.save();
                worker.write("three");
                worker.save();
            }
            Self::Sync => {
                worker.write("one");
                worker.sync();
                worker.write("two");
                worker.sync();
            }
            Self::FirstSync => {
                worker.sync();
                worker.write("one");
                worker.sync();
            }
            Self::Pack => {
                worker.write("one");
                worker.save();
                worker.pack();
                worker.write("two");
                worker.save();
            }
        }
        worker.failed
    }
}

struct Worker<'a> {
    root: &'a Path,
    /// `None` if the store has to be opened first.
    clone: Option<Clone>,
    failed: bool,
}

impl Worker<'_> {
    fn attempt(&mut self, step: impl FnOnce(&mut Clone) -> Result<(), Error>) {
        let opened = self.clone.take().map_or_else(|| try_open(self.root), Ok);
        let done = opened.and_then(|mut clone| {
            let done = step(&mut clone);
            // Memory may be ahead of the disk, so the next step opens the store again.
            let is_unusable = matches!(done, Err(Error::JournalFailed(_) | Error::Io { .. }));
            self.clone = Some(clone).filter(|_| !is_unusable);
            done
        });
        if let Err(error) = done {
            eprintln!("error: {error}");
            self.failed = true;
        }
    }

    fn write(&mut self, title: &str) {
        println!("{TRIED}{title}");
        let op = create(&format!("bd-{title}"), title);
        self.attempt(|clone| {
            clone.try_run(&op)?;
            println!("{ACKNOWLEDGED}{title}");
            Ok(())
        });
    }

    fn save(&mut self) {
        self.attempt(|clone| {
            let repository = GitRepository::open(&clone.git_dir)?;
            clone.replica.checkpoint(&repository)?;
            println!("{SAVED}");
            Ok(())
        });
    }

    fn sync(&mut self) {
        self.attempt(|clone| {
            clone.try_sync(|_| {})?;
            println!("{PUSHED}");
            Ok(())
        });
    }

    fn pack(&mut self) {
        self.attempt(|clone| GitRepository::open(&clone.git_dir)?.pack_loose_history().map(|_| ()));
    }
}

fn try_open(root: &Path) -> Result<Clone, Error> {
    Clone::try_open(&root.join("ann/.git"), "ann", Transport::Native)
}
