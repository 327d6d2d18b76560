//! Validates an input against the published schema, so that the two cannot differ. Supports the keywords of
//! draft-07 that our schemas use; a test ensures that they use no others.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use beads_engine::failure::{Code, Failure};
use regex_lite::Regex;
use serde_json::{Map, Value, json};

use super::field;
use crate::moment;

/// Accepts the value or names the wrong field. Whole numbers with a fraction (`2.0`), which draft-07 counts
/// as integers, become integers. Times become the milliseconds that operations take.
pub fn check(schema: &Value, value: &mut Value) -> Result<(), Failure> {
    visit(schema, value, &mut Vec::new())
}

fn visit(schema: &Value, value: &mut Value, path: &mut Vec<String>) -> Result<(), Failure> {
    let Some(schema) = schema.as_object() else {
        return if *schema == Value::Bool(false) { Err(unknown(path, &[])) } else { Ok(()) };
    };
    check_type(schema, value, path)?;
    check_among(schema, value, path)?;
    match value {
        Value::String(text) => check_text(schema, text, path)?,
        Value::Number(number) => check_number(schema, number.as_f64().unwrap_or(f64::NAN), path)?,
        Value::Array(items) => check_items(schema, items, path)?,
        Value::Object(object) => check_object(schema, object, path)?,
        Value::Null | Value::Bool(_) => {}
    }
    match schema.get("not") {
        Some(unwanted) if accepts(unwanted, value)? => {
            let what = match value {
                Value::Object(_) => "has mutually exclusive fields",
                _ => "has invalid characters",
            };
            Err(invalid(path, what, schema, value))
        }
        _ => read_time(schema, value, path),
    }
}

/// Returns whether a schema accepts the value. The usual schema is one pattern, which needs no error message.
fn accepts(schema: &Value, value: &Value) -> Result<bool, Failure> {
    match (schema.as_object().map(|keywords| (keywords.len(), keywords.get("pattern"))), value) {
        (Some((1, Some(Value::String(pattern)))), Value::String(text)) => matches_pattern(pattern, text),
        _ => Ok(visit(schema, &mut value.clone(), &mut Vec::new()).is_ok()),
    }
}

/// Returns whether a text matches a pattern of a schema. Every pattern is compiled once: that takes longer
/// than applying an operation, and a batch has thousands of lines.
fn matches_pattern(pattern: &str, text: &str) -> Result<bool, Failure> {
    static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = compiled.get(pattern) {
        return Ok(known.is_match(text));
    }
    let new = Regex::new(pattern)
        .map_err(|error| Failure::new(Code::InternalError, format!("pattern {pattern:?}: {error}")))?;
    Ok(compiled.entry(pattern.to_owned()).or_insert(new).is_match(text))
}

/// Converts a time to milliseconds. Refuses what the pattern cannot check, such as an unknown time zone.
fn read_time(schema: &Map<String, Value>, value: &mut Value, path: &[String]) -> Result<(), Failure> {
    if let Value::String(text) = value
        && schema.get("pattern").is_some_and(|pattern| pattern == field::TIME)
    {
        let unreadable =
            |error| refusal(Code::InvalidValue, path, format!("{}: {error}", name(path)), Value::Null);
        *value = moment::read(text).map_err(unreadable)?.ms().into();
    }
    Ok(())
}

fn check_type(schema: &Map<String, Value>, value: &mut Value, path: &[String]) -> Result<(), Failure> {
    let wanted: Vec<&str> = match schema.get("type") {
        None => return Ok(()),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(one) => one.as_str().into_iter().collect(),
    };
    if wanted.contains(&"integer")
        && let Some(whole) = value.as_f64().and_then(whole)
        && value.is_f64()
    {
        *value = whole;
    }
    if wanted.iter().any(|name| is_a(value, name)) {
        return Ok(());
    }
    let expected = wanted.join(" or ");
    let message = format!("{} must be {expected}, not {}{}", name(path), type_of(value), received(value));
    Err(refusal(Code::InvalidType, path, message, json!(expected)))
}

