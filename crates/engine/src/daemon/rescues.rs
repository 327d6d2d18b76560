//! Rescue files: read in another thread, then saved by a sync of their own.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::connection::Job;
use super::engine::{Engine, Stopped};
use super::long_answers::Task;
use crate::failure::Failure;
use crate::render::{Answer, SyncAnswer};
use crate::service::{ReadRescue, SyncJob};

/// A rescue file that has been read, or the reason why it could not be.
#[derive(Debug)]
pub struct Rescuing {
    /// The request and its client.
    pub job: Job,
    /// The file.
    pub read: Result<ReadRescue, Failure>,
}

/// The rescue files on their way into the store.
#[derive(Debug)]
pub struct Rescues {
    send: mpsc::UnboundedSender<Rescuing>,
    /// Receives files that have been read.
    pub read: mpsc::UnboundedReceiver<Rescuing>,
    /// Files that wait until the running sync ends.
    waiting: VecDeque<(Job, ReadRescue)>,
    /// The file that the running sync saves.
    saving: Option<(Job, ReadRescue)>,
}

impl Default for Rescues {
    fn default() -> Self {
        let (send, read) = mpsc::unbounded_channel();
        Self { send, read, waiting: VecDeque::new(), saving: None }
    }
}

impl Engine {
    /// Starts reading a rescue file in another thread.
    pub(super) fn begin_rescue(&mut self, job: Job) {
        match self.service.begin_rescue(&job.request) {
            Ok(rescue) => {
                self.long.run(Task::Rescue(Box::new(rescue), Box::new(job), self.rescues.send.clone()));
            }
            Err(failure) => self.answer_rescue(job, Err(failure)),
        }
    }

    /// Answers a dry run or a failure. Otherwise saves what was read as soon as no sync is running.
    pub(super) fn continue_rescue(&mut self, rescuing: Rescuing) -> Option<Stopped> {
        let Rescuing { job, read } = rescuing;
        match read {
            Ok(read) if !read.is_dry_run() => {
                self.rescues.waiting.push_back((job, read));
                if !self.saver.running {
                    self.start_rescue();
                }
            }
            read => self.answer_rescue(job, read.map(ReadRescue::compared)),
        }
        None
    }

    /// Starts to save the next rescue file. Returns whether there is one.
    pub(super) fn start_rescue(&mut self) -> bool {
        let Some((job, read)) = self.rescues.waiting.pop_front() else { return false };
        let sync = SyncJob::begin_rescue(&mut self.service, &read);
        self.rescues.saving = Some((job, read));
        self.saver.asked = true;
        self.run_sync(sync);
        true
    }

    /// Answers the client whose rescue file the sync saved, if it was such a sync.
    pub(super) fn finish_rescue(&mut self, finished: &Result<SyncAnswer, Failure>) {
        let Some((job, read)) = self.rescues.saving.take() else { return };
        let answer = finished.as_ref().map(|saved| read.saved(saved)).map_err(Clone::clone);
        if answer.is_ok() {
            // What came from the file still has to be pushed.
            self.changed();
        }
        self.answer_rescue(job, answer);
    }

    fn answer_rescue(&mut self, job: Job, result: Result<Answer, Failure>) {
        let answer = self.service.rescue_reply(&job.request, result);
        let _ = job.reply.send(answer);
    }
}
