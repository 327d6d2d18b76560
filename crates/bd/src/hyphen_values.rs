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

/// Takes a leading hyphen for the beginning of an option wherever a positional argument may stand.
pub fn options_only(command: Command) -> Command {
    command
        .mut_args(
            |argument| {
                if argument.is_positional() { argument.allow_hyphen_values(false) } else { argument }
            },
        )
        .mut_subcommands(options_only)
}

/// Whether a word begins with a hyphen and cannot be an option: no option has a space in it. An option whose value is in the
/// same word may; where no positional text is expected, nothing follows from it.
pub fn is_text(word: &str) -> bool {
    word.starts_with('-') && word.contains(char::is_whitespace)
}
