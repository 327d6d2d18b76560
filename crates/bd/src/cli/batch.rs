use std::io::{BufReader, StdinLock};

use beads_engine::daemon::MAX_FRAME_BYTES;
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::request::Reply;
use serde_json::Value;

use super::globals::Globals;
use super::input_line::{next_line, too_large};
use super::stdout_reply;
use crate::print::{self, ids_in};
use crate::tool::envelope::{self, Item};
use crate::tool::{Context, Planned, Results, all_or_none, each, operation};

/// The size of the read buffer. All lines in it are sent to the store together.
const READ_AHEAD_BYTES: usize = 1024 * 1024;

/// Run many operations, one JSON object per line
///
/// Each line names an operation ("op") and has the fields of the JSON tool with that name. One result line is
/// printed per operation, in order. Lines that arrive together are sent to the store together. Blank lines
/// are skipped.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  echo '{\"op\":\"create\",\"title\":\"Write tests\"}' | bd batch\n  bd batch --atomic < plan.ndjson"
)]
pub struct Args {
    /// Apply all operations or none
    #[arg(long)]
    atomic: bool,
    /// Check every operation without changing anything
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let context = globals.tool_context(!self.dry_run, &|_| {}, &|_| {})?;
        let mut stdin = BufReader::with_capacity(READ_AHEAD_BYTES, std::io::stdin().lock());
        let exit =
            if self.atomic { run_atomic(&mut stdin, &context) } else { run_in_order(&mut stdin, &context) }?;
        Ok(Reply { exit, ..stdout_reply(String::new()) })
    }
}

type Lines<'a> = BufReader<StdinLock<'a>>;

/// Waits for a line, then also takes the lines that have already arrived.
fn run_in_order(stdin: &mut Lines<'_>, context: &Context<'_>) -> Result<u8, Failure> {
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
            // Stop: the caller no longer reads the results.
            Err(exit) => return Ok(exit),
        }
    }
    Ok(worst)
}

fn run_atomic(stdin: &mut Lines<'_>, context: &Context<'_>) -> Result<u8, Failure> {
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

fn plan(line: &[u8], context: &Context<'_>) -> Planned {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| Failure::new(Code::InvalidJson, format!("the line is not JSON: {error}")))?;
    operation(value, context)
}

/// Prints one line per result and flushes, because the caller may be waiting. Returns the exit code of the
/// first failure, or, as an error, the exit code if the output could not be written.
fn print(results: &Results) -> Result<u8, u8> {
    let bytes: Vec<u8> = results.iter().flat_map(|result| envelope::line(&Item::new(result))).collect();
    let failed = results.iter().find_map(|result| result.as_ref().err());
    let exit = failed.map_or(exit::OK, Failure::tool_exit);
    let done = || results.iter().flatten().filter_map(|result| serde_json::from_str(result.get()).ok());
    let changed = || -> Vec<String> { done().flat_map(|result: Value| ids_in(&result)).collect() };
    let written = print::write(&mut std::io::stdout().lock(), &bytes);
    written.map(|()| exit).map_err(|error| print::report(&mut std::io::stderr(), &error, &changed(), exit))
}
