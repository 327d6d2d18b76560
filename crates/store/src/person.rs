use std::path::Path;

/// Returns `user.name` of git's configuration: the person behind an actor, for people to read.
pub fn person(git_dir: &Path) -> Option<String> {
    let repository = git2::Repository::open(git_dir).ok()?;
    let config = repository.config().ok()?.snapshot().ok()?;
    config.get_string("user.name").ok().filter(|name| !name.trim().is_empty())
}
