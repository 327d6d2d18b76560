//! Credentials for libgit2. Each one is tried once; libgit2 asks again after the server refuses one.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use git2::{Cred, CredentialType, RemoteCallbacks};

use crate::credential_helper;
use crate::url::is_own_host;

/// The environment variable with the token for remotes over http.
pub(crate) const TOKEN_VARIABLE: &str = "BD_GIT_TOKEN";
/// The user name for the token, unless the URL has one.
pub(crate) const TOKEN_USER: &str = "x-access-token";

/// The environment variable with a private key to try before the usual ones.
const KEY_VARIABLE: &str = "BD_SSH_KEY";

const DEFAULT_KEYS: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];

/// Returns the token in the environment, if there is one.
pub(crate) fn token() -> Option<String> {
    std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty())
}

enum SshKey {
    Agent,
    File(PathBuf),
}

enum Password {
    Token(String),
    Helpers,
}

/// Returns callbacks that offer the ssh agent, then key files over ssh, and the token in the environment,
/// then git's credential helpers over http. Only the host of `remote` gets them, even if it redirects
/// elsewhere.
pub(crate) fn callbacks<'a>(git: &'a git2::Repository, remote: &str) -> RemoteCallbacks<'a> {
    let remote = remote.to_owned();
    let mut callbacks = RemoteCallbacks::new();
    let mut keys = ssh_keys();
    let mut passwords: VecDeque<Password> =
        token().map(Password::Token).into_iter().chain([Password::Helpers]).collect();
    callbacks.credentials(move |url, user, allowed| {
        let user_name = user.unwrap_or("git");
        if allowed.contains(CredentialType::USERNAME) {
            return Cred::username(user_name);
        }
        if allowed.contains(CredentialType::SSH_KEY) {
            return match keys.pop_front() {
                Some(SshKey::Agent) => Cred::ssh_key_from_agent(user_name),
                Some(SshKey::File(key)) => Cred::ssh_key(user_name, None, &key, None),
                None => Err(git2::Error::from_str("no ssh key was accepted")),
            };
        }
        if allowed.contains(CredentialType::USER_PASS_PLAINTEXT) {
            if !is_own_host(&remote, url) {
                return Err(git2::Error::from_str(
                    "the server redirects to another host, which asks for credentials; none were sent",
                ));
            }
            return match passwords.pop_front() {
                Some(Password::Token(token)) => Cred::userpass_plaintext(user.unwrap_or(TOKEN_USER), &token),
                Some(Password::Helpers) => credential_helper::ask(&git.config()?, url, user),
                None => Err(git2::Error::from_str("no password was accepted")),
            };
        }
        Err(git2::Error::from_str("the server asks for a kind of credentials that bd does not have"))
    });
    callbacks
}

fn ssh_keys() -> VecDeque<SshKey> {
    // libgit2 gives up if the agent's socket is dead, instead of asking for the next key.
    let agent = std::env::var_os("SSH_AUTH_SOCK").is_some_and(|socket| UnixStream::connect(socket).is_ok());
    let named = std::env::var_os(KEY_VARIABLE).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let usual = DEFAULT_KEYS.map(|name| home.join(".ssh").join(name));
    let files = named.into_iter().chain(usual).filter(|key| key.is_file()).map(SshKey::File);
    agent.then_some(SshKey::Agent).into_iter().chain(files).collect()
}

/// Returns the text without credentials in URLs, and without the token in the environment.
pub fn without_secrets(text: &str) -> String {
    let text = crate::url::redact(text);
    match token().filter(|token| !token.is_empty()) {
        Some(token) => text.replace(&token, "***"),
        None => text,
    }
}
