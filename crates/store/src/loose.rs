//! Reads loose objects. libgit2 1.9 never returns from one whose compressed data ends too early: it goes on asking for
//! input that does not come. A file cut short by a power loss is exactly that, so loose objects are read here first.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use beads_core::limits::{MAX_DECODED_LINE_BYTES, MAX_FILE_BYTES, MAX_OBJECT_BYTES};
use flate2::read::ZlibDecoder;
use git2::{ObjectType, Oid};
use memchr::{memchr_iter, memrchr};

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
    let Some((length, object)) = open(objects, id, kind)? else { return Ok(None) };
    let broken = |error: io::Error| format!("object {id} is damaged: {error}");
    let damaged = || format!("object {id} is damaged: it is not what its name says");
    check_length(length, kind)?;
    // One byte more than it says shows whether there is more, and whether the end is whole.
    let object = object.take((length as u64).saturating_add(1));
    let mut content = Vec::with_capacity(length.min(MOST_BELIEVED));
    inflate(object, &mut content, kind).map_err(broken)?;
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

/// How long a loose object says that it is; `None` when there is no such loose object.
pub fn length(objects: &Path, id: Oid, kind: ObjectType) -> Result<Option<usize>, String> {
    Ok(open(objects, id, kind)?.map(|(length, _)| length))
}

type Inflating = BufReader<ZlibDecoder<File>>;

/// Opens a loose object and reads its header.
fn open(objects: &Path, id: Oid, kind: ObjectType) -> Result<Option<(usize, Inflating)>, String> {
    let name = id.to_string();
    let file = match File::open(objects.join(&name[..2]).join(&name[2..])) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("object {id}: {error}")),
    };
    let mut object = BufReader::new(ZlibDecoder::new(file));
    let mut header = Vec::new();
    let read = object.by_ref().take(LONGEST_HEADER).read_until(0, &mut header);
    read.map_err(|error| format!("object {id} is damaged: {error}"))?;
    let length = length_in(&header, kind)
        .ok_or_else(|| format!("object {id} is damaged: it is not what its name says"))?;
    Ok(Some((length, object)))
}

/// Refuses an object that is longer than anything this store writes.
pub fn check_length(length: usize, kind: ObjectType) -> Result<(), String> {
    let most = if kind == ObjectType::Blob { MAX_FILE_BYTES } else { MAX_OBJECT_BYTES };
    if length > most { Err(format!("it has {length} bytes, more than {most}")) } else { Ok(()) }
}

/// Refuses a file with a line that is too long to decode.
pub fn check_lines(content: &[u8]) -> Result<(), String> {
    let mut start = 0;
    for end in memchr_iter(b'\n', content).chain([content.len()]) {
        if end - start > MAX_DECODED_LINE_BYTES {
            return Err(too_long());
        }
        start = end + 1;
    }
    Ok(())
}

fn too_long() -> String {
    format!("a line is longer than {MAX_DECODED_LINE_BYTES} bytes")
}

/// Inflates piece by piece, and gives up on a file as soon as one of its lines is too long: a few kilobytes of zeros inflate
/// to gigabytes.
fn inflate(mut object: impl BufRead, content: &mut Vec<u8>, kind: ObjectType) -> io::Result<()> {
    let mut line_start = 0;
    loop {
        let piece = object.fill_buf()?;
        if piece.is_empty() {
            return Ok(());
        }
        if let Some(end) = memrchr(b'\n', piece) {
            line_start = content.len() + end + 1;
        }
        content.extend_from_slice(piece);
        let read = piece.len();
        object.consume(read);
        if kind == ObjectType::Blob && content.len() - line_start.min(content.len()) > MAX_DECODED_LINE_BYTES
        {
            return Err(io::Error::other(too_long()));
        }
    }
}

/// How long the content is, if the header is one of this kind and written as git writes it.
fn length_in(header: &[u8], kind: ObjectType) -> Option<usize> {
    let length: usize = str::from_utf8(header).ok()?.strip_suffix('\0')?.rsplit(' ').next()?.parse().ok()?;
    (header == format!("{} {length}\0", kind.str()).as_bytes()).then_some(length)
}
