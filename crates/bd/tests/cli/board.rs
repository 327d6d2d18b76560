//! `bd board`: who may ask, what is refused, and what the stream sends. `.ci/suites/board` drives the page.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, wait_until};

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

    /// Carries out a write, which must succeed, and returns its answer.
    fn done(&self, id: &str, action: &Value) -> Value {
        let (status, _, body) = self.ask(&self.act(id, action));
        assert_eq!(status, 200, "{action}: {body}");
        serde_json::from_str(&body).unwrap()
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
}

#[test]
fn an_undo_takes_back_exactly_the_change_that_the_page_shows() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["a"]);
    let board = Board::start(&bd, &[]);
    let bead = |field: &str| bd.json(&["show", &id])[0][field].clone();
    let undo = |change: &Value| json!({"do": "undo", "id": id, "updated_at": change["updated_at"]});
    let closed = board.done("r1", &json!({"do": "close", "id": id}));
    assert_eq!(closed["updated_at"], bead("updated_at"), "{closed}");
    // Another change to the same bead, after the one that the page shows.
    bd.run(&["update", &id, "-p", "0"]);
    let (status, _, body) = board.ask(&board.act("u1", &undo(&closed)));
    assert_eq!((status, body.contains("has changed since")), (409, true), "{body}");
    assert_eq!((bead("status"), bead("priority")), (json!("closed"), json!(0)));

    let raised = board.done("r2", &json!({"do": "priority", "id": id, "priority": 1}));
    let due = board.done("r3", &json!({"do": "due", "id": id, "due": 1_800_000_000_000_u64}));
    let other = bd.create(&["b"]);
    let (status, _, body) = board.ask(&board.act("u2", &undo(&due)));
    assert_eq!((status, body.contains("your last change was not to")), (409, true), "{body}");
    assert_eq!(bd.json(&["show", &other])[0]["status"], "open");
    bd.run(&["undo"]);

    // Changes are undone one after another. A repeated request gets its first answer, and acts once.
    let first = board.done("u3", &undo(&due));
    assert_eq!((bead("due_at"), bead("priority")), (Value::Null, json!(1)));
    assert_eq!(board.done("u3", &undo(&due)), first);
    assert_eq!(bead("priority"), json!(1), "only one change was undone");
    board.done("u4", &undo(&raised));
    assert_eq!(bead("priority"), json!(0));

    let (status, _, body) = board.ask(&board.act("u5", &json!({"do": "undo", "id": id})));
    assert_eq!(status, 400, "a request must say which change it means: {body}");
    assert_eq!(board.status(&board.act("u3", &undo(&closed))), 409, "the id was used for another change");
    assert_eq!(bead("priority"), json!(0));
}

#[test]
fn a_write_that_changes_nothing_has_nothing_to_undo() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["a", "-p", "1"]);
    let board = Board::start(&bd, &[]);
    let actions = [json!({"do": "priority", "id": id, "priority": 1}), json!({"do": "reopen", "id": id})];
    for (number, action) in actions.iter().enumerate() {
        let answer = board.done(&format!("r{number}"), action);
        assert_eq!((&answer["id"], &answer["updated_at"]), (&json!(id), &Value::Null), "{answer}");
    }
}

#[test]
fn a_removed_dependency_is_identified_by_its_ends() {
    let bd = Sandbox::new(Mode::Daemon);
    let (first, second) = (bd.create(&["a"]), bd.create(&["b"]));
    bd.run(&["dep", "add", &second, &first]);
    let board = Board::start(&bd, &[]);
    let blockers = || bd.json(&["blocked"]).as_array().unwrap().len();
    board.done("r1", &json!({"do": "cut", "from": second, "to": first}));
    assert_eq!(blockers(), 0);
    let undo = json!({"do": "undo", "id": second, "to": first});
    bd.run(&["update", &second, "-p", "0"]);
    assert_eq!(board.status(&board.act("u1", &undo)), 409, "the last change is another one");
    assert_eq!(bd.json(&["show", &second])[0]["priority"], 0);
    bd.run(&["undo"]);
    board.done("u2", &undo);
    assert_eq!(blockers(), 1);
    // Now the last change is that the dependency was added.
    assert_eq!(board.status(&board.act("u3", &undo)), 409);
    assert_eq!(blockers(), 1);
}

