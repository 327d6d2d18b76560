use proptest::prelude::*;
use serde_json::{Value, json};

use super::tour::{Tour, Words, words};

/// The smallest answer of a full view.
const MIN_CHARS: u64 = 64;

/// Asserts that the answer reports its size correctly and stays within its budget.
fn check_budget(tool: &str, max_chars: u64, text: &str) -> Result<(), TestCaseError> {
    let mut envelope: Value = serde_json::from_str(text)
        .map_err(|error| TestCaseError::fail(format!("{tool}: {error}: {text}")))?;
    let budget = envelope["result"].as_object_mut().unwrap().remove("budget").unwrap();
    let used = envelope["result"].to_string().len() as u64;
    let allowed = max_chars.max(MIN_CHARS);
    prop_assert_eq!(&budget["used_chars"], &json!(used), "{} {}", tool, text);
    prop_assert_eq!(&budget["max_chars"], &json!(allowed), "{}", tool);
    prop_assert!(used <= allowed, "{}: {} of {}", tool, used, allowed);
    let warned: Vec<&str> = envelope["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    prop_assert_eq!(warned.contains(&"BUDGET_MIN_CLAMPED"), max_chars < MIN_CHARS, "{:?}", &warned);
    let cut = warned.contains(&"BUDGET_TRUNCATED") || warned.contains(&"BUDGET_MINIMAL");
    prop_assert_eq!(&budget["truncated"], &json!(cut), "{}: {:?}", tool, &warned);
    prop_assert_eq!(&envelope["success"], &json!(true));
    Ok(())
}

fn budgets() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![0_u64..200, 0_u64..3_000, 0_u64..100_000];
    proptest::collection::vec(one, 34..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_full_view_keeps_any_budget(words in words(), budgets in budgets()) {
        let mut tour = Tour::new(&words);
        for ((tool, mut arguments), max_chars) in tour.full_views(&words).into_iter().zip(budgets.into_iter().cycle()) {
            arguments["max_chars"] = json!(max_chars);
            let text = tour.client.call(tool, arguments);
            check_budget(tool, max_chars, &text)?;
        }
    }

    #[test]
    fn every_way_to_read_keeps_every_budget(words in words(), budgets in budgets()) {
        let mut tour = Tour::new(&words);
        let reads = ["beads_show", "beads_list", "beads_ready", "beads_export", "beads_watch", "agent_inbox", "beads_dep_tree"];
        let calls: Vec<_> = tour.full_views(&words).into_iter().filter(|(tool, _)| reads.contains(tool)).collect();
        for (tool, mut arguments) in calls {
            for max_chars in &budgets {
                arguments["max_chars"] = json!(max_chars);
                let text = tour.client.call(tool, arguments.clone());
                check_budget(tool, *max_chars, &text)?;
            }
        }
    }

    #[test]
    fn a_portal_prints_no_more_than_its_budget(words in words(), max_chars in 0_usize..2_000) {
        let mut tour = Tour::new(&words);
        for (tool, mut arguments) in tour.portals(&words) {
            arguments["max_chars"] = json!(max_chars);
            let text = tour.client.call(tool, arguments);
            // The server's own lines, and the first row of a list, do not count against the caller's budget.
            let read: usize = text.lines().filter(|line| line.starts_with("  ")).map(|line| line.len() + 1).sum();
            prop_assert!(read <= max_chars.max(120) + "…".len() + 1, "{}: {} of {}: {}", tool, read, max_chars, text);
        }
    }
}

#[test]
fn invalid_budgets_are_handled() {
    let words = Words { title: "Title".into(), text: "Text. ".repeat(99), label: "label".into(), beads: 4 };
    let mut tour = Tour::new(&words);
    for max_chars in [json!(-1), json!(0.5), json!(null), json!(1e40)] {
        for (tool, arguments) in [("beads_list", json!({})), ("status", json!({"ready": 3}))] {
            let mut arguments = arguments;
            arguments["max_chars"] = max_chars.clone();
            tour.client.call(tool, arguments);
        }
    }
}

/// A list that was cut off can be continued until everything was seen once.
#[test]
fn a_list_that_is_cut_off_continues_with_the_next_call() {
    let words = Words { title: "Title".into(), text: "Text. ".repeat(40), label: "label".into(), beads: 11 };
    let mut tour = Tour::new(&words);
    for first in [
        json!({"max_chars": 900}),
        json!({"limit": 4}),
        json!({"limit": 4, "max_chars": 700, "labels": ["label"]}),
        json!({"query": "title", "limit": 3}),
    ] {
        let tool = if first.get("query").is_some() { "beads_search" } else { "beads_list" };
        let (mut seen, mut next) = (Vec::new(), Some(first.clone()));
        while let Some(arguments) = next {
            let envelope: Value = serde_json::from_str(&tour.client.call(tool, arguments)).unwrap();
            for bead in envelope["result"]["items"].as_array().unwrap() {
                seen.push(bead["id"].as_str().unwrap().to_owned());
            }
            assert!(seen.len() <= tour.ids.len(), "{first}");
            next = envelope["suggestions"].get(0).map(|more| more["params"].clone());
        }
        seen.sort();
        let mut all = tour.ids.clone();
        all.sort();
        assert_eq!(seen, all, "{first}");
    }
    let (mut rows, mut next) = (0, r#"status {"ready":30}"#.to_owned());
    loop {
        let text = tour.client.run(&next);
        rows += text.lines().filter(|line| line.starts_with("  bd-")).count();
        match text.lines().last().and_then(|line| line.strip_prefix("MORE: ")) {
            Some(more) => more.clone_into(&mut next),
            None => break,
        }
    }
    assert_eq!(rows, tour.sandbox.ids(&["ready"]).len());
}
