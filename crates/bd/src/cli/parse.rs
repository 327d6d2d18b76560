//! From words to what was asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Subcommand};

use super::{Cli, Globals, Verb};
use crate::hyphen_values::{accept_any_value, is_text, options_only};

/// A command line is first read by a parser that knows nothing but its verb. Help and errors speak of all verbs, so they
/// come from a second look with everything built.
pub fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(cli) = parse_verb_only(arguments) {
        return Ok(cli);
    }
    let everything = complete(Cli::command(), arguments);
    everything.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// The first look: the options of all verbs, and the global ones on each of them, take longer to set up than the rest of
/// the command.
pub fn parse_verb_only(arguments: &[OsString]) -> Option<Cli> {
    let parser = verb_of(arguments).and_then(only)?;
    let matches = complete(parser, arguments).try_get_matches_from(arguments).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

thread_local! {
    /// Parsers that were used before, by verb, and whether they take positional text that begins with a hyphen.
    static PARSERS: RefCell<BTreeMap<(String, bool), clap::Command>> = const { RefCell::new(BTreeMap::new()) };
}

/// The first look of somebody who reads many command lines: a parser is set up once for each verb.
pub fn parse_verb_again(arguments: &[OsString]) -> Option<Cli> {
    let verb = verb_of(arguments)?;
    PARSERS.with_borrow_mut(|parsers| {
        let key = (verb.to_owned(), has_text(arguments));
        if !parsers.contains_key(&key) {
            parsers.insert(key.clone(), complete(only(verb)?, arguments));
        }
        let matches = parsers.get_mut(&key)?.try_get_matches_from_mut(arguments).ok()?;
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

/// Builds a parser, and lets its options take any value. Positional text may begin with a hyphen only if some word can be nothing
/// else: a mistyped option must not become a title.
fn complete(mut command: clap::Command, arguments: &[OsString]) -> clap::Command {
    command.build();
    let command = accept_any_value(command);
    if has_text(arguments) { command } else { options_only(command) }
}

fn has_text(arguments: &[OsString]) -> bool {
    arguments.iter().any(|word| word.to_str().is_some_and(is_text))
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

    /// Every option of every verb takes text that begins with a hyphen, and no option takes two words: it would swallow the
    /// option behind it.
    #[test]
    fn every_option_of_every_verb_takes_any_value() {
        fn check(command: &clap::Command, path: &str, count: &mut usize) {
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                if !argument.get_action().takes_values() || argument.is_require_equals_set() {
                    continue;
                }
                let name = argument.get_long().unwrap_or_default();
                assert!(
                    argument.is_allow_hyphen_values_set(),
                    "{path} --{name} refuses values such as \"- x\""
                );
                let words = argument.get_num_args().map_or(1, |range| range.max_values());
                assert_eq!(words, 1, "{path} --{name} takes more than one word");
                *count += 1;
            }
            for verb in command.get_subcommands() {
                check(verb, &format!("{path} {}", verb.get_name()), count);
            }
        }
        let mut count = 0;
        for verb in Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()) {
            check(&complete(only(&verb).unwrap(), &[]), "bd", &mut count);
        }
        assert!(count > 300, "{count} options were looked at");
    }

    #[test]
    fn text_that_begins_with_a_hyphen_is_read_and_a_mistyped_option_is_not_text() {
        let read = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            format!("{:?}", parse(&words).map_err(|error| error.to_string()))
        };
        for words in [
            vec!["bd", "create", "- a title", "-d", "- one\n- two", "--design", "--- rule", "--notes", "-1"],
            vec!["bd", "note", "bd-1", "- a bullet", "--json"],
            vec!["bd", "note", "add", "bd-1", "-- a dash", "--json"],
            vec!["bd", "search", "- bullet"],
            vec!["bd", "close", "bd-1", "--reason", "--no longer needed"],
            vec!["bd", "config", "set", "sync.remote", "- odd"],
        ] {
            assert!(read(&words).starts_with("Ok"), "{words:?}: {}", read(&words));
        }
        assert!(!read(&["bd", "note", "bd-1", "- a", "--json"]).contains("\"--json\""));
        let mistyped = read(&["bd", "create", "--tilte", "x"]);
        assert!(mistyped.contains("--tilte") && mistyped.contains("similar"), "{mistyped}");
        assert!(read(&["bd", "create", "--tilte"]).starts_with("Err"));
    }
}
