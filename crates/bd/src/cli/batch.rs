use std::io::{BufRead, BufReader, Read, StdinLock};

use beads_engine::daemon::MAX_FRAME_BYTES;
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::request::Reply;
use serde_json::Value;

use super::answered;
use super::globals::Globals;
use crate::print::{self, ids_in};
use crate::tool::envelope::{self, Item};
use crate::tool::{Context, Planned, Results, all_or_none, each, operation};

/// What is read ahead of the lines that are worked on together.
const READ_AHEAD_BYTES: usize = 1024 * 1024;

/// Carry out many operations, one JSON object a line
///
/// Each line names an operation and has the fields of the JSON tool of that name. One line comes back for each, in order.
/// What has arrived by the time the last ones are done goes to the store together. Lines that are blank are skipped.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  echo '{\"op\":\"create\",\"title\":\"Write tests\"}' | bd batch\n  bd batch --atomic < plan.ndjson"
)]
pub struct Args {
    /// All of them or none
    #[arg(long)]
    atomic: bool,
    /// Make every check and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let context = globals.tool_context(!self.dry_run, &|_| {}, &|_| {})?;
        let mut stdin = BufReader::with_capacity(READ_AHEAD_BYTES, std::io::stdin().lock());
        let exit = if self.atomic { whole(&mut stdin, &context) } else { in_turn(&mut stdin, &context) }?;
        Ok(Reply { exit, ..answered(String::new()) })
    }
}

type Lines<'a> = BufReader<StdinLock<'a>>;

/// Waits for a line, then takes those that are there already.
fn in_turn(stdin: &mut Lines<'_>, context: &Context<'_>) -> Result<u8, Failure> {
    let (mut first, mut worst) = (0, exit::OK);
    while let Some(line) = next_line(stdin)? {
        let mut planned = vec![plan(&line, context)];
        while stdin.buffer().contains(&b'\n') {
            match next_line(stdin)? {
                Some(line) => planned.push(plan(&line, context)),
                None => break,
            }
        }
        let count = planned.len();
        let results = each(first, planned, context)?;
        first += count;
        match print(&results) {
            Ok(exit) => worst = if worst == exit::OK { exit } else { worst },
            // Answers that cannot be read are no reason to change more.
            Err(exit) => return Ok(exit),
        }
    }
    Ok(worst)
}

fn whole(stdin: &mut Lines<'_>, context: &Context<'_>) -> Result<u8, Failure> {
    let (mut planned, mut bytes) = (Vec::new(), 0);
    while let Some(line) = next_line(stdin)? {
        bytes += line.len();
        if bytes > MAX_FRAME_BYTES {
            return Err(too_large("the batch"));
        }
        planned.push(plan(&line, context));
    }
    let results = all_or_none(planned, context).unwrap_or_else(|failure| vec![Err(failure)]);
    let (Ok(exit) | Err(exit)) = print(&results);
    Ok(exit)
}

fn plan(line: &str, context: &Context<'_>) -> Planned {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| Failure::new(Code::InvalidJson, format!("the line is not JSON: {error}")))?;
    operation(value, context)
}

/// The next line that is not blank.
fn next_line(stdin: &mut Lines<'_>) -> Result<Option<String>, Failure> {
    loop {
        let mut bytes = Vec::new();
        let read = stdin.by_ref().take(MAX_FRAME_BYTES as u64 + 1).read_until(b'\n', &mut bytes);
        read.map_err(|error| Failure::new(Code::IoError, format!("cannot read standard input: {error}")))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.len() > MAX_FRAME_BYTES {
            return Err(too_large("a line"));
        }
        let line = String::from_utf8(bytes)
            .map_err(|_| Failure::new(Code::InvalidJson, "standard input is not valid UTF-8"))?;
        if !line.trim().is_empty() {
            return Ok(Some(line));
        }
    }
}

fn too_large(what: &str) -> Failure {
    Failure::new(Code::TooLarge, format!("{what} has more than {} MiB", MAX_FRAME_BYTES / 1024 / 1024))
}

/// One line for each, at once: the program at the other end may wait for them. Returns the exit code of the first failure,
/// or as an error that of an output that cannot be written.
fn print(results: &Results) -> Result<u8, u8> {
    let bytes: Vec<u8> = results.iter().flat_map(|result| envelope::line(&Item::new(result))).collect();
    let failed = results.iter().find_map(|result| result.as_ref().err());
    let exit = failed.map_or(exit::OK, Failure::tool_exit);
    let done = || results.iter().flatten().filter_map(|result| serde_json::from_str(result.get()).ok());
    let changed = || -> Vec<String> { done().flat_map(|result: Value| ids_in(&result)).collect() };
    let written = print::write(&mut std::io::stdout().lock(), &bytes);
    written.map(|()| exit).map_err(|error| print::report(&mut std::io::stderr(), &error, &changed(), exit))
}
