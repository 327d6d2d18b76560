//! Errors in the arguments.

use std::ffi::OsString;

use beads_engine::failure::{Code, Failure, exit};
use beads_engine::render;
use beads_engine::request::{Format, Reply};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{stdout_reply, suggest};

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
    let text = text.to_string();
    // The first paragraph is the error; usage and tips follow.
    let message = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ").replace('\n', " ");
    let mut message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    message.push_str(&suggest::did_you_mean(error));
    let failure = Failure::new(code, message);
    render::failure_reply(failure, if wants_json { Format::Json } else { Format::Text })
}
