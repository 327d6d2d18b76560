//! `bd board`: who may ask, what is refused, and what the stream sends. `.ci/suites/board` drives the page.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox};

/// A running board, which ends with the test.
struct Board {
    child: Child,
    host: String,
    token: String,
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request with exactly these headers.
struct Asked<'a> {
    method: &'a str,
    path: &'a str,
    headers: Vec<(&'a str, String)>,
    body: String,
}

impl Board {
    fn start(bd: &Sandbox, options: &[&str]) -> Self {
        let arguments = [&["board", "--port", "0"], options].concat();
        let mut child = bd.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (host, token) = line.trim().strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        Self { host: host.to_owned(), token: token.to_owned(), child }
    }

    fn get<'a>(&self, path: &'a str) -> Asked<'a> {
        let headers = vec![("Host", self.host.clone()), ("Authorization", format!("Bearer {}", self.token))];
        Asked { method: "GET", path, headers, body: String::new() }
    }

    fn act(&self, id: &str, action: &Value) -> Asked<'static> {
        let body = json!({"request_id": id, "action": action}).to_string();
        Asked { method: "POST", path: "/api/act", body, ..self.get("/api/act") }
            .with("Origin", format!("http://{}", self.host))
    }

    fn connect(&self, asked: &Asked<'_>) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let mut text = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", asked.method, asked.path);
        for (name, value) in &asked.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{}", asked.body.len(), asked.body);
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Returns the status, the headers and the body of an answer.
    fn ask(&self, asked: &Asked<'_>) -> (u16, String, String) {
        let mut answer = String::new();
        self.connect(asked).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned())
    }

    fn status(&self, asked: &Asked<'_>) -> u16 {
        self.ask(asked).0
    }
}

impl<'a> Asked<'a> {
    fn with(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self
    }
}

#[test]
fn only_the_page_itself_with_its_token_gets_data() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["<script>alert(1)</script>"]);
    let epic = bd.create(&["Release 2.4", "--type", "epic", "-p", "0"]);
    let child = bd.create(&["Publish the draft", "--parent", &epic]);
    let board = Board::start(&bd, &[]);
    let (status, head, body) = board.ask(&board.get("/api/snapshot"));
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{head}");
    assert!(head.contains("x-content-type-options: nosniff") && head.contains("cache-control: no-store"));
    let snapshot: Value = serde_json::from_str(&body).unwrap();
    assert!(snapshot["beads"].as_array().unwrap().iter().any(|bead| bead["id"] == json!(id)), "{body}");
    assert_eq!(
        snapshot["pulse"]["queue"],
        json!([id, child]),
        "an epic with open children is not handed out"
    );

    assert_eq!(board.status(&board.get("/api/snapshot").without("Authorization")), 401);
    assert_eq!(board.status(&board.get("/api/snapshot").with("Authorization", "Bearer 00")), 401);
    let port = board.host.rsplit(':').next().unwrap();
    for host in [format!("evil.example:{port}"), "127.0.0.1".into(), format!("127.0.0.1:{port}0")] {
        assert_eq!(board.status(&board.get("/api/snapshot").with("Host", host.clone())), 421, "{host}");
        assert_eq!(board.status(&board.get("/").with("Host", host)), 421);
    }
    assert_eq!(board.status(&board.get("/api/snapshot").with("Origin", "http://evil.example")), 403);
    assert_eq!(board.status(&board.get("/api/snapshot").with("Sec-Fetch-Site", "cross-site")), 403);

    let (status, head, page) = board.ask(&board.get("/").without("Authorization"));
    assert_eq!(status, 200, "the page has no data, so it needs no token");
    assert!(head.contains("frame-ancestors 'none'") && !page.contains(&board.token));
    assert_eq!(board.status(&board.get("/page/../Cargo.toml")), 404);
}

#[test]
fn a_write_acts_once_and_only_from_the_page() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["a"]);
    let board = Board::start(&bd, &[]);
    let note = json!({"do": "note", "id": id, "text": "once"});
    for _ in 0..2 {
        assert_eq!(board.status(&board.act("r1", &note)), 200);
    }
    assert_eq!(bd.text(&["show", &id]).matches("once").count(), 1);

    let close = json!({"do": "close", "id": id});
    let cross = board.act("r2", &close).with("Origin", "http://evil.example");
    assert_eq!(board.status(&cross), 403);
    let simple = board.act("r3", &close).without("Origin").with("Sec-Fetch-Site", "cross-site");
    assert_eq!(board.status(&simple), 403);
    assert_eq!(board.status(&board.act("r4", &json!({"do": "daemon_stop"}))), 400);
    assert_eq!(bd.json(&["show", &id])[0]["status"], "open");

    let stale = json!({"do": "edit", "id": id, "hash": "00", "description": "mine"});
    let (status, _, body) = board.ask(&board.act("r5", &stale));
    assert_eq!(status, 409, "{body}");
    assert!(!bd.text(&["show", &id]).contains("mine"));
    assert_eq!(board.status(&board.act("r6", &close)), 200);
    assert_eq!(bd.json(&["show", &id])[0]["status"], "closed");
    assert_eq!(board.status(&board.act("r7", &json!({"do": "undo", "id": id}))), 200);
    assert_eq!(bd.json(&["show", &id])[0]["status"], "open");
    let other = bd.create(&["b"]);
    let (status, _, body) = board.ask(&board.act("r8", &json!({"do": "undo", "id": id})));
    assert_eq!(status, 409, "the last operation is the create: {body}");
    assert_eq!(bd.json(&["show", &other])[0]["status"], "open");
}

#[test]
fn a_read_only_board_refuses_writes_on_the_server() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["a"]);
    let board = Board::start(&bd, &["--read-only"]);
    let (status, _, body) = board.ask(&board.act("r1", &json!({"do": "close", "id": id})));
    assert_eq!((status, body.contains("read_only")), (403, true), "{body}");
    assert_eq!(bd.json(&["show", &id])[0]["status"], "open");
}

#[test]
fn the_stream_sends_changes_after_a_cursor() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["a"]);
    let board = Board::start(&bd, &[]);
    let (_, _, body) = board.ask(&board.get("/api/snapshot"));
    let snapshot: Value = serde_json::from_str(&body).unwrap();
    let id = bd.create(&["made later"]);
    let path = format!("/api/stream?cursor={}", snapshot["cursor"].as_str().unwrap());
    let stream = board.connect(&board.get(&path));
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let change = lines.find(|line| line.starts_with("data: ")).unwrap();
    let change: Value = serde_json::from_str(&change["data: ".len()..]).unwrap();
    assert_eq!(change["beads"][0]["id"], json!(id), "{change}");
    assert_eq!(board.status(&board.get(&path).without("Authorization")), 401);
}

#[test]
fn the_token_is_private_stable_and_replaceable() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["a"]);
    let (first, again) = (Board::start(&bd, &[]), Board::start(&bd, &[]));
    assert_eq!(first.token, again.token);
    let file = bd.dir().join(".git/beads/board-token");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let replaced = Board::start(&bd, &["--new-token"]);
    assert_ne!(replaced.token, first.token);
    bd.error(&["board", "--host", "0.0.0.0"], "invalid_value");
}

#[test]
fn an_export_is_one_file_without_writes() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["</script><script>alert(1)</script>"]);
    let file = bd.dir().join("night.html");
    let said = bd.text(&["board", "--export", file.to_str().unwrap()]);
    assert!(said.starts_with("Wrote 1 bead to "), "{said}");
    let page = std::fs::read_to_string(file).unwrap();
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("script-src 'sha256-") && !page.contains(" src="));
}
