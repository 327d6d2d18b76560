//! The servers that `.ci/suites/remotes` starts, and their clients.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Mode, Run, Sandbox, set_mode};

/// The credentials for HTTP, as the suite sets them up.
pub const USER: &str = "tester";
pub const PASSWORD: &str = "open sesame";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http,
    Https,
    Ssh,
}

/// How a client connects, and whether it uses the git program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    pub protocol: Protocol,
    pub transport: &'static str,
}

pub const CONNECTIONS: [Connection; 6] = [
    Connection { protocol: Protocol::Http, transport: "native" },
    Connection { protocol: Protocol::Http, transport: "git" },
    Connection { protocol: Protocol::Https, transport: "native" },
    Connection { protocol: Protocol::Https, transport: "git" },
    Connection { protocol: Protocol::Ssh, transport: "native" },
    Connection { protocol: Protocol::Ssh, transport: "git" },
];

pub struct Servers {
    pub dir: PathBuf,
}

impl Servers {
    /// Returns `None`, and prints why, in a run without servers.
    pub fn running() -> Option<Self> {
        let dir = std::env::var_os("BD_TEST_REMOTES").map(PathBuf::from);
        if dir.is_none() {
            eprintln!("skipped: this test needs an sshd and an http server; .ci/suites/remotes starts them");
        }
        Some(Self { dir: dir? })
    }

    /// Creates a bare repository that the servers serve.
    pub fn repository(&self, name: &str) -> (String, git2::Repository) {
        let unique = tempfile::Builder::new().prefix(name).tempdir_in(self.dir.join("repositories")).unwrap();
        let path = unique.keep();
        let git = git2::Repository::init_bare(&path).unwrap();
        git.config().unwrap().set_bool("http.receivepack", true).unwrap();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), git)
    }

    pub fn url(&self, protocol: Protocol, repository: &str) -> String {
        match protocol {
            Protocol::Http | Protocol::Https => {
                let base =
                    variable(if protocol == Protocol::Http { "BD_TEST_HTTP" } else { "BD_TEST_HTTPS" });
                base.replace("://", &format!("://{USER}@")) + "/" + repository
            }
            Protocol::Ssh => {
                let (user, port) = (variable("BD_TEST_SSH_USER"), variable("BD_TEST_SSH_PORT"));
                let path = self.dir.join("repositories").join(repository);
                format!("ssh://{user}@127.0.0.1:{port}{}", path.display())
            }
        }
    }

    pub fn key(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Creates a client without credentials, in a repository that has only its remote configured.
    pub fn client_without_credentials(&self, connection: Connection, repository: &str, mode: Mode) -> Client {
        let bd = Sandbox::new(mode);
        let git = bd.repository();
        git.remote("origin", &self.url(connection.protocol, repository)).unwrap();
        let mut client = Client { bd, environment: Vec::new() };
        if connection.transport == "git" {
            client.set("PATH", std::env::var_os("PATH").unwrap());
            client.set("GIT_CONFIG_NOSYSTEM", "1");
        }
        if connection.protocol == Protocol::Https {
            let certificate = self.dir.join("tls.pem");
            client.set("SSL_CERT_FILE", &certificate);
            git.config().unwrap().set_str("http.sslCAInfo", certificate.to_str().unwrap()).unwrap();
        }
        if connection.protocol == Protocol::Ssh {
            client.knows_host(&self.dir.join("known_hosts"));
            // OpenSSH reads the home directory from the user database, not from the environment.
            client.set("GIT_SSH_COMMAND", self.ssh_command(None));
        }
        client.json(&["config", "set", "sync.transport", connection.transport]);
        client
    }

    /// Creates a client whose credentials the servers accept.
    pub fn client_with_credentials(&self, connection: Connection, repository: &str, mode: Mode) -> Client {
        let mut client = self.client_without_credentials(connection, repository, mode);
        match connection.protocol {
            Protocol::Http | Protocol::Https => client.set("BD_GIT_TOKEN", PASSWORD),
            Protocol::Ssh => {
                client.has_key(&self.key("client_key"));
                client.set("GIT_SSH_COMMAND", self.ssh_command(Some("client_key")));
            }
        }
        client
    }

    pub fn ssh_command(&self, key: Option<&str>) -> String {
        let known_hosts = self.dir.join("known_hosts");
        let identity = key.map(|key| format!("-o IdentitiesOnly=yes -i {}", self.key(key).display()));
        format!(
            "ssh -F /dev/null -o UserKnownHostsFile={} -o StrictHostKeyChecking=yes {}",
            known_hosts.display(),
            identity.unwrap_or_default()
        )
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; see .ci/suites/remotes"))
}

pub struct Client {
    pub bd: Sandbox,
    environment: Vec<(String, OsString)>,
}

impl Client {
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.into()));
    }

    pub fn unset(&mut self, name: &str) {
        self.environment.retain(|(known, _)| known != name);
    }

    fn ssh_file(&self, name: &str) -> PathBuf {
        let directory = self.bd.root().join("home/.ssh");
        std::fs::create_dir_all(&directory).unwrap();
        directory.join(name)
    }

    pub fn knows_host(&self, known_hosts: &Path) {
        std::fs::copy(known_hosts, self.ssh_file("known_hosts")).unwrap();
    }

    pub fn has_key(&self, key: &Path) {
        std::fs::copy(key, self.ssh_file("id_ed25519")).unwrap();
        std::fs::copy(key.with_extension("pub"), self.ssh_file("id_ed25519.pub")).unwrap();
    }

    pub fn forgets_keys(&self) {
        std::fs::remove_file(self.ssh_file("id_ed25519")).unwrap();
    }

    /// Installs a program on this client's path.
    pub fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.bd.root().join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        set_mode(&path, 0o755);
        path
    }

    pub fn run(&self, args: &[&str]) -> Run {
        let mut command = self.bd.command(args);
        command.arg("--json").envs(self.environment.iter().cloned());
        Run::of(&mut command)
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let run = self.run(args);
        assert!(run.exit == Some(0) && run.stderr.is_empty(), "{args:?}: {run:?}");
        run.value()
    }

    pub fn create(&self, title: &str) -> String {
        self.json(&["create", title])["id"].as_str().unwrap().to_owned()
    }

    pub fn titles(&self) -> Vec<String> {
        let beads = self.json(&["list"]);
        let title = |bead: &Value| bead["title"].as_str().unwrap().to_owned();
        let mut titles: Vec<_> = beads.as_array().unwrap().iter().map(title).collect();
        titles.sort_unstable();
        titles
    }

    pub fn fingerprint(&self) -> Value {
        self.json(&["verify"])["fingerprint"].clone()
    }

    /// Asserts that a sync fails, that all beads are kept, and that the status shows the reason.
    pub fn sync_fails(&self) -> Run {
        let before = self.titles();
        let run = self.run(&["sync"]);
        assert!(matches!(run.exit, Some(1 | 22)), "{run:?}");
        run.assert_one_error_line();
        assert!(!format!("{run:?}").contains(PASSWORD), "{run:?}");
        assert_eq!(self.titles(), before);
        let error = self.json(&["status"])["sync"]["last_error"].clone();
        assert_eq!(error["code"], run.value()["error"]["code"], "{error}");
        assert!(error["age_ms"].is_u64() && error["message"].is_string(), "{error}");
        run
    }

    pub fn sync_heals(&self) {
        self.json(&["sync"]);
        let sync = self.json(&["status"])["sync"].clone();
        assert!(sync["last_error"].is_null() && sync["unsynced"] == 0, "{sync}");
    }
}
