//! Paging: the requested part of a list, and the offset of the next page.

use serde_json::{Map, Value, json};

use super::budget::{self, Budgeted};
use crate::tool::Tool;

/// The length of a bead in a list that has only its id.
const FEWEST_CHARS: usize = 16;

/// The requested part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    offset: usize,
    /// The maximum number of items, if the call gives one.
    pub limit: Option<usize>,
    /// The tool's own maximum.
    max: usize,
}

impl Page {
    /// Reads the page from the arguments and adjusts the tool's limit. The tool also returns the items before
    /// the offset, which are dropped later. A list of beads without a limit gets one from `max_chars`,
    /// because reading a whole store to show one page would be slow.
    pub fn from_arguments(
        tool: &Tool,
        arguments: &mut Map<String, Value>,
        offset: usize,
        max_chars: Option<usize>,
    ) -> Self {
        let max = tool.input_schema()["properties"]["limit"]["maximum"].as_u64();
        let max = max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        let given =
            arguments.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
        // The tool refuses a limit that is too large.
        let refused = given.is_some_and(|limit| limit > max);
        let fits = max_chars.unwrap_or(budget::DEFAULT_CHARS) / FEWEST_CHARS + 1;
        // A limit of 0, or no limit, means all.
        let may_be_all =
            tool.group() == "beads" && tool.input_schema()["properties"]["limit"]["minimum"] == 0;
        let implied = (may_be_all && !refused).then_some(fits.min(max));
        let limit = given.filter(|limit| *limit > 0 && *limit <= max).or(implied);
        if let Some(limit) = limit {
            arguments.insert("limit".into(), limit.saturating_add(offset).min(max).into());
        }
        Self { offset, limit, max }
    }

    /// Returns the offset of the next page, if there may be one, and updates `next_offset` in the answer.
    pub fn after(self, fitted: &mut Budgeted) -> Option<usize> {
        let result = fitted.result.as_object_mut()?;
        let shown = result.get("items")?.as_array()?.len();
        let count = result.get("count").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let cut = count.is_some_and(|count| shown < count);
        let ends = self.limit.is_none_or(|limit| shown < limit) && !cut;
        let next = self.offset.saturating_add(shown);
        let has_more = !ends && shown > 0 && next < self.max;
        if result.contains_key("next_offset") {
            // Never longer than the old value, so the answer still fits.
            if has_more {
                result.insert("next_offset".into(), next.into());
            } else {
                result.remove("next_offset");
            }
            let mut bare = Value::Object(result.clone());
            bare.as_object_mut()?.remove("budget");
            fitted.result["budget"]["used_chars"] = json!(budget::size(&bare));
        }
        has_more.then_some(next)
    }
}
