//! How often a machine pushes.

use crate::sandbox::{Mode, wait_until};
use crate::sync::Remote;

#[test]
fn automatic_pushes_wait_for_the_budget_and_explicit_ones_do_not() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Daemon);
    assert!(bd.json(&["status"])["sync"].get("push_budget").is_none(), "a path has no limit");
    bd.json(&["config", "set", "sync.push_rate", "1"]);
    bd.json(&["config", "set", "sync.quiet", "5ms"]);
    bd.create(&["first"]);
    bd.json(&["sync"]);
    bd.create(&["second"]);
    wait_until("the change waits for the budget", || {
        let sync = &bd.json(&["status"])["sync"];
        sync["push_budget"]["waits_ms"].is_u64()
            && sync["unsynced"] == 1
            && sync["oldest_unsynced_ms"].is_u64()
    });
    let text = bd.text(&["status"]);
    assert!(
        text.contains(
            "push budget: 1 per minute for 1 active, 1 used here in the last minute, next push in "
        ),
        "{text}"
    );
    bd.json(&["sync"]);
    let sync = &bd.json(&["status"])["sync"];
    assert_eq!((&sync["unsynced"], &sync["push_budget"]["last_minute"]), (&0.into(), &2.into()), "{sync}");
    bd.error(&["config", "set", "sync.push_rate", "many"], "invalid_value");
}
