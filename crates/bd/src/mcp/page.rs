//! A part of a list: what was asked for, and where the next call goes on.

use serde_json::{Map, Value, json};

use super::budget::{self, Budgeted};
use crate::tool::Tool;

/// What a call asks of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    offset: usize,
    /// At most so many, if the call says so.
    pub limit: Option<usize>,
    /// The tool itself gives no more than this.
    most: usize,
}

impl Page {
    /// Takes the page out of the arguments: the tool reads what comes before it again, and it is left out afterwards.
    pub fn asked(tool: &Tool, arguments: &mut Map<String, Value>, offset: usize) -> Self {
        let most = tool.input_schema()["properties"]["limit"]["maximum"].as_u64();
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let given =
            arguments.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
        // What is too large is refused by the tool.
        let limit = given.filter(|limit| *limit > 0 && *limit <= most);
        if let Some(limit) = limit {
            arguments.insert("limit".into(), limit.saturating_add(offset).min(most).into());
        }
        Self { offset, limit, most }
    }

    /// Where to go on after what is left in the answer, if anything may follow; the answer says the same.
    pub fn after(self, fitted: &mut Budgeted) -> Option<usize> {
        let result = fitted.result.as_object_mut()?;
        let shown = result.get("items")?.as_array()?.len();
        let count = result.get("count").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let cut = count.is_some_and(|count| shown < count);
        let ends = self.limit.is_none_or(|limit| shown < limit) && !cut;
        let next = self.offset.saturating_add(shown);
        let goes_on = !ends && shown > 0 && next < self.most;
        if result.contains_key("next_offset") {
            // Never longer than what stood there, so it still fits.
            if goes_on {
                result.insert("next_offset".into(), next.into());
            } else {
                result.remove("next_offset");
            }
            let mut bare = Value::Object(result.clone());
            bare.as_object_mut()?.remove("budget");
            fitted.result["budget"]["used_chars"] = json!(budget::size(&bare));
        }
        goes_on.then_some(next)
    }
}
