//! A server that redirects a client to another host does not get the client to send its token there.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};

use crate::sandbox::{Mode, Run, Sandbox};

const TOKEN: &str = "canary-token-7f3a";

/// Starts a server that answers every request with the same headers. Returns the headers of the requests it
/// received.
fn server(listener: TcpListener, answer: String) -> Receiver<String> {
    let (heads, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let _ = (&stream).write_all(answer.as_bytes());
            if heads.send(head).is_err() {
                return;
            }
        }
    });
    received
}

#[test]
fn a_redirection_to_another_host_carries_no_token() {
    let bd = Sandbox::new(Mode::Embedded);
    let [own, other] = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let own_port = own.local_addr().unwrap().port();
    let other_port = other.local_addr().unwrap().port();
    let end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
    // Another name of this machine counts as another host.
    let place = format!("http://localhost:{other_port}/store.git/info/refs?service=git-upload-pack");
    let at_own = server(own, format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\n{end}"));
    let asks = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n";
    let at_other = server(other, format!("{asks}{end}"));
    let url = format!("http://127.0.0.1:{own_port}/store.git");
    bd.repository().remote("origin", &url).unwrap();
    bd.create(&["x"]);
    let run = Run::of(bd.command(&["sync", "--json"]).env("BD_GIT_TOKEN", TOKEN));
    assert_ne!(run.exit, Some(0), "{run:?}");
    let (own, other): (Vec<_>, Vec<_>) = (at_own.try_iter().collect(), at_other.try_iter().collect());
    assert!(!own.is_empty(), "the remote was asked");
    for head in own.iter().chain(&other) {
        let head = head.to_lowercase();
        assert!(!head.contains("authorization:") && !head.contains(TOKEN), "{head}");
    }
    // The error is stored for `bd status`, readable by its owner only and without the token.
    let state = bd.dir().join(".git/beads/sync-state.json");
    assert!(!std::fs::read_to_string(&state).unwrap().contains(TOKEN));
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!format!("{run:?}").contains(TOKEN));
}
