//! Whole screens, drawn into a buffer.

mod keys;
mod views;

use beads_core::query::Worker;
use beads_engine::request::{LocalClock, Zone};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde_json::{Value, json};

use super::About;
use super::draw::{Look, draw};
use super::screen::{Request, Screen};
use super::snapshot::Snapshot;

/// 2026-11-17, 07:42:00 UTC.
const NOW: u64 = 1_794_901_320_000;
const MINUTE: u64 = 60_000;
const SINCE: u64 = NOW - (9 * 60 + 12) * MINUTE;

fn look(color: bool) -> Look {
    Look { color, clock: LocalClock { now_ms: NOW, zone: Zone::from("UTC".to_owned()) } }
}

fn ago(minutes: u64) -> String {
    beads_core::Timestamp::text_of(NOW - minutes * MINUTE)
}

fn until(minutes: u64) -> String {
    beads_core::Timestamp::text_of(NOW + minutes * MINUTE)
}

/// A bead in brief, created a day ago. `more` adds fields.
fn bead(id: &str, title: &str, more: &Value) -> Value {
    let made = NOW - 1_440 * MINUTE;
    let mut bead = json!({"id": id, "title": title, "status": "open", "priority": 3, "type": "task", "created": made, "creator": "ann", "updated": made});
    bead.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    bead
}

/// A bead in the hand of an agent since so many minutes.
fn held(id: &str, title: &str, by: &str, minutes: u64) -> Value {
    let claimed = NOW - minutes * MINUTE;
    bead(
        id,
        title,
        &json!({"status": "in_progress", "assignee": by, "claimed": claimed, "fence": format!("{claimed}.0")}),
    )
}

/// An agent with its state, when it was last seen and wrote, and the bead it holds, since when and until when.
fn worker(actor: &str, state: &str, seen: [u64; 2], hand: Option<(&str, &str, u64, u64)>) -> Worker {
    let holds = hand.map(|(id, title, since, lease)| {
        json!({"id": id, "title": title, "holder": actor, "since": ago(since), "expires": until(lease), "expired": false, "offered": false})
    });
    let worker = json!({
        "actor": actor, "state": state, "last_seen": ago(seen[0]), "last_write": ago(seen[1]),
        "holds": holds.into_iter().collect::<Vec<_>>(), "sessions": [], "closed": 3, "created": 0, "notes": 1, "busy_ms": 0,
    });
    serde_json::from_value(worker).unwrap()
}

fn status() -> Value {
    let asked = json!({"id": "bd-auth.9", "title": "", "question": "3f2a", "text": "kms-eu or vault-2?", "asked_by": "claude-2@build2", "at": ago(388)});
    json!({
        "summary": {"ready_issues": 19}, "questions": [asked],
        "waiting": [
            {"need": "conflict", "id": "bd-imp.6", "title": "", "actor": "codex-6", "since": ago(148)},
            {"need": "assigned", "id": "bd-nx.1", "title": "", "actor": "bob@build2", "since": ago(9)},
        ],
        "sync": {"unsynced": 23, "last_success": ago(44), "last_error": {"message": "origin refuses the login", "since": ago(44), "attempts": 11}},
    })
}

