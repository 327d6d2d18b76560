//! Runs a program that may hang, with a deadline, and captures its output.

use std::io::{ErrorKind, Read};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::progress::{GitMessages, SYNC};

/// How often to check whether the program has ended: after it closed its output, and before.
const SHORT_POLL: Duration = Duration::from_micros(200);
const LONG_POLL: Duration = Duration::from_millis(20);

/// How long to wait for the output of a program that has ended. A process that it left behind, such as ssh's
/// shared connection, may keep the output open for hours.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// Set once, by a process that is about to exit.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);

/// Kills all programs that are running now or are started later, as if they had timed out.
///
/// A daemon calls this when it exits, so that the next one need not wait for an unresponsive remote.
pub fn kill_child_programs() {
    SHUTTING_DOWN.store(true, Ordering::Relaxed);
}

/// The output of a program that has ended.
pub(crate) struct Output {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Why there is no output.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The program is not installed.
    Missing,
    /// It was killed at the deadline.
    TimedOut,
    /// It could not be run or waited for.
    Failed(std::io::Error),
}

/// Calls `work` while the program runs, then waits for the program to end, at most until the deadline.
///
/// The program leads a process group. At the deadline the whole group is killed, so that an unresponsive
/// remote cannot hang a sync.
pub(crate) fn wait_with_deadline(
    mut child: Child,
    deadline: Duration,
    work: &mut dyn FnMut(),
) -> Result<Output, Unfinished> {
    let start = Instant::now();
    let (open, closed) = channel();
    let stdout = child.stdout.take().map(|pipe| CapturedOutput::from(pipe, open.clone(), |_| ()));
    let mut messages = GitMessages::default();
    let on_message = move |part: &[u8]| messages.take(part, &SYNC);
    let stderr = child.stderr.take().map(|pipe| CapturedOutput::from(pipe, open.clone(), on_message));
    drop(open);
    work();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() >= deadline || SHUTTING_DOWN.load(Ordering::Relaxed) => {
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let _ = child.wait();
                return Err(Unfinished::TimedOut);
            }
            Ok(None) if is_closed(&closed, LONG_POLL) => std::thread::sleep(SHORT_POLL),
            Ok(None) => {}
            Err(error) => return Err(Unfinished::Failed(error)),
        }
    };
    is_closed(&closed, OUTPUT_GRACE);
    let text =
        |captured: Option<CapturedOutput>| captured.map(|captured| captured.text()).unwrap_or_default();
    Ok(Output { success: status.success(), stdout: text(stdout), stderr: text(stderr) })
}

/// Waits until both pipes are closed, or for `within` at most.
fn is_closed(pipes: &Receiver<()>, within: Duration) -> bool {
    pipes.recv_timeout(within) == Err(RecvTimeoutError::Disconnected)
}

/// How many bytes of the beginning and of the end of an output are kept. A server can make git print forever.
const KEPT_BYTES: usize = 512 * 1024;

/// The output of a pipe so far: all of it, or its beginning and end.
struct CapturedOutput(Arc<Mutex<BoundedOutput>>);

#[derive(Default)]
struct BoundedOutput {
    start: Vec<u8>,
    end: Vec<u8>,
    /// Whether bytes in between were dropped.
    cut: bool,
}

impl BoundedOutput {
    fn take(&mut self, mut part: &[u8]) {
        let taken = KEPT_BYTES.saturating_sub(self.start.len()).min(part.len());
        self.start.extend_from_slice(&part[..taken]);
        part = &part[taken..];
        self.end.extend_from_slice(part);
        // Drop in large steps, so that not every part moves all bytes.
        if self.end.len() > 2 * KEPT_BYTES {
            self.end.drain(..self.end.len() - KEPT_BYTES);
            self.cut = true;
        }
    }

    fn text(&self) -> String {
        let between: &[u8] = if self.cut { b"\n[...]\n" } else { b"" };
        String::from_utf8_lossy(&[&self.start, between, &self.end].concat()).into_owned()
    }
}

impl CapturedOutput {
    /// Reads in a separate thread, which drops `open` when the pipe is closed. Every part is also passed to
    /// `look`.
    fn from(
        mut pipe: impl Read + Send + 'static,
        open: Sender<()>,
        mut look: impl FnMut(&[u8]) + Send + 'static,
    ) -> Self {
        let captured = Arc::new(Mutex::new(BoundedOutput::default()));
        let shared = Arc::clone(&captured);
        std::thread::spawn(move || {
            let _open = open;
            let mut part = [0; 4096];
            loop {
                match pipe.read(&mut part) {
                    Ok(0) => return,
                    Ok(count) => {
                        look(&part[..count]);
                        let mut captured = shared.lock().unwrap_or_else(PoisonError::into_inner);
                        captured.take(&part[..count]);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Self(captured)
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn shell(script: &str) -> Child {
        shell_with(script, Stdio::piped())
    }

    fn shell_with(script: &str, input: Stdio) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn the_whole_output_is_captured_while_work_runs() {
        let mut child = shell(
            "read line; i=0; while [ $i -lt 5000 ]; do echo \"$line $i\"; i=$((i+1)); done; echo no >&2; exit 3",
        );
        let mut input = child.stdin.take();
        // The program waits for this input, so it was running while `work` ran.
        let mut work = || std::io::Write::write_all(&mut input.take().unwrap(), b"yes\n").unwrap();
        let output = wait_with_deadline(child, Duration::MAX, &mut work).unwrap();
        assert!(!output.success);
        assert_eq!(output.stdout.lines().count(), 5000);
        assert!(output.stdout.ends_with("yes 4999\n"));
        assert_eq!(output.stderr, "no\n");
    }

    #[test]
    fn the_beginning_and_end_of_an_endless_output_are_kept() {
        let mut kept = BoundedOutput::default();
        kept.take(b"first ");
        for _ in 0..20_000 {
            kept.take(&[b'x'; 4096]);
        }
        kept.take(b" last");
        assert!(kept.start.capacity() + kept.end.capacity() < 8 * KEPT_BYTES, "80 MB were printed");
        let text = kept.text();
        assert!(text.starts_with("first x") && text.contains("[...]") && text.ends_with("x last"));
    }

    #[test]
    fn a_process_left_behind_with_open_output_is_not_waited_for() {
        // The process left behind ends when its input, which we hold, is closed.
        let mut child = shell("exec 3<&0; cat <&3 >/dev/null & echo done");
        let input = child.stdin.take();
        let output = wait_with_deadline(child, Duration::MAX, &mut || ()).unwrap();
        assert_eq!((output.success, output.stdout.as_str()), (true, "done\n"));
        drop(input);
    }

    #[test]
    fn the_whole_process_group_is_killed_at_the_deadline() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let child = shell_with("exec 3<&0; cat <&3 & cat", OwnedFd::from(theirs).into());
        let ended = wait_with_deadline(child, Duration::ZERO, &mut || ());
        assert!(matches!(ended, Err(Unfinished::TimedOut)), "it was not killed");
        // The other end of the socket is closed once no process holds it.
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
    }
}
