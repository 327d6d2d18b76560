//! Shows long text on a terminal in a pager: the setting `pager`, else `$PAGER`, else `less`. Only the client
//! does this, never the daemon. Piped text and JSON are printed directly.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

use beads_engine::config::Config;
use beads_engine::request::Reply;
use beads_engine::streamed_body::CopyError;

use super::parse::{parse_verb_only, verb_of};
use super::print_reply::incomplete;
use super::terminal::{is_dumb, size};

/// The options of `less` unless `$LESS` is set: exit if the text fits on a screen, keep colors, and do not
/// clear the screen.
const LESS: &str = "FRX";

/// The exit codes of a shell that cannot run a program.
const NOT_RUN: [i32; 2] = [126, 127];

/// Shows a reply in a pager and returns the exit code. Returns `None` if the reply has to be printed directly.
pub fn show(reply: &Reply, arguments: &[OsString]) -> Option<u8> {
    let (columns, rows) = size().filter(|_| !is_dumb())?;
    if !reply.changed.is_empty() || !is_long(reply, columns, rows) {
        return None;
    }
    let pager = command(arguments)?;
    let _ = std::io::stderr().write_all(reply.stderr.as_bytes());
    let mut text = reply.stdout.clone().into_bytes();
    let received = reply.streamed_body.as_ref().map_or(Ok(()), |body| body.copy_to(&mut text));
    if !run(&pager, &text) {
        let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr().lock());
        return Some(crate::print::print(&mut stdout, &mut stderr, &text, Vec::new, reply.exit));
    }
    if let Err(CopyError::Lost) = received {
        let failure = incomplete();
        let _ = std::io::stderr().write_all(failure.line().as_bytes());
        return Some(failure.exit());
    }
    Some(reply.exit)
}

/// Returns whether the text needs more than one screen. The length of a streamed answer is not known.
fn is_long(reply: &Reply, columns: usize, rows: usize) -> bool {
    let lines = reply.stdout.lines().map(|line| line.chars().count().saturating_sub(1) / columns + 1);
    reply.streamed_body.is_some() || lines.sum::<usize>() >= rows
}

/// Returns the command of the pager, or `None` if the text has to be printed directly.
fn command(arguments: &[OsString]) -> Option<String> {
    // A request for help has no verb, or one whose arguments do not parse.
    let is_plain_help = || verb_of(arguments).is_none_or(|verb| verb == "help");
    let globals = match parse_verb_only(arguments) {
        Some(cli) => cli.globals,
        None if is_plain_help() || has_word(arguments, "--help") || has_word(arguments, "-h") => {
            super::Globals::default()
        }
        None => return None,
    };
    if globals.wants_no_pager() || has_word(arguments, "--no-pager") {
        return None;
    }
    let setting = globals.place().ok().and_then(|place| {
        let config = Config::load(&place.store_dir()).ok()?;
        config.get("pager").ok().filter(|pager| !pager.is_empty()).map(str::to_owned)
    });
    let pager = setting.or_else(|| std::env::var("PAGER").ok()).unwrap_or_else(|| "less".to_owned());
    Some(pager).filter(|pager| !matches!(pager.trim(), "" | "none" | "cat"))
}

fn has_word(arguments: &[OsString], option: &str) -> bool {
    arguments.iter().any(|word| word == option)
}

/// Runs a pager until the reader quits it. Returns `false` if there is no such program. As with git, a shell
/// splits the command into words.
fn run(pager: &str, text: &[u8]) -> bool {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        shell.env("LESS", LESS);
    }
    let Ok(mut child) = shell.spawn() else { return false };
    ignore_interrupts();
    if let Some(mut input) = child.stdin.take() {
        // The reader may quit before the end.
        let _ = input.write_all(text);
    }
    let status = child.wait();
    !status.is_ok_and(|status| status.code().is_some_and(|code| NOT_RUN.contains(&code)))
}

/// Leaves Ctrl-C to the pager, which would otherwise lose the terminal to the shell.
#[allow(unsafe_code)]
fn ignore_interrupts() {
    // SAFETY: no handler is replaced, because bd has none. The pager is already running, so it does not
    // inherit this.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
}
