//! The transport that runs the user's `git`, so that their ssh configuration, credential helpers and proxies
//! apply, and only deltas are sent.

mod claims;
mod http_trace;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use git2::Oid;

use crate::address::Address;
use crate::child::{Output, Unfinished, wait_with_deadline};
use crate::deadline::Deadline;
use crate::environment::withhold_git_variables;
use crate::git::GitRepository;
use crate::progress::{SYNC, is_progress};
use crate::remote::{Pushed, Remote};
use crate::repository::{Branch, CONFLICTING_BRANCH, CommitId};
use crate::url::{local_path, web_host};
use crate::{Error, Result, credentials};

/// Whether `git` was found when it was last run, so that a daemon need not run `git --version` before each
/// sync.
static GIT_WAS_FOUND: AtomicBool = AtomicBool::new(false);

/// What git prints if it cannot run ssh, directly or through a shell.
const SSH_MISSING_MESSAGES: [&str; 3] = ["cannot run ssh", "ssh: not found", "ssh: command not found"];

/// What git and servers print about a ref that is not where it was expected.
const RACE_MESSAGES: [&str; 6] = [
    "stale info",
    "fetch first",
    "non-fast-forward",
    "cannot lock ref",
    "failed to update ref",
    "reference already exists",
];

/// How often a fetch is repeated because another process moved the tracking ref at the same time: another
/// exchange of this store, or the user's own `git fetch`.
const MOVED_REF_RETRIES: usize = 5;

/// Settings that decide what is fetched and pushed, or have side effects. Settings that decide how a server
/// is reached stay the user's.
const OVERRIDES: [&str; 15] = [
    // No hook of the user may run because of us, and no garbage collection may start.
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.prune=false",
    "fetch.pruneTags=false",
    "fetch.recurseSubmodules=no",
    "fetch.writeCommitGraph=false",
    "submodule.recurse=false",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "push.gpgSign=false",
    // An empty value clears the list.
    "push.pushOption=",
    "push.useForceIfIncludes=false",
    "push.negotiate=false",
    "color.ui=false",
];

/// A remote reached through the `git` program.
#[derive(Debug, Clone)]
pub struct GitProgram {
    git_dir: PathBuf,
    remote: String,
    deadline: Deadline,
    branch: Branch,
}

impl GitProgram {
    /// Returns the remote. The deadline starts now and covers everything done with this value.
    pub fn new(git_dir: &Path, remote: &str, deadline: Duration) -> Self {
        let (git_dir, remote, deadline) = (git_dir.to_owned(), remote.to_owned(), Deadline::new(deadline));
        Self { git_dir, remote, deadline, branch: Branch::Store }
    }

    /// Returns the same remote for the archive.
    fn archive(&self) -> Self {
        Self { branch: Branch::Archive, ..self.clone() }
    }

    /// Returns whether `git` is installed.
    pub fn is_installed() -> bool {
        let runs = || {
            let version = Command::new("git").arg("--version").stdin(Stdio::null()).output();
            version.is_ok_and(|output| output.status.success())
        };
        let is_there = GIT_WAS_FOUND.load(Ordering::Relaxed) || runs();
        GIT_WAS_FOUND.store(is_there, Ordering::Relaxed);
        is_there
    }

    fn tracking_ref(&self) -> String {
        self.branch.tracking_ref(&self.remote)
    }

    fn address(&self) -> Result<Address> {
        Address::of(&GitRepository::open(&self.git_dir)?.git, &self.remote)
    }

    /// Fetches a refspec, and updates no other ref, whatever the user has configured.
    fn fetch_refs(&self, address: &Address, refspec: &str) -> Result<()> {
        let program = named("--upload-pack", address.upload_pack.as_deref());
        let mut arguments = vec![
            "fetch",
            verbosity(),
            "--no-tags",
            "--no-prune",
            "--refmap=",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
        ];
        arguments.extend(program.as_deref());
        arguments.extend(["--", &address.fetch, refspec]);
        let mut output = self.run(address, &arguments)?;
        for _ in 0..MOVED_REF_RETRIES {
            if output.success || !is_moved_ref(&output.stderr) {
                break;
            }
            output = self.run(address, &arguments)?;
        }
        if output.success { Ok(()) } else { Err(self.failed(&output)) }
    }

    /// Pushes exactly these refspecs, and runs no hook of the user.
    fn push_refs(
        &self,
        address: &Address,
        options: &[String],
        refspecs: &[String],
        work: &mut dyn FnMut(),
    ) -> Result<Output> {
        let program = named("--receive-pack", address.receive_pack.as_deref());
        let mut arguments = vec![
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
        ];
        arguments.extend(options.iter().map(String::as_str));
        arguments.extend(program.as_deref());
        arguments.extend(["--", &address.push]);
        arguments.extend(refspecs.iter().map(String::as_str));
        self.run_while(address, &arguments, work)
    }

