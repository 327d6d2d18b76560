//! Decides whether a push to a directory on this machine needs the git program. It needs it if git would do
//! anything there that libgit2 does not: run a hook, apply a setting, or refuse.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::GitRepository;
use crate::address::Address;
use crate::repository::REF;
use crate::url::local_path;

/// Every hook that git runs in a repository that is pushed to.
const HOOKS: [&str; 6] =
    ["pre-receive", "update", "proc-receive", "reference-transaction", "post-receive", "post-update"];

/// Settings of either repository that only git applies, as a regular expression.
const SETTINGS: &str = "^((receive|transfer|uploadpack|protocol|fsck)\\.|\
                        core\\.(hookspath|sharedrepository|alternaterefs.*|fsync.*)$|\
                        extensions\\.)";

/// Returns whether this variable changes which settings git applies, or what it may connect to.
fn is_decisive(variable: &OsStr) -> bool {
    let name = variable.as_encoded_bytes();
    name.starts_with(b"GIT_CONFIG")
        || [b"GIT_ALLOW_PROTOCOL".as_slice(), b"GIT_PROTOCOL_FROM_USER"].contains(&name)
}

/// Returns whether a remote is a directory on this machine to which libgit2 can push exactly as git would. In
/// case of doubt git decides.
pub(crate) fn is_plain(git_dir: &Path, remote: &str) -> bool {
    !std::env::vars_os().any(|(name, _)| is_decisive(&name)) && plain_directory(git_dir, remote).is_some()
}

fn plain_directory(git_dir: &Path, remote: &str) -> Option<()> {
    let ours = GitRepository::open(git_dir).ok()?;
    let address = Address::of(&ours.git, remote).ok()?;
    if address.fetch != address.push || address.upload_pack.is_some() || address.receive_pack.is_some() {
        return None;
    }
    // libgit2 applies `url.*.insteadOf` and `url.*.pushInsteadOf`.
    let resolved = ours.git.remote_anonymous(&address.fetch).ok()?;
    let path = local_path(resolved.url().ok()?).filter(|_| resolved.pushurl().ok().flatten().is_none())?;
    let theirs = GitRepository::open(&address.base.join(path)).ok()?;
    let is_plain = is_ordinary(&ours) && is_ordinary(&theirs) && !has_hook(&theirs);
    // A branch that is checked out there would be refused.
    let is_free = theirs.git.find_reference("HEAD").ok()?.symbolic_target().ok().flatten() != Some(REF);
    (is_plain && is_free).then_some(())
}

/// Returns whether a repository has its whole history, and no setting that only git applies.
fn is_ordinary(repository: &GitRepository) -> bool {
    let Ok(config) = repository.git.config() else { return false };
    let Ok(entries) = config.entries(Some(SETTINGS)) else { return false };
    let mut is_set = false;
    entries.for_each(|_| is_set = true).is_ok() && !is_set && !repository.git.is_shallow()
}

fn has_hook(repository: &GitRepository) -> bool {
    let hooks = repository.common_dir().join("hooks");
    HOOKS.iter().any(|name| {
        let file = std::fs::metadata(hooks.join(name));
        file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    /// Returns two repositories, the second one the remote of the first.
    fn pair(root: &Path) -> (git2::Repository, git2::Repository) {
        let ours = git2::Repository::init(root.join("ours")).unwrap();
        let theirs = git2::Repository::init_bare(root.join("theirs.git")).unwrap();
        ours.remote("origin", "../theirs.git").unwrap();
        (ours, theirs)
    }

    fn is_plain_pair(ours: &git2::Repository) -> bool {
        plain_directory(ours.path(), "origin").is_some()
    }

    #[test]
    fn a_bare_directory_is_plain_and_a_server_is_not() {
        let root = tempfile::tempdir().unwrap();
        let (ours, theirs) = pair(root.path());
        assert!(is_plain_pair(&ours));
        ours.remote_set_url("origin", &format!("file://{}", theirs.path().display())).unwrap();
        assert!(is_plain_pair(&ours));
        for url in ["https://host/x.git", "ssh://host/x.git", "host:x.git", "/nonexistent/x.git"] {
            ours.remote_set_url("origin", url).unwrap();
            assert!(!is_plain_pair(&ours), "{url}");
        }
    }

    #[test]
    fn every_hook_and_setting_that_only_git_knows_needs_git() {
        let root = tempfile::tempdir().unwrap();
        let (ours, theirs) = pair(root.path());
        for name in HOOKS {
            let hook = theirs.path().join("hooks").join(name);
            std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
            std::fs::write(&hook, "#!/bin/sh\n").unwrap();
            assert!(is_plain_pair(&ours), "{name}: git runs only executable hooks");
            std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
            assert!(!is_plain_pair(&ours), "{name}");
            std::fs::remove_file(&hook).unwrap();
        }
        for setting in [
            "receive.denyNonFastForwards",
            "receive.fsckObjects",
            "transfer.hideRefs",
            "uploadpack.hideRefs",
            "core.hooksPath",
            "core.sharedRepository",
            "protocol.file.allow",
        ] {
            let mut config = theirs.config().unwrap().open_level(git2::ConfigLevel::Local).unwrap();
            config.set_str(setting, "1").unwrap();
            assert!(!is_plain_pair(&ours), "{setting}");
            config.remove(setting).unwrap();
        }
        assert!(is_plain_pair(&ours));
    }

    #[test]
    fn programs_two_addresses_shallow_history_and_a_branch_that_is_checked_out_need_git() {
        let root = tempfile::tempdir().unwrap();
        let (ours, theirs) = pair(root.path());
        let mut config = ours.config().unwrap().open_level(git2::ConfigLevel::Local).unwrap();
        for setting in ["receivepack", "uploadpack", "pushurl"] {
            let setting = format!("remote.origin.{setting}");
            config.set_str(&setting, "/somewhere/else").unwrap();
            assert!(!is_plain_pair(&ours), "{setting}");
            config.remove(&setting).unwrap();
        }
        let shallow = theirs.path().join("shallow");
        std::fs::write(&shallow, format!("{}\n", "1".repeat(40))).unwrap();
        assert!(!is_plain_pair(&ours));
        std::fs::remove_file(&shallow).unwrap();
        assert!(is_plain_pair(&ours));
        theirs.set_head(REF).unwrap();
        assert!(!is_plain_pair(&ours));
    }

    #[test]
    fn variables_that_only_git_reads_need_git() {
        for name in ["GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL", "GIT_ALLOW_PROTOCOL"] {
            assert!(is_decisive(OsStr::new(name)), "{name}");
        }
        assert!(!is_decisive(OsStr::new("GIT_SSH_COMMAND")));
    }
}
