//! Installs the hub, and asks about a store without attaching.

use tokio_postgres::types::Type;

use super::{Address, PostgresHub, column};
use crate::Result;

/// The tables and functions of the hub.
pub const SCHEMA: &str = include_str!("../schema.sql");

/// Creates the tables, functions and role, or brings them up to this version.
pub fn install(address: &Address) -> Result<()> {
    PostgresHub::connect(address)?.batch(&format!("BEGIN;\n{SCHEMA}\nCOMMIT;"))
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
