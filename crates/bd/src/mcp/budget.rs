//! Cuts a result to its budget. First long texts are trimmed, then empty fields dropped, then lists
//! shortened, then other fields dropped. In the end only a marker is left that there was a result. A budget
//! never makes a call fail.

use serde_json::{Map, Value, json};

use super::boundary;

/// The smallest budget, enough for a minimal answer.
pub const MIN_CHARS: usize = 64;

/// The default budget of a full view: about one page of context.
pub const DEFAULT_CHARS: usize = 8_000;

/// Texts are not trimmed below this, because a shorter piece is useless.
const SHORTEST_TEXT: usize = 24;

/// Up to this many rounds, and only for results up to this size, fields are dropped one by one.
const MAX_FINE_ROUNDS: usize = 100;
const MAX_FINE_CHARS: usize = 64 * 1024;

/// Returns whether a field is an identifier. Identifiers are never trimmed: half of one could name something
/// else.
fn is_name(key: &str) -> bool {
    matches!(key, "id" | "ids" | "content_hash" | "if_hash" | "fence" | "parent" | "cursor")
        || key.ends_with("_id")
        || key.ends_with("_at")
}

/// The order in which fields are dropped: details first, then what describes a thing, then its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Importance {
    Detail,
    Gist,
    Name,
}

fn importance(key: &str) -> Importance {
    match key {
        // A list is as important as its content.
        "id" | "ids" | "message_id" | "agent_id" | "issue_id" | "cursor" | "items" => Importance::Name,
        "title" | "subject" | "status" | "priority" | "revision" | "count" | "next_offset" => {
            Importance::Gist
        }
        _ => Importance::Detail,
    }
}

/// The limits that a caller gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Size of the whole result, in UTF-8 bytes of compact JSON without its `budget`.
    pub max_chars: Option<usize>,
    /// Bytes of each text.
    pub max_bytes: Option<usize>,
    /// Lines of each text.
    pub max_lines: Option<usize>,
}

/// A result that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Budgeted {
    /// The result with its `budget`.
    pub result: Value,
    /// Codes that say how it was cut.
    pub warnings: Vec<&'static str>,
}

/// Cuts a result to its limits and adds a `budget` that says so.
pub fn fit(result: Map<String, Value>, limits: Limits) -> Budgeted {
    let requested = limits.max_chars.unwrap_or(DEFAULT_CHARS);
    let max = requested.max(MIN_CHARS);
    let mut warnings = Vec::new();
    if requested < MIN_CHARS {
        warnings.push("BUDGET_MIN_CLAMPED");
    }
    let whole = Value::Object(result);
    let mut value = whole.clone();
    cut_texts(&mut value, limits.max_bytes.unwrap_or(usize::MAX), limits.max_lines.unwrap_or(usize::MAX));
    let minimal = !shrink(&mut value, max);
    let truncated = value != whole;
    if minimal {
        warnings.push("BUDGET_MINIMAL");
    } else if truncated {
        warnings.push("BUDGET_TRUNCATED");
    }
    let used = size(&value);
    value["budget"] = json!({"max_chars": max, "used_chars": used, "truncated": truncated});
    Budgeted { result: value, warnings }
}

pub fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Reads a count. A number out of bounds becomes the nearest bound, because a budget never makes a call fail.
pub fn count(value: &Value) -> Option<usize> {
    match value.as_u64() {
        Some(number) => Some(usize::try_from(number).unwrap_or(usize::MAX)),
        // The cast rounds down and turns negative numbers into zero.
        None => value.as_f64().map(|number| number as usize),
    }
}

/// Cuts a value that is not a result, such as an error.
pub fn shorten(value: &mut Value, max: usize) {
    shrink(value, max);
}

/// Cuts a value to `max` bytes. Returns false if only a marker is left.
fn shrink(value: &mut Value, max: usize) -> bool {
    if size(value) <= max {
        return true;
    }
    let with_texts = |limit: usize| {
        let mut tried = value.clone();
        cut_texts(&mut tried, limit, usize::MAX);
        tried
    };
    let shortest = with_texts(SHORTEST_TEXT);
    if size(&shortest) <= max {
        let best = largest(SHORTEST_TEXT, max, |limit| size(&with_texts(limit)) <= max);
        *value = with_texts(best);
        return true;
    }
    *value = shortest;
    drop_empty(value);
    if size(value) <= max {
        return true;
    }
    let with_lists = |limit: usize| {
        let mut tried = value.clone();
        cut_lists(&mut tried, limit);
        tried
    };
    if size(&with_lists(1)) <= max {
        let best = largest(1, max, |limit| size(&with_lists(limit)) <= max);
        *value = with_lists(best);
        return true;
    }
    *value = with_lists(1);
    for round in 0.. {
        let now = size(value);
        // Every round reads the whole value, so a large one, or one with very many fields, loses whole
        // branches instead.
        let deep = round < MAX_FINE_ROUNDS && now <= MAX_FINE_CHARS;
        if now <= max || !drop_largest_field(value, deep) {
            break;
        }
    }
    if size(value) <= max && value.as_object().is_some_and(|left| !left.is_empty()) {
        return true;
    }
    *value = json!({"truncated": true});
    false
}

