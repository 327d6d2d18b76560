//! Prints replies.

use std::ffi::OsString;
use std::io::Write;

use beads_engine::failure::{Code, Failure, exit};
use beads_engine::request::Reply;
use beads_engine::streamed_body::CopyError;

use super::pager;
use crate::print::ids_in;

/// Prints a reply and returns its exit code. A long answer is printed as it arrives.
pub fn print(reply: &Reply, arguments: &[OsString]) -> u8 {
    if let Some(exit) = pager::show(reply, arguments) {
        return exit;
    }
    let changed = || match serde_json::from_str(&reply.stdout) {
        // A partial failure lists the beads that were changed in its details.
        Ok(failed) if reply.changed.is_empty() && reply.exit != exit::OK => ids_in(&failed),
        _ => reply.changed.clone(),
    };
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr().lock());
    let _ = stderr.write_all(reply.stderr.as_bytes());
    let printed = stdout.write_all(reply.stdout.as_bytes()).map_err(CopyError::Output);
    let printed = printed
        .and_then(|()| reply.streamed_body.as_ref().map_or(Ok(()), |body| body.copy_to_file(&mut stdout)));
    let printed = printed.and_then(|()| stdout.flush().map_err(CopyError::Output));
    if let Some(failure) = &reply.error {
        // This reply was not rendered, such as `busy` from a daemon with too many clients.
        let _ = stderr.write_all(failure.line().as_bytes());
    }
    match printed {
        Ok(()) => reply.exit,
        Err(CopyError::Lost) => {
            let failure = incomplete();
            let _ = stderr.write_all(failure.line().as_bytes());
            failure.exit()
        }
        Err(CopyError::Output(error)) => {
            let changed = changed();
            // The failure itself was already reported on standard error.
            let is_reported = reply.exit != exit::OK && !reply.stderr.is_empty() && changed.is_empty();
            if is_reported {
                reply.exit
            } else {
                crate::print::report(&mut stderr, &error, &changed, reply.exit)
            }
        }
    }
}

/// The failure when the daemon exits in the middle of a long answer.
pub fn incomplete() -> Failure {
    let what = "the daemon exited before its whole answer arrived; the output is incomplete, but every change it reports was made";
    Failure::new(Code::DaemonUnreachable, what)
}
