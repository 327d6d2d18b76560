//! Parses a past state: a commit or a time.

use beads_engine::request::Moment;

use super::filter;

/// Shorter abbreviations could be mistaken for an age.
const SHORTEST_REVISION: usize = 7;

/// Parses at least seven hexadecimal digits of a commit, or a time as in the filters.
pub fn moment(text: &str) -> Result<Moment, String> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() >= SHORTEST_REVISION && text.bytes().all(is_hex) {
        return Ok(Moment::Revision(text.to_owned()));
    }
    filter::time(text).map(Moment::Time).map_err(|reason| {
        format!("{reason}, nor {SHORTEST_REVISION} or more digits of a commit of beads/store")
    })
}
