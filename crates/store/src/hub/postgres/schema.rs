//! Installs the hub, and asks about a store without attaching.

use std::time::Duration;

use tokio_postgres::types::Type;

use super::refusal::failure;
use super::{Address, PostgresHub, column, within};
use crate::Result;

/// The tables and functions of the hub.
const SCHEMA: &str = include_str!("../schema.sql");

/// How long bringing a large hub up to this version may take.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Returns the SQL that creates the tables, functions and role, or brings them up to this version, in one
/// transaction.
pub fn install_sql() -> String {
    format!("BEGIN;\n{SCHEMA}\nCOMMIT;\n")
}

/// Runs [`install_sql`].
pub fn install(address: &Address) -> Result<()> {
    let hub = PostgresHub::connect(address)?;
    let sql = install_sql();
    within(&hub.runtime, INSTALL_TIMEOUT, hub.client.batch_execute(&sql))?.map_err(|error| failure(&error))
}

/// Returns what the hub knows about a store, and how many milliseconds the answer took.
pub fn store_status(address: &Address, store: &str) -> Result<(serde_json::Value, f64)> {
    let hub = PostgresHub::connect(address)?;
    let began = std::time::Instant::now();
    let rows = hub.query("SELECT beads.status($1)::text", &[(&store, Type::TEXT)])?;
    let latency_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let row = PostgresHub::one(rows)?;
    let status = serde_json::from_str(column(&row, 0)?);
    Ok((status.map_err(|error| crate::Error::HubInvalid(error.to_string()))?, latency_ms))
}

/// Starts a new epoch of a store and returns its number.
pub fn store_fence(address: &Address, store: &str) -> Result<i32> {
    let hub = PostgresHub::connect(address)?;
    let rows = hub.query("SELECT beads.fence($1)", &[(&store, Type::TEXT)])?;
    column(&PostgresHub::one(rows)?, 0)
}