/// Binary search: returns the largest number for which a monotonic condition holds. It must hold for `least`.
fn largest(least: usize, most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut bad) = (least, most.max(least) + 1);
    while good + 1 < bad {
        let middle = good.midpoint(bad);
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// Trims texts that are longer than `bytes` or `lines`.
fn cut_texts(value: &mut Value, bytes: usize, lines: usize) {
    match value {
        Value::String(text) => cut_text(text, bytes, lines),
        Value::Array(items) => items.iter_mut().for_each(|item| cut_texts(item, bytes, lines)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut().filter(|(key, value)| !(is_name(key) && value.is_string())) {
                if key != "ids" {
                    cut_texts(value, bytes, lines);
                }
            }
        }
        _ => {}
    }
}

/// Trims a text. The ellipsis counts, so the result is never longer than the text was.
fn cut_text(text: &mut String, bytes: usize, lines: usize) {
    const MARK: char = '…';
    let line_end = text.match_indices('\n').nth(lines.saturating_sub(1)).map(|(at, _)| at);
    let by_lines = if lines == usize::MAX { text.len() } else { line_end.unwrap_or(text.len()) };
    if by_lines == text.len() && text.len() <= bytes {
        return;
    }
    let available = bytes.min(by_lines + MARK.len_utf8()).saturating_sub(MARK.len_utf8());
    text.truncate(boundary::floor(text, available));
    text.push(MARK);
}

fn cut_lists(value: &mut Value, limit: usize) {
    match value {
        Value::Array(items) => {
            items.truncate(limit);
            items.iter_mut().for_each(|item| cut_lists(item, limit));
        }
        Value::Object(map) => map.values_mut().for_each(|value| cut_lists(value, limit)),
        _ => {}
    }
}

/// Drops empty fields.
fn drop_empty(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        Value::Object(map) => {
            map.values_mut().for_each(drop_empty);
            // An empty `items` is the answer itself.
            map.retain(|key, value| key == "items" || !is_empty(value));
        }
        _ => {}
    }
}

/// Drops the largest of the least important fields, at any depth if `deep`, else as a whole branch. Returns
/// false if there is none left.
fn drop_largest_field(value: &mut Value, deep: bool) -> bool {
    let found = [Importance::Detail, Importance::Gist, Importance::Name]
        .into_iter()
        .find_map(|most| largest_field(value, most, deep));
    let Some((_, path)) = found else { return false };
    let (last, parents) = path.split_last().map_or(("", &[][..]), |(last, parents)| (last.as_str(), parents));
    let mut at = value;
    for step in parents {
        at = match at {
            Value::Array(items) => &mut items[0],
            other => &mut other[step.as_str()],
        };
    }
    at.as_object_mut().is_some_and(|map| map.remove(last).is_some())
}

