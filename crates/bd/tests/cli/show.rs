use crate::sandbox::both;
use crate::schema::check_bead;

#[test]
fn an_array_with_one_element_per_id() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        let one = bd.json(&["show", &a]);
        assert_eq!(crate::sandbox::ids_of(&one), [a.as_str()]);
        let two = bd.json(&["show", &b, &a]);
        assert_eq!(crate::sandbox::ids_of(&two), [b, a]);
        two.as_array().unwrap().iter().for_each(check_bead);
    });
}

#[test]
fn both_ends_of_an_edge_are_shown() {
    both(|bd| {
        let (a, b, epic) = (bd.create(&["a"]), bd.create(&["b"]), bd.create(&["e", "-t", "epic"]));
        bd.json(&["dep", "add", &a, &b]);
        bd.json(&["update", &a, "--parent", &epic]);
        let bead = bd.show(&a);
        check_bead(&bead);
        assert_eq!(bead["dependencies"][0]["id"], b);
        assert_eq!(bead["dependencies"][0]["dependency_type"], "blocks");
        assert_eq!(bead["dependencies"][1]["id"], epic);
        assert_eq!(bead["dependencies"][1]["dependency_type"], "parent-child");
        assert_eq!(bead["dependencies"][1]["kind"], "parent");
        assert_eq!(bd.show(&b)["dependents"][0]["id"], a);
        // A deleted bead is not shown as a neighbour.
        bd.text(&["delete", &b]);
        assert_eq!(bd.show(&a)["dependencies"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn text_has_every_section_that_is_not_empty() {
    both(|bd| {
        let id = bd.create(&[
            "the title",
            "-d",
            "the story",
            "--design",
            "the way",
            "--acceptance",
            "the proof",
            "-l",
            "red",
            "-a",
            "bob",
        ]);
        bd.text(&["note", "add", &id, "the", "note"]);
        bd.text(&["close", &id, "--reason", "the end"]);
        let text = bd.text(&["show", &id]);
        for part in [
            "the title",
            "the story",
            "the way",
            "the proof",
            "#red",
            "@bob",
            "the note",
            "the end",
            "closed",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        let bare = bd.create(&["bare"]);
        let text = bd.text(&["show", &bare]);
        for heading in ["Description", "Design", "Acceptance", "Notes", "Depends", "Closed"] {
            assert!(!text.contains(heading), "{heading:?} is in {text}");
        }
    });
}

#[test]
fn missing_beads_are_named_and_the_others_shown() {
    both(|bd| {
        let a = bd.create(&["a"]);
        let error = bd.error(&["show", &a, "bd-nope", "bd-neither"], "partial_failure");
        assert_eq!(crate::sandbox::ids_of(&error["details"]["succeeded"]), std::slice::from_ref(&a));
        assert_eq!(crate::sandbox::ids_of(&error["details"]["failed"]), ["bd-nope", "bd-neither"]);
        let whole = bd.text(&["show", &a]);
        let run = bd.run(&["show", "bd-nope", &a]);
        assert_eq!((run.exit, run.stdout), (Some(1), whole));
        assert_eq!(run.stderr, "Error: no bead matches \"bd-nope\"\n");
        let run = bd.run(&["show", &a, "bd-nope", "--fields", "id"]);
        assert_eq!(run.stdout.trim_end(), a);
    });
}
