use crate::sandbox::both;

#[test]
fn creating_a_store_twice_succeeds() {
    both(|bd| {
        let first = bd.json(&["init"]);
        assert_eq!(first["prefix"], "bd");
        let id = bd.create(&["x"]);
        let second = bd.run(&["init", "--prefix", "app", "--json"]).value();
        assert_eq!(second["prefix"], "app");
        assert_eq!(bd.json(&["init"])["prefix"], "app", "the chosen prefix is kept");
        assert_eq!(bd.show(&id)["title"], "x");
        assert!(bd.create(&["y"]).starts_with("app-"));
        assert!(bd.text(&["init"]).contains("app-"));
        assert_eq!(bd.text(&["init", "-q"]), "");
        bd.error(&["init", "--prefix", "Not Good"], "invalid_value");
        assert!(bd.repository().find_reference("refs/heads/beads/store").is_ok());
    });
}

#[test]
fn no_command_needs_init() {
    both(|bd| {
        assert_eq!(bd.json(&["list"]), serde_json::json!([]));
        bd.create(&["x"]);
    });
}
