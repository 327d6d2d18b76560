//! Runs a command with a pseudo-terminal as its standard output.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use rustix::termios::{Winsize, tcsetwinsize};

/// Runs a command on a terminal of this size and returns what it shows. Its standard error is discarded.
pub fn run_on_terminal(mut command: Command, columns: u16, rows: u16) -> String {
    let (mut terminal, program_side) = open();
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&program_side, size).unwrap();
    let mut child = command.stdout(Stdio::from(program_side)).stderr(Stdio::null()).spawn().unwrap();
    // The terminal ends when the last copy of the program's side is closed; the command holds one.
    drop(command);
    let mut shown = Vec::new();
    let mut chunk = [0; 4096];
    // On Linux, the end is an error (EIO).
    while let Ok(read) = terminal.read(&mut chunk) {
        if read == 0 {
            break;
        }
        shown.extend_from_slice(&chunk[..read]);
    }
    assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&shown));
    String::from_utf8(shown).unwrap().replace('\r', "")
}

/// Starts a command whose standard error is a terminal. Returns the process and what it shows.
pub fn spawn_with_terminal(mut command: Command) -> (Child, File) {
    let (terminal, program_side) = open();
    let child = command.stdout(Stdio::null()).stderr(Stdio::from(program_side)).spawn().unwrap();
    (child, terminal)
}

/// Starts a command on a terminal. Returns the process and the user's side of the terminal.
pub fn spawn_on_terminal(mut command: Command) -> (Child, File) {
    let (terminal, program_side) = open();
    let copy = || Stdio::from(program_side.try_clone().unwrap());
    let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().unwrap();
    (child, terminal)
}

/// Reads what a terminal shows until `wanted` holds for it or the program has ended.
pub fn read_until(terminal: &mut File, wanted: impl Fn(&str) -> bool) -> String {
    let (mut shown, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&shown).into_owned();
        if wanted(&text) {
            return text;
        }
        match terminal.read(&mut chunk) {
            Ok(read) if read > 0 => shown.extend_from_slice(&chunk[..read]),
            _ => return text,
        }
    }
}

/// Opens a pseudo-terminal: the side of the user and the side of the program. Neither is inherited by
/// processes that other tests start.
#[allow(unsafe_code)]
fn open() -> (File, File) {
    // `ptsname` returns the same buffer each time, and there is no portable alternative.
    static NAME: Mutex<()> = Mutex::new(());
    let _name = NAME.lock().unwrap();
    // SAFETY: the descriptor is new and owned by nothing else, and the name is copied while it is locked.
    let (terminal, path) = unsafe {
        let descriptor = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(descriptor >= 0, "{}", std::io::Error::last_os_error());
        let terminal = File::from_raw_fd(descriptor);
        assert_eq!(libc::grantpt(terminal.as_raw_fd()), 0);
        assert_eq!(libc::unlockpt(terminal.as_raw_fd()), 0);
        let name = libc::ptsname(terminal.as_raw_fd());
        assert!(!name.is_null(), "{}", std::io::Error::last_os_error());
        (terminal, CStr::from_ptr(name).to_str().unwrap().to_owned())
    };
    let program_side =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path).unwrap();
    (terminal, program_side)
}
