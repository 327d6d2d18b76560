use serde_json::json;

use crate::sandbox::{Sandbox, both};

fn graph(bd: &Sandbox, graph: &serde_json::Value, more: &[&str]) -> crate::sandbox::Run {
    let args = [&["create", "--graph", "-", "--json"], more].concat();
    bd.run_with_input(&args, graph.to_string().as_bytes())
}

#[test]
fn many_beads_with_names_parents_and_edges() {
    both(|bd| {
        bd.create(&["there before", "--id", "bd-old"]);
        let file = json!({
            "beads": [
                {"name": "test", "title": "Test it", "parent": "epic", "deps": ["build", "related:bd-old"]},
                {"name": "build", "title": "Build it", "parent": "epic", "priority": 0, "labels": ["x"]},
                {"name": "epic", "title": "All of it", "type": "epic"},
                {"title": "Without a name", "estimated_minutes": 30},
            ],
            "edges": [{"from": "bd-old", "to": "test"}],
        });
        let dry = graph(bd, &file, &["--dry-run"]).succeeded("dry run").value();
        assert_eq!(dry["results"].as_array().unwrap().len(), 7);
        assert_eq!(bd.ids(&["list"]), ["bd-old"]);

        let made = graph(bd, &file, &[]).succeeded("graph").value();
        let id = |name: &str| made["ids"][name].as_str().unwrap().to_owned();
        assert!(id("test").starts_with(&format!("{}.", id("epic"))), "{made}");
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 5);
        assert_eq!(bd.show(&id("build"))["priority"], 0);
        assert_eq!(bd.json(&["dep", "list", &id("test")])[0]["id"], id("build").as_str());
        assert_eq!(bd.json(&["blocked", "--id", "bd-old"])[0]["blocked_by"], json!([id("test")]));
        assert_eq!(made["results"][0]["dependents"].as_array().map(Vec::len), Some(2), "as it is at the end");
        let text = bd.run_with_input(&["create", "--graph", "-"], br#"{"beads":[{"title":"one more"}]}"#);
        assert!(text.stdout.starts_with("created "), "{text:?}");
    });
}

#[test]
fn one_mistake_prevents_all_creations() {
    both(|bd| {
        bd.create(&["there before", "--id", "bd-old"]);
        let before = bd.everything();
        let bead = |name: &str, more: serde_json::Value| {
            let mut bead = json!({"name": name, "title": name});
            bead.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            bead
        };
        let (a, b) = (bead("a", json!({})), bead("b", json!({})));
        let circle = json!({"beads": [a, b], "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]});
        let cases = [
            (circle, "cycle"),
            (json!({"beads": [a, bead("b", json!({"deps": ["bd-nowhere"]}))]}), "not_found"),
            (json!({"beads": [a, bead("b", json!({"id": "bd-old"}))]}), "id_taken"),
            (json!({"beads": [a, a]}), "invalid_value"),
            (json!({"beads": [a, bead("b", json!({"colour": "red"}))]}), "invalid_value"),
            (
                json!({"beads": [bead("a", json!({"parent": "b"})), bead("b", json!({"parent": "a"}))]}),
                "invalid_value",
            ),
            (json!({"beads": []}), "usage"),
            (json!([]), "invalid_value"),
        ];
        for (file, code) in cases {
            let error = graph(bd, &file, &[]).failed(&file, code);
            if code == "cycle" {
                assert_eq!(error["details"]["index"], 3, "{error}");
                assert!(error["message"].as_str().unwrap().contains("nothing was changed"), "{error}");
            }
            assert_eq!(bd.everything(), before, "{file}");
        }
        bd.error(&["create", "a title", "--graph", "-"], "usage");
        bd.error(&["create", "--graph", "/no/such/file"], "io_error");
    });
}

/// Beads of a Markdown plan refer to each other by name.
#[test]
fn a_markdown_plan_with_names_and_estimates() {
    both(|bd| {
        let page = "## Test it\n### Parent\nall\n### Dependencies\n- build\n### Estimate\n90m\n\
                    ## Build it\n### Name\nbuild\n### Parent\nall\n### Estimate\n45\n\
                    ## All of it\n### Name\nall\n### Type\nepic\n";
        let made =
            bd.run_with_input(&["create", "-f", "-", "--json"], page.as_bytes()).succeeded("plan").value();
        let id = |name: &str| made["ids"][name].as_str().unwrap().to_owned();
        assert_eq!(bd.ids(&["children", &id("all")]).len(), 2);
        let blocked = bd.json(&["blocked", "--fields", "title,blocked_by,estimated_minutes"]);
        assert_eq!(
            blocked[0],
            json!({"title": "Test it", "blocked_by": [id("build")], "estimated_minutes": 90})
        );
        assert_eq!(bd.show(&id("build"))["estimated_minutes"], 45);
        // A title serves as a name, too.
        let titles = "## Write it\n### Parent\nThe whole\n### Deps\nPlan it\n## Plan it\n## The whole\n";
        let made = bd.run_with_input(&["create", "-f", "-", "--json"], titles.as_bytes()).succeeded("titles");
        let ids = &made.value()["ids"];
        assert_eq!(bd.show(ids["Write it"].as_str().unwrap())["parent"], ids["The whole"]);
        let blocked = bd.json(&["blocked", "--fields", "title,blocked_by"]);
        let expected = json!({"title": "Write it", "blocked_by": [ids["Plan it"]]});
        assert!(blocked.as_array().unwrap().contains(&expected), "{blocked}");
        let before = bd.everything();
        let twice = "## A\n### Name\nx\n## B\n### Name\nx\n";
        assert_eq!(bd.run_with_input(&["create", "-f", "-"], twice.as_bytes()).exit, Some(2));
        assert_eq!(bd.everything(), before);
    });
}
