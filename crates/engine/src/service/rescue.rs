//! Merges rescue files: read and compared in any thread, then saved together with a checkpoint.

use std::path::PathBuf;
use std::sync::Arc;

use beads_core::State;
use beads_store::{GitRepository, Rescue};

use super::Service;
use super::sync::SyncJob;
use crate::failure::{Code, Failure};
use crate::render::{Answer, RescuedAnswer, SyncAnswer};
use crate::request::{Call, Reply, Request};
use crate::rescued;

/// A rescue file to read, with a snapshot to compare it with.
#[derive(Debug)]
pub struct RescueJob {
    path: PathBuf,
    force: bool,
    dry_run: bool,
    state: State,
    git_dir: PathBuf,
    remote: Option<String>,
}

/// A rescue file that has been read and belongs to the store.
#[derive(Debug)]
pub struct ReadRescue {
    /// The rescued state, shared with the thread that saves it.
    pub(super) rescue: Arc<Rescue>,
    answer: RescuedAnswer,
}

impl RescueJob {
    /// Reads the file and counts what it would change. Fails if it is from an unrelated store.
    pub fn read(self) -> Result<ReadRescue, Failure> {
        let Self { path, force, dry_run, state, git_dir, remote } = self;
        let rescue = Rescue::read(&path)?;
        let same_remote = rescue.header.remote.is_some() && rescue.header.remote == remote;
        if !force && !same_remote && !rescue.shares_history(&GitRepository::open(&git_dir)?, &state) {
            let message = format!(
                "{} is from the store {}, which has no history in common with this one; nothing was changed",
                path.display(),
                rescue.header.git_dir
            );
            return Err(Failure::new(Code::UnrelatedStore, message));
        }
        let mut after = state.clone();
        after.join(&rescue.state);
        let known = after.beads().iter().map(|(lineage, bead)| (state.beads().get(lineage), bead));
        let (mut added, mut changed) = (0, 0);
        for (before, after) in known {
            match before {
                None => added += 1,
                Some(before) if before != after => changed += 1,
                Some(_) => {}
            }
        }
        let answer = RescuedAnswer { file: path, added, changed, conflicts: 0, dry_run };
        Ok(ReadRescue { rescue: Arc::new(rescue), answer })
    }
}

impl ReadRescue {
    /// Returns whether the file is only compared and not merged.
    pub fn is_dry_run(&self) -> bool {
        self.answer.dry_run
    }

    /// Returns the answer after the checkpoint with the rescued state was saved, and marks the file as
    /// imported.
    pub fn saved(mut self, saved: &SyncAnswer) -> Answer {
        self.answer.conflicts = saved.conflicts;
        rescued::mark_imported(&self.answer.file);
        self.compared()
    }

    /// Returns the answer to a dry run.
    pub fn compared(self) -> Answer {
        Answer::Rescued(self.answer)
    }
}

impl Service {
    /// Takes a snapshot for a rescue file, which any thread may read.
    pub fn begin_rescue(&mut self, request: &Request) -> Result<RescueJob, Failure> {
        request.call.check_paths()?;
        let Call::ImportRescued { path, force, dry_run } = &request.call else {
            return Err(Failure::internal("not a rescue"));
        };
        self.note_remote();
        Ok(RescueJob {
            path: path.clone(),
            force: *force,
            dry_run: *dry_run,
            state: self.replica.catalog().state().clone(),
            git_dir: self.place.git_dir.clone(),
            remote: self.remote.clone(),
        })
    }

    /// Reads a rescue file and merges it, in this thread.
    pub(super) fn import_rescued(&mut self, request: &Request) -> Result<Answer, Failure> {
        let read = self.begin_rescue(request)?.read()?;
        if read.is_dry_run() {
            return Ok(read.compared());
        }
        let saved = SyncJob::begin_rescue(self, &read)?.run();
        let saved = SyncJob::finish(self, saved)?;
        Ok(read.saved(&saved))
    }

    /// Renders the reply to a request about a rescue file.
    pub fn rescue_reply(&mut self, request: &Request, result: Result<Answer, Failure>) -> Reply {
        let (output, format) = (self.resolve_dialect(&request.output), self.format_version());
        self.reply_to(request, result, &output, format)
    }
}
