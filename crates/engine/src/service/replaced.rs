//! When the repository was replaced under an open store: put the state aside, and join such a state elsewhere.

use std::path::{Path, PathBuf};

use beads_store::{Fate, Rescue, RescueHeader, default_remote, remote_fingerprint};

use super::Service;
use super::sync::NO_REMOTE;
use crate::failure::{Code, Failure};
use crate::journal_end;
use crate::render::{Answer, RescuedAnswer};
use crate::rescued;

impl Service {
    /// Whether this is still the store that was opened.
    pub fn fate(&mut self) -> Fate {
        match self.identity.check() {
            Fate::Touched => match self.replica.journal_is_intact() {
                Some(true) => {
                    // Only its time differs, as after a backup program put it back.
                    self.identity.accept();
                    Fate::Same
                }
                Some(false) => Fate::Replaced,
                // It is looked at again before the next answer.
                None => Fate::Same,
            },
            fate => fate,
        }
    }

    /// The same for a command that does its own work, before it says that it is done.
    pub fn check_identity(&mut self) -> Result<(), Failure> {
        match self.fate() {
            Fate::Same | Fate::Touched => Ok(()),
            fate => Err(self.replaced(fate)),
        }
    }

    /// Notes where the journal ends, if it alone holds something, for the next opening to compare.
    pub fn note_journal_end(&self) {
        let unsaved = self.replica.unsaved().records;
        if unsaved > 0 {
            journal_end::note(&self.place, self.replica.journal_end().into(), unsaved);
        }
    }

    /// Remembers which remote this store belongs to, for a rescue file.
    pub fn note_remote(&mut self) {
        let name = match self.config.get("sync.remote").unwrap_or_default() {
            NO_REMOTE => None,
            "" => default_remote(&self.place.git_dir).ok().flatten(),
            name => Some(name.to_owned()),
        };
        self.remote = name.and_then(|name| remote_fingerprint(&self.place.git_dir, &name));
    }

    /// Puts aside what exists nowhere else, and says what happened.
    pub fn replaced(&mut self, fate: Fate) -> Failure {
        let path = self.place.git_dir.display().to_string();
        let what = match fate {
            Fate::Moved => "was moved",
            _ => "was replaced or deleted",
        };
        let (rescue, advice) = match self.rescue(fate) {
            Ok(Some(file)) => {
                let advice =
                    format!("unsaved changes are in {}; bd import --rescued joins them", file.display());
                (Some(file), advice)
            }
            Ok(None) => (None, "everything acknowledged is saved; run the command again".to_owned()),
            Err(failure) => (None, format!("unsaved changes could not be put aside: {}", failure.message)),
        };
        let message = format!("the repository {path} {what} while its store was open; {advice}");
        crate::log::note(&message);
        Failure::new(Code::StoreReplaced, message)
            .with(serde_json::json!({"git_dir": path, "rescue_file": rescue}))
    }

    /// Nothing needs rescue where the store went elsewhere as a whole, or where the remote has everything.
    fn rescue(&mut self, fate: Fate) -> Result<Option<PathBuf>, Failure> {
        let (position, pushed_position) = (self.replica.position(), self.sync_state.pushed_position);
        if fate == Fate::Moved || position == 0 || pushed_position >= position {
            return Ok(None);
        }
        let header = RescueHeader {
            version: 0,
            git_dir: self.place.git_dir.to_string_lossy().into_owned(),
            at_ms: self.replica.now_ms(),
            position,
            pushed_position,
            base: self.replica.base().map(str::to_owned),
            remote: self.remote.clone(),
        };
        rescued::write(&self.place, &header, self.replica.catalog().state()).map(Some)
    }

    pub(super) fn import_rescued(
        &mut self,
        path: &Path,
        force: bool,
        dry_run: bool,
    ) -> Result<Answer, Failure> {
        let rescue = Rescue::read(path)?;
        self.note_remote();
        let same_remote = rescue.header.remote.is_some() && rescue.header.remote == self.remote;
        if !force && !same_remote && !self.replica.shares_history(&self.repository, &rescue) {
            let message = format!(
                "{} is of the store {}, which has no history in common with this one; nothing was changed",
                path.display(),
                rescue.header.git_dir
            );
            return Err(Failure::new(Code::UnrelatedStore, message));
        }
        let before = self.replica.catalog().state().clone();
        let mut after = before.clone();
        after.join(&rescue.state);
        let added = after.beads().keys().filter(|lineage| !before.beads().contains_key(*lineage)).count();
        let changed = after
            .beads()
            .iter()
            .filter(|(lineage, bead)| before.beads().get(*lineage).is_some_and(|known| known != *bead));
        let changed = changed.count();
        let mut conflicts = 0;
        if !dry_run {
            conflicts = self.replica.join_rescued(&self.repository, &rescue)?;
            self.note_merge();
            rescued::set_imported(path);
        }
        let file = path.to_owned();
        Ok(Answer::Rescued(RescuedAnswer { file, added, changed, conflicts, dry_run }))
    }
}
