//! Claims that are decided on a real server, over every transport.

use serde_json::Value;

use super::servers::{CONNECTIONS, Client, Connection, Servers};
use crate::sandbox::Mode;

fn refused(client: &Client, args: &[&str], code: &str) -> Value {
    let run = client.run(args);
    assert_eq!(run.value()["error"]["code"], code, "{args:?}: {run:?}");
    run.value()["error"].clone()
}

/// Creates a client whose daemon is restarted with its credentials: the first daemon started without them.
fn client_with_credentials(
    servers: &Servers,
    connection: Connection,
    repository: &str,
    mode: Mode,
) -> Client {
    let client = servers.client_with_credentials(connection, repository, mode);
    if mode == Mode::Daemon {
        client.json(&["daemon", "stop"]);
    }
    client
}

#[test]
fn a_bead_has_one_holder_over_every_way_to_the_server() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS {
        for mode in [Mode::Embedded, Mode::Daemon] {
            eprintln!("{connection:?} {mode:?}");
            let (name, bare) = servers.repository("claims");
            let [ann, ben] = [0, 1].map(|_| client_with_credentials(&servers, connection, &name, mode));
            let (first, second) = (ann.create("first"), ann.create("second"));
            ann.json(&["sync"]);
            ben.json(&["sync"]);
            for client in [&ann, &ben] {
                client.json(&["config", "set", "claim.scope", "remote"]);
                client.json(&["config", "set", "claim.timeout", "60s"]);
            }
            let claimed = ann.json(&["--actor", "ann", "claim", &first]);
            assert_eq!(claimed["confirmed"], true, "{claimed}");
            let error = refused(&ben, &["--actor", "ben", "claim", &first], "already_claimed");
            assert_eq!(error["details"]["holder"], "ann");
            let next = ben.json(&["--actor", "ben", "claim", "--next"]);
            assert_eq!((&next["id"], &next["confirmed"]), (&second.as_str().into(), &true.into()));
            refused(&ben, &["--actor", "ben", "claim", "--next"], "nothing_ready");
            ann.json(&["--actor", "ann", "unclaim", &first]);
            ann.json(&["sync"]);
            let taken = ben.json(&["--actor", "ben", "claim", "--next"]);
            assert_eq!((&taken["id"], &taken["confirmed"]), (&first.as_str().into(), &true.into()));
            assert_eq!(bare.references_glob("refs/beads/claims/*").unwrap().count(), 2);
            assert_eq!(bare.references_glob("refs/heads/*").unwrap().count(), 1, "no branch shows");
        }
    }
}

#[test]
fn three_clients_of_one_server_take_every_bead_once() {
    let Some(servers) = Servers::running() else { return };
    for connection in CONNECTIONS.into_iter().take(2) {
        eprintln!("{connection:?}");
        let (name, _) = servers.repository("drain");
        let clients = [0, 1, 2].map(|_| client_with_credentials(&servers, connection, &name, Mode::Daemon));
        for number in 0..9 {
            clients[0].create(&format!("work {number}"));
        }
        for client in &clients {
            client.json(&["sync"]);
            client.json(&["config", "set", "claim.scope", "remote"]);
            client.json(&["config", "set", "claim.timeout", "60s"]);
        }
        let taken = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in &clients {
                scope.spawn(|| {
                    loop {
                        let run = client.run(&["claim", "--next"]);
                        let answer = run.value();
                        if answer["error"]["code"] == "nothing_ready" {
                            return;
                        }
                        assert_eq!(answer["confirmed"], true, "{run:?}");
                        taken.lock().unwrap().push(answer["id"].as_str().unwrap().to_owned());
                    }
                });
            }
        });
        let mut taken = taken.into_inner().unwrap();
        taken.sort_unstable();
        let all = taken.len();
        taken.dedup();
        assert_eq!((taken.len(), all), (9, 9), "{taken:?}");
    }
}
