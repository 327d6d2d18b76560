//! Every way to authenticate, and what happens when the server refuses the credentials.

use std::process::{Child, Command, Stdio};

use super::servers::{CONNECTIONS, Connection, PASSWORD, Protocol, Servers, USER};
use crate::sandbox::{Mode, wait_until};

const NATIVE_HTTP: Connection = Connection { protocol: Protocol::Http, transport: "native" };
const NATIVE_SSH: Connection = Connection { protocol: Protocol::Ssh, transport: "native" };

#[test]
fn an_unknown_client_is_refused_until_it_has_credentials() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("refused");
        let mut ann = servers.client_without_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        let none = ann.sync_fails();
        assert_eq!(none.exit, Some(22), "{none:?}");
        if connection.protocol == Protocol::Ssh {
            ann.has_key(&servers.key("stranger_key"));
            ann.set("GIT_SSH_COMMAND", servers.ssh_command(Some("stranger_key")));
        } else {
            ann.set("BD_GIT_TOKEN", "wrong");
        }
        let wrong = ann.sync_fails();
        assert_eq!(wrong.exit, Some(22), "{wrong:?}");
        if connection.protocol == Protocol::Ssh {
            ann.has_key(&servers.key("client_key"));
            ann.set("GIT_SSH_COMMAND", servers.ssh_command(Some("client_key")));
        } else {
            ann.set("BD_GIT_TOKEN", PASSWORD);
        }
        ann.sync_heals();
    }
}

#[test]
fn a_password_in_the_address_works_and_is_never_shown() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS.into_iter().filter(|connection| connection.protocol != Protocol::Ssh) {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("address");
        let ann = servers.client_without_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        let url = servers.url(connection.protocol, &name);
        let with = |password: &str| url.replace(USER, &format!("{USER}:{password}"));
        ann.bd.repository().remote_set_url("origin", &with("hunter2")).unwrap();
        let run = ann.sync_fails();
        assert!(!format!("{run:?}").contains("hunter2"), "{run:?}");
        assert!(!ann.json(&["status"]).to_string().contains("hunter2"));
        ann.bd.repository().remote_set_url("origin", &with(&PASSWORD.replace(' ', "%20"))).unwrap();
        ann.sync_heals();
    }
}

#[test]
fn a_credential_helper_is_asked_even_without_git() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS.into_iter().filter(|connection| connection.protocol != Protocol::Ssh) {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("helper");
        let ann = servers.client_without_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        let script = format!("echo username={USER}; echo 'password={PASSWORD}'");
        let helper = ann.program("keeper", &script);
        let mut config = ann.bd.repository().config().unwrap();
        config.set_str("credential.helper", helper.to_str().unwrap()).unwrap();
        ann.sync_heals();
    }
}

/// libgit2 would run `git credential-NAME` for a bare name, but there is no git here.
#[test]
fn a_credential_helper_with_a_bare_name_is_found_on_the_path() {
    let Some(servers) = Servers::running() else { return };
    let (name, _) = servers.repository("bare-name");
    let ann = servers.client_without_credentials(NATIVE_HTTP, &name, Mode::Embedded);
    ann.create("kept");
    ann.program("git-credential-keeper", &format!("echo username={USER}; echo 'password={PASSWORD}'"));
    ann.bd.repository().config().unwrap().set_str("credential.helper", "keeper").unwrap();
    ann.sync_heals();
}

struct Agent {
    child: Child,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn agent(socket: &std::path::Path) -> Agent {
    let child = Command::new("ssh-agent").arg("-D").arg("-a").arg(socket).stdout(Stdio::null()).spawn();
    wait_until("the agent", || socket.exists());
    Agent { child: child.unwrap() }
}

#[test]
fn the_ssh_agent_is_asked() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS.into_iter().filter(|connection| connection.protocol == Protocol::Ssh) {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("agent");
        let mut ann = servers.client_without_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        let socket = ann.bd.root().join("agent");
        let _agent = agent(&socket);
        ann.set("SSH_AUTH_SOCK", &socket);
        ann.sync_fails();
        let mut add = Command::new("ssh-add");
        add.arg("-q").arg(servers.key("client_key")).env("SSH_AUTH_SOCK", &socket);
        assert!(add.status().unwrap().success());
        ann.sync_heals();
    }
}

#[test]
fn a_key_file_is_tried_when_the_agent_is_dead_or_knows_nothing() {
    let Some(servers) = Servers::running() else { return };
    let (name, _) = servers.repository("key-file");
    let mut ann = servers.client_without_credentials(NATIVE_SSH, &name, Mode::Embedded);
    ann.create("kept");
    ann.has_key(&servers.key("client_key"));
    ann.set("SSH_AUTH_SOCK", ann.bd.root().join("nobody"));
    ann.sync_heals();
    let socket = ann.bd.root().join("agent");
    let _agent = agent(&socket);
    ann.set("SSH_AUTH_SOCK", &socket);
    ann.create("another");
    ann.sync_heals();
    ann.unset("SSH_AUTH_SOCK");
    ann.forgets_keys();
    ann.set("BD_SSH_KEY", servers.key("client_key"));
    ann.create("and another");
    ann.sync_heals();
}

/// A server is trusted only if its key is known.
#[test]
fn an_unknown_host_key_is_refused() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS.into_iter().filter(|connection| connection.protocol == Protocol::Ssh) {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("impostor");
        let mut ann = servers.client_with_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        let stranger = std::fs::read_to_string(servers.key("stranger_key").with_extension("pub")).unwrap();
        let known = std::fs::read_to_string(servers.dir.join("known_hosts")).unwrap();
        let host = known.split_whitespace().next().unwrap();
        let key: Vec<_> = stranger.split_whitespace().take(2).collect();
        let forged = ann.bd.root().join("forged");
        std::fs::write(&forged, format!("{host} {}\n", key.join(" "))).unwrap();
        ann.knows_host(&forged);
        let genuine = servers.dir.join("known_hosts").display().to_string();
        let command = servers.ssh_command(Some("client_key"));
        ann.set("GIT_SSH_COMMAND", command.replace(&genuine, &forged.display().to_string()));
        let run = ann.sync_fails();
        assert_eq!(run.exit, Some(22), "{run:?}");
    }
}
