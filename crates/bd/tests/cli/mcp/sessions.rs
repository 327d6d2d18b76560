use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{ACTOR, Mode, Sandbox, both, wait_until};

#[test]
fn the_actor_comes_from_a_flag_the_environment_or_the_client() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let maker = |mut client: Client| -> String {
        let made = client.call("make", json!({"title": "Whose?"}));
        let id = made.split(' ').nth(1).unwrap().to_owned();
        sandbox.show(&id)["created_by"].as_str().unwrap().to_owned()
    };
    assert_eq!(maker(Client::start(&sandbox)), ACTOR);
    assert_eq!(maker(Client::start_with(sandbox.command(&["mcp", "--actor", "bob"]))), "bob");
    let mut unnamed = sandbox.command(&["mcp"]);
    unnamed.env_remove("BD_ACTOR");
    let client = maker(Client::start_with(unnamed));
    assert!(client.starts_with("robot@"), "{client}");
}

#[test]
fn a_call_renews_what_its_agent_holds_and_an_open_connection_does_not() {
    both(|sandbox| {
        let (mine, theirs) = (sandbox.create(&["Mine"]), sandbox.create(&["Theirs"]));
        sandbox.json(&["claim", &mine, "--lease", "5m"]);
        sandbox.json_as("eve", &["claim", &theirs, "--lease", "5m"]);
        let expires = |id: &str| sandbox.show(id)["assignee_expires"].clone();
        let (before, hers) = (expires(&mine), expires(&theirs));
        let mut client = Client::start(sandbox);
        // Messages that are not tool calls; their answers show that they were processed.
        client.ask("ping", json!({}));
        client.ask("tools/list", json!({}));
        assert_eq!(expires(&mine), before);
        client.run("status");
        wait_until("the lease is longer", || expires(&mine).as_str() > before.as_str());
        assert_eq!(expires(&theirs), hers);
        assert!(client.finish().is_empty());
    });
}

#[test]
fn a_progress_notification_counts_as_activity() {
    let sandbox = Sandbox::new(Mode::Daemon);
    let bead = sandbox.create(&["One"]);
    // A short lease allows heartbeats one second apart.
    sandbox.json(&["config", "set", "claim.lease", "3s"]);
    let client = std::cell::RefCell::new(Client::start(&sandbox));
    client.borrow_mut().run("status");
    sandbox.json(&["config", "set", "claim.lease", "4h"]);
    sandbox.json(&["claim", &bead, "--lease", "1h"]);
    let expires = || sandbox.show(&bead)["assignee_expires"].as_str().unwrap().to_owned();
    let before = expires();
    wait_until("the lease is longer", || {
        client.borrow_mut().notify("notifications/progress", json!({"progressToken": 1, "progress": 1}));
        expires() > before
    });
}

#[test]
fn many_servers_share_one_daemon_and_no_bead_is_handed_out_twice() {
    let sandbox = Sandbox::new(Mode::Daemon);
    for number in 0..6 {
        sandbox.create(&[&format!("Bead {number}")]);
    }
    let pid = sandbox.daemon_pid();
    let mut clients: Vec<Client> = (0..6)
        .map(|number| Client::start_with(sandbox.command(&["mcp", "--actor", &format!("agent-{number}")])))
        .collect();
    let mut claimed: Vec<String> =
        clients.iter_mut().map(|client| client.run("next").split(' ').next().unwrap().to_owned()).collect();
    claimed.sort();
    claimed.dedup();
    assert_eq!(claimed.len(), 6);
    assert_eq!(sandbox.daemon_pid(), pid);
}

#[test]
fn a_client_that_leaves_gives_back_what_it_claimed() {
    both(|sandbox| {
        let (bead, other) = (sandbox.create(&["Unfinished", "-p", "0"]), sandbox.create(&["Other"]));
        let mut client = Client::start(sandbox);
        client.run("next");
        sandbox.json(&["claim", &other]);
        assert!(client.finish().is_empty());
        assert_eq!(sandbox.show(&bead)["status"], "open");
        assert_eq!(sandbox.show(&other)["status"], "in_progress", "claimed elsewhere by the same actor");
        // If the harness names the session, claims that another process made in it are kept.
        let in_session = || {
            let mut command = sandbox.command(&["mcp"]);
            command.env("CLAUDE_CODE_SESSION_ID", "c-1");
            Client::start_with(command)
        };
        let (mut left, mut stays) = (in_session(), in_session());
        left.call("next", json!({"id": bead}));
        let third = sandbox.create(&["Third"]);
        stays.call("next", json!({"id": third}));
        assert!(left.finish().is_empty());
        assert_eq!(sandbox.show(&bead)["status"], "open");
        assert_eq!(sandbox.show(&third)["status"], "in_progress");
    });
}

#[test]
fn a_new_session_finds_the_claims_of_a_killed_one() {
    both(|sandbox| {
        let bead = sandbox.create(&["Unfinished"]);
        let mut killed = Client::start(sandbox);
        killed.run("next");
        let mut rival = Client::start(sandbox);
        assert!(rival.fail("next", json!({"id": bead})).contains("held by"));
        killed.kill();
        let mut client = Client::start(sandbox);
        let status = client.run("status");
        assert!(status.starts_with(&format!("{bead} ACTIVE Unfinished | mine 1, ")), "{status}");
        let brief = client.run(status.lines().nth(1).unwrap());
        assert!(brief.starts_with(&bead), "{brief}");
        assert_eq!(client.call("done", json!({"reason": "now"})).split(' ').next(), Some(bead.as_str()));
        assert_eq!(sandbox.show(&bead)["status"], Value::from("closed"));
    });
}

#[test]
fn workspaces_and_ids_of_others() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bead = sandbox.create(&["Planned", "--external-ref", "TASK-042"]);
    let mut command = sandbox.command(&["mcp"]);
    command.env("BRANCHMIND_WORKSPACE", "acme/web");
    let mut client = Client::start_with(command);
    client.call("status", json!({"workspace": "acme/web"}));
    for id in [&bead, "TASK-042", &format!("acme/web:{bead}"), "acme/web:TASK-042"] {
        assert!(client.call("next", json!({"id": id})).starts_with(&bead), "{id}");
    }
    assert!(
        client.fail("next", json!({"id": format!("other:{bead}")})).starts_with("ERROR: UNKNOWN_WORKSPACE ")
    );
    let mut named = sandbox.command(&["mcp", "--workspace", "mine"]);
    named.env("BRANCHMIND_WORKSPACE", "theirs");
    Client::start_with(named).call("status", json!({"workspace": "mine"}));
    Client::start(&sandbox).call("status", json!({"workspace": "repo"}));
    let run = sandbox.run(&["mcp", "--workspace", "no good"]);
    assert_eq!(run.exit, Some(2), "{run:?}");
    run.assert_one_error_line();
}

#[test]
fn outside_a_repository_calls_say_so_and_a_bead_can_be_created() {
    let sandbox = Sandbox::without_repository(Mode::Embedded);
    let mut client = Client::start(&sandbox);
    assert!(client.fail("status", json!({})).starts_with("ERROR: NOT_INITIALIZED "));
    client.call("make", json!({"title": "First"}));
    assert!(client.run("next").contains("First ACTIVE"));
}
