//! The cache of the saved state: a derived file beside the journal that makes opening a store fast.
//!
//! ```text
//! magic | release | commit | length of the body u64 | number of pages u32 | crc32c of each page u32 | crc32c u32 | body
//! ```
//!
//! The file is used only if it names exactly the commit of the sync ref and the running release, and if all
//! its checksums are right. Otherwise the ref is decoded as if there were no file. It may be deleted at any
//! time, and it is written without waiting for the disk: a torn file has a wrong checksum.

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use beads_core::snapshot::META;
use beads_core::{Encoder, State, StateCache};
use git2::{ObjectType, Oid};

use crate::GitRepository;
use crate::regular_file::open_regular;
use crate::replace_file::Replacement;

/// The file in the store's directory, and its name while it is written.
const FILE: &str = "state.cache";
const NEW_FILE: &str = "state.cache.new";

/// The first bytes. The digit changes with the layout of the file or of its body.
const MAGIC: &[u8; 8] = b"\xffbdsta1\n";

/// The release that wrote the file. Lines are decoded later, when an error could not be reported any more, so
/// no other release reads them.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// How much of the body has one checksum.
const PAGE_BYTES: usize = 64 * 1024;

/// The longest file that is read or written.
const MAX_BYTES: u64 = 1 << 30;

/// Returns everything before the body.
fn header(commit: &str, body: &[&[u8]]) -> Vec<u8> {
    let mut header = prefix(commit);
    let length: usize = body.iter().map(|part| part.len()).sum();
    header.extend_from_slice(&(length as u64).to_le_bytes());
    let sums = page_sums(body);
    header.extend_from_slice(&(sums.len() as u32).to_le_bytes());
    sums.iter().for_each(|sum| header.extend_from_slice(&sum.to_le_bytes()));
    header.extend_from_slice(&crc32c::crc32c(&header).to_le_bytes());
    header
}

/// Returns the beginning of a file that this release writes for a commit.
fn prefix(commit: &str) -> Vec<u8> {
    let mut prefix = MAGIC.to_vec();
    for text in [RELEASE, commit] {
        prefix.push(text.len() as u8);
        prefix.extend_from_slice(text.as_bytes());
    }
    prefix
}

fn page_sums(body: &[&[u8]]) -> Vec<u32> {
    let mut sums = Vec::new();
    let (mut sum, mut filled) = (0, 0);
    for part in body {
        let mut rest = *part;
        while !rest.is_empty() {
            let (next, later) = rest.split_at(rest.len().min(PAGE_BYTES - filled));
            (sum, filled, rest) = (crc32c::crc32c_append(sum, next), filled + next.len(), later);
            if filled == PAGE_BYTES {
                sums.push(sum);
                (sum, filled) = (0, 0);
            }
        }
    }
    if filled > 0 {
        sums.push(sum);
    }
    sums
}

/// Returns where the body begins, if the file belongs to `commit` and is intact.
fn find_body(file: &[u8], commit: &str) -> Option<usize> {
    let rest = file.strip_prefix(prefix(commit).as_slice())?;
    let (length, rest) = rest.split_first_chunk()?;
    let (pages, rest) = rest.split_first_chunk()?;
    let sums_bytes = usize::try_from(u32::from_le_bytes(*pages)).ok()?.checked_mul(4)?;
    let (sums, rest) = rest.split_at_checked(sums_bytes)?;
    let (sum, body) = rest.split_first_chunk()?;
    let start = file.len() - body.len();
    let intact = crc32c::crc32c(&file[..start - sum.len()]) == u32::from_le_bytes(*sum)
        && u64::from_le_bytes(*length) == body.len() as u64
        && page_sums(&[body]).iter().flat_map(|sum| sum.to_le_bytes()).eq(sums.iter().copied());
    intact.then_some(start)
}

/// Returns a file with a cached state of `commit`.
pub fn seal_state_cache(commit: &str, cache: &StateCache<'_>) -> Vec<u8> {
    let parts = cache.parts();
    [header(commit, &parts), parts.concat()].concat()
}

/// Returns the state in a file, or `None` if the file is damaged, or belongs to another commit or release.
pub fn open_state_cache(file: Vec<u8>, commit: &str) -> Option<State> {
    let start = find_body(&file, commit)?;
    State::from_cache(file, start)
}

impl GitRepository {
    fn cache_file(&self, name: &str) -> PathBuf {
        self.git.commondir().join("beads").join(name)
    }

    /// Reads the cache of a commit, if there is one and the objects of the commit are still here.
    pub(crate) fn read_state_cache(&self, commit: &str) -> Option<State> {
        let mut file = open_regular(&self.cache_file(FILE)).ok()?;
        let metadata = file.metadata().ok()?;
        let mut bytes = vec![0; prefix(commit).len()];
        file.read_exact(&mut bytes).ok()?;
        if metadata.len() > MAX_BYTES || bytes != prefix(commit) {
            return None;
        }
        if !self.are_objects_untouched(commit, metadata.modified().ok()?) {
            return None;
        }
        bytes.reserve_exact(usize::try_from(metadata.len()).ok()?);
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        open_state_cache(bytes, commit)
    }

    /// Returns whether all objects of a commit exist and are older than the cache. The ref is what counts: if
    /// another program replaced an object, opening must decode it and report what is wrong with it. File times
    /// are coarse, so one of the same time may have been written after the cache.
    fn are_objects_untouched(&self, commit: &str, since: SystemTime) -> bool {
        let (Ok(tree), Ok(objects)) = (self.tree(commit), self.git.odb()) else { return false };
        tree.iter().all(|entry| {
            let name = entry.id().to_string();
            let loose = self.git.commondir().join("objects").join(&name[..2]).join(&name[2..]);
            match fs::metadata(loose) {
                Ok(metadata) => metadata.modified().is_ok_and(|modified| modified < since),
                Err(error) if error.kind() == io::ErrorKind::NotFound => objects.exists(entry.id()),
                Err(_) => false,
            }
        })
    }

    /// Writes the cache of a commit, unless it is there already or the encoder's last state is not that of the
    /// commit. Without the file, opening only takes longer, so errors are ignored.
    pub(crate) fn write_state_cache(&self, commit: &str, encoder: &Encoder) {
        let mut present = vec![0; prefix(commit).len()];
        let current =
            fs::File::open(self.cache_file(FILE)).and_then(|mut file| file.read_exact(&mut present));
        if current.is_ok() && present == prefix(commit) {
            return;
        }
        let Some(cache) = encoder.cache() else { return };
        // meta.json has the checksums of the other files, so it is the same only if all of them are.
        let (Ok(tree), Ok(meta)) = (self.tree(commit), Oid::hash_object(ObjectType::Blob, cache.meta()))
        else {
            return;
        };
        if tree.get_name(META).is_none_or(|entry| entry.id() != meta) {
            return;
        }
        let _ = self.replace_state_cache(commit, &cache);
    }

    fn replace_state_cache(&self, commit: &str, cache: &StateCache<'_>) -> io::Result<()> {
        let parts = cache.parts();
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if bytes as u64 > MAX_BYTES / 2 {
            return Ok(());
        }
        let mut file = Replacement::beside(&self.cache_file(FILE), self.cache_file(NEW_FILE))?;
        file.write_all(&header(commit, &parts))?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.publish()?;
        Ok(())
    }
}
