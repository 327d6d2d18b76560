//! Compares the product automaton with `globset` (one pattern, one path) and with brute force (two patterns).

use globset::{GlobBuilder, GlobMatcher};
use proptest::prelude::*;

use super::*;

fn independent(pattern: &str) -> GlobMatcher {
    GlobBuilder::new(pattern).literal_separator(true).build().unwrap().compile_matcher()
}

/// Generates names. The patterns below always contain a wildcard, because a plain path would cover everything
/// below it.
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
        // `***` is not in the syntax, `**` next to a brace matches less in globset than here, and each
        // alternative needs a wildcard.
        .prop_filter("same meaning in both syntaxes", |text| {
            !["***", "{**", ",**", "**,", "**}"].iter().any(|odd| text.contains(odd))
                && expand(text).unwrap().iter().all(|one| one.contains(['*', '?', '[']))
        })
}

/// Returns every path of up to four names of up to two letters. If two patterns of two components with two
/// tokens each intersect, they have one of these paths in common.
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
    fn matching_a_path_agrees_with_globset(pattern in pattern()) {
        let (ours, theirs) = (Glob::parse(&pattern).unwrap(), independent(&pattern));
        for path in small_paths() {
            prop_assert_eq!(ours.intersects(&Glob::exactly(&path)), theirs.is_match(&path), "{} {}", pattern, path);
        }
    }

    #[test]
    fn intersecting_two_patterns_agrees_with_brute_force(left in pattern(), right in pattern()) {
        let (l, r) = (independent(&left), independent(&right));
        let expected = small_paths().iter().any(|path| l.is_match(path) && r.is_match(path));
        let (l, r) = (Glob::parse(&left).unwrap(), Glob::parse(&right).unwrap());
        prop_assert_eq!(l.intersects(&r), expected, "{} and {}", left, right);
        prop_assert_eq!(r.intersects(&l), expected, "{} and {}", right, left);
    }

    #[test]
    fn no_input_panics_or_takes_long(text in "[ab/*?.,{}\\[\\]!\\\\^-]{0,40}") {
        if let Ok(glob) = Glob::parse(&text) {
            glob.intersects(&glob);
        }
    }
}
