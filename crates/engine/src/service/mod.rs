//! Answers requests on an open store. The daemon and a command without a daemon both use this code.

mod archive;
mod archived;
mod atomic;
mod claims;
mod clients;
mod conflicts;
mod consent;
mod discover_remote_store;
mod events;
mod exclusive;
mod export;
mod heard_from;
mod hub;
mod import;
mod import_source;
mod indexes;
mod label;
mod leases;
mod memories;
mod migrate;
mod mutate;
mod note;
mod past;
mod planning;
mod push_budget;
mod query;
mod questions;
mod read_only;
mod reader;
mod recap;
mod repair;
mod repair_deps;
mod replaced;
mod request_id;
mod rescue;
mod row_cache;
mod sessions;
mod settings;
mod status;
mod sync;
mod undo;
mod uninstall;
mod validate;

pub use claims::claims;
pub use exclusive::{ClaimJob, ClaimRound, NextStep, Picked, RoundResult};
pub use export::ExportJob;
pub use hub::claiming::{UNDECIDED, holds_grants};
pub use import::{IMPORT, ImportJob, ReadImport};
pub use migrate::{legacy_commits, take_over};
pub use planning::DEFAULT_MINUTES;
pub use reader::LongQuestion;
pub use repair::repair;
pub use rescue::{ReadRescue, RescueJob};
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
use indexes::Indexes;
use repair::repair_plan;

/// Without a daemon, a command saves to the ref itself once the journal holds more records than this.
const MAX_UNSAVED_RECORDS: u64 = 1_000;

/// An open store. Its owner holds the store's lock, unless the store is only read.
#[derive(Debug)]
pub struct Service {
    place: Place,
    replica: Replica<RealDisk, RealWorld>,
    repository: Guarded<GitRepository>,
    identity: Arc<Identity>,
    /// SHA-256 of the remote's URL, once it was looked up.
    remote: Option<String>,
    config: Config,
    sync_state: SyncState,
    auto_export: export::AutoExport,
    indexes: Arc<Indexes>,
    heard_from: Arc<heard_from::HeardFrom>,
    /// The remote was asked whether it has a store, or need not be.
    checked_remote: bool,
    /// The digest of the request that is being answered.
    digest: String,
    watched: claims::Watched,
    claim_refs: exclusive::ClaimRefs,
    sessions: Arc<sessions::Sessions>,
    pushes: push_budget::Pushes,
    /// Only in a daemon with a hub.
    hub: Option<Box<hub::HubLocal>>,
    /// Claims are confirmed by a sync in another thread instead of while the request is answered. The daemon
    /// sets this.
    pub confirms_later: bool,
    /// Rendered rows of long lists. Only a daemon keeps them.
    rows: Option<Arc<row_cache::RowCache>>,
    /// Notes to print on standard error with the next answer.
    remarks: Vec<String>,
    /// Set once the check for files of the Go `bd` was made.
    checked_for_clients: bool,
    /// Absent if the store is only read.
    _lock: Option<StoreLock>,
}

impl Service {
    /// Opens the store. The caller passes the lock, which it already holds. Changes nothing on disk.
    pub fn open(place: &Place, lock: StoreLock) -> Result<Self, Failure> {
        crate::name_lookup::disable_plugins();
        let repository = match place.kind {
            Kind::Repository => GitRepository::open(&place.git_dir)?,
            Kind::Private => GitRepository::open_or_init_bare(&place.git_dir)?,
        };
        let identity = pin_identity(place)?;
        let repository = Guarded::new(repository, &place.git_dir, identity.clone());
        let open = || {
            let disk = RealDisk::guarded(place.store_dir(), identity.clone());
            Replica::open(disk, &repository, RealWorld)
        };
        let replica = match open() {
            Err(_) if repository.inner().roll_back_unfinished_save()? => open()?,
            opened => opened?,
        };
        journal_end::check(place, replica.journal_end().into(), replica.now_ms());
        Self::assemble(place, (replica, repository, identity), Some(lock))
    }

