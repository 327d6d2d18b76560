//! The engine: takes requests in the order in which they arrive, answers a batch of them in memory, makes the batch
//! durable with one sync, and only then lets the answers go. So replies never speak of anything that a crash could
//! take back, and what queued up during a sync shares the next one.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use beads_store::{GitRepository, Saved};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::connection::{Connections, Job};
use super::{DaemonStatus, MAX_BATCH, SocketPath, VERSION, is_newer};
use crate::failure::Failure;
use crate::render::{self, Answer};
use crate::request::{Call, Format, Output, Reply};
use crate::service::Service;

/// After a checkpoint that failed, the next try waits this long, and twice as long each time, up to the second.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(300);

pub struct Engine {
    service: Service,
    queue: mpsc::Receiver<Job>,
    socket: SocketPath,
    connections: Connections,
    started: Instant,
    last_request: Instant,
    saver: Saver,
}

/// Why the engine stopped.
#[derive(Debug)]
pub enum Stopped {
    /// Asked to, or idle: save and go.
    Gracefully,
    /// The journal failed: memory is ahead of the disk and must not be saved.
    JournalFailed(Failure),
}

/// The checkpoint under way and when the next one is due.
struct Saver {
    results: mpsc::UnboundedReceiver<Result<Saved, Failure>>,
    send: mpsc::UnboundedSender<Result<Saved, Failure>>,
    running: bool,
    /// The first and the latest change that is not on the ref.
    first_change: Option<Instant>,
    last_change: Option<Instant>,
    retry: Option<(Instant, Duration)>,
    /// Who waits for the checkpoint under way, and who for the one after it.
    waiting: Vec<Waiter>,
    next_waiting: Vec<Waiter>,
}

type Waiter = (oneshot::Sender<Reply>, Output);

impl Engine {
    pub fn new(service: Service, queue: mpsc::Receiver<Job>, socket: SocketPath) -> Self {
        let (send, results) = mpsc::unbounded_channel();
        let saver = Saver {
            results,
            send,
            running: false,
            first_change: None,
            last_change: None,
            retry: None,
            waiting: Vec::new(),
            next_waiting: Vec::new(),
        };
        let now = Instant::now();
        let mut engine = Self {
            service,
            queue,
            socket,
            connections: Connections::default(),
            started: now,
            last_request: now,
            saver,
        };
        if engine.service.replica().unsaved().records > 0 {
            engine.changed();
        }
        engine
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
                Some(result) = self.saver.results.recv() => self.saved(result),
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
        let before = self.service.replica().position();
        let mut replies = Vec::new();
        let mut stop = None;
        let mut next = Some(first);
        while let Some(job) = next {
            if is_newer(&job.request.client) {
                let failure = Failure::new("daemon_older", format!("this daemon is {VERSION} and makes way"));
                let _ = job.reply.send(render::failure_reply(failure, Format::Value));
                stop = Some(Stopped::Gracefully);
                break;
            }
            stop = self.one(job, &mut replies);
            if stop.is_some() || replies.len() >= MAX_BATCH {
                break;
            }
            next = self.queue.try_recv().ok();
        }
        if let Err(failure) = self.service.commit() {
            for (reply, output, _) in replies {
                let _ = reply.send(render::failure_reply(failure.clone(), output.format));
            }
            return Some(Stopped::JournalFailed(failure));
        }
        for (reply, _, answer) in replies {
            let _ = reply.send(answer);
        }
        if self.service.replica().position() > before {
            self.changed();
        }
        stop
    }

