//! Whole screens, drawn into a buffer.

use beads_core::query::WorkerState;
use beads_engine::request::{LocalClock, Zone};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::draw::{Look, draw};
use super::screen::{Mode, Request, Screen};
use super::snapshot::{Agent, Epic, Need, Next, NoteLine, Snapshot, Stuck, SyncTrouble, Why};

/// 2026-11-17, 07:42:00 UTC.
const NOW: u64 = 1_794_901_320_000;
const MINUTE: u64 = 60_000;

fn look(color: bool) -> Look {
    Look { color, clock: LocalClock { now_ms: NOW, zone: Zone::from("UTC".to_owned()) } }
}

fn stuck(word: &'static str, id: &str, title: &str, why: Why, waiting: usize) -> Stuck {
    Stuck {
        word,
        id: id.into(),
        title: title.into(),
        why,
        detail: format!("more about {id}"),
        waiting,
        question: (word == "you").then(|| "3f2a".into()),
        holder: Some("claude-7".into()),
    }
}

fn agent(state: WorkerState, name: &str, id: &str, title: &str, minutes: (u64, u64)) -> Agent {
    Agent {
        state,
        name: name.into(),
        id: (!id.is_empty()).then(|| id.into()),
        title: title.into(),
        seen_ms: Some(NOW - minutes.0 * MINUTE),
        since_ms: (!id.is_empty()).then(|| NOW - minutes.1 * MINUTE),
    }
}

fn night() -> Snapshot {
    let working = (1..=15).map(|number| {
        agent(WorkerState::Working, &format!("claude-{number:02}"), "bd-led.7", "Reopen a period", (2, 76))
    });
    let mut agents = vec![
        agent(WorkerState::Dead, "gemini-2", "bd-q3m", "Double charge when a refund is retried", (71, 98)),
        agent(WorkerState::Hung, "claude-7x", "bd-auth.2", "Migrate the session table to v3", (3, 231)),
    ];
    agents.extend(working);
    agents.push(agent(WorkerState::Idle, "codex-4", "", "waits for work, closed 3", (0, 0)));
    let next = (1..=19).map(|number| Next {
        id: format!("bd-rep.{number}"),
        title: "Send by mail, with a link".into(),
        priority: 3,
    });
    Snapshot {
        name: "ledger-api".into(),
        now_ms: NOW,
        closed: 57,
        stuck: vec![
            stuck(
                "you",
                "bd-auth.9",
                "Rotate the signing keys in staging",
                Why::AsksSince(NOW - 388 * MINUTE),
                6,
            ),
            stuck(
                "slow",
                "bd-auth.2",
                "Migrate the session table to v3",
                Why::NoNoteSince(NOW - 130 * MINUTE),
                3,
            ),
            stuck("loop", "bd-w9c", "Retry policy of the webhook worker", Why::CycleWith("bd-x2d".into()), 2),
        ],
        agents,
        next: next.collect(),
        ready: 19,
        needs: vec![Need {
            need: "conflict".into(),
            id: "bd-imp.6".into(),
            title: "Import payments".into(),
            actor: Some("amp-1".into()),
            text: Some("acceptance".into()),
        }],
        sync: Some(SyncTrouble {
            since_ms: NOW - 44 * MINUTE,
            message: "origin refuses the login".into(),
            attempts: 11,
            waiting: 23,
        }),
        epics: vec![Epic { title: "Release 2.4".into(), closed: 2, total: 10 }],
        notes: vec![NoteLine {
            at_ms: NOW - MINUTE,
            by: "codex-6".into(),
            id: "bd-imp.6".into(),
            text: "Payments of 2024 done: 412,906 rows, 31 rejected.".into(),
        }],
    }
}

fn screen() -> Screen {
    let mut screen = Screen::default();
    screen.update(night());
    screen
}

