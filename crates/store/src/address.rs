//! Where a remote is, by one rule for both transports: fetched from its first `url`, pushed to its first `pushurl` if it
//! has any. Both must lead to the same repository, which shows when a push cannot be seen afterwards.

use std::path::PathBuf;

use crate::{Error, Result};

/// The addresses of a remote as they are configured, before `url.*.insteadOf`, and what goes with them.
#[derive(Debug, Clone)]
pub struct Address {
    pub fetch: String,
    pub push: String,
    /// The programs at the other end, when they have other names there.
    pub upload_pack: Option<String>,
    pub receive_pack: Option<String>,
    pub proxy: Option<String>,
    /// Where relative paths start: the work tree, or the git directory of a bare repository, as git has it.
    pub base: PathBuf,
}

/// Whether a remote has an address, but none that can be shown or passed on.
fn is_not_text(config: &git2::Config, remote: &str) -> bool {
    let Ok(mut values) = config.multivar(&format!("remote.{remote}.url"), None) else { return false };
    let mut found = false;
    while let Some(Ok(entry)) = values.next() {
        found |= entry.value().is_err() && !entry.value_bytes().is_empty();
    }
    found
}

impl Address {
    pub fn of(git: &git2::Repository, remote: &str) -> Result<Self> {
        let config = git.config()?;
        let first = |key: &str| -> Option<String> {
            let mut values = config.multivar(&format!("remote.{remote}.{key}"), None).ok()?;
            let mut first = None;
            while let Some(Ok(entry)) = values.next() {
                first =
                    first.or_else(|| entry.value().ok().filter(|value| !value.is_empty()).map(str::to_owned));
            }
            first
        };
        let Some(fetch) = first("url") else {
            if is_not_text(&config, remote) {
                let reason = "its address is not UTF-8 text; give it one that is, such as a path relative to the work \
                              tree, with: git remote set-url";
                let reason = format!("{reason} {remote} PATH");
                return Err(Error::Remote { remote: remote.to_owned(), reason });
            }
            let reason = format!("it has no address; add one with: git remote add {remote} URL");
            return Err(Error::Remote { remote: remote.to_owned(), reason });
        };
        let base = git.workdir().filter(|directory| directory.is_dir()).unwrap_or(git.commondir());
        Ok(Self {
            push: first("pushurl").unwrap_or_else(|| fetch.clone()),
            fetch,
            upload_pack: first("uploadpack"),
            receive_pack: first("receivepack"),
            proxy: first("proxy"),
            base: base.to_owned(),
        })
    }

    /// What to add to a reason when pushes go elsewhere than fetches come from.
    pub fn hint(&self) -> String {
        if self.fetch == self.push {
            return String::new();
        }
        let (fetch, push) = (crate::url::redact(&self.fetch), crate::url::redact(&self.push));
        format!(
            "; this remote is fetched from {fetch} and pushed to {push}, which must be the same repository: \
             choose a remote that is with: bd config set sync.remote NAME"
        )
    }
}
