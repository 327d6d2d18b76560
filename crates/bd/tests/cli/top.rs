use crate::sandbox::both;

#[test]
fn without_a_terminal_one_frame_is_printed() {
    both(|bd| {
        bd.run(&["migrate"]);
        bd.create(&["Rotate the keys", "--id", "bd-1"]);
        bd.create(&["Migrate the table", "--id", "bd-2", "--deps", "bd-1"]);
        bd.create(&["Normalise names", "--id", "bd-3", "-p", "1"]);
        bd.create(&["Release 2.4", "--id", "bd-9", "--type", "epic", "-p", "0"]);
        bd.create(&["Publish the draft", "--id", "bd-4", "--parent", "bd-9"]);
        bd.json_as("claude-7", &["claim", "bd-1"]);
        bd.json_as("claude-7", &["ask", "bd-1", "which service?"]);
        bd.json_as("codex-1", &["claim", "bd-3"]);
        let frame = bd.text(&["top"]);
        let lines: Vec<&str> = frame.lines().collect();
        assert_eq!(lines.len(), 24, "{frame}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{frame}");
        assert!(lines[0].contains("1 stuck") && lines[0].contains("1 needs you"), "{frame}");
        assert!(lines[2].starts_with("> you bd-1"), "{frame}");
        assert!(lines[2].contains("asked you at") && lines[2].ends_with("1 wait"), "{frame}");
        assert!(frame.contains(" work codex-1"), "{frame}");
        assert!(
            frame.contains("Publish the draft") && !frame.contains("Release 2.4"),
            "what is handed out: {frame}"
        );
        assert_eq!(bd.text(&["top", "--once"]).lines().count(), 24);
        bd.error(&["top"], "usage");
        bd.error(&["top", "--since", "sometime"], "invalid_value");
    });
}
