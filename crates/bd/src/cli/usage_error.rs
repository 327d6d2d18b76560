//! Errors in the arguments.

use std::ffi::OsString;

use beads_engine::failure::{Code, Failure, exit};
use beads_engine::render;
use beads_engine::request::{Format, Reply};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{stdout_reply, suggest};

/// The most characters of a value that an error repeats.
const MAX_REPEATED: usize = 80;

/// The messages of the standard library for invalid numbers, and ours.
const NUMBER_ERRORS: [(&str, &str); 3] = [
    ("invalid digit found in string", "must be a whole number without a sign"),
    ("cannot parse integer from empty string", "must be a whole number without a sign"),
    ("number too large to fit in target type", "the number is too large"),
];

/// Turns a clap error into a reply. Help and version succeed; everything else is a usage error, in JSON with
/// `--json`.
pub fn usage_error(error: &clap::Error, arguments: &[OsString]) -> Reply {
    let text = error.render();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return stdout_reply(text.to_string());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Reply { stderr: text.to_string(), exit: exit::USAGE, ..stdout_reply(String::new()) };
    }
    let wants_json = arguments.iter().any(|argument| {
        argument.to_str().is_some_and(|text| text == "--json" || text.starts_with("--json="))
    });
    // clap reports a missing value with the same kind as a value that is not allowed.
    let given = matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if !value.is_empty());
    let code = match error.kind() {
        ErrorKind::ValueValidation => Code::InvalidValue,
        ErrorKind::InvalidValue if given => Code::InvalidValue,
        _ => Code::Usage,
    };
    let text = with_short_values(error, text.to_string());
    // The first paragraph is the error; usage and tips follow.
    let message = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ").replace('\n', " ");
    let mut message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    for (rust, plain) in NUMBER_ERRORS {
        if let Some(start) = message.strip_suffix(rust) {
            message = format!("{start}{plain}");
        }
    }
    message.push_str(&suggest::did_you_mean(error));
    let failure = Failure::new(code, message);
    render::failure_reply(failure, if wants_json { Format::Json } else { Format::Text })
}

/// Shortens long values in a message of clap, and puts those with empty lines on one line.
fn with_short_values(error: &clap::Error, mut text: String) -> String {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand] {
        let Some(ContextValue::String(value)) = error.get(kind) else { continue };
        let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_long = value.chars().nth(MAX_REPEATED).is_some();
        if line.is_empty() || !(is_long || value.contains("\n\n")) {
            continue;
        }
        let short = match line.char_indices().nth(MAX_REPEATED) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        };
        text = text.replace(value.as_str(), &short);
        if is_long {
            // Our own messages quote the value once more.
            text = text.replace(&value.escape_debug().to_string(), &short);
        }
    }
    text
}
