//! Who we are to a server, when the library talks to it. Each way is tried once; the library asks again after a refusal.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use git2::{Cred, CredentialType, RemoteCallbacks};

use crate::credential_helper;
use crate::url::is_own_host;

/// The token for remotes over http, and the user name that goes with it unless the address has one.
pub const TOKEN_VARIABLE: &str = "BD_GIT_TOKEN";
pub const TOKEN_USER: &str = "x-access-token";

/// A private key to try before the usual ones.
const KEY_VARIABLE: &str = "BD_SSH_KEY";

const USUAL_KEYS: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];

/// The token in the environment, if there is one.
pub fn token() -> Option<String> {
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

/// Over ssh the agent, then key files; over http the token in the environment, then git's credential helpers. Only the host of
/// `remote` gets them, wherever it redirects to.
pub fn callbacks<'a>(git: &'a git2::Repository, remote: &str) -> RemoteCallbacks<'a> {
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
                    "the server redirects to another host, which asks for credentials; it gets none",
                ));
            }
            return match passwords.pop_front() {
                Some(Password::Token(token)) => Cred::userpass_plaintext(user.unwrap_or(TOKEN_USER), &token),
                Some(Password::Helpers) => credential_helper::ask(&git.config()?, url, user),
                None => Err(git2::Error::from_str("no password was accepted")),
            };
        }
        Err(git2::Error::from_str("the server asks for credentials of a kind that bd does not have"))
    });
    callbacks
}

fn ssh_keys() -> VecDeque<SshKey> {
    // The library gives up, instead of asking for the next key, when the agent's socket is dead.
    let agent = std::env::var_os("SSH_AUTH_SOCK").is_some_and(|socket| UnixStream::connect(socket).is_ok());
    let named = std::env::var_os(KEY_VARIABLE).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let usual = USUAL_KEYS.map(|name| home.join(".ssh").join(name));
    let files = named.into_iter().chain(usual).filter(|key| key.is_file()).map(SshKey::File);
    agent.then_some(SshKey::Agent).into_iter().chain(files).collect()
}

/// The text without credentials in addresses, and without the token of the environment.
pub fn without_secrets(text: &str) -> String {
    let text = crate::url::redact(text);
    match token().filter(|token| !token.is_empty()) {
        Some(token) => text.replace(&token, "***"),
        None => text,
    }
}
