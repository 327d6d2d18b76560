//! Options that every verb takes.

use std::ffi::OsString;
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
use super::terminal::{self, ColorWhen};
use crate::environment::has_value_with_prefix;
use crate::mcp;
use crate::tool::Context;

/// The variables that may hold the session id, in order of precedence: ours, then those that harnesses set
/// for the commands they run (docs/AGENTS.md has the sources).
const SESSION_VARIABLES: [&str; 5] = [
    "BD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "GEMINI_SESSION_ID",
    "ANTIGRAVITY_CONVERSATION_ID",
];

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Run as if bd was started in DIR
    #[arg(long = "repo", short = 'C', value_name = "DIR", global = true)]
    repo: Option<PathBuf>,
    /// Use the private store in the directory of this database file
    #[arg(long, value_name = "PATH", global = true)]
    db: Option<PathBuf>,
    /// Actor to act as [default: $BD_ACTOR, else the setting actor, else user@host, plus /NAME in a linked
    /// worktree]
    #[arg(long, value_name = "NAME", global = true)]
    actor: Option<Actor>,
    /// Session (run of an agent) to act as [default: $BD_SESSION, else the harness's; see bd session --help]
    #[arg(long, value_name = "ID", global = true)]
    session: Option<SessionId>,
    /// Print JSON, as specified (spec) or for programs written for the Go bd (compat)
    ///
    /// The default dialect is $BD_JSON, else the setting json.dialect. Otherwise it is compat for callers
    /// that pass --db, --no-auto-flush, --no-auto-import, --allow-stale, --sandbox or any BEADS_* variable,
    /// and spec for all others.
    #[arg(
        long,
        global = true,
        value_name = "spec|compat",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    json: Option<JsonFlag>,
    /// Print only errors and answers to queries; a change prints nothing, except with --json
    #[arg(long, short = 'q', global = true)]
    quiet: bool,
    /// Also print the store, its position and the time taken
    #[arg(long, short = 'v', global = true)]
    verbose: bool,
    /// Color the text: auto (on a terminal, unless $NO_COLOR is set or $TERM is dumb), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true
    )]
    color: ColorWhen,
    /// Show exact times in UTC; a terminal otherwise gets local and relative times
    #[arg(long, global = true)]
    utc: bool,
    /// Print long text directly, not in a pager
    #[arg(long, global = true)]
    no_pager: bool,
    /// Run in this process instead of using a daemon [env: BD_NO_DAEMON=1]
    #[arg(long, global = true)]
    no_daemon: bool,
    /// Use no daemon, do not contact the remote, and write no export file
    #[arg(long, global = true)]
    sandbox: bool,
    /// Do not write the export file (export.path) after a change [env: BEADS_NO_AUTO_FLUSH=1]
    #[arg(long, global = true)]
    no_auto_flush: bool,
    /// Accepted for compatibility; only bd import ever imports
    #[arg(long, global = true)]
    no_auto_import: bool,
    /// Accepted for compatibility; queries never wait for the remote
    #[arg(long, global = true)]
    allow_stale: bool,
    /// Wait up to TIME for the daemon or, without one, for the store lock [default: 30s]
    #[arg(long, value_name = "TIME", global = true, value_parser = duration)]
    lock_timeout: Option<Duration>,
    /// Make retries safe: for a day, a change with the same id is applied only once and gets the same answer
    #[arg(long, value_name = "ID", global = true, value_parser = request_id)]
    request_id: Option<String>,
}

impl Globals {
    /// Returns whether the option takes the next argument as its value.
    pub fn takes_value(option: &str) -> bool {
        matches!(
            option,
            "--repo"
                | "-C"
                | "--db"
                | "--actor"
                | "--session"
                | "--color"
                | "--lock-timeout"
                | "--request-id"
        )
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|failure| failure.message)
}