    fn run(&self, address: &Address, arguments: &[&str]) -> Result<Output> {
        self.run_while(address, arguments, &mut || ())
    }

    fn run_while(&self, address: &Address, arguments: &[&str], work: &mut dyn FnMut()) -> Result<Output> {
        let mut command = git_command(&self.git_dir);
        command
            .current_dir(&address.base)
            .args(address.proxy.iter().flat_map(|proxy| ["-c".to_owned(), format!("http.proxy={proxy}")]))
            .args(self.token_arguments(address))
            .args(arguments);
        if web_host(&address.fetch).or_else(|| web_host(&address.push)).is_some() {
            command.envs(http_trace::TRACE);
        }
        run(command, self.deadline.remaining(), work).map_err(|unfinished| match unfinished {
            Unfinished::Missing => self.missing("git"),
            Unfinished::TimedOut => self.deadline.timeout_error(&self.remote),
            Unfinished::Failed(error) => {
                Error::Remote { remote: self.remote.clone(), reason: format!("cannot run git: {error}") }
            }
        })
    }

    /// Returns options that pass the token in the environment as a credential helper, for the remote's own
    /// host only: a redirect must not carry it elsewhere.
    fn token_arguments(&self, address: &Address) -> Vec<String> {
        let host = || {
            let git = git2::Repository::open(&self.git_dir).ok()?;
            // libgit2 applies `url.*.insteadOf`, as git will.
            let remote = git.remote_anonymous(&address.fetch).ok()?;
            web_host(remote.url().ok()?)
        };
        let Some(host) = credentials::token().and_then(|_| host()) else { return Vec::new() };
        let variable = credentials::TOKEN_VARIABLE;
        let helper = format!("!f() {{ if test \"$1\" = get; then echo \"password=${variable}\"; fi; }}; f");
        [
            // An empty value first: git would ask the user's own helpers before ours.
            format!("credential.{host}.helper="),
            format!("credential.{host}.helper={helper}"),
            format!("credential.{host}.username={}", credentials::TOKEN_USER),
        ]
        .into_iter()
        .flat_map(|setting| ["-c".to_owned(), setting])
        .collect()
    }

    /// Returns the remote's tip without fetching it.
    fn remote_tip(&self, address: &Address) -> Result<Option<CommitId>> {
        let program = named("--upload-pack", address.upload_pack.as_deref());
        let mut arguments = vec!["ls-remote", "--quiet"];
        arguments.extend(program.as_deref());
        arguments.extend(["--", &address.fetch, self.branch.reference(), CONFLICTING_BRANCH]);
        let output = self.run(address, &arguments)?;
        if !output.success {
            return Err(self.failed(&output));
        }
        // Git matches the end of names, so refs of others may match.
        let tip_of = |wanted: &str| {
            let mut lines = output.stdout.lines().filter_map(|line| line.split_once('\t'));
            lines.find(|(_, name)| *name == wanted).map(|(tip, _)| tip.to_owned())
        };
        if tip_of(CONFLICTING_BRANCH).is_some() {
            return Err(Error::RemoteConflictingBranch { remote: self.remote.clone() });
        }
        Ok(tip_of(self.branch.reference()))
    }

    fn missing(&self, program: &'static str) -> Error {
        Error::ProgramMissing { program, remote: self.remote.clone() }
    }

    fn failed(&self, output: &Output) -> Error {
        if SSH_MISSING_MESSAGES.iter().any(|sign| output.stderr.contains(sign)) {
            return self.missing("ssh");
        }
        let (remote, reason) = (self.remote.clone(), last_lines(&output.stderr));
        match http_trace::retry_after(&output.stderr) {
            Some(retry_after) => Error::RateLimited { remote, reason, retry_after },
            None => Error::Remote { remote, reason },
        }
    }

    /// Checks that the remote shows the pushed commit.
    fn confirm(&self, address: &Address, new: &str) -> Result<Pushed> {
        let seen = self.remote_tip(address)?;
        if seen.as_deref() == Some(new) {
            let git = &GitRepository::open(&self.git_dir)?.git;
            // Errors are ignored, because the next fetch updates the tracking ref again.
            let _ = git.reference(&self.tracking_ref(), Oid::from_str(new)?, true, "bd sync");
            return Ok(Pushed::Done);
        }
        let (at, reference) = (seen.as_deref().unwrap_or("nothing"), self.branch.reference());
        Ok(Pushed::Lost(format!("git reported success, but {reference} is at {at} there{}", address.hint())))
    }
}

