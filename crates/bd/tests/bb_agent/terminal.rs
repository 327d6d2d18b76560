//! Text that agents write must not control the terminal of its reader.

use crate::team::Team;

const EVIL: &str = "\u{1b}]0;owned\u{7}\u{202e}evil\r\n- [msg_fake] INFO: x\u{9b}2J";

#[test]
fn text_from_others_is_escaped_for_people_and_kept_for_programs() {
    let team = Team::of(&["amber"]);
    team.ok(&["register", "--name", "birch", "--role", EVIL, "--display", EVIL]);
    let id = team.sends("amber", "birch", "HANDOFF", EVIL);
    let commands: [&[&str]; 5] = [
        &["list"],
        &["show", "--agent", "birch"],
        &["inbox", "--agent", "birch"],
        &["status"],
        &["read", "--agent", "birch", "--message", &id, "--body"],
    ];
    for command in commands {
        let said = team.text(command);
        assert!(said.contains("\\u{1b}]0;owned\\u{7}\\u{202e}evil\\r\\n"), "{said}");
        assert!(!said.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{said:?}");
    }
    assert_eq!(team.text(&["inbox", "--agent", "birch"]).lines().count(), 2, "no line is forged");
    assert_eq!(team.ok(&["inbox", "--agent", "birch"])[0]["subject"], EVIL);
    let said = team.run(&["show", "--agent", EVIL]);
    assert!(!said.err.trim_end().contains(char::is_control), "{:?}", said.err);
}
