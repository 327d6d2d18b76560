//! Resolves paths below a directory in which a cloned repository may have placed symbolic links.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Resolves the symbolic links of a path below `root`, and rejects a path that leads out of `root`.
/// Components that do not exist yet are kept as they are.
pub fn confined(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let resolved = resolve(path)?;
    if resolved.starts_with(root.canonicalize()?) {
        return Ok(resolved);
    }
    let message = format!("it leads to {}, outside {}", resolved.display(), root.display());
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

/// Removes `.` and `..` from a path without looking at the file system.
pub fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}

fn resolve(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        resolved => return resolved,
    }
    // Creating a file through a dangling link would create it at the link's target.
    if path.is_symlink() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a dangling symbolic link"));
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(resolve(parent)?.join(name)),
        _ => Err(ErrorKind::NotFound.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_inside_are_followed_and_links_out_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("CLAUDE.md"), "").unwrap();
        symlink("CLAUDE.md", root.join("AGENTS.md")).unwrap();
        symlink(dir.path(), root.join("out")).unwrap();
        symlink("../elsewhere", root.join("dangling")).unwrap();
        let inside = |name: &str| confined(&root, &root.join(name));
        assert_eq!(inside("AGENTS.md").unwrap(), root.join("CLAUDE.md"));
        assert_eq!(inside("sub/new/file").unwrap(), root.join("sub/new/file"));
        for name in ["out/file", "out/new/file", "dangling", "sub/../../file"] {
            assert!(inside(name).is_err(), "{name}");
        }
    }
}
