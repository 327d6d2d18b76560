//! Files about stores that are kept outside of them, in the user's home directory.

use std::path::PathBuf;

use beads_core::canonical::hex;
use sha2::{Digest, Sha256};

use crate::place::Place;

/// Returns the directory of these files, or `None` without a home directory.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let variable =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    state.map(|state| state.join("beads"))
}

/// Returns the common prefix of the names of all files about a store: its name and a digest of its path.
pub(crate) fn stem(place: &Place) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = place.name().chars().take(60).map(plain).collect();
    let digest = hex(&Sha256::digest(place.git_dir.as_os_str().as_encoded_bytes()));
    format!("{}-{}-", name.trim_start_matches('.'), &digest[..8])
}
