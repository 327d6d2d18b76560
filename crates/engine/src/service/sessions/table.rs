//! Records which session made each claim, and when each session was last heard from. It is kept in
//! `sessions.json` in the store's directory, so that it survives a restart of the daemon. It is never synced.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use beads_core::{Lineage, Stamp};
use serde::{Deserialize, Serialize};

use crate::log;
use crate::session_id::SessionId;
use beads_store::replace_file;

/// A session that was not heard from for this long is silent.
pub const SILENT_MS: u64 = 60_000;

/// How often the time when a session was last heard from is saved.
const SAVE_EVERY_MS: u64 = 15_000;

/// The maximum number of sessions. Beyond it, the oldest sessions without claims are forgotten.
const MAX_SESSIONS: usize = 1_000;

/// A claim and its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The fence of the claim.
    pub fence: Stamp,
    /// The session that made it.
    pub session: SessionId,
    /// When the fence was last presented, by any session.
    pub seen_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    at_ms: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
}

/// The state of a session, with the time when it was last heard from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It was heard from recently.
    Live(u64),
    /// It was not heard from for a while.
    Silent(u64),
    /// It has ended.
    Ended(u64),
}

/// The sessions of this clone.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    claims: BTreeMap<Lineage, Held>,
    seen: BTreeMap<SessionId, Seen>,
    /// Absent if the store is only read.
    path: Option<PathBuf>,
    /// A claim changed. This must be saved before the request is answered.
    unsaved: bool,
    saved_ms: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    claims: Vec<StoredClaim>,
    sessions: BTreeMap<SessionId, Seen>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredClaim {
    lineage: Lineage,
    fence: Stamp,
    session: SessionId,
    seen_ms: u64,
}

impl Sessions {
    /// Reads the file. A missing or damaged file is treated as empty.
    pub fn load(store_dir: &Path, can_write: bool) -> Self {
        let path = store_dir.join("sessions.json");
        let stored: Stored = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let claims = stored.claims.into_iter().map(|StoredClaim { lineage, fence, session, seen_ms }| {
            (lineage, Held { fence, session, seen_ms })
        });
        Self {
            claims: claims.collect(),
            seen: stored.sessions,
            path: can_write.then_some(path),
            unsaved: false,
            saved_ms: 0,
        }
    }

    /// Returns the session that made the claim with this fence.
    pub fn held(&self, lineage: &Lineage, fence: Option<Stamp>) -> Option<&Held> {
        self.claims.get(lineage).filter(|held| Some(held.fence) == fence)
    }

    /// Returns the claims with known sessions.
    pub fn claims(&self) -> impl Iterator<Item = (&Lineage, &Held)> {
        self.claims.iter()
    }

    /// Returns the state of the session that made a claim.
    pub fn liveness(&self, held: &Held, now_ms: u64) -> Liveness {
        let seen = self.seen.get(&held.session).copied().unwrap_or(Seen { at_ms: 0, ended: false });
        // If the clock was set back, no session becomes silent.
        let last = seen.at_ms.max(held.seen_ms).min(now_ms);
        match () {
            () if seen.ended => Liveness::Ended(last),
            () if now_ms - last >= SILENT_MS => Liveness::Silent(last),
            () => Liveness::Live(last),
        }
    }

    /// Returns since when the session that made a claim has been silent, if it is.
    pub fn silent_since(&self, lineage: &Lineage, fence: Option<Stamp>, now_ms: u64) -> Option<u64> {
        match self.liveness(self.held(lineage, fence)?, now_ms) {
            Liveness::Silent(since) | Liveness::Ended(since) => Some(since),
            Liveness::Live(_) => None,
        }
    }

    /// Records that a session is alive.
    pub fn mark_alive(&mut self, session: &SessionId, now_ms: u64) {
        let before = self.seen.insert(session.clone(), Seen { at_ms: now_ms, ended: false });
        let has_claims = self.claims.values().any(|held| held.session == *session);
        let is_due = now_ms.saturating_sub(self.saved_ms) >= SAVE_EVERY_MS;
        if has_claims && (is_due || before.is_some_and(|seen| seen.ended)) {
            self.unsaved = true;
        }
        while self.seen.len() > MAX_SESSIONS {
            let held: Vec<_> = self.claims.values().map(|held| &held.session).collect();
            let idle = self.seen.iter().filter(|(id, _)| !held.contains(id));
            let Some(oldest) = idle.min_by_key(|(_, seen)| seen.at_ms).map(|(id, _)| id.clone()) else {
                break;
            };
            self.seen.remove(&oldest);
        }
    }

    /// Records that a session has ended.
    pub fn end(&mut self, session: &SessionId, now_ms: u64) {
        let at_ms = self.seen.get(session).map_or(now_ms, |seen| seen.at_ms);
        self.seen.insert(session.clone(), Seen { at_ms, ended: true });
        self.unsaved = true;
    }

