//! Reads loose objects. libgit2 1.9 never returns from one whose compressed data ends too early: it goes on asking for
//! input that does not come. A file cut short by a power loss is exactly that, so loose objects are read here first.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::ZlibDecoder;
use git2::{ObjectType, Oid};

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
    let mut object = Vec::new();
    ZlibDecoder::new(BufReader::new(file))
        .read_to_end(&mut object)
        .map_err(|error| format!("object {id} is damaged: {error}"))?;
    let damaged = || format!("object {id} is damaged: it is not what its name says");
    let end = object.iter().position(|byte| *byte == 0).ok_or_else(damaged)?;
    let content = object.split_off(end + 1);
    let due = format!("{} {}\0", kind.str(), content.len());
    if object != due.as_bytes() {
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
