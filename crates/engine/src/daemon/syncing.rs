//! Runs the daemon's syncs, each in its own thread, so that no client waits for git.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use beads_store::StoreChange;
use rustix::time::{ClockId, clock_gettime};

use super::engine::{Engine, Stopped};
use super::saver::Waiter;
use crate::failure::Failure;
use crate::log;
use crate::render::{self, Answer};
use crate::request::Reply;
use crate::service::{Reach, SyncJob, SyncResult, claims};

/// How long an exiting daemon waits for the running exchange and, after abandoning it, for its thread.
const LAST_EXCHANGE: Duration = Duration::from_secs(1);

/// The nice value of a background sync.
const BACKGROUND: i32 = 5;

impl Engine {
    /// Starts a sync. While the remote is failing, it is only tried early if a client asks for a sync.
    pub(super) fn start_sync(&mut self) {
        let asked = !self.saver.next_waiting.is_empty() || self.claimer.wants_fetch();
        self.saver.waiting.append(&mut self.saver.next_waiting);
        let now = Instant::now();
        let reach = self.saver.begin(asked, self.service.push_not_before(now), self.service.config(), now);
        let is_wanted = asked || self.service.auto_sync_enabled();
        self.begin_sync(if is_wanted { reach } else { Reach::Local });
    }

    /// Starts a fetch for claims that need the latest state of the remote. If a save is due, a full sync runs
    /// instead: otherwise a steady stream of claims would delay the push.
    pub(super) fn start_fetch(&mut self) {
        if self.save_due().is_some_and(|due| due <= Instant::now()) {
            return self.start_sync();
        }
        self.saver.begin_fetch();
        self.begin_sync(Reach::Fetch);
    }

    /// Begins a sync and runs it.
    fn begin_sync(&mut self, reach: Reach) {
        self.claimer.fetch_begins();
        let job = SyncJob::begin(&mut self.service, reach);
        self.run_sync(job);
    }

    /// Runs a sync that has begun, in a new thread.
    pub(super) fn run_sync(&mut self, job: Result<SyncJob, Failure>) {
        self.saver.running = true;
        let (send, asked) = (self.saver.send.clone(), self.saver.asked);
        let spent = self.saver.spent.clone();
        let job = match job {
            Ok(job) => job,
            Err(failure) => {
                let _ = send.send(Err(failure));
                return;
            }
        };
        std::thread::spawn(move || {
            if !asked && cfg!(target_os = "linux") {
                // On Linux this lowers the priority of this thread only, so that requests go first.
                let _ = rustix::process::nice(BACKGROUND);
            }
            // The engine needs a result even after a panic; otherwise it would never save again.
            let result = catch_unwind(AssertUnwindSafe(|| job.run()));
            spent.store(thread_cpu_micros(), Ordering::Relaxed);
            let _ = send.send(result.unwrap_or_else(|_| Err(Failure::internal("saving panicked"))));
        });
    }

    /// Finishes a sync: merges its result into memory, answers the waiting clients, and schedules what
    /// follows.
    pub(super) fn on_sync_done(&mut self, result: Result<SyncResult, Failure>) -> Option<Stopped> {
        self.saver.running = false;
        let exchanged = result.as_ref().is_ok_and(|result| result.exchanged.remote.is_some());
        let saved = result.is_ok();
        let now = Instant::now();
        self.saver.record_races(result.as_ref().ok(), now);
        self.saver.record_cost(now);
        let finished = SyncJob::finish(&mut self.service, result);
        self.finish_rescue(&finished);
        let position = self.service.position();
        let mut lost = Vec::new();
        for Waiter { reply, request, claimed } in std::mem::take(&mut self.saver.waiting) {
            let answered = match claimed {
                Some(claimed) => self.service.confirmed(claimed, finished.clone()),
                None => finished.clone().and_then(|answer| {
                    self.service.cache_sync_answer(&request, &answer)?;
                    Ok(Answer::Synced(answer))
                }),
            };
            let handed_out = answered.as_ref().map(|answer| claims(answer, &request)).unwrap_or_default();
            let answer = Reply { handed_out, ..render::reply(answered, &request.output, position) };
            lost.extend(reply.send(answer).err().into_iter().flat_map(|answer| answer.handed_out));
        }
        if let Some(stopped) = self.release_undelivered(lost) {
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
                self.saver.failed(now);
                log::note(&format!("saving failed: {}: {}", failure.code, failure.message));
                self.changed();
            }
        }
        self.claims_fetched();
        if !self.saver.running && !self.start_rescue() {
            if !self.saver.next_waiting.is_empty() {
                self.start_sync();
            } else if self.claimer.wants_fetch() {
                self.start_fetch();
            }
        }
        self.start_export();
        // The merge may contain what a client waits for, and what the hub lacks.
        let stopped = self.serve_waiters();
        if stopped.is_none() {
            self.step_hub();
        }
        stopped
    }

    /// Writes the file at `export.path` in a new thread, if it is due.
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

    /// Saves everything before the daemon exits.
    pub(super) async fn save_all(&mut self) -> Result<(), Failure> {
        if self.saver.running {
            self.finish_exchange().await;
        }
        self.finish_export();
        match self.service.store_change() {
            StoreChange::Unchanged | StoreChange::Touched => {}
            change => return Err(self.service.handle_replaced(change)),
        }
        if let Some(job) = self.service.take_export() {
            report(job.run());
        }
        if self.service.has_unsaved() {
            self.service.checkpoint()?;
        }
        Ok(())
    }

    /// Waits briefly for the running exchange, then abandons it: the next daemon waits for the lock, and the
    /// remote may never answer. The next daemon exchanges the rest.
    async fn finish_exchange(&mut self) {
        let mut result = tokio::time::timeout(LAST_EXCHANGE, self.saver.results.recv()).await;
        if result.is_err() {
            beads_store::kill_child_programs();
            result = tokio::time::timeout(LAST_EXCHANGE, self.saver.results.recv()).await;
        }
        match result {
            Ok(Some(result)) => {
                self.saver.next_waiting.clear();
                self.on_sync_done(result);
            }
            _ => SyncJob::abandon(&mut self.service),
        }
    }
}

/// Returns the processor time of this thread. The git program and the threads that encode a whole store are
/// not included.
fn thread_cpu_micros() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000 + time.tv_nsec / 1_000).unwrap_or_default()
}

/// Logs a failed export. It stops nothing, because the file is only a copy.
fn report(exported: Result<(), Failure>) {
    if let Err(failure) = exported {
        log::note(&format!("exporting failed: {}: {}", failure.code, failure.message));
    }
}
