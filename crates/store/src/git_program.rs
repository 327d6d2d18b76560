//! The transport that runs the user's `git`: their ssh configuration, credential helpers and proxies just work, and
//! what is sent is a delta.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use git2::Oid;

use crate::child::{Output, Unfinished, finish};
use crate::deadline::Deadline;
use crate::git::GitRepository;
use crate::remote::{Pushed, Remote};
use crate::repository::{CommitId, REF};
use crate::url::web_host;
use crate::{Error, Result, credentials};

/// Whether `git` was there when it was last run: a daemon need not ask for its version before every sync.
static WAS_THERE: AtomicBool = AtomicBool::new(false);

/// What git says when it finds no ssh to run, by itself or through a shell.
const NO_SSH: [&str; 3] = ["cannot run ssh", "ssh: not found", "ssh: command not found"];

/// A remote reached through the `git` program.
#[derive(Debug, Clone)]
pub struct GitProgram {
    git_dir: PathBuf,
    remote: String,
    deadline: Deadline,
}

impl GitProgram {
    /// The deadline begins now, and holds for everything that is done with this remote.
    pub fn new(git_dir: &Path, remote: &str, deadline: Duration) -> Self {
        Self { git_dir: git_dir.to_owned(), remote: remote.to_owned(), deadline: Deadline::new(deadline) }
    }

    /// Whether there is a `git` to run.
    pub fn is_installed() -> bool {
        let runs = || {
            let version = Command::new("git").arg("--version").stdin(Stdio::null()).output();
            version.is_ok_and(|output| output.status.success())
        };
        let is_there = WAS_THERE.load(Ordering::Relaxed) || runs();
        WAS_THERE.store(is_there, Ordering::Relaxed);
        is_there
    }

    fn tracking_ref(&self) -> String {
        format!("refs/remotes/{}/beads/store", self.remote)
    }

    fn run(&self, arguments: &[&str]) -> Result<Output> {
        self.run_while(arguments, &mut || ())
    }

    fn run_while(&self, arguments: &[&str], work: &mut dyn FnMut()) -> Result<Output> {
        let failed = |reason: String| Error::Remote { remote: self.remote.clone(), reason };
        let mut command = Command::new("git");
        command
            .arg("--git-dir")
            .arg(&self.git_dir)
            // Nothing of the user's may run because of us, and nothing may start collecting garbage meanwhile.
            .args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(self.token_arguments())
            .args(arguments)
            // Nothing prompts: git asks a program that says nothing, and ssh one that fails, instead of the terminal.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "true")
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("LC_ALL", "C")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What git starts in turn (ssh, helpers) is ended with it when it takes too long.
            .process_group(0);
        let child = command.spawn().map_err(|error| {
            WAS_THERE.store(false, Ordering::Relaxed);
            match error.kind() {
                std::io::ErrorKind::NotFound => self.missing("git"),
                _ => failed(format!("cannot run git: {error}")),
            }
        })?;
        finish(child, self.deadline.left(), work).map_err(|unfinished| match unfinished {
            Unfinished::TooLong => self.deadline.passed(&self.remote),
            Unfinished::Failed(error) => failed(error.to_string()),
        })
    }

    /// The token in the environment as a credential helper, for the remote's own host alone: a redirection must not
    /// carry it elsewhere.
    fn token_arguments(&self) -> Vec<String> {
        let url = || {
            let git = git2::Repository::open(&self.git_dir).ok()?;
            let remote = git.find_remote(&self.remote).ok()?;
            web_host(remote.url().ok()?)
        };
        let Some(host) = credentials::token().and_then(|_| url()) else { return Vec::new() };
        let variable = credentials::TOKEN_VARIABLE;
        let helper = format!("!f() {{ if test \"$1\" = get; then echo \"password=${variable}\"; fi; }}; f");
        [
            // An empty one first: those that the user has configured would be asked before it.
            format!("credential.{host}.helper="),
            format!("credential.{host}.helper={helper}"),
            format!("credential.{host}.username={}", credentials::TOKEN_USER),
        ]
        .into_iter()
        .flat_map(|setting| ["-c".to_owned(), setting])
        .collect()
    }

    /// The remote's tip, without bringing anything.
    fn remote_tip(&self) -> Result<Option<CommitId>> {
        let output = self.run(&["ls-remote", "--quiet", &self.remote, REF])?;
        if !output.success {
            return Err(self.failed(&output));
        }
        // Git matches the end of names: others may have a ref of ours among theirs.
        let ours = |line: &str| {
            line.split_once('\t').filter(|(_, name)| *name == REF).map(|(tip, _)| tip.to_owned())
        };
        Ok(output.stdout.lines().find_map(ours))
    }

    fn missing(&self, program: &'static str) -> Error {
        Error::ProgramMissing { program, remote: self.remote.clone() }
    }

    fn failed(&self, output: &Output) -> Error {
        if NO_SSH.iter().any(|sign| output.stderr.contains(sign)) {
            return self.missing("ssh");
        }
        Error::Remote { remote: self.remote.clone(), reason: last_lines(&output.stderr) }
    }
}

impl Remote for GitProgram {
    fn fetch(&self) -> Result<Option<CommitId>> {
        let Some(tip) = self.remote_tip()? else { return Ok(None) };
        let repository = GitRepository::open(&self.git_dir)?;
        let tracked = || repository.git.refname_to_id(&self.tracking_ref()).ok().map(|oid| oid.to_string());
        let before = tracked();
        if before.as_ref() == Some(&tip) {
            // It was here, or we brought it there: there is nothing to fetch.
            return Ok(Some(tip));
        }
        crate::git::outwait_lock(&self.git_dir, &self.tracking_ref());
        let refspec = format!("+{REF}:{}", self.tracking_ref());
        let output = self.run(&[
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            &self.remote,
            &refspec,
        ])?;
        if !output.success {
            return Err(self.failed(&output));
        }
        let fetched = tracked().unwrap_or(tip);
        // It may become the local ref as it is, and git does not sync the objects of small fetches.
        repository.settle_objects(&fetched, before.as_deref())?;
        Ok(Some(fetched))
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.push_while(expected, new, &mut || ())
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        // An empty expectation means: only if the ref is not there.
        let lease = format!("--force-with-lease={REF}:{}", expected.unwrap_or_default());
        let refspec = format!("{new}:{REF}");
        let arguments = [
            "push",
            "--quiet",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            &lease,
            &self.remote,
            &refspec,
        ];
        let output = self.run_while(&arguments, work)?;
        if output.success {
            let git = &GitRepository::open(&self.git_dir)?.git;
            // Only a note of what we saw; the next fetch makes it again.
            let _ = git.reference(&self.tracking_ref(), Oid::from_str(new)?, true, "bd sync");
            return Ok(Pushed::Done);
        }
        let said = format!("{}\n{}", output.stdout, output.stderr);
        let lost = [
            "stale info",
            "fetch first",
            "non-fast-forward",
            "cannot lock ref",
            "failed to update ref",
            "reference already exists",
        ];
        if lost.iter().any(|sign| said.contains(sign)) {
            return Ok(Pushed::Lost);
        }
        let refused = ["[remote rejected]", "pre-receive hook declined", "ref updates aborted by hook"];
        if refused.iter().any(|sign| said.contains(sign)) {
            return Err(Error::PushRefused { remote: self.remote.clone(), reason: last_lines(&said) });
        }
        Err(self.failed(&output))
    }
}

/// The end of what git said, on one line and without credentials.
fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let tail = &lines[lines.len().saturating_sub(3)..];
    crate::url::redact(&tail.join("; "))
}
