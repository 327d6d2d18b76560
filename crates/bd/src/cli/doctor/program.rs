//! Whether `bd`, as hooks and MCP configurations call it, is this program.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use beads_engine::daemon;
use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};

/// Reports another program named `bd` that comes first on the path, or none at all.
pub fn check(_: &Examined) -> Vec<Value> {
    let Ok(own) = daemon::program() else { return Vec::new() };
    compare(&own, std::env::var_os("PATH").as_deref()).into_iter().collect()
}

fn compare(own: &Path, path: Option<&OsStr>) -> Option<Value> {
    let (shown, directory) = (own.display(), own.parent().unwrap_or(own).display());
    let Some(first) = first_on_path(path) else {
        return Some(info(
            "not_on_path",
            format!("bd is not on PATH, so hooks and MCP servers cannot start it; add {directory} to PATH"),
        ));
    };
    let is_same = || {
        let (own, first) = (own.metadata().ok()?, first.metadata().ok()?);
        Some((own.dev(), own.ino()) == (first.dev(), first.ino()))
    };
    (is_same() == Some(false)).then(|| {
        warning(
            "another_bd",
            format!(
                "hooks and MCP servers start {}, which is not this program ({shown}); put {directory} first on PATH, or \
                 remove the other one",
                first.display()
            ),
        )
    })
}

fn first_on_path(path: Option<&OsStr>) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path?).map(|directory| directory.join("bd")).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_first_on_the_path_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let program = |name: &str| {
            let path = directory.path().join(name).join("bd");
            std::fs::create_dir(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let (ours, other) = (program("ours"), program("other"));
        let path = |files: &[&PathBuf]| {
            std::env::join_paths(files.iter().map(|file| file.parent().unwrap())).unwrap()
        };
        assert_eq!(compare(&ours, Some(&path(&[&ours, &other]))), None);
        let found = compare(&ours, Some(&path(&[&other, &ours]))).unwrap();
        assert_eq!(found["code"], "another_bd", "{found}");
        assert_eq!(compare(&ours, None).unwrap()["code"], "not_on_path");
    }
}