    fn one(
        &mut self,
        job: Job,
        replies: &mut Vec<(oneshot::Sender<Reply>, Output, Reply)>,
    ) -> Option<Stopped> {
        let Job { request, reply } = job;
        match &request.call {
            Call::Sync => {
                self.saver.next_waiting.push((reply, request.output));
                if !self.saver.running {
                    self.start_checkpoint();
                }
                None
            }
            Call::DaemonStatus | Call::DaemonStop => {
                let status = Answer::Daemon(self.status());
                let position = self.service.replica().position();
                let answer = render::reply(Ok(status), &request.output, position);
                let stop = matches!(request.call, Call::DaemonStop);
                replies.push((reply, request.output, answer));
                stop.then_some(Stopped::Gracefully)
            }
            _ => {
                let answer = self.service.answer(&request);
                replies.push((reply, request.output, answer));
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

    fn changed(&mut self) {
        let now = Instant::now();
        self.saver.first_change.get_or_insert(now);
        self.saver.last_change = Some(now);
    }

    /// The next moment at which something is due without anybody asking.
    fn next_wake(&self) -> Instant {
        let idle = self.last_request + self.service.config().duration("daemon.idle");
        [Some(idle), self.checkpoint_due()].into_iter().flatten().min().unwrap_or(idle)
    }

    /// After a little quiet, but never longer after the first change than the maximum.
    fn checkpoint_due(&self) -> Option<Instant> {
        if self.saver.running {
            return None;
        }
        let config = self.service.config();
        let quiet = self.saver.last_change? + config.duration("sync.quiet");
        let latest = self.saver.first_change? + config.duration("sync.max_delay");
        let due = quiet.min(latest);
        Some(self.saver.retry.map_or(due, |(not_before, _)| due.max(not_before)))
    }

    fn woke(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        if self.checkpoint_due().is_some_and(|due| due <= now) {
            self.start_checkpoint();
        }
        let idle = self.last_request + self.service.config().duration("daemon.idle");
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

    /// Sets a snapshot aside and saves it in a thread of its own, so that nobody waits for git.
    fn start_checkpoint(&mut self) {
        self.saver.waiting.append(&mut self.saver.next_waiting);
        let checkpoint = match self.service.replica().begin_checkpoint() {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                let _ = self.saver.send.send(Err(error.into()));
                self.saver.running = true;
                return;
            }
        };
        self.saver.running = true;
        (self.saver.first_change, self.saver.last_change) = (None, None);
        let (git_dir, send) = (self.service.place().git_dir.clone(), self.saver.send.clone());
        std::thread::spawn(move || {
            let result = GitRepository::open(&git_dir).and_then(|repository| checkpoint.save(&repository));
            let _ = send.send(result.map_err(Failure::from));
        });
    }

    fn saved(&mut self, result: Result<Saved, Failure>) -> Option<Stopped> {
        self.saver.running = false;
        let before = self.service.replica().base().map(str::to_owned);
        let finished = result.and_then(|saved| Ok(self.service.replica().finish_checkpoint(saved)?));
        let moved = self.service.replica().base().map(str::to_owned) != before;
        let position = self.service.replica().position();
        for (reply, output) in std::mem::take(&mut self.saver.waiting) {
            let answer = finished.clone().map(|()| Answer::Synced { moved });
            let _ = reply.send(render::reply(answer, &output, position));
        }
        match finished {
            Ok(()) => self.saver.retry = None,
            Err(failure) => {
                self.service.replica().abandon_checkpoint();
                let pause = self.saver.retry.map_or(FIRST_RETRY, |(_, pause)| (pause * 2).min(LAST_RETRY));
                self.saver.retry = Some((Instant::now() + pause, pause));
                eprintln!("checkpoint failed, trying again in {} s: {}", pause.as_secs(), failure.message);
                self.changed();
            }
        }
        if !self.saver.next_waiting.is_empty() {
            self.start_checkpoint();
        }
        None
    }

    /// Waits for the checkpoint under way, saves the rest, and lets go of the store.
    pub async fn leave(mut self, stopped: Stopped) -> Result<(), Failure> {
        // Whoever still waits in the queue sees the end and asks the next daemon.
        self.queue.close();
        if let Stopped::JournalFailed(failure) = stopped {
            return Err(failure);
        }
        if self.saver.running
            && let Some(result) = self.saver.results.recv().await
        {
            self.saver.next_waiting.clear();
            self.saved(result);
        }
        if self.service.replica().unsaved().records > 0 {
            self.service.checkpoint()?;
        }
        Ok(())
    }
}

async fn received(signal: &mut Signal) {
    signal.recv().await;
}