    /// Forgets a session without claims.
    pub fn forget(&mut self, session: &SessionId) {
        self.seen.remove(session);
    }

    /// Records which session made or renewed a claim. A renewal without a session keeps the known one.
    pub fn claimed(&mut self, lineage: &Lineage, fence: Stamp, session: Option<&SessionId>, now_ms: u64) {
        match (session, self.claims.get_mut(lineage)) {
            (Some(session), _) => {
                let held = Held { fence, session: session.clone(), seen_ms: now_ms };
                self.mark_alive(session, now_ms);
                self.claims.insert(lineage.clone(), held);
                self.unsaved = true;
            }
            (None, Some(held)) if held.fence == fence => held.seen_ms = now_ms,
            (None, Some(_)) => {
                self.claims.remove(lineage);
                self.unsaved = true;
            }
            (None, None) => {}
        }
    }

    /// Records that the fence of a claim was presented.
    pub fn presented(&mut self, lineage: &Lineage, fence: Stamp, now_ms: u64) {
        if let Some(held) = self.claims.get_mut(lineage).filter(|held| held.fence == fence) {
            held.seen_ms = now_ms;
        }
    }

    /// Forgets claims that have ended, and updates the fences of the others. `current` returns the current
    /// fence of a claim.
    pub fn keep(&mut self, current: impl Fn(&Lineage, Stamp) -> Option<Stamp>) {
        self.claims.retain(|lineage, held| match current(lineage, held.fence) {
            Some(fence) => {
                held.fence = fence;
                true
            }
            None => false,
        });
    }

    /// Returns whether there is something to save.
    pub fn is_unsaved(&self) -> bool {
        self.unsaved && self.path.is_some()
    }

    /// Writes the file. Errors are only logged, because the claims themselves are in the store.
    pub fn save(&mut self, now_ms: u64) {
        self.unsaved = false;
        self.saved_ms = now_ms;
        let Some(path) = &self.path else { return };
        let claims = self.claims.iter().map(|(lineage, held)| StoredClaim {
            lineage: lineage.clone(),
            fence: held.fence,
            session: held.session.clone(),
            seen_ms: held.seen_ms,
        });
        let has_claims = |id: &SessionId| self.claims.values().any(|held| held.session == *id);
        let sessions = self.seen.iter().filter(|(id, seen)| seen.ended || has_claims(id));
        let stored = Stored {
            claims: claims.collect(),
            sessions: sessions.map(|(id, seen)| (id.clone(), *seen)).collect(),
        };
        let bytes = serde_json::to_vec(&stored).unwrap_or_default();
        if let Err(error) = replace_file(path, &bytes) {
            log::note(&format!("{} was not written: {error}", path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(id: &str) -> Lineage {
        Lineage::new(id.parse().unwrap(), "1.1".parse().unwrap(), "ann".parse().unwrap())
    }

    fn id(name: &str) -> SessionId {
        name.parse().unwrap()
    }

    #[test]
    fn a_session_is_silent_after_a_minute_and_live_again_once_heard_from() {
        let mut sessions = Sessions::default();
        let (bead, fence) = (lineage("bd-1"), "5.1".parse().unwrap());
        sessions.claimed(&bead, fence, Some(&id("s")), 1_000);
        let since = |sessions: &Sessions, now| sessions.silent_since(&bead, Some(fence), now);
        assert_eq!(since(&sessions, 1_000 + SILENT_MS - 1), None);
        assert_eq!(since(&sessions, 1_000 + SILENT_MS), Some(1_000));
        assert_eq!(since(&sessions, 500), None, "a clock that was set back");
        sessions.mark_alive(&id("s"), 100_000);
        assert_eq!(since(&sessions, 100_001), None);
        sessions.end(&id("s"), 100_002);
        assert_eq!(since(&sessions, 100_003), Some(100_000));
        let other = Some("6.1".parse().unwrap());
        assert_eq!(sessions.silent_since(&bead, other, 900_000), None, "another claim");
    }

    #[test]
    fn claims_survive_a_restart_and_sessions_do_not_pile_up() {
        let store = tempfile::tempdir().unwrap();
        let mut sessions = Sessions::load(store.path(), true);
        let (bead, fence) = (lineage("bd-1"), "5.1".parse().unwrap());
        sessions.claimed(&bead, fence, Some(&id("keeper")), 10);
        for number in 0..2 * MAX_SESSIONS {
            sessions.mark_alive(&id(&format!("s{number}")), 100 + number as u64);
        }
        assert_eq!(sessions.seen.len(), MAX_SESSIONS);
        assert!(sessions.is_unsaved());
        sessions.save(5_000);
        let again = Sessions::load(store.path(), true);
        assert_eq!(again.held(&bead, Some(fence)).unwrap().session, id("keeper"));
        assert_eq!(again.seen.len(), 1, "only sessions with claims are kept");
        let mut again = again;
        again.keep(|_, _| None);
        assert_eq!(again.claims().count(), 0);
    }
}
