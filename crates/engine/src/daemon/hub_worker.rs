//! The thread that holds the connection to the hub. It makes one call at a time and reports to the engine.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use beads_store::Error;
use beads_store::hub::postgres::{Address, PostgresHub, Woken};
use beads_store::hub::{
    Attached, ClaimAnswer, ClaimNews, ClaimRequest, FOLD_MIN_BYTES, Fetched, FoldOutcome, Hub, HubCopy,
    HubCursor, HubHistory, HubRow, Member, Snapshots, compact, read_snapshot,
};
use tokio::sync::mpsc;

use super::hub_announcements::Announcements;
use super::reconnect;

/// How often to fetch even if notifications arrive, because one may be lost.
const SAFETY_POLL: Duration = Duration::from_secs(10);

/// How often a machine checks whether the store should be compacted. A random part is added, so that one
/// machine proposes a snapshot and another one finds the proposal.
const COMPACTION_INTERVAL_MS: u64 = 20_000;

/// How long a machine leaves compaction to others when it failed, or when machines fold differently. Folding a large
/// store takes minutes of work.
const COMPACTION_PAUSE: Duration = Duration::from_secs(2 * 60);

/// A request of the engine.
#[derive(Debug)]
pub enum Command {
    /// The answer to [`Event::Connected`].
    Attach(Member, HubCursor, Vec<ClaimNews>),
    /// Append a payload: number, cursor, payload, claims.
    Append(u64, u64, Vec<u8>, Vec<ClaimNews>),
    /// Tell the hub that nothing is left to append.
    Settle,
    /// Ask for a claim: number, cursor, request.
    Claim(u64, HubCursor, ClaimRequest),
    /// Connect and attach again, because the engine could not take what arrived.
    Reconnect,
}

/// A report to the engine.
#[derive(Debug)]
pub enum Event {
    /// The connection is open; the engine answers with [`Command::Attach`].
    Connected,
    /// The machine is attached.
    Attached(Attached),
    /// The copy starts from this snapshot.
    Restarted(Box<HubCopy>),
    /// Deltas arrived.
    Rows(Vec<HubRow>),
    /// There are no more deltas.
    CaughtUp,
    /// The append was numbered.
    Appended(HubCursor),
    /// The claim was answered.
    Claimed(ClaimAnswer),
    /// Whether notifications arrive.
    Notified(bool),
    /// The hub does not answer, or refuses this machine. Calls without an answer are made again after the
    /// next attach.
    Away(Error),
}

/// Why the thread stops working with a connection.
enum End {
    /// The engine is gone.
    Stop,
    /// The engine wants another connection.
    Again,
    /// Something failed.
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The thread's state.
pub struct Worker {
    /// The address, which is completed at every connection: the files with passwords may have changed.
    pub url: String,
    pub poll: Duration,
    pub commands: mpsc::UnboundedReceiver<Command>,
    pub report: Box<dyn Fn(Event) -> bool + Send>,
    pub member: Member,
    pub cursor: HubCursor,
}

impl Worker {
    /// Runs until the engine drops its end of the channel.
    pub fn run(mut self) {
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let error = match self.serve() {
                Err(End::Stop) | Ok(()) => return,
                Err(End::Again) => None,
                Err(End::Failed(error)) => Some(error),
            };
            if began.elapsed() > SAFETY_POLL {
                failures = 0;
            }
            let at_once =
                matches!(error, Some(Error::HubAttachAgain | Error::HubHistory | Error::HubReplicaReused));
            if error.is_some_and(|error| !(self.report)(Event::Away(error))) {
                return;
            }
            let pause = reconnect::pause(failures, beads_store::random_u64().unwrap_or_default());
            failures += 1;
            if !at_once || failures > 3 {
                std::thread::sleep(pause);
            }
            // The engine repeats what was not answered.
            loop {
                match self.commands.try_recv() {
                    Ok(_) => {}
                    Err(mpsc::error::TryRecvError::Empty) => break,
                    Err(mpsc::error::TryRecvError::Disconnected) => return,
                }
            }
        }
    }

    /// Reports to the engine. Fails if the engine is gone.
    fn send(&self, event: Event) -> Result<(), End> {
        if (self.report)(event) { Ok(()) } else { Err(End::Stop) }
    }

    /// Serves one connection.
    fn serve(&mut self) -> Result<(), End> {
        let address = Address::parse(&self.url)?;
        let mut hub = PostgresHub::connect(&address)?;
        self.send(Event::Connected)?;
        let claims = loop {
            match self.commands.blocking_recv() {
                Some(Command::Attach(member, cursor, claims)) => {
                    (self.member, self.cursor) = (member, cursor);
                    break claims;
                }
                Some(_) => {}
                None => return Err(End::Stop),
            }
        };
        let attached = hub.attach(&self.member, &self.cursor, &claims)?;
        let history = attached.history;
        self.send(Event::Attached(attached))?;
        if history != HubHistory::Same {
            self.cursor = HubCursor::default();
            if let Some(copy) = read_snapshot(&mut hub)? {
                self.cursor = copy.cursor.clone();
                self.send(Event::Restarted(Box::new(copy)))?;
            }
        }
        // Fetch after listening, so that no delta is missed in between.
        hub.listen()?;
        self.fetch(&mut hub)?;
        self.send(Event::CaughtUp)?;
        self.wait(&mut hub, &address)
    }

