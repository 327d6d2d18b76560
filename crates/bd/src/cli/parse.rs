//! From words to what was asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Subcommand};

use super::{Cli, Globals, Verb};

/// A command line is first read by a parser that knows nothing but its verb. Help and errors speak of all verbs, so they
/// come from a second look with everything built.
pub fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(cli) = parse_verb_only(arguments) {
        return Ok(cli);
    }
    let mut everything = Cli::command();
    everything.build();
    everything.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// The first look: the options of all verbs, and the global ones on each of them, take longer to set up than the rest of
/// the command.
pub fn parse_verb_only(arguments: &[OsString]) -> Option<Cli> {
    let matches = verb_of(arguments).and_then(only)?.try_get_matches_from(arguments).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

thread_local! {
    /// Parsers that were used before, by verb.
    static PARSERS: RefCell<BTreeMap<String, clap::Command>> = const { RefCell::new(BTreeMap::new()) };
}

/// The first look of somebody who reads many command lines: a parser is set up once for each verb.
pub fn parse_verb_again(arguments: &[OsString]) -> Option<Cli> {
    let verb = verb_of(arguments)?;
    PARSERS.with_borrow_mut(|parsers| {
        if !parsers.contains_key(verb) {
            parsers.insert(verb.to_owned(), only(verb)?);
        }
        let matches = parsers.get_mut(verb)?.try_get_matches_from_mut(arguments).ok()?;
        Cli::from_arg_matches(&matches).ok()
    })
}

/// What is probably the verb: the first word that is neither an option nor the value of a global one. A wrong guess only
/// costs the second look.
pub fn verb_of(arguments: &[OsString]) -> Option<&str> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return Some(word);
        }
        if Globals::takes_value(word) {
            words.next();
        }
    }
    None
}

/// A parser for one verb.
fn only(verb: &str) -> Option<clap::Command> {
    let verbs = Verb::augment_subcommands(clap::Command::new("bd"));
    let verb = verbs.find_subcommand(verb)?.clone();
    Some(Globals::augment_args(clap::Command::new("bd")).subcommand_required(true).subcommand(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_is_found_behind_every_global_option() {
        let command = Globals::augment_args(clap::Command::new("bd"));
        for argument in command.get_arguments() {
            let long = format!("--{}", argument.get_long().unwrap());
            let takes = argument.get_action().takes_values() && !argument.is_require_equals_set();
            assert_eq!(Globals::takes_value(&long), takes, "{long}");
            let words = if takes { vec!["bd", &long, "show", "list"] } else { vec!["bd", &long, "list"] };
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            assert_eq!(verb_of(&words), Some("list"), "{long}");
        }
        assert!(only("new").is_some(), "a verb is known by its other names too");
        assert!(only("nothing").is_none());
    }

    #[test]
    fn a_parser_that_was_used_before_reads_the_same() {
        let lines = [
            "bd create Title -p 1 --label a --label b --description text",
            "bd create",
            "bd create --nonsense",
            "bd create Another",
            "bd --json create Quiet --quiet",
            "bd --actor ann list --status open --limit 3",
            "bd list",
            "bd list --limit many",
            "bd show bd-1 bd-2 --json",
            "bd show bd-3",
            "bd dep add bd-1 bd-2 --type related",
            "bd dep remove bd-1 bd-2",
            "bd dep --help",
        ];
        for _ in 0..2 {
            for line in lines {
                let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
                let again = format!("{:?}", parse_verb_again(&words));
                assert_eq!(again, format!("{:?}", parse_verb_only(&words)), "{line}");
            }
        }
    }

    #[test]
    fn help_tells_about_every_verb() {
        let help = parse(&["bd".into(), "--help".into()]).unwrap_err().to_string();
        for line in ["create", "ready", "repair"] {
            let row = help.lines().find(|row| row.trim_start().starts_with(line)).unwrap_or_default();
            assert!(row.split_whitespace().count() > 2, "{line}: {row:?}");
        }
    }
}
