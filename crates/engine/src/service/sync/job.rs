//! One sync: it begins on the open store, runs in any thread, and finishes on the open store. The daemon and
//! a command without a daemon differ only in the thread that runs it.

use std::sync::Arc;
use std::time::Duration;

use beads_core::{Event, EventKind};
use beads_store::progress::SYNC;
use beads_store::{
    AnyRemote, Checkpoint, Exchange, GitRepository, Guarded, JoinOnly, Remote, Rescue, Saved, SystemUptime,
    Upkeep, UpkeepResult, is_over_network,
};

use super::{Reach, SyncPlan};
use crate::failure::Failure;
use crate::log;
use crate::render::SyncAnswer;
use crate::service::{ReadRescue, Service};

/// How long the maintenance of claim refs may take after an exchange.
const LONGEST_UPKEEP: Duration = Duration::from_secs(20);

/// The maximum pause after the first lost race for the remote. It grows with each race.
const JITTER_MS: u64 = 50;

/// Everything a thread needs to save a checkpoint and exchange it with the remote.
#[derive(Debug)]
pub struct SyncJob {
    plan: SyncPlan,
    reach: Reach,
    checkpoint: Checkpoint,
    /// The maintenance of claim refs after the exchange.
    upkeep: Option<Upkeep>,
    /// The position of the journal when the checkpoint was taken.
    position: u64,
    /// A rescued state to save with the checkpoint.
    rescue: Option<Arc<Rescue>>,
}

/// A saved checkpoint and the result of the exchange.
#[derive(Debug)]
pub struct SyncResult {
    saved: Saved,
    /// The position of the journal when the checkpoint was taken.
    pub(super) position: u64,
    /// The result of the exchange.
    pub exchanged: Exchanged,
}

/// The result of the exchange with the remote, if there was one.
#[derive(Debug)]
pub struct Exchanged {
    /// The scope of the sync.
    pub reach: Reach,
    /// The remote, if one was contacted.
    pub remote: Option<String>,
    /// What was exchanged, or the error.
    pub outcome: Result<Exchange, Failure>,
    /// The remote has no store, and none was published.
    pub(super) withheld: bool,
    /// When the last received commit of others was made.
    pub(super) foreign_ms: Option<u64>,
    /// Whether the remote is reached over a network.
    over_network: bool,
    /// The result of the maintenance of claim refs.
    upkeep: Option<Result<UpkeepResult, Failure>>,
}

impl Exchanged {
    /// Returns the result if no remote was contacted.
    fn without_remote(reach: Reach, outcome: Result<Exchange, Failure>) -> Self {
        let (remote, withheld, foreign_ms, over_network, upkeep) = (None, false, None, false, None);
        Self { reach, remote, outcome, withheld, foreign_ms, over_network, upkeep }
    }

    fn pushed(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|exchange| exchange.pushed)
    }

    /// Returns the events for watchers: that the remote began to fail or recovered, and what was exchanged.
    fn events(&self, was_failing: bool, now_ms: u64) -> Vec<Event> {
        let turn = match &self.outcome {
            Err(failure) if !was_failing => Some((EventKind::SyncFailed, Some(failure.message.clone()))),
            Ok(_) if was_failing && self.remote.is_some() => {
                Some((EventKind::SyncRecovered, self.remote.clone()))
            }
            _ => None,
        };
        let turn = turn.map(|(kind, text)| Event { text, ..Event::new(kind, now_ms) });
        let exchange = self.outcome.as_ref().ok().filter(|exchange| exchange.pulled || exchange.pushed);
        let synced = exchange.map(|exchange| Event {
            text: self.remote.clone(),
            pulled: exchange.pulled,
            pushed: exchange.pushed,
            ..Event::new(EventKind::Synced, now_ms)
        });
        turn.into_iter().chain(synced).collect()
    }
}

