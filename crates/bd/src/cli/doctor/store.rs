//! The checks of the store itself: the findings of `bd validate` by topic.

use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::render::CheckAnswer;
use beads_engine::request::Call;
use serde_json::Value;

use super::summary;
use crate::cli::globals::Globals;

/// The names of the checks, in their order.
pub const NAMES: [&str; 3] = ["store", "dependencies", "clock_skew"];

/// Returns the checks.
pub fn checks(globals: &Globals, place: &Place) -> Result<Vec<CheckAnswer>, Failure> {
    let findings: Vec<Value> = globals.value(place, Call::Validate)?;
    let about_edges = |finding: &Value| finding["file"] == beads_core::snapshot::DEPS;
    let (edges, store): (Vec<_>, Vec<_>) = findings.into_iter().partition(about_edges);
    let about_clocks = |finding: &Value| {
        [Code::FutureStamp, Code::ClockExhausted].iter().any(|code| finding["code"] == code.as_str())
    };
    let (clocks, store): (Vec<_>, Vec<_>) = store.into_iter().partition(about_clocks);
    let [of_store, of_edges, of_clocks] = NAMES;
    Ok(vec![summary(of_store, store), summary(of_edges, edges), summary(of_clocks, clocks)])
}
