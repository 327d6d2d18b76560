//! Error codes are compared as values of `Code`. Only the decoder in `core/src/code.rs` compares them as
//! text.

use std::fs;
use std::path::{Path, PathBuf};

use beads_core::Code;

/// Literals that are spelled like a code but mean something else.
const OTHER_MEANINGS: [(&str, &str); 5] = [
    ("engine/src/field_name.rs", "open_children"),
    ("mcp/full.rs", "strict_targeting"),
    // Kinds of errors of the operating system.
    ("engine/src/failure.rs", "not_found"),
    ("engine/src/failure.rs", "permission_denied"),
    // A field of the details.
    ("engine/src/failure.rs", "open_children"),
];

/// Returns the production sources of all crates, without the table itself.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut directories: Vec<PathBuf> =
        fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && !path.ends_with("core/src/code.rs")
                && !path.to_string_lossy().ends_with("_tests.rs")
            {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 200, "{} files", files.len());
    files
}

/// Returns the lines of a file before its tests, without comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let production = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = (1..).zip(production.lines());
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Returns whether a line compares a code as text.
fn compares_text(line: &str) -> bool {
    const TEXTS: [&str; 4] = ["code", "code()", "code.as_str()", "code().as_str()"];
    let compared = |text: &&str| {
        [" == \"", " != \""].iter().any(|operator| line.contains(&format!("{text}{operator}")))
            || line.contains(&format!("\" == {text}"))
    };
    let matched = line.contains("match") && line.contains("code") && line.contains(".as_str()");
    TEXTS.iter().any(compared) || matched
}

#[test]
fn no_code_is_compared_as_text() {
    // Single words such as "closed" have other meanings; no other literal is spelled `like_a_code`.
    let distinctive = |code: &&Code| code.as_str().contains('_');
    let literals: Vec<String> =
        Code::ALL.iter().filter(distinctive).map(|code| format!("\"{code}\"")).collect();
    let mut found = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let allowed = |literal: &str| {
            OTHER_MEANINGS
                .iter()
                .any(|(file, word)| path.ends_with(file) && literal.trim_matches('"') == *word)
        };
        for (number, line) in lines(&text) {
            let named = literals.iter().any(|literal| line.contains(literal.as_str()) && !allowed(literal));
            if named || compares_text(line) {
                found.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use beads_core::Code instead of text:\n{}", found.join("\n"));
}

#[test]
fn the_check_finds_comparisons_as_text() {
    for line in [
        r#"if failure.code == "busy" {"#,
        r#"Err(error) if error.code() == "busy" => (),"#,
        r#"if failure.code.as_str() != "busy" {"#,
        r"match failure.code.as_str() {",
        r#"matches!(error.code().as_str(), "busy")"#,
    ] {
        assert!(compares_text(line), "{line}");
    }
    assert!(!compares_text("if failure.code == Code::Busy {"));
    assert!(!compares_text("details.insert(key, failure.code.as_str().into());"));
}