fn beads() -> Vec<Value> {
    let mut beads = vec![
        bead("bd-rel", "Release 2.4", &json!({"type": "epic"})),
        bead(
            "bd-auth.9",
            "Rotate the signing keys in staging",
            &json!({"priority": 1, "parent": "bd-auth", "asks": true}),
        ),
        held("bd-auth.2", "Migrate the session table to v3", "claude-7@build2", 231),
        held("bd-q3m", "Double charge when a refund is retried", "gemini-2@build2", 98),
        held("bd-imp.6", "Import payments", "codex-6@build2", 76),
        bead(
            "bd-w9c",
            "Retry policy of the webhook worker",
            &json!({"after": ["bd-x2d"], "linked": [NOW - 322 * MINUTE]}),
        ),
        bead("bd-x2d", "Webhook worker gives up after a day", &json!({"after": ["bd-w9c"]})),
        bead(
            "bd-rel.1",
            "Tag it",
            &json!({"parent": "bd-rel", "minutes": 90, "priority": 1, "after": ["bd-auth.2", "bd-imp.6"]}),
        ),
        bead("bd-rel.2", "Announce it", &json!({"parent": "bd-rel", "minutes": 30, "after": ["bd-rel.1"]})),
        bead("bd-rel.10", "Publish the changelog draft", &json!({"due": NOW - 822 * MINUTE})),
        bead("bd-auth.10", "Use the new keys", &json!({"after": ["bd-auth.9"]})),
        bead("bd-auth.11", "Retire the old keys", &json!({"after": ["bd-auth.10"]})),
        bead("bd-auth.12", "Tell the partners", &json!({"after": ["bd-auth.10"]})),
    ];
    for number in 0..57 {
        let closed = NOW - (20 + number * 9) * MINUTE;
        let by = format!("{}@build2", HANDS[number as usize % HANDS.len()].0);
        let more =
            json!({"status": "closed", "closed": closed, "claimed": closed - 45 * MINUTE, "closer": by});
        beads.push(bead(&format!("bd-old.{number}"), "Done", &more));
    }
    beads
}

fn workers() -> Vec<Worker> {
    let mut workers = vec![
        worker(
            "gemini-2@build2",
            "dead",
            [71, 71],
            Some(("bd-q3m", "Double charge when a refund is retried", 98, 49)),
        ),
        worker(
            "claude-7@build2",
            "hung",
            [3, 130],
            Some(("bd-auth.2", "Migrate the session table to v3", 231, 80)),
        ),
        worker(
            "amp-1@build1",
            "quiet",
            [50, 50],
            Some(("bd-web.10", "Date picker without a library", 239, 20)),
        ),
        worker("codex-4@build2", "idle", [0, 12], None),
        worker("gemini-1@build2", "quiet", [9, 9], Some(("bd-obs.11", "Metric names: one scheme", 50, 60))),
    ];
    workers.extend(HANDS.iter().zip(0..).map(|((name, id, title), number)| {
        let (since, lease) = (76 + number * 17 % 160, 60 + number * 13 % 60);
        worker(&format!("{name}@build2"), "working", [number % 5, 2], Some((id, title, since, lease)))
    }));
    workers
}

/// The agents at work, with what they hold.
const HANDS: [(&str, &str, &str); 13] = [
    ("claude-1", "bd-led.7", "Reopen a period, with a reason"),
    ("claude-2", "bd-ci.7", "Nightly run of everything"),
    ("claude-3", "bd-rep.4", "Totals row that matches the ledger"),
    ("claude-4", "bd-4h8", "Normalise account names at the edge"),
    ("claude-5", "bd-rep.3", "CSV with a stable column order"),
    ("claude-6", "bd-ci.11", "Merge queue"),
    ("codex-1", "bd-obs.13", "Trace through the queue"),
    ("codex-2", "bd-obs.10", "Log rotation on build2"),
    ("codex-3", "bd-led.15", "Load test: 2,000 transfers a second"),
    ("codex-5", "bd-rep.9", "Reports of closed periods are frozen"),
    ("codex-6", "bd-imp.6", "Import payments"),
    ("gemini-3", "bd-web.4", "Statement of a month"),
    ("claude-8", "bd-doc.3", "What each alert means"),
];

/// What is handed out next.
const NEXT: [&str; 8] = [
    "Send by mail, with a link",
    "Container image in two layers",
    "Fail on new warnings",
    "Report the slowest ten tests",
    "Mirror of the package registry",
    "Install on one machine",
    "Every setting with its default",
    "Retention of audit logs",
];

