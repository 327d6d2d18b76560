use std::io::{BufReader, Write};

use beads_engine::client;
use beads_engine::failure::{Code, Failure};
use beads_engine::request::{Format, Reply, Request};
use beads_engine::{render, wire};

use super::globals::Globals;
use super::input_line::next_line;
use super::stdout_reply;

/// Answer socket requests from standard input, one JSON per line
///
/// For client libraries where the socket cannot be used: each line is a request as docs/PROTOCOL.md describes
/// it, and each answer is one line. The requests reach the store as those of any command: through the daemon,
/// as files, or without a daemon in this process.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  echo '{\"client\":\"0.10.0\",\"actor\":\"ann\",\"call\":{\"query\":\"status\"}}' | bd call"
)]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let mut stdin = BufReader::new(std::io::stdin().lock());
        while let Some(line) = next_line(&mut stdin)? {
            let reply = answer(&line, globals)?;
            let (bytes, _) = wire::encode(reply, false)
                .map_err(|error| Failure::new(Code::InternalError, error.to_string()))?;
            let mut stdout = std::io::stdout().lock();
            if stdout.write_all(&bytes).and_then(|()| stdout.flush()).is_err() {
                // The caller no longer reads the answers.
                break;
            }
        }
        Ok(stdout_reply(String::new()))
    }
}

/// Answers one request. Only a store that cannot be found ends the command.
fn answer(line: &[u8], globals: &Globals) -> Result<Reply, Failure> {
    let refuse = |message: String| {
        Ok(render::failure_reply(Failure::new(Code::InvalidRequest, message), Format::Value))
    };
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => return refuse(format!("the line is not a request: {error}")),
    };
    if request.output.format != Format::Value {
        return refuse("bd call answers with values; leave output.format out".to_owned());
    }
    Ok(client::ask(&globals.place()?, request, &globals.access()))
}
