//! Flags that every verb takes.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_core::{Actor, Line};
use beads_engine::client::{self, Access};
use beads_engine::config::{Config, parse_duration};
use beads_engine::daemon::VERSION;
use beads_engine::dialect::Dialect;
use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::render::{self, Answer};
use beads_engine::request::{Call, Format, Output, Reply, Request};
use beads_engine::session_id::SessionId;
use clap::Args;

use super::json_flag::JsonFlag;
use crate::environment::has_value_with_prefix;
use crate::mcp;
use crate::tool::Context;

/// Where the id of a session is looked for: what was set on purpose, then what harnesses set for the commands they run
/// (docs/AGENTS.md has the sources).
const SESSION_VARIABLES: [&str; 4] =
    ["BD_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID"];

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Act as if started in this directory
    #[arg(long = "repo", short = 'C', value_name = "DIR", global = true)]
    repo: Option<PathBuf>,
    /// A private store, named by the path of a database file in its directory
    #[arg(long, value_name = "PATH", global = true)]
    db: Option<PathBuf>,
    /// Who is acting [default: $BD_ACTOR, else the setting actor, else user@host, and /NAME in a linked worktree]
    #[arg(long, value_name = "NAME", global = true)]
    actor: Option<Actor>,
    /// Which run of the agent is acting [default: $BD_SESSION, else what the harness provides; see bd session --help]
    #[arg(long, value_name = "ID", global = true)]
    session: Option<SessionId>,
    /// Answer in JSON: as the specification has it (spec), or as programs written for the Go bd read it (compat)
    ///
    /// Without a value: $BD_JSON, else the setting json.dialect, else compat for callers that pass --db,
    /// --no-auto-flush, --no-auto-import, --allow-stale, --sandbox or any BEADS_* variable, and spec for all others.
    #[arg(
        long,
        global = true,
        value_name = "spec|compat",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    json: Option<JsonFlag>,
    /// Say nothing but errors and what was asked for
    #[arg(long, short = 'q', global = true)]
    quiet: bool,
    /// Say more: which store answered, at which position, in what time
    #[arg(long, short = 'v', global = true)]
    verbose: bool,
    /// Do the work in this process instead of starting a daemon [env: BD_NO_DAEMON=1]
    #[arg(long, global = true)]
    no_daemon: bool,
    /// No daemon, nothing sent to the remote or fetched from it, no export file written
    #[arg(long, global = true)]
    sandbox: bool,
    /// Do not write the export file (export.path) after a change [env: BEADS_NO_AUTO_FLUSH=1]
    #[arg(long, global = true)]
    no_auto_flush: bool,
    /// Read nothing but the store, which is what every command does; only bd import imports
    #[arg(long, global = true)]
    no_auto_import: bool,
    /// Answer from what is here without asking the remote first, which is what every query does
    #[arg(long, global = true)]
    allow_stale: bool,
    /// How long to wait for the daemon or, without one, for the store, such as 5s [default: 30s]
    #[arg(long, value_name = "TIME", global = true, value_parser = duration)]
    lock_timeout: Option<Duration>,
    /// Repeat a mutation safely: for a day the same id is applied only once, and gets the same answer
    #[arg(long, value_name = "ID", global = true, value_parser = request_id)]
    request_id: Option<String>,
}

impl Globals {
    /// Whether the next word belongs to this option.
    pub fn takes_value(option: &str) -> bool {
        matches!(
            option,
            "--repo" | "-C" | "--db" | "--actor" | "--session" | "--lock-timeout" | "--request-id"
        )
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|failure| failure.message)
}

/// Ids that begin with ~ are those that `bd` mints itself, and soon forgotten.
fn request_id(text: &str) -> Result<String, String> {
    if text.starts_with('~') {
        return Err("a request id does not begin with ~".to_owned());
    }
    Ok(text.to_owned())
}

/// An empty variable is one that is not set: as a path it would name the directory we are in.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A switch in the environment; 0 and false are off.
fn is_set(name: &str) -> bool {
    variable(name).is_some_and(|value| value != "0" && value != "false")
}

impl Globals {
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    pub fn format(&self) -> Format {
        match self.json {
            None | Some(JsonFlag::Off) => Format::Text,
            Some(JsonFlag::On | JsonFlag::In(_)) => Format::Json,
        }
    }

    /// No exchange with anybody else.
    pub fn is_sandboxed(&self) -> bool {
        self.sandbox
    }

