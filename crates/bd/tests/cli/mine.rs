use crate::sandbox::both;

#[test]
fn mine_lists_what_i_hold_and_what_is_assigned_to_me() {
    both(|bd| {
        bd.create(&["assigned", "--id", "bd-1", "-a", "me"]);
        bd.create(&["held", "--id", "bd-2", "-p", "4"]);
        bd.create(&["finished", "--id", "bd-3", "-a", "me"]);
        bd.create(&["of bob", "--id", "bd-4", "-a", "bob"]);
        bd.create(&["free", "--id", "bd-5"]);
        bd.json(&["claim", "bd-2"]);
        bd.json(&["close", "bd-3"]);
        assert_eq!(bd.ids(&["mine"]), ["bd-2", "bd-1"]);
        assert_eq!(bd.ids(&["--actor", "bob", "mine"]), ["bd-4"]);
        assert_eq!(bd.text(&["mine", "--fields", "id"]), "bd-2\nbd-1\n");
    });
}
