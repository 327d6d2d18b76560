//! The engine: takes requests in the order in which they arrive, answers a batch of them in memory, makes the batch
//! durable with one sync, and only then lets the answers go. So replies never speak of anything that a crash could
//! take back, and what queued up during a sync shares the next one.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use beads_store::Fate;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::claimer::Claimer;
use super::connection::{Connections, Job, Traffic};
use super::imports::Imports;
use super::long_answers::{LongAnswers, Task};
use super::saver::{Saver, Waiter};
use super::waiters::Waiters;
use super::{MAX_BATCH, MAX_BATCH_BYTES, SocketPath, VERSION, is_newer, planted};
use crate::failure::{Code, Failure};
use crate::render::{self, Answer, DaemonStatus};
use crate::request::{Call, Format, HandedOut, Reply, Unconfirmed};
use crate::service::Service;

const SHORTEST_IDLE: Duration = Duration::from_millis(100);

/// A reply needs one turn to be taken up and one to be written.
const FAREWELL_TURNS: usize = 4;

pub struct Engine {
    pub(super) service: Service,
    queue: mpsc::Receiver<Job>,
    socket: SocketPath,
    connections: Connections,
    started: Instant,
    last_request: Instant,
    pub(super) saver: Saver,
    pub(super) exporting: Option<JoinHandle<()>>,
    pub(super) waiters: Waiters,
    pub(super) claimer: Claimer,
    /// Claims whose replies were lost, each with the time until which its caller may ask again.
    pub(super) undelivered: Vec<(Instant, HandedOut)>,
    /// Claims whose replies the connections could not write.
    lost: mpsc::UnboundedReceiver<Vec<HandedOut>>,
    pub(super) long: LongAnswers,
    pub(super) imports: Imports,
    /// Long questions and imports of this batch: their snapshots are set aside when the batch is durable.
    asked_long: Vec<Job>,
}

/// An answer that may leave once the journal is synced.
pub type Owed = (oneshot::Sender<Reply>, Format, Reply);

/// Why the engine stopped.
#[derive(Debug)]
pub enum Stopped {
    /// Idle, or by a signal: save and go.
    Gracefully,
    /// Asked to. Whether everything was saved is the answer.
    Asked(Vec<Owed>),
    /// Another store is at the path of this one, or none: nothing can be saved there.
    Replaced(Fate),
    /// The journal failed: memory is ahead of the disk and must not be saved.
    JournalFailed(Failure),
}

impl Engine {
    pub fn new(mut service: Service, queue: mpsc::Receiver<Job>, socket: SocketPath) -> Self {
        let now = Instant::now();
        service.confirms_later = true;
        service.watch_claims();
        let (losses, lost) = mpsc::unbounded_channel();
        let mut engine = Self {
            service,
            queue,
            socket,
            connections: Connections::new(Traffic::new(losses)),
            started: now,
            last_request: now,
            saver: Saver::default(),
            exporting: None,
            waiters: Waiters::default(),
            claimer: Claimer::default(),
            undelivered: Vec::new(),
            lost,
            long: LongAnswers::default(),
            imports: Imports::default(),
            asked_long: Vec::new(),
        };
        engine.service.note_remote();
        if engine.service.has_unsaved() {
            engine.changed();
        }
        engine
    }

    pub fn store_dir(&self) -> std::path::PathBuf {
        self.service.place().store_dir()
    }

    pub fn connections(&self) -> Connections {
        self.connections.clone()
    }

