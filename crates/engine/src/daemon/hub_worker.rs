//! The thread that holds the connection to the hub. It makes one call at a time and reports to the engine.

use std::time::{Duration, Instant};

use beads_store::hub::postgres::{Address, PostgresHub, Woken};
use beads_store::hub::{
    Attached, ClaimAnswer, ClaimNews, ClaimRequest, Hub, HubCopy, HubCursor, HubHistory, HubRow, Member,
};
use beads_store::{Error, Result};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

/// The pauses before connecting again. A random part is added, so that machines do not reconnect all at once.
const PAUSES_MS: [u64; 6] = [100, 200, 500, 1_000, 2_000, 5_000];

/// How often to fetch even if notifications arrive, because one may be lost.
const SAFETY_POLL: Duration = Duration::from_secs(10);

/// Deltas are folded into a snapshot when they are this many times as large as the last one, and larger than
/// the minimum.
const FOLD_FACTOR: u64 = 4;
const FOLD_MIN_BYTES: u64 = 1024 * 1024;

/// How often a machine checks whether the store should be compacted.
const COMPACTION_INTERVAL: Duration = Duration::from_secs(60);

/// A request of the engine.
#[derive(Debug)]
pub enum Command {
    /// The answer to [`Event::Connected`].
    Attach(Member, HubCursor, Vec<ClaimNews>),
    /// Append a payload: number, cursor, payload, claims.
    Append(u64, u64, Vec<u8>, Vec<ClaimNews>),
    /// Ask for a claim.
    Claim(u64, ClaimRequest),
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
    pub address: Address,
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
                Err(End::Failed(error)) => error,
            };
            if began.elapsed() > SAFETY_POLL {
                failures = 0;
            }
            let at_once =
                matches!(error, Error::HubAttachAgain | Error::HubHistory | Error::HubReplicaReused);
            if !(self.report)(Event::Away(error)) {
                return;
            }
            let pause = PAUSES_MS[failures.min(PAUSES_MS.len() - 1)];
            let jitter = getrandom::u64().unwrap_or_default() % (pause + 1);
            failures += 1;
            if !at_once || failures > 3 {
                std::thread::sleep(Duration::from_millis(pause / 2 + jitter));
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
    fn send(&self, event: Event) -> std::result::Result<(), End> {
        if (self.report)(event) { Ok(()) } else { Err(End::Stop) }
    }

    /// Serves one connection.
    fn serve(&mut self) -> std::result::Result<(), End> {
        let mut hub = PostgresHub::connect(&self.address)?;
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
            if let Some((cursor, payload)) = hub.snapshot()? {
                let copy = HubCopy::from_snapshot(cursor.clone(), &payload)?;
                self.cursor = cursor;
                self.send(Event::Restarted(Box::new(copy)))?;
            }
        }
        // Fetch after listening, so that no delta is missed in between.
        hub.listen()?;
        self.fetch(&mut hub)?;
        self.send(Event::CaughtUp)?;
        self.wait(&mut hub)
    }

    fn wait(&mut self, hub: &mut PostgresHub) -> std::result::Result<(), End> {
        let mut notified = false;
        let mut polls = 0_u32;
        let mut compacted = Instant::now();
        loop {
            let timeout = if notified { SAFETY_POLL } else { self.poll };
            match hub.wait(&mut self.commands, timeout) {
                Woken::Command(None) => return Err(End::Stop),
                Woken::Command(Some(command)) => self.execute(hub, command)?,
                Woken::Notified => {
                    if !notified {
                        self.send(Event::Notified(true))?;
                    }
                    notified = true;
                    self.fetch(hub)?;
                }
                Woken::Timeout => {
                    polls += 1;
                    if !notified && polls == 2 {
                        self.send(Event::Notified(false))?;
                    }
                    self.fetch(hub)?;
                    if compacted.elapsed() > COMPACTION_INTERVAL {
                        compacted = Instant::now();
                        compact(hub, &self.member.replica)?;
                    }
                }
                Woken::Lost => {
                    return Err(Error::HubUnreachable("the connection was closed".to_owned()).into());
                }
            }
        }
    }

    /// Runs a command of the engine and reports its result.
    fn execute(&mut self, hub: &mut PostgresHub, command: Command) -> std::result::Result<(), End> {
        match command {
            Command::Attach(..) => Ok(()),
            Command::Append(seq, seen, payload, claims) => {
                let cursor = hub.append(seq, seen, &payload, &claims)?;
                let is_next = self.advance(&cursor);
                self.send(Event::Appended(cursor))?;
                if is_next { Ok(()) } else { self.fetch(hub) }
            }
            Command::Claim(seq, request) => {
                let answer = hub.claim(seq, &self.cursor, &request)?;
                let fetch = match &answer {
                    ClaimAnswer::Granted(_, cursor) => !self.advance(cursor),
                    ClaimAnswer::Behind => true,
                    _ => false,
                };
                if fetch && matches!(answer, ClaimAnswer::Behind) {
                    self.fetch(hub)?;
                    return self.send(Event::Claimed(answer));
                }
                self.send(Event::Claimed(answer))?;
                if fetch { self.fetch(hub) } else { Ok(()) }
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

    /// Fetches and reports everything after the cursor.
    fn fetch(&mut self, hub: &mut PostgresHub) -> std::result::Result<(), End> {
        loop {
            let rows = hub.fetch_since(&self.cursor)?;
            let Some(last) = rows.last() else { return Ok(()) };
            self.cursor = last.cursor.clone();
            self.send(Event::Rows(rows))?;
        }
    }
}

/// Proposes a snapshot if the deltas have become much larger than the last one, or gives a second opinion on
/// that of another replica. Both fold what the hub holds, not what this replica knows.
fn compact(hub: &mut impl Hub, own: &str) -> Result<()> {
    let due = hub.compaction()?;
    let upto = match &due.proposed {
        Some((_, by)) if by == own => return Ok(()),
        Some((upto, _)) => Some(*upto),
        None if due.delta_bytes > (FOLD_FACTOR * due.snapshot_bytes).max(FOLD_MIN_BYTES) => None,
        None => return Ok(()),
    };
    let mut copy = match hub.snapshot()? {
        Some((cursor, payload)) => HubCopy::from_snapshot(cursor, &payload)?,
        None => HubCopy::default(),
    };
    'fetching: loop {
        let rows = hub.fetch_since(&copy.cursor)?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            if upto.is_some_and(|upto| row.cursor.n > upto) {
                break 'fetching;
            }
            copy.fold(row)?;
        }
    }
    let payload = copy.encode()?;
    let digest = Sha256::digest(&payload).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let outcome = hub.fold(&copy.cursor, &digest, &payload)?;
    crate::log::note(&format!("hub snapshot up to {}: {outcome}", copy.cursor.n));
    Ok(())
}
