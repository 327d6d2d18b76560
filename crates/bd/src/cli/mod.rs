//! The command line. A verb is a file: its arguments, whose comments are its help, and one function that turns them
//! into a call.

mod batch;
mod blame;
mod blocked;
mod cancel;
mod children;
mod claim;
mod close;
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
mod epic;
mod export;
mod filter;
mod forget;
mod globals;
mod go_directory;
mod graph;
mod guard;
mod handover;
mod heartbeat;
mod hook;
mod hook_payload;
mod import;
mod info;
mod init;
mod input;
mod json_flag;
mod label;
mod list;
mod log;
mod markdown;
mod mcp;
mod me;
mod migrate;
mod moment;
mod note;
mod onboard;
#[cfg(test)]
mod operations_tests;
mod output_file;
mod parse;
mod place;
mod plan;
mod prime;
mod progress;
mod quickstart;
mod ready;
mod recall;
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
mod stale;
mod status;
mod sync;
mod tool;
mod unclaim;
mod undo;
mod uninstall;
mod unread;
mod update;
mod validate;
mod verify;
mod version;
mod watch;
mod with_reason;

use std::ffi::OsString;
use std::io::Write;
use std::time::Instant;

use beads_core::Actor;
use beads_engine::client;
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::place::Place;
use beads_engine::render;
use beads_engine::request::{Call, Format, Reply, Request};
use beads_engine::rescued;
use beads_engine::rest::NotCopied;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

use crate::operations::operations;
use crate::print::ids_in;
pub use globals::Globals;
use input::Input;
use parse::parse;
pub use unread::read;

/// A local-first, distributed work-item store for swarms of coding agents.
///
/// Beads are created, claimed, blocked and closed here; they live in the git repository around you, on their own
/// branch, and never touch your work tree.
#[derive(Debug, Parser)]
#[command(
    name = "bd",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

