//! A part of a list: what was asked for, and where the next call goes on.

use serde_json::{Map, Value, json};

use super::budget::{self, Budgeted};
use crate::tool::Tool;

/// A bead with nothing but its id takes so many characters of a list.
const FEWEST_CHARS: usize = 16;

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
    /// Takes the page out of the arguments: the tool reads what comes before it again, and it is left out afterwards. A list of
    /// beads without a limit gets that of what fits into `max_chars`: reading a whole store to show a page of it takes long.
    pub fn asked(
        tool: &Tool,
        arguments: &mut Map<String, Value>,
        offset: usize,
        max_chars: Option<usize>,
    ) -> Self {
        let most = tool.input_schema()["properties"]["limit"]["maximum"].as_u64();
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let given =
            arguments.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
        // What is too large is refused by the tool.
        let refused = given.is_some_and(|limit| limit > most);
        let fits = max_chars.unwrap_or(budget::DEFAULT_CHARS) / FEWEST_CHARS + 1;
        // A limit of 0, or none, asks for all.
        let may_be_all =
            tool.group() == "beads" && tool.input_schema()["properties"]["limit"]["minimum"] == 0;
        let implied = (may_be_all && !refused).then_some(fits.min(most));
        let limit = given.filter(|limit| *limit > 0 && *limit <= most).or(implied);
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
