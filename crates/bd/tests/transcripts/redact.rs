//! Placeholders for what differs from run to run. Each pattern is as narrow as possible, so that the shape of an answer
//! stays visible.

use std::path::Path;
use std::sync::OnceLock;

use regex_lite::Regex;

/// Patterns and their placeholders, applied in this order. Times from the year 2040 on stay: they were given by the
/// transcript.
const REDACTIONS: &[(&str, &str)] = &[
    (r"\b20[23]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
    (r"\b20[23]\d-\d\d-\d\d \d\d:\d\dZ", "[TIME]"),
    (r"\b20[23]\d{5}T\d{9}Z", "[TIME]"),
    (r"\b\d\d:\d\dZ", "[TIME]"),
    (r"\b\d+ ?(s|ms|seconds?) ago\b", "[AGE] ago"),
    (r#"("(age|busy|lost|oldest_unsaved|oldest_unsynced|took|uptime)(_ms)?": )\d+"#, "$1[DURATION]"),
    (r#"("average_lead_time_hours": )[0-9.e-]+"#, "$1[DURATION]"),
    (r"\b\d{13}\.\d{1,5}\b", "[FENCE]"),
    // A stamp is a time and a random counter.
    (r"\b1\d{12}(,\s*)\d{1,5}\b", "[MILLISECONDS]$1[COUNTER]"),
    (r"\b[0-9a-f]{64}\b", "[HASH]"),
    (r#"("sum": ")[0-9a-f]{16}\b"#, "$1[SUM]"),
    (r#"(\\"sum\\":\\")[0-9a-f]{16}\b"#, "$1[SUM]"),
    (r"\bCONFLICT-[0-9a-f]{4,32}\b", "CONFLICT-[HASH]"),
    (r"\b[0-9a-f]{40}\b", "[COMMIT]"),
    (r#"("id": ")[0-9a-f]{12}""#, "$1[NOTE]\""),
    (r"\b[0-9a-f]{12}\b", "[COMMIT]"),
    (r"\b[0-9a-f]{16}\.sock\b", "[SOCKET].sock"),
    // A cursor is the id of the event log and a number.
    (r"\b[0-9a-f]{8}-(\d+)\b", "[LOG]-$1"),
    (r#"("pid": |process )\d+"#, "$1[PID]"),
    (r"(\[TIME\] )\[\d+\]", "$1[[PID]]"),
    (r"\bbd-demo-\d+-", "bd-demo-[PID]-"),
    // The ids of memories cannot be chosen; their transcripts use this prefix.
    (r"\bmemo-[0-9a-z]{3,6}\b", "memo-[ID]"),
    // A bead that lost its id to an older one.
    (r"\bbd-same[0-9a-z]{6}\b", "bd-same[SUFFIX]"),
    (r"\b(msg|res)_20400213_120000_[0-9a-f]{4}\b", "${1}_20400213_120000_[RANDOM]"),
];

/// Replaces what differs from run to run.
pub fn redact(text: &str, root: &Path) -> String {
    static PATTERNS: OnceLock<Vec<(Regex, &str)>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| {
        REDACTIONS.iter().map(|(pattern, placeholder)| (Regex::new(pattern).unwrap(), *placeholder)).collect()
    });
    let programs = Path::new(env!("CARGO_BIN_EXE_bd")).parent().unwrap();
    let text =
        text.replace(root.to_str().unwrap(), "[ROOT]").replace(programs.to_str().unwrap(), "[PROGRAMS]");
    let text = text.replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    patterns
        .iter()
        .fold(text, |text, (pattern, placeholder)| pattern.replace_all(&text, *placeholder).into_owned())
}

#[test]
fn only_what_differs_is_replaced() {
    let text = "at 2026-11-17T20:33:43.848Z, due 2040-02-01T00:00:00.000Z\n/tmp/x/repo\n[\n  1794947623878,\n  53346\n]\n";
    let shown =
        "at [TIME], due 2040-02-01T00:00:00.000Z\n[ROOT]/repo\n[\n  [MILLISECONDS],\n  [COUNTER]\n]\n";
    assert_eq!(redact(text, Path::new("/tmp/x")), shown);
    assert_eq!(redact("bd-1 bd-1f3a 12 1f3a9c2", Path::new("/tmp/x")), "bd-1 bd-1f3a 12 1f3a9c2");
}