/// Parses a request id. The prefix ~ is reserved for the short-lived ids that `bd` generates.
fn request_id(text: &str) -> Result<String, String> {
    if text.starts_with('~') {
        return Err("a request id must not begin with ~".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads an environment variable. An empty one counts as unset: as a path it would name the current
/// directory.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns whether a boolean environment variable is on; 0 and false are off.
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

    /// Returns whether long text must not go to a pager.
    pub fn wants_no_pager(&self) -> bool {
        self.no_pager || self.format() != Format::Text
    }

    /// Returns whether the remote must not be contacted.
    pub fn is_sandboxed(&self) -> bool {
        self.sandbox
    }

    /// Returns the dialect that the flag or `BD_JSON` names.
    fn dialect(&self) -> Result<Option<Dialect>, Failure> {
        if let Some(JsonFlag::In(dialect)) = self.json {
            return Ok(Some(dialect));
        }
        let Some(value) = variable("BD_JSON") else { return Ok(None) };
        let bad = || Failure::invalid(format!("BD_JSON is {value:?}, not spec or compat"));
        value.to_str().and_then(|text| text.parse().ok()).map(Some).ok_or_else(bad)
    }

    /// Returns whether the caller passes options or variables that only programs written for the Go `bd`
    /// pass.
    fn is_compat_caller(&self) -> bool {
        self.has_compat_flags() || self.db.is_some() || has_value_with_prefix("BEADS_")
    }

    fn has_compat_flags(&self) -> bool {
        self.no_auto_flush || self.no_auto_import || self.allow_stale || self.sandbox
    }

    pub fn output(&self) -> Result<Output, Failure> {
        let size = terminal::size();
        Ok(Output {
            format: self.format(),
            dialect: self.dialect()?,
            compat_caller: self.is_compat_caller(),
            color: self.color.choice().unwrap_or_else(|| size.is_some() && terminal::allows_color()),
            width: size.map(|(columns, _)| columns),
            clock: size.filter(|_| !self.utc).map(|_| terminal::local_clock()),
            quiet: self.quiet,
            ids_only: false,
            fields: Vec::new(),
            verbose: self.verbose,
        })
    }

    /// Makes a path from the command line absolute, so that the daemon can open it.
    pub fn absolute(&self, path: &Path) -> Result<PathBuf, Failure> {
        Ok(self.directory()?.join(path))
    }

    pub fn place(&self) -> Result<Place, Failure> {
        Place::from_env(self.db.clone(), &self.directory()?)
    }

    /// Returns the private store that `init --private` creates.
    pub fn private_place(&self) -> Result<Place, Failure> {
        Place::private_from_env(self.db.clone(), &self.directory()?)
    }

    /// Returns the directory that the command runs in, as an absolute path. The current directory may have
    /// been deleted, so it is not read if `--repo` is absolute.
    pub fn directory(&self) -> Result<PathBuf, Failure> {
        if let Some(repo) = self.repo.as_ref().filter(|repo| repo.is_absolute()) {
            return Ok(repo.clone());
        }
        let here = std::env::current_dir().map_err(|error| {
            Failure::new(Code::IoError, format!("cannot read the current directory: {error}"))
        })?;
        Ok(self.repo.as_ref().map_or_else(|| here.clone(), |repo| here.join(repo)))
    }

    /// Returns the actor that `--actor` names.
    pub fn given_actor(&self) -> Option<&Actor> {
        self.actor.as_ref()
    }

    /// Returns the defaults for a tool: the directory, the actor and how to reach the store.
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

    /// Returns the context of `bd mcp`: the store, the actor and how to reach the store.
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
            cancel: None,
        }
    }

    /// Returns whether the automatic export is switched off.
    fn no_export(&self) -> bool {
        self.no_auto_flush || self.sandbox || is_set("BEADS_NO_AUTO_FLUSH")
    }

    /// Returns whether no option chooses the store or how to reach it.
    pub fn use_default_store(&self) -> bool {
        self.repo.is_none()
            && self.db.is_none()
            && self.lock_timeout.is_none()
            && !(self.verbose || self.no_daemon || self.sandbox)
    }

    /// Applies these options to a forwarded request, which its sender built without parsing them.
    pub fn apply_to(&self, request: &mut Request) {
        request.output.format = self.format();
        request.output.color = self.color.choice().unwrap_or(request.output.color);
        request.output.clock = request.output.clock.take().filter(|_| !self.utc);
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
            // The branch is informational, so a name that does not fit on one line is omitted rather than
            // rejected.
            branch: place.branch.parse::<Line>().unwrap_or_default(),
            request_id: self.request_id.clone(),
            no_export: self.no_export(),
            offline: self.sandbox,
            call,
            output: self.output()?,
        })
    }

    /// Sends a call and deserialises the answer.
    pub fn value<T: serde::de::DeserializeOwned>(&self, place: &Place, call: Call) -> Result<T, Failure> {
        self.value_with(place, call, &self.access())
    }

    /// Sends a call with these access options and deserialises the answer.
    pub fn value_with<T: serde::de::DeserializeOwned>(
        &self,
        place: &Place,
        call: Call,
        access: &Access,
    ) -> Result<T, Failure> {
        let request = self.request(place, call)?;
        let request = Request { output: Output { format: Format::Value, ..Output::default() }, ..request };
        let reply = client::ask(place, request, access);
        let invalid =
            |reason: String| Failure::new(Code::ProtocolError, format!("the answer is invalid: {reason}"));
        match (reply.result, reply.error) {
            (Some(result), _) => {
                serde_json::from_str(result.get()).map_err(|error| invalid(error.to_string()))
            }
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(invalid("it is empty".to_owned())),
        }
    }

    /// Renders an answer that the command composed itself.
    pub fn answer(&self, answer: Answer) -> Result<Reply, Failure> {
        Ok(render::reply(Ok(answer), &self.output()?, 0))
    }

    /// Returns the actor that the command line, the environment or the settings name.
    pub fn chosen_actor(&self, place: &Place) -> Result<Option<Actor>, Failure> {
        if let Some(actor) = &self.actor {
            return Ok(Some(actor.clone()));
        }
        let Some(actor) = variable("BD_ACTOR") else {
            // Unreadable settings are reported by the request itself.
            let config = Config::load(&place.store_dir()).unwrap_or_default();
            let actor = config.get("actor").ok().filter(|actor| !actor.is_empty());
            return Ok(actor.map(str::parse).transpose()?);
        };
        let actor = actor.into_string().map_err(|_| Failure::invalid("BD_ACTOR is not valid UTF-8"))?;
        Ok(Some(actor.parse()?))
    }

    /// Returns the actor. The default differs between worktrees, so that agents in different worktrees are
    /// different actors.
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

    /// Returns these options for the store that a command line names.
    pub fn at_store(&self, repo: Option<PathBuf>, db: Option<PathBuf>) -> Self {
        Self { repo, db, ..self.clone() }
    }

    /// Returns these options with another actor.
    pub fn with_actor(&self, actor: Actor) -> Self {
        Self { actor: Some(actor), ..self.clone() }
    }

    /// Returns these options with the session that a hook payload names, if it names one.
    pub fn with_session(&self, session: Option<SessionId>) -> Self {
        Self { session: session.or_else(|| self.session.clone()), ..self.clone() }
    }

    /// Returns the session, if it is known.
    pub fn session(&self) -> Result<Option<SessionId>, Failure> {
        if self.session.is_some() {
            return Ok(self.session.clone());
        }
        let Some((name, id)) = SESSION_VARIABLES.iter().find_map(|name| Some((name, variable(name)?))) else {
            return Ok(None);
        };
        let parsed = id.to_str().map(str::parse).transpose().ok().flatten();
        parsed
            .map(Some)
            .ok_or_else(|| Failure::invalid(format!("{name} is {id:?}, which is not a valid session id")))
    }
}
