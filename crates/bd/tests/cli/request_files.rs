//! Requests through files, for clients that cannot use the socket.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, wait_until};

/// A daemon whose socket is hidden from clients until this is dropped.
struct Hidden<'a> {
    bd: &'a Sandbox,
    away: PathBuf,
}

impl<'a> Hidden<'a> {
    fn new(bd: &'a Sandbox) -> Self {
        assert!(bd.daemon_pid().is_some());
        let away = bd.root().join("away");
        std::fs::rename(bd.runtime_dir(), &away).unwrap();
        Self { bd, away }
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut command = self.bd.command(&[args, &["--json"]].concat());
        Run::of(command.env("BD_RUNTIME_DIR", self.bd.root().join("no/such/directory")))
    }

    fn directory(&self) -> PathBuf {
        self.bd.dir().join(".git/beads/requests")
    }

    /// Writes a request as a client would and returns the file, which keeps its lock.
    fn post(&self, name: &str, call: &Value, deadline_ms: u64, locked: bool) -> File {
        let frame = json!({"client": env!("CARGO_PKG_VERSION"), "actor": "eve", "call": call});
        let path = self.directory().join(format!("{name}.tmp"));
        let mut file = File::create_new(&path).unwrap();
        if locked {
            file.try_lock().unwrap();
        }
        file.write_all(format!("{}\n{frame}\n", json!({"deadline_ms": deadline_ms})).as_bytes()).unwrap();
        std::fs::rename(&path, path.with_extension("request")).unwrap();
        file
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        std::fs::rename(&self.away, self.bd.runtime_dir()).unwrap();
    }
}

fn create(title: &str) -> Value {
    json!({"mutate": {"ops": [{"op": "create", "title": title}]}})
}

fn titles(listed: &Value) -> Vec<&str> {
    listed.as_array().unwrap().iter().map(|bead| bead["title"].as_str().unwrap()).collect()
}

#[test]
fn a_client_that_cannot_reach_the_socket_asks_through_files() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["By the socket"]);
    let pid = bd.daemon_pid();
    {
        let hidden = Hidden::new(&bd);
        let made = hidden.run(&["create", "By a file"]).succeeded("create").value();
        let id = made["id"].as_str().unwrap();
        assert_eq!(hidden.run(&["claim", id]).succeeded("claim").value()["assignee"], "ann@here");
        assert_eq!(titles(&hidden.run(&["list"]).succeeded("list").value()).len(), 2);
        hidden.run(&["show", "bd-nowhere"]).failed("show", "not_found");
        let mode = std::fs::metadata(hidden.directory()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        wait_until("everything is cleared away", || {
            std::fs::read_dir(hidden.directory()).unwrap().count() == 0
        });
        // A link, or a directory that others may write to, is not used.
        std::fs::set_permissions(hidden.directory(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let refused = hidden.run(&["create", "Not made", "--lock-timeout", "1s"]);
        refused.failed("unsafe", "busy");
    }
    assert_eq!(bd.daemon_pid(), pid, "one daemon did it all");
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2);
}

#[test]
fn settings_that_reach_outside_a_sandbox_are_not_changed_through_files() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["First"]);
    let hidden = Hidden::new(&bd);
    for (key, value) in [
        ("pager", "touch x; cat"),
        ("sync.remote", "/tmp/x"),
        ("hub.url", "postgres://x/y"),
        ("export.path", "x"),
    ] {
        hidden.run(&["config", "set", key, value]).failed(key, "permission_denied");
        hidden.run(&["config", "unset", key]).failed(key, "permission_denied");
    }
    // A call inside of another one reaches no further.
    let set = json!({"config_set": {"key": "pager", "value": "touch x; cat"}});
    for (name, call) in
        [("waits", json!({"wait": {"ms": 1, "call": set}})), ("confirms", json!({"confirm": {"call": set}}))]
    {
        let _waits = hidden.post(name, &call, u64::MAX / 2, true);
        let reply = hidden.directory().join(name).with_extension("reply");
        wait_until("it is answered", || reply.exists());
        let reply = std::fs::read_to_string(&reply).unwrap();
        assert!(reply.contains("permission_denied"), "{reply}");
    }
    hidden.run(&["config", "set", "claim.lease", "1h"]).succeeded("claim.lease");
    let settings = hidden.run(&["config", "list"]).succeeded("list").value();
    assert_eq!((&settings["pager"], &settings["claim.lease"]), (&json!(""), &json!("1h")));
}

#[test]
fn requests_of_clients_that_left_never_run_not_even_after_a_restart() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["First"]);
    let later = u64::MAX / 2;
    let waited = {
        let hidden = Hidden::new(&bd);
        hidden.run(&["list"]).succeeded("list");
        hidden.post("a", &create("No client waits"), later, false);
        let _past = hidden.post("b", &create("Too late"), 1, true);
        hidden.run(&["create", "Second"]).succeeded("create");
        wait_until("both are taken", || std::fs::read_dir(hidden.directory()).unwrap().count() == 0);
        hidden.directory()
    };
    bd.kill_daemon();
    // The files left by a daemon and a client that both died during a request.
    std::fs::write(waited.join("c.taken"), "").unwrap();
    let hidden_frame = json!({"client": "1", "actor": "eve", "call": "sync"});
    std::fs::write(waited.join("d.request"), format!("{{\"deadline_ms\":{later}}}\n{hidden_frame}\n"))
        .unwrap();
    assert_eq!(titles(&bd.json(&["list"])), ["First", "Second"]);
    wait_until("it is cleared away", || std::fs::read_dir(&waited).unwrap().count() == 0);
}

#[test]
fn a_claim_for_a_client_that_left_is_given_back() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["First"]);
    let hidden = Hidden::new(&bd);
    hidden.run(&["list"]).succeeded("list");
    let mut command = bd.command(&["claim", "--next", "--label", "later", "--wait", "10m"]);
    let mut child = command.env("BD_RUNTIME_DIR", bd.root().join("no/such/directory")).spawn().unwrap();
    wait_until("it waits", || {
        let names = std::fs::read_dir(hidden.directory()).unwrap().flatten();
        names.into_iter().any(|entry| entry.path().extension().is_some_and(|ending| ending == "taken"))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let made = hidden.run(&["create", "Wanted", "--labels", "later"]).succeeded("create").value();
    let id = made["id"].as_str().unwrap();
    wait_until("the daemon noticed", || {
        let names = std::fs::read_dir(hidden.directory()).unwrap().flatten();
        !names.into_iter().any(|entry| entry.path().extension().is_some_and(|ending| ending == "taken"))
    });
    let bead = hidden.run(&["show", id]).succeeded("show").value();
    assert_eq!(bead[0]["status"], "open", "{bead}");
}