impl SyncJob {
    /// Takes a snapshot of everything durable.
    pub fn begin(service: &mut Service, reach: Reach) -> Result<Self, Failure> {
        if reach != Reach::Save {
            service.collect_garbage()?;
        }
        let checkpoint = service.replica.begin_checkpoint()?;
        // Planned from the same state: the exchange pushes every end of a claim that the upkeep writes to a ref.
        let upkeep = match reach {
            Reach::Save | Reach::Local => None,
            Reach::Fetch => Some(service.look()),
            Reach::Remote { .. } => service.upkeep(),
        };
        let (plan, position) = (service.sync_plan(), service.replica.position());
        Ok(Self { plan, reach, checkpoint, upkeep, position, rescue: None })
    }

    /// Takes a snapshot of everything durable, to be saved together with a rescued state.
    pub fn begin_rescue(service: &mut Service, read: &ReadRescue) -> Result<Self, Failure> {
        Ok(Self { rescue: Some(read.rescue.clone()), ..Self::begin(service, Reach::Save)? })
    }

    /// Saves the snapshot and exchanges it. It does not need the open store, so it can run in any thread.
    pub fn run(self) -> Result<SyncResult, Failure> {
        let repository = self.plan.guarded(GitRepository::open(self.plan.git_dir())?);
        let _watched = matches!(self.reach, Reach::Remote { asked: true }).then(|| SYNC.watch());
        let result = self.run_in(&repository);
        if result.is_err() {
            // If git collected a commit on the ref before it was recorded, every later save would fail.
            let _ = repository.inner().roll_back_unfinished_save();
        }
        // Packing is optional; it is retried after the next sync.
        if let Err(error) = repository.inner().pack_loose_history() {
            log::note(&format!("packing failed: {error}"));
        }
        result
    }

    /// Like [`run`](Self::run), but in a repository that is already open, and without packing.
    fn run_in(mut self, repository: &Guarded<GitRepository>) -> Result<SyncResult, Failure> {
        let rescue = self.rescue.take();
        let conflicts = rescue.map_or(0, |rescue| self.checkpoint.join_rescued(repository, &rescue));
        let name = if self.reach.asks_remote() { self.plan.remote_name() } else { Ok(None) };
        let (position, reach) = (self.position, self.reach);
        let (saved, exchanged) = match name {
            Ok(Some(name)) => self.exchange(repository, name)?,
            // Without a remote, the archive only has to be in this repository.
            Ok(None) if reach.asks_remote() => {
                let (saved, archived) = self.checkpoint.save_and_archive(repository)?;
                let outcome = archived.map(|()| Exchange { conflicts, ..Exchange::default() });
                (saved, Exchanged::without_remote(reach, outcome.map_err(Failure::from)))
            }
            Ok(None) => {
                let saved = self.checkpoint.save(repository)?;
                (saved, Exchanged::without_remote(reach, Ok(Exchange { conflicts, ..Exchange::default() })))
            }
            Err(failure) => {
                let saved = self.checkpoint.save(repository)?;
                (saved, Exchanged::without_remote(reach, Err(failure)))
            }
        };
        Ok(SyncResult { saved, position, exchanged })
    }

    fn exchange(
        self,
        repository: &Guarded<GitRepository>,
        name: String,
    ) -> Result<(Saved, Exchanged), Failure> {
        let Self { plan, reach, checkpoint, upkeep, .. } = self;
        let remote = plan.guarded(plan.open(&name, plan.deadline));
        let may_publish = reach == Reach::Remote { asked: true } || plan.may_publish_to(&name);
        let remote = JoinOnly::new(remote, may_publish);
        let (saved, mut outcome) = match reach {
            Reach::Fetch => checkpoint.fetch(repository, &remote)?,
            _ => checkpoint.sync(repository, &remote, pause)?,
        };
        let withheld = remote.is_withheld();
        if let (true, Ok(exchange)) = (withheld, &mut outcome) {
            exchange.pushed = false;
        }
        let theirs = outcome.as_ref().ok().and_then(|exchange| exchange.theirs.as_deref());
        let foreign_ms = theirs.and_then(|theirs| repository.inner().commit_time_ms(theirs));
        // After the store was exchanged: a claim that ended on its ref must have ended in the store, too.
        let upkeep = upkeep.filter(|_| !withheld).and_then(|upkeep| upkeep.after(&outcome));
        let upkeep = upkeep.map(|upkeep| run_upkeep(&plan, &upkeep, &name));
        let over_network = is_over_network(plan.git_dir(), remote.name());
        let outcome = outcome.map_err(Failure::from);
        let remote = Some(name);
        Ok((saved, Exchanged { reach, remote, outcome, withheld, foreign_ms, over_network, upkeep }))
    }

