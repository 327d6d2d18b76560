//! The URLs of a remote, by one rule for both transports: fetch from its first `url`, push to its first
//! `pushurl` if it has any. Both must lead to the same repository; if not, a push cannot be seen afterwards.

use std::path::PathBuf;

use crate::{Error, Result};

/// The URLs of a remote as configured, before `url.*.insteadOf`, and related settings.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) fetch: String,
    pub(crate) push: String,
    /// The programs on the server, if they have non-standard names.
    pub(crate) upload_pack: Option<String>,
    pub(crate) receive_pack: Option<String>,
    pub(crate) proxy: Option<String>,
    /// Where relative paths start: the work tree, or the git directory of a bare repository, as for git.
    pub(crate) base: PathBuf,
}

/// Returns whether a remote has a URL that is not UTF-8, so it cannot be shown or passed on.
fn is_not_text(config: &git2::Config, remote: &str) -> bool {
    let Ok(mut values) = config.multivar(&format!("remote.{remote}.url"), None) else { return false };
    let mut found = false;
    while let Some(Ok(entry)) = values.next() {
        found |= entry.value().is_err() && !entry.value_bytes().is_empty();
    }
    found
}

impl Address {
    pub(crate) fn of(git: &git2::Repository, remote: &str) -> Result<Self> {
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
                let reason = "its URL is not UTF-8; set one that is, such as a path relative to the work tree, \
                              with: git remote set-url";
                let reason = format!("{reason} {remote} PATH");
                return Err(Error::Remote { remote: remote.to_owned(), reason });
            }
            let reason = format!("it has no URL; add one with: git remote add {remote} URL");
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

    /// Returns a hint to append to a reason if pushes go to another URL than fetches.
    pub(crate) fn hint(&self) -> String {
        if self.fetch == self.push {
            return String::new();
        }
        let (fetch, push) = (crate::url::redact(&self.fetch), crate::url::redact(&self.push));
        format!(
            "; this remote is fetched from {fetch} and pushed to {push}, which must be the same repository: \
             choose another remote with: bd config set sync.remote NAME"
        )
    }
}