fn night_with(beads: Vec<Value>) -> Snapshot {
    let next: Vec<Value> = (1..=19).map(|number| json!({"id": format!("bd-nx.{number}"), "title": NEXT[(number - 1) % NEXT.len()], "priority": 3})).collect();
    let conflict = json!({"id": "c1", "bead": "bd-imp.6", "title": "", "field": "acceptance_criteria", "by": "codex-6@build2", "won_by": "amp-1@build1", "won_at": [NOW - 148 * MINUTE, 0]});
    let answers = json!([status(), next]);
    let answers = super::snapshot::Answers {
        about: About { name: "ledger-api".into(), host: "build2".into(), actor: "ann@build2".into() },
        status: serde_json::from_value(answers[0].clone()).unwrap(),
        workers: workers(),
        conflicts: vec![conflict],
        cycles: vec![json!({"kind": "blocks", "ids": ["bd-w9c", "bd-x2d"]})],
        next: serde_json::from_value(answers[1].clone()).unwrap(),
    };
    let epic = |id: &str, title: &str, closed: u64, total: u64| json!({"epic": {"id": id, "title": title}, "closed_children": closed, "total_children": total});
    let progress = vec![
        epic("bd-rel", "Release 2.4", 2, 10),
        epic("bd-auth", "Sessions v3: sign in without passwords", 9, 15),
        epic("bd-none", "No children yet", 0, 0),
    ];
    let note = |minutes: u64, by: &str, id: &str, text: &str| json!({"type": "note", "at": ago(minutes), "by": by, "id": id, "text": text});
    let notes = [
        note(130, "claude-7@build2", "bd-auth.2", "1.2 of 3.4 million rows."),
        note(1, "codex-6@build2", "bd-imp.6", "Payments of 2024 done: 412,906 rows, 31 rejected."),
    ];
    let incidents = [
        json!({"type": "asked", "at": ago(388), "by": "claude-2@build2", "id": "bd-auth.9", "title": "Rotate the signing keys", "text": "kms-eu or vault-2?"}),
        json!({"type": "sync_failed", "at": ago(44), "text": "origin refuses the login"}),
    ];
    let beads = serde_json::from_value(Value::Array(beads)).unwrap();
    Snapshot::from_answers(answers, (beads, progress), (&notes, &incidents), (SINCE, NOW))
}

fn night() -> Snapshot {
    night_with(beads())
}

fn screen() -> Screen {
    let mut screen = Screen::default();
    screen.update(night());
    screen
}