#[test]
fn a_repeated_message_is_delivered_once() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["a"]);
    bd.json_as("claude-1", &["claim", &id]);
    let board = Board::start(&bd, &[]);
    let message = json!({"do": "message", "to": "claude-1", "bead": id, "text": "which service?"});
    assert_eq!(board.done("m1", &message)["sent"], "note", "it has no mailbox");
    assert_eq!(bd.text(&["show", &id]).matches("which service?").count(), 1);
    let mut register = Command::new(env!("CARGO_BIN_EXE_bb"));
    register.args(["agent", "register", "--name", "claude-1", "--role", "worker"]).current_dir(bd.dir());
    register.env_clear().env("HOME", bd.root().join("home"));
    assert!(register.output().unwrap().status.success());
    for _ in 0..2 {
        assert_eq!(board.done("m2", &message)["sent"], "mail");
    }
    let (_, _, mail) = board.ask(&board.get("/api/mail/claude-1"));
    let mail: Value = serde_json::from_str(&mail).unwrap();
    assert_eq!(mail["messages"].as_array().unwrap().len(), 1, "{mail}");
    // The first request is repeated after the agent got a mailbox.
    assert_eq!(board.done("m1", &message)["sent"], "note");
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
fn a_stream_with_a_foreign_cursor_begins_again() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["a"]);
    let board = Board::start(&bd, &[]);
    let newest = bd.json(&["status"])["cursor"].as_str().unwrap().to_owned();
    let log = newest.rsplit_once('-').unwrap().0;
    for cursor in ["abcdef-3".to_owned(), format!("{log}-9999"), "not%20a%20cursor".to_owned()] {
        let stream = board.connect(&board.get(&format!("/api/stream?cursor={cursor}")));
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let event = lines.find(|line| line.starts_with("event: ")).unwrap();
        assert_eq!(event, "event: restart", "{cursor}");
        assert_eq!(lines.next().unwrap(), format!("data: \"{newest}\""));
    }
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
fn the_printed_address_is_the_one_that_browsers_send() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["a"]);
    let mut boards = vec![Board::start(&bd, &["--host", "LocalHost"])];
    assert!(boards[0].host.starts_with("localhost:"), "{}", boards[0].host);
    // Some machines have no IPv6.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        boards.push(Board::start(&bd, &["--host", "::1"]));
        assert!(boards[1].host.starts_with("[::1]:"), "{}", boards[1].host);
    }
    for board in boards {
        assert_eq!(board.status(&board.get("/api/snapshot")), 200, "{}", board.host);
    }
}

#[test]
fn the_token_is_no_argument_of_the_browser() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["a"]);
    let seen = bd.root().join("seen");
    // The programs that open a file on any system. They keep their argument, and the file that it names.
    let script = format!(
        "#!/bin/sh\n/bin/cp -p \"$1\" {0}.html\necho \"$@\" > {0}.tmp\n/bin/mv {0}.tmp {0}\n",
        seen.display()
    );
    for program in ["open", "xdg-open"].map(|name| bd.root().join("bin").join(name)) {
        std::fs::write(&program, &script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut board = Board::start(&bd, &["--open"]);
    wait_until("the browser was started", || seen.exists());
    let arguments = std::fs::read_to_string(&seen).unwrap();
    assert!(!arguments.contains(&board.token), "{arguments}");
    let page = seen.with_extension("html");
    assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    let address = format!("url=http://{}/#token={}\"", board.host, board.token);
    assert!(std::fs::read_to_string(page).unwrap().contains(&address));
    let pid = rustix::process::Pid::from_child(&board.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    board.child.wait().unwrap();
    assert!(!std::path::Path::new(arguments.trim()).exists());
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
    let here = bd.root();
    assert!(!page.contains(here.to_str().unwrap()), "a colleague must not learn the paths of this machine");
}
