//! Reads loose objects. libgit2 1.9 never returns from one whose compressed data ends too early, because it
//! keeps asking for more input. A power loss can truncate a file like that, so loose objects are read here
//! first.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use beads_core::limits::{MAX_DECODED_LINE_BYTES, MAX_FILE_BYTES, MAX_OBJECT_BYTES};
use flate2::read::ZlibDecoder;
use git2::{ObjectType, Oid};
use memchr::{memchr_iter, memrchr};

/// The longest header: the longest object type, a length in digits, and separators.
const MAX_HEADER_BYTES: u64 = 32;

/// Memory is allocated in advance for the length in the header only up to this size.
const MAX_PREALLOCATION: usize = 64 << 20;

/// Reads a loose object and verifies its hash. Returns `None` if there is no such loose object.
pub(crate) fn read(objects: &Path, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>, String> {
    read_vouched(objects, id, kind, |_| false)
}

/// Like [`read`], but skips the hash if `vouched` accepts the content, for example by a stronger checksum.
pub(crate) fn read_vouched(
    objects: &Path,
    id: Oid,
    kind: ObjectType,
    vouched: impl Fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>, String> {
    let Some((length, object)) = open(objects, id, kind)? else { return Ok(None) };
    let broken = |error: io::Error| format!("object {id} is damaged: {error}");
    let damaged = || format!("object {id} is damaged: its content does not match its name");
    check_length(length, kind)?;
    // Reading one more byte shows whether there is more content, and whether the compressed data is complete.
    let object = object.take((length as u64).saturating_add(1));
    let mut content = Vec::with_capacity(length.min(MAX_PREALLOCATION));
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

/// Returns the length in the header of a loose object, or `None` if there is no such loose object.
pub(crate) fn length(objects: &Path, id: Oid, kind: ObjectType) -> Result<Option<usize>, String> {
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
    let read = object.by_ref().take(MAX_HEADER_BYTES).read_until(0, &mut header);
    read.map_err(|error| format!("object {id} is damaged: {error}"))?;
    let length = length_in(&header, kind)
        .ok_or_else(|| format!("object {id} is damaged: its content does not match its name"))?;
    Ok(Some((length, object)))
}

/// Refuses an object that is longer than anything this store writes.
pub(crate) fn check_length(length: usize, kind: ObjectType) -> Result<(), String> {
    let most = if kind == ObjectType::Blob { MAX_FILE_BYTES } else { MAX_OBJECT_BYTES };
    if length > most { Err(format!("it has {length} bytes, more than {most}")) } else { Ok(()) }
}

/// Refuses a file with a line that is too long to decode.
pub(crate) fn check_lines(content: &[u8]) -> Result<(), String> {
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

/// Inflates piece by piece, and stops as soon as a line of a file is too long: a few kilobytes of zeros
/// inflate to gigabytes.
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

/// Parses the length in a header, if the header has this type and is written as git writes it.
fn length_in(header: &[u8], kind: ObjectType) -> Option<usize> {
    let length: usize = str::from_utf8(header).ok()?.strip_suffix('\0')?.rsplit(' ').next()?.parse().ok()?;
    (header == format!("{} {length}\0", kind.str()).as_bytes()).then_some(length)
}
