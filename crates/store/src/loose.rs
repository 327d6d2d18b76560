//! Reads loose objects. libgit2 1.9 never returns from one whose compressed data ends too early: it goes on asking for
//! input that does not come. A file cut short by a power loss is exactly that, so loose objects are read here first.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::ZlibDecoder;
use git2::{ObjectType, Oid};

/// The longest word for a kind of object, a length in digits, and what stands between and behind them.
const LONGEST_HEADER: u64 = 32;

/// Memory is laid out for what a header says up to here; beyond, it has to be shown.
const MOST_BELIEVED: usize = 64 << 20;

/// The content of a loose object, checked against its name; `None` when there is no such loose object.
pub fn read(objects: &Path, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>, String> {
    read_vouched(objects, id, kind, |_| false)
}

/// The same, where something better than a SHA-1 may vouch for the content. If it does not, the name decides.
pub fn read_vouched(
    objects: &Path,
    id: Oid,
    kind: ObjectType,
    vouched: impl Fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>, String> {
    let name = id.to_string();
    let file = match File::open(objects.join(&name[..2]).join(&name[2..])) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("object {id}: {error}")),
    };
    let broken = |error: io::Error| format!("object {id} is damaged: {error}");
    let damaged = || format!("object {id} is damaged: it is not what its name says");
    let mut object = BufReader::new(ZlibDecoder::new(file));
    let mut header = Vec::new();
    object.by_ref().take(LONGEST_HEADER).read_until(0, &mut header).map_err(broken)?;
    let length = length_in(&header, kind).ok_or_else(damaged)?;
    let mut content = Vec::with_capacity(length.min(MOST_BELIEVED));
    // One byte more than it says shows whether there is more, and whether the end is whole.
    object.take((length as u64).saturating_add(1)).read_to_end(&mut content).map_err(broken)?;
    if content.len() != length {
        return Err(damaged());
    }
    if !vouched(&content) {
        let hash = Oid::hash_object(kind, &content).map_err(|error| error.message().to_owned())?;
        if hash != id {
            return Err(damaged());
        }
    }
    Ok(Some(content))
}

/// How long the content is, if the header is one of this kind and written as git writes it.
fn length_in(header: &[u8], kind: ObjectType) -> Option<usize> {
    let length: usize = str::from_utf8(header).ok()?.strip_suffix('\0')?.rsplit(' ').next()?.parse().ok()?;
    (header == format!("{} {length}\0", kind.str()).as_bytes()).then_some(length)
}
