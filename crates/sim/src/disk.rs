//! A disk that keeps only synced data and tears the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_store::{Disk, DiskFile};

use crate::dice::Dice;
use crate::faults::{Faults, Needs};

/// One directory. Clones share it, like two processes that open the same store.
#[derive(Debug, Clone)]
pub struct SimDisk {
    faults: Faults,
    state: Arc<Mutex<DiskState>>,
}

#[derive(Debug)]
struct DiskState {
    dice: Dice,
    inodes: Vec<Inode>,
    /// The directory as programs see it.
    entries: BTreeMap<String, usize>,
    /// The directory as it would be after a power loss.
    durable_entries: BTreeMap<String, usize>,
}

/// A file as programs see it (`cached`), as it is on stable storage (`durable`), and the changes in between.
#[derive(Debug, Default)]
struct Inode {
    cached: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Debug)]
enum Change {
    Truncate,
    Write { offset: usize, bytes: Vec<u8> },
}

/// What happens to unsynced changes.
#[derive(Debug, Clone, Copy)]
enum Tear {
    AllLost,
    AllKept,
    /// Each page has the content of a random version, independently of the others.
    Pages(usize),
    /// The last change stops at some byte.
    Cut,
}

impl SimDisk {
    /// Returns an empty disk.
    pub fn new(seed: u64, faults: Faults) -> Self {
        let state = DiskState {
            dice: Dice::new(seed),
            inodes: Vec::new(),
            entries: BTreeMap::new(),
            durable_entries: BTreeMap::new(),
        };
        Self { faults, state: Arc::new(Mutex::new(state)) }
    }

    /// Loses power: unsynced data and directory entries are lost, kept or torn.
    pub fn lose_power(&self) {
        self.state().lose_power();
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DiskState {
    fn lose_power(&mut self) {
        let tear = self.roll_tear();
        for inode in &mut self.inodes {
            inode.durable = inode.torn(tear, &mut self.dice);
            inode.cached = inode.durable.clone();
            inode.unsynced.clear();
        }
        let names: BTreeSet<String> =
            self.entries.keys().chain(self.durable_entries.keys()).cloned().collect();
        for name in names {
            let (new, old) = (self.entries.get(&name).copied(), self.durable_entries.get(&name).copied());
            let kept = match tear {
                _ if new == old => new,
                Tear::AllLost => old,
                Tear::AllKept => new,
                _ if self.dice.chance(50) => new,
                _ => old,
            };
            match kept {
                Some(inode) => self.durable_entries.insert(name, inode),
                None => self.durable_entries.remove(&name),
            };
        }
        self.entries = self.durable_entries.clone();
    }

    fn roll_tear(&mut self) -> Tear {
        match self.dice.below(8) {
            0 => Tear::AllLost,
            1 => Tear::AllKept,
            2 => Tear::Pages(16),
            3 | 4 => Tear::Pages(512),
            5 => Tear::Pages(4096),
            _ => Tear::Cut,
        }
    }

    fn inode_of(&self, name: &str) -> io::Result<usize> {
        self.entries
            .get(name)
            .copied()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, name.to_owned()))
    }

    fn create(&mut self, name: &str) -> usize {
        if let Ok(inode) = self.inode_of(name) {
            self.inodes[inode].change(Change::Truncate);
            return inode;
        }
        self.inodes.push(Inode::default());
        let inode = self.inodes.len() - 1;
        self.entries.insert(name.to_owned(), inode);
        inode
    }
}

impl Inode {
    fn change(&mut self, change: Change) {
        apply(&mut self.cached, &change);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            apply(&mut self.durable, &change);
        }
    }

    /// Fails a sync. The cache then treats its pages as clean: programs keep reading data that was never
    /// written, and no later sync writes it.
    fn fail_to_sync(&mut self, tear: Tear, dice: &mut Dice) {
        self.durable = self.torn(tear, dice);
        self.unsynced.clear();
    }

    fn torn(&self, tear: Tear, dice: &mut Dice) -> Vec<u8> {
        let mut versions = vec![self.durable.clone()];
        for change in &self.unsynced {
            let mut next = versions[versions.len() - 1].clone();
            apply(&mut next, change);
            versions.push(next);
        }
        let last = versions.len() - 1;
        match tear {
            _ if last == 0 => self.durable.clone(),
            Tear::AllLost => versions.swap_remove(0),
            Tear::AllKept => versions.swap_remove(last),
            Tear::Pages(size) => mixed(&versions, size, dice),
            Tear::Cut => cut(&versions[last - 1], &versions[last], dice),
        }
    }
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Truncate => content.clear(),
        Change::Write { offset, bytes } => {
            let end = offset + bytes.len();
            content.resize(content.len().max(end), 0);
            content[*offset..end].copy_from_slice(bytes);
        }
    }
}

