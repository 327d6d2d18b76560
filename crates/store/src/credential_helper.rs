//! Git's credential helpers. libgit2 runs those that are given as a path, and leaves those with a bare name
//! to the git program. If git is not installed, the helper's own program is run instead.

use std::io::Write;
use std::process::{Command, Stdio};

use git2::{Config, Cred};

use crate::environment::withhold_git_variables;

/// Asks the helpers that are configured for a URL, in order.
pub(crate) fn ask(config: &Config, url: &str, user: Option<&str>) -> Result<Cred, git2::Error> {
    Cred::credential_helper(config, url, user).or_else(|error| {
        let named = bare_names(config, url);
        named.iter().find_map(|name| ask_program(name, url, user)).ok_or(error)
    })
}

fn bare_names(config: &Config, url: &str) -> Vec<String> {
    let host = crate::url::web_host(url).unwrap_or_default();
    let mut names = Vec::new();
    for key in ["credential.helper".to_owned(), format!("credential.{host}.helper")] {
        let Ok(entries) = config.multivar(&key, None) else { continue };
        let _ = entries.for_each(|entry| names.extend(entry.value().ok().map(str::to_owned)));
    }
    names.retain(|name| !name.is_empty() && !name.starts_with(['/', '!']));
    names
}

fn ask_program(helper: &str, url: &str, user: Option<&str>) -> Option<Cred> {
    let mut arguments = helper.split_whitespace();
    let mut command = Command::new(format!("git-credential-{}", arguments.next()?));
    let mut child = withhold_git_variables(&mut command)
        .args(arguments)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (protocol, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?.rsplit('@').next()?;
    let user_line = user.map(|user| format!("username={user}\n")).unwrap_or_default();
    // A helper may answer without reading its input.
    let _ =
        child.stdin.take()?.write_all(format!("protocol={protocol}\nhost={host}\n{user_line}\n").as_bytes());
    let output = child.wait_with_output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    let value_of = |key: &str| answer.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    Cred::userpass_plaintext(value_of("username").or(user)?, value_of("password")?).ok()
}
