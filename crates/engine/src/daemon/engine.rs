//! The engine: answers queued requests in batches. It applies a batch in memory, makes it durable with one
//! sync of the journal, and only then sends the replies. So a crash never loses what a reply acknowledged,
//! and requests that arrive during a sync share the next one.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use beads_store::StoreChange;
use beads_store::progress::SYNC;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::claimer::Claimer;
use super::connection::{Connections, Job, Traffic};
use super::hub::HubLink;
use super::imports::Imports;
use super::long_answers::{LongAnswers, Task};
use super::rescues::Rescues;
use super::saver::{Saver, Waiter};
use super::waiters::Waiters;
use super::{MAX_BATCH, MAX_BATCH_BYTES, SocketPath, VERSION, is_newer, planted};
use crate::failure::{Code, Failure};
use crate::render::{self, Answer, DaemonStatus};
use crate::request::{Call, Format, HandedOut, Reply, Unconfirmed};
use crate::service::{IMPORT, Service};

/// The minimum of `daemon.idle`.
const SHORTEST_IDLE: Duration = Duration::from_millis(100);

/// How often the engine yields before it exits: a reply needs one turn to be received and one to be written.
const YIELDS_BEFORE_EXIT: usize = 4;

/// The daemon's main loop, which owns the open store.
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
    pub(super) hub: HubLink,
    /// Claims whose replies were lost, each with the time until which its caller may retry.
    pub(super) undelivered: Vec<(Instant, HandedOut)>,
    /// Receives claims whose replies could not be written.
    lost: mpsc::UnboundedReceiver<Vec<HandedOut>>,
    pub(super) long: LongAnswers,
    pub(super) imports: Imports,
    pub(super) rescues: Rescues,
    /// Long queries and imports of this batch. They get their snapshots once the batch is durable.
    long_requests: Vec<Job>,
}

/// A reply that may be sent once the journal is synced.
pub type PendingReply = (oneshot::Sender<Reply>, Format, Reply);

/// Why the engine stopped.
#[derive(Debug)]
pub enum Stopped {
    /// It was idle or received a signal: save, then exit.
    Gracefully,
    /// A client asked it to stop. The reply reports whether everything was saved.
    Asked(Vec<PendingReply>),
    /// The repository was moved, replaced or deleted, so nothing can be saved there.
    Replaced(StoreChange),
    /// The journal failed: memory is ahead of the disk and must not be saved.
    JournalFailed(Failure),
}

