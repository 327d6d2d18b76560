//! A line on a terminal's standard error while something takes its time.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(200);

/// Shown as long as it lives; it leaves nothing behind.
#[derive(Debug)]
pub struct Progress {
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Nothing at all when nobody looks.
    pub fn show(what: String, quiet: bool) -> Self {
        let watched = !quiet && std::io::stderr().is_terminal();
        let start = || {
            let (stop, stopped) = mpsc::channel();
            let thread = std::thread::spawn(move || tell(&mut std::io::stderr(), &what, &stopped));
            (stop, thread)
        };
        Self { shown: watched.then(start) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

fn tell(out: &mut impl Write, what: &str, stopped: &Receiver<()>) {
    let start = Instant::now();
    loop {
        let _ = write!(out, "\r{what}, {} s\x1b[K", start.elapsed().as_secs()).and_then(|()| out.flush());
        if stopped.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let _ = write!(out, "\r\x1b[K").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_and_goes() {
        let (stop, stopped) = mpsc::channel();
        drop(stop);
        let mut out = Vec::new();
        tell(&mut out, "importing x", &stopped);
        assert_eq!(String::from_utf8_lossy(&out), "\rimporting x, 0 s\x1b[K\r\x1b[K");
    }
}
