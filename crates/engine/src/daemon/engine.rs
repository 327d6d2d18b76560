//! The engine: takes requests in the order in which they arrive, answers a batch of them in memory, makes the batch
//! durable with one sync, and only then lets the answers go. So replies never speak of anything that a crash could
//! take back, and what queued up during a sync shares the next one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use beads_core::Op;
use beads_core::op::{Guard, Unclaim};
use beads_store::Fate;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::claimer::Claimer;
use super::connection::{Connections, Job, Traffic};
use super::imports::Imports;
use super::long_answers::{LongAnswers, Task};
use super::saver::{Saver, Waiter};
use super::waiters::Waiters;
use super::{MAX_BATCH, MAX_BATCH_BYTES, SocketPath, VERSION, is_newer};
use crate::failure::{Code, Failure};
use crate::log;
use crate::render::{self, Answer, DaemonStatus};
use crate::request::{Call, Format, HandedOut, Output, Reply, Request, Unconfirmed};
use crate::service::{Reach, Service, SyncResult, claims};

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
    exporting: Option<JoinHandle<()>>,
    pub(super) waiters: Waiters,
    pub(super) claimer: Claimer,
    /// Claims whose replies were lost, each with the time until which its caller may ask again.
    undelivered: Vec<(Instant, HandedOut)>,
    /// Claims whose replies the connections could not write.
    lost: mpsc::UnboundedReceiver<Vec<HandedOut>>,
    pub(super) long: LongAnswers,
    pub(super) imports: Imports,
    /// Long questions and imports of this batch: their snapshots are set aside when the batch is durable.
    asked_long: Vec<Job>,
}

/// How long a claim whose reply was lost is kept for a caller that chose its request id.
const KEPT_FOR_RETRY: Duration = Duration::from_secs(60);

/// Why such a claim is given back.
const UNDELIVERED: &str = "given back: the reply to the claim could not be delivered";

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

/// How long a daemon that leaves waits for the exchange under way, and then, once it was abandoned, for its thread.
const LAST_EXCHANGE: Duration = Duration::from_secs(1);

