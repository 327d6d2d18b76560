//! The name of the user.
use std::path::Path;

/// Returns `user.name` from git's configuration: the person behind an actor, for display.
pub fn git_user_name(git_dir: &Path) -> Option<String> {
    let repository = git2::Repository::open(git_dir).ok()?;
    let config = repository.config().ok()?.snapshot().ok()?;
    config.get_string("user.name").ok().filter(|name| !name.trim().is_empty())
}