fn mixed(versions: &[Vec<u8>], page: usize, dice: &mut Dice) -> Vec<u8> {
    let longest = versions.iter().map(Vec::len).max().unwrap_or(0);
    let mut content = vec![0; longest];
    for start in (0..longest).step_by(page) {
        let version = &versions[dice.index(versions.len())];
        let end = (start + page).min(version.len());
        if start < end {
            content[start..end].copy_from_slice(&version[start..end]);
        }
    }
    content.truncate(versions[dice.index(versions.len())].len());
    content
}

/// Returns new bytes up to some position, and old bytes after it. Half of the time the position is within the
/// difference.
fn cut(old: &[u8], new: &[u8], dice: &mut Dice) -> Vec<u8> {
    let differs = |at: &usize| old.get(*at) != new.get(*at);
    let first = (0..new.len()).find(differs).unwrap_or(0);
    let last = (first..new.len()).rev().find(differs).unwrap_or(first);
    let at = if dice.chance(50) { first + dice.index(last - first + 1) } else { dice.index(new.len() + 1) };
    let mut content = new[..at.min(new.len())].to_vec();
    content.extend(old.iter().skip(at));
    content
}

impl Disk for SimDisk {
    type File = SimFile;

    fn names(&self) -> io::Result<Vec<String>> {
        self.faults.inject(Needs::Access)?;
        Ok(self.state().entries.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.faults.inject(Needs::Access)?;
        let state = self.state();
        Ok(state.inodes[state.inode_of(name)?].cached.clone())
    }

    fn create(&self, name: &str) -> io::Result<SimFile> {
        let injected = self.faults.inject(Needs::Space);
        let mut state = self.state();
        // A failed creation may still have happened.
        if let Err(error) = injected {
            if state.dice.chance(50) {
                state.create(name);
            }
            return Err(error);
        }
        Ok(SimFile { disk: self.clone(), inode: state.create(name) })
    }

    fn open(&self, name: &str) -> io::Result<SimFile> {
        self.faults.inject(Needs::Access)?;
        Ok(SimFile { disk: self.clone(), inode: self.state().inode_of(name)? })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let injected = self.faults.inject(Needs::Access);
        let mut state = self.state();
        state.inode_of(name)?;
        if injected.is_ok() || state.dice.chance(50) {
            state.entries.remove(name);
        }
        injected
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.faults.inject(Needs::Access)?;
        let mut state = self.state();
        state.durable_entries = state.entries.clone();
        Ok(())
    }

    fn describe(&self, name: &str) -> String {
        format!("sim/{name}")
    }
}

/// An open file of a [`SimDisk`].
#[derive(Debug)]
pub struct SimFile {
    disk: SimDisk,
    inode: usize,
}

impl DiskFile for SimFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let injected = self.disk.faults.inject(Needs::Space);
        let mut state = self.disk.state();
        let written = if injected.is_ok() { bytes.len() } else { state.dice.index(bytes.len() + 1) };
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let change = Change::Write { offset, bytes: bytes[..written].to_vec() };
        state.inodes[self.inode].change(change);
        injected
    }

    fn sync(&self) -> io::Result<()> {
        let injected = self.disk.faults.inject(Needs::Access);
        let mut state = self.disk.state();
        let DiskState { dice, inodes, .. } = &mut *state;
        match injected {
            Ok(()) => inodes[self.inode].sync(),
            // The power is off: the state of the file is decided when it comes back.
            Err(_) if self.disk.faults.is_powered_off() => {}
            Err(_) => {
                let tear = if dice.chance(50) { Tear::Pages(512) } else { Tear::AllLost };
                inodes[self.inode].fail_to_sync(tear, dice);
            }
        }
        injected
    }
}
