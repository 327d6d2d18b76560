//! The command line. Each verb has a file: its arguments, whose doc comments are the help text, and one
//! function that turns them into a call.

mod action;
mod activity;
mod agents;
mod answer;
mod archive;
mod ask;
mod batch;
mod bead_page;
mod blame;
mod blocked;
mod board;
mod call;
mod cancel;
mod children;
mod claim;
mod close;
mod complete;
mod completions;
mod config;
mod conflicts;
mod count;
mod create;
mod create_graph;
mod daemon;
mod delete;
mod deleted;
mod demo;
mod dep;
mod diff;
mod doctor;
mod edit;
mod epic;
mod export;
mod fields;
mod filter;
mod forget;
mod forward;
mod future_time;
mod globals;
mod go_directory;
mod graph;
mod guard;
mod handover;
mod heartbeat;
mod help;
mod hook;
mod hook_payload;
mod hub;
mod import;
mod info;
mod init;
mod input;
mod input_line;
mod json_flag;
mod label;
mod list;
mod log;
mod man;
mod markdown;
mod mcp;
mod me;
mod migrate;
mod mine;
mod next;
mod note;
mod onboard;
#[cfg(test)]
mod operations_tests;
mod output_file;
mod pager;
mod parse;
mod place;
mod plan;
mod prime;
mod print_reply;
mod progress;
mod questions;
mod quickstart;
mod ready;
mod recall;
mod recap;
mod reclaim;
mod remember;
mod renew;
mod reopen;
mod repair;
mod repair_deps;
mod restore;
mod revision;
mod search;
mod session;
mod setup;
mod show;
mod situation;
mod spool;
mod stale;
mod status;
mod suggest;
mod sync;
mod terminal;
mod tool;
mod top;
mod unclaim;
mod undo;
mod uninstall;
mod update;
mod upgrade;
mod usage_error;
mod validate;
mod verify;
mod version;
mod wait;
mod watch;
mod with_reason;

use std::ffi::OsString;
use std::time::Instant;

use beads_core::Actor;
use beads_engine::client;
use beads_engine::failure::Failure;
use beads_engine::field_name::FieldName;
use beads_engine::place::Place;
use beads_engine::render;
use beads_engine::request::{Call, Format, Reply, Request};
use beads_engine::rescued;
use clap::{Parser, Subcommand};

use crate::operations::operations;
use action::{Action, IntoAction, IntoReply};
pub use forward::parse_forwarded;
pub use globals::Globals;
use input::Input;
use parse::parse;
use print_reply::print;
use usage_error::usage_error;

/// A local-first, distributed work-item store for coding agents
///
/// Beads are work items. They live on their own branch of the current git repository and never touch your
/// work tree.
#[derive(Debug, Parser)]
#[command(name = "bd", version, max_term_width = help::MAX_WIDTH, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