/// Makes the verbs from the table of operations.
macro_rules! define_verbs {
    (
        verbs {$($(#[$meta:meta])* $variant:ident = $file:ident.$way:ident, $verb:literal, $effect:ident {$($own:tt)*};)*}
        beneath {$($below:tt)*}
    ) => {
        #[derive(Debug, Subcommand)]
        #[command(defer = true)]
        enum Verb {$(
            $(#[$meta])*
            #[command(name = $verb)]
            $variant($file::Args),
        )*}

        impl Verb {
            /// Verbs about beads become a call on the store; the others act on their own, once they are asked to: the
            /// daemon reads verbs too, and must not do what they do.
            fn action(self, globals: &Globals, input: Input) -> Result<Action, Failure> {
                match self {$(
                    Self::$variant(args) => action!(args, globals, input, $way),
                )*}
            }
        }
    };
}

/// Runs the arguments of a verb in the way that its row names.
macro_rules! action {
    ($args:ident, $globals:ident, $input:ident, call) => {
        $args.call().into_action()
    };
    ($args:ident, $globals:ident, $input:ident, read) => {
        $args.call($input).into_action()
    };
    ($args:ident, $globals:ident, $input:ident, sync) => {
        $args.call($globals).into_action()
    };
    ($args:ident, $globals:ident, $input:ident, run) => {
        Ok(Action::Own(Box::new(move |globals| $args.run(globals).into_reply())))
    };
    ($args:ident, $globals:ident, $input:ident, $text:ident) => {
        $args.$text($input).into_action()
    };
}

operations!(define_verbs);

impl Verb {
    /// Whether only ids are wanted as text.
    fn wants_ids_only(&self) -> bool {
        matches!(self, Self::Create(args) if args.is_silent())
    }

    /// The actor that an option of the verb names.
    fn author(&self) -> Option<&Actor> {
        match self {
            Self::Note(args) | Self::Comment(args) => args.author(),
            _ => None,
        }
    }
}

enum Action {
    Call(Call),
    Own(Box<Deed>),
}

/// What a verb does by itself.
type Deed = dyn FnOnce(&Globals) -> Result<Reply, Failure>;

/// What the arguments of a verb make: a call, or an error about them.
trait IntoAction {
    fn into_action(self) -> Result<Action, Failure>;
}

impl IntoAction for Call {
    fn into_action(self) -> Result<Action, Failure> {
        Ok(Action::Call(self))
    }
}

impl IntoAction for Result<Call, Failure> {
    fn into_action(self) -> Result<Action, Failure> {
        self.map(Action::Call)
    }
}

/// What a verb that acts on its own answers.
trait IntoReply {
    fn into_reply(self) -> Result<Reply, Failure>;
}

impl IntoReply for Reply {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(self)
    }
}

impl IntoReply for Result<Reply, Failure> {
    fn into_reply(self) -> Result<Reply, Failure> {
        self
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
    let unanswered = match unread::send(&arguments) {
        Ok(reply) => return print(&reply),
        Err(unanswered) => unanswered,
    };
    let reply = match parse(&arguments) {
        Ok(cli) => execute(cli, unanswered),
        Err(error) => usage_error(&error, &arguments),
    };
    print(&reply)
}

fn execute(cli: Cli, unanswered: unread::Unanswered) -> Reply {
    let globals = cli.globals;
    let format = globals.format();
    let ids_only = cli.verb.wants_ids_only();
    let author = cli.verb.author().cloned();
    let answer = || -> Result<Reply, Failure> {
        match cli.verb.action(&globals, Input::Ours)? {
            Action::Own(deed) => deed(&globals),
            Action::Call(call) => ask(&globals, call, |request| {
                request.output.ids_only = ids_only;
                request.actor = author.unwrap_or_else(|| request.actor.clone());
                me::replace(&mut request.call, &request.actor);
                if request.call.mutates() && request.request_id.is_none() {
                    request.request_id = unanswered.request_id;
                }
            }),
        }
    };
    answer().unwrap_or_else(|failure| render::failure_reply(failure, format))
}

/// Puts a call to whoever holds the store around the caller.
fn ask(globals: &Globals, call: Call, adjust: impl FnOnce(&mut Request)) -> Result<Reply, Failure> {
    ask_at(&globals.place()?, globals, call, adjust)
}

/// The same for a store that was chosen otherwise.
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
    let mut reply = rescued::noted(place, client::ask(place, request, &access));
    if globals.is_verbose() {
        let (spent, store) = (started.elapsed().as_micros(), place.store_dir());
        let line = format!("{}: position {}, {spent} µs\n", store.display(), reply.position);
        reply.stderr.push_str(&line);
    }
    Ok(reply)
}

/// Help and version are answers; everything else clap says is a usage error, as JSON if that was asked for.
fn usage_error(error: &clap::Error, arguments: &[OsString]) -> Reply {
    let text = error.render();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return answered(text.to_string());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Reply { stderr: text.to_string(), exit: exit::USAGE, ..answered(String::new()) };
    }
    let wants_json = arguments.iter().any(|argument| {
        argument.to_str().is_some_and(|text| text == "--json" || text.starts_with("--json="))
    });
    // A value that is not there at all is the same kind of error for clap as one that is not among the possible ones.
    let given = matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if !value.is_empty());
    let code = match error.kind() {
        ErrorKind::ValueValidation => Code::InvalidValue,
        ErrorKind::InvalidValue if given => Code::InvalidValue,
        _ => Code::Usage,
    };
    let text = text.to_string();
    // The first paragraph says what is wrong; usage and tips follow it.
    let message = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ").replace('\n', " ");
    let failure = Failure::new(code, message.split_whitespace().collect::<Vec<_>>().join(" "));
    render::failure_reply(failure, if wants_json { Format::Json } else { Format::Text })
}

/// Text on standard output and success.
fn answered(stdout: String) -> Reply {
    Reply { stdout, ..Reply::default() }
}

/// The same for a text that is the whole answer; `--json` wraps it.
fn text_reply(text: &str, globals: &Globals) -> Reply {
    answered(match globals.format() {
        Format::Json => render::json(&render::TextAnswer { text: text.to_owned() }),
        _ => text.to_owned(),
    })
}

/// Prints a reply, a long one as it arrives.
fn print(reply: &Reply) -> u8 {
    let changed = || match serde_json::from_str(&reply.stdout) {
        // Some of several: what was done stands in the details of the failure.
        Ok(failed) if reply.changed.is_empty() && reply.exit != exit::OK => ids_in(&failed),
        _ => reply.changed.clone(),
    };
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr().lock());
    let _ = stderr.write_all(reply.stderr.as_bytes());
    let printed = stdout.write_all(reply.stdout.as_bytes()).map_err(NotCopied::Output);
    let printed = printed.and_then(|()| reply.rest.as_ref().map_or(Ok(()), |rest| rest.copy_to(&mut stdout)));
    let printed = printed.and_then(|()| stdout.flush().map_err(NotCopied::Output));
    if let Some(failure) = &reply.error {
        // A reply that was never rendered for us, such as `busy` from a full daemon.
        let _ = stderr.write_all(failure.line().as_bytes());
    }
    match printed {
        Ok(()) => reply.exit,
        Err(NotCopied::Lost) => {
            let failure = incomplete();
            let _ = stderr.write_all(failure.line().as_bytes());
            failure.exit()
        }
        Err(NotCopied::Output(error)) => {
            let changed = changed();
            // The reason why it failed is on the other stream already.
            let is_reported = reply.exit != exit::OK && !reply.stderr.is_empty() && changed.is_empty();
            if is_reported {
                reply.exit
            } else {
                crate::print::report(&mut stderr, &error, &changed, reply.exit)
            }
        }
    }
}

/// The failure of a daemon that ended in the middle of a long answer.
fn incomplete() -> Failure {
    let what = "the daemon ended before all of its answer arrived: the output is incomplete, and every change it reports was made";
    Failure::new(Code::DaemonUnreachable, what)
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
        for verb in command.get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("bd "), "{} has no example in its help", verb.get_name());
            assert!(verb.get_about().is_some(), "{} says nothing about itself", verb.get_name());
        }
    }
}
