//! The command line of `bb`: turns arguments into calls and results into text, without any logic.

use std::ffi::OsString;
use std::io::Write;

use beads_engine::escape::escape;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde::Serialize;

use super::envelope::Envelope;
use super::error::{Code, Error, Reason, Result};
use super::store::Store;
use super::{
    ack, doctor, guard, heartbeat, inbox, list, print as text, read, register, release, reserve, send, show,
    status,
};
use crate::hyphen_values::accept_any_value;
use crate::print::{self, ids_in};

/// Coordination for agents that share a repository
#[derive(Debug, Parser)]
#[command(name = "bb", version, max_term_width = 100)]
struct Bb {
    /// Answer as JSON: {ok, command, data, error}
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    area: Area,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Area {
    /// Identity, mail and reservations
    ///
    /// Environment: BB_AGENT (the calling agent), BB_AGENT_ROOT (the store's directory, instead of
    /// .beadboard/agent in the main work tree). Exit codes: 0 ok, 1 refused or failed, 2 wrong command line
    /// or invalid input; guard has its own.
    #[command(subcommand)]
    Agent(Verb),
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    /// Register an agent, or update its display name and role
    Register(register::Register),
    /// List the registered agents and when each was last seen
    List(list::List),
    /// Show one agent
    Show(show::Show),
    /// Record that an agent is alive
    Heartbeat(heartbeat::Heartbeat),
    /// Send a message about a bead
    Send(send::Send),
    /// List the messages to an agent, newest first
    Inbox(inbox::Inbox),
    /// Mark a message as read
    Read(ReadArgs),
    /// Acknowledge a message (repeating it has no effect)
    Ack(ack::Ack),
    /// Reserve paths for an agent
    Reserve(reserve::Reserve),
    /// Release a reserved scope
    Release(release::Release),
    /// Show active reservations and messages that need an acknowledgement
    Status(status::Status),
    /// Check whether an agent may edit paths
    Guard(guard::Guard),
    /// Check every file of the store without changing anything
    ///
    /// Lists each file and line that cannot be read. Exit code 1 if there are any.
    Doctor(doctor::Doctor),
}

/// Mark a message as read
#[derive(Debug, clap::Args)]
struct ReadArgs {
    #[command(flatten)]
    input: read::Read,
    /// Also print the sender, subject and body
    #[arg(long)]
    body: bool,
}

/// The verbs that change something.
const MUTATING: [&str; 7] = ["register", "heartbeat", "send", "read", "ack", "reserve", "release"];

const VERBS: [&str; 13] = [
    "register",
    "list",
    "show",
    "heartbeat",
    "send",
    "inbox",
    "read",
    "ack",
    "reserve",
    "release",
    "status",
    "guard",
    "doctor",
];

/// Runs one command and returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    match parse(&args) {
        Ok(Bb { json, area: Area::Agent(verb) }) => Answer { out, err, json, command: "" }.run(&verb),
        Err(wrong) if !wrong.use_stderr() => {
            print::print(out, err, wrong.to_string().as_bytes(), Vec::new, 0)
        }
        Err(wrong) => {
            let args = args.iter().skip(1).map_while(|arg| arg.to_str().filter(|arg| *arg != "--"));
            let args: Vec<&str> = args.collect();
            let verb = args.iter().skip_while(|arg| **arg != "agent").find(|arg| VERBS.contains(arg));
            let command = verb.map_or_else(|| "agent".to_owned(), |verb| format!("agent {verb}"));
            let mut answer = Answer { out, err, json: args.contains(&"--json"), command: &command };
            answer.usage(&wrong)
        }
    }
}

fn parse(args: &[OsString]) -> std::result::Result<Bb, clap::Error> {
    let matches = command().try_get_matches_from(args)?;
    Bb::from_arg_matches(&matches)
}

/// Returns the whole parser. Options take values that begin with a hyphen, because a message may begin with a
/// bullet.
pub(crate) fn command() -> clap::Command {
    let mut command = Bb::command();
    command.build();
    accept_any_value(command)
}

struct Answer<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    json: bool,
    command: &'a str,
}

