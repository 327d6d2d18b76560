//! Help texts. `bd --help` lists the verbs by topic, most used first. The help of a verb begins with the usage
//! and the examples; the details and the options follow.

use std::fmt::Write;

use beads_engine::render::wrap;
use clap::Command;

use crate::operations::{TABLE, Topic};

/// The most columns of a help text.
pub const MAX_WIDTH: usize = 100;

/// Sets the help of `bd` and of every verb. The command must be built, because the texts of a verb are only
/// known then.
pub fn with_help(command: Command) -> Command {
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\
         Run bd help VERB for the options and examples of a verb.\n\nGlobal options:\n{{options}}{{after-help}}",
        topics(&command)
    );
    command.help_template(template).mut_subcommands(examples_first)
}

/// Lists the verbs by topic, one line each.
fn topics(command: &Command) -> String {
    let width = command.get_subcommands().map(|verb| verb.get_name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for topic in Topic::ALL {
        let _ = writeln!(text, "{topic:?}:");
        // `help` is clap's own.
        let last = (topic == Topic::Maintain).then_some("help");
        let verbs = TABLE.iter().filter(|row| row.topic == Some(topic)).map(|row| row.verb).chain(last);
        let shown = verbs.filter_map(|verb| command.find_subcommand(verb)).filter(|verb| !verb.is_hide_set());
        for verb in shown {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: Vec<_> = verb.get_visible_aliases().collect();
            let aliases =
                if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
            let _ = writeln!(text, "  {:<width$}  {about}{aliases}", verb.get_name());
        }
        text.push('\n');
    }
    text
}

/// Puts usage and examples before the details of a verb and of its subcommands.
fn examples_first(command: Command) -> Command {
    let short = command.get_about().map(ToString::to_string).unwrap_or_default();
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let details = long.strip_prefix(&short).unwrap_or(&long).trim();
    let details = wrap(details, width());
    // The details are not part of the template, because they may contain braces.
    let template =
        format!("{short}\n\n{{usage-heading}} {{usage}}{{after-help}}\n\n{{before-help}}{{all-args}}");
    command.before_help(details).help_template(template).mut_subcommands(examples_first)
}

/// Returns the width at which clap wraps the rest of the help.
fn width() -> usize {
    super::terminal::size().map_or(MAX_WIDTH, |(columns, _)| columns.min(MAX_WIDTH))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::cli::parse::parse;

    use super::*;

    fn help(line: &str) -> String {
        let words: Vec<_> = line.split(' ').map(std::ffi::OsString::from).collect();
        parse(&words).unwrap_err().to_string()
    }

    /// Returns the topic of each verb in the output of `bd --help`.
    fn listed(help: &str) -> BTreeMap<&str, Vec<&str>> {
        let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut topic = "";
        for line in help.lines() {
            if let Some(heading) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
                topic = heading;
            } else if let Some(row) = line.strip_prefix("  ").filter(|row| !row.starts_with([' ', '-'])) {
                found.entry(row.split(' ').next().unwrap()).or_default().push(topic);
            }
        }
        found
    }

    #[test]
    fn every_verb_has_exactly_one_topic() {
        let help = help("bd --help");
        let listed = listed(&help);
        // Only scripts call `bd complete`, so it is hidden.
        let is_listed = |verb: &&str| !verb.contains(' ') && *verb != "complete";
        let verbs = TABLE.iter().map(|row| row.verb).filter(is_listed);
        for verb in verbs.chain(["help"]) {
            assert_eq!(listed.get(verb).map_or(0, Vec::len), 1, "{verb} is not listed exactly once:\n{help}");
        }
        assert_eq!(listed["create"], ["Work"]);
        assert_eq!(listed["sync"], ["Share"]);
        assert!(help.find("\nWork:").unwrap() < help.find("\nMaintain:").unwrap());
    }

    #[test]
    fn each_verb_has_one_line_of_80_columns() {
        let help = help("bd --help");
        let (list, _) = help.split_once("Run bd help").unwrap();
        for line in list.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(line.split_whitespace().count() > 2, "{line} has no description");
        }
    }

    #[test]
    fn every_argument_has_a_description() {
        fn check(command: &Command, missing: &mut Vec<String>) {
            let is_empty = |arg: &&clap::Arg| arg.get_help().is_none_or(|help| help.to_string().is_empty());
            let undocumented = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter(is_empty);
            missing.extend(undocumented.map(|arg| format!("{} {arg}", command.get_name())));
            command.get_subcommands().for_each(|verb| check(verb, missing));
        }
        let mut missing = Vec::new();
        check(&<crate::cli::Cli as clap::CommandFactory>::command(), &mut missing);
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_help_of_a_verb_begins_with_usage_and_examples() {
        for line in ["bd help ready", "bd ready --help", "bd ready -h"] {
            let help = help(line);
            let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{line} has no {text:?}: {help}"));
            assert!(help.starts_with("List beads that can be worked on now\n\nUsage: bd ready"), "{help}");
            assert!(at("Examples:") < at("whose lease has expired"), "{help}");
            assert!(at("whose lease has expired") < at("--no-daemon"), "{help}");
        }
        assert!(
            help("bd create --help").contains(r#"{"beads":[{"name":"a","title":"…"},"#),
            "braces are kept"
        );
        assert!(help("bd help dep add").contains("Usage: bd dep add"));
        assert!(help("bd help nonsense").contains("nonsense"));
    }
}
