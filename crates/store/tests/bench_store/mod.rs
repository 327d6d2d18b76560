//! A store on the real disk with a clock that the test controls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use beads_core::op::{Create, NoteAdd};
use beads_core::{Line, Op};
use beads_store::{Caller, GitRepository, RealDisk, Replica, RequestKey, Result, World};
use tempfile::TempDir;

pub type TestReplica = Replica<RealDisk, BenchWorld>;

/// Clones share the time.
#[derive(Debug, Clone)]
pub struct BenchWorld {
    now_ms: Arc<AtomicU64>,
    rolled: Arc<AtomicU64>,
}

impl BenchWorld {
    pub fn jump(&self, by_ms: i64) {
        let now_ms = self.now_ms.load(Ordering::Relaxed).saturating_add_signed(by_ms);
        self.now_ms.store(now_ms, Ordering::Relaxed);
    }
}

impl World for BenchWorld {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn random(&mut self) -> u64 {
        let rolled = self.rolled.fetch_add(1, Ordering::Relaxed);
        (rolled + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7
    }
}

/// A directory with a bare repository and a journal.
#[derive(Debug, Clone)]
pub struct BenchStore {
    directory: Arc<TempDir>,
    journal: &'static str,
    pub world: BenchWorld,
}

impl BenchStore {
    pub fn new() -> Self {
        let world = BenchWorld {
            now_ms: Arc::new(AtomicU64::new(1_700_000_000_000)),
            rolled: Arc::new(AtomicU64::new(0)),
        };
        let store = Self { directory: Arc::new(tempfile::tempdir().unwrap()), journal: "journal", world };
        store.repository();
        store
    }

    /// Returns the same store with a second journal, as another replica on the same repository.
    pub fn second_journal(&self) -> Self {
        Self { journal: "second", ..self.clone() }
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    pub fn git_dir(&self) -> PathBuf {
        self.root().join("git")
    }

    pub fn journal_dir(&self) -> PathBuf {
        self.root().join(self.journal)
    }

    pub fn repository(&self) -> GitRepository {
        GitRepository::open_or_init_bare(&self.git_dir()).unwrap()
    }

    pub fn git(&self) -> git2::Repository {
        git2::Repository::open_bare(self.git_dir()).unwrap()
    }

    pub fn try_open(&self) -> Result<TestReplica> {
        let repository = GitRepository::open(&self.git_dir())?;
        Replica::open(RealDisk::new(self.journal_dir()), &repository, self.world.clone())
    }

    pub fn open(&self) -> TestReplica {
        self.try_open().unwrap()
    }

    pub fn parents(&self, commit: &str) -> Vec<String> {
        let git = self.git();
        let commit = git.find_commit(commit.parse().unwrap()).unwrap();
        commit.parent_ids().map(|id| id.to_string()).collect()
    }

    pub fn journal_segments(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.journal_dir()) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("journal."));
        names.sort();
        names
    }

    /// Returns every file below the store with its content.
    pub fn listing(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut directories = vec![self.root().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    files.insert(path.clone(), Vec::new());
                    directories.push(path);
                } else {
                    files.insert(path.clone(), std::fs::read(&path).unwrap());
                }
            }
        }
        files
    }
}

pub fn caller() -> Caller {
    Caller { actor: "ann".parse().unwrap(), branch: Line::default(), lease_ms: 3_600_000, request: None }
}

pub fn requested(id: &str, keep_ms: u64) -> Caller {
    let key = RequestKey { id: id.to_owned(), digest: String::new(), keep_ms };
    Caller { request: Some(key), ..caller() }
}

pub fn create(title: &str) -> Op {
    Op::Create(Box::new(Create::titled(title.parse().unwrap())))
}

pub fn note(id: &str, text: &str) -> Op {
    Op::NoteAdd(NoteAdd { id: id.to_owned(), content: text.parse().unwrap(), ..NoteAdd::default() })
}