/// Converts a number with a zero fraction to an integer.
fn whole(number: f64) -> Option<Value> {
    // Beyond this, floating-point numbers cannot represent every integer. All our bounds are smaller.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(json!(number as i64))
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        other => type_of(value) == other,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn check_among(schema: &Map<String, Value>, value: &Value, path: &[String]) -> Result<(), Failure> {
    let single = schema.get("const").map(std::slice::from_ref);
    let among = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(single);
    match among {
        Some(among) if !among.contains(value) => {
            let values: Vec<String> = among
                .iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .collect();
            let message = format!("{} must be one of {}{}", name(path), values.join(", "), received(value));
            Err(refusal(Code::InvalidValue, path, message, json!(among)))
        }
        _ => Ok(()),
    }
}

fn check_text(schema: &Map<String, Value>, text: &str, path: &[String]) -> Result<(), Failure> {
    let given = || Value::from(text);
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let length = text.chars().count() as u64;
    if bound("minLength").is_some_and(|least| length < least) {
        return Err(invalid(path, "is too short", schema, &given()));
    }
    if bound("maxLength").is_some_and(|most| length > most) {
        return Err(invalid(path, &format!("is too long: {length} characters"), schema, &Value::Null));
    }
    match schema.get("pattern").and_then(Value::as_str) {
        Some(pattern) if !matches_pattern(pattern, text)? => {
            Err(invalid(path, "does not have the expected form", schema, &given()))
        }
        _ => Ok(()),
    }
}

fn check_number(schema: &Map<String, Value>, number: f64, path: &[String]) -> Result<(), Failure> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let outside = bound("minimum").is_some_and(|least| number < least)
        || bound("maximum").is_some_and(|most| number > most);
    if outside { Err(invalid(path, "is out of range", schema, &json!(number))) } else { Ok(()) }
}

fn check_items(
    schema: &Map<String, Value>,
    items: &mut [Value],
    path: &mut Vec<String>,
) -> Result<(), Failure> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let count = items.len() as u64;
    if bound("minItems").is_some_and(|least| count < least)
        || bound("maxItems").is_some_and(|most| count > most)
    {
        return Err(invalid(path, &format!("has too few or too many items: {count}"), schema, &Value::Null));
    }
    let Some(each) = schema.get("items") else { return Ok(()) };
    for (index, item) in items.iter_mut().enumerate() {
        path.push(index.to_string());
        visit(each, item, path)?;
        path.pop();
    }
    Ok(())
}

fn check_object(
    schema: &Map<String, Value>,
    object: &mut Map<String, Value>,
    path: &mut Vec<String>,
) -> Result<(), Failure> {
    check_required(schema.get("required"), object, path)?;
    for (trigger, needed) in schema.get("dependencies").and_then(Value::as_object).into_iter().flatten() {
        if object.contains_key(trigger) {
            check_required(Some(needed), object, path)?;
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
    for (key, value) in object {
        path.push(key.clone());
        let field = known.and_then(|known| known.get(key));
        if field.is_none() && *others == Value::Bool(false) {
            let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            return Err(unknown(path, &names));
        }
        visit(field.unwrap_or(others), value, path)?;
        path.pop();
    }
    Ok(())
}

fn check_required(
    required: Option<&Value>,
    object: &Map<String, Value>,
    path: &mut Vec<String>,
) -> Result<(), Failure> {
    let names = required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    match names.into_iter().find(|name| !object.contains_key(*name)) {
        None => Ok(()),
        Some(missing) => {
            path.push(missing.to_owned());
            let message = format!("the field {} is missing", name(path));
            Err(refusal(Code::MissingField, path, message, Value::Null))
        }
    }
}

/// Returns the failure for an unknown field; it lists the known ones.
fn unknown(path: &[String], known: &[&str]) -> Failure {
    let taken =
        if known.is_empty() { String::new() } else { format!("; the fields are {}", known.join(", ")) };
    let message = format!("unknown field {}{taken}", name(path));
    Failure::new(Code::InvalidValue, message).with(json!({"field": path.join("."), UNKNOWN: true}))
}

/// Set in the details of a failure when the field itself is unknown.
pub const UNKNOWN: &str = "unknown_field";

/// Returns the failure for a value outside its bounds, with the bounds.
fn invalid(path: &[String], what: &str, schema: &Map<String, Value>, value: &Value) -> Failure {
    const BOUNDS: [&str; 9] =
        ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "not", "enum"];
    let bounds = schema.iter().filter(|(keyword, _)| BOUNDS.contains(&keyword.as_str()));
    let expected: Map<String, Value> =
        bounds.map(|(keyword, bound)| (keyword.clone(), bound.clone())).collect();
    let received = if value.is_null() { String::new() } else { received(value) };
    refusal(Code::InvalidValue, path, format!("{} {what}{received}", name(path)), Value::Object(expected))
}

/// Formats the received value, shortened for a message.
fn received(value: &Value) -> String {
    const SHOWN_CHARS: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!(" (received {}…)", &text[..end]),
        None => format!(" (received {text})"),
    }
}