    /// The dialect that was asked for, by the flag or by `BD_JSON`.
    fn dialect(&self) -> Result<Option<Dialect>, Failure> {
        if let Some(JsonFlag::In(dialect)) = self.json {
            return Ok(Some(dialect));
        }
        let Some(value) = variable("BD_JSON") else { return Ok(None) };
        let bad = || Failure::invalid(format!("BD_JSON is {value:?}, not spec or compat"));
        value.to_str().and_then(|text| text.parse().ok()).map(Some).ok_or_else(bad)
    }

    /// Whether the caller passes what only programs written for the Go `bd` pass.
    fn is_compat_caller(&self) -> bool {
        self.has_compat_flags() || self.db.is_some() || has_value_with_prefix("BEADS_")
    }

    fn has_compat_flags(&self) -> bool {
        self.no_auto_flush || self.no_auto_import || self.allow_stale || self.sandbox
    }

    pub fn output(&self) -> Result<Output, Failure> {
        let stdout = std::io::stdout();
        let terminal = stdout.is_terminal();
        let no_color = variable("NO_COLOR").is_some();
        let width = || {
            rustix::termios::tcgetwinsize(&stdout)
                .ok()
                .map(|size| usize::from(size.ws_col))
                .filter(|w| *w > 0)
        };
        Ok(Output {
            format: self.format(),
            dialect: self.dialect()?,
            compat_caller: self.is_compat_caller(),
            color: terminal && !no_color,
            width: terminal.then(|| width().unwrap_or(80)),
            quiet: self.quiet,
            ids_only: false,
            verbose: self.verbose,
        })
    }

    /// A path of the command line, as whoever holds the store would find it.
    pub fn absolute(&self, path: &Path) -> Result<PathBuf, Failure> {
        Ok(self.directory()?.join(path))
    }

    pub fn place(&self) -> Result<Place, Failure> {
        Place::from_env(self.db.clone(), &self.directory()?)
    }

    /// The private store that `init --private` makes.
    pub fn private_place(&self) -> Result<Place, Failure> {
        Place::private_from_env(self.db.clone(), &self.directory()?)
    }

    /// Where the command acts, as an absolute path. The current directory may be gone; with an absolute path nobody
    /// needs it.
    pub fn directory(&self) -> Result<PathBuf, Failure> {
        if let Some(repo) = self.repo.as_ref().filter(|repo| repo.is_absolute()) {
            return Ok(repo.clone());
        }
        let here = std::env::current_dir()
            .map_err(|error| Failure::new(Code::IoError, format!("no current directory: {error}")))?;
        Ok(self.repo.as_ref().map_or_else(|| here.clone(), |repo| here.join(repo)))
    }

