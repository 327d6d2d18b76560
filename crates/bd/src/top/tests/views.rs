//! *Needs you* and *Last night*.

use super::super::night::Missing;
use super::super::screen::View;
use super::*;

#[test]
fn what_needs_you_and_the_last_night_are_views_of_their_own() {
    for size in [(160, 45), (80, 24)] {
        let mut screen = screen();
        press(&mut screen, "2");
        let text = drawn(&mut screen, size).join("\n");
        for expected in
            ["─ needs you 7 ─", "> you bd-auth.9", " gone bd-q3m", " both bd-imp.6", " late bd-rel.10"]
        {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
        assert!(!text.contains("bd-nx.1 "), "what is assigned to others does not need the reader:\n{text}");
        press(&mut screen, "3");
        let text = drawn(&mut screen, size).join("\n");
        for expected in [
            "57 beads closed in 9 h 12 by 13 of 18 agents; 0 created, none reopened.",
            "question waits for you",
            "   57   45 min  ...",
            "─ incidents 2 ─",
            "sync 06:58",
            "you 01:14",
        ] {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
        assert_eq!(screen.view, View::Night);
        press(&mut screen, "1");
        assert!(drawn(&mut screen, size).join("\n").contains("─ stuck 3 ─"));
    }
}

#[test]
fn what_is_missing_is_said() {
    let mut beads = beads();
    let month = 31 * 1_440 * MINUTE;
    for number in 0..120 {
        let old = json!({"priority": 4, "created": NOW - month, "updated": NOW - month});
        beads.push(bead(&format!("bd-old-{number}"), "Some day", &old));
    }
    let mut screen = Screen::default();
    let mut snapshot = night_with(beads);
    snapshot.night.missing = Some(Missing::Before(NOW - 200 * MINUTE));
    screen.update(snapshot);
    press(&mut screen, "2");
    let lines = drawn(&mut screen, (160, 45));
    assert!(lines[0].contains("127 need you"), "the beads that are not listed count: {}", lines[0]);
    assert!(lines.iter().any(|line| line.trim() == "20 of 120 stale beads are listed"), "{lines:#?}");
    press(&mut screen, "3");
    let text = drawn(&mut screen, (80, 24)).join("\n");
    assert!(text.contains("newest first; the log begins at 04:22"), "{text}");
    screen.snapshot.night.missing = Some(Missing::Gap);
    let text = drawn(&mut screen, (80, 24)).join("\n");
    assert!(text.contains("newest first; the log has a gap"), "{text}");
}
