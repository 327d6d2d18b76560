//! The product automaton against `globset` (one pattern, one path) and against brute force (two patterns).

use globset::{GlobBuilder, GlobMatcher};
use proptest::prelude::*;

use super::*;

fn independent(pattern: &str) -> GlobMatcher {
    GlobBuilder::new(pattern).literal_separator(true).build().unwrap().compile_matcher()
}

/// Patterns that contain a wildcard, so that "a plain path covers everything below" does not apply.
fn name() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec!["a", "b", "*", "?", "[ab]", "[!a]", "[a-b]", "\\a"]);
    prop::collection::vec(token, 1..=2).prop_map(|tokens| tokens.concat())
}

fn component() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => name(),
        2 => Just("**".to_owned()),
        1 => (name(), name()).prop_map(|(l, r)| format!("{{{l},{r}}}")),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(component(), 1..=2).prop_map(|names| names.join("/"))
}

fn pattern() -> impl Strategy<Value = String> {
    let braces = (path(), name()).prop_map(|(l, r)| format!("{{{l},{r}}}"));
    prop_oneof![4 => path(), 1 => braces]
        // `***` is not in the syntax, `**` next to a brace means less to globset than to us, and each alternative
        // needs a wildcard.
        .prop_filter("in both languages", |text| {
            !["***", "{**", ",**", "**,", "**}"].iter().any(|odd| text.contains(odd))
                && expand(text).unwrap().iter().all(|one| one.contains(['*', '?', '[']))
        })
}

/// Every path of up to four names of up to two letters: two patterns of two components, two tokens each, that meet at
/// all meet here.
fn small_paths() -> Vec<String> {
    let names = ["a", "b", "aa", "ab", "ba", "bb"];
    let mut paths: Vec<String> = Vec::new();
    let mut longest: Vec<String> = vec![String::new()];
    for _ in 0..4 {
        longest = longest
            .iter()
            .flat_map(|path| {
                let under = if path.is_empty() { String::new() } else { format!("{path}/") };
                names.map(|name| format!("{under}{name}"))
            })
            .collect();
        paths.extend(longest.clone());
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn one_path_as_globset_says(pattern in pattern()) {
        let (ours, theirs) = (Glob::parse(&pattern).unwrap(), independent(&pattern));
        for path in small_paths() {
            prop_assert_eq!(ours.meets(&Glob::exactly(&path)), theirs.is_match(&path), "{} {}", pattern, path);
        }
    }

    #[test]
    fn two_patterns_as_brute_force_says(left in pattern(), right in pattern()) {
        let (l, r) = (independent(&left), independent(&right));
        let expected = small_paths().iter().any(|path| l.is_match(path) && r.is_match(path));
        let (l, r) = (Glob::parse(&left).unwrap(), Glob::parse(&right).unwrap());
        prop_assert_eq!(l.meets(&r), expected, "{} and {}", left, right);
        prop_assert_eq!(r.meets(&l), expected, "{} and {}", right, left);
    }

    #[test]
    fn no_input_panics_or_takes_long(text in "[ab/*?.,{}\\[\\]!\\\\^-]{0,40}") {
        if let Ok(glob) = Glob::parse(&text) {
            glob.meets(&glob);
        }
    }
}
