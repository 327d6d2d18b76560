//! Answers requests on an open store. The daemon and a command without daemon run exactly this.

mod archive;
mod atomic;
mod claims;
mod clients;
mod conflicts;
mod consent;
mod events;
mod exclusive;
mod export;
mod first_look;
mod import;
mod import_source;
mod leases;
mod memories;
mod migrate;
mod mutate;
mod note;
mod past;
mod planning;
mod push_budget;
mod query;
mod read_only;
mod reader;
mod repair;
mod repair_deps;
mod replaced;
mod request_id;
mod sessions;
mod settings;
mod status;
mod sync;
mod undo;
mod uninstall;
mod validate;

pub use claims::claims;
pub use exclusive::{ClaimJob, ClaimRound, Picked, RoundResult, Settled};
pub use export::ExportJob;
pub use import::{ImportJob, ReadImport};
pub use migrate::{earlier_commits, take_over};
pub use planning::DEFAULT_MINUTES;
pub use reader::LongQuestion;
pub use repair::repair;
pub use sync::{Reach, SyncJob, SyncPlan, SyncResult, SyncState};
pub use uninstall::uninstall;
pub use validate::findings_of;

use std::sync::Arc;
use std::time::{Duration, Instant};

use beads_store::{GitRepository, Guarded, Identity, JournalCopy, RealDisk, RealWorld, Replica, StoreLock};

use crate::config::Config;
use crate::dialect::Dialect;
use crate::failure::{Code, Failure};
use crate::journal_end;
use crate::place::{Kind, Place};
use crate::render::{self, Answer};
use crate::request::{Call, Format, Output, Reply, Request, Unconfirmed};
use import_source::compare_file;

/// Without a daemon a command saves to the ref itself when the journal holds more than this.
const MAX_UNSAVED_RECORDS: u64 = 1_000;

/// An open store. Whoever has one holds the lock.
#[derive(Debug)]
pub struct Service {
    place: Place,
    replica: Replica<RealDisk, RealWorld>,
    repository: Guarded<GitRepository>,
    identity: Arc<Identity>,
    /// SHA-256 of the remote's address, once it was looked up.
    remote: Option<String>,
    config: Config,
    sync_state: SyncState,
    auto_export: export::AutoExport,
    /// What the last long question needed.
    indexes: Arc<reader::Indexes>,
    /// The remote was asked for a store, or need not be.
    looked: bool,
    /// Of the request that is being answered.
    digest: String,
    watched: claims::Watched,
    claim_refs: exclusive::ClaimRefs,
    sessions: Arc<sessions::Sessions>,
    pushes: push_budget::Pushes,
    /// Claims are confirmed by a sync in another thread, not while a request is answered.
    pub confirms_later: bool,
    /// What to say on standard error beside the next answer.
    remarks: Vec<String>,
    /// Whether it was looked for clients that the store is not set up for.
    looked_for_clients: bool,
    /// Absent where the store is only read.
    _lock: Option<StoreLock>,
}

impl Service {
    /// Opens the store under a lock that is already held. Nothing is changed on disk.
    pub fn open(place: &Place, lock: StoreLock) -> Result<Self, Failure> {
        crate::names::without_plugins();
        let repository = match place.kind {
            Kind::Repository => GitRepository::open(&place.git_dir)?,
            Kind::Private => GitRepository::open_or_init_bare(&place.git_dir)?,
        };
        let identity = pinned(place)?;
        let repository = Guarded::new(repository, &place.git_dir, identity.clone());
        let open = || {
            let disk = RealDisk::watched(place.store_dir(), identity.clone());
            Replica::open(disk, &repository, RealWorld)
        };
        let replica = match open() {
            Err(_) if repository.inner().take_back_unfinished_save()? => open()?,
            opened => opened?,
        };
        journal_end::look(place, replica.journal_end().into(), replica.now_ms());
        let mut service = Self::assemble(place, (replica, repository, identity), Some(lock))?;
        if service.config.tombstone_ttl()?.is_some() {
            service.replica.keep_tags();
        }
        Ok(service)
    }

    /// Puts an open store together. Without the lock it is only read.
    fn assemble(
        place: &Place,
        (replica, repository, identity): (
            Replica<RealDisk, RealWorld>,
            Guarded<GitRepository>,
            Arc<Identity>,
        ),
        lock: Option<StoreLock>,
    ) -> Result<Self, Failure> {
        let (store_dir, writes) = (place.store_dir(), lock.is_some());
        Ok(Self {
            place: place.clone(),
            replica,
            repository,
            identity,
            remote: None,
            config: Config::load(&store_dir)?,
            sync_state: SyncState::load(&store_dir),
            auto_export: Default::default(),
            indexes: Arc::default(),
            looked: !writes,
            digest: String::new(),
            watched: claims::Watched::default(),
            claim_refs: exclusive::ClaimRefs::load(&store_dir),
            sessions: Arc::new(sessions::Sessions::load(&store_dir, writes)),
            pushes: push_budget::Pushes::default(),
            confirms_later: false,
            remarks: Vec::new(),
            looked_for_clients: false,
            _lock: lock,
        })
    }

