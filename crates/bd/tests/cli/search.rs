use crate::sandbox::both;

#[test]
fn text_is_found_in_title_description_notes_and_id_in_any_case() {
    both(|bd| {
        bd.create(&["Login LOOP", "--id", "bd-1"]);
        bd.create(&["other", "--id", "bd-2", "-d", "the loop again"]);
        bd.create(&["third", "--id", "bd-3"]);
        bd.create(&["fourth", "--id", "bd-loopy"]);
        bd.create(&["fifth", "--id", "bd-5", "--design", "loop"]);
        bd.json(&["note", "add", "bd-3", "saw the Loop on main"]);
        assert_eq!(bd.ids(&["search", "loop"]), ["bd-1", "bd-2", "bd-3", "bd-loopy"]);
        assert_eq!(bd.ids(&["search", "the", "LOOP"]), ["bd-2", "bd-3"]);
        assert_eq!(bd.ids(&["search", "loop", "--title-contains", "log"]), ["bd-1"]);
        bd.json(&["close", "bd-1"]);
        assert_eq!(bd.ids(&["search", "loop", "--status", "closed"]), ["bd-1"]);
        assert_eq!(bd.ids(&["search", "loop", "--sort", "id", "--reverse", "-n", "1"]), ["bd-loopy"]);
        assert_eq!(bd.ids(&["search", "nothing like it"]), Vec::<String>::new());
        assert!(bd.text(&["search", "third"]).contains("bd-3"));
        bd.error(&["search", " "], "invalid_value");
    });
}
