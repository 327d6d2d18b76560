//! The encoding of replies on the socket: a header line, followed by standard output verbatim. Older clients
//! get standard output in the header, as a JSON string.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;

use crate::request::Reply;
use crate::streamed_body::{CHUNK_BYTES, StreamedBody};
use crate::version_numbers::version_numbers;

/// The first version of clients that expect standard output after the header.
const RAW_SINCE: [u64; 2] = [0, 10];

/// The version of the socket protocol. It grows only when a client of an earlier version would no longer be served.
pub const PROTOCOL_VERSION: u64 = 1;

/// What was added to the protocol over time, for clients that talk to older daemons.
pub const FEATURES: &[&str] = &[
    "archive",
    "atomic",
    "body",
    "call",
    "claim_over",
    "claim_refs",
    "events",
    "request_files",
    "sessions",
    "wait",
];

/// Returns whether a client of this version expects standard output after the header.
pub fn expects_body(client: &str) -> bool {
    version_numbers(client).as_slice() >= RAW_SINCE.as_slice()
}

/// Encodes a reply as the header line and the body after it.
pub fn encode(mut reply: Reply, with_body: bool) -> serde_json::Result<(Vec<u8>, Vec<u8>)> {
    let mut body = Vec::new();
    if with_body && !reply.stdout.is_empty() {
        body = std::mem::take(&mut reply.stdout).into_bytes();
        reply.body = Some(body.len());
    }
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    if body.len() <= CHUNK_BYTES {
        // One write for a short reply.
        line.append(&mut body);
    }
    Ok((line, body))
}

/// Reads a reply. Returns `None` when it is incomplete or cannot be decoded. The end of a long body stays in
/// the socket.
pub fn receive(stream: UnixStream) -> Option<Reply> {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).ok()?;
    if !line.ends_with(b"\n") {
        return None;
    }
    let mut reply: Reply = serde_json::from_slice(&line).ok()?;
    match reply.body.take() {
        None => {}
        Some(bytes) if bytes <= CHUNK_BYTES => {
            let mut body = vec![0; bytes];
            reader.read_exact(&mut body).ok()?;
            reply.stdout = String::from_utf8(body).ok()?;
        }
        Some(bytes) => {
            let arrived = reader.buffer()[..reader.buffer().len().min(bytes)].to_vec();
            let missing = bytes - arrived.len();
            reply.streamed_body = Some(StreamedBody::new(arrived, missing, reader.into_inner()).into());
        }
    }
    Some(reply)
}

/// Decodes a complete reply. Returns `None` when it is incomplete.
pub fn decode(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, body) = bytes.split_at(end + 1);
    let mut reply: Reply = serde_json::from_slice(line).ok()?;
    if let Some(length) = reply.body.take() {
        reply.stdout = String::from_utf8(body.to_vec()).ok().filter(|text| text.len() == length)?;
    }
    Some(reply)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn reply(stdout: &str) -> Reply {
        Reply { position: 7, stdout: stdout.to_owned(), ..Reply::default() }
    }

    /// Sends all but the last `cut` bytes, as a daemon would, and returns what arrives.
    fn sent(reply: Reply, with_body: bool, cut: usize) -> Option<(Reply, String, bool)> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (mut bytes, body) = encode(reply, with_body).unwrap();
        bytes.extend(body);
        bytes.truncate(bytes.len() - cut);
        std::thread::scope(|scope| {
            scope.spawn(move || theirs.write_all(&bytes).unwrap());
            let reply = receive(ours)?;
            let mut printed = reply.stdout.clone().into_bytes();
            let whole = reply.streamed_body.as_ref().is_none_or(|body| body.copy_to(&mut printed).is_ok());
            Some((reply, String::from_utf8(printed).unwrap(), whole))
        })
    }

    #[test]
    fn replies_of_any_length_arrive_in_both_forms() {
        for length in [0, 1, 5_000, CHUNK_BYTES, CHUNK_BYTES + 1, 10 * CHUNK_BYTES + 3] {
            let text = "é\n\"".repeat(length / 4 + 1)[..length / 4 * 4].to_owned();
            for with_body in [true, false] {
                let (received, printed, whole) = sent(reply(&text), with_body, 0).unwrap();
                assert_eq!((received.position, whole), (7, true));
                assert!(printed == text, "{length} bytes, body: {with_body}");
                assert_eq!(received.streamed_body.is_some(), with_body && text.len() > CHUNK_BYTES);
            }
        }
    }

    #[test]
    fn a_body_that_ends_early_is_noticed() {
        assert!(
            sent(reply("short"), true, 1).is_none(),
            "the request is repeated, as if there were no reply"
        );
        let (_, printed, whole) = sent(reply(&"x".repeat(3 * CHUNK_BYTES)), true, 1).unwrap();
        assert_eq!((printed.len(), whole), (3 * CHUNK_BYTES - 1, false));
    }

    #[test]
    fn older_clients_get_standard_output_in_the_header() {
        assert!(expects_body("0.10.0") && expects_body("1.0") && expects_body(env!("CARGO_PKG_VERSION")));
        assert!(!expects_body("0.9.9") && !expects_body("0") && !expects_body("nonsense"));
    }
}
