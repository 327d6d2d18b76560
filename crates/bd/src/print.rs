//! Writes answers to standard output and reports failed writes. With exit code 0 and no output, a caller
//! would take the empty output for the answer, or repeat a change whose answer it never saw.

use std::io::{ErrorKind, Write};

use serde_json::Value;

use beads_engine::escape::escape;
use beads_engine::failure::exit;

/// The most ids that a report names; a batch may have changed thousands.
const MAX_NAMED: usize = 20;

/// Writes an answer and returns the exit code: `exit`, or a failure if the write failed. Reports a failed
/// write on `err`, with the ids from `changed`. If the reader closed the pipe, kills the process with
/// SIGPIPE, as `git` does.
pub fn print(
    out: &mut dyn Write,
    err: &mut dyn Write,
    bytes: &[u8],
    changed: impl FnOnce() -> Vec<String>,
    exit: u8,
) -> u8 {
    match write(out, bytes) {
        Ok(()) => exit,
        Err(error) => report(err, &error, &changed(), exit),
    }
}

/// Writes and flushes, because a reader may be waiting.
pub fn write(out: &mut dyn Write, bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Reports a failed write and returns the exit code. A command that had already failed keeps its exit code.
pub fn report(err: &mut dyn Write, error: &std::io::Error, changed: &[String], exit: u8) -> u8 {
    if error.kind() == ErrorKind::BrokenPipe {
        die_by_sigpipe();
    }
    let mut line = format!("Error: cannot write to standard output: {error}");
    if !changed.is_empty() {
        let named = changed[..changed.len().min(MAX_NAMED)].join(", ");
        let more = match changed.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        line += &format!("; saved before that: {}{more}; do not repeat the command", escape(&named));
    }
    // Standard error may be on the same full disk.
    let _ = writeln!(err, "{line}");
    if exit == exit::OK { exit::DOMAIN } else { exit }
}

/// Returns the ids in a JSON answer to a mutation: the top-level one, or those of its parts.
pub fn ids_in(answer: &Value) -> Vec<String> {
    const NAMES: [&str; 5] = ["id", "issue_id", "message_id", "reservation_id", "agent_id"];
    const PARTS: [&str; 8] =
        ["result", "results", "succeeded", "closed", "claimed", "data", "error", "details"];
    match answer {
        Value::Array(parts) => parts.iter().flat_map(ids_in).collect(),
        Value::Object(fields) => match NAMES.iter().find_map(|name| fields.get(*name)?.as_str()) {
            Some(id) => vec![id.to_owned()],
            None => PARTS.iter().filter_map(|part| fields.get(*part)).flat_map(ids_in).collect(),
        },
        _ => Vec::new(),
    }
}

/// Kills this process with SIGPIPE, the default on a write to a closed pipe, so that `bd list | head` is
/// silent and shells see the usual status.
#[allow(unsafe_code)]
fn die_by_sigpipe() -> ! {
    // SAFETY: no handler is replaced, because the signal was ignored. The set is initialised before it is
    // used.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(libc::SIGPIPE);
    }
    std::process::exit(128 + libc::SIGPIPE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A writer on a full disk.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failed_write_names_the_changed_beads() {
        let mut err = Vec::new();
        let many: Vec<String> = (0..22).map(|n| format!("bd-{n}")).collect();
        assert_eq!(print(&mut Full, &mut err, b"x", || many, exit::OK), exit::DOMAIN);
        let line = String::from_utf8(err).unwrap();
        assert!(
            line.contains("bd-0, bd-1") && line.ends_with("and 2 more; do not repeat the command\n"),
            "{line}"
        );
        assert_eq!(print(&mut Full, &mut Vec::new(), b"x", Vec::new, exit::USAGE), exit::USAGE);
    }

    #[test]
    fn ids_are_found_where_answers_have_them() {
        assert_eq!(ids_in(&json!({"id": "bd-1", "dependencies": [{"id": "bd-2"}]})), ["bd-1"]);
        assert_eq!(
            ids_in(&json!({"ok": true, "results": [{"result": {"issue_id": "bd-1"}}, {"ok": false}]})),
            ["bd-1"]
        );
        assert_eq!(
            ids_in(
                &json!({"error": {"code": "x", "details": {"succeeded": [{"id": "bd-3"}], "failed": [{"id": "bd-4"}]}}})
            ),
            ["bd-3"]
        );
        assert!(ids_in(&json!({"ok": true, "result": {"lines": 3}})).is_empty());
    }
}
