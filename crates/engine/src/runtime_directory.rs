//! The user's directory for files that are only valid until the next boot: sockets.

use std::path::{Path, PathBuf};

/// Returns the directory from the environment, or a fixed path that belongs to this user.
pub fn runtime_directory() -> PathBuf {
    // Treat an empty variable as unset. As a path it would mean the current directory.
    if let Some(directory) = std::env::var_os("BD_RUNTIME_DIR").filter(|directory| !directory.is_empty()) {
        // The daemon changes its working directory, so a relative path would mean another directory there.
        return std::path::absolute(&directory).unwrap_or_else(|_| directory.into());
    }
    let ours = |parent: &Path| parent.is_absolute() && parent.is_dir();
    if let Some(parent) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|parent| ours(parent))
    {
        return parent.join("beads");
    }
    // macOS gives each user a private temporary directory. Elsewhere the name is unique per user, and `check`
    // verifies the owner and the mode.
    let parent = if cfg!(target_os = "macos") { std::env::temp_dir() } else { PathBuf::from("/tmp") };
    parent.join(format!("beads-{}", rustix::process::getuid().as_raw()))
}
