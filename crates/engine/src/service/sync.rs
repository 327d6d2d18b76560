use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use beads_core::op::CollectGarbage;
use beads_core::{Event, EventKind, Op};
use beads_store::{
    AnyRemote, Checkpoint, Exchange, GitRepository, Guarded, Identity, JoinOnly, Remote, Repository, Saved,
    SystemUptime, Transport, Upkeep, UpkeepResult, default_remote, is_over_network,
};
use serde::{Deserialize, Serialize};

use super::Service;
use crate::config::Config;
use crate::failure::{Code, Failure};
use crate::log;
use crate::render::{Answer, SyncAnswer, VerifyAnswer};
use crate::request::Request;

/// The remote's name that means: stay alone.
pub(super) const NO_REMOTE: &str = "none";

/// How long claim refs may take after an exchange.
const LONGEST_UPKEEP: Duration = Duration::from_secs(20);

/// A pause between two races for the remote, at most; it grows with each race.
const JITTER_MS: u64 = 50;

/// Everything a thread needs to save a checkpoint and exchange it with the remote.
#[derive(Debug, Clone)]
pub struct SyncPlan {
    git_dir: PathBuf,
    identity: Arc<Identity>,
    /// As configured; looked up when the plan runs, because remotes come and go.
    remote: String,
    pub(super) transport: Transport,
    pub(super) deadline: Duration,
    /// What is done with claim refs once the exchange went through.
    pub upkeep: Option<Arc<Upkeep>>,
    pub reach: Reach,
    /// Make the store on the remote if it has none.
    pub may_publish: bool,
    /// The remote for which that was asked once.
    consent: Option<String>,
}

/// How far a plan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Saves here; the remote has its turn later.
    Local,
    /// Takes in what the remote has and pushes nothing.
    Fetch,
    /// Exchanges everything.
    Remote,
}

/// A checkpoint that was saved, and how the exchange went, if there was one.
#[derive(Debug)]
pub struct SyncResult {
    pub saved: Saved,
    pub remote: Option<String>,
    pub exchange: Result<Exchange, Failure>,
    pub reach: Reach,
    /// The remote has no store, and was not given one.
    pub withheld: bool,
    /// When the last commit of others that came here was made.
    pub foreign_ms: Option<u64>,
    /// Whether the remote is reached over a network.
    pub over_network: bool,
    /// What became of claim refs, if anything was to be done with them.
    pub upkeep: Option<Result<UpkeepResult, Failure>>,
}

