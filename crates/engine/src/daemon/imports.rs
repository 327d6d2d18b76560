//! Imports: read in another thread, then applied by the engine in parts, with other requests in between.

use tokio::sync::mpsc;

use super::connection::Job;
use super::engine::{Engine, Stopped};
use super::long_answers::Task;
use crate::failure::Failure;
use crate::service::ReadImport;

/// An import that has been read, or the reason why it could not be.
#[derive(Debug)]
pub struct Importing {
    /// The request and its client.
    pub job: Job,
    /// The import.
    pub import: Result<ReadImport, Failure>,
}

/// The channel that returns imports to the engine, after they were read and between their parts.
#[derive(Debug)]
pub struct Imports {
    send: mpsc::UnboundedSender<Importing>,
    /// Receives imports that are ready to continue.
    pub read: mpsc::UnboundedReceiver<Importing>,
}

impl Default for Imports {
    fn default() -> Self {
        let (send, read) = mpsc::unbounded_channel();
        Self { send, read }
    }
}

impl Engine {
    /// Starts reading an import in another thread.
    pub(super) fn begin_import(&mut self, job: Job) {
        match self.service.begin_import(&job.request) {
            Ok(import) => {
                self.long.run(Task::Read(Box::new(import), Box::new(job), self.imports.send.clone()));
            }
            Err(answer) => drop(job.reply.send(*answer)),
        }
    }

    /// Applies one part of an import and makes it durable. The rest follows after the requests that are
    /// waiting now.
    pub(super) fn continue_import(&mut self, importing: Importing) -> Option<Stopped> {
        let Importing { job, mut import } = importing;
        let before = self.service.position();
        let mut replies = Vec::new();
        match self.service.continue_import(&job.request, &mut import) {
            Some(answer) => replies.push((job.reply, job.request.output.format, answer)),
            None => drop(self.imports.send.send(Importing { job, import })),
        }
        if self.service.position() > before {
            replies.extend(self.try_waiters());
        }
        let stopped = self.deliver(replies, before);
        self.start_round();
        stopped
    }
}
