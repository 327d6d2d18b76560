//! Whether the content of archived beads is where it belongs: in branch `beads/archive`, here and on the remote.
//! `bd validate` reports content that this clone lacks.

use beads_core::State;
use beads_engine::config::Config;
use beads_store::{ARCHIVE_REF, AnyRemote, GitRepository, Remote, Repository};
use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};
use super::remote::{self, TIMEOUT};

/// Reports content that was not moved yet, and a remote without it.
pub fn check(examined: &Examined) -> Vec<Value> {
    if examined.status["summary"]["archived_issues"].as_u64().unwrap_or_default() == 0 {
        return Vec::new();
    }
    // A ref that cannot be read is reported by the checks of the store.
    let Ok(repository) = GitRepository::open(&examined.place.git_dir) else { return Vec::new() };
    let Ok(Some(state)) = saved_state(&repository) else { return Vec::new() };
    let mut findings: Vec<Value> = unmoved(&state).into_iter().collect();
    if state.archived().any(|(_, bead)| bead.is_hollow())
        && !examined.globals.is_sandboxed()
        && let Ok(Some(name)) = remote::name(examined)
    {
        let transport = Config::load(&examined.place.store_dir()).unwrap_or_default().transport();
        let remote = AnyRemote::open(&examined.place.git_dir, &name, transport, TIMEOUT);
        findings.extend(on_remote(&repository, &remote));
    }
    findings
}

fn saved_state(repository: &GitRepository) -> beads_store::Result<Option<State>> {
    let Some(tip) = repository.tip()? else { return Ok(None) };
    Ok(Some(repository.snapshot(&tip)?.decode()?.state))
}

fn unmoved(state: &State) -> Option<Value> {
    let count = state.archived().filter(|(_, bead)| !bead.is_hollow()).count();
    (count > 0).then(|| {
        let of = if count == 1 { "1 archived bead is" } else { &format!("{count} archived beads are") };
        info(
            "archive_pending",
            format!("{of} still in branch beads/store with all content; bd sync moves it"),
        )
    })
}

/// Compares the archive of the remote with that of this clone. An unreachable remote is reported by its own
/// check.
fn on_remote(repository: &GitRepository, remote: &impl Remote) -> Option<Value> {
    let theirs = remote.fetch_archive().ok()?;
    let name = remote.name();
    let has_ours = match (repository.archive_tip().ok()?, &theirs) {
        (Some(ours), Some(theirs)) => ours == *theirs || repository.is_ancestor(&ours, theirs).ok()?,
        (None, Some(_)) => true,
        (_, None) => false,
    };
    if has_ours {
        return None;
    }
    Some(match theirs {
        None => warning(
            "archive_missing",
            format!(
                "{name} has no {ARCHIVE_REF}, so other machines cannot read or restore archived beads; run \
                 git push {name} beads/archive"
            ),
        ),
        Some(_) => warning(
            "archive_behind",
            format!("{ARCHIVE_REF} of {name} lacks content that this clone has; run bd sync"),
        ),
    })
}
