//! Long text from standard input, from files and from arguments.

use crate::sandbox::both;

#[test]
fn a_description_comes_from_standard_input_or_a_file() {
    both(|bd| {
        let long = "line\n\tindented — ünïcode\n".repeat(5_000);
        let run = bd.run_with_input(&["create", "a", "-d", "-", "--json"], long.as_bytes());
        assert_eq!(run.succeeded("-d -").value()["description"], long);
        let run = bd.run_with_input(&["create", "b", "--body-file", "-", "--json"], long.as_bytes());
        assert_eq!(run.succeeded("--body-file -").value()["description"], long);

        let file = bd.root().join("text");
        std::fs::write(&file, &long).unwrap();
        let path = file.to_str().unwrap();
        let id = bd.create(&["c", "--body-file", path]);
        assert_eq!(bd.show(&id)["description"], long);
        let id = bd.create(&["d", "-d", &format!("@{path}"), "--design", &format!("@{path}")]);
        assert_eq!(bd.show(&id)["description"], long);
        assert_eq!(bd.show(&id)["design"], long);
        bd.json(&["update", &id, "--body-file", path, "--acceptance", &format!("@{path}")]);
        assert_eq!(bd.show(&id)["acceptance_criteria"], long);
        bd.json(&["note", "add", &id, &format!("@{path}")]);
        assert_eq!(bd.json(&["note", "list", &id])[0]["content"], long);
        bd.json(&["close", &id, "--reason", &format!("@{path}")]);
        assert_eq!(bd.show(&id)["closed_reason"], long);
        let run = bd.run_with_input(&["note", "add", &id, "-", "--json"], b"from a pipe");
        assert_eq!(run.succeeded("note add -").value()["content"], "from a pipe");
    });
}

#[test]
fn an_at_sign_is_a_file_only_with_an_absolute_path() {
    both(|bd| {
        let id = bd.create(&["x", "-d", "@alice said so"]);
        assert_eq!(bd.show(&id)["description"], "@alice said so");
        let before = bd.everything();
        bd.error(&["update", &id, "-d", "@/no/such/file"], "io_error");
        bd.error(&["update", &id, "--body-file", "no-such-file"], "io_error");
        bd.error(&["update", &id, "-d", "x", "--body-file", "y"], "usage");
        assert_eq!(bd.everything(), before);
    });
}

#[test]
fn text_that_is_not_utf8_or_too_long_is_refused() {
    both(|bd| {
        let before = bd.everything();
        let run = bd.run_with_input(&["create", "x", "-d", "-", "--json"], b"caf\xe9");
        run.failed("not UTF-8", "invalid_value");
        let run = bd.run_with_input(&["create", "x", "-d", "-", "--json"], b"nul\0");
        run.failed("NUL", "invalid_value");
        let big = vec![b'x'; 8 * 1024 * 1024 + 1];
        let run = bd.run_with_input(&["create", "x", "-d", "-", "--json"], &big);
        run.failed("8 MiB and one byte", "too_large");
        // Each text is within its limit, but together they exceed the limit of a frame on the socket.
        let file = bd.root().join("big");
        std::fs::write(&file, &big[..7 * 1024 * 1024]).unwrap();
        let at = format!("@{}", file.to_str().unwrap());
        bd.error(&["create", "x", "-d", &at, "--design", &at], "too_large");
        bd.error(&["create", "x", "-d", &at, "--design", &at, "--notes", &at], "too_large");
        assert_eq!(bd.everything(), before);
    });
}

#[test]
fn free_text_never_swallows_flags() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.json(&["note", "add", &id, "hello"]);
        bd.json(&["comment", &id, "hello", "again"]);
        bd.json(&["comments", "add", &id, "-q", "third"]);
        // After `--` everything is text.
        bd.text(&["note", "add", &id, "--", "--json", "-q"]);
        let contents: Vec<_> = bd
            .json(&["note", "list", &id])
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note["content"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(contents, ["hello", "hello again", "third", "--json -q"]);
        bd.error(&["note", "add", &id, "text", "--no-such-flag"], "usage");
    });
}