/// Returns the size and path of the largest field. Lists have at most one item here.
fn largest_field(value: &Value, most: Importance, deep: bool) -> Option<(usize, Vec<String>)> {
    match value {
        Value::Array(items) => {
            let (size, mut path) = items.first().and_then(|item| largest_field(item, most, deep))?;
            path.insert(0, "0".to_owned());
            Some((size, path))
        }
        Value::Object(map) => {
            let fields = map.iter().filter_map(|(key, inner)| {
                let own = (importance(key) <= most).then(|| (size(inner) + key.len(), vec![key.clone()]));
                let below = (matches!(inner, Value::Object(_) | Value::Array(_)) && (deep || own.is_none()))
                    .then(|| largest_field(inner, most, deep))
                    .flatten()
                    .map(|(size, mut path)| {
                        path.insert(0, key.clone());
                        (size, path)
                    });
                // Fields inside a container go before the container itself.
                below.or(own)
            });
            fields.max_by_key(|(size, _)| *size)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    fn limited(max_chars: usize) -> Limits {
        Limits { max_chars: Some(max_chars), ..Limits::default() }
    }

    #[test]
    fn texts_are_cut_first_then_lists_then_fields() {
        let bead = json!({"id": "bd-a1", "title": "A title", "description": "x".repeat(500)});
        let whole = json!({"items": vec![bead.clone(); 5]});
        let trimmed = fit(object(whole.clone()), limited(1_000));
        assert_eq!(trimmed.warnings, ["BUDGET_TRUNCATED"]);
        assert_eq!(trimmed.result["items"].as_array().unwrap().len(), 5);
        let shorter = fit(object(whole.clone()), limited(200));
        assert_eq!(shorter.result["items"][0]["id"], "bd-a1");
        assert!(shorter.result["items"].as_array().unwrap().len() < 5);
        let least = fit(object(whole), limited(64));
        assert_eq!(least.result["items"][0]["id"], "bd-a1", "{least:?}");
        assert_eq!(least.result["items"][0].get("description"), None);
    }

    #[test]
    fn empty_fields_go_before_list_items_and_a_title_goes_before_an_id() {
        let bead = |id: &str| {
            json!({"id": id, "title": "A title", "status": "open", "closed_at": null, "labels": [], "design": "",
                "created_at": "2026-01-01T00:00:00Z", "dependencies": [{"id": "bd-z9", "title": "Another"}]})
        };
        let whole = json!({"count": 3, "items": [bead("bd-a1"), bead("bd-b2"), bead("bd-c3")]});
        let fitted = |max| fit(object(whole.clone()), limited(max)).result;
        let all = fitted(450);
        assert_eq!(all["items"].as_array().unwrap().len(), 3, "{all}");
        assert_eq!((all["items"][2].get("closed_at"), &all["items"][2]["title"]), (None, &json!("A title")));
        let gist = fitted(80);
        assert_eq!(gist["items"], json!([{"id": "bd-a1", "title": "A title", "status": "open"}]));
        assert_eq!(fitted(64)["items"][0]["id"], "bd-a1");
    }

    #[test]
    fn a_huge_object_is_dropped_as_a_whole() {
        let metadata: Map<String, Value> = (0..20_000).map(|n| (format!("k{n}"), json!({"v": n}))).collect();
        let whole = json!({"items": [{"id": "bd-a1", "title": "A title", "metadata": metadata}]});
        let fitted = fit(object(whole), limited(200));
        assert_eq!(fitted.result["items"], json!([{"id": "bd-a1", "title": "A title"}]));
    }

    #[test]
    fn the_minimal_answer_is_a_marker_and_a_tiny_budget_is_raised() {
        let long = Map::from_iter([("x".repeat(100), json!(1))]);
        let minimal = fit(long, limited(1));
        assert_eq!(minimal.warnings, ["BUDGET_MIN_CLAMPED", "BUDGET_MINIMAL"]);
        assert_eq!(minimal.result["truncated"], true);
        assert_eq!(minimal.result["budget"], json!({"max_chars": 64, "used_chars": 18, "truncated": true}));
    }

    #[test]
    fn each_text_is_limited_in_lines_and_bytes() {
        let given = object(json!({"diff": "a\nb\nc", "log": "12345678901"}));
        let limits = Limits { max_lines: Some(2), max_bytes: Some(10), ..Limits::default() };
        let cut = fit(given, limits).result;
        assert_eq!((&cut["diff"], &cut["log"]), (&json!("a\nb…"), &json!("1234567…")));
        assert_eq!(cut["budget"]["truncated"], true);
    }

    #[test]
    fn any_number_is_accepted_as_a_budget() {
        for (given, wanted) in [
            (json!(7), 7),
            (json!(-7), 0),
            (json!(7.9), 7),
            (json!(1e300), usize::MAX),
            (json!(u64::MAX), usize::MAX),
        ] {
            assert_eq!(count(&given), Some(wanted), "{given}");
        }
        assert_eq!(count(&json!("7")), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,80}".prop_map(Value::from),
        ];
        let key = prop_oneof![Just("id".to_owned()), Just("bead_id".to_owned()), "[a-z\\\\\"é]{1,9}"];
        leaf.prop_recursive(4, 60, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(key.clone(), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn used_chars_is_exact_and_within_the_limit(value in any_json(), max_chars in 0_usize..600) {
            let fitted = fit(object(json!({"items": value})), limited(max_chars));
            let text = fitted.result.to_string();
            let mut read: Value = serde_json::from_str(&text).unwrap();
            let budget = read.as_object_mut().unwrap().remove("budget").unwrap();
            let used = usize::try_from(budget["used_chars"].as_u64().unwrap()).unwrap();
            prop_assert_eq!(used, size(&read));
            prop_assert!(used <= max_chars.max(MIN_CHARS));
            prop_assert_eq!(budget["truncated"] == true, !fitted.warnings.iter().all(|w| *w == "BUDGET_MIN_CLAMPED"));
        }
    }
}
