//! The way into a program that has to be short.

use std::ffi::c_int;
use std::io::Write;
use std::panic::{UnwindSafe, catch_unwind};

/// What the standard library says of a program that panicked.
const PANICKED: c_int = 101;

/// Does what matters here of what the standard library does around `main`. One thing is left out on purpose: it reads the
/// map of the process's memory, to tell an overflow of the first stack from other faults, and that was a quarter of the
/// instructions of a short command.
pub fn begin(main: impl FnOnce() -> u8 + UnwindSafe) -> c_int {
    keep_standard_files();
    ignore_deadly_errors();
    let code = catch_unwind(main).map_or(PANICKED, c_int::from);
    // Nobody is left to tell.
    let _ = std::io::stdout().flush();
    code
}

/// A program that was started without standard files would take the next file that it opens for one of them.
#[allow(unsafe_code)]
fn keep_standard_files() {
    for file in 0..=2 {
        // SAFETY: only asks about a number, whether or not it is a file.
        if unsafe { libc::fcntl(file, libc::F_GETFD) } == -1 {
            // SAFETY: the path ends with a zero. The file gets the lowest free number, which is this one, and is never closed.
            unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
        }
    }
}

/// A reader that stops reading and a file past the size limit (`ulimit -f`) are errors to report, not the end of the
/// process.
#[allow(unsafe_code)]
fn ignore_deadly_errors() {
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        // SAFETY: no handler is installed, and there is no other thread yet.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