/// Defines the verbs from the table of operations.
macro_rules! define_verbs {
    (
        verbs {$($topic:ident {$(
            $(#[$meta:meta])*
            $variant:ident = $file:ident.$way:ident, $verb:literal $(| $alias:literal)*, $effect:ident {$($own:tt)*};
        )*})*}
        subcommands {$($below:tt)*}
    ) => {
        #[derive(Debug, Subcommand)]
        #[command(defer = true)]
        enum Verb {$($(
            $(#[$meta])*
            #[command(name = $verb, visible_aliases = <[&str]>::iter(&[$($alias),*]).copied())]
            $variant($file::Args),
        )*)*}

        impl Verb {
            /// Turns a verb into a call on the store or a local command. A local command is only run by the
            /// caller, because the daemon parses verbs too and must not run them.
            fn action(self, globals: &Globals, input: Input) -> Result<Action, Failure> {
                match self {$($(
                    Self::$variant(args) => action!(args, globals, input, $way),
                )*)*}
            }
        }
    };
}

/// Runs the arguments of a verb as its row in the table says.
macro_rules! action {
    ($args:ident, $globals:ident, $input:ident, call) => {
        $args.call().into_action()
    };
    ($args:ident, $globals:ident, $input:ident, read) => {
        $args.call($input).into_action()
    };
    ($args:ident, $globals:ident, $input:ident, call_with_globals) => {
        $args.call($globals).into_action()
    };
    ($args:ident, $globals:ident, $input:ident, run) => {
        Ok(Action::Local(Box::new(move |globals| $args.run(globals).into_reply())))
    };
    ($args:ident, $globals:ident, $input:ident, $text:ident) => {
        $args.$text($input).into_action()
    };
}

operations!(define_verbs);

impl Verb {
    /// Returns whether the text output is only ids.
    fn wants_ids_only(&self) -> bool {
        matches!(self, Self::Create(args) if args.is_silent())
    }

    /// Returns the fields that `--fields` names.
    fn fields(&self) -> &[FieldName] {
        match self {
            Self::List(args) => &args.fields.fields,
            Self::Mine(args) => &args.fields.fields,
            Self::Ready(args) => &args.fields.fields,
            Self::Search(args) => &args.fields.fields,
            Self::Show(args) => &args.fields.fields,
            Self::Blocked(args) => &args.fields.fields,
            _ => &[],
        }
    }

    /// Returns the actor that an option of the verb names.
    fn author(&self) -> Option<&Actor> {
        match self {
            Self::Note(args) | Self::Comment(args) => args.author(),
            _ => None,
        }
    }
}

/// Runs a command line and prints its answer.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some((program, rest)) = arguments.split_first()
        && let Some(tool) = crate::tool::runner::called_as(program)
    {
        return tool::run_as(tool.name, rest);
    }
    let not_forwarded = match forward::send(&arguments) {
        Ok(reply) => return print(&reply, &arguments),
        Err(not_forwarded) => not_forwarded,
    };
    let reply = match parse(&arguments) {
        Ok(cli) => execute(cli, not_forwarded),
        Err(error) => usage_error(&error, &arguments),
    };
    print(&reply, &arguments)
}

fn execute(cli: Cli, not_forwarded: forward::NotForwarded) -> Reply {
    let globals = cli.globals;
    let format = globals.format();
    let ids_only = cli.verb.wants_ids_only();
    let fields = cli.verb.fields().to_vec();
    let author = cli.verb.author().cloned();
    let answer = || -> Result<Reply, Failure> {
        let input = if globals.is_quiet() { Input::Quiet } else { Input::Local };
        match cli.verb.action(&globals, input)? {
            Action::Local(command) => command(&globals),
            Action::Call(call) => {
                let _waiting = progress::while_waiting(&call, &globals);
                ask(&globals, call, |request| {
                    request.output.ids_only = ids_only;
                    request.output.fields = fields;
                    request.actor = author.unwrap_or_else(|| request.actor.clone());
                    me::replace(&mut request.call, &request.actor);
                    if request.call.mutates() && request.request_id.is_none() {
                        request.request_id = not_forwarded.request_id;
                    }
                })
            }
        }
    };
    answer().unwrap_or_else(|failure| render::failure_reply(failure, format))
}

/// Sends a call to the store of the current repository.
fn ask(globals: &Globals, call: Call, adjust: impl FnOnce(&mut Request)) -> Result<Reply, Failure> {
    ask_at(&globals.place()?, globals, call, adjust)
}

/// Sends a call to the store at `place`.
fn ask_at(
    place: &Place,
    globals: &Globals,
    call: Call,
    adjust: impl FnOnce(&mut Request),
) -> Result<Reply, Failure> {
    let mut request = globals.request(place, call)?;
    adjust(&mut request);
    let started = Instant::now();
    let access = client::Access { is_last: true, ..globals.access() };
    let mut reply = rescued::with_notes(place, client::ask(place, request, &access));
    if globals.is_verbose() {
        let (spent, store) = (started.elapsed().as_micros(), place.store_dir());
        let line = format!("{}: position {}, {spent} µs\n", store.display(), reply.position);
        reply.stderr.push_str(&line);
    }
    Ok(reply)
}

/// Returns a successful reply with this standard output.
fn stdout_reply(stdout: String) -> Reply {
    Reply { stdout, ..Reply::default() }
}

/// Returns a successful reply with a text, which `--json` wraps in an object.
fn text_reply(text: &str, globals: &Globals) -> Reply {
    stdout_reply(match globals.format() {
        Format::Json => render::json(&render::TextAnswer { text: text.to_owned() }),
        _ => text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed_and_every_verb_has_an_example() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("bd "), "{} has no example in its help", verb.get_name());
            assert!(verb.get_about().is_some(), "{} has no description", verb.get_name());
        }
    }
}
