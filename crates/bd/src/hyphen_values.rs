//! Values that begin with a hyphen. A bullet list is ordinary text, and so is `-1`; clap takes both for options unless it
//! hears otherwise for each argument.

use clap::Command;

/// Lets every option of a built command, and of its subcommands, take any value.
pub fn accept_any_value(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let takes = argument.get_action().takes_values() && !argument.is_positional();
            if takes { argument.allow_hyphen_values(true) } else { argument }
        })
        .mut_subcommands(accept_any_value)
}

/// Refuses positional text that looks like an option. A mistyped option must not become a title.
pub fn positional_text(text: &str) -> Result<String, String> {
    let looks_like_text = text == "-" || !text.starts_with('-') || text.contains(char::is_whitespace);
    if looks_like_text {
        return Ok(text.to_owned());
    }
    Err(format!("there is no option {text}; to use it as text, put -- before it"))
}