    fn wait(&mut self, hub: &mut PostgresHub, address: &Address) -> Result<(), End> {
        let mut announcements = Announcements::default();
        let (mut compaction_due, mut compactor) = (next_compaction(), None::<JoinHandle<bool>>);
        loop {
            if compaction_due <= Instant::now() {
                compaction_due = next_compaction();
                match compactor.take() {
                    Some(running) if !running.is_finished() => compactor = Some(running),
                    ended => {
                        if ended.is_none_or(|ended| ended.join().unwrap_or(false)) {
                            compactor = self.compact_if_due(hub, address)?;
                        } else {
                            compaction_due += COMPACTION_PAUSE;
                        }
                    }
                }
            }
            let timeout = if announcements.arrive() { SAFETY_POLL } else { self.poll };
            match hub.wait(&mut self.commands, timeout) {
                Woken::Command(None) => return Err(End::Stop),
                Woken::Command(Some(command)) => self.execute(hub, command)?,
                Woken::Notified => {
                    self.report_announcements(announcements.heard())?;
                    self.fetch(hub)?;
                }
                Woken::Timeout => {
                    let brought_news = self.fetch(hub)?;
                    self.report_announcements(announcements.polled(brought_news))?;
                }
                Woken::Lost => {
                    return Err(Error::HubUnreachable("the connection was closed".to_owned()).into());
                }
            }
        }
    }

    fn report_announcements(&self, changed: Option<bool>) -> Result<(), End> {
        changed.map_or(Ok(()), |arrive| self.send(Event::Notified(arrive)))
    }

    /// Starts to compact the store if that is due. A large one takes minutes, so a thread does it on a connection of
    /// its own, while claims and changes go on, and returns whether it went well. If the daemon ends meanwhile,
    /// another machine cleans up.
    fn compact_if_due(
        &self,
        hub: &mut PostgresHub,
        address: &Address,
    ) -> Result<Option<JoinHandle<bool>>, End> {
        let own = self.member.replica.clone();
        if !hub.compaction()?.is_due(&own, FOLD_MIN_BYTES) {
            return Ok(None);
        }
        let (address, attachment) = (address.clone(), hub.attachment().clone());
        let run = move || {
            let compacted = PostgresHub::connect_as(&address, attachment)
                .and_then(|mut hub| compact(&mut hub, &own, FOLD_MIN_BYTES));
            match compacted {
                Ok(Some((upto, outcome))) => {
                    crate::log::note(&format!("hub snapshot up to {upto}: {}", outcome.name()));
                    outcome != FoldOutcome::Differs
                }
                Ok(None) => true,
                Err(error) => {
                    crate::log::note(&format!("the hub was not compacted: {error}"));
                    false
                }
            }
        };
        Ok(Some(std::thread::spawn(run)))
    }

    /// Runs a command of the engine and reports its result.
    fn execute(&mut self, hub: &mut PostgresHub, command: Command) -> Result<(), End> {
        match command {
            Command::Attach(..) => Ok(()),
            Command::Reconnect => Err(End::Again),
            Command::Settle => Ok(hub.settle()?),
            Command::Append(seq, seen, payload, claims) => {
                let cursor = hub.append(seq, seen, &payload, &claims)?;
                let is_next = self.advance(&cursor);
                self.send(Event::Appended(cursor))?;
                if is_next { Ok(()) } else { self.fetch(hub).map(drop) }
            }
            Command::Claim(seq, cursor, request) => {
                let (answer, fetched) = hub.claim_and_fetch(seq, &cursor, &request, &self.cursor)?;
                if let ClaimAnswer::Granted(_, own) = &answer {
                    self.advance(own);
                    self.send(Event::Claimed(answer))?;
                    return self.take(hub, fetched).map(drop);
                }
                // A claim that was refused is tried again with what the engine lacked.
                self.take(hub, fetched)?;
                self.send(Event::Claimed(answer))
            }
        }
    }

    /// Moves the cursor over an own delta if it is the next one, so that it is not fetched.
    fn advance(&mut self, own: &HubCursor) -> bool {
        let is_next = own.n == self.cursor.n + 1;
        if is_next {
            self.cursor = own.clone();
        }
        is_next || own.n <= self.cursor.n
    }

    /// Fetches and reports everything that was after the cursor. Returns whether others appended some of it.
    fn fetch(&mut self, hub: &mut PostgresHub) -> Result<bool, End> {
        let fetched = hub.fetch_since(&self.cursor)?;
        self.take(hub, fetched)
    }

    /// Reports the deltas of a fetch that are after the cursor, and fetches those that did not fit. Returns whether
    /// others appended some of them.
    fn take(&mut self, hub: &mut PostgresHub, mut fetched: Fetched) -> Result<bool, End> {
        let mut brought_news = false;
        loop {
            fetched.rows.retain(|row| row.cursor.n > self.cursor.n);
            brought_news |= fetched.rows.iter().any(|row| row.replica != self.member.replica);
            if let Some(last) = fetched.rows.last() {
                self.cursor = last.cursor.clone();
                self.send(Event::Rows(fetched.rows))?;
            }
            if !fetched.more {
                return Ok(brought_news);
            }
            fetched = hub.fetch_since(&self.cursor)?;
        }
    }
}

fn next_compaction() -> Instant {
    let random = beads_store::random_u64().unwrap_or_default() % COMPACTION_INTERVAL_MS;
    Instant::now() + Duration::from_millis(COMPACTION_INTERVAL_MS + random)
}
