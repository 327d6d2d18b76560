//! Threads that answer long questions from snapshots, while the engine answers everybody else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::MAX_LONG_QUESTIONS;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Format, Reply};
use crate::service::LongQuestion;

/// So many long questions are answered at once. Each renders its answer in memory.
const THREADS: usize = 2;

/// A question, the format of its answer, and who asked.
type Asked = (LongQuestion, Format, oneshot::Sender<Reply>);

#[derive(Debug, Default)]
pub struct LongAnswers {
    /// Absent until the first long question: most daemons never see one.
    queue: Option<SyncSender<Asked>>,
}

impl LongAnswers {
    /// Answers in a thread of its own when its turn comes.
    pub fn answer(&mut self, question: LongQuestion, format: Format, reply: oneshot::Sender<Reply>) {
        let queue = self.queue.get_or_insert_with(start);
        match queue.try_send((question, format, reply)) {
            Ok(()) => {}
            Err(TrySendError::Full((_, format, reply)) | TrySendError::Disconnected((_, format, reply))) => {
                let failure = Failure::new(Code::Busy, "too many long questions are waiting for an answer");
                let _ = reply.send(render::failure_reply(failure, format));
            }
        }
    }
}

fn start() -> SyncSender<Asked> {
    let (send, receive) = sync_channel(MAX_LONG_QUESTIONS);
    let receive = Arc::new(Mutex::new(receive));
    for _ in 0..THREADS {
        let receive = receive.clone();
        std::thread::spawn(move || {
            while let Some(asked) = next(&receive) {
                answer(asked);
            }
        });
    }
    send
}

/// `None` when the daemon is leaving.
fn next(receive: &Mutex<Receiver<Asked>>) -> Option<Asked> {
    receive.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn answer((question, format, reply): Asked) {
    // A client that left needs no answer.
    if reply.is_closed() {
        return;
    }
    let answered = catch_unwind(AssertUnwindSafe(|| question.answer()));
    let answer = answered.unwrap_or_else(|_| {
        render::failure_reply(Failure::internal("answering panicked; nothing was changed"), format)
    });
    let _ = reply.send(answer);
}
