//! A line on the daemon's socket. Its mutations are applied to a store.

use beads_engine::request::{Call, Request};
use beads_store::Caller;

use super::check_round_trip;
use crate::sample::machine_with_history;

/// Returns some requests.
pub fn corpus() -> Vec<Vec<u8>> {
    let calls = [
        r#"{"mutate":{"ops":[{"op":"create","title":"x","id":"bd-7","priority":1,"labels":["a"]}]}}"#,
        r#"{"mutate":{"ops":[{"op":"update","id":"bd-x1","title":"y","priority":0,"status":"closed"}]}}"#,
        r#"{"mutate":{"ops":[{"op":"note_add","id":"bd-x1","content":"n"}],"dry_run":true}}"#,
        r#"{"mutate":{"ops":[{"op":"claim","id":"bd-x2","lease_ms":60000}],"many":true}}"#,
        r#"{"atomic":{"ops":[{"op":"create","title":"z"},{"op":"close","id":"n"}],"names":{"n":0}}}"#,
        r#"{"query":{"show":{"ids":["bd-1","bd-2"]}}}"#,
        r#"{"query":{"list":{"limit":5}}}"#,
        r#"{"query":"status"}"#,
        r#"{"wait":{"ms":1000,"call":{"query":{"events":{"since":null}}}}}"#,
        r#"{"init":{"prefix":"bd"}}"#,
        r#""sync""#,
        r#""daemon_status""#,
    ];
    let line = |call| {
        format!(
            r#"{{"client":"0.10.0","actor":"ann","request_id":"r1","call":{call},"output":{{"format":"json"}}}}"#
        )
    };
    calls.into_iter().map(|call| line(call).into_bytes()).collect()
}

/// Parses the request, and applies its mutations.
pub fn run(bytes: &[u8]) {
    let Ok(request) = serde_json::from_slice::<Request>(bytes) else { return };
    check_round_trip(&request);
    let Call::Mutate(mutate) = &request.call else { return };
    let machine = machine_with_history(1);
    let mut replica = machine.replica.expect("it is open");
    let caller = Caller { actor: request.actor, branch: request.branch, lease_ms: 1_000, request: None };
    for op in &mutate.ops {
        // Whether refused or applied, the store must stay readable.
        let _ = replica.apply(op, &caller);
    }
    let encoded = replica.catalog().state().encode();
    assert!(encoded.decode().expect("a valid store").state.encode() == encoded);
}