/// How far a save that nobody waits for steps back behind those who are waiting.
const BACKGROUND: i32 = 5;

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
        if engine.service.replica().unsaved().records > 0 {
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
        let before = self.service.replica().position();
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
        if self.service.replica().position() > before {
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
        #[cfg(feature = "planted")]
        let committed = if super::planted::commits_later() { Ok(()) } else { self.service.commit() };
        #[cfg(not(feature = "planted"))]
        let committed = self.service.commit();
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
        if self.service.replica().position() > before {
            self.changed();
        }
        if !self.saver.next_waiting.is_empty() && !self.saver.running {
            self.start_sync();
        }
        self.give_back(lost)
    }

    /// Frees claims whose replies could not be delivered. One whose caller chose a request id may be asked for again, and
    /// is kept for a while.
    pub(super) fn give_back(&mut self, lost: Vec<HandedOut>) -> Option<Stopped> {
        let mut freed = false;
        for claim in lost {
            if claim.may_be_retried() {
                self.undelivered.push((Instant::now() + KEPT_FOR_RETRY, claim));
            } else {
                freed |= self.free(&claim);
            }
        }
        if !freed {
            return None;
        }
        match self.service.commit() {
            Ok(()) => {
                self.changed();
                self.serve_waiters()
            }
            Err(failure) => Some(Stopped::JournalFailed(failure)),
        }
    }

    /// Under its fence, so that a claim that is over already, or another one, is left alone.
    fn free(&mut self, claim: &HandedOut) -> bool {
        let (Ok(fence), Ok(reason)) = (claim.fence.parse(), UNDELIVERED.parse()) else { return false };
        let guard = Guard { fence: Some(fence), ..Guard::default() };
        let unclaim = Unclaim { id: claim.id.clone(), guard, reason, ..Unclaim::default() };
        let request = Request {
            client: VERSION.to_owned(),
            actor: claim.actor.clone(),
            branch: Default::default(),
            session: None,
            request_id: None,
            no_export: false,
            offline: false,
            call: Call::one(Op::Unclaim(unclaim)),
            output: Output::default(),
        };
        self.service.answer(&request).error.is_none()
    }

    fn free_overdue(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        let (due, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.undelivered).into_iter().partition(|(until, _)| *until <= now);
        self.undelivered = kept;
        // Nobody asked again in time.
        let lost = due.into_iter().map(|(_, claim)| HandedOut { request_id: None, ..claim }).collect();
        self.give_back(lost)
    }

    fn serve_waiters(&mut self) -> Option<Stopped> {
        let before = self.service.replica().position();
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
                    let position = self.service.replica().position();
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
                let position = self.service.replica().position();
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
                    #[cfg(feature = "planted")]
                    Some(answer) => {
                        let answer = super::planted::made_stale(&request, answer);
                        replies.push((reply, request.output.format, answer));
                    }
                    #[cfg(not(feature = "planted"))]
                    Some(answer) => replies.push((reply, request.output.format, answer)),
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

    fn save_due(&self) -> Option<Instant> {
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

    /// Sets a snapshot aside and saves and exchanges it in a thread of its own, so that nobody waits for git. While the
    /// remote is failing, only somebody who asks for a sync makes it be tried before its time.
    pub(super) fn start_sync(&mut self) {
        let asked = !self.saver.next_waiting.is_empty() || self.claimer.wants_fetch();
        self.saver.waiting.append(&mut self.saver.next_waiting);
        let now = Instant::now();
        let local_only = self.saver.begun(asked, self.service.push_not_before(now), now);
        let local_only = local_only || !asked && !self.service.syncs_itself();
        self.exchange(if local_only { Reach::Local } else { Reach::Remote }, asked);
    }

    /// The same for claims that only need to see what others did. What is to be pushed stays due, and goes along when its time
    /// has come: claims that follow each other closely must not keep it here.
    pub(super) fn start_fetch(&mut self) {
        if self.save_due().is_some_and(|due| due <= Instant::now()) {
            return self.start_sync();
        }
        self.saver.begun_fetch();
        self.exchange(Reach::Fetch, true);
    }

    fn exchange(&mut self, reach: Reach, asked: bool) {
        self.claimer.fetch_begins();
        self.saver.running = true;
        let begun =
            self.service.collect_garbage().and_then(|()| Ok(self.service.replica().begin_checkpoint()?));
        let checkpoint = match begun {
            Ok(checkpoint) => checkpoint,
            Err(failure) => {
                let _ = self.saver.send.send(Err(failure));
                return;
            }
        };
        self.saver.position = self.service.replica().position();
        let mut plan = self.service.sync_plan();
        plan.reach = reach;
        plan.may_publish |= asked;
        plan.upkeep = match reach {
            Reach::Local => None,
            Reach::Fetch => Some(Arc::new(self.service.look())),
            Reach::Remote => self.service.upkeep().map(Arc::new),
        };
        let send = self.saver.send.clone();
        std::thread::spawn(move || {
            if !asked && cfg!(target_os = "linux") {
                // There it is about this thread alone. Whoever is asked something goes first.
                let _ = rustix::process::nice(BACKGROUND);
            }
            // Somebody waits for the result, also for that of a panic: nothing would ever be saved again.
            let result = catch_unwind(AssertUnwindSafe(|| plan.run(checkpoint)));
            let _ = send.send(result.unwrap_or_else(|_| Err(Failure::internal("saving panicked"))));
        });
    }

    fn synced(&mut self, result: Result<SyncResult, Failure>) -> Option<Stopped> {
        self.saver.running = false;
        let exchanged = result.as_ref().is_ok_and(|result| result.remote.is_some());
        let saved = result.is_ok();
        let now = Instant::now();
        self.saver.raced(result.as_ref().ok(), now);
        let finished = result.and_then(|result| self.service.finish_sync(result, self.saver.position));
        let position = self.service.replica().position();
        let mut lost = Vec::new();
        for Waiter { reply, request, claimed } in std::mem::take(&mut self.saver.waiting) {
            let told = match claimed {
                Some(claimed) => self.service.confirmed(claimed, finished.clone()),
                None => finished.clone().and_then(|answer| {
                    self.service.keep_told_of_sync(&request, &answer)?;
                    Ok(Answer::Synced(answer))
                }),
            };
            let handed_out = told.as_ref().map(|answer| claims(answer, &request)).unwrap_or_default();
            let answer = Reply { handed_out, ..render::reply(told, &request.output, position) };
            lost.extend(reply.send(answer).err().into_iter().flat_map(|answer| answer.handed_out));
        }
        if let Some(stopped) = self.give_back(lost) {
            return Some(stopped);
        }
        match finished {
            Ok(_) if exchanged => self.saver.exchanged(),
            Ok(_) => self.saver.saved(),
            Err(failure) if saved => {
                self.saver.remote_failed(&failure, now);
                log::note(&format!("sync failed: {}: {}", failure.code, failure.message));
            }
            Err(failure) => {
                self.service.replica().abandon_checkpoint();
                self.saver.failed(now);
                log::note(&format!("saving failed: {}: {}", failure.code, failure.message));
                self.changed();
            }
        }
        self.claims_fetched();
        if !self.saver.running {
            if !self.saver.next_waiting.is_empty() {
                self.start_sync();
            } else if self.claimer.wants_fetch() {
                self.start_fetch();
            }
        }
        self.start_export();
        // A merge may have brought what somebody waits for.
        self.serve_waiters()
    }

    /// Writes the file at `export.path`, if that is due, in a thread of its own.
    fn start_export(&mut self) {
        if let Some(job) = self.service.take_export() {
            self.finish_export();
            self.exporting = Some(std::thread::spawn(move || report(job.run())));
        }
    }

    fn finish_export(&mut self) {
        if let Some(thread) = self.exporting.take() {
            let _ = thread.join();
        }
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

    async fn save_all(&mut self) -> Result<(), Failure> {
        if self.saver.running {
            self.finish_exchange().await;
        }
        self.finish_export();
        match self.service.fate() {
            Fate::Same | Fate::Touched => {}
            fate => return Err(self.service.replaced(fate)),
        }
        if let Some(job) = self.service.take_export() {
            report(job.run());
        }
        if self.service.replica().unsaved().records > 0 {
            self.service.checkpoint()?;
        }
        Ok(())
    }

    /// Gives the exchange under way a moment, then abandons it: the next daemon waits for the store, and the remote may
    /// never answer. What was not exchanged is the next daemon's to exchange.
    async fn finish_exchange(&mut self) {
        let mut result = tokio::time::timeout(LAST_EXCHANGE, self.saver.results.recv()).await;
        if result.is_err() {
            beads_store::abandon_all();
            result = tokio::time::timeout(LAST_EXCHANGE, self.saver.results.recv()).await;
        }
        match result {
            Ok(Some(result)) => {
                self.saver.next_waiting.clear();
                self.synced(result);
            }
            _ => self.service.replica().abandon_checkpoint(),
        }
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

/// A file that cannot be written stops nothing: it is only a copy.
fn report(exported: Result<(), Failure>) {
    if let Err(failure) = exported {
        log::note(&format!("exporting failed: {}: {}", failure.code, failure.message));
    }
}

async fn received(signal: &mut Signal) {
    signal.recv().await;
}
