use serde_json::json;

use crate::sandbox::both;

#[test]
fn tracks_respect_dependencies() {
    both(|bd| {
        let file = json!({"beads": [
            {"name": "a", "id": "bd-a", "title": "first", "estimated_minutes": 30},
            {"name": "b", "id": "bd-b", "title": "second", "estimated_minutes": 10, "deps": ["a"]},
            {"name": "c", "id": "bd-c", "title": "beside"},
            {"name": "d", "id": "bd-d", "title": "some day", "defer_until": 4_000_000_000_000_u64},
            {"name": "e", "id": "bd-e", "title": "after some day", "deps": ["d"]},
        ]});
        bd.run_with_input(&["create", "--graph", "-", "--json"], file.to_string().as_bytes())
            .succeeded("graph");
        let plan = bd.json(&["plan", "--workers", "2", "--default-minutes", "25"]);
        assert_eq!((&plan["minutes"], &plan["critical_minutes"]), (&json!(40), &json!(40)));
        assert_eq!(plan["critical_path"], json!(["bd-a", "bd-b"]));
        assert_eq!(crate::sandbox::ids_of(&plan["tracks"][0]["beads"]), ["bd-a", "bd-b"]);
        assert_eq!(plan["tracks"][0]["beads"][1]["waits_for"], json!(["bd-a"]));
        assert_eq!(crate::sandbox::ids_of(&plan["tracks"][1]["beads"]), ["bd-c"]);
        assert_eq!(crate::sandbox::ids_of(&plan["left_out"]), ["bd-d", "bd-e"]);
        assert_eq!(plan["left_out"][1]["reason"], "deferred");
        let text = bd.text(&["plan", "-w", "2"]);
        assert!(text.contains("* critical path") && text.contains("left out bd-e"), "{text}");
        bd.error(&["plan", "--workers", "0"], "invalid_value");
    });
}
