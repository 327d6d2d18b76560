//! Snapshots, in parts.

use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::{PostgresHub, column, columns, number};
use crate::hub::{Compaction, FoldOutcome, HubCursor, SnapshotHead, Snapshots};
use crate::{Error, Result};

impl PostgresHub {
    /// Calls a function with the identity of this machine and more arguments, `$4` and so on.
    fn call(&self, sql: &str, arguments: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>> {
        let attachment = &self.attachment;
        let identity: [(&(dyn ToSql + Sync), Type); 3] = [
            (&attachment.member.store, Type::TEXT),
            (&attachment.member.replica, Type::TEXT),
            (&attachment.epoch, Type::INT4),
        ];
        let all: Vec<_> = identity.into_iter().chain(arguments.iter().cloned()).collect();
        self.query(sql, &all)
    }

    fn call_for_row(&self, sql: &str, arguments: &[(&(dyn ToSql + Sync), Type)]) -> Result<Row> {
        Self::one(self.call(sql, arguments)?)
    }
}

impl Snapshots for PostgresHub {
    fn snapshot(&mut self) -> Result<Option<SnapshotHead>> {
        let sql = "SELECT upto, upto_token::text, token::text, parts, bytes, digest \
                   FROM beads.snapshot($1, $2::uuid, $3)";
        let rows = self.call(sql, &[])?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(SnapshotHead {
            cursor: HubCursor { n: number(row, 0)?, token: column(row, 1)? },
            token: column(row, 2)?,
            parts: count(row, 3)?,
            bytes: number(row, 4)?,
            digest: column(row, 5)?,
        }))
    }

    fn snapshot_part(&mut self, token: &str, part: u32) -> Result<Option<Vec<u8>>> {
        let part = i64::from(part);
        let sql = "SELECT beads.snapshot_part($1, $2::uuid, $3, $4::uuid, $5::int)";
        column(&self.call_for_row(sql, &[(&token, Type::TEXT), (&part, Type::INT8)])?, 0)
    }

    fn compaction(&mut self) -> Result<Compaction> {
        let sql = "SELECT delta_bytes, snapshot_bytes, part_bytes, proposed, proposed_by::text, writing, leftover \
                   FROM beads.compaction($1, $2::uuid, $3)";
        let row = self.call_for_row(sql, &[])?;
        let proposed = column::<Option<i64>>(&row, 3)?.zip(column::<Option<String>>(&row, 4)?);
        Ok(Compaction {
            delta_bytes: number(&row, 0)?,
            snapshot_bytes: number(&row, 1)?,
            part_bytes: count(&row, 2)?,
            proposed: proposed.map(|(n, by)| (u64::try_from(n).unwrap_or_default(), by)),
            writing: column(&row, 5)?,
            leftover: column(&row, 6)?,
        })
    }

    fn begin_snapshot(&mut self, upto: &HubCursor, part_bytes: u32) -> Result<Option<String>> {
        let ((n, token), part_bytes) = (columns(upto), i64::from(part_bytes));
        let sql = "SELECT beads.begin_snapshot($1, $2::uuid, $3, $4, $5::uuid, $6::int)::text";
        let arguments: [(&(dyn ToSql + Sync), Type); 3] =
            [(&n, Type::INT8), (&token, Type::TEXT), (&part_bytes, Type::INT8)];
        column(&self.call_for_row(sql, &arguments)?, 0)
    }

    fn put_part(&mut self, token: &str, part: u32, payload: &[u8]) -> Result<bool> {
        let part = i64::from(part);
        let sql = "SELECT beads.put_part($1, $2::uuid, $3, $4::uuid, $5::int, $6)";
        let arguments: [(&(dyn ToSql + Sync), Type); 3] =
            [(&token, Type::TEXT), (&part, Type::INT8), (&payload, Type::BYTEA)];
        column(&self.call_for_row(sql, &arguments)?, 0)
    }

    fn propose(&mut self, token: &str, parts: u32, digest: &str) -> Result<FoldOutcome> {
        let parts = i64::from(parts);
        let sql = "SELECT beads.propose($1, $2::uuid, $3, $4::uuid, $5::int, $6)";
        let arguments: [(&(dyn ToSql + Sync), Type); 3] =
            [(&token, Type::TEXT), (&parts, Type::INT8), (&digest, Type::TEXT)];
        FoldOutcome::parse(column(&self.call_for_row(sql, &arguments)?, 0)?)
    }

    fn confirm(&mut self, upto: &HubCursor, digest: &str) -> Result<FoldOutcome> {
        let (n, token) = columns(upto);
        let sql = "SELECT beads.confirm($1, $2::uuid, $3, $4, $5::uuid, $6)";
        let arguments: [(&(dyn ToSql + Sync), Type); 3] =
            [(&n, Type::INT8), (&token, Type::TEXT), (&digest, Type::TEXT)];
        FoldOutcome::parse(column(&self.call_for_row(sql, &arguments)?, 0)?)
    }

    fn trim(&mut self) -> Result<bool> {
        column(&self.call_for_row("SELECT beads.trim($1, $2::uuid, $3)", &[])?, 0)
    }
}

fn count(row: &Row, index: usize) -> Result<u32> {
    let value: i32 = column(row, index)?;
    u32::try_from(value).map_err(|error| Error::HubInvalid(error.to_string()))
}
