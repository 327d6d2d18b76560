//! The id of the bead that a message or reservation is about. `bb` does not check that the bead exists: `bd`
//! owns beads.

use super::bounds::BEAD_ID_MAX;
use super::error::{Code, Error, Reason, Result};

/// Parses a required bead id. A blank one counts as missing.
pub fn bead_id(given: Option<&str>) -> Result<String> {
    let id = given.unwrap_or_default().trim();
    if id.is_empty() {
        let message = "A bead id is required: every message and reservation is about a bead (--bead).";
        return Err(Error::new(Code::MissingBeadId, message));
    }
    if id.len() > BEAD_ID_MAX || id.contains(char::is_control) {
        let message = format!("A bead id has at most {BEAD_ID_MAX} bytes and no control characters.");
        return Err(Error::invalid(Reason::InvalidBeadId, message));
    }
    Ok(id.to_owned())
}
