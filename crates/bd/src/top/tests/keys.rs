//! What the keys do.

use super::super::screen::Mode;
use super::*;

/// Presses keys that make a change. Returns what is said then, and the call.
fn change(screen: &mut Screen, keys: &str) -> (String, String) {
    let Some(Request::Change(said, call)) = press(screen, keys) else { panic!("{keys:?} changes nothing") };
    (said, serde_json::to_string(&call).unwrap())
}

#[test]
fn tab_goes_to_the_next_list() {
    let mut screen = screen();
    drawn(&mut screen, (160, 45));
    let mut places = vec![screen.selected];
    for _ in 0..4 {
        screen.key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
        places.push(screen.selected);
    }
    // Stuck, agents, what else needs you, next, and stuck again.
    assert_eq!(places, [0, 3, 21, 24, 0]);
    // On a narrow screen, what else needs you is not shown.
    drawn(&mut screen, (80, 24));
    press(&mut screen, "j");
    for _ in 0..2 {
        screen.key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
    }
    assert_eq!(screen.selected, 21);
    assert!(matches!(press(&mut screen, "\n"), Some(Request::Open(id, _)) if id == "bd-nx.1"));
}

#[test]
fn keys_move_open_and_act() {
    let mut screen = screen();
    press(&mut screen, "jjjk");
    assert_eq!(screen.selected, 2);
    press(&mut screen, "kkk");
    assert_eq!(screen.selected, 0);
    // A question is answered in place; other rows open their bead.
    let (done, call) = change(&mut screen, "\nkms-eu\n");
    assert_eq!(done, "answered bd-auth.9");
    assert!(call.contains("kms-eu"), "{call}");
    assert!(matches!(press(&mut screen, "j\n"), Some(Request::Open(id, _)) if id == "bd-auth.2"));
    for (key, expected) in [
        ("tbecause", "took bd-auth.2 back"),
        ("xbecause", "closed bd-auth.2"),
        ("mbecause", "message to claude-7"),
        ("nbecause", "added a note to bd-auth.2"),
        ("p0", "set bd-auth.2 to P0"),
        ("cA new bead", "created \"A new bead\""),
    ] {
        let request = press(&mut screen, &format!("{key}\n"));
        assert!(
            matches!(&request, Some(Request::Change(done, _)) if done.starts_with(expected)),
            "{key}: {request:?}"
        );
    }
    // An empty line changes nothing, and esc leaves the line.
    assert!(press(&mut screen, "p7\n").is_none() && screen.message.is_some());
    assert!(press(&mut screen, "x\n").is_none() && press(&mut screen, "xwhy\u{1b}").is_none());
    assert_eq!(screen.mode, Mode::List);
    assert!(matches!(press(&mut screen, "u"), Some(Request::Change(..))));
    assert!(matches!(press(&mut screen, "q"), Some(Request::Quit)));
    press(&mut screen, "?");
    assert!(drawn(&mut screen, (80, 24)).join("\n").contains("take the bead back"));
}

#[test]
fn finding_keeps_matching_rows_and_the_selection_follows_its_bead() {
    let mut screen = screen();
    assert!(matches!(press(&mut screen, "/refund\n"), Some(Request::Refresh)));
    screen.update(night());
    assert_eq!((screen.snapshot.stuck.len(), screen.snapshot.agents.len()), (0, 1));
    press(&mut screen, "\u{1b}");
    screen.update(night());
    press(&mut screen, "j");
    let mut later = night();
    later.stuck.remove(0);
    let before = screen.rows()[screen.selected].clone();
    screen.update(later);
    assert_eq!(screen.rows()[screen.selected], before);
}

#[test]
fn a_close_is_checked_and_a_claim_is_taken_back_only_if_it_is_the_one_shown() {
    let mut screen = screen();
    let (_, close) = change(&mut screen, "jxdone by hand\n");
    assert!(close.contains("bd-auth.2") && !close.contains("force"), "{close}");
    let (_, taken) = change(&mut screen, "tno note\n");
    let fence = format!("\"fence\":\"{}.0\"", NOW - 231 * MINUTE);
    assert!(taken.contains(&fence), "{fence}: {taken}");
    // The agents show the same claim: three stuck beads and the agent that is gone come first.
    let (_, taken) = change(&mut screen, "jjjtno note\n");
    assert!(taken.contains("bd-auth.2") && taken.contains(&fence), "{taken}");
    // The agent that asks holds nothing.
    press(&mut screen, "kkkk");
    assert!(press(&mut screen, "t").is_none());
    assert_eq!((&screen.mode, screen.footnote()), (&Mode::List, Some("this bead has no holder")));
}

#[test]
fn a_long_message_is_shown_whole() {
    let mut screen = screen();
    let way_out = "To close it anyway: bd close bd-auth.12 --force";
    screen.message =
        Some(format!("Error: bd-auth.12 is blocked by bd-auth.10; nothing was changed. {way_out}"));
    let lines = drawn(&mut screen, (80, 24));
    assert!(lines.len() == 24 && lines[22..].join(" ").contains(way_out), "{lines:?}");
}
