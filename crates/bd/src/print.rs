//! Writes answers to standard output. A write that fails is reported: a caller that got nothing and exit code 0 would
//! take the empty output for the answer, and repeat a change whose answer it never saw.

use std::io::{ErrorKind, Write};

use serde_json::Value;

use beads_engine::escape::escape;
use beads_engine::failure::exit;

/// Ids named in a report, at most; a batch may have changed thousands.
const MAX_NAMED: usize = 20;

/// Writes an answer and returns the exit code: `exit`, or failure when the answer could not be written. Reports a failed
/// write on `err`, with the ids that `changed` names. Ends the process as `git` does when the reader has gone away.
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

/// Writes bytes that a reader may be waiting for.
pub fn write(out: &mut dyn Write, bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Reports a failed write and returns the exit code. A command that had failed already keeps its own.
pub fn report(err: &mut dyn Write, error: &std::io::Error, changed: &[String], exit: u8) -> u8 {
    if error.kind() == ErrorKind::BrokenPipe {
        end_by_broken_pipe();
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

/// The ids that a JSON answer to a mutation names: its own, or those of its parts.
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

/// Dies of the signal that a write to a closed pipe sends by default, so that `bd list | head` is silent and shells see
/// what they see of every other program.
#[allow(unsafe_code)]
fn end_by_broken_pipe() -> ! {
    // SAFETY: no handler of ours is replaced: the signal was ignored. The set is initialised before it is read.
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

    /// A disk without room.
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
    fn a_failed_write_names_what_was_changed() {
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