impl Engine {
    /// Returns an engine for an open store that takes requests from `queue`.
    pub fn new(mut service: Service, queue: mpsc::Receiver<Job>, socket: SocketPath) -> Self {
        let now = Instant::now();
        service.confirms_later = true;
        service.keep_rows();
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
            hub: HubLink::default(),
            undelivered: Vec::new(),
            lost,
            long: LongAnswers::default(),
            imports: Imports::default(),
            rescues: Rescues::default(),
            long_requests: Vec::new(),
        };
        engine.service.note_remote();
        engine.configure_hub();
        if engine.service.has_unsaved() {
            engine.changed();
        }
        engine
    }

    /// Returns the directory of the store's files.
    pub fn store_dir(&self) -> std::path::PathBuf {
        self.service.place().store_dir()
    }

    /// Returns the counters shared with the connections.
    pub fn connections(&self) -> Connections {
        self.connections.clone()
    }

    /// Serves requests until the daemon should stop.
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
                    Some(job) => self.run_batch(job).await,
                    None => Some(Stopped::Gracefully),
                },
                Some(result) = self.saver.results.recv() => self.on_sync_done(result),
                Some(result) = self.claimer.results.recv() => self.round_done(result),
                Some(event) = self.hub.events.recv() => self.on_hub_event(event),
                Some(lost) = self.lost.recv() => self.release_undelivered(lost),
                Some(import) = self.imports.read.recv() => self.continue_import(import),
                Some(rescue) = self.rescues.read.recv() => self.continue_rescue(rescue),
                () = tokio::time::sleep_until(wake.into()) => self.on_timer(),
                () = received(&mut terminate) => Some(Stopped::Gracefully),
                () = received(&mut interrupt) => Some(Stopped::Gracefully),
            };
            if let Some(stopped) = stop {
                return stopped;
            }
        }
    }

    /// Answers all queued requests in order, with one sync.
    async fn run_batch(&mut self, first: Job) -> Option<Stopped> {
        // Let other connections queue their requests, so that they share the sync.
        tokio::task::yield_now().await;
        self.last_request = Instant::now();
        match self.service.store_change() {
            StoreChange::Unchanged | StoreChange::Touched => {}
            // A client that asks about this daemon learns where its changes were saved.
            change @ StoreChange::Replaced
                if matches!(first.request.call, Call::DaemonStatus | Call::DaemonStop) =>
            {
                let failure = self.service.handle_replaced(change);
                let format = first.request.output.format;
                let _ = first.reply.send(render::failure_reply(failure.clone(), format));
                return Some(Stopped::JournalFailed(failure));
            }
            // The connections are closed. No request was applied, so the clients ask the next daemon.
            change => return Some(Stopped::Replaced(change)),
        }
        let before = self.service.position();
        let mut replies = Vec::new();
        let (mut stop, mut bytes) = (None, 0);
        let mut next = Some(first);
        while let Some(mut job) = next {
            if is_newer(&job.request.client) {
                let failure = Failure::new(
                    Code::DaemonOlder,
                    format!("this daemon has version {VERSION} and exits so that a newer one can start"),
                );
                let _ = job.reply.send(render::failure_reply(failure, Format::Value));
                stop = Some(Stopped::Gracefully);
                break;
            }
            job.request.adapt_to_client();
            let answered = replies.len();
            stop = self.handle(job, &mut replies);
            bytes += replies[answered..].iter().map(size).sum::<usize>();
            let full = replies.len() + self.long_requests.len() >= MAX_BATCH;
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
        // If the daemon stops, these connections are closed and the clients ask the next daemon.
        self.long_requests.clear();
        stopped
    }

    /// Hands the batch's long queries and imports, with snapshots, to other threads.
    fn answer_long(&mut self) {
        for Job { request, reply } in std::mem::take(&mut self.long_requests) {
            match request.call {
                Call::Import { .. } => {
                    self.begin_import(Job { request, reply });
                    continue;
                }
                Call::ImportRescued { .. } => {
                    self.begin_rescue(Job { request, reply });
                    continue;
                }
                _ => {}
            }
            let format = request.output.format;
            let question = Box::new(self.service.long_question(request));
            self.long.run(Task::Answer(question, format, reply));
        }
    }

    /// Makes everything durable with one sync, then sends the replies.
    pub(super) fn deliver(&mut self, replies: Vec<PendingReply>, before: u64) -> Option<Stopped> {
        let committed = if planted::commits_later() { Ok(()) } else { self.service.commit() };
        let change = self.service.store_change();
        if !matches!(change, StoreChange::Unchanged | StoreChange::Touched) {
            let failure = self.service.handle_replaced(change);
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
        self.configure_hub();
        if self.service.position() > before {
            self.changed();
            self.step_hub();
        }
        if !self.saver.next_waiting.is_empty() && !self.saver.running {
            self.start_sync();
        }
        self.release_undelivered(lost)
    }

    /// Retries the waiting requests and sends their replies.
    pub(super) fn serve_waiters(&mut self) -> Option<Stopped> {
        let before = self.service.position();
        let replies = self.try_waiters();
        let delivered = self.deliver(replies, before);
        self.start_round();
        delivered
    }

    /// Handles one request: answers it, or queues it for a sync, a claim round, a long answer or a wait.
    fn handle(&mut self, job: Job, replies: &mut Vec<PendingReply>) -> Option<Stopped> {
        let Job { request, reply } = job;
        self.undelivered.retain(|(_, claim)| claim.request_id != request.request_id);
        self.service.mark_session_alive(&request);
        if self.service.is_long(&request.call) {
            self.long_requests.push(Job { request, reply });
            return None;
        }
        match &request.call {
            Call::Sync => {
                if let Some(cached) = self.service.cached_sync_answer(&request).transpose() {
                    let position = self.service.position();
                    let answer = render::reply(cached.map(Answer::Synced), &request.output, position);
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
                let pending = (reply, request.output.format, answer);
                if matches!(request.call, Call::DaemonStop) {
                    return Some(Stopped::Asked(vec![pending]));
                }
                replies.push(pending);
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
            sync: SYNC.last().map(Into::into),
            import: IMPORT.last().map(Into::into),
        }
    }

    /// Schedules a save after a change.
    pub(super) fn changed(&mut self) {
        self.saver.changed(Instant::now());
    }

    /// Returns when the engine has to wake up next, even if no request arrives.
    fn next_wake(&mut self) -> Instant {
        self.saver.eager = self.waiters.is_waiting() && self.service.others_wrote_recently();
        let idle = self.idle_at();
        let retry = self.undelivered.iter().map(|(until, _)| *until).min();
        let kept = self.service.kept_until();
        [
            Some(idle),
            self.save_due(),
            self.exchange_due(),
            self.waiters.next_wake(),
            self.hub_wake(),
            retry,
            kept,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(idle)
    }

    /// Returns when to exit if no request arrives. Never immediately: a client that stays connected would
    /// make the loop spin.
    fn idle_at(&self) -> Instant {
        self.last_request + self.service.config().duration("daemon.idle").max(SHORTEST_IDLE)
    }

    pub(super) fn save_due(&self) -> Option<Instant> {
        self.saver.save_due(self.service.config())
    }

    /// Returns when the next exchange with the remote is due.
    fn exchange_due(&self) -> Option<Instant> {
        let due = self.saver.exchange_due(self.service.config());
        let renewal = self.service.next_renewal().and_then(|renewal| self.saver.earliest_exchange(renewal));
        due.into_iter()
            .chain(renewal)
            .min()
            .filter(|_| self.service.has_remote() && self.service.auto_sync_enabled())
    }

    /// Does what is due: saves, exchanges, retries waiting requests, releases undelivered claims, or stops.
    fn on_timer(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        self.service.drop_expired(now);
        if [self.save_due(), self.exchange_due()].into_iter().flatten().any(|due| due <= now) {
            self.start_sync();
        }
        if self.waiters.next_wake().is_some_and(|wake| wake <= now)
            && let Some(stopped) = self.serve_waiters()
        {
            return Some(stopped);
        }
        if self.undelivered.iter().any(|(until, _)| *until <= now)
            && let Some(stopped) = self.release_overdue()
        {
            return Some(stopped);
        }
        if self.awaits_hub()
            && let Some(stopped) = self.on_hub_timer()
        {
            return Some(stopped);
        }
        let idle = self.idle_at();
        let alone = self.connections.open.load(Ordering::Relaxed) == 0;
        if idle <= now && alone && !self.saver.running && !self.service.keeps_daemon() {
            return Some(Stopped::Gracefully);
        }
        if idle <= now {
            // A client is still connected, or sync.keep_daemon is set; check again later.
            self.last_request = now;
        }
        None
    }

    /// Saves unsaved changes and closes the store. A client that asked the daemon to stop gets the result.
    pub async fn shut_down(mut self, stopped: Stopped) -> Result<(), Failure> {
        // The connections of queued requests are closed; their clients ask the next daemon.
        self.queue.close();
        if !matches!(stopped, Stopped::JournalFailed(_) | Stopped::Replaced(_)) {
            self.service.save_hub();
        }
        // Replies are written by the tasks of their connections: let those run before the runtime shuts down.
        for _ in 0..YIELDS_BEFORE_EXIT {
            tokio::task::yield_now().await;
        }
        let (left, replies) = match stopped {
            Stopped::JournalFailed(failure) => (Err(failure), Vec::new()),
            Stopped::Replaced(StoreChange::Moved) => (Ok(()), Vec::new()),
            Stopped::Replaced(change) => (Err(self.service.handle_replaced(change)), Vec::new()),
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

/// Returns the approximate size of a reply.
fn size((_, _, reply): &PendingReply) -> usize {
    reply.stdout.len() + reply.result.as_ref().map_or(0, |result| result.get().len())
}

/// Sends a failure instead of the pending replies.
fn refuse(replies: Vec<PendingReply>, failure: &Failure) {
    for (reply, format, _) in replies {
        let _ = reply.send(render::failure_reply(failure.clone(), format));
    }
}

async fn received(signal: &mut Signal) {
    signal.recv().await;
}
