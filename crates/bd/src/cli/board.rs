use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use beads_engine::failure::Failure;
use beads_engine::request::{Format, Reply};
use serde_json::json;

use super::globals::Globals;
use super::output_file::OutputFile;
use super::{stdout_reply, text_reply};
use crate::board::{Redirect, Server, ServerOptions, StoreClient, Token, export};

/// Show the work of all agents in a browser
///
/// Serves one screen over the whole store on this machine until it is interrupted, and prints its address. The
/// address contains a token; it stays the same across restarts, so it can be bookmarked. --export writes the
/// same screen into one file that needs no server. docs/BOARD.md describes the views, the keys and how to use
/// it over ssh.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd board --open\n  bd board --read-only --port 8080\n  bd board --export night.html"
)]
pub struct Args {
    /// Port to listen on [default: one per store, always the same if it is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Open the address in a browser
    #[arg(long)]
    open: bool,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Listen on this address or name of this machine instead of loopback only; traffic is not encrypted
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Replace the token, so that earlier addresses stop working
    #[arg(long)]
    new_token: bool,
    /// Write a self-contained, read-only page to FILE and exit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["port", "open", "host", "new_token"])]
    export: Option<PathBuf>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let store = StoreClient {
            actor: globals.actor(&place)?,
            access: globals.access(),
            directory: globals.directory()?,
            offline: globals.is_sandboxed(),
            place,
        };
        if let Some(path) = self.export {
            let path = globals.absolute(&path)?;
            let file = OutputFile::open(&path)?;
            let exported = export(&store)?;
            file.finish(exported.page.as_bytes())?;
            return Ok(match globals.format() {
                Format::Json => {
                    text_reply_json(&json!({"path": path, "beads": exported.beads, "of": exported.of}))
                }
                _ => text_reply(&format!("{}\n", exported.sentence(&path)), globals),
            });
        }
        let store_dir = store.place.store_dir();
        let token = Token::of_store(&store_dir, self.new_token)?;
        let options = ServerOptions { port: self.port, host: self.host, read_only: self.read_only };
        let server = Server::bind(store, &token, &options)?;
        announce(&server, globals)?;
        let redirect = self.open.then(|| Redirect::create(&store_dir, &server.url)).transpose()?;
        if let Some(redirect) = &redirect {
            open_browser(redirect.path())?;
        }
        server.run()?;
        Ok(stdout_reply(String::new()))
    }
}

fn text_reply_json(value: &serde_json::Value) -> Reply {
    stdout_reply(beads_engine::render::json(value))
}

/// Prints the address at once: the command then runs until it is interrupted.
fn announce(server: &Server, globals: &Globals) -> Result<(), Failure> {
    let text = match globals.format() {
        Format::Json => beads_engine::render::json(&json!({"url": server.url})),
        _ => format!("{}\n", server.url),
    };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::internal)?;
    if server.on_other_port && !globals.is_quiet() {
        let line = "the port of this store is in use, probably by another bd board; bookmarks do not find this one\n";
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
    Ok(())
}

/// Opens a file in a browser. Returns at once; the browser may take a while.
fn open_browser(file: &Path) -> Result<(), Failure> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    let started = command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map(drop).map_err(|error| {
        Failure::invalid(format!("cannot start {program}: {error}; open the printed address yourself"))
    })
}
