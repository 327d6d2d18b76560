//! A separate store for each test, and agents that run commands on it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub struct Team {
    dir: TempDir,
    now: String,
}

/// The exit code and output of a command.
#[derive(Debug)]
pub struct Ran {
    pub exit: i32,
    pub out: String,
    pub err: String,
}

pub const NOON: &str = "2026-02-13T12:00:00.000Z";

impl Team {
    /// Creates a store at noon with these agents, all with the role `ui`.
    pub fn of(names: &[&str]) -> Team {
        let team = Team { dir: tempfile::tempdir().unwrap(), now: NOON.to_owned() };
        for name in names {
            team.ok(&["register", "--name", name, "--role", "ui"]);
        }
        team
    }

    /// Sets the time for later commands.
    pub fn at(&mut self, now: &str) -> &Team {
        now.clone_into(&mut self.now);
        self
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn store(&self) -> PathBuf {
        self.dir().join("store")
    }

    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.store().join(file)).unwrap()
    }

    pub fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.read(file)).unwrap()
    }

    pub fn lines(&self, file: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.store().join(file)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.store().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns `bb` with a clean environment.
    pub fn bb<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bb"));
        command.args(args).current_dir(self.dir()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BB_") || name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.dir().join("home")).env("BB_AGENT_ROOT", self.store());
        command.env("BB_NOW", &self.now);
        command
    }

    /// Returns `bb agent …`.
    pub fn agent(&self, args: &[&str]) -> Command {
        self.bb(&[&["agent"], args].concat())
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.agent(args))
    }

    /// Returns the text output of a command that must succeed.
    pub fn text(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.exit, ran.err.as_str()), (0, ""), "{args:?}");
        ran.out
    }

    /// Returns the `data` of a command that must succeed.
    pub fn ok(&self, args: &[&str]) -> Value {
        data(&ran(self.agent(&[args, &["--json"]].concat())), args)
    }

    /// The same; the new message or reservation gets this id.
    pub fn ok_with_id(&self, id: &str, args: &[&str]) -> Value {
        let mut command = self.agent(&[args, &["--json"]].concat());
        command.env("BB_ID", id);
        data(&ran(command), args)
    }

    /// Returns the `error` of a command that must fail with this code and exit code.
    pub fn fails(&self, code: &str, exit: i32, args: &[&str]) -> Value {
        let ran = ran(self.agent(&[args, &["--json"]].concat()));
        let error = error(&ran, args);
        assert_eq!((error["code"].as_str(), ran.exit), (Some(code), exit), "{args:?}: {error}");
        error
    }

    /// Sends a message about `bd-1` and returns its id.
    pub fn sends(&self, from: &str, to: &str, category: &str, subject: &str) -> String {
        let args = ["send", "--from", from, "--to", to, "--bead", "bd-1", "--category", category];
        let sent = self.ok(&[&args[..], &["--subject", subject, "--body", "text"]].concat());
        sent["message_id"].as_str().unwrap().to_owned()
    }

    pub fn reserves(&self, agent: &str, scope: &str) -> Value {
        self.ok(&["reserve", "--agent", agent, "--scope", scope, "--bead", "bd-1"])
    }
}

pub fn ran(mut command: Command) -> Ran {
    let Output { status, stdout, stderr } = command.output().unwrap();
    Ran {
        exit: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

pub fn envelope(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{why}: {ran:?}"));
    let keys: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("  \"")).collect();
    assert!(keys[0].starts_with("  \"ok\": ") && keys[1].starts_with("  \"command\": "), "{}", ran.out);
    assert_eq!(envelope.as_object().unwrap().len(), 4);
    assert_eq!(envelope["ok"], ran.exit == 0, "{ran:?}");
    envelope
}

pub fn data(ran: &Ran, args: &[&str]) -> Value {
    let mut envelope = envelope(ran);
    assert_eq!(envelope["ok"], true, "{args:?}: {ran:?}");
    assert!(envelope["error"].is_null());
    assert_eq!(envelope["command"], format!("agent {}", args[0]));
    envelope["data"].take()
}

pub fn error(ran: &Ran, args: &[&str]) -> Value {
    let mut envelope = envelope(ran);
    assert_eq!(envelope["ok"], false, "{args:?}: {ran:?}");
    assert!(envelope["data"].is_null());
    assert_eq!(envelope["command"], format!("agent {}", args[0]));
    assert!(!envelope["error"]["message"].as_str().unwrap().is_empty());
    envelope["error"].take()
}
