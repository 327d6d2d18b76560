//! Parses the command line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Subcommand};

use super::help::with_help;
use super::{Cli, Globals, Verb};
use crate::hyphen_values::{accept_any_value, is_text, reject_hyphen_positionals};

/// Parses a command line, first with a parser for its verb only. If that fails, parses again with all verbs,
/// because help and errors mention all of them.
pub fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(cli) = parse_verb_only(arguments) {
        return Ok(cli);
    }
    let all_verbs = with_help(finish_parser(Cli::command(), arguments));
    all_verbs.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// Parses with a parser for the verb only. Building the options of all verbs, with the global options on
/// each, takes longer than the rest of the command.
pub fn parse_verb_only(arguments: &[OsString]) -> Option<Cli> {
    let parser = verb_of(arguments).and_then(verb_parser)?;
    let matches = finish_parser(parser, arguments).try_get_matches_from(arguments).ok()?;
    Cli::from_arg_matches(&matches).ok()
}

thread_local! {
    /// Parsers by verb and by whether positional text may begin with a hyphen.
    static PARSERS: RefCell<BTreeMap<(String, bool), clap::Command>> = const { RefCell::new(BTreeMap::new()) };
}

/// Parses as [`parse_verb_only`] does, but keeps the parser of each verb for later command lines.
pub fn parse_verb_cached(arguments: &[OsString]) -> Option<Cli> {
    let verb = verb_of(arguments)?;
    PARSERS.with_borrow_mut(|parsers| {
        let key = (verb.to_owned(), has_text(arguments));
        if !parsers.contains_key(&key) {
            parsers.insert(key.clone(), finish_parser(verb_parser(verb)?, arguments));
        }
        let matches = parsers.get_mut(&key)?.try_get_matches_from_mut(arguments).ok()?;
        Cli::from_arg_matches(&matches).ok()
    })
}

/// Guesses the verb: the first word that is neither an option nor the value of a global option. A wrong guess
/// only costs a second parse.
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

/// Returns a parser for one verb.
fn verb_parser(verb: &str) -> Option<clap::Command> {
    let verbs = Verb::augment_subcommands(clap::Command::new("bd"));
    let verb = verbs.find_subcommand(verb)?.clone();
    Some(Globals::augment_args(clap::Command::new("bd")).subcommand_required(true).subcommand(verb))
}

/// Builds a parser whose options take any value. Positional text may begin with a hyphen only if some word
/// cannot be an option: a mistyped option must not become a title.
fn finish_parser(mut command: clap::Command, arguments: &[OsString]) -> clap::Command {
    command.build();
    let command = accept_any_value(command);
    if has_text(arguments) { command } else { reject_hyphen_positionals(command) }
}

fn has_text(arguments: &[OsString]) -> bool {
    arguments.iter().any(|word| word.to_str().is_some_and(is_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_is_found_after_every_global_option() {
        let command = Globals::augment_args(clap::Command::new("bd"));
        for argument in command.get_arguments() {
            let long = format!("--{}", argument.get_long().unwrap());
            let takes = argument.get_action().takes_values() && !argument.is_require_equals_set();
            assert_eq!(Globals::takes_value(&long), takes, "{long}");
            let words = if takes { vec!["bd", &long, "show", "list"] } else { vec!["bd", &long, "list"] };
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            assert_eq!(verb_of(&words), Some("list"), "{long}");
        }
        assert!(verb_parser("new").is_some(), "an alias is not found");
        assert!(verb_parser("nothing").is_none());
    }

    #[test]
    fn a_cached_parser_gives_the_same_result() {
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
                let again = format!("{:?}", parse_verb_cached(&words));
                assert_eq!(again, format!("{:?}", parse_verb_only(&words)), "{line}");
            }
        }
    }

    #[test]
    fn help_describes_every_verb() {
        let help = parse(&["bd".into(), "--help".into()]).unwrap_err().to_string();
        for line in ["create", "ready", "repair"] {
            let row = help.lines().find(|row| row.trim_start().starts_with(line)).unwrap_or_default();
            assert!(row.split_whitespace().count() > 2, "{line}: {row:?}");
        }
    }

    /// Every option of every verb takes text that begins with a hyphen, and no option takes two words, which
    /// would swallow the next option.
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
            check(&finish_parser(verb_parser(&verb).unwrap(), &[]), "bd", &mut count);
        }
        assert!(count > 300, "only {count} options were checked");
    }

    #[test]
    fn text_may_begin_with_a_hyphen_but_a_mistyped_option_is_an_error() {
        let read = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            format!("{:?}", parse(&words).map_err(|error| error.to_string()))
        };
        for words in [
            vec!["bd", "create", "- a title", "-d", "- one\n- two", "--design", "--- rule", "--notes", "-1"],
            vec!["bd", "note", "bd-1", "- a bullet", "--json"],
            vec!["bd", "note", "add", "bd-1", "-- a dash", "--json"],
            vec!["bd", "search", "- bullet"],
            vec!["bd", "search", "-1"],
            vec!["bd", "create", "-1", "-p", "1"],
            vec!["bd", "note", "bd-1", "-1"],
            vec!["bd", "note", "add", "bd-1", "-1.5", "--json"],
            vec!["bd", "config", "set", "sync.push_rate", "-1"],
            vec!["bd", "ask", "bd-1", "-q me", "--json"],
            vec!["bd", "answer", "bd-1", "-a b", "--json"],
            vec!["bd", "search", "--", "-fix"],
            vec!["bd", "close", "bd-1", "--reason", "--no longer needed"],
            vec!["bd", "config", "set", "sync.remote", "- odd"],
        ] {
            assert!(read(&words).starts_with("Ok"), "{words:?}: {}", read(&words));
        }
        assert!(!read(&["bd", "note", "bd-1", "- a", "--json"]).contains("\"--json\""));
        let mistyped = read(&["bd", "create", "--tilte", "x"]);
        assert!(mistyped.contains("--tilte") && mistyped.contains("similar"), "{mistyped}");
        assert!(read(&["bd", "create", "--tilte"]).starts_with("Err"));
        assert!(read(&["bd", "show", "-1"]).starts_with("Err"), "an id is no text");
    }
}
