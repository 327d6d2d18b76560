//! The text that an agent reads when its session starts.

use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;

use crate::mcp::client::Client;
use crate::mcp::conflicts::loser;
use crate::memory::remember;
use crate::sandbox::{Mode, Sandbox, both};
use crate::sync::Remote;

fn tokens(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

#[test]
fn prime_names_the_actor_and_the_state_of_its_work() {
    both(|bd| {
        let held = bd.create(&["Fix the parser"]);
        bd.create(&["Another"]);
        let idle = bd.text(&["prime"]);
        assert!(idle.contains("You are ann@here. You hold nothing. 2 ready.\n"), "{idle}");
        assert!(
            !idle.contains("Memories") && !idle.contains("mail") && !idle.contains("overwritten"),
            "{idle}"
        );
        let until = bd.json(&["claim", &held])["assignee_expires"].as_str().unwrap().to_owned();
        remember(bd, &["-k", "port", "The port is 9090"]);
        remember(bd, &["-k", "release", "Tag first"]);
        let busy = bd.text(&["prime"]);
        let until = format!("{} {}Z", &until[..10], &until[11..16]);
        assert!(
            busy.contains(&format!("You hold {held} Fix the parser (until {until}). 1 ready.")),
            "{busy}"
        );
        assert!(busy.contains("\nMemories (`bd recall KEY`): release, port.\n"), "{busy}");
        assert!(!busy.contains("9090"), "bodies are fetched on demand: {busy}");
        let hook: Value = serde_json::from_str(&bd.text(&["prime", "--hook"])).unwrap();
        assert_eq!(hook["hookSpecificOutput"]["additionalContext"], busy);
        // Another agent holds nothing.
        assert!(bd.text(&["--actor", "bob", "prime"]).contains("You are bob. You hold nothing. 1 ready."));
    });
}

#[test]
fn prime_stays_within_its_tokens_whatever_is_in_the_store() {
    let bd = Sandbox::new(Mode::Embedded);
    let odd = "漢字の長い題名でも収まる 🦀🦀🦀 qzxv7k-9fj2w_w8d0c 漢字の長い題名でも収まる qzxv7k9fj2";
    for number in 0..12 {
        let id = bd.create(&[&format!("{number} {odd}"), "--id", &format!("bd-q{number}zx9k")]);
        bd.text(&["--actor", odd, "claim", &id]);
        remember(&bd, &["-k", &format!("k9x{number}-漢字qzxv7k9fj2w"), odd]);
        remember(&bd, &["-k", &format!("deploy-key-{number}"), odd]);
    }
    let prime = bd.text(&["--actor", odd, "prime"]);
    assert!(prime.contains("You hold") && prime.contains("more") && prime.contains("Memories"), "{prime}");
    assert!(tokens(&prime) <= 400, "{} tokens: {prime}", tokens(&prime));
}

#[test]
fn prime_counts_mail_and_overwritten_values() {
    let (bd, _remote, id) = loser();
    let prime = bd.text(&["prime"]);
    assert!(prime.contains(" Your overwritten values: 1 (`bd conflicts list`).\n"), "{prime}");
    assert!(!bd.text(&["--actor", "cy", "prime"]).contains("overwritten"), "they are those of others");
    let mut ann = Client::start(&bd);
    ann.call("mail", json!({}));
    let letter = json!({"to": "ann-here", "subject": "Ping", "bead": id, "agent": "sub"});
    ann.call("mail", letter);
    let prime = bd.text(&["prime"]);
    assert!(prime.contains(" Unread mail: 1 (`bb agent inbox`)."), "{prime}");
}

/// Hooks run in every repository.
#[test]
fn prime_and_hooks_are_silent_and_create_nothing_without_a_store() {
    both(|bd| {
        let silent = || {
            assert_eq!(bd.text(&["prime"]), "");
            assert_eq!(bd.text(&["prime", "--hook"]), "");
            for event in ["stop", "end", "subagent-start", "subagent-stop"] {
                let run = bd.run_with_input(&["hook", event], br#"{"session_id": "s1", "agent_id": "a7"}"#);
                assert_eq!(
                    (run.exit, run.stdout.as_str(), run.stderr.as_str()),
                    (Some(0), "{}\n", ""),
                    "{event}"
                );
            }
            assert!(!bd.dir().join(".git/beads").exists());
            assert!(bd.daemon_pid().is_none());
        };
        silent();
        bd.create(&["x"]);
        assert!(bd.text(&["prime"]).contains("1 ready"));
        bd.json(&["uninstall"]);
        silent();
    });
}

#[test]
fn prime_finds_the_store_of_a_fresh_clone() {
    let remote = Remote::new();
    let ann = remote.replica(Mode::Embedded);
    ann.create(&["one"]);
    ann.json(&["sync"]);
    both(|ben| {
        let clone = ben.root().join("clone");
        let git = git2::Repository::clone(remote.path().to_str().unwrap(), &clone).unwrap();
        let prime = || ben.text(&["-C", clone.to_str().unwrap(), "prime"]);
        // A clone with a single branch has not fetched the store, and prime does not ask the remote.
        let mut tracked = git.find_reference("refs/remotes/origin/beads/store").unwrap();
        let tip = tracked.target().unwrap();
        tracked.delete().unwrap();
        let mut config = git.config().unwrap();
        config.set_str("remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main").unwrap();
        let text = prime();
        assert!(text.starts_with("# Work is tracked with bd\n\nBeads are"), "{text}");
        assert!(!clone.join(".git/beads").exists());
        config.set_str("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*").unwrap();
        assert_eq!(prime(), "");
        git.reference("refs/remotes/origin/beads/store", tip, false, "fetched").unwrap();
        assert!(prime().contains("1 ready"));
    });
}