/// Draws on the backend that ratatui has for tests.
fn drawn(screen: &mut Screen, (width, height): (u16, u16)) -> Vec<String> {
    screen.resize(width.into());
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(screen, &look(true), frame.area(), frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

#[test]
fn eighty_columns_show_trouble_whole_and_count_the_rest() {
    let expected = "\
ledger-api   57 closed   3 stuck   15 of 18 working   7 need you           07:42
SYNC FAILS for 44 min: origin refuses the login. 23 changes wait here.    s sync
─ stuck 3 ──────────────────────────────────────────────────────────────────────
> you bd-auth.9 Rotate the signing keys in staging asked you at 01:14     3 wait
 slow bd-auth.2 Migrate the session table to v3    no note for 2 h 10     2 wait
 loop bd-w9c    Retry policy of the webhook worker cycle with bd-x2d      1 wait
─ agents 18 ─────────────────────────────────────────────── last sign, in hand ─
 gone gemini-2 bd-q3m    Double charge when a refund is retried   1 h 11  1 h 38
 slow claude-7 bd-auth.2 Migrate the session table to v3           3 min  3 h 51
 work claude-1 bd-led.7  Reopen a period, with a reason              0 s  1 h 16";
    let lines = drawn(&mut screen(), (80, 24));
    assert_eq!(lines[..10].join("\n"), expected, "{}", lines.join("\n"));
    assert_eq!(lines[18], "      7 more: 5 working, 1 idle, 1 not heard of", "{}", lines.join("\n"));
    assert_eq!(lines[19], "─ next of 19 ready ─────────────────────────────────────── no P1 or P2 is free ─");
    assert_eq!(lines[20].trim(), "P3          bd-nx.1   Send by mail, with a link");
    assert_eq!(lines[23], "j k move  enter open  m message  t take back  x close  / find  ? keys  q quit");
}

#[test]
fn a_narrow_screen_leaves_out_hosts_that_tell_no_agents_apart() {
    let names = |agents: &[&str], host: &str, size| {
        let mut screen = screen();
        screen.snapshot.about.host = host.into();
        screen.snapshot.agents.truncate(agents.len());
        for (agent, name) in screen.snapshot.agents.iter_mut().zip(agents) {
            agent.name = (*name).to_owned();
        }
        drawn(&mut screen, size).join("\n")
    };
    let one_host = ["claude-1@build2", "claude-2@build2"];
    assert!(names(&one_host, "build2", (80, 24)).contains(" gone claude-1 bd-q3m"));
    assert!(names(&one_host, "build2", (160, 45)).contains(" gone claude-1 bd-q3m"));
    assert!(names(&one_host, "build3", (160, 45)).contains("claude-1@build2"));
    assert!(names(&["claude@east", "claude@west"], "east", (80, 24)).contains("claude@west"));
}

#[test]
fn a_wide_screen_has_a_timetable_epics_what_else_needs_you_and_a_column_on_the_right() {
    let lines = drawn(&mut screen(), (160, 45));
    let text = lines.join("\n");
    for expected in [
        "ledger-api on build2      57 closed since yesterday 22:30      3 stuck, 6 wait behind them      15 of 18 working",
        "7 need you",
        "Tue 17 Nov, 07:42",
        "(11 tries). 23 changes wait here; nothing is known of build1 since 06:58.",
        "claude-2: kms-eu or vault-2?",
        "claude-7 answers and renews. Last: 1.2 of 3.4 million rows.",
        "newer edge at 02:20",
        " last sign, in hand ─  22:00 ",
        "= closed  : close  # in hand  ~ no note  x no sign  ? not known  - lease  | now",
        "    ? amp-1@build1 bd-web.10 Date picker",
        "06:58  3 h 59",
        "│ ─ next of 19 ready ─",
        "│ 1 P3 Send by mail, with a link",
        "│ Every blocked P1 waits for",
        "│ ─ notes ─",
        "07:41 codex-6  bd-imp.6",
        "─ epics 2 ─",
        "6 left               you",
        "Release 2.4",
        "2 of 10",
        "8 left",
        "─ needs you 7 ─",
        "the stuck ones and the sync are above ─",
        "gemini-2 gave no sign for 1 h 11; lease until 08:31",
        "t take back",
        "acceptance criteria: amp-1@build1 overwrote codex-6 at",
        "due 13 h 42 ago",
        "tab next pane",
        "1 now  2 needs you  3 night",
    ] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
    let gone = lines.iter().find(|line| line.starts_with(" gone gemini-2")).unwrap();
    assert!(gone.contains("##xxxx|---"), "{gone}");
    let slow = lines.iter().find(|line| line.starts_with(" slow claude-7")).unwrap();
    assert!(slow.contains("###~~~~"), "{slow}");
    // The last bead of the epic waits for one in hand since 76 minutes, and takes two hours with the one before.
    assert!(lines.iter().any(|line| line.contains("Release 2.4") && line.contains("09:42")), "{text}");
}

#[test]
fn every_size_is_usable() {
    for width in (1..140).chain([160, 300]) {
        for height in [1, 2, 3, 5, 8, 12, 23, 50] {
            let mut screen = screen();
            for view in ["2", "3", "1"] {
                press(&mut screen, view);
                assert_eq!(drawn(&mut screen, (width, height)).len(), usize::from(height));
            }
            let lines = drawn(&mut screen, (width, height));
            if width >= 20 && height >= 5 {
                assert!(lines.iter().any(|line| line.contains("bd-auth.9")), "{width}x{height}: {lines:?}");
            }
        }
    }
    let mut empty = Screen::default();
    empty.update(Snapshot::default());
    let text = drawn(&mut empty, (80, 24)).join("\n");
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
    snapshot.about.name = "a\u{7}b".into();
    snapshot.epics[0].title = "\u{1b}[0m".into();
    snapshot.night.incidents[0].what = "\u{1b}[2J".into();
    let mut screen = Screen::default();
    screen.update(snapshot);
    let mut text = drawn(&mut screen, (160, 45)).concat();
    press(&mut screen, "3");
    text += &drawn(&mut screen, (160, 45)).concat();
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
