//! Removes likely secrets from everything that the MCP server sends. Stored data is never touched, and only
//! the text of strings changes, never the structure of an answer. When in doubt, text counts as a secret.

use std::ops::Range;

use serde_json::Value;

const REDACTED: &str = "<redacted>";

/// A key whose name contains one of these holds a secret.
const KEYS: [&str; 6] = ["token", "secret", "password", "api_key", "authorization", "bearer"];

/// The names of secrets in text, with more spellings.
const WORDS: [&str; 9] =
    ["token", "secret", "password", "passwd", "api_key", "api-key", "apikey", "authorization", "bearer"];

/// Prefixes that identify tokens. The short one also occurs in `task-1`, so it needs a word boundary.
const PREFIXES: [&str; 2] = ["ghp_", "github_pat_"];
const SHORT_PREFIX: &str = "sk-";

/// A shorter text after `Bearer` is an ordinary word.
const MIN_BEARER: usize = 6;

const MAX_NAME_CHARS: usize = 64;

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";

/// Redacts every string of a value.
pub fn value(value: &mut Value) {
    match value {
        Value::String(string) => *string = text(string),
        Value::Array(items) => items.iter_mut().for_each(self::value),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                let key = key.to_ascii_lowercase().replace('-', "_");
                if KEYS.iter().any(|word| key.contains(word)) {
                    hide(value);
                } else {
                    self::value(value);
                }
            }
        }
        _ => {}
    }
}

/// Redacts every string under a key that names a secret.
fn hide(value: &mut Value) {
    match value {
        Value::String(string) if !string.is_empty() => REDACTED.clone_into(string),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(map) => map.values_mut().for_each(hide),
        _ => {}
    }
}

/// Redacts a text.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut truncated = truncated_keys(text).into_iter().peekable();
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        while truncated.next_if(|key| key.end <= at).is_some() {}
        if let Some(key) = truncated.next_if(|key| key.contains(&at)) {
            out.push_str(REDACTED);
            rest = &text[key.end..];
            continue;
        }
        let before = text[..text.len() - rest.len()].chars().next_back();
        if let Some((kept, secret)) = secret_at(rest, before) {
            out.push_str(&rest[..kept]);
            out.push_str(REDACTED);
            rest = &rest[kept + secret..];
            continue;
        }
        let next = rest.chars().next().map_or(rest.len(), char::len_utf8);
        out.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    out
}

/// If a secret starts here, returns how many bytes to keep and how many bytes after them are secret.
fn secret_at(text: &str, before: Option<char>) -> Option<(usize, usize)> {
    if text.starts_with(PEM_BEGIN) {
        return Some((0, pem(text)));
    }
    if let Some(prefix) = PREFIXES.iter().find(|prefix| starts_with(text, prefix)) {
        return Some((0, prefix.len() + token(&text[prefix.len()..])));
    }
    let boundary = before.is_none_or(|c| !c.is_alphanumeric());
    if boundary && text.starts_with(SHORT_PREFIX) {
        let length = token(&text[SHORT_PREFIX.len()..]);
        return (length >= 3).then_some((0, SHORT_PREFIX.len() + length));
    }
    WORDS.iter().find(|word| starts_with(text, word)).and_then(|word| named_secret(text, word.len()))
}

fn starts_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Finds the value after a name: `token=…`, `"token": "…"`, `Authorization: Basic …`, `Bearer …`.
fn named_secret(text: &str, name: usize) -> Option<(usize, usize)> {
    // The rest of a longer name, such as the `_v2` of `token_v2`. The limit bounds the search.
    let letters = text[name..].chars().take(MAX_NAME_CHARS);
    let tail: usize = letters.take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum();
    let is_bearer = starts_with(text, "bearer") && tail == 0;
    let mut at = name + tail;
    at += skip(&text[at..], |c| matches!(c, '"' | '\'' | '\\'));
    at += skip(&text[at..], |c| c == ' ');
    let assigned = skip(&text[at..], |c| matches!(c, '=' | ':' | '%'));
    let spaced = text[..at].ends_with(' ');
    if assigned == 0 && !(is_bearer && spaced) {
        return None;
    }
    at += assigned;
    at += skip(&text[at..], |c| matches!(c, ' ' | '"' | '\'' | '\\'));
    let quote = text[..at].chars().next_back().filter(|c| matches!(c, '"' | '\''));
    // A scheme before the credential.
    for scheme in ["bearer ", "basic ", "token "] {
        if starts_with(&text[at..], scheme) {
            at += scheme.len() + skip(&text[at + scheme.len()..], |c| c == ' ');
        }
    }
    let secret = if text[at..].starts_with(['{', '[']) {
        bracketed(&text[at..])
    } else if let Some(quote) = quote {
        quoted(&text[at..], quote)
    } else {
        skip(&text[at..], |c| {
            !c.is_whitespace() && !matches!(c, '"' | '\'' | '&' | '<' | '>' | ',' | ';' | ')' | '}')
        })
    };
    // Without `=` or `:` it may be a sentence about a bearer.
    let least = if assigned == 0 { MIN_BEARER } else { 1 };
    (secret >= least).then_some((at, secret))
}

/// Returns the length up to the quote that ends a value, or to the end of the line if there is none. A quote
/// after an odd number of backslashes belongs to the value, unless the value itself began after one.
fn quoted(text: &str, quote: char) -> usize {
    let line = text.find('\n').unwrap_or(text.len());
    let end = text[..line].find(quote).unwrap_or(line);
    text[..end].trim_end_matches('\\').len()
}

