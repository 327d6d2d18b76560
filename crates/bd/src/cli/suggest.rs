//! Suggests the verb or option that was probably meant.

use clap::error::{ContextKind, ContextValue};

/// Words that other programs use, with the command that does the same here.
const SYNONYMS: [(&str, &str); 18] = [
    ("assign", "bd update --assignee"),
    ("del", "bd delete"),
    ("find", "bd search"),
    ("finish", "bd close"),
    ("get", "bd show"),
    ("grep", "bd search"),
    ("link", "bd dep add"),
    ("pull", "bd sync"),
    ("push", "bd sync"),
    ("release", "bd unclaim"),
    ("remove", "bd delete"),
    ("resolve", "bd close"),
    ("set", "bd update"),
    ("start", "bd claim"),
    ("tag", "bd label add"),
    ("take", "bd claim"),
    ("view", "bd show"),
    ("whoami", "bd info"),
];

/// The most suggestions in one message.
const MAX_SUGGESTIONS: usize = 3;

/// Returns a question to append to a usage error; empty if nothing similar exists.
pub fn did_you_mean(error: &clap::Error) -> String {
    let typed = error.get(ContextKind::InvalidSubcommand).and_then(one);
    let synonym = typed.and_then(|word| SYNONYMS.iter().find(|(known, _)| *known == word));
    if let Some((_, command)) = synonym {
        return format!("; did you mean {command}?");
    }
    let similar = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| error.get(kind));
    let names: Vec<&str> = match similar {
        // The most similar one is last.
        Some(ContextValue::Strings(names)) => {
            names.iter().rev().take(MAX_SUGGESTIONS).map(String::as_str).collect()
        }
        Some(ContextValue::String(name)) => vec![name],
        _ => return text_separator(error).to_owned(),
    };
    match names.as_slice() {
        [] => String::new(),
        [name] => format!("; did you mean {name}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

/// Returns how to pass a word such as `-fix` as text, if that was mistaken for an option.
fn text_separator(error: &clap::Error) -> &'static str {
    let is_short = error
        .get(ContextKind::InvalidArg)
        .and_then(one)
        .is_some_and(|word| word.starts_with('-') && !word.starts_with("--"));
    // clap has a tip about it if the verb takes anything but options.
    let takes_words = matches!(
        error.get(ContextKind::Suggested),
        Some(ContextValue::StyledStrs(tips)) if tips.iter().any(|tip| tip.to_string().contains("as a value"))
    );
    if is_short && takes_words { "; to pass text that begins with a hyphen, put -- before it" } else { "" }
}

fn one(value: &ContextValue) -> Option<&str> {
    match value {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}