impl Remote for GitProgram {
    fn name(&self) -> &str {
        &self.remote
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        let address = self.address()?;
        let Some(tip) = self.remote_tip(&address)? else { return Ok(None) };
        let repository = GitRepository::open(&self.git_dir)?;
        let tracked = || repository.git.refname_to_id(&self.tracking_ref()).ok().map(|oid| oid.to_string());
        let before = tracked();
        if before.as_ref() == Some(&tip) && repository.is_complete(&tip) {
            // It was fetched or pushed from here before, so there is nothing to fetch.
            return Ok(Some(tip));
        }
        crate::git::delete_conflicting_tracking_ref(&repository.git, &self.tracking_ref())?;
        crate::git::wait_for_ref_lock(&self.git_dir, &self.tracking_ref());
        if before.as_ref().is_some_and(|before| !repository.is_complete(before))
            && let Ok(mut broken) = repository.git.find_reference(&self.tracking_ref())
        {
            // Git fetches nothing while this ref points at missing objects. The fetch creates it again.
            broken.delete()?;
        }
        let refspec = format!("+{}:{}", self.branch.reference(), self.tracking_ref());
        self.fetch_refs(&address, &refspec)?;
        let fetched = repository.newest_fetched(tip, tracked());
        // The commit may become the local ref as it is, and git does not sync the objects of small fetches.
        repository.sync_objects(&fetched, before.as_deref())?;
        Ok(Some(fetched))
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.push_while(expected, new, &mut || ())
    }

    fn fetch_archive(&self) -> Result<Option<CommitId>> {
        self.archive().fetch()
    }

    fn push_archive(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.archive().push(expected, new)
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        let address = self.address()?;
        // An empty value means that the ref must not exist.
        let reference = self.branch.reference();
        let lease = format!("--force-with-lease={reference}:{}", expected.unwrap_or_default());
        let options = [verbosity().to_owned(), lease];
        let output = self.push_refs(&address, &options, &[format!("{new}:{reference}")], work)?;
        if output.success {
            let confirmed = self.confirm(&address, new)?;
            if confirmed == Pushed::Done
                && let Some(path) = local_path(&address.push)
                && let Ok(local) = GitRepository::open(&address.base.join(path))
            {
                // Git keeps small pushes as loose objects there, and collects them only after thousands.
                crate::local_remote::pack(&local);
            }
            return Ok(confirmed);
        }
        let printed = format!("{}\n{}", output.stdout, output.stderr);
        if RACE_MESSAGES.iter().any(|sign| printed.contains(sign)) {
            return Ok(Pushed::Lost(format!("{}{}", last_lines(&printed), address.hint())));
        }
        let refused = ["[remote rejected]", "pre-receive hook declined", "ref updates aborted by hook"];
        if refused.iter().any(|sign| printed.contains(sign)) {
            return Err(Error::PushRefused { remote: self.remote.clone(), reason: last_lines(&printed) });
        }
        Err(self.failed(&output))
    }
}

/// Returns a git command that works on this repository and ignores the user's other git environment.
pub(crate) fn git_command(git_dir: &Path) -> Command {
    let mut command = Command::new("git");
    withhold_git_variables(&mut command)
        .arg("--git-dir")
        .arg(git_dir)
        .args(OVERRIDES.iter().flat_map(|setting| ["-c", setting]))
        // Nothing prompts: instead of the terminal, git asks a program that prints nothing, and ssh one that
        // fails.
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "true")
        .env("SSH_ASKPASS", "false")
        .env("SSH_ASKPASS_REQUIRE", "force")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Processes that git starts (ssh, helpers) are killed with it at the deadline.
        .process_group(0);
    command
}

/// Runs a command until its deadline, and calls `work` meanwhile.
pub(crate) fn run(
    mut command: Command,
    deadline: Duration,
    work: &mut dyn FnMut(),
) -> Result<Output, Unfinished> {
    let child = command.spawn().map_err(|error| {
        GIT_WAS_FOUND.store(false, Ordering::Relaxed);
        match error.kind() {
            std::io::ErrorKind::NotFound => Unfinished::Missing,
            _ => Unfinished::Failed(error),
        }
    })?;
    wait_with_deadline(child, deadline, work)
}

/// Returns whether git could not update a local ref because another process moved it at the same time.
fn is_moved_ref(stderr: &str) -> bool {
    let moved = |line: &str| line.contains("but expected") || line.contains("reference already exists");
    stderr.lines().any(|line| line.contains("cannot lock ref") && moved(line))
}

/// Returns the option that makes git report its progress while a client watches, and nothing otherwise.
fn verbosity() -> &'static str {
    if SYNC.is_watched() { "--progress" } else { "--quiet" }
}

