//! The entry point of `bd`, which replaces the startup code of the standard library.

use std::ffi::c_int;
use std::io::Write;
use std::panic::{UnwindSafe, catch_unwind};

/// The exit code that the standard library uses after a panic.
const PANICKED: c_int = 101;

/// Runs `main` with the parts of the standard library's startup that `bd` needs. It deliberately skips the
/// stack guard: to detect an overflow of the main stack, the standard library reads the memory map of the
/// process, and that took a quarter of the instructions of a short command.
pub fn run_main(main: impl FnOnce() -> u8 + UnwindSafe) -> c_int {
    open_missing_standard_files();
    ignore_fatal_signals();
    let code = catch_unwind(main).map_or(PANICKED, c_int::from);
    // There is nowhere left to report an error.
    let _ = std::io::stdout().flush();
    code
}

/// Opens `/dev/null` for every standard stream that is closed. Otherwise the next opened file would get its
/// descriptor and receive output that was meant for the stream.
#[allow(unsafe_code)]
fn open_missing_standard_files() {
    for file in 0..=2 {
        // SAFETY: F_GETFD only inspects the descriptor, which may be closed.
        if unsafe { libc::fcntl(file, libc::F_GETFD) } == -1 {
            // SAFETY: the path is NUL-terminated. The file gets the lowest free descriptor, which is this
            // one, and stays open.
            unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
        }
    }
}

/// Ignores SIGPIPE and SIGXFSZ, so that a closed pipe or a file over the size limit (`ulimit -f`) is an error
/// to report and does not kill the process.
#[allow(unsafe_code)]
fn ignore_fatal_signals() {
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        // SAFETY: no handler is installed, and there is no other thread yet.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
