use proptest::prelude::*;
use serde_json::{Value, json};

use super::tour::{Tour, words};

/// Returns a secret in every form that the contract lists.
fn forms(secret: &str) -> [String; 10] {
    [
        format!("ghp_{secret}"),
        format!("github_pat_{secret}"),
        format!("sk-{secret}"),
        format!("Authorization: Bearer {secret}"),
        format!("https://x.example/?token={secret}&a=1"),
        format!("?api_key={secret}"),
        format!("password: {secret}"),
        format!("CLIENT_SECRET={secret}"),
        format!("{{\"access_token\": \"{secret}\"}}"),
        format!("{{\"tokens\": [\"{secret}\", 1]}}"),
    ]
}

/// Returns a text that contains each secret in another form, and a private key.
fn planted(secrets: &[String], words: &str) -> String {
    let mut text = String::new();
    for (index, secret) in secrets.iter().enumerate() {
        text += &format!("{words} {} and\n", forms(secret)[index % 10]);
    }
    text
}

/// Returns the whole answer of the server, as text.
fn wire(tour: &mut Tour, tool: &str, arguments: &Value) -> String {
    tour.client.ask("tools/call", json!({"name": tool, "arguments": arguments})).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_leaves_through_any_tool(
        mut words in words(), secrets in proptest::collection::vec("[A-Za-z0-9]{16,24}", 11), form in 0_usize..10,
        pem in "[A-Za-z0-9+/]{48}", max_chars in prop_oneof![Just(1_000_000_u64), 0_u64..4_000],
    ) {
        let in_title = forms(&secrets[10])[form].clone();
        let in_text = forms(&secrets[form])[form].clone();
        words.title = format!("Rotate {in_title}");
        words.text = planted(&secrets[..10], words.text.get(..40).unwrap_or_default())
            + &format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n");
        let mut tour = Tour::new(&words);
        let mut calls = [tour.full_views(&words), tour.portals(&words)].concat();
        // Refusals quote the wrong value.
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
            for secret in secrets.iter().chain([&pem]) {
                prop_assert!(!answer.contains(secret.as_str()), "{} lets {} out: {}", tool, secret, answer);
            }
        }
        // The stored text is unchanged.
        let kept = tour.sandbox.json(&["list"]).to_string();
        prop_assert!(secrets.iter().all(|secret| kept.contains(secret)));
    }
}