    pub async fn run(&mut self) -> Stopped {
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return Stopped::Gracefully;
        };
        loop {
            let wake = self.next_wake();
            let stop = tokio::select! {
                job = self.queue.recv() => match job {
                    Some(job) => self.batch(job).await,
                    None => Some(Stopped::Gracefully),
                },
                Some(result) = self.saver.results.recv() => self.synced(result),
                Some(result) = self.claimer.results.recv() => self.round_done(result),
                Some(lost) = self.lost.recv() => self.give_back(lost),
                Some(import) = self.imports.read.recv() => self.continue_import(import),
                () = tokio::time::sleep_until(wake.into()) => self.woke(),
                () = received(&mut terminate) => Some(Stopped::Gracefully),
                () = received(&mut interrupt) => Some(Stopped::Gracefully),
            };
            if let Some(stopped) = stop {
                return stopped;
            }
        }
    }

    /// Everything that is waiting, answered in order, with one sync.
    async fn batch(&mut self, first: Job) -> Option<Stopped> {
        // Let connections that have something to read hand it over, so that it shares the sync.
        tokio::task::yield_now().await;
        self.last_request = Instant::now();
        match self.service.fate() {
            Fate::Same | Fate::Touched => {}
            // A client that asks about this very daemon learns where its changes went.
            fate @ Fate::Replaced if matches!(first.request.call, Call::DaemonStatus | Call::DaemonStop) => {
                let failure = self.service.replaced(fate);
                let format = first.request.output.format;
                let _ = first.reply.send(render::failure_reply(failure.clone(), format));
                return Some(Stopped::JournalFailed(failure));
            }
            // Clients see the connection end. Nothing they asked was done, so they ask the next daemon.
            fate => return Some(Stopped::Replaced(fate)),
        }
        let before = self.service.position();
        let mut replies = Vec::new();
        let (mut stop, mut bytes) = (None, 0);
        let mut next = Some(first);
        while let Some(job) = next {
            if is_newer(&job.request.client) {
                let failure =
                    Failure::new(Code::DaemonOlder, format!("this daemon is {VERSION} and makes way"));
                let _ = job.reply.send(render::failure_reply(failure, Format::Value));
                stop = Some(Stopped::Gracefully);
                break;
            }
            let answered = replies.len();
            stop = self.one(job, &mut replies);
            bytes += replies[answered..].iter().map(size).sum::<usize>();
            let full = replies.len() + self.asked_long.len() >= MAX_BATCH;
            if stop.is_some() || full || bytes > MAX_BATCH_BYTES {
                break;
            }
            next = self.queue.try_recv().ok();
        }
        if self.service.position() > before {
            replies.extend(self.try_waiters());
        }
        let stopped = self.deliver(replies, before).or(stop);
        self.start_round();
        if stopped.is_none() {
            self.answer_long();
        }
        // Of a daemon that leaves, those who asked see the end, and ask the next one.
        self.asked_long.clear();
        stopped
    }

    fn answer_long(&mut self) {
        for Job { request, reply } in std::mem::take(&mut self.asked_long) {
            if matches!(request.call, Call::Import { .. }) {
                self.begin_import(Job { request, reply });
                continue;
            }
            let format = request.output.format;
            let question = Box::new(self.service.long_question(request));
            self.long.run(Task::Answer(question, format, reply));
        }
    }

    /// Makes everything durable with one sync, then lets the answers go.
    pub(super) fn deliver(&mut self, replies: Vec<Owed>, before: u64) -> Option<Stopped> {
        let committed = if planted::commits_later() { Ok(()) } else { self.service.commit() };
        let fate = self.service.fate();
        if !matches!(fate, Fate::Same | Fate::Touched) {
            let failure = self.service.replaced(fate);
            refuse(replies, &failure);
            return Some(Stopped::JournalFailed(failure));
        }
        if let Err(failure) = committed {
            refuse(replies, &failure);
            return Some(Stopped::JournalFailed(failure));
        }
        let mut lost = Vec::new();
        for (reply, _, mut answer) in replies {
            if let Some(unconfirmed) = answer.unconfirmed.take() {
                let Unconfirmed { request, claimed } = *unconfirmed;
                self.saver.next_waiting.push(Waiter { reply, request, claimed: Some(claimed) });
            } else if let Err(answer) = reply.send(answer) {
                lost.extend(answer.handed_out);
            }
        }
        if self.service.position() > before {
            self.changed();
        }
        if !self.saver.next_waiting.is_empty() && !self.saver.running {
            self.start_sync();
        }
        self.give_back(lost)
    }

    pub(super) fn serve_waiters(&mut self) -> Option<Stopped> {
        let before = self.service.position();
        let replies = self.try_waiters();
        let delivered = self.deliver(replies, before);
        self.start_round();
        delivered
    }

    fn one(&mut self, job: Job, replies: &mut Vec<Owed>) -> Option<Stopped> {
        let Job { request, reply } = job;
        self.undelivered.retain(|(_, claim)| claim.request_id != request.request_id);
        self.service.saw(&request);
        if self.service.is_long(&request.call) {
            self.asked_long.push(Job { request, reply });
            return None;
        }
        match &request.call {
            Call::Sync => {
                if let Some(told) = self.service.told_of_sync(&request).transpose() {
                    let position = self.service.position();
                    let answer = render::reply(told.map(Answer::Synced), &request.output, position);
                    replies.push((reply, request.output.format, answer));
                    return None;
                }
                self.service.consent();
                self.saver.next_waiting.push(Waiter { reply, request, claimed: None });
                if !self.saver.running {
                    self.start_sync();
                }
                None
            }
            Call::DaemonStatus | Call::DaemonStop => {
                let status = Answer::Daemon(self.status());
                let position = self.service.position();
                let answer = render::reply(Ok(status), &request.output, position);
                let owed = (reply, request.output.format, answer);
                if matches!(request.call, Call::DaemonStop) {
                    return Some(Stopped::Asked(vec![owed]));
                }
                replies.push(owed);
                None
            }
            _ => {
                let (request, reply) = self.take_claim(request, reply, replies)?;
                match self.service.attempt(&request) {
                    Some(answer) => {
                        let answer = planted::made_stale(&request, answer);
                        replies.push((reply, request.output.format, answer));
                    }
                    None => self.waiters.add(&self.service, request, reply),
                }
                None
            }
        }
    }

    fn status(&self) -> DaemonStatus {
        DaemonStatus {
            running: true,
            pid: Some(std::process::id()),
            socket: self.socket.path().display().to_string(),
            version: Some(VERSION.to_owned()),
            uptime: Some(self.started.elapsed().as_secs()),
            connections: Some(self.connections.open.load(Ordering::Relaxed)),
        }
    }

    pub(super) fn changed(&mut self) {
        self.service.forget_indexes();
        self.saver.changed(Instant::now());
    }

    /// The next moment at which something is due without anybody asking.
    fn next_wake(&mut self) -> Instant {
        self.saver.eager = self.waiters.is_waiting() && self.service.is_in_company();
        let idle = self.idle_at();
        let retry = self.undelivered.iter().map(|(until, _)| *until).min();
        [Some(idle), self.save_due(), self.exchange_due(), self.waiters.next_wake(), retry]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(idle)
    }

    /// When to leave if nobody asks anything. Never at once: a client that stays connected would keep us spinning.
    fn idle_at(&self) -> Instant {
        self.last_request + self.service.config().duration("daemon.idle").max(SHORTEST_IDLE)
    }

    pub(super) fn save_due(&self) -> Option<Instant> {
        self.saver.save_due(self.service.config())
    }

    fn exchange_due(&self) -> Option<Instant> {
        let due = self.saver.exchange_due(self.service.config());
        let renewal = self.service.next_renewal().and_then(|renewal| self.saver.sooner(renewal));
        due.into_iter()
            .chain(renewal)
            .min()
            .filter(|_| self.service.has_remote() && self.service.syncs_itself())
    }

    fn woke(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        if [self.save_due(), self.exchange_due()].into_iter().flatten().any(|due| due <= now) {
            self.start_sync();
        }
        if self.waiters.next_wake().is_some_and(|wake| wake <= now)
            && let Some(stopped) = self.serve_waiters()
        {
            return Some(stopped);
        }
        if self.undelivered.iter().any(|(until, _)| *until <= now)
            && let Some(stopped) = self.free_overdue()
        {
            return Some(stopped);
        }
        let idle = self.idle_at();
        let alone = self.connections.open.load(Ordering::Relaxed) == 0;
        if idle <= now && alone && !self.saver.running {
            return Some(Stopped::Gracefully);
        }
        if idle <= now {
            // Somebody is still connected; look again later.
            self.last_request = now;
        }
        None
    }

    /// Saves what is not saved yet and lets go of the store. A client that asked for this learns how it went.
    pub async fn leave(mut self, stopped: Stopped) -> Result<(), Failure> {
        // Requests that are still in the queue see the end; their clients ask the next daemon.
        self.queue.close();
        // Replies are written by the tasks of their connections: give those a turn before the runtime goes.
        for _ in 0..FAREWELL_TURNS {
            tokio::task::yield_now().await;
        }
        let (left, replies) = match stopped {
            Stopped::JournalFailed(failure) => (Err(failure), Vec::new()),
            Stopped::Replaced(Fate::Moved) => (Ok(()), Vec::new()),
            Stopped::Replaced(fate) => (Err(self.service.replaced(fate)), Vec::new()),
            Stopped::Gracefully => (self.save_all().await, Vec::new()),
            Stopped::Asked(replies) => (self.save_all().await, replies),
        };
        match &left {
            Ok(()) => replies.into_iter().for_each(|(reply, _, answer)| drop(reply.send(answer))),
            Err(failure) => refuse(replies, failure),
        }
        left
    }
}

fn size((_, _, reply): &Owed) -> usize {
    reply.stdout.len() + reply.result.as_ref().map_or(0, |result| result.get().len())
}

fn refuse(replies: Vec<Owed>, failure: &Failure) {
    for (reply, format, _) in replies {
        let _ = reply.send(render::failure_reply(failure.clone(), format));
    }
}

async fn received(signal: &mut Signal) {
    signal.recv().await;
}
