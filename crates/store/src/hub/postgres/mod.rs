//! A hub on PostgreSQL. All decisions are made by the functions in `schema.sql`.

mod address;
mod claim;
mod refusal;
mod schema;
mod snapshots;
mod tls;

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row};

pub use address::Address;
pub use schema::{install, install_sql, store_fence, store_status};

use super::copy::refusal;
use super::{
    Attached, ClaimAnswer, ClaimNews, ClaimRequest, Fetched, Grant, HUB_VERSION, Hub, HubCursor, HubHistory,
    HubRow, Member, RowContent,
};
use crate::{Error, Result};
use refusal::failure;

/// The size of one fetch. It has to arrive within the time of a call, also over a slow line.
const FETCH_BYTES: i64 = 2 * 1024 * 1024;

/// The size of a delta without its payload, as the function counts it.
const ROW_BYTES: i64 = 64;

/// How long one call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The token of the beginning of the history.
const NO_TOKEN: &str = "00000000-0000-0000-0000-000000000000";

/// A connection to a hub on PostgreSQL.
#[derive(Debug)]
pub struct PostgresHub {
    runtime: Runtime,
    client: Client,
    /// Receives the process of the server that sent each notification.
    notifications: mpsc::UnboundedReceiver<i32>,
    /// The process that serves this connection, and whether a notification of it has arrived.
    own_process: i32,
    hears: bool,
    attachment: Attachment,
}

/// What the hub knows an attached machine by. It is not bound to a connection.
#[derive(Debug, Clone)]
pub struct Attachment {
    member: Member,
    epoch: i32,
    number: i32,
}

/// Why a wait ended.
#[derive(Debug)]
pub enum Woken<C> {
    /// Another machine appended something.
    Notified,
    /// The timeout has passed.
    Timeout,
    /// A command arrived; `None` if its sender is gone.
    Command(Option<C>),
    /// The connection is lost.
    Lost,
}

impl PostgresHub {
    /// Connects. Call [`Hub::attach`] before anything else.
    pub fn connect(address: &Address) -> Result<Self> {
        let member = Member { store: String::new(), replica: NO_TOKEN.to_owned() };
        Self::connect_as(address, Attachment { member, epoch: 0, number: 0 })
    }

