//! The user's directory for what lives only as long as the machine is up: sockets.

use std::path::{Path, PathBuf};

/// From the environment, or a fixed name that belongs to this user.
pub fn runtime_directory() -> PathBuf {
    // An empty variable is one that is not set: as a path it would name the current directory.
    if let Some(directory) = std::env::var_os("BD_RUNTIME_DIR").filter(|directory| !directory.is_empty()) {
        // The daemon leaves the directory it was started in, so a relative path would mean another place to it.
        return std::path::absolute(&directory).unwrap_or_else(|_| directory.into());
    }
    let ours = |parent: &Path| parent.is_absolute() && parent.is_dir();
    if let Some(parent) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|parent| ours(parent))
    {
        return parent.join("beads");
    }
    // macOS gives each user a temporary directory of its own; elsewhere the name keeps users apart and `check` the rest.
    let parent = if cfg!(target_os = "macos") { std::env::temp_dir() } else { PathBuf::from("/tmp") };
    parent.join(format!("beads-{}", rustix::process::getuid().as_raw()))
}
