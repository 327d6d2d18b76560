//! Whether the daemon's socket can be created safely. If not, commands silently do without a daemon.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use beads_engine::daemon::SocketPath;
use beads_engine::failure::Code;
use serde_json::Value;

use super::Examined;
use super::finding::warning;

/// The longest path of a socket on Linux and macOS, without the final zero.
const MAX_SOCKET_PATH: usize = 103;

/// Reports a runtime directory that cannot hold the socket.
pub fn check(examined: &Examined) -> Vec<Value> {
    if examined.globals.access().no_daemon {
        return Vec::new();
    }
    let socket = SocketPath::of(examined.place);
    let directory = socket.path().parent().unwrap_or(socket.path());
    too_long(socket.path()).or_else(|| unusable(&socket, directory)).into_iter().collect()
}

fn too_long(socket: &Path) -> Option<Value> {
    let length = socket.as_os_str().as_bytes().len();
    (length > MAX_SOCKET_PATH).then(|| {
        warning(
            "socket_path_too_long",
            format!(
                "the path of the daemon's socket, {}, has {length} bytes, and the system allows {MAX_SOCKET_PATH}, so no \
                 daemon can run; set BD_RUNTIME_DIR to a directory with a short path",
                socket.display()
            ),
        )
    })
}

fn unusable(socket: &SocketPath, directory: &Path) -> Option<Value> {
    let failure = socket.check().err()?;
    let shown = directory.display();
    let advice = match failure.code {
        Code::UnsafeRuntimeDirectory if directory.is_dir() && !directory.is_symlink() => {
            format!("run chmod 700 {shown}, or set BD_RUNTIME_DIR to a directory that only you can enter")
        }
        _ => format!("set BD_RUNTIME_DIR to a directory that only you can enter, or remove {shown}"),
    };
    Some(warning(
        Code::UnsafeRuntimeDirectory.as_str(),
        format!(
            "{}, so no daemon can run and every command opens the store itself; {advice}",
            failure.message
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_is_bounded() {
        assert_eq!(too_long(Path::new("/run/user/1000/beads/0123456789abcdef.sock")), None);
        let found =
            too_long(Path::new(&format!("/{}", "x".repeat(MAX_SOCKET_PATH)))).expect("it is too long");
        assert!(found["message"].as_str().is_some_and(|text| text.contains("BD_RUNTIME_DIR")), "{found}");
    }
}
