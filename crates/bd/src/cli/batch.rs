use std::io::{BufRead, BufReader, Read, StdinLock, Write};

use beads_engine::daemon::MAX_FRAME_BYTES;
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::request::Reply;
use serde_json::Value;

use super::answered;
use super::globals::Globals;
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
        let exit = print(&results);
        worst = if worst == exit::OK { exit } else { worst };
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
    Ok(match all_or_none(planned, context) {
        Ok(results) => print(&results),
        Err(failure) => print(&vec![Err(failure)]),
    })
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

/// One line for each, at once: whoever feeds us may wait for them. Returns the exit code of the first failure.
fn print(results: &Results) -> u8 {
    let bytes: Vec<u8> = results.iter().flat_map(|result| envelope::line(&Item::new(result))).collect();
    let mut stdout = std::io::stdout().lock();
    // What is done is done, even if nobody listens any more.
    let _ = stdout.write_all(&bytes).and_then(|()| stdout.flush());
    let failed = results.iter().find_map(|result| result.as_ref().err());
    failed.map_or(exit::OK, |failure| failure.code.tool().exit())
}
