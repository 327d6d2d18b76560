//! Syncing with real servers: an sshd and git's smart HTTP backend, each with the git program and without it.

mod claims;
mod credentials;
mod servers;
mod silence;

use beads_store::REF;

use crate::sandbox::{Mode, set_mode, wait_until};
use servers::{CONNECTIONS, Protocol, Servers};

#[test]
fn two_clients_of_one_server_exchange_everything() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("exchange");
        let [ann, ben] = [0, 1].map(|_| servers.client_with_credentials(connection, &name, Mode::Embedded));
        ann.create("from ann");
        let first = ann.json(&["sync"]);
        assert!(first["pushed"] == true && first["pulled"] == false, "{first}");
        // Nothing was cloned or initialized.
        let second = ben.json(&["sync"]);
        assert!(second["pushed"] == false && second["pulled"] == true, "{second}");
        ben.create("from ben");
        ben.json(&["sync"]);
        ann.json(&["sync"]);
        assert_eq!(ann.titles(), ["from ann", "from ben"]);
        assert_eq!(ann.fingerprint(), ben.fingerprint());
        let quiet = ann.json(&["sync"]);
        assert!(quiet["pushed"] == false && quiet["pulled"] == false, "{quiet}");
    }
}

/// `user@host:path` has no place for a port, so the suite lets sshd listen on the default port where it may.
#[test]
fn the_short_form_of_an_ssh_address_is_understood() {
    let Some(servers) = Servers::running() else { return };
    let Ok(host) = std::env::var("BD_TEST_SCP_HOST") else {
        eprintln!("skipped: only root can let an sshd listen at port 22");
        return;
    };
    for connection in CONNECTIONS.into_iter().filter(|connection| connection.protocol == Protocol::Ssh) {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("short");
        let clients = [0, 1].map(|_| servers.client_with_credentials(connection, &name, Mode::Embedded));
        let address = format!("{host}:{}", servers.dir.join("repositories").join(&name).display());
        for client in &clients {
            client.bd.repository().remote_set_url("origin", &address).unwrap();
        }
        clients[0].create("from afar");
        clients[0].json(&["sync"]);
        clients[1].json(&["sync"]);
        assert_eq!(clients[1].titles(), ["from afar"]);
    }
}

#[test]
fn the_daemon_pushes_by_itself() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS {
        eprintln!("{connection:?}");
        let (name, remote) = servers.repository("background");
        let ann = servers.client_with_credentials(connection, &name, Mode::Daemon);
        // The first command starts the daemon with its own environment.
        ann.json(&["config", "set", "sync.auto", "true"]);
        ann.json(&["daemon", "stop"]);
        ann.create("from ann");
        wait_until("a push", || remote.refname_to_id(REF).is_ok());
        wait_until("it is noted", || ann.json(&["status"])["sync"]["unsynced"] == 0);
    }
}

/// The rival's push lands after the client has read the ref and before the server moves it. Here the server
/// makes that push itself, in the hook that runs in between.
#[test]
fn a_rival_push_in_the_middle_of_ours_never_vanishes() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS {
        eprintln!("{connection:?}");
        let (name, remote) = servers.repository("rival");
        let [ann, ben] = [0, 1].map(|_| servers.client_with_credentials(connection, &name, Mode::Embedded));
        ann.create("first");
        ann.json(&["sync"]);
        let seen = remote.refname_to_id(REF).unwrap();
        ben.create("from ben");
        ben.json(&["sync"]);
        let rival = remote.refname_to_id(REF).unwrap();
        remote.reference("refs/heads/rival", rival, true, "test").unwrap();
        remote.reference(REF, seen, true, "test").unwrap();
        let hook = remote.path().join("hooks/pre-receive");
        let script = format!(
            "#!/bin/sh\nrm \"$0\"\nunset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n\
             exec git update-ref {REF} {rival}\n"
        );
        std::fs::write(&hook, script).unwrap();
        set_mode(&hook, 0o755);
        ann.create("from ann");
        let sync = ann.json(&["sync"]);
        assert!(!hook.exists(), "the race took place");
        assert_eq!(sync["rounds"], 2, "{sync}");
        let tip = remote.refname_to_id(REF).unwrap();
        assert!(remote.graph_descendant_of(tip, rival).unwrap(), "the rival's commit is gone");
        ben.json(&["sync"]);
        assert_eq!(ben.titles(), ["first", "from ann", "from ben"]);
        assert_eq!(ann.fingerprint(), ben.fingerprint());
    }
}

#[test]
fn a_read_only_remote_loses_nothing() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS {
        eprintln!("{connection:?}");
        let (name, remote) = servers.repository("refusing");
        let hook = remote.path().join("hooks/pre-receive");
        std::fs::write(&hook, "#!/bin/sh\necho this repository is read only >&2\nexit 1\n").unwrap();
        set_mode(&hook, 0o755);
        let ann = servers.client_with_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        let run = ann.sync_fails();
        assert_eq!(run.value()["error"]["code"], "push_refused", "{run:?}");
        std::fs::remove_file(&hook).unwrap();
        ann.sync_heals();

        if connection.protocol != Protocol::Ssh {
            let (name, _) = servers.repository("readonly-");
            let ben = servers.client_with_credentials(connection, &name, Mode::Embedded);
            ben.create("kept");
            ben.sync_fails();
        }
    }
}

#[test]
fn a_rate_limit_is_reported_with_the_time_that_the_server_asks_for() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS.into_iter().filter(|connection| connection.protocol != Protocol::Ssh) {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("limited-");
        let ann = servers.client_with_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        let run = ann.sync_fails();
        let error = &run.value()["error"];
        assert_eq!((run.exit, error["code"].as_str()), (Some(22), Some("network_error")), "{run:?}");
        assert!(error["message"].as_str().unwrap().contains("429"), "{run:?}");
        assert_eq!(error["details"]["retry_after_s"], 120, "{run:?}");
        assert!(!run.stderr.contains("Recv header"), "{run:?}");
    }
}

#[test]
fn an_unreachable_server_is_reported_and_sync_recovers() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("away");
        let ann = servers.client_with_credentials(connection, &name, Mode::Embedded);
        ann.create("kept");
        // Nothing listens on port 1.
        let url = servers.url(connection.protocol, &name);
        let start = url.rfind("127.0.0.1:").unwrap();
        let path = url[start..].find('/').unwrap();
        let nowhere = format!("{}127.0.0.1:1{}", &url[..start], &url[start + path..]);
        ann.bd.repository().remote_set_url("origin", &nowhere).unwrap();
        let run = ann.sync_fails();
        assert_eq!((run.exit, run.value()["error"]["code"].as_str()), (Some(22), Some("network_error")));
        ann.bd.repository().remote_set_url("origin", &url).unwrap();
        ann.sync_heals();
    }
}