    /// Connects once more for a machine that is attached.
    pub fn connect_as(address: &Address, attachment: Attachment) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
        let mut config = address.config.clone();
        config.ssl_mode(address.ssl_mode.wire());
        let connector = tls::connector(address)?;
        let (client, mut connection) = within(&runtime, address.patience(), config.connect(connector))?
            .map_err(|error| failure(&error))?;
        let (send, notifications) = mpsc::unbounded_channel();
        runtime.spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(sent) = message
                    && send.send(sent.process_id()).is_err()
                {
                    return;
                }
            }
        });
        let (own_process, hears) = (0, false);
        let hub = Self { runtime, client, notifications, own_process, hears, attachment };
        // The functions refuse other levels, which may be the default of the database.
        hub.batch("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        Ok(hub)
    }

    /// Returns what the hub knows this machine by.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// Runs statements without parameters.
    fn batch(&self, sql: &str) -> Result<()> {
        within(&self.runtime, CALL_TIMEOUT, self.client.batch_execute(sql))?.map_err(|error| failure(&error))
    }

    /// Runs a statement. It is not prepared under a name, because that fails behind a transaction pooler, and
    /// takes one round trip.
    fn query(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>> {
        within(&self.runtime, CALL_TIMEOUT, self.rows(sql, parameters))?
    }

    /// Like [`query`](Self::query), and wakes the other machines in the same round trip.
    fn query_and_notify(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>> {
        let both = async { tokio::join!(self.rows(sql, parameters), self.notified()).0 };
        within(&self.runtime, CALL_TIMEOUT, both)?
    }

    async fn rows(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>> {
        self.client.query_typed(sql, parameters).await.map_err(|error| failure(&error))
    }

    /// Wakes the other machines. `NOTIFY` takes a lock of the whole database at commit, so it is a statement of
    /// its own. A lost notification costs the others one poll.
    async fn notified(&self) {
        let channel = self.channel();
        let _ = self.rows("SELECT pg_notify($1, '')", &[(&channel, Type::TEXT)]).await;
    }

    /// Returns the name of the channel. Channel names are visible to every role, so it is only a number.
    fn channel(&self) -> String {
        format!("beads_{}", self.attachment.number)
    }

    /// Starts to listen, and notifies itself: if that does not arrive, a transaction pooler is in between.
    pub fn listen(&mut self) -> Result<()> {
        self.own_process = column(&Self::one(self.query("SELECT pg_backend_pid()", &[])?)?, 0)?;
        let channel = self.channel();
        self.batch(&format!("LISTEN {channel}"))?;
        // In a transaction of its own: within one, a pooler would pass it on.
        self.batch(&format!("SELECT pg_notify('{channel}', '')"))
    }

    /// Waits for a notification, a command, or the end of a time. Of the notifications that this machine caused
    /// itself, only the first one counts: it shows that they arrive.
    pub fn wait<C>(&mut self, commands: &mut mpsc::UnboundedReceiver<C>, timeout: Duration) -> Woken<C> {
        let Self { runtime, notifications, own_process, hears, .. } = self;
        runtime.block_on(async {
            let end = tokio::time::sleep(timeout);
            tokio::pin!(end);
            loop {
                let first = tokio::select! {
                    biased;
                    command = commands.recv() => return Woken::Command(command),
                    notified = notifications.recv() => match notified {
                        Some(process) => process,
                        None => return Woken::Lost,
                    },
                    () = &mut end => return Woken::Timeout,
                };
                let mut is_news = !*hears || first != *own_process;
                while let Ok(process) = notifications.try_recv() {
                    is_news |= process != *own_process;
                }
                if is_news {
                    *hears = true;
                    return Woken::Notified;
                }
            }
        })
    }

    /// Returns deltas after a cursor.
    async fn fetched_since(&self, cursor: &HubCursor) -> Result<Fetched> {
        let (n, token) = columns(cursor);
        let parameters: [(&(dyn ToSql + Sync), Type); 6] = [
            (&self.attachment.member.store, Type::TEXT),
            (&self.attachment.member.replica, Type::TEXT),
            (&self.attachment.epoch, Type::INT4),
            (&n, Type::INT8),
            (&token, Type::TEXT),
            (&FETCH_BYTES, Type::INT8),
        ];
        let sql = "SELECT n, token::text, replica::text, lineage, holder, fence_ms, fence_counter, until_ms, payload \
                   FROM beads.fetch($1, $2::uuid, $3, $4, $5::uuid, $6)";
        let found = self.rows(sql, &parameters).await?;
        let mut rows: Vec<HubRow> = Vec::with_capacity(found.len());
        for row in &found {
            match hub_row(row) {
                Ok(row) => rows.push(row),
                Err(error) if rows.is_empty() => return Err(error),
                // Those before it are taken first.
                Err(_) => return Ok(Fetched { rows, more: true }),
            }
        }
        // The function stops after the delta that exceeds the size.
        let size = |row: &HubRow| match &row.content {
            RowContent::Payload(payload) => ROW_BYTES + signed(payload.len() as u64),
            RowContent::Grant(_) => ROW_BYTES,
        };
        let more = rows.iter().map(size).sum::<i64>() > FETCH_BYTES;
        Ok(Fetched { rows, more })
    }

    fn one(rows: Vec<Row>) -> Result<Row> {
        rows.into_iter().next().ok_or_else(|| Error::HubInvalid("a function returned nothing".to_owned()))
    }
}

impl Hub for PostgresHub {
    fn attach(&mut self, member: &Member, cursor: &HubCursor, claims: &[ClaimNews]) -> Result<Attached> {
        let (n, token) = columns(cursor);
        let claims = serde_json::to_string(claims).unwrap_or_default();
        let rows = self.query(
            "SELECT number, epoch, head, last_seq, history, holding, now_ms \
             FROM beads.attach($1, $2, $3::uuid, $4, $5::uuid, $6::jsonb)",
            &[
                (&member.store, Type::TEXT),
                (&HUB_VERSION, Type::INT4),
                (&member.replica, Type::TEXT),
                (&n, Type::INT8),
                (&token, Type::TEXT),
                (&claims, Type::TEXT),
            ],
        )?;
        let row = Self::one(rows)?;
        let (number_at_hub, epoch) = (column(&row, 0)?, column(&row, 1)?);
        self.attachment = Attachment { member: member.clone(), epoch, number: number_at_hub };
        let history = match column::<&str>(&row, 4)? {
            "same" => HubHistory::Same,
            "behind" => HubHistory::Behind,
            _ => HubHistory::Other,
        };
        let (head, last_seq) = (number(&row, 2)?, number(&row, 3)?);
        Ok(Attached { head, last_seq, history, holding: column(&row, 5)?, now_ms: number(&row, 6)? })
    }

    fn append(&mut self, seq: u64, seen: u64, payload: &[u8], claims: &[ClaimNews]) -> Result<HubCursor> {
        let (seq, seen) = (signed(seq), signed(seen));
        let claims = serde_json::to_string(claims).unwrap_or_default();
        let rows = self.query_and_notify(
            "SELECT n, token::text FROM beads.append($1, $2::uuid, $3, $4, $5, $6, $7::jsonb)",
            &[
                (&self.attachment.member.store, Type::TEXT),
                (&self.attachment.member.replica, Type::TEXT),
                (&self.attachment.epoch, Type::INT4),
                (&seq, Type::INT8),
                (&seen, Type::INT8),
                (&payload, Type::BYTEA),
                (&claims, Type::TEXT),
            ],
        )?;
        let row = Self::one(rows)?;
        Ok(HubCursor { n: number(&row, 0)?, token: column(&row, 1)? })
    }

    fn settle(&mut self) -> Result<()> {
        let rows = self.query(
            "SELECT beads.settle($1, $2::uuid, $3)",
            &[
                (&self.attachment.member.store, Type::TEXT),
                (&self.attachment.member.replica, Type::TEXT),
                (&self.attachment.epoch, Type::INT4),
            ],
        )?;
        Self::one(rows).map(drop)
    }

    fn fetch_since(&mut self, cursor: &HubCursor) -> Result<Fetched> {
        within(&self.runtime, CALL_TIMEOUT, self.fetched_since(cursor))?
    }

    fn claim(&mut self, seq: u64, cursor: &HubCursor, request: &ClaimRequest) -> Result<ClaimAnswer> {
        let both = async { tokio::join!(self.asked_for_claim(seq, cursor, request), self.notified()).0 };
        within(&self.runtime, CALL_TIMEOUT, both)?
    }
}

/// Parses a delta, which is untrusted.
fn hub_row(row: &Row) -> Result<HubRow> {
    let cursor = HubCursor { n: number(row, 0)?, token: column(row, 1)? };
    let replica: String = column(row, 2)?;
    let content = match column::<Option<Vec<u8>>>(row, 8)? {
        Some(payload) => RowContent::Payload(payload),
        None => {
            let grant = || {
                let fence = (column(row, 5)?, column(row, 6)?);
                Grant::parse(column(row, 3)?, column(row, 4)?, fence, column(row, 7)?)
            };
            RowContent::Grant(
                grant().map_err(|error| Error::HubInvalid(refusal(cursor.n, &replica, &error)))?,
            )
        }
    };
    Ok(HubRow { cursor, replica, content })
}

fn columns(cursor: &HubCursor) -> (i64, &str) {
    (signed(cursor.n), if cursor.token.is_empty() { NO_TOKEN } else { &cursor.token })
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn column<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, index: usize) -> Result<T> {
    row.try_get(index).map_err(|error| Error::HubInvalid(error.to_string()))
}

fn number(row: &Row, index: usize) -> Result<u64> {
    let value: i64 = column(row, index)?;
    u64::try_from(value).map_err(|error| Error::HubInvalid(error.to_string()))
}

/// Runs a future, at most for a time.
fn within<T>(runtime: &Runtime, timeout: Duration, future: impl Future<Output = T>) -> Result<T> {
    let waited = runtime.block_on(async { tokio::time::timeout(timeout, future).await });
    waited.map_err(|_| unreachable(format!("no answer within {} seconds", timeout.as_secs())))
}

fn unreachable(reason: String) -> Error {
    Error::HubUnreachable(reason)
}
