//! Reads a command line that is not finished.

use std::path::PathBuf;

use clap::{Arg, Command};

/// What the next word is.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// The value of an option.
    ValueOf(&'a Arg),
    /// A verb, an option or a positional argument.
    Any,
}

/// The part of a command line before the word to complete.
#[derive(Debug)]
pub struct Line<'a> {
    /// The verb or subcommand, or the program if there is none yet.
    pub command: &'a Command,
    pub wanted: Wanted<'a>,
    /// The number of positional arguments before.
    pub positionals: usize,
    /// `--` was given.
    pub only_positionals: bool,
    /// The value of `--repo`.
    pub repo: Option<PathBuf>,
    /// The value of `--db`.
    pub db: Option<PathBuf>,
}

impl<'a> Line<'a> {
    pub fn read(command: &'a Command, words: &[String]) -> Self {
        let mut line = Self {
            command,
            wanted: Wanted::Any,
            positionals: 0,
            only_positionals: false,
            repo: None,
            db: None,
        };
        // Bash separates `=` from the option and the value.
        words.iter().filter(|word| *word != "=").for_each(|word| line.take(word));
        line
    }

    fn take(&mut self, word: &str) {
        if let Wanted::ValueOf(arg) = self.wanted {
            self.wanted = Wanted::Any;
            self.take_value(arg, word);
        } else if self.only_positionals {
            self.positionals += 1;
        } else if word == "--" {
            self.only_positionals = true;
        } else if word.starts_with('-') && word.len() > 1 {
            self.take_option(word);
        } else if let Some(verb) = self.command.find_subcommand(word).filter(|_| self.positionals == 0) {
            self.command = verb;
        } else {
            self.positionals += 1;
        }
    }

    fn take_option(&mut self, word: &str) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let Some(arg) = self.option(name) else { return };
        let is_separate = arg.get_action().takes_values() && !arg.is_require_equals_set();
        match value {
            Some(value) => self.take_value(arg, value),
            // `-C/tmp` has its value in the same word.
            None if is_separate && (name.starts_with("--") || name.chars().count() == 2) => {
                self.wanted = Wanted::ValueOf(arg);
            }
            None => {}
        }
    }

    fn take_value(&mut self, arg: &Arg, value: &str) {
        match arg.get_long() {
            Some("repo") => self.repo = Some(value.into()),
            Some("db") => self.db = Some(value.into()),
            _ => {}
        }
    }

    /// Returns the option with a name such as `--label` or `-l`.
    pub fn option(&self, name: &str) -> Option<&'a Arg> {
        let long = name.strip_prefix("--");
        let short = name.strip_prefix('-').and_then(|short| short.chars().next());
        self.command.get_arguments().find(|arg| match long {
            Some(long) => arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
            None => short.is_some_and(|short| {
                arg.get_short_and_visible_aliases().is_some_and(|names| names.contains(&short))
            }),
        })
    }

    /// Returns the positional argument at the current place. The last one may be repeated.
    pub fn positional(&self) -> Option<&'a Arg> {
        let all: Vec<&Arg> = self.command.get_positionals().collect();
        let repeats = |arg: &&&Arg| {
            arg.get_num_args().is_some_and(|range| range.max_values() > 1)
                || matches!(arg.get_action(), clap::ArgAction::Append)
        };
        all.get(self.positionals).or_else(|| all.last().filter(repeats)).copied()
    }
}
