//! The rescue file: the whole state of a store whose repository was replaced while its daemon ran. It
//! consists of frames, as the journal does: a header, then the files of a snapshot in pieces.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use beads_core::canonical::hex;
use beads_core::snapshot::{CONFLICTS, DEPS, META, STATE, TOMBSTONES};
use beads_core::{Snapshot, State};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checkpoint::Checkpoint;
use crate::disk::sync_directory;
use crate::frame::{self, Found};
use crate::regular_file::open_regular;
use crate::repository::{CommitId, Repository};
use crate::{Error, Result};

const VERSION: u32 = 1;

/// The size of the pieces of a snapshot's files, well below the limit of a frame.
const PIECE_BYTES: usize = 64 * 1024 * 1024;

/// The payload of the last frame. A file that was truncated between two frames lacks it.
const END: &[u8] = b"end";

/// How much of a file is read to find its header.
const MAX_HEADER_BYTES: u64 = 64 * 1024;

/// The origin of a rescued state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RescueHeader {
    /// The version of the file format.
    pub version: u32,
    /// The path of the git directory.
    pub git_dir: String,
    /// When the file was written, in milliseconds since 1970.
    pub at_ms: u64,
    /// The position of the last mutation in the state.
    pub position: u64,
    /// The position of the last mutation that the remote has.
    pub pushed_position: u64,
    /// The last commit that the state was saved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<CommitId>,
    /// SHA-256 of the remote's URL, which may itself contain a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

impl RescueHeader {
    /// Returns how many mutations exist nowhere else.
    pub fn unsaved(&self) -> u64 {
        self.position.saturating_sub(self.pushed_position)
    }

    /// Reads only the header of a rescue file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut start = Vec::new();
        open_regular(path)?.take(MAX_HEADER_BYTES).read_to_end(&mut start)?;
        match frame::find(&start, 0) {
            Found::Frame { number: 0, payload, .. } => {
                serde_json::from_slice(payload).map_err(io::Error::other)
            }
            _ => Err(io::Error::other("it does not begin with a header")),
        }
    }
}

/// Returns the SHA-256 of a remote's URL, which shows whether two clones belong together.
pub fn remote_fingerprint(git_dir: &Path, remote: &str) -> Option<String> {
    let repository = crate::GitRepository::open(git_dir).ok()?;
    let remote = repository.git.find_remote(remote).ok()?;
    Some(hex(&Sha256::digest(remote.url_bytes())))
}

/// A rescued state.
#[derive(Debug)]
pub struct Rescue {
    /// Where the state comes from.
    pub header: RescueHeader,
    /// The whole state of the store.
    pub state: State,
}

impl Rescue {
    /// Writes a new file that only its owner can read, durably.
    pub fn write(path: &Path, header: &RescueHeader, state: &State) -> io::Result<()> {
        let header = RescueHeader { version: VERSION, ..header.clone() };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&frame::encode(0, &serde_json::to_vec(&header)?))?;
        let mut number = 1;
        for (name, bytes) in state.encode().files() {
            // An empty file has one empty piece.
            let pieces = bytes.chunks(PIECE_BYTES).chain(bytes.is_empty().then_some(&[][..]));
            for piece in pieces {
                file.write_all(&frame::encode(number, &[name.as_bytes(), b"\n", piece].concat()))?;
                number += 1;
            }
        }
        file.write_all(&frame::encode(number, END))?;
        file.sync_all()?;
        path.parent().map_or(Ok(()), sync_directory)
    }

    /// Reads a file back, and verifies the checksums of its frames and of the snapshot.
    pub fn read(path: &Path) -> Result<Self> {
        let io = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let damaged = |offset, reason: &str| {
            let (file, reason) = (path.display().to_string(), reason.to_owned());
            Error::JournalDamaged { file, offset, reason }
        };
        let header = RescueHeader::read(path).map_err(io)?;
        if header.version != VERSION {
            return Err(damaged(0, &format!("version {}: upgrade bd", header.version)));
        }
        let mut bytes = Vec::new();
        open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io)?;
        let empty = Vec::new;
        let mut snapshot = Snapshot {
            state: empty(),
            tombstones: empty(),
            deps: empty(),
            meta: empty(),
            conflicts: empty(),
        };
        let (mut offset, mut due, mut is_whole) = (0, 0, false);
        while let Found::Frame { number, payload, end } = frame::find(&bytes, offset) {
            if number != due {
                return Err(damaged(offset, &format!("frame {number} where {due} should be")));
            }
            is_whole = payload == END;
            if number > 0 && !is_whole {
                let line = payload.iter().position(|byte| *byte == b'\n');
                let (name, piece) = payload.split_at(line.unwrap_or(payload.len()));
                let file = file_of(&mut snapshot, name).ok_or_else(|| damaged(offset, "an unknown file"))?;
                file.extend_from_slice(piece.get(1..).unwrap_or_default());
            }
            (offset, due) = (end, due + 1);
        }
        if offset != bytes.len() || !is_whole {
            return Err(damaged(offset, "a bad frame, or the file ends too early"));
        }
        Ok(Self { header, state: snapshot.decode()?.state })
    }

    /// Returns whether the state belongs to a store that holds `known`: it was saved to a commit that is
    /// there, or has a bead in common.
    pub fn shares_history(&self, repository: &impl Repository, known: &State) -> bool {
        self.header.base.as_ref().is_some_and(|base| repository.snapshot(base).is_ok())
            || self.state.beads().keys().any(|lineage| known.beads().contains_key(lineage))
    }
}

fn file_of<'a>(snapshot: &'a mut Snapshot, name: &[u8]) -> Option<&'a mut Vec<u8>> {
    let files = [
        (STATE, &mut snapshot.state),
        (TOMBSTONES, &mut snapshot.tombstones),
        (DEPS, &mut snapshot.deps),
        (META, &mut snapshot.meta),
        (CONFLICTS, &mut snapshot.conflicts),
    ];
    files.into_iter().find(|(known, _)| known.as_bytes() == name).map(|(_, file)| file)
}

impl Checkpoint {
    /// Joins a rescued state, so that it is saved with the checkpoint. Returns how many values lost to
    /// concurrent writes; they are recorded as conflicts.
    pub fn join_rescued(&mut self, repository: &impl Repository, rescue: &Rescue) -> usize {
        self.join(repository, &rescue.state, rescue.header.base.as_deref())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    fn header() -> RescueHeader {
        RescueHeader {
            version: VERSION,
            git_dir: "/work/repo/.git".into(),
            at_ms: 5,
            position: 7,
            pushed_position: 3,
            base: None,
            remote: None,
        }
    }

    #[test]
    fn a_rescue_file_is_read_completely_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.journal");
        Rescue::write(&path, &header(), &State::default()).unwrap();
        assert!(
            Rescue::write(&path, &header(), &State::default()).is_err(),
            "an existing file is never overwritten"
        );
        let read = Rescue::read(&path).unwrap();
        assert_eq!((read.header.unsaved(), read.header), (4, header()));
        assert!(read.state == State::default());
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(Rescue::read(&path).is_err(), "cut at {length}");
        }
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 0x20;
            std::fs::write(&path, &broken).unwrap();
            assert!(Rescue::read(&path).is_err(), "broken at {at}");
        }
    }
}