fn named(option: &str, program: Option<&str>) -> Option<String> {
    program.map(|program| format!("{option}={program}"))
}

/// Returns git's reason on one line and without credentials: its errors and what ssh or the server said about them
/// if there are any, else its last lines.
fn last_lines(text: &str) -> String {
    let noise = ["To ", "Done", "hint:", "error: failed to push some refs"];
    let is_noise = |line: &str| noise.iter().any(|start| line.starts_with(start)) || is_progress(line);
    let is_relevant = |line: &&str| !line.is_empty() && !is_noise(line) && !http_trace::is_trace(line);
    let lines: Vec<_> = text.split(['\r', '\n']).map(str::trim).filter(is_relevant).collect();
    let is_error = |line: &&str| ["error:", "fatal:", "rejected"].iter().any(|sign| line.contains(sign));
    // Git's own error is often only that it could not read; the line before it, of another program, tells why.
    let before =
        lines.iter().position(|line| line.starts_with("fatal:")).map_or(&[][..], |end| &lines[..end]);
    let cause = before.iter().rposition(|line| may_tell_cause(line));
    let is_reason =
        |&(index, line): &(usize, &str)| is_error(&line) || line.starts_with("ssh:") || Some(index) == cause;
    let reasons: Vec<_> = lines.iter().copied().enumerate().filter(is_reason).map(|(_, line)| line).collect();
    let lines = if reasons.is_empty() { lines } else { reasons };
    let tail = &lines[lines.len().saturating_sub(3)..];
    crate::url::redact(&tail.join("; "))
}

/// Returns whether a line may tell why git failed: it is neither a frame that a server draws nor a warning.
fn may_tell_cause(line: &str) -> bool {
    let said = line.strip_prefix("remote:").unwrap_or(line);
    said.chars().any(char::is_alphanumeric) && !said.trim_start().to_ascii_lowercase().starts_with("warning:")
}

#[cfg(test)]
mod tests {
    use super::{is_moved_ref, last_lines};

    /// Regression: only the line of git was shown, which is the same for all of these.
    #[test]
    fn the_reason_includes_what_ssh_or_the_server_said() {
        const GIT: &str = "fatal: Could not read from remote repository.";
        const ADVICE: &str =
            "\n\nPlease make sure you have the correct access rights\nand the repository exists.\n";
        for (said, cause) in [
            (
                "ssh: Could not resolve hostname nope.example: Name or service not known\r\n",
                "ssh: Could not resolve hostname nope.example: Name or service not known; ",
            ),
            (
                "Warning: Permanently added 'host' (ED25519) to the list of known hosts.\n\
                 git@host: Permission denied (publickey).\n",
                "git@host: Permission denied (publickey).; ",
            ),
            ("Host key verification failed.\n\n", "Host key verification failed.; "),
            ("ERROR: Repository not found.\n", "ERROR: Repository not found.; "),
            (
                "remote: \nremote: ==========\nremote: ERROR: The project could not be found.\nremote: ==========\n\
                 remote: \n",
                "remote: ERROR: The project could not be found.; ",
            ),
            (
                "ssh: connect to host jump port 22: Connection refused\nConnection closed by UNKNOWN port 65535\n",
                "ssh: connect to host jump port 22: Connection refused; Connection closed by UNKNOWN port 65535; ",
            ),
            ("warning: redirecting to ssh://host/x.git/\n", ""),
            ("", ""),
        ] {
            assert_eq!(last_lines(&format!("{said}{GIT}{ADVICE}")), format!("{cause}{GIT}"));
        }
        let many = format!("remote: a\nerror: b\nerror: c\nerror: d\n{GIT}{ADVICE}");
        assert_eq!(last_lines(&many), format!("error: c; error: d; {GIT}"), "at most three lines");
        let url = format!("ssh: cannot reach ssh://ann:secret@host/x.git\n{GIT}");
        assert!(!last_lines(&url).contains("secret"));
        assert_eq!(last_lines("one\ntwo\n"), "one; two", "without an error, the last lines");
    }

    /// Regression: a claim failed with a network error because the daemon's own exchange moved the tracking ref.
    #[test]
    fn a_ref_that_moved_meanwhile_is_distinguished_from_a_stale_lock() {
        let moved =
            "error: cannot lock ref 'refs/remotes/origin/beads/store': is at 4b05 but expected d122\n";
        assert!(is_moved_ref(moved));
        assert!(is_moved_ref("error: cannot lock ref 'refs/x': reference already exists"));
        assert!(!is_moved_ref("error: cannot lock ref 'refs/x': Unable to create 'x.lock': File exists."));
        assert!(!is_moved_ref("fatal: could not read from remote repository"));
    }
}