    /// Opens one store and speaks of it as another: an empty one in place of one that is not there.
    pub fn open_as(actual: &Place, named: &Place, lock: StoreLock) -> Result<Self, Failure> {
        Ok(Self { place: named.clone(), ..Self::open(actual, lock)? })
    }

    /// Lets go of the store, and leaves what is in memory to the end of the process, which is near: freeing each of
    /// thousands of beads first would be a good part of a short command.
    pub fn part(self) {
        std::mem::forget(self.replica);
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the number of the last change. It grows with every change made here.
    pub fn position(&self) -> u64 {
        self.replica.position()
    }

    /// Returns whether the journal holds changes that the ref does not.
    pub fn has_unsaved(&self) -> bool {
        self.replica.unsaved().records > 0
    }

    /// Applies and answers in memory. The reply must not leave before [`commit`](Self::commit).
    pub fn answer(&mut self, request: &Request) -> Reply {
        if let Some(reply) = self.answer_exclusively(request) {
            return reply.unwrap_or_else(|| {
                let failure = Failure::from(beads_core::Error::NothingReady);
                self.reply_to(request, Err(failure), &self.settle(&request.output), self.format_version())
            });
        }
        let output = self.settle(&request.output);
        let (before, format) = (self.replica.position(), self.format_version());
        let result = self.call(request, &request.call, &output);
        self.note_change(request, before);
        self.note_local_only(request, before);
        self.reply_to(request, result, &output, format)
    }

    /// A claim that asks the remote, in this thread. A daemon never has one come here.
    fn answer_exclusively(&mut self, request: &Request) -> Option<Option<Reply>> {
        if self.confirms_later {
            return None;
        }
        match self.claim_job(request)? {
            Ok(job) => Some(self.claim_here(job)),
            Err(failure) => {
                let (output, format) = (self.settle(&request.output), self.format_version());
                Some(Some(self.reply_to(request, Err(failure), &output, format)))
            }
        }
    }

    fn reply_to(
        &mut self,
        request: &Request,
        result: Result<Answer, Failure>,
        output: &Output,
        format_before: u64,
    ) -> Reply {
        let handed_out = result.as_ref().map(|answer| claims(answer, request)).unwrap_or_default();
        let unconfirmed = match &result {
            Ok(Answer::Unconfirmed(claimed)) => {
                Some(Box::new(Unconfirmed { request: request.clone(), claimed: claimed.clone() }))
            }
            _ => None,
        };
        let mut reply = self.reply(result, output, format_before);
        reply.unconfirmed = unconfirmed;
        self.accompany(request, handed_out, &mut reply);
        reply
    }

    /// With the dialect that was asked for; else, for `--json`, the one set here; else the one that suits the caller.
    fn settle(&self, output: &Output) -> Output {
        let set = || self.dialect_set().filter(|_| output.format == Format::Json);
        let dialect = output.dialect.or_else(set).unwrap_or_else(|| output.dialect_of_caller());
        Output { dialect: Some(dialect), ..output.clone() }
    }

    fn dialect_set(&self) -> Option<Dialect> {
        self.config.get("json.dialect").ok()?.parse().ok()
    }

    /// The same, but nothing for a request that waits for something that is not there yet.
    pub fn attempt(&mut self, request: &Request) -> Option<Reply> {
        if let Some(reply) = self.answer_exclusively(request) {
            return reply;
        }
        let output = self.settle(&request.output);
        let (before, format) = (self.replica.position(), self.format_version());
        let result = self.call(request, &request.call, &output);
        self.note_change(request, before);
        self.note_local_only(request, before);
        if matches!(request.call, Call::Wait { .. }) && is_empty(&result) {
            return None;
        }
        Some(self.reply_to(request, result, &output, format))
    }

    fn format_version(&self) -> u64 {
        self.replica.catalog().state().format_version()
    }

    /// Renders an answer, with what was noticed beside it, and says so when the request raised the format of the store.
    fn reply(&mut self, result: Result<Answer, Failure>, output: &Output, format_before: u64) -> Reply {
        let mut reply = render::reply(result, output, self.replica.position());
        if self.format_version() > format_before {
            reply.stderr.push_str(&render::format_raised(self.format_version()));
        }
        if output.format != Format::Value && !output.quiet {
            self.look_for_clients();
            for remark in self.remarks.drain(..) {
                reply.stderr.push_str(&format!("note: {remark}\n"));
            }
        }
        self.remarks.clear();
        reply
    }

    /// When a lease or a deferral ends, so that something may be ready although nobody did anything.
    pub fn next_ready_by_time(&self) -> Option<Instant> {
        let now_ms = self.replica.now_ms();
        let at_ms = self.replica.catalog().next_ready_by_time(now_ms)?;
        // One more, because a lease has run out only after its last millisecond.
        Instant::now().checked_add(Duration::from_millis(at_ms.saturating_sub(now_ms).saturating_add(1)))
    }

    /// Makes everything answered so far durable.
    pub fn commit(&mut self) -> Result<(), Failure> {
        // First the session of a claim, then the claim: a session without its claim means nothing.
        self.save_sessions();
        Ok(self.replica.commit()?)
    }

    /// Saves to the ref when the last save was long ago; for a command without a daemon. The changes are safe in the journal, so a
    /// failure is left to `bd status` and the next command.
    pub fn save_if_due(&mut self) {
        let unsaved = self.replica.unsaved();
        let now_ms = self.replica.now_ms();
        let waited = unsaved.oldest_ms.map(|oldest| Duration::from_millis(now_ms.saturating_sub(oldest)));
        let max_delay = self.config.duration("sync.max_delay");
        if unsaved.records > MAX_UNSAVED_RECORDS || waited.is_some_and(|waited| waited > max_delay) {
            let _ = self.checkpoint();
        }
    }

    fn call(&mut self, request: &Request, call: &Call, output: &Output) -> Result<Answer, Failure> {
        call.check_paths()?;
        self.identify(request, call)?;
        self.first_look(request, call);
        match call {
            // Whoever took the request has read them.
            Call::Words(_) => Err(Failure::usage("these words ask for nothing that can be done here")),
            Call::Wait { call, .. } => self.call(request, call, output),
            Call::Confirm { call } => self.confirm(request, call, output),
            Call::Mutate(mutate) => {
                self.check_claims_of(request, call)?;
                self.mutate(request, mutate, output.dialect)
            }
            Call::Atomic(atomic) => {
                self.check_claims_of(request, call)?;
                self.atomic(request, atomic)
            }
            Call::Each(each) => {
                self.check_claims_of(request, call)?;
                Ok(self.each(request, each))
            }
            Call::Query(query) => self.query(query, output),
            Call::Note(note) => self.note(request, note, output),
            Call::CloseAndClaim { close, next } => self.close_and_claim(request, close, next, output.dialect),
            Call::RenewHeld { lease_ms } => self.renew_held(request, *lease_ms, output.dialect),
            Call::ClaimMine { lease_ms } => self.claim_mine(request, *lease_ms, output.dialect),
            Call::Heartbeat => self.heartbeat(request),
            Call::EndSession { keep, fences } => self.end_session(request, *keep, fences, output.dialect),
            Call::Sessions => Ok(self.list_sessions()),
            Call::ReclaimExpired { dry_run } => self.reclaim_expired(request, *dry_run, output.dialect),
            Call::Init { prefix, compat, private } => {
                self.init(request, prefix.as_deref(), *compat, *private)
            }
            Call::Sync => self.sync(request),
            Call::Save => self.save(),
            Call::Verify => Ok(self.verify()),
            Call::ConflictList { all } => Ok(self.conflicts(*all)),
            Call::ConflictShow { id } => self.conflict(id),
            Call::Validate => self.with_archive(JournalCopy::default(), |archive| Ok(archive.validate())),
            Call::Repair { .. } => self.repair_plan(),
            Call::ResetGcFloor => self.reset_gc_floor(request),
            Call::RepairDeps { fix } => self.repair_deps(request, *fix, output.dialect),
            Call::ImportRescued { path, force, dry_run } => self.import_rescued(path, *force, *dry_run),
            Call::Import { source, .. } => self.import(request, source),
            Call::CompareFile { path, name } => compare_file(path, name, self.replica.catalog().state()),
            Call::Export { format, .. } => Ok(self.reader().export(*format)),
            Call::ConfigGet { key } => self.config_get(key),
            Call::ConfigSet { key, value } => self.config_set(request, key, value),
            Call::ConfigUnset { key } => self.config_unset(request, key),
            Call::ConfigList => Ok(self.config_list()),
            Call::Undo { dry_run } => self.undo(request, *dry_run),
            Call::CloseEligibleEpics { dry_run } => {
                self.close_eligible_epics(request, *dry_run, output.dialect)
            }
            Call::DaemonStatus | Call::DaemonStop => {
                Err(Failure::new(Code::DaemonUnreachable, "no daemon is running for this store"))
            }
        }
    }
}

/// Pins the git directory and the lock file that are at their paths now.
fn pinned(place: &Place) -> Result<Arc<Identity>, Failure> {
    let identity = Identity::of(&[&place.git_dir, &place.lock_path()]);
    identity.map(Arc::new).map_err(|error| Failure::io("look at", &place.git_dir, &error))
}

/// Whether there is nothing yet of what the caller waits for.
fn is_empty(result: &Result<Answer, Failure>) -> bool {
    match result {
        Ok(Answer::Beads(beads)) => beads.is_empty(),
        Ok(Answer::ClaimOver(answer)) => !answer.over,
        Ok(Answer::Events(batch)) => batch.events.is_empty() && !batch.more,
        Ok(_) => false,
        Err(failure) => failure.code == Code::NothingReady,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
