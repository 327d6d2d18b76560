//! Renewing, losing and reclaiming leases.

use serde_json::{Value, json};

use crate::sandbox::{ACTOR, Mode, Sandbox, both, ids_of, wait_until};

fn ms(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

#[test]
fn renewing_moves_the_end_and_keeps_the_fence() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        let first = bd.json(&["claim", &a, "--lease", "1h"]);
        let fence = first["fence"].as_str().unwrap();
        let renewed = bd.json(&["renew", &a, "--lease", "9h", "--fence", fence])[0].clone();
        assert_eq!((&renewed["fence"], &renewed["renewed"]), (&first["fence"], &true.into()));
        assert!(ms(&renewed["assignee_expires"]) > ms(&first["assignee_expires"]) + 7 * 3_600_000);
        // All beads that the caller holds, and no others.
        bd.json(&["claim", &b, "--lease", "1h"]);
        let other = bd.create(&["c"]);
        bd.json_as("bob", &["claim", &other]);
        let mut ids = ids_of(&bd.json(&["renew", "--lease", "12h"]));
        ids.sort();
        let mut held = vec![a.clone(), b.clone()];
        held.sort();
        assert_eq!(ids, held);
        assert!(bd.text(&["renew", &a]).starts_with(&format!("renewed {a}: a (until ")));
        // Only the holder can renew a claim, and only while it lasts.
        assert_eq!(bd.error(&["renew", &other], "not_holder")["details"]["holder"], "bob");
        bd.json(&["unclaim", &b]);
        bd.error(&["renew", &b], "stale_claim");
        bd.error(&["renew", &a, "--fence", "1.1"], "stale_claim");
        bd.json(&["close", &a]);
        bd.error(&["renew", &a], "closed");
        bd.error(&["renew", "--fence", "1.1"], "usage");
        assert_eq!(bd.json_as("nobody", &["renew"]), json!([]));
    });
}

#[test]
fn an_expired_lease_is_renewed_unless_the_bead_was_claimed() {
    both(|bd| {
        let id = bd.create(&["a"]);
        let mine = bd.json(&["claim", &id, "--lease", "1ms"]);
        wait_until("the lease runs out", || bd.ids(&["ready"]).contains(&id));
        assert_eq!(bd.json(&["renew", &id, "--lease", "1ms"])[0]["fence"], mine["fence"]);
        wait_until("it runs out again", || bd.ids(&["ready"]).contains(&id));
        bd.json_as("bob", &["claim", &id]);
        assert_eq!(bd.error(&["renew", &id], "not_holder")["details"]["holder"], "bob");
    });
}

#[test]
fn expired_claims_are_reclaimed_with_a_note() {
    both(|bd| {
        let (gone, held) = (bd.create(&["gone"]), bd.create(&["held"]));
        bd.json(&["claim", &gone, "--lease", "1ms"]);
        bd.json(&["claim", &held]);
        wait_until("the lease runs out", || bd.ids(&["ready"]).contains(&gone));
        bd.error(&["reclaim"], "usage");
        let before = bd.everything();
        assert_eq!(bd.json(&["reclaim", "--expired", "--dry-run"])[0]["id"], *gone);
        assert_eq!(bd.everything(), before);
        let back = bd.json_as("bob", &["reclaim", "--expired"]);
        assert_eq!((back.as_array().unwrap().len(), &back[0]["id"]), (1, &gone.as_str().into()));
        let bead = bd.show(&gone);
        assert_eq!((&bead["status"], &bead["assignee"]), (&"open".into(), &Value::Null));
        let note = bead["notes"][0]["content"].as_str().unwrap();
        assert!(note.starts_with(&format!("reclaimed: the lease of {ACTOR} ran out at 2")), "{note}");
        assert_eq!(bd.json(&["reclaim", "--expired"]), json!([]));
        // Using force requires a reason, which is recorded.
        bd.error_as("bob", &["unclaim", &held, "--force"], "usage");
        bd.json_as("bob", &["unclaim", &held, "--force", "--reason", "ann is away"]);
        assert_eq!(bd.show(&held)["notes"][0]["content"], "ann is away");
    });
}

/// Two clones of one repository, each with its own store.
struct Team {
    bd: Sandbox,
    elsewhere: std::path::PathBuf,
}

impl Team {
    fn new(mode: Mode) -> Self {
        let bd = Sandbox::new(mode);
        let origin = bd.root().join("origin.git");
        git2::Repository::init_bare(&origin).unwrap();
        bd.repository().remote("origin", origin.to_str().unwrap()).unwrap();
        let elsewhere = bd.root().join("elsewhere");
        let team = Self { bd, elsewhere };
        let clone = git2::Repository::init(&team.elsewhere).unwrap();
        clone.remote("origin", origin.to_str().unwrap()).unwrap();
        for key in ["sync.interval", "sync.quiet", "sync.max_delay"] {
            team.bd.text(&["config", "set", key, "1h"]);
            team.there(&["config", "set", key, "1h"]);
        }
        team
    }

    fn there(&self, args: &[&str]) -> Value {
        self.bd.json(&[&["-C", self.elsewhere.to_str().unwrap(), "--actor", "bob"], args].concat())
    }
}

#[test]
fn a_claim_is_confirmed_or_the_faster_one_named() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let team = Team::new(mode);
        let bd = &team.bd;
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        bd.json(&["sync"]);
        team.there(&["sync"]);
        let claimed = bd.json(&["claim", &a, "--confirm"]);
        assert_eq!((&claimed["id"], &claimed["confirmed_by"]), (&a.as_str().into(), &"origin".into()));
        assert!(claimed["fence"].is_string() && claimed["brief"].is_object());
        // Both claim b; the one that the remote saw first wins.
        bd.json(&["claim", &b]);
        let theirs = team.there(&["claim", &b, "--confirm"]);
        assert_eq!(theirs["assignee"], "bob");
        team.there(&["sync"]);
        bd.json(&["sync"]);
        let lost = bd.show(&b)["assignee"] == "bob";
        assert!(lost, "bob claimed later");
        // The loser is informed: by an event, in the status, among the conflicts, and when it uses its fence.
        let status = bd.json(&["status"]);
        let lost = &status["sync"]["lost_claims"][0];
        assert_eq!((&lost["id"], &lost["holder"]), (&b.as_str().into(), &ACTOR.into()));
        assert_eq!(lost["won_by"], "bob");
        let text = bd.text(&["status"]);
        assert!(text.contains(&format!("claim lost: {b}, held by {ACTOR}, was won by bob\n")), "{text}");
        let events = bd.text(&["watch", "--since", "0", "--timeout", "0", "--json"]);
        let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let conflict = events.iter().find(|event| event["type"] == "conflict").unwrap();
        assert_eq!((&conflict["id"], &conflict["fields"]), (&b.as_str().into(), &json!(["assignee"])));
        assert_eq!((&conflict["by"], &conflict["won_by"]), (&ACTOR.into(), &"bob".into()));
        assert!(events.iter().any(|event| event["type"] == "synced" && event["pulled"] == true));
        assert!(events.iter().any(|event| event["type"] == "claimed" && event["assignee"] == "bob"));
        bd.error(&["renew", &b], "not_holder");
        // A claim that cannot be confirmed is not made.
        std::fs::remove_dir_all(bd.root().join("origin.git")).unwrap();
        let c = bd.create(&["c"]);
        let run = bd.run(&["claim", &c, "--confirm", "--json"]);
        assert_ne!(run.exit, Some(0));
        assert_eq!(run.value()["error"]["code"], "network_error");
        assert_eq!(bd.show(&c)["status"], "open");
    }
}
