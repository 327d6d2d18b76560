//! Whether the remote can be reached with the credentials at hand, and whether it takes claim refs.

use std::time::Duration;

use beads_core::{CLAIM_REF_PREFIX, CLAIM_REFS};
use beads_engine::config::Config;
use beads_store::{AnyRemote, ClaimRemote, RefChange, Swapped, default_remote};
use serde_json::Value;

use super::Examined;
use super::claim_refs::refused;
use super::finding::{info, warning};

/// The longest that the check waits for the remote.
pub(super) const TIMEOUT: Duration = Duration::from_secs(15);

/// The value of `sync.remote` that means no remote.
const NO_REMOTE: &str = "none";

/// Reports a remote that does not answer, refuses access, or has no store yet.
pub fn check(examined: &Examined) -> Vec<Value> {
    let name = match name(examined) {
        Ok(Some(name)) => name,
        Ok(None) => return vec![no_remote()],
        Err(message) => return vec![warning("remote_unclear", message)],
    };
    if examined.globals.is_sandboxed() {
        return vec![info("remote_not_asked", format!("--sandbox is given, so {name} was not contacted"))];
    }
    let transport = Config::load(&examined.place.store_dir()).unwrap_or_default().transport();
    let remote = AnyRemote::open(&examined.place.git_dir, &name, transport, TIMEOUT);
    let prefix = examined.setting(CLAIM_REF_PREFIX).unwrap_or(CLAIM_REFS);
    let mut findings: Vec<Value> = last_error(&examined.status).into_iter().collect();
    match remote.claims(prefix) {
        Ok(listing) if listing.tip.is_none() => findings.push(not_published(&name)),
        Ok(listing) if examined.probe => findings.extend(probe(&remote, prefix, listing.tip)),
        Ok(_) => {}
        Err(error) => findings.push(unreachable(&name, &error.to_string())),
    }
    findings
}

/// Returns the name of the remote, if there is one.
pub(super) fn name(examined: &Examined) -> Result<Option<String>, String> {
    match examined.setting("sync.remote") {
        Some(NO_REMOTE) => Ok(None),
        Some(name) => Ok(Some(name.to_owned())),
        None => default_remote(&examined.place.git_dir).map_err(|error| error.to_string()),
    }
}

fn no_remote() -> Value {
    info(
        "no_remote",
        "there is no remote, so the beads exist only on this machine; run git remote add origin URL, then bd sync",
    )
}

fn not_published(name: &str) -> Value {
    info(
        "not_published",
        format!("{name} has no store, so other machines do not see these beads; run bd sync to publish them"),
    )
}

fn unreachable(name: &str, reason: &str) -> Value {
    // The error of the store reassures, too; once is enough.
    let reason = reason.split_once("; nothing was lost").map_or(reason, |(reason, _)| reason);
    warning(
        "remote_unreachable",
        format!(
            "{reason}; nothing is lost, and syncing resumes by itself once git ls-remote {name} \
             works (docs/SYNC.md lists where credentials come from)"
        ),
    )
}

/// Repeats the error of the last sync, which may concern the push.
fn last_error(status: &Value) -> Option<Value> {
    let error = &status["sync"]["last_error"];
    let (message, since) = (error["message"].as_str()?, error["since"].as_str()?);
    Some(warning(
        "sync_fails",
        format!("syncing has failed since {since}: {message}; run bd sync to try again"),
    ))
}

/// Creates and deletes a ref among the claim refs. No bead has its name, so other machines ignore it.
fn probe(remote: &impl ClaimRemote, prefix: &str, commit: Option<String>) -> Option<Value> {
    let name = format!("doctor-{}", std::process::id());
    let change = |expected, new| [RefChange { name: name.clone(), expected, new }];
    let swap = |change: [RefChange; 1]| match remote.swap(prefix, &change).map(|mut swapped| swapped.pop()) {
        Ok(Some(Swapped::Done)) => Ok(()),
        Ok(Some(Swapped::Lost(reason) | Swapped::Refused(reason))) => Err(reason),
        Ok(None) => Err("it gave no answer".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(reason) = swap(change(None, commit.clone())) {
        return Some(refused(&reason));
    }
    let reason = swap(change(commit, None)).err()?;
    let message = format!(
        "the remote took the test ref {prefix}{name} but did not delete it ({reason}); \
         delete it with git push REMOTE --delete {prefix}{name}"
    );
    Some(warning("claim_refs_not_deleted", message))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use beads_store::ClaimListing;
    use serde_json::json;

    use super::*;

    /// A remote that answers each swap with the next of these results.
    struct Scripted(RefCell<Vec<Swapped>>);

    impl ClaimRemote for Scripted {
        fn claims(&self, _: &str) -> beads_store::Result<ClaimListing> {
            Ok(ClaimListing::default())
        }

        fn swap(&self, _: &str, _: &[RefChange]) -> beads_store::Result<Vec<Swapped>> {
            Ok(vec![self.0.borrow_mut().remove(0)])
        }
    }

    #[test]
    fn a_probe_reports_refused_writes_and_refused_deletions() {
        let probe = |answers: Vec<Swapped>| {
            let found = probe(&Scripted(RefCell::new(answers)), CLAIM_REFS, Some("c0ffee".to_owned()));
            found.map(|found| found["code"].as_str().unwrap_or_default().to_owned())
        };
        let refused = || Swapped::Refused("hidden".to_owned());
        assert_eq!(probe(vec![Swapped::Done, Swapped::Done]), None);
        assert_eq!(probe(vec![refused()]).as_deref(), Some("claim_refs_refused"));
        assert_eq!(probe(vec![Swapped::Done, refused()]).as_deref(), Some("claim_refs_not_deleted"));
    }

    #[test]
    fn the_error_of_the_last_sync_is_repeated() {
        assert_eq!(last_error(&json!({"sync": {"last_error": null}})), None);
        let status =
            json!({"sync": {"last_error": {"message": "no route", "since": "2026-01-01T00:00:00Z"}}});
        let found = last_error(&status).expect("it is reported");
        assert!(found["message"].as_str().is_some_and(|text| text.contains("no route")), "{found}");
    }
}
