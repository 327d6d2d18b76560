//! Creates a repository with a store of a given size, using the same replica as `bd`.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use beads_core::op::{Close, Create, Delete, DepAdd, NoteAdd};
use beads_core::{Actor, BeadId, EdgeKind, Line, Op, Priority};
use beads_store::{Caller, GitRepository, RealDisk, Replica, StoreLock, World};

use crate::arguments::{Arguments, Result};

/// How many mutations share a sync.
const BATCH: usize = 1_000;

/// The size of a store.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Beads that are not deleted.
    pub live: usize,
    /// All beads, including deleted ones.
    pub total: usize,
    /// Dependencies.
    pub edges: usize,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let directory = Path::new(arguments.required("dir")?);
    let (live, total) = (arguments.or("live", 1_000_usize)?, arguments.or("total", 10_000_usize)?);
    let size = Size { live, total, edges: arguments.or("edges", 10_000_usize)? };
    if live > total || total < 2 {
        return Err("--live must not exceed --total, and --total must be at least 2".into());
    }
    println!("{}: {}", directory.display(), make(directory, size, arguments.or("seed", 1_u64)?)?);
    Ok(())
}

/// Creates the repository and returns a summary of its content.
pub fn make(directory: &Path, size: Size, seed: u64) -> Result<String> {
    let git_dir = git2::Repository::init(directory)?.path().to_owned();
    let store_dir = git_dir.join("beads");
    let _lock = StoreLock::try_take(&store_dir.join("lock"))?.ok_or("the store is in use")?;
    let repository = GitRepository::open(&git_dir)?;
    let world = SeededWorld { random: seed, now_ms: AtomicU64::new(1_750_000_000_000) };
    let replica = Replica::open(RealDisk::new(&store_dir), &repository, world)?;
    if !replica.catalog().state().beads().is_empty() {
        return Err(format!("{} already has beads", directory.display()).into());
    }
    let mut generator = Generator { replica, dice: Dice(seed), ids: Vec::new(), pending: 0 };
    generator.beads(size.total)?;
    generator.edges(size.edges)?;
    generator.delete(size.total - size.live)?;
    generator.replica.commit()?;
    generator.replica.checkpoint(&repository)?;
    let state = generator.replica.catalog();
    let (beads, edges) = (state.state().beads().len(), state.state().edges().len());
    Ok(format!("{} live beads of {beads}, {edges} dependencies", state.live_count()))
}

struct Generator {
    replica: Replica<RealDisk, SeededWorld>,
    dice: Dice,
    ids: Vec<BeadId>,
    pending: usize,
}

impl Generator {
    fn beads(&mut self, count: usize) -> Result<()> {
        for index in 0..count {
            let title = format!("{} the {} ({index})", self.dice.pick(VERBS), self.dice.pick(THINGS));
            let mut create = Create::titled(title.parse()?);
            create.description = self.dice.sentences(4).parse()?;
            create.priority = Priority::try_from(self.dice.below(5) as u64)?;
            create.labels = vec![self.dice.pick(THINGS).parse()?];
            let applied = self.apply(&Op::Create(Box::new(create)))?;
            let lineage = applied.bead.ok_or("a create makes a bead")?;
            let id = self.replica.catalog().id_of(&lineage).clone();
            self.finish(&id)?;
            self.ids.push(id);
        }
        Ok(())
    }

    /// Adds a note to some beads, and closes a third of them.
    fn finish(&mut self, id: &BeadId) -> Result<()> {
        let id = id.to_string();
        if self.dice.below(4) == 0 {
            let content = self.dice.sentences(2).parse()?;
            self.apply(&Op::NoteAdd(NoteAdd { id: id.clone(), content, ..NoteAdd::default() }))?;
        }
        if self.dice.below(3) == 0 {
            self.apply(&Op::Close(Close { id, reason: "done".parse()?, ..Close::default() }))?;
        }
        Ok(())
    }

    /// Adds dependencies of later beads on earlier ones, so that there are no cycles. Most edges are between
    /// beads that stay.
    fn edges(&mut self, count: usize) -> Result<()> {
        let mut made = 0;
        while made < count {
            let to = self.dice.below(self.ids.len() - 1);
            let from = to + 1 + self.dice.below((self.ids.len() - to - 1).min(50));
            let kind = if self.dice.below(5) == 0 { EdgeKind::Related } else { EdgeKind::Blocks };
            let add = DepAdd { from: self.ids[from].to_string(), to: self.ids[to].to_string(), kind };
            // An edge that exists already changes nothing.
            made += usize::from(!self.apply(&Op::DepAdd(add))?.delta.is_empty());
        }
        Ok(())
    }

    /// Deletes the oldest beads, as in a store that has been in use for a long time.
    fn delete(&mut self, count: usize) -> Result<()> {
        for index in 0..count {
            let delete = Delete { id: self.ids[index].to_string(), ..Delete::default() };
            self.apply(&Op::Delete(delete))?;
        }
        Ok(())
    }

    fn apply(&mut self, op: &Op) -> Result<beads_core::Applied> {
        let actor: Actor = format!("agent-{}", self.dice.below(8)).parse()?;
        let caller = Caller { actor, branch: Line::default(), lease_ms: 7_200_000, request: None };
        let applied = self.replica.apply(op, &caller)?;
        self.pending += 1;
        if self.pending >= BATCH {
            self.replica.commit()?;
            self.pending = 0;
        }
        Ok(applied)
    }
}

/// A clock that advances with each reading, and random numbers from a seed: the same arguments create the
/// same store.
struct SeededWorld {
    random: u64,
    now_ms: AtomicU64,
}

impl World for SeededWorld {
    fn now_ms(&self) -> u64 {
        self.now_ms.fetch_add(1_000, Ordering::Relaxed)
    }

    fn random(&mut self) -> u64 {
        let mut dice = Dice(self.random);
        self.random = dice.next();
        self.random
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }

    fn sentences(&mut self, count: usize) -> String {
        let sentence = |dice: &mut Self| format!("{} the {} first.", dice.pick(VERBS), dice.pick(THINGS));
        (0..count).map(|_| sentence(self)).collect::<Vec<_>>().join(" ")
    }
}

const VERBS: &[&str] = &["Check", "Fix", "Measure", "Move", "Rename", "Simplify", "Split", "Test", "Write"];
const THINGS: &[&str] = &["cache", "clock", "index", "journal", "lock", "parser", "queue", "socket", "table"];