impl SyncPlan {
    pub fn new(git_dir: &Path, identity: Arc<Identity>, config: &Config) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            identity,
            remote: config.get("sync.remote").unwrap_or_default().to_owned(),
            transport: config.transport(),
            deadline: config.duration("sync.deadline"),
            upkeep: None,
            reach: Reach::Remote,
            may_publish: config.get("sync.auto").is_ok_and(|auto| auto == "true"),
            consent: None,
        }
    }

    pub(super) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub fn run(&self, checkpoint: Checkpoint) -> Result<SyncResult, Failure> {
        let repository = self.guarded(GitRepository::open(&self.git_dir)?);
        let result = self.exchange(&repository, checkpoint);
        // Tidying up is for later if it cannot be done now; nothing depends on it.
        if let Err(error) = repository.inner().pack_loose_history() {
            log::note(&format!("packing failed: {error}"));
        }
        result
    }

    /// The path may name another repository by now.
    pub(super) fn guarded<T>(&self, inner: T) -> Guarded<T> {
        Guarded::new(inner, &self.git_dir, self.identity.clone())
    }

    fn exchange(
        &self,
        repository: &Guarded<GitRepository>,
        checkpoint: Checkpoint,
    ) -> Result<SyncResult, Failure> {
        let name = if self.reach == Reach::Local { Ok(None) } else { self.remote_name() };
        let exchange = match name {
            Ok(Some(name)) => {
                let remote =
                    self.guarded(AnyRemote::open(&self.git_dir, &name, self.transport, self.deadline));
                let may_publish = self.may_publish || self.consent.as_ref() == Some(&name);
                let remote = JoinOnly::new(remote, may_publish);
                let (saved, mut exchange) = match self.reach {
                    Reach::Fetch => checkpoint.fetch(repository, &remote)?,
                    _ => checkpoint.sync(repository, &remote, pause)?,
                };
                let withheld = remote.is_withheld();
                if let (true, Ok(exchange)) = (withheld, &mut exchange) {
                    exchange.pushed = false;
                }
                let theirs = exchange.as_ref().ok().and_then(|exchange| exchange.theirs.as_deref());
                let foreign_ms = theirs.and_then(|theirs| repository.inner().commit_time_ms(theirs));
                // Never before the store: a claim that is over on its ref must be over there, too.
                let upkeep = self.upkeep.as_ref().filter(|_| exchange.is_ok() && !withheld);
                let upkeep = upkeep.map(|upkeep| self.keep_up(upkeep, &name));
                return Ok(SyncResult {
                    saved,
                    remote: Some(name),
                    exchange: exchange.map_err(Failure::from),
                    reach: self.reach,
                    withheld,
                    foreign_ms,
                    over_network: is_over_network(&self.git_dir, remote.name()),
                    upkeep,
                });
            }
            Ok(None) => Ok(Exchange::default()),
            Err(failure) => Err(failure),
        };
        let saved = checkpoint.save(repository)?;
        Ok(SyncResult {
            saved,
            remote: None,
            exchange,
            reach: self.reach,
            withheld: false,
            foreign_ms: None,
            over_network: false,
            upkeep: None,
        })
    }

    /// With a deadline of its own: the exchange has had its time.
    fn keep_up(&self, upkeep: &Upkeep, remote: &str) -> Result<UpkeepResult, Failure> {
        let deadline = self.deadline.min(LONGEST_UPKEEP);
        let remote = self.guarded(AnyRemote::open(&self.git_dir, remote, self.transport, deadline));
        Ok(upkeep.run(&GitRepository::open(&self.git_dir)?, &remote, &SystemUptime)?)
    }

    /// The remote, which must be there.
    pub fn open_remote(&self) -> Result<AnyRemote, Failure> {
        let missing = || Failure::invalid("there is no remote; nothing was changed");
        let name = self.remote_name()?.ok_or_else(missing)?;
        Ok(AnyRemote::open(&self.git_dir, &name, self.transport, self.deadline))
    }

    pub(super) fn remote_name(&self) -> Result<Option<String>, Failure> {
        match self.remote.as_str() {
            NO_REMOTE => Ok(None),
            "" => Ok(default_remote(&self.git_dir)?),
            name => Ok(Some(name.to_owned())),
        }
    }
}

/// Rivals that lost at the same moment must not meet again at the next.
fn pause(round: u32) {
    let random = getrandom::u64().unwrap_or_default();
    std::thread::sleep(Duration::from_millis(random % (JITTER_MS * u64::from(round) + 1)));
}

/// What is known of the remote, kept over restarts for `bd status`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncState {
    pub remote: Option<String>,
    pub last_success_ms: Option<u64>,
    /// When the remote's store was last fetched without a push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_ms: Option<u64>,
    /// All mutations up to here are on the remote.
    pub pushed_position: u64,
    pub first_unpushed_ms: Option<u64>,
    pub last_error: Option<SyncError>,
    /// The remote to which the store may be published, because a sync was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// The last exchange found no store on the remote and made none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
    /// The user was told that nothing is published.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub said_local_only: bool,
    /// When the remote was asked for a store and had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<u64>,
    /// When a commit that this clone did not make last came here, by the clock of its maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_ms: Option<u64>,
    /// When it was asked and did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_in_vain_ms: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncError {
    pub code: Code,
    pub message: String,
    pub since_ms: u64,
    pub attempts: u64,
}

impl SyncState {
    fn path(store_dir: &Path) -> PathBuf {
        store_dir.join("sync-state.json")
    }