    /// Where and for whom a tool runs, unless its input says otherwise.
    pub fn tool_context<'a>(
        &self,
        apply: bool,
        progress: &'a dyn Fn(u8),
        trace: &'a dyn Fn(&str),
    ) -> Result<Context<'a>, Failure> {
        Ok(Context {
            directory: self.directory()?,
            db: self.db.clone(),
            actor: self.actor(&self.place()?)?,
            session: self.session()?,
            access: self.access(),
            no_export: self.no_export(),
            offline: self.sandbox,
            apply,
            request_id: self.request_id.clone(),
            progress,
            trace,
        })
    }

    /// Returns where and for whom `bd mcp` works.
    pub fn mcp_context(&self) -> Result<mcp::Context, Failure> {
        let place = self.place()?;
        Ok(mcp::Context {
            session: self.session()?,
            chosen_actor: self.chosen_actor(&place),
            default_actor: self.actor(&place),
            place,
            directory: self.directory()?,
            db: self.db.clone(),
            access: self.access(),
            no_export: self.no_export(),
            offline: self.sandbox,
        })
    }

    pub fn access(&self) -> Access {
        Access {
            no_daemon: self.no_daemon || self.sandbox || is_set("BD_NO_DAEMON") || is_set("BEADS_NO_DAEMON"),
            lock_timeout: self.lock_timeout.unwrap_or(Access::default().lock_timeout),
            is_last: false,
            hangup: None,
        }
    }

    /// Whether the caller asked not to write what is exported by itself.
    fn no_export(&self) -> bool {
        self.no_auto_flush || self.sandbox || is_set("BEADS_NO_AUTO_FLUSH")
    }

    /// Whether all that is said here is how to answer, and for whom: nothing about which store to ask, and how.
    pub fn leave_the_store_open(&self) -> bool {
        self.repo.is_none()
            && self.db.is_none()
            && self.lock_timeout.is_none()
            && !(self.verbose || self.no_daemon || self.sandbox)
    }

    /// Puts what is said here in place of what a caller said who had not read it.
    pub fn correct(&self, request: &mut Request) {
        request.output.format = self.format();
        request.output.quiet = self.quiet;
        request.output.compat_caller |= self.has_compat_flags();
        request.no_export |= self.no_auto_flush;
        if let Some(JsonFlag::In(dialect)) = self.json {
            request.output.dialect = Some(dialect);
        }
        if let Some(actor) = &self.actor {
            request.actor = actor.clone();
        }
        if self.session.is_some() {
            request.session.clone_from(&self.session);
        }
        if self.request_id.is_some() {
            request.request_id.clone_from(&self.request_id);
        }
    }

    pub fn request(&self, place: &Place, call: Call) -> Result<Request, Failure> {
        Ok(Request {
            client: VERSION.to_owned(),
            actor: self.actor(place)?,
            session: self.session()?,
            // A branch whose name cannot be shown on a line is left out rather than refused: it is informational.
            branch: place.branch.parse::<Line>().unwrap_or_default(),
            request_id: self.request_id.clone(),
            no_export: self.no_export(),
            offline: self.sandbox,
            call,
            output: self.output()?,
        })
    }

    /// Asks for an answer that the command itself makes something of.
    pub fn value<T: serde::de::DeserializeOwned>(&self, place: &Place, call: Call) -> Result<T, Failure> {
        self.value_through(place, call, &self.access())
    }

    /// The same with another way to reach the store.
    pub fn value_through<T: serde::de::DeserializeOwned>(
        &self,
        place: &Place,
        call: Call,
        access: &Access,
    ) -> Result<T, Failure> {
        let request = self.request(place, call)?;
        let request = Request { output: Output { format: Format::Value, ..Output::default() }, ..request };
        let reply = client::ask(place, request, access);
        let no_sense = |reason: String| {
            Failure::new(Code::ProtocolError, format!("an answer that makes no sense: {reason}"))
        };
        match (reply.result, reply.error) {
            (Some(result), _) => {
                serde_json::from_str(result.get()).map_err(|error| no_sense(error.to_string()))
            }
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(no_sense("it is empty".to_owned())),
        }
    }

    /// Renders what a command made of its answers.
    pub fn answer(&self, answer: Answer) -> Result<Reply, Failure> {
        Ok(render::reply(Ok(answer), &self.output()?, 0))
    }

    /// Who acts, if the command line, the environment or the settings say.
    pub fn chosen_actor(&self, place: &Place) -> Result<Option<Actor>, Failure> {
        if let Some(actor) = &self.actor {
            return Ok(Some(actor.clone()));
        }
        let Some(actor) = variable("BD_ACTOR") else {
            // Settings that cannot be read are reported by whatever needs them.
            let config = Config::load(&place.store_dir()).unwrap_or_default();
            let actor = config.get("actor").ok().filter(|actor| !actor.is_empty());
            return Ok(actor.map(str::parse).transpose()?);
        };
        let actor = actor.into_string().map_err(|_| Failure::invalid("BD_ACTOR is not valid UTF-8"))?;
        Ok(Some(actor.parse()?))
    }

    /// Who acts. Without a choice, agents in different worktrees are different actors.
    pub fn actor(&self, place: &Place) -> Result<Actor, Failure> {
        if let Some(actor) = self.chosen_actor(place)? {
            return Ok(actor);
        }
        let user = ["USER", "LOGNAME"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
        let user = user.unwrap_or_else(|| format!("uid{}", rustix::process::getuid().as_raw()));
        let uname = rustix::system::uname();
        let host = uname.nodename().to_string_lossy();
        let worktree = place.worktree.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        Ok(format!("{user}@{host}{worktree}").parse::<Actor>()?)
    }

    /// The same for another actor.
    pub fn with_actor(&self, actor: Actor) -> Self {
        Self { actor: Some(actor), ..self.clone() }
    }

    /// The same for the session that a hook belongs to, if its payload says so.
    pub fn with_session(&self, session: Option<SessionId>) -> Self {
        Self { session: session.or_else(|| self.session.clone()), ..self.clone() }
    }

    /// Which run of the agent acts, if that is known.
    pub fn session(&self) -> Result<Option<SessionId>, Failure> {
        if self.session.is_some() {
            return Ok(self.session.clone());
        }
        let Some((name, id)) = SESSION_VARIABLES.iter().find_map(|name| Some((name, variable(name)?))) else {
            return Ok(None);
        };
        let parsed = id.to_str().map(str::parse).transpose().ok().flatten();
        parsed.map(Some).ok_or_else(|| Failure::invalid(format!("{name} is {id:?}, which is no session id")))
    }
}
