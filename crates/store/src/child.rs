//! Waiting for a program that may hang, and for what it says.

use std::io::{ErrorKind, Read};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often it is looked whether the program is done: when its output is closed, which it does by ending, and before.
const SHORT_LOOK: Duration = Duration::from_micros(200);
const LONG_LOOK: Duration = Duration::from_millis(20);

/// How long the output of a program that is done may stay open. What it started and left behind, as ssh does with the
/// connection it shares, may hold it open for hours.
const LEFT_OPEN: Duration = Duration::from_millis(500);

/// Set once, by a process that is about to end.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Ends the programs that are running now, and those that are started later, as if their time were up. For a daemon that
/// leaves: the next one must not wait for a remote that does not answer.
pub fn abandon_all() {
    ABANDONED.store(true, Ordering::Relaxed);
}

/// What a program that is done has said.
pub struct Output {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// Why there is no output.
#[derive(Debug)]
pub enum Unfinished {
    /// There is no such program.
    Missing,
    /// It was ended at the deadline.
    TooLong,
    Failed(std::io::Error),
}

/// Does `work` while the program runs, then waits for its end, but not for ever: a remote that does not answer must not
/// hang a sync. The program leads a process group, and past the deadline the whole group is ended.
pub fn finish(mut child: Child, deadline: Duration, work: &mut dyn FnMut()) -> Result<Output, Unfinished> {
    let start = Instant::now();
    let (open, closed) = channel();
    let stdout = child.stdout.take().map(|pipe| Heard::from(pipe, open.clone()));
    let stderr = child.stderr.take().map(|pipe| Heard::from(pipe, open.clone()));
    drop(open);
    work();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() >= deadline || ABANDONED.load(Ordering::Relaxed) => {
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let _ = child.wait();
                return Err(Unfinished::TooLong);
            }
            Ok(None) if is_closed(&closed, LONG_LOOK) => std::thread::sleep(SHORT_LOOK),
            Ok(None) => {}
            Err(error) => return Err(Unfinished::Failed(error)),
        }
    };
    is_closed(&closed, LEFT_OPEN);
    let text = |heard: Option<Heard>| heard.map(|heard| heard.text()).unwrap_or_default();
    Ok(Output { success: status.success(), stdout: text(stdout), stderr: text(stderr) })
}

/// Waits until both pipes are closed, or not that long.
fn is_closed(pipes: &Receiver<()>, within: Duration) -> bool {
    pipes.recv_timeout(within) == Err(RecvTimeoutError::Disconnected)
}

/// So many bytes of the beginning and of the end of an output are kept. A server can make git print without end.
const KEPT_BYTES: usize = 512 * 1024;

/// What came out of a pipe so far: all of it, or its beginning and its end.
struct Heard(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    start: Vec<u8>,
    end: Vec<u8>,
    /// Whether something between them is missing.
    cut: bool,
}

impl Kept {
    fn take(&mut self, mut part: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.start.len()).min(part.len());
        self.start.extend_from_slice(&part[..room]);
        part = &part[room..];
        self.end.extend_from_slice(part);
        // Rarely, so that not every part moves all bytes.
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

impl Heard {
    /// Reads in a thread of its own, which drops `open` when the pipe is closed.
    fn from(mut pipe: impl Read + Send + 'static, open: Sender<()>) -> Self {
        let heard = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&heard);
        std::thread::spawn(move || {
            let _open = open;
            let mut part = [0; 4096];
            loop {
                match pipe.read(&mut part) {
                    Ok(0) => return,
                    Ok(count) => {
                        let mut heard = shared.lock().unwrap_or_else(PoisonError::into_inner);
                        heard.take(&part[..count]);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Self(heard)
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // failing is a test's job

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
    fn all_that_was_said_is_heard_and_work_is_done_meanwhile() {
        let mut child = shell(
            "read line; i=0; while [ $i -lt 5000 ]; do echo \"$line $i\"; i=$((i+1)); done; echo no >&2; exit 3",
        );
        let mut input = child.stdin.take();
        // It goes on only when it is told to, so it was running meanwhile.
        let mut work = || std::io::Write::write_all(&mut input.take().unwrap(), b"yes\n").unwrap();
        let output = finish(child, Duration::MAX, &mut work).unwrap();
        assert!(!output.success);
        assert_eq!(output.stdout.lines().count(), 5000);
        assert!(output.stdout.ends_with("yes 4999\n"));
        assert_eq!(output.stderr, "no\n");
    }

    #[test]
    fn of_an_endless_output_the_beginning_and_the_end_are_kept() {
        let mut kept = Kept::default();
        kept.take(b"first ");
        for _ in 0..20_000 {
            kept.take(&[b'x'; 4096]);
        }
        kept.take(b" last");
        assert!(kept.start.capacity() + kept.end.capacity() < 8 * KEPT_BYTES, "80 MB were said");
        let text = kept.text();
        assert!(text.starts_with("first x") && text.contains("[...]") && text.ends_with("x last"));
    }

    #[test]
    fn who_is_left_behind_with_the_output_in_hand_is_not_waited_for() {
        // What is left behind ends with its input, which is ours.
        let mut child = shell("exec 3<&0; cat <&3 >/dev/null & echo done");
        let input = child.stdin.take();
        let output = finish(child, Duration::MAX, &mut || ()).unwrap();
        assert_eq!((output.success, output.stdout.as_str()), (true, "done\n"));
        drop(input);
    }

    #[test]
    fn past_the_deadline_all_of_it_is_ended() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let child = shell_with("exec 3<&0; cat <&3 & cat", OwnedFd::from(theirs).into());
        let ended = finish(child, Duration::ZERO, &mut || ());
        assert!(matches!(ended, Err(Unfinished::TooLong)), "nobody ended it");
        // What they read from is closed when nobody is left who holds it.
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
    }
}