    /// Informational: a state that cannot be read is one that knows nothing yet.
    pub fn load(store_dir: &Path) -> Self {
        let bytes = std::fs::read(Self::path(store_dir)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(super) fn save(&self, store_dir: &Path) {
        let path = Self::path(store_dir);
        let temporary = path.with_extension("tmp");
        let bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        let _ = std::fs::remove_file(&temporary);
        // Errors of a remote are in it, which others on this machine need not read.
        let mut options = std::fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(&temporary);
        let written = opened.and_then(|mut file| file.write_all(&bytes));
        let _ = written.and_then(|()| std::fs::rename(&temporary, &path));
    }
}

impl Service {
    /// Fetched, merged, pushed and seen, or the real error; in this thread.
    pub(super) fn sync(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Some(answer) = self.told_of_sync(request)? {
            return Ok(Answer::Synced(answer));
        }
        self.consent();
        let answer = self.sync_now()?;
        self.keep_told_of_sync(request, &answer)?;
        Ok(Answer::Synced(answer))
    }

    /// What the same request was told before. A sync that failed is tried again.
    pub fn told_of_sync(&mut self, request: &Request) -> Result<Option<SyncAnswer>, Failure> {
        self.identify(request, &request.call)?;
        self.told(&self.caller(request, 0))
    }

    pub fn keep_told_of_sync(&mut self, request: &Request, answer: &SyncAnswer) -> Result<(), Failure> {
        self.identify(request, &request.call)?;
        let told = serde_json::to_value(answer).map_err(Failure::internal)?;
        let caller = self.caller(request, 0);
        Ok(self.replica.keep_told(&caller, told)?)
    }

    pub(super) fn sync_now(&mut self) -> Result<SyncAnswer, Failure> {
        let upkeep = self.upkeep().map(Arc::new);
        self.exchange_now(&SyncPlan { upkeep, may_publish: true, ..self.sync_plan() })
    }

    /// The same for a command that did not ask for it: a remote without a store is not given one.
    pub(super) fn exchange_in_passing(&mut self) -> Result<SyncAnswer, Failure> {
        let upkeep = self.upkeep().map(Arc::new);
        self.exchange_now(&SyncPlan { upkeep, ..self.sync_plan() })
    }

    /// Takes in what the remote has, in this thread.
    pub(super) fn fetch_now(&mut self) -> Result<SyncAnswer, Failure> {
        let upkeep = Some(Arc::new(self.look()));
        self.exchange_now(&SyncPlan { reach: Reach::Fetch, upkeep, ..self.sync_plan() })
    }

    fn exchange_now(&mut self, plan: &SyncPlan) -> Result<SyncAnswer, Failure> {
        self.collect_garbage()?;
        let position = self.replica.position();
        let checkpoint = self.replica.begin_checkpoint()?;
        match plan.run(checkpoint) {
            Ok(result) => self.finish_sync(result, position),
            Err(failure) => {
                self.replica.abandon_checkpoint();
                Err(failure)
            }
        }
    }

    /// Everything is on the local ref; the remote has its turn another time.
    pub(super) fn save(&mut self) -> Result<Answer, Failure> {
        self.checkpoint()?;
        let commit = self.replica.base().map(str::to_owned);
        let (pulled, pushed, rounds, conflicts) = (false, false, 0, 0);
        Ok(Answer::Synced(SyncAnswer { remote: None, commit, pulled, pushed, rounds, conflicts }))
    }

    /// Whether the last sync found a remote, or may find one.
    pub fn has_remote(&self) -> bool {
        self.sync_state.remote.is_some() || self.sync_state.last_error.is_some()
    }

    pub fn sync_plan(&self) -> SyncPlan {
        let plan = SyncPlan::new(&self.place.git_dir, self.identity.clone(), &self.config);
        SyncPlan { consent: self.sync_state.consent.clone(), ..plan }
    }

    /// Takes note of what a plan did. `position` is where the journal stood when its checkpoint was set aside.
    pub fn finish_sync(&mut self, result: SyncResult, position: u64) -> Result<SyncAnswer, Failure> {
        let SyncResult { saved, remote, exchange, reach, withheld, foreign_ms, over_network, upkeep } =
            result;
        let now_ms = self.replica.now_ms();
        self.note_unsynced();
        let told = exchange.as_ref().ok().filter(|exchange| exchange.pulled || exchange.pushed);
        let synced = told.map(|exchange| Event {
            text: remote.clone(),
            pulled: exchange.pulled,
            pushed: exchange.pushed,
            ..Event::new(EventKind::Synced, now_ms)
        });
        let failing = self.sync_state.last_error.is_some();
        let turn = match &exchange {
            Err(failure) if !failing => Some((EventKind::SyncFailed, Some(failure.message.clone()))),
            Ok(_) if failing && remote.is_some() => Some((EventKind::SyncRecovered, remote.clone())),
            _ => None,
        };
        let turn = turn.map(|(kind, text)| Event { text, ..Event::new(kind, now_ms) });
        let brought = saved.brought_something();
        self.replica.finish_checkpoint(saved, turn.into_iter().chain(synced).collect())?;
        if brought {
            // Whatever became of the exchange: it is in memory, and those who watch the export want to see it.
            self.note_merge();
        }
        if remote.is_some() {
            self.note_exchange(over_network, brought);
        }
        if exchange.as_ref().is_ok_and(|exchange| exchange.pushed) {
            self.note_push();
        }
        let state = &mut self.sync_state;
        if reach != Reach::Local {
            state.remote.clone_from(&remote);
        }
        match &exchange {
            Ok(_) if remote.is_some() && reach == Reach::Fetch => state.fetched_ms = Some(now_ms),
            Ok(_) if withheld => (state.withheld, state.last_error) = (true, None),
            Ok(_) if remote.is_some() => {
                state.withheld = false;
                state.last_success_ms = Some(now_ms);
                state.pushed_position = position;
                state.last_error = None;
                state.first_unpushed_ms = (self.replica.position() > position).then_some(now_ms);
            }
            Ok(_) => {}
            Err(failure) => {
                let known = state.last_error.take();
                let (since_ms, attempts) =
                    known.map_or((now_ms, 0), |error| (error.since_ms, error.attempts));
                let (code, message) = (failure.code.clone(), failure.message.clone());
                state.last_error = Some(SyncError { code, message, since_ms, attempts: attempts + 1 });
            }
        }
        self.sync_state.foreign_ms = self.sync_state.foreign_ms.max(foreign_ms.map(|ms| ms.min(now_ms)));
        if remote.is_some() || exchange.is_err() {
            self.sync_state.save(&self.place.store_dir());
        }
        match upkeep {
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
        let exchange = exchange?;
        Ok(SyncAnswer {
            remote,
            commit: self.replica.base().map(str::to_owned),
            pulled: exchange.pulled,
            pushed: exchange.pushed,
            rounds: exchange.rounds,
            conflicts: exchange.conflicts,
        })
    }

    /// Takes note since when something waits for the remote, while the journal still knows.
    pub(super) fn note_unsynced(&mut self) {
        let is_waiting = self.replica.position() > self.sync_state.pushed_position;
        if is_waiting && self.sync_state.first_unpushed_ms.is_none() {
            let since = self.replica.unsaved().oldest_ms.unwrap_or_else(|| self.replica.now_ms());
            self.sync_state.first_unpushed_ms = Some(since);
            self.sync_state.save(&self.place.store_dir());
        }
    }

    /// Raises the floor of garbage collection, when that is configured.
    pub fn collect_garbage(&mut self) -> Result<(), Failure> {
        let Some(ttl) = self.config.tombstone_ttl()? else { return Ok(()) };
        let newest_foreign_ms = self.replica.newest_foreign_ms();
        let op = Op::CollectGarbage(CollectGarbage { ttl_ms: super::millis(ttl), newest_foreign_ms });
        let caller = beads_store::Caller {
            actor: "bd".parse()?,
            branch: Default::default(),
            lease_ms: 0,
            request: None,
        };
        self.replica.apply(&op, &caller)?;
        Ok(self.replica.commit()?)
    }

    pub(super) fn verify(&self) -> Answer {
        let catalog = self.replica.catalog();
        Answer::Verified(VerifyAnswer {
            fingerprint: catalog.state().encode().fingerprint(),
            commit: self.repository.tip().ok().flatten(),
            beads: catalog.live_count(),
            deleted: catalog.deleted().count(),
            conflicts: catalog.state().conflicts().len(),
        })
    }
}