fn refusal(code: Code, path: &[String], message: String, expected: Value) -> Failure {
    let mut details = json!({"field": path.join(".")});
    if !expected.is_null() {
        details["expected"] = expected;
    }
    Failure::new(code, message).with(details)
}

fn name(path: &[String]) -> String {
    if path.is_empty() { "the input".to_owned() } else { format!("{:?}", path.join(".")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(schema: &Value, mut value: Value) -> Result<Value, (Code, Value)> {
        check(schema, &mut value).map(|()| value).map_err(|failure| (failure.code, failure.details))
    }

    /// The keywords that are checked or that only describe.
    const KEYWORDS: [&str; 19] = [
        "$schema",
        "additionalProperties",
        "const",
        "default",
        "dependencies",
        "description",
        "enum",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "not",
        "pattern",
        "properties",
        "required",
        "type",
    ];

    fn assert_understood(schema: &Value, whose: &str) {
        for (keyword, value) in schema.as_object().unwrap() {
            assert!(KEYWORDS.contains(&keyword.as_str()), "{whose}: {keyword} is not checked");
            match keyword.as_str() {
                "properties" => {
                    value.as_object().unwrap().values().for_each(|one| assert_understood(one, whose));
                }
                "items" | "not" => assert_understood(value, whose),
                "additionalProperties" if value.is_object() => assert_understood(value, whose),
                "pattern" => drop(Regex::new(value.as_str().unwrap()).unwrap()),
                _ => {}
            }
        }
    }

    #[test]
    fn schemas_use_only_supported_keywords_and_describe_each_field() {
        for tool in crate::tool::table() {
            assert_understood(tool.input_schema(), tool.name);
            assert_understood(&tool.batch_schema(), tool.name);
            let schema = tool.input_schema();
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            for (name, field) in schema["properties"].as_object().unwrap() {
                assert!(field["description"].is_string(), "{}: {name} has no description", tool.name);
                let bounded = ["enum", "maximum", "maxLength", "maxItems"]
                    .iter()
                    .any(|bound| field.get(bound).is_some());
                let free = field["type"] == "boolean" || field["type"] == "object";
                assert!(bounded || free, "{}: {name} has no bound", tool.name);
            }
            tool.check(&serde_json::from_str(tool.example).unwrap()).unwrap();
        }
    }

    #[test]
    fn each_keyword_refuses_invalid_values_and_names_the_field() {
        let schema = json!({
            "type": "object", "required": ["a"], "additionalProperties": false, "dependencies": {"n": ["s"]},
            "properties": {
                "a": {"type": "array", "items": {"type": "string", "maxLength": 2}, "maxItems": 2},
                "n": {"type": "integer", "minimum": 1, "maximum": 4},
                "s": {"type": ["string", "null"], "enum": ["x", null]},
                "p": {"type": "string", "pattern": "^b", "not": {"pattern": "z"}},
            }
        });
        let refused = |value: Value| checked(&schema, value).unwrap_err();
        assert_eq!(refused(json!({})), (Code::MissingField, json!({"field": "a"})));
        assert_eq!(refused(json!([])).0, Code::InvalidType);
        assert_eq!(
            refused(json!({"a": [1]})),
            (Code::InvalidType, json!({"field": "a.0", "expected": "string"}))
        );
        assert_eq!(refused(json!({"a": ["abc"]})).1["field"], "a.0");
        assert_eq!(refused(json!({"a": ["a", "b", "c"]})).0, Code::InvalidValue);
        assert_eq!(refused(json!({"a": [], "n": 2})), (Code::MissingField, json!({"field": "s"})));
        assert_eq!(refused(json!({"a": [], "s": "x", "n": 2.5})).0, Code::InvalidType);
        assert_eq!(
            refused(json!({"a": [], "s": "x", "n": 5})).1["expected"],
            json!({"minimum": 1, "maximum": 4})
        );
        assert_eq!(refused(json!({"a": [], "s": "y"})).1["expected"], json!(["x", null]));
        assert_eq!(
            refused(json!({"a": [], "u": 1})),
            (Code::InvalidValue, json!({"field": "u", UNKNOWN: true}))
        );
        assert_eq!(refused(json!({"a": [], "p": "ab"})).0, Code::InvalidValue);
        assert_eq!(refused(json!({"a": [], "p": "bz"})).0, Code::InvalidValue);
        assert_eq!(
            checked(&schema, json!({"a": ["ää"], "s": null, "n": 3.0})),
            Ok(json!({"a": ["ää"], "s": null, "n": 3}))
        );
    }
}