    /// Applies the result of a job to the open store. After a failure everything is still in the journal.
    pub fn finish(service: &mut Service, result: Result<SyncResult, Failure>) -> Result<SyncAnswer, Failure> {
        match result {
            Ok(result) => service.finish_sync(result),
            Err(failure) => {
                Self::abandon(service);
                Err(failure)
            }
        }
    }

    /// Abandons a job without a result. Everything is still in the journal.
    pub fn abandon(service: &mut Service) {
        service.replica.abandon_checkpoint();
    }
}

/// Runs the maintenance of claim refs, with its own deadline because the exchange has used up the first.
fn run_upkeep(plan: &SyncPlan, upkeep: &Upkeep, remote: &str) -> Result<UpkeepResult, Failure> {
    let deadline = plan.deadline.min(LONGEST_UPKEEP);
    let remote: Guarded<AnyRemote> = plan.guarded(plan.open(remote, deadline));
    Ok(upkeep.run(&GitRepository::open(plan.git_dir())?, &remote, &SystemUptime)?)
}

/// Pauses for a random time, so that machines that lost a race do not race again at the same moment.
fn pause(round: u32) {
    let random = beads_store::random_u64().unwrap_or_default();
    std::thread::sleep(Duration::from_millis(random % (JITTER_MS * u64::from(round) + 1)));
}

impl Service {
    /// Runs a whole sync in this thread.
    pub(super) fn run_sync(&mut self, reach: Reach) -> Result<SyncAnswer, Failure> {
        let result = SyncJob::begin(self, reach)?.run();
        SyncJob::finish(self, result)
    }

    /// Saves to the ref, in this thread.
    pub fn checkpoint(&mut self) -> Result<SyncAnswer, Failure> {
        self.note_unsynced();
        let result = SyncJob::begin(self, Reach::Save)?.run_in(&self.repository);
        SyncJob::finish(self, result)
    }

    fn finish_sync(&mut self, result: SyncResult) -> Result<SyncAnswer, Failure> {
        let SyncResult { saved, position, exchanged } = result;
        let now_ms = self.replica.now_ms();
        self.note_unsynced();
        let brought = saved.has_merged_changes();
        let events = exchanged.events(self.sync_state.last_error.is_some(), now_ms);
        self.replica.finish_checkpoint(saved, events)?;
        if brought {
            // Even if the exchange failed later: the merge is in memory, so the export file must show it.
            self.note_merge();
        }
        if exchanged.remote.is_some() {
            self.note_exchange(exchanged.over_network, brought);
        }
        if exchanged.pushed() {
            self.note_push();
        }
        let is_first = self.sync_state.last_success_ms.is_none();
        let positions = (position, self.replica.position());
        self.sync_state.note(&exchanged, positions, now_ms);
        if exchanged.remote.is_some() || exchanged.outcome.is_err() {
            self.sync_state.save(&self.place.store_dir());
        }
        match exchanged.upkeep {
            Some(Ok(upkeep)) => {
                if upkeep.pushed() {
                    self.note_push();
                }
                self.upkept(upkeep);
                self.follow_fences();
            }
            Some(Err(failure)) => log::note(&format!("claim refs: {}: {}", failure.code, failure.message)),
            None => {}
        }
        let exchange = exchanged.outcome?;
        let has_joined = is_first && exchange.found && exchanged.remote.is_some();
        Ok(SyncAnswer {
            joined: has_joined.then(|| self.replica.catalog().live_count()),
            remote: exchanged.remote,
            commit: self.replica.known_tip().map(str::to_owned),
            pulled: exchange.pulled,
            pushed: exchange.pushed,
            rounds: exchange.rounds,
            conflicts: exchange.conflicts,
        })
    }
}
