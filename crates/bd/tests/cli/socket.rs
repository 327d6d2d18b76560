//! A hand-written client of the socket protocol, as a program other than `bd` would implement it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{ACTOR, PATIENCE};

#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    pub actor: String,
    pub version: &'static str,
}

impl Client {
    pub fn connect(socket: &Path) -> Option<Self> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        Some(Self {
            stream: BufReader::new(stream),
            actor: ACTOR.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    pub fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Returns the next line, or `None` if the daemon has closed the connection.
    pub fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no reply: {error}"),
        }
    }

    /// Returns the bytes after a line that announced them.
    pub fn body(&mut self, reply: &Value) -> Vec<u8> {
        let bytes = reply["body"].as_u64().expect("a reply with a body");
        let mut body = vec![0; usize::try_from(bytes).unwrap()];
        self.stream.read_exact(&mut body).unwrap();
        body
    }

    pub fn ask(&mut self, call: &Value) -> Option<Value> {
        let request = json!({
            "client": self.version,
            "actor": self.actor,
            "call": call,
            "output": {"format": "value"},
        });
        self.send(format!("{request}\n").as_bytes()).ok()?;
        self.receive()
    }

    pub fn mutate(&mut self, op: &Value) -> Option<Value> {
        self.ask(&json!({"mutate": {"ops": [op]}}))
    }

    /// Asks the daemon to stop and returns its process id. Never fails: after a failed test the daemon may
    /// not answer.
    pub fn stop(mut self) -> Option<u32> {
        let daemon = process_behind(self.stream.get_ref());
        let request = json!({
            "client": self.version,
            "actor": self.actor,
            "call": "daemon_stop",
            "output": {"format": "value"},
        });
        if self.send(format!("{request}\n").as_bytes()).is_ok() {
            let _ = self.stream.read_line(&mut String::new());
        }
        daemon
    }
}

/// Returns the process at the other end of a socket.
#[cfg(target_os = "linux")]
fn process_behind(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Returns `None`: only Linux says it to safe code.
#[cfg(not(target_os = "linux"))]
fn process_behind(_: &UnixStream) -> Option<u32> {
    None
}
