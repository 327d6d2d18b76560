//! Values that begin with a hyphen. A bullet list is ordinary text, and so is `-1`; clap treats both as
//! options unless each argument allows hyphen values.

use clap::Command;

/// Allows any value for every option of a built command and of its subcommands.
pub fn accept_any_value(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let takes = argument.get_action().takes_values() && !argument.is_positional();
            if takes { argument.allow_hyphen_values(true) } else { argument }
        })
        .mut_subcommands(accept_any_value)
}

/// Disallows positional arguments that begin with a hyphen: such a word is always an option. Only text may be a
/// negative number, because no option is a digit.
pub fn reject_hyphen_positionals(command: Command) -> Command {
    command
        .mut_args(|argument| {
            if !argument.is_positional() {
                return argument;
            }
            let takes_text = argument.is_allow_hyphen_values_set();
            argument.allow_hyphen_values(false).allow_negative_numbers(takes_text)
        })
        .mut_subcommands(reject_hyphen_positionals)
}

/// Returns whether a word begins with a hyphen but is text: the name of an option contains no space. A word
/// such as `--title=two words` matches too, which is harmless: it is still parsed as an option.
pub fn is_text(word: &str) -> bool {
    word.starts_with('-') && word.contains(char::is_whitespace)
}