/// Returns the length through the matching closing bracket, or everything if there is none.
fn bracketed(text: &str) -> usize {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' => open += 1,
            '}' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return at + c.len_utf8();
        }
    }
    text.len()
}

fn skip(text: &str, what: impl Fn(char) -> bool) -> usize {
    text.find(|c| !what(c)).unwrap_or(text.len())
}

fn token(text: &str) -> usize {
    skip(text, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Returns the length of a PEM block, or everything if its end line is missing: half a key is a secret too.
fn pem(text: &str) -> usize {
    let Some(end) = text.find(PEM_END) else { return text.len() };
    let after = end + PEM_END.len();
    text[after..].find("-----").map_or(text.len(), |close| after + close + 5)
}

/// Finds PEM keys whose beginning was cut off: lines of Base64 through the end line.
fn truncated_keys(text: &str) -> Vec<Range<usize>> {
    let is_body = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let mut keys = Vec::new();
    for (end, _) in text.match_indices(PEM_END) {
        let mut start = end;
        loop {
            let before = text[..start].trim_end();
            let line = before.trim_end_matches(is_body);
            // A word in a sentence is not followed by a line break.
            if line.len() == before.len() || !text[before.len()..start].contains('\n') {
                break;
            }
            start = line.len();
        }
        if start < end {
            keys.push(start..end + pem(&text[end..]));
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_patterns_of_the_contract_are_redacted() {
        for (given, wanted) in [
            ("push with ghp_abc123XYZ now", "push with <redacted> now"),
            ("xghp_abc", "x<redacted>"),
            ("github_pat_11AA_bb", "<redacted>"),
            ("key sk-proj-abc123", "key <redacted>"),
            ("task-123 and risk-free", "task-123 and risk-free"),
            ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer <redacted>"),
            ("curl -H 'bearer abc.def'", "curl -H 'bearer <redacted>'"),
            ("https://x.y/?token=abc&b=1", "https://x.y/?token=<redacted>&b=1"),
            ("API_KEY=abc123", "API_KEY=<redacted>"),
            (r#"{"password": "hunter2"}"#, r#"{"password": "<redacted>"}"#),
            ("client_secret=s3cr3t;x", "client_secret=<redacted>;x"),
            (r#"client_secret: "abc def" rest"#, r#"client_secret: "<redacted>" rest"#),
            (r#"{\"client_secret\": \"abc, def; ghi\"}"#, r#"{\"client_secret\": \"<redacted>\"}"#),
            ("password='a b'", "password='<redacted>'"),
            ("password = \"never closed\nnext line", "password = \"<redacted>\nnext line"),
            ("the token is short", "the token is short"),
            ("400 tokens for the bearer of news", "400 tokens for the bearer of news"),
            ("-----BEGIN KEY-----\nMIIE\n-----END KEY-----\nok", "<redacted>\nok"),
            ("-----BEGIN KEY-----\nMIIE", "<redacted>"),
            ("…\nMIIEabc+/\nQQ==\n-----END KEY-----\nok", "…\n<redacted>\nok"),
            ("two\nwords\nhere", "two\nwords\nhere"),
            ("password=MIIE\nQQ==\n-----END KEY-----\nok", "<redacted>\nok"),
            (r#"{"secret": {"a": ["x", {}]}, "b": 1}"#, r#"{"secret": <redacted>, "b": 1}"#),
            (r#"tokens: ["x", "y"] z"#, "tokens: <redacted> z"),
        ] {
            assert_eq!(text(given), wanted, "{given}");
        }
    }

    #[test]
    fn secret_keys_hide_only_strings() {
        let mut given = json!({"github_token": "x", "Api-Key": "y", "token_count": 3, "secrets": ["z", 1], "a": {"password": ""}});
        value(&mut given);
        let wanted = json!({"github_token": REDACTED, "Api-Key": REDACTED, "token_count": 3, "secrets": [REDACTED, 1], "a": {"password": ""}});
        assert_eq!(given, wanted);
    }

    fn planted() -> impl Strategy<Value = (String, String)> {
        let secret = "[A-Za-z0-9]{12,24}";
        prop_oneof![
            secret.prop_map(|s| (format!("ghp_{s}"), s)),
            secret.prop_map(|s| (format!("github_pat_{s}"), s)),
            secret.prop_map(|s| (format!(" sk-{s}"), s)),
            secret.prop_map(|s| (format!("Bearer {s}"), s)),
            secret.prop_map(|s| (format!("?api_key={s}&"), s)),
            secret.prop_map(|s| (format!("password: {s}"), s)),
            secret.prop_map(|s| (format!("-----BEGIN X-----\n{s}\n-----END X-----"), s)),
        ]
    }

    proptest! {
        #[test]
        fn no_planted_secret_remains(before in ".{0,40}", (shape, secret) in planted(), after in ".{0,40}") {
            let hidden = text(&format!("{before} {shape} {after}"));
            prop_assert!(!hidden.contains(&secret), "{hidden}");
        }

        #[test]
        fn the_structure_stays_the_same(strings in proptest::collection::vec(".{0,30}", 0..6), number in any::<i64>()) {
            let mut given = json!({"list": strings, "n": number, "deep": {"x": null, "y": true}});
            value(&mut given);
            prop_assert_eq!(given["list"].as_array().unwrap().len(), strings.len());
            prop_assert_eq!(&given["n"], &json!(number));
            prop_assert_eq!(&given["deep"], &json!({"x": null, "y": true}));
        }
    }
}
