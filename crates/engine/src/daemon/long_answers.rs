//! Threads that answer long queries from snapshots and read imports, while the engine serves other requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::MAX_LONG_QUESTIONS;
use super::connection::Job;
use super::imports::Importing;
use super::rescues::Rescuing;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Format, Reply};
use crate::service::{ImportJob, LongQuestion, RescueJob};

/// The number of threads. Each renders its answer in memory.
const THREADS: usize = 2;

/// The work of a thread.
#[derive(Debug)]
pub enum Task {
    /// Answer a query.
    Answer(Box<LongQuestion>, Format, oneshot::Sender<Reply>),
    /// Read an import and pass it to the engine.
    Read(Box<ImportJob>, Box<Job>, mpsc::UnboundedSender<Importing>),
    /// Read a rescue file and pass it to the engine.
    Rescue(Box<RescueJob>, Box<Job>, mpsc::UnboundedSender<Rescuing>),
}

/// The queue of long queries and imports.
#[derive(Debug, Default)]
pub struct LongAnswers {
    /// Absent until the first task: most daemons never have one.
    queue: Option<SyncSender<Task>>,
}

impl LongAnswers {
    /// Queues a task for the threads, and refuses it if the queue is full.
    pub fn run(&mut self, task: Task) {
        let queue = self.queue.get_or_insert_with(start);
        match queue.try_send(task) {
            Ok(()) => {}
            Err(TrySendError::Full(task) | TrySendError::Disconnected(task)) => task.refuse(),
        }
    }
}

/// Starts the threads and returns their queue.
fn start() -> SyncSender<Task> {
    let (send, receive) = sync_channel(MAX_LONG_QUESTIONS);
    let receive = Arc::new(Mutex::new(receive));
    for _ in 0..THREADS {
        let receive = receive.clone();
        std::thread::spawn(move || {
            while let Some(task) = next(&receive) {
                task.run();
            }
        });
    }
    send
}

/// Waits for the next task. Returns `None` when the daemon exits.
fn next(receive: &Mutex<Receiver<Task>>) -> Option<Task> {
    receive.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Task {
    fn run(self) {
        match self {
            // The client is gone.
            Self::Answer(_, _, reply) if reply.is_closed() => {}
            Self::Answer(question, format, reply) => {
                let answered = catch_unwind(AssertUnwindSafe(|| question.answer()));
                let answer = answered.unwrap_or_else(|_| {
                    render::failure_reply(
                        Failure::internal("answering panicked; nothing was changed"),
                        format,
                    )
                });
                let _ = reply.send(answer);
            }
            Self::Read(import, job, engine) => {
                let read = catch_unwind(AssertUnwindSafe(|| import.read()));
                let import = read.unwrap_or_else(|_| {
                    Err(Failure::internal("reading the import panicked; nothing was changed"))
                });
                // If the engine has stopped, the request is dropped and its client asks the next daemon.
                let _ = engine.send(Importing { job: *job, import });
            }
            Self::Rescue(rescue, job, engine) => {
                let read = catch_unwind(AssertUnwindSafe(|| rescue.read())).unwrap_or_else(|_| {
                    Err(Failure::internal("reading the rescue file panicked; nothing was changed"))
                });
                let _ = engine.send(Rescuing { job: *job, read });
            }
        }
    }

    fn refuse(self) {
        let (format, reply) = match self {
            Self::Answer(_, format, reply) => (format, reply),
            Self::Read(_, job, _) | Self::Rescue(_, job, _) => (job.request.output.format, job.reply),
        };
        let failure = Failure::new(Code::Busy, "too many long queries are waiting; nothing was changed");
        let _ = reply.send(render::failure_reply(failure, format));
    }
}
