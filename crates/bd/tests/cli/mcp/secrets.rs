use proptest::prelude::*;
use serde_json::{Value, json};

use super::tour::{Tour, words};

/// A secret in one of the forms of the contract, and the part of it that nobody may see.
fn planted() -> impl Strategy<Value = (String, String)> {
    let secret = "[A-Za-z0-9]{16,24}";
    prop_oneof![
        secret.prop_map(|s| (format!("ghp_{s}"), s)),
        secret.prop_map(|s| (format!("github_pat_{s}"), s)),
        secret.prop_map(|s| (format!("sk-{s}"), s)),
        secret.prop_map(|s| (format!("Authorization: Bearer {s}"), s)),
        secret.prop_map(|s| (format!("https://x.example/?token={s}&a=1"), s)),
        secret.prop_map(|s| (format!("?api_key={s}"), s)),
        secret.prop_map(|s| (format!("password: {s}"), s)),
        secret.prop_map(|s| (format!("CLIENT_SECRET={s}"), s)),
        secret.prop_map(|s| (format!("{{\"access_token\": \"{s}\"}}"), s)),
        secret.prop_map(|s| (format!("{{\"tokens\": [\"{s}\", 1]}}"), s)),
    ]
}

/// The whole of what the server writes in answer.
fn wire(tour: &mut Tour, tool: &str, arguments: &Value) -> String {
    tour.client.ask("tools/call", json!({"name": tool, "arguments": arguments})).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_leaves_through_any_tool(
        mut words in words(), (in_title, first) in planted(), (in_text, second) in planted(), pem in "[A-Za-z0-9+/]{48}",
        max_chars in prop_oneof![Just(1_000_000_u64), 0_u64..2_000],
    ) {
        words.title = format!("Rotate {in_title}");
        words.text = format!("{} {in_text} {}\n-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n", words.text, "word ".repeat(30));
        let mut tour = Tour::new(&words);
        let mut calls = [tour.full_views(&words), tour.portals(&words)].concat();
        // Refusals tell back what was wrong.
        calls.push(("beads_show", json!({"id": in_title})));
        calls.push(("beads_dep_add", json!({"from": tour.ids[0], "to": tour.ids[1], "kind": in_text})));
        calls.push(("beads_update", json!({"id": tour.ids[0], "status": in_text})));
        calls.push(("beads_list", json!({in_text.clone(): 1})));
        calls.push(("next", json!({"id": in_text})));
        calls.push(("make", json!({"title": "x", "type": in_title})));
        calls.push(("mail", json!({"to": in_title, "subject": "x"})));
        for (tool, mut arguments) in calls {
            arguments["max_chars"] = json!(max_chars);
            let answer = wire(&mut tour, tool, &arguments);
            for secret in [&first, &second, &pem] {
                prop_assert!(!answer.contains(secret.as_str()), "{} lets {} out: {}", tool, secret, answer);
            }
        }
        // What is stored is untouched.
        let kept = tour.sandbox.json(&["list"]).to_string();
        prop_assert!(kept.contains(&first) && kept.contains(&second));
    }
}