impl Answer<'_> {
    fn run(mut self, verb: &Verb) -> u8 {
        match verb {
            Verb::Register(input) => {
                self.run_verb("agent register", input, register::register, text::registered)
            }
            Verb::List(input) => {
                self.run_verb("agent list", input, list::list, |agents| text::agents(agents))
            }
            Verb::Show(input) => self.run_verb("agent show", input, show::show, text::agent),
            Verb::Heartbeat(input) => {
                self.run_verb("agent heartbeat", input, heartbeat::heartbeat, text::seen)
            }
            Verb::Send(input) => self.run_verb("agent send", input, send::send, text::sent),
            Verb::Inbox(input) => self.run_verb("agent inbox", input, inbox::inbox, |mail| text::inbox(mail)),
            Verb::Read(ReadArgs { input, body }) => self.run_verb(
                "agent read",
                input,
                read::read,
                if *body { text::read_body } else { text::read },
            ),
            Verb::Ack(input) => self.run_verb("agent ack", input, ack::ack, text::acked),
            Verb::Reserve(input) => self.run_verb("agent reserve", input, reserve::reserve, text::reserved),
            Verb::Release(input) => self.run_verb("agent release", input, release::release, text::released),
            Verb::Status(input) => self.run_verb("agent status", input, status::status, text::status),
            Verb::Guard(input) => self.guard(input),
            Verb::Doctor(input) => self.doctor(input),
        }
    }

    /// Runs a verb and prints its result.
    fn run_verb<I, T: Serialize>(
        &mut self,
        command: &str,
        input: &I,
        verb: impl Fn(&Store, &I) -> Result<T>,
        text: impl Fn(&T) -> String,
    ) -> u8 {
        let answered = Store::from_env().and_then(|store| Ok((verb(&store, input)?, store.take_warnings())));
        match answered {
            Ok((data, warnings)) => {
                for warning in warnings {
                    let warning = escape(&warning).into_owned();
                    drop(writeln!(self.err, "Warning: {warning} (bb agent doctor checks all files)"));
                }
                self.success(command, &data, &text(&data))
            }
            Err(failed) => self.failure(command, &failed, failed.code.exit()),
        }
    }

    fn doctor(&mut self, input: &doctor::Doctor) -> u8 {
        let command = "agent doctor";
        match Store::from_env().and_then(|store| doctor::doctor(&store, input)) {
            Ok(report) => {
                let shown = self.success(command, &report, &text::report(&report));
                if report.findings.is_empty() { shown } else { 1 }
            }
            Err(failed) => self.failure(command, &failed, failed.code.exit()),
        }
    }

    fn guard(&mut self, input: &guard::Guard) -> u8 {
        let command = "agent guard";
        // Even finding the store may fail.
        let judged = match Store::from_env() {
            Ok(store) => guard::guard(&store, input),
            Err(failed) if input.hook => Ok(guard::unknown(input, failed)),
            Err(failed) => Err(failed),
        };
        match judged {
            Ok(verdict) => {
                if let Some(why) = &verdict.warning {
                    let (code, message) = (why.code.as_str(), escape(&why.message));
                    drop(writeln!(self.err, "Warning: [{code}] {message} Not checked; allowed."));
                }
                self.success(command, &verdict, &text::verdict(&verdict))
            }
            Err(failed) => {
                let exit = match &failed.code {
                    Code::ReservationConflict if input.hook => guard::EXIT_HOOK_DENY,
                    Code::IoReadFailed | Code::IoWriteFailed => guard::EXIT_UNKNOWN,
                    code => code.exit(),
                };
                self.failure(command, &failed, exit)
            }
        }
    }

    fn success(&mut self, command: &str, data: &impl Serialize, text: &str) -> u8 {
        let changed = || match serde_json::to_value(data) {
            Ok(data) if MUTATING.iter().any(|verb| command.ends_with(verb)) => ids_in(&data),
            _ => Vec::new(),
        };
        if !self.json {
            return print::print(self.out, self.err, text.as_bytes(), changed, 0);
        }
        match Envelope::new(command, Ok(data)).to_text() {
            Ok(text) => print::print(self.out, self.err, text.as_bytes(), changed, 0),
            Err(why) => self.unwritable(&why),
        }
    }

    fn failure(&mut self, command: &str, failed: &Error, exit: u8) -> u8 {
        drop(writeln!(self.err, "Error: [{}] {}", failed.code.as_str(), escape(&failed.message)));
        if !self.json {
            return exit;
        }
        match Envelope::<()>::new(command, Err(failed)).to_text() {
            // The error is on stderr already, so a failure to write is ignored.
            Ok(text) => drop(self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush())),
            Err(why) => return self.unwritable(&why),
        }
        exit
    }

    fn unwritable(&mut self, why: &serde_json::Error) -> u8 {
        drop(writeln!(self.err, "Error: [{}] {why}", Code::IoWriteFailed.as_str()));
        1
    }

    /// Reports a command line that clap refused.
    fn usage(&mut self, wrong: &clap::Error) -> u8 {
        let text = wrong.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let (what, help) = match wrong.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                ("No command given. Example: bb agent list --json", text)
            }
            _ => text.split_once("\n\n").unwrap_or((text, "")),
        };
        let message = what.split_whitespace().collect::<Vec<_>>().join(" ");
        let failed = Error::invalid(reason(wrong), message);
        let exit = self.failure(self.command, &failed, failed.code.exit());
        if !self.json && !help.is_empty() {
            drop(write!(self.err, "\n{help}"));
        }
        exit
    }
}

fn reason(wrong: &clap::Error) -> Reason {
    match wrong.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) if arg.starts_with("--limit") => Reason::InvalidLimit,
        Some(ContextValue::String(arg)) if arg.starts_with("--ttl") => Reason::InvalidTtl,
        _ => Reason::Usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_every_verb_takes_any_value() {
        let command = command();
        let agent = command.find_subcommand("agent").unwrap();
        let mut count = 0;
        for verb in agent.get_subcommands() {
            for argument in verb.get_arguments().filter(|argument| !argument.is_positional()) {
                if argument.get_action().takes_values() {
                    assert!(argument.is_allow_hyphen_values_set(), "{} {argument}", verb.get_name());
                    count += 1;
                }
            }
        }
        assert!(count > 20, "only {count} options were checked");
        let args = ["bb", "agent", "send", "--from", "a", "--to", "b", "--bead", "bd-1"];
        let text = ["--category", "INFO", "--subject", "- one", "--body", "- a\n- b"];
        assert!(parse(&args.iter().chain(&text).map(OsString::from).collect::<Vec<_>>()).is_ok());
    }
}
