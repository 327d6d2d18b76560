//! `bd complete`, which the completion scripts of shells call.

mod line;
mod values;

use beads_engine::escape::escape;
use beads_engine::request::Reply;
use clap::{Arg, Command, CommandFactory};

use super::globals::Globals;
use super::{Cli, stdout_reply};
use line::{Line, Wanted};
use values::Values;

/// Descriptions are cut to this many characters.
const ABOUT_CHARS: usize = 60;

/// Print completions of a command line, for shell scripts
///
/// Prints one candidate per line, with a tab and a description if there is one. Prints nothing on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd complete -- show bd-")]
pub struct Args {
    /// Words after bd; the last one is completed and may be empty
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// A possible completion.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    value: String,
    about: String,
}

impl Candidate {
    fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self { value: value.into(), about: about.into() }
    }
}

impl Args {
    pub fn run(self, globals: &Globals) -> Reply {
        let mut command = Cli::command();
        command.build();
        let (last, before) =
            self.words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        let line = Line::read(&command, before);
        let globals = globals.at_store(line.repo.clone(), line.db.clone());
        let candidates = candidates(&line, last, &Values::new(&globals));
        let mut out = String::new();
        for candidate in candidates {
            let about: String = candidate.about.chars().take(ABOUT_CHARS).collect();
            let tab = if about.is_empty() { "" } else { "\t" };
            out.push_str(&format!("{}{tab}{}\n", escape(&candidate.value), escape(&about)));
        }
        stdout_reply(out)
    }
}

/// Returns what the last word can become.
fn candidates(line: &Line, last: &str, values: &Values) -> Vec<Candidate> {
    if let Wanted::ValueOf(arg) = line.wanted {
        return values_of(arg, last, "", values);
    }
    if !line.only_positionals && last.starts_with('-') {
        return match last.split_once('=') {
            Some((name, part)) => match line.option(name) {
                Some(arg) => values_of(arg, part, &format!("{name}="), values),
                None => Vec::new(),
            },
            None => options(line.command, last),
        };
    }
    let mut found = if line.positionals == 0 { verbs(line.command, last) } else { Vec::new() };
    if let Some(arg) = line.positional() {
        found.extend(values_of(arg, last, "", values));
    }
    found
}

fn verbs(command: &Command, prefix: &str) -> Vec<Candidate> {
    let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let matching = visible.filter(|verb| verb.get_name().starts_with(prefix));
    matching.map(|verb| Candidate::new(verb.get_name(), first_line(verb.get_about()))).collect()
}

fn options(command: &Command, prefix: &str) -> Vec<Candidate> {
    let named = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let named = named.filter_map(|arg| Some((format!("--{}", arg.get_long()?), arg)));
    let matching = named.filter(|(name, _)| name.starts_with(prefix));
    matching.map(|(name, arg)| Candidate::new(name, first_line(arg.get_help()))).collect()
}

/// Returns values of an argument. In a list, only the part after the last comma is completed.
fn values_of(arg: &Arg, typed: &str, before: &str, values: &Values) -> Vec<Candidate> {
    let fixed = arg.get_possible_values();
    if !fixed.is_empty() {
        let visible =
            fixed.iter().filter(|value| !value.is_hide_set() && value.get_name().starts_with(typed));
        let shown = |value: &clap::builder::PossibleValue| {
            Candidate::new(format!("{before}{}", value.get_name()), first_line(value.get_help()))
        };
        return visible.map(shown).collect();
    }
    let split = if values::is_list(arg) { typed.rfind(',').map_or(0, |comma| comma + 1) } else { 0 };
    let (kept, part) = typed.split_at(split);
    let found = values.of(arg, part).into_iter().filter(|candidate| candidate.value.starts_with(part));
    found.map(|found| Candidate::new(format!("{before}{kept}{}", found.value), found.about)).collect()
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}