/// Draws on the backend that ratatui has for tests.
fn drawn(screen: &Screen, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(screen, &look(true), frame.area(), frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

#[test]
fn eighty_columns_show_trouble_whole_and_count_the_rest() {
    let expected = "\
ledger-api   57 closed   3 stuck   15 of 18 working   2 need you           07:42
SYNC FAILS for 44 min: origin refuses the login. 23 changes wait here.    s sync
─ stuck 3 ──────────────────────────────────────────────────────────────────────
> you bd-auth.9 Rotate the signing keys in staging asked you at 01:14     6 wait
 slow bd-auth.2 Migrate the session table to v3    no note for 2 h 10     3 wait
 loop bd-w9c    Retry policy of the webhook worker cycle with bd-x2d      2 wait
─ agents 18 ─────────────────────────────────────────────── last sign, in hand ─
 gone gemini-2  bd-q3m    Double charge when a refund is retried  1 h 11  1 h 38
 slow claude-7x bd-auth.2 Migrate the session table to v3          3 min  3 h 51
 work claude-01 bd-led.7  Reopen a period                          2 min  1 h 16";
    let lines = drawn(&screen(), (80, 24));
    assert_eq!(lines[..10].join("\n"), expected, "{}", lines.join("\n"));
    assert_eq!(lines[18], "      7 more: 6 working, 1 idle", "{}", lines.join("\n"));
    assert_eq!(lines[19], "─ next of 19 ready ─────────────────────────────────────── no P1 or P2 is free ─");
    assert_eq!(lines[20].trim(), "P3           bd-rep.1  Send by mail, with a link");
    assert_eq!(lines[23], "j k move  enter open  m message  t take back  x close  / find  ? keys  q quit");
}

#[test]
fn a_narrow_screen_leaves_out_hosts_that_tell_no_agents_apart() {
    let mut screen = screen();
    let names = |screen: &Screen, size| drawn(screen, size).join("\n");
    let held = |name: &str| agent(WorkerState::Working, name, "bd-1", "Merge queue", (1, 2));
    screen.snapshot.agents = vec![held("claude-1@build2"), held("claude-2@build2")];
    assert!(names(&screen, (80, 24)).contains(" work claude-1 bd-1"));
    assert!(names(&screen, (160, 45)).contains("claude-1@build2"));
    screen.snapshot.agents = vec![held("claude@east"), held("claude@west")];
    assert!(names(&screen, (80, 24)).contains("claude@west"));
}

#[test]
fn wide_screens_have_a_column_for_what_comes_next_and_notes() {
    let text = drawn(&screen(), (160, 45)).join("\n");
    for expected in [
        "more about bd-auth.9",
        "│ ─ next of 19 ready ─",
        "│ ─ notes ─",
        "codex-6 bd-imp.6",
        "─ epics 1 ─",
        "2 of 10",
        "8 left",
        "─ needs you 1 ─",
        "conflict: acceptance",
        " idle codex-4",
    ] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[test]
fn every_size_is_usable() {
    for width in 1..140 {
        for height in [1, 2, 3, 5, 8, 12, 23, 50] {
            let lines = drawn(&screen(), (width, height));
            if width >= 20 && height >= 5 {
                assert!(lines.iter().any(|line| line.contains("bd-auth.9")), "{width}x{height}: {lines:?}");
            }
        }
    }
    let mut empty = Screen::default();
    empty.update(Snapshot::default());
    let text = drawn(&empty, (80, 24)).join("\n");
    for expected in ["nothing is stuck", "no recent agent", "nothing is ready"] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[test]
fn without_color_the_words_are_the_same() {
    let mut colors = Vec::new();
    let mut texts = Vec::new();
    for color in [true, false] {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(&screen(), &look(color), frame.area(), frame.buffer_mut())).unwrap();
        let cells = terminal.backend().buffer().content();
        texts.push(cells.iter().map(|cell| cell.symbol().to_owned()).collect::<String>());
        colors.push(cells.iter().any(|cell| cell.fg != Color::Reset));
    }
    assert_eq!((texts[0] == texts[1], colors), (true, vec![true, false]));
}

#[test]
fn hostile_text_cannot_control_the_terminal() {
    let mut snapshot = night();
    snapshot.stuck[0].title = "\u{1b}[31mred\u{202e}".into();
    snapshot.name = "a\u{7}b".into();
    let mut screen = Screen::default();
    screen.update(snapshot);
    let text = drawn(&screen, (160, 45)).concat();
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
}

fn press(screen: &mut Screen, keys: &str) -> Option<Request> {
    let code = |key| match key {
        '\n' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        key => KeyCode::Char(key),
    };
    keys.chars().filter_map(|key| screen.key(KeyEvent::new(code(key), KeyModifiers::NONE))).last()
}

#[test]
fn keys_move_open_and_act() {
    let mut screen = screen();
    press(&mut screen, "jjjk");
    assert_eq!(screen.selected, 2);
    press(&mut screen, "kkk");
    assert_eq!(screen.selected, 0);
    // A question is answered in place; other rows open their bead.
    let Some(Request::Change(done, call)) = press(&mut screen, "\nkms-eu\n") else { panic!("no answer") };
    assert_eq!(done, "answered bd-auth.9");
    assert!(serde_json::to_string(&call).unwrap().contains("kms-eu"), "{call:?}");
    assert!(matches!(press(&mut screen, "j\n"), Some(Request::Open(id, _)) if id == "bd-auth.2"));
    for (key, expected) in
        [("t", "took bd-auth.2 back"), ("x", "closed bd-auth.2"), ("m", "message to claude-7")]
    {
        let request = press(&mut screen, &format!("{key}because\n"));
        assert!(
            matches!(&request, Some(Request::Change(done, _)) if done.starts_with(expected)),
            "{key}: {request:?}"
        );
    }
    // An empty line changes nothing, and esc leaves the line.
    assert!(press(&mut screen, "x\n").is_none() && press(&mut screen, "xwhy\u{1b}").is_none());
    assert_eq!(screen.mode, Mode::List);
    assert!(matches!(press(&mut screen, "u"), Some(Request::Change(..))));
    assert!(matches!(press(&mut screen, "q"), Some(Request::Quit)));
    press(&mut screen, "?");
    assert!(drawn(&screen, (80, 24)).join("\n").contains("take the bead back"));
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
