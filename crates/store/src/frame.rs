//! Frames: the unit in which the journal is written and synced.
//!
//! ```text
//! magic "\xffbdj" | length u32 | number u64 | crc32c u32 | payload
//! ```
//!
//! Numbers are little-endian. The checksum covers length, number and payload. A frame holds everything that
//! one sync made durable, so nothing is ever written after an incomplete frame. That distinguishes a torn
//! tail (a bad frame with nothing after it) from damage (a bad frame with a good one after it). The magic
//! starts with a byte that never occurs in a payload, which is UTF-8.

/// The first bytes of a frame.
pub const MAGIC: [u8; 4] = *b"\xffbdj";
/// The size of everything before the payload.
pub const HEADER_BYTES: usize = 20;

/// The size limit of a payload. Anything larger is a bug or a hostile file.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 256 * 1024 * 1024;

/// Encodes a frame.
pub fn encode(number: u64, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a batch is bounded far below 4 GiB");
    let mut frame = Vec::with_capacity(HEADER_BYTES + payload.len());
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&number.to_le_bytes());
    frame.extend_from_slice(&checksum(length, number, payload).to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn checksum(length: u32, number: u64, payload: &[u8]) -> u32 {
    let head = crc32c::crc32c(&length.to_le_bytes());
    let head = crc32c::crc32c_append(head, &number.to_le_bytes());
    crc32c::crc32c_append(head, payload)
}

/// What is at an offset of a segment.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A complete frame.
    Frame {
        /// Its number in the segment, from 0.
        number: u64,
        /// Its content.
        payload: &'a [u8],
        /// The offset after it.
        end: usize,
    },
    /// Zeros to the end of the segment: nothing was written here yet.
    End,
    /// Something that is not a frame.
    Bad {
        /// The offset of the first good frame after it, if there is one.
        good_later: Option<usize>,
    },
}

/// Returns what is at an offset of a segment.
pub fn find(segment: &[u8], offset: usize) -> Found<'_> {
    if let Some((number, payload, end)) = parse(segment, offset) {
        return Found::Frame { number, payload, end };
    }
    let rest = &segment[offset..];
    if rest.iter().all(|byte| *byte == 0) {
        return Found::End;
    }
    let candidates = rest.windows(MAGIC.len()).enumerate().filter(|(_, window)| *window == MAGIC);
    let good_later = candidates
        .map(|(index, _)| offset + index)
        .filter(|at| *at > offset)
        .find(|at| parse(segment, *at).is_some());
    Found::Bad { good_later }
}

fn parse(segment: &[u8], offset: usize) -> Option<(u64, &[u8], usize)> {
    let header = segment.get(offset..offset + HEADER_BYTES)?;
    if header[..4] != MAGIC {
        return None;
    }
    let length = u32::from_le_bytes(header[4..8].try_into().ok()?);
    let number = u64::from_le_bytes(header[8..16].try_into().ok()?);
    let crc = u32::from_le_bytes(header[16..20].try_into().ok()?);
    let size = usize::try_from(length).ok().filter(|size| *size <= MAX_PAYLOAD_BYTES)?;
    let start = offset + HEADER_BYTES;
    let payload = segment.get(start..start + size)?;
    (checksum(length, number, payload) == crc).then_some((number, payload, start + size))
}
