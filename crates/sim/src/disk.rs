//! A disk that keeps only what was synced, and tears the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_store::{Disk, DiskFile};

use crate::dice::Dice;
use crate::faults::{Faults, Needs};

/// One directory. Clones share it, as two openings of the same store do.
#[derive(Debug, Clone)]
pub struct SimDisk {
    faults: Faults,
    platters: Arc<Mutex<Platters>>,
}

#[derive(Debug)]
struct Platters {
    dice: Dice,
    inodes: Vec<Inode>,
    /// The directory as programs see it, and as it would be after a power loss.
    entries: BTreeMap<String, usize>,
    durable_entries: BTreeMap<String, usize>,
}

/// A file as programs see it (`cached`), as it is on stable storage, and what lies between.
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

/// How unsynced changes fare.
#[derive(Debug, Clone, Copy)]
enum Tear {
    AllLost,
    AllKept,
    /// Each page is as some change left it, independently of the others.
    Pages(usize),
    /// The last change stops at some byte.
    Cut,
}

impl SimDisk {
    pub fn new(seed: u64, faults: Faults) -> Self {
        let platters = Platters {
            dice: Dice::new(seed),
            inodes: Vec::new(),
            entries: BTreeMap::new(),
            durable_entries: BTreeMap::new(),
        };
        Self { faults, platters: Arc::new(Mutex::new(platters)) }
    }

    /// The power was off: what was not synced is lost, kept or torn, and so are unsynced directory entries.
    pub fn lose_power(&self) {
        self.platters().lose_power();
    }

    fn platters(&self) -> MutexGuard<'_, Platters> {
        self.platters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platters {
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

    /// After a failed sync the cache takes its pages for clean: programs go on reading what was never written, and
    /// no later sync writes it.
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

/// The bytes up to some place are new and the others old. Half of the time the place is within what differs.
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
        self.faults.strike(Needs::Access)?;
        Ok(self.platters().entries.keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.faults.strike(Needs::Access)?;
        let platters = self.platters();
        Ok(platters.inodes[platters.inode_of(name)?].cached.clone())
    }

    fn create(&self, name: &str) -> io::Result<SimFile> {
        let struck = self.faults.strike(Needs::Space);
        let mut platters = self.platters();
        // A failed creation may have happened all the same.
        if let Err(error) = struck {
            if platters.dice.chance(50) {
                platters.create(name);
            }
            return Err(error);
        }
        Ok(SimFile { disk: self.clone(), inode: platters.create(name) })
    }

    fn open(&self, name: &str) -> io::Result<SimFile> {
        self.faults.strike(Needs::Access)?;
        Ok(SimFile { disk: self.clone(), inode: self.platters().inode_of(name)? })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let struck = self.faults.strike(Needs::Access);
        let mut platters = self.platters();
        platters.inode_of(name)?;
        if struck.is_ok() || platters.dice.chance(50) {
            platters.entries.remove(name);
        }
        struck
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.faults.strike(Needs::Access)?;
        let mut platters = self.platters();
        platters.durable_entries = platters.entries.clone();
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
        let struck = self.disk.faults.strike(Needs::Space);
        let mut platters = self.disk.platters();
        let written = if struck.is_ok() { bytes.len() } else { platters.dice.index(bytes.len() + 1) };
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let change = Change::Write { offset, bytes: bytes[..written].to_vec() };
        platters.inodes[self.inode].change(change);
        struck
    }

    fn sync(&self) -> io::Result<()> {
        let struck = self.disk.faults.strike(Needs::Access);
        let mut platters = self.disk.platters();
        let Platters { dice, inodes, .. } = &mut *platters;
        match struck {
            Ok(()) => inodes[self.inode].sync(),
            // The machine is dark: what becomes of the file is decided when it comes back.
            Err(_) if self.disk.faults.is_dark() => {}
            Err(_) => {
                let tear = if dice.chance(50) { Tear::Pages(512) } else { Tear::AllLost };
                inodes[self.inode].fail_to_sync(tear, dice);
            }
        }
        struck
    }
}