    /// Assembles an open store. Without the lock it is only read.
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
            heard_from: Arc::default(),
            checked_remote: !writes,
            digest: String::new(),
            watched: claims::Watched::default(),
            claim_refs: exclusive::ClaimRefs::load(&store_dir),
            sessions: Arc::new(sessions::Sessions::load(&store_dir, writes)),
            pushes: push_budget::Pushes::default(),
            hub: None,
            confirms_later: false,
            rows: None,
            remarks: Vec::new(),
            checked_for_clients: false,
            _lock: lock,
        })
    }

    /// Opens the store at `actual`, but names `named` in answers: for an empty store in place of one that
    /// does not exist.
    pub fn open_as(actual: &Place, named: &Place, lock: StoreLock) -> Result<Self, Failure> {
        Ok(Self { place: named.clone(), ..Self::open(actual, lock)? })
    }

    /// Closes the store without freeing its memory. For a process that is about to exit, freeing thousands of
    /// beads would take a considerable part of its run time.
    pub fn close_without_drop(self) {
        std::mem::forget(self.replica);
    }

    /// Keeps the rows of long lists from now on, because this process answers many requests.
    pub fn keep_rows(&mut self) {
        self.rows = Some(Arc::default());
    }

    /// Returns when what is kept between queries should be dropped, if there is anything.
    pub fn kept_until(&self) -> Option<Instant> {
        let rows = self.rows.as_ref().and_then(|rows| rows.expires_at());
        rows.into_iter().chain(self.indexes.expires_at()).min()
    }

    /// Drops kept rows and indexes that no query needed in a while.
    pub fn drop_expired(&self, now: Instant) {
        if let Some(rows) = &self.rows {
            rows.expire(now);
        }
        self.indexes.expire(now);
    }

    /// Returns the settings of this replica.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns where the store is.
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

    /// Applies a request in memory and returns the reply, which must not be sent before
    /// [`commit`](Self::commit).
    pub fn answer(&mut self, request: &Request) -> Reply {
        if let Some(reply) = self.answer_remote_claim(request) {
            return reply.unwrap_or_else(|| {
                let failure = Failure::from(beads_core::Error::NothingReady);
                self.reply_to(
                    request,
                    Err(failure),
                    &self.resolve_dialect(&request.output),
                    self.format_version(),
                )
            });
        }
        let output = self.resolve_dialect(&request.output);
        let (before, format) = (self.replica.position(), self.format_version());
        let result = self.call(request, &request.call, &output);
        self.note_change(request, before);
        self.note_local_only(request, before);
        self.reply_to(request, result, &output, format)
    }

    /// Makes a claim that the remote decides, in this thread. Returns `None` for other requests, and in the
    /// daemon, which makes such claims in another thread.
    fn answer_remote_claim(&mut self, request: &Request) -> Option<Option<Reply>> {
        if self.confirms_later {
            return None;
        }
        match self.claim_job(request)? {
            Ok(job) => Some(self.claim_in_this_thread(job)),
            Err(failure) => {
                let (output, format) = (self.resolve_dialect(&request.output), self.format_version());
                Some(Some(self.reply_to(request, Err(failure), &output, format)))
            }
        }
    }

    /// Renders the reply to a request, with the claims that it hands out and reports.
    fn reply_to(
        &mut self,
        request: &Request,
        result: Result<Answer, Failure>,
        output: &Output,
        format_before: u64,
    ) -> Reply {
        let waited = matches!(request.call, Call::Wait { .. });
        let result = if waited { result.map_err(Failure::after_waiting) } else { result };
        let handed_out = result.as_ref().map(|answer| claims(answer, request)).unwrap_or_default();
        let unconfirmed = match &result {
            Ok(Answer::Unconfirmed(claimed)) => {
                Some(Box::new(Unconfirmed { request: request.clone(), claimed: claimed.clone() }))
            }
            _ => None,
        };
        let nothing =
            result.as_ref().ok().and_then(|answer| render::nothing_to_change(&request.call, answer));
        let mut reply = self.reply(result, output, format_before);
        if output.format == Format::Text && !output.quiet {
            reply.stderr.extend(nothing.map(|nothing| format!("{nothing}\n")));
        }
        reply.unconfirmed = unconfirmed;
        self.track_and_report_claims(request, handed_out, &mut reply);
        reply
    }

    /// Returns the output options with their dialect filled in: the requested one; or else, for `--json`, the
    /// configured one; or else the default for the caller.
    fn resolve_dialect(&self, output: &Output) -> Output {
        let set = || self.configured_dialect().filter(|_| output.format == Format::Json);
        let dialect = output.dialect.or_else(set).unwrap_or_else(|| output.default_dialect());
        Output { dialect: Some(dialect), ..output.clone() }
    }

    fn configured_dialect(&self) -> Option<Dialect> {
        self.config.get("json.dialect").ok()?.parse().ok()
    }

    /// Like [`answer`](Self::answer), but returns `None` for a waiting request whose result does not exist
    /// yet.
    pub fn attempt(&mut self, request: &Request) -> Option<Reply> {
        if let Some(reply) = self.answer_remote_claim(request) {
            return reply;
        }
        let output = self.resolve_dialect(&request.output);
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

    /// Renders an answer with its notes, and reports if the request raised the store's format version.
    fn reply(&mut self, result: Result<Answer, Failure>, output: &Output, format_before: u64) -> Reply {
        let mut reply = render::reply(result, output, self.replica.position());
        if self.format_version() > format_before {
            reply.stderr.push_str(&render::format_raised(self.format_version()));
        }
        if output.format != Format::Value && !output.quiet {
            self.suggest_compat_setup();
            for remark in self.remarks.drain(..) {
                reply.stderr.push_str(&format!("note: {remark}\n"));
            }
        }
        self.remarks.clear();
        reply
    }

    /// Returns when the next lease or deferral ends, so that a bead may become ready without a change.
    pub fn next_ready_by_time(&self) -> Option<Instant> {
        let now_ms = self.replica.now_ms();
        let at_ms = self.replica.catalog().next_ready_by_time(now_ms)?;
        // One more, because a lease expires only after its last millisecond.
        Instant::now().checked_add(Duration::from_millis(at_ms.saturating_sub(now_ms).saturating_add(1)))
    }

    /// Makes everything answered so far durable.
    pub fn commit(&mut self) -> Result<(), Failure> {
        // The session of a claim is saved before the claim, because a session without its claim has no
        // effect.
        self.save_sessions();
        Ok(self.replica.commit()?)
    }

    /// Saves to the ref if the last save was long ago, for a command without a daemon. A failure is ignored:
    /// the changes are safe in the journal, `bd status` reports it, and the next command retries.
    pub fn save_if_due(&mut self) {
        let unsaved = self.replica.unsaved();
        let now_ms = self.replica.now_ms();
        let waited = unsaved.oldest_ms.map(|oldest| Duration::from_millis(now_ms.saturating_sub(oldest)));
        let max_delay = self.config.duration("sync.max_delay");
        if unsaved.records > MAX_UNSAVED_RECORDS || waited.is_some_and(|waited| waited > max_delay) {
            let _ = self.checkpoint();
        }
    }

    /// Runs a call and returns its answer.
    fn call(&mut self, request: &Request, call: &Call, output: &Output) -> Result<Answer, Failure> {
        call.check_paths()?;
        self.identify(request, call)?;
        self.discover_remote_store(request, call);
        match call {
            // The daemon's front end has parsed forwarded command lines before they get here.
            Call::CommandLine(_) => Err(Failure::usage("unsupported forwarded command")),
            Call::Wait { call, .. } => self.call(request, call, output),
            Call::Confirm { call } => self.confirm(request, call, output),
            Call::Mutate(mutate) => {
                self.check_claims_of(request, call)?;
                self.mutate_partly(request, mutate, output.dialect)
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
            Call::Label(asked) => self.label(request, asked, output.dialect),
            Call::CloseAndClaim { close, next } => self.close_and_claim(request, close, next, output.dialect),
            Call::RenewHeld { lease_ms } => self.renew_held(request, *lease_ms, output.dialect),
            Call::ClaimMine { lease_ms } => self.claim_mine(request, *lease_ms, output.dialect),
            Call::Heartbeat => self.heartbeat(request),
            Call::EndSession { keep, fences } => self.end_session(request, *keep, fences, output.dialect),
            Call::Sessions => Ok(self.list_sessions()),
            Call::UnclaimAll { assignee, force, reason } => {
                self.unclaim_all(request, assignee.as_ref(), *force, reason, output.dialect)
            }
            Call::ReclaimExpired { assignee, dry_run } => {
                self.reclaim_expired(request, assignee.as_ref(), *dry_run, output.dialect)
            }
            Call::Init { prefix, compat, private } => {
                self.init(request, prefix.as_deref(), *compat, *private)
            }
            Call::Sync => self.sync(request),
            Call::Save => self.save(),
            Call::Verify => Ok(self.verify()),
            Call::HubStatus => self.hub_status(),
            Call::ConflictList { all, bead } => self.conflicts(*all, bead.as_deref()),
            Call::ResolveConflicts(asked) => self.resolve_conflicts(request, asked, output.dialect),
            Call::ConflictShow { id } => self.conflict(id),
            Call::Validate => self
                .with_archive(JournalCopy::default(), &Default::default(), |archive| Ok(archive.validate())),
            Call::Repair { .. } => repair_plan(&self.place),
            Call::ResetGcFloor => self.reset_gc_floor(request),
            Call::Archive { closed_before, dry_run } => self.archive(request, *closed_before, *dry_run),
            Call::RepairDeps { fix } => self.repair_deps(request, *fix, output.dialect),
            Call::ImportRescued { .. } => self.import_rescued(request),
            Call::Import { source, .. } => self.import(request, source),
            Call::CompareFile { path, name } => {
                compare_file(&self.place, path, name, self.replica.catalog().state())
            }
            Call::Export { format, .. } => self.reader().export_all(&self.place, *format),
            Call::ConfigGet { key } => self.config_get(key),
            Call::ConfigSet { key, value } => self.config_set(request, key, value),
            Call::ConfigUnset { key } => self.config_unset(request, key),
            Call::ConfigList => Ok(self.config_list()),
            Call::ConfigDescribe { key } => self.config_describe(key.as_deref()),
            Call::Undo { dry_run, redo, skip } => self.undo(request, *dry_run, (*redo, *skip)),
            Call::CloseEligibleEpics { dry_run } => {
                self.close_eligible_epics(request, *dry_run, output.dialect)
            }
            Call::DaemonStatus | Call::DaemonStop => {
                Err(Failure::new(Code::DaemonUnreachable, "no daemon is running for this store"))
            }
        }
    }
}

/// Records the identity of the git directory and the lock file.
fn pin_identity(place: &Place) -> Result<Arc<Identity>, Failure> {
    let identity = Identity::of(&[&place.git_dir, &place.lock_path()]);
    identity.map(Arc::new).map_err(|error| Failure::io("look at", &place.git_dir, &error))
}

/// Returns whether the result that the caller waits for does not exist yet.
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
