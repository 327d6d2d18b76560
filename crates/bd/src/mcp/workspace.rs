//! The name that clients use for this store.

use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;

const MAX_BYTES: usize = 128;

/// A workspace name: `^[A-Za-z0-9][A-Za-z0-9._/-]*$`, at most 128 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace(String);

impl Workspace {
    /// Returns the name from `--workspace` or `BRANCHMIND_WORKSPACE`, else the repository's name.
    pub fn new(chosen: Option<&str>, place: &Place) -> Result<Self, Failure> {
        let from_env = std::env::var("BRANCHMIND_WORKSPACE").ok().filter(|name| !name.is_empty());
        match chosen.map(str::to_owned).or(from_env) {
            Some(name) => check(&name).map(|()| Self(name)),
            None => Ok(Self(named_after(&place.name()))),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks an explicit name, so that a call never reaches another store than its caller intended.
    pub fn expect(&self, name: &str) -> Result<(), Failure> {
        check(name)?;
        if name == self.0 {
            return Ok(());
        }
        let message = format!("this server serves the workspace {}, not {name}", self.0);
        Err(Failure::new(Code::UnknownWorkspace, message))
    }

    pub fn qualified(&self, id: &str) -> String {
        format!("{}:{id}", self.0)
    }
}

fn check(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-');
    let starts = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if starts && name.len() <= MAX_BYTES && name.chars().all(plain) {
        return Ok(());
    }
    Err(Failure::new(
        Code::InvalidName,
        format!(
            "invalid workspace {name:?}: use 1 to {MAX_BYTES} letters, digits and . _ / -, starting with a letter or digit"
        ),
    ))
}

/// Returns the nearest valid name for a directory.
fn named_after(directory: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = directory.chars().map(plain).take(MAX_BYTES).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { "default".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_has_a_workspace_and_invalid_names_are_refused() {
        for (directory, name) in
            [("beads-rs", "beads-rs"), (".dotfiles", "dotfiles"), ("a b", "a-b"), ("é", "default")]
        {
            assert_eq!(named_after(directory), name);
            assert!(check(name).is_ok());
        }
        for bad in ["", ".x", "a b", "a:b", &"x".repeat(129)] {
            assert_eq!(check(bad).unwrap_err().code, Code::InvalidName, "{bad}");
        }
    }
}
