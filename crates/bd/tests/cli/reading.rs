//! What people see: on a terminal, and as text in a pipe.

use unicode_width::UnicodeWidthStr;

use crate::pty::run_on_terminal;
use crate::sandbox::{Run, Sandbox, both};

/// Five hours behind UTC, without daylight saving time.
const ZONE: &str = "EST5";

/// Returns what a command shows on a terminal of 80 columns without colors.
fn shown(bd: &Sandbox, args: &[&str]) -> String {
    let mut command = bd.command(args);
    command.env("NO_COLOR", "1").env("TZ", ZONE).env("PAGER", "none");
    run_on_terminal(command, 80, 24)
}

#[test]
fn a_list_as_text_hides_closed_beads_and_json_does_not() {
    both(|bd| {
        for id in ["bd-1", "bd-2", "bd-3"] {
            bd.create(&[id, "--id", id]);
        }
        bd.json(&["close", "bd-2"]);
        bd.json(&["claim", "bd-3"]);
        let ids = |args: &[&str]| -> Vec<String> {
            let text = bd.text(&[&["list"], args].concat());
            text.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
        };
        assert_eq!(ids(&[]), ["bd-1", "bd-3"]);
        assert_eq!(ids(&["--tree"]), ["bd-1", "bd-3"]);
        let all = ["bd-1", "bd-2", "bd-3"];
        for args in [&["--all"][..], &["--status", "all"], &["--status", "open,in_progress,closed"]] {
            assert_eq!(ids(args), all, "{args:?}");
        }
        for args in [&["--status", "closed"][..], &["--id", "bd-2"], &["--closed-after", "1h"]] {
            assert_eq!(ids(args), ["bd-2"], "{args:?}");
        }
        assert_eq!(bd.ids(&["list"]), all);
        assert_eq!(bd.ids(&["list", "--all"]), all);
        // Only a terminal gets the number of hidden beads.
        let hint = "1 closed bead is hidden; --all shows them\n";
        assert!(shown(bd, &["list"]).ends_with(hint));
        assert!(shown(bd, &["list", "--tree"]).ends_with(hint));
        for args in
            [&["list", "--all"][..], &["list", "--status", "open"], &["list", "--quiet"], &["search", "bd"]]
        {
            assert!(!shown(bd, args).contains("hidden"), "{args:?}");
        }
    });
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    both(|bd| {
        let long =
            "a title that is much too long for one line of a terminal, however wide the terminal may be";
        let labels = "a-rather-long-label,another-rather-long-label,a-third-rather-long-label";
        bd.run(&["migrate"]);
        bd.create(&[long, "--id", "bd-1", "-l", labels, "-t", "epic"]);
        for n in 2..12 {
            let (id, title) = (format!("bd-1.{n}"), format!("{n} 日本語 {long}"));
            bd.create(&[
                &title,
                "--id",
                &id,
                "-l",
                labels,
                "--parent",
                "bd-1",
                "-a",
                "an-agent@some-machine",
            ]);
            bd.json(&["dep", "add", "bd-1", &id]);
        }
        bd.create(&["short", "--id", "bd-2", "--deps", "bd-1"]);
        bd.json(&["note", "bd-1.2", long]);
        bd.json_as("an-agent@some-machine", &["claim", "bd-1.2"]);
        bd.json_as("an-agent@some-machine", &["ask", "bd-1.3", long, "--option", long]);
        bd.json(&[
            "update",
            "bd-1.4",
            "--title",
            &format!("another {long}"),
            "--add-label",
            "one-more-label",
        ]);
        for args in [
            &["list"][..],
            &["list", "--tree"],
            &["ready"],
            &["search", "title"],
            &["blocked"],
            &["children", "bd-1"],
            &["status"],
            &["dep", "list", "bd-1"],
            &["epic", "status"],
            &["show", "bd-1"],
            &["log", "bd-1.2"],
            &["blame", "bd-1.2"],
            &["activity"],
            &["recap"],
            &["agents"],
            &["questions"],
            &["undo", "--dry-run"],
        ] {
            let text = shown(bd, args);
            assert!(!text.is_empty(), "{args:?}");
            for line in text.lines() {
                assert!(line.width() <= 80, "{args:?}: {} columns: {line}", line.width());
            }
        }
        assert!(shown(bd, &["list"]).contains("#a-rather"), "labels keep some space");
        assert!(bd.text(&["list"]).contains(long), "piped text is whole");
    });
}

#[test]
fn a_terminal_gets_local_and_relative_times() {
    both(|bd| {
        let id = bd.create(&["x", "--due", "2026-11-20T14:30:00Z"]);
        let bead = bd.show(&id);
        let exact = bead["created_at"].as_str().unwrap();
        let local = {
            let created: jiff::Timestamp = exact.parse().unwrap();
            jiff::tz::offset(-5).to_datetime(created).strftime("%Y-%m-%d %H:%M").to_string()
        };
        assert!(shown(bd, &["show", &id]).contains(" s ago by ann@here"));
        assert!(shown(bd, &["log", &id]).starts_with(&format!("{local}  ann@here  created")));
        assert!(shown(bd, &["blame", &id]).contains("due_at: 2026-11-20 09:30"));
        let claimed = shown(bd, &["claim", &id]);
        let until = claimed.split_once("(until ").unwrap().1.trim_end().trim_end_matches(')');
        assert!(until.ends_with(|c: char| c.is_ascii_digit()) && !until.contains('Z'), "{claimed}");
        // Exact in UTC, when asked for and when piped.
        for text in [shown(bd, &["show", &id, "--utc"]), bd.text(&["show", &id]), bd.text(&["log", &id])] {
            assert!(text.contains(exact), "{text}");
        }
    });
}

/// Returns what a command shows on a terminal of 80 columns where it is about noon. Times of day and ages are
/// replaced, because they differ from run to run.
fn shown_at_noon(bd: &Sandbox, args: &[&str]) -> String {
    let mut command = bd.command(args);
    let hours_behind_utc = i16::from(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).hour()) - 12;
    command.env("NO_COLOR", "1").env("TZ", format!("XXX{hours_behind_utc}")).env("PAGER", "none");
    let is_time = |word: &str| {
        word.char_indices().all(|(at, c)| if at == 2 { c == ':' } else { c.is_ascii_digit() })
            && word.len() == 5
    };
    let replaced = |word: &str| match word.trim_end_matches([',', ':', ')']) {
        time if is_time(time) => word.replace(time, "hh:mm"),
        date if date.len() == 10 && date.starts_with("20") => word.replace(date, "yyyy-mm-dd"),
        age if !age.is_empty() && age.len() < 3 && age.chars().all(|c| c.is_ascii_digit()) && word == age => {
            "N".to_owned()
        }
        _ => word.to_owned(),
    };
    let text = run_on_terminal(command, 80, 60);
    let lines = text.lines().map(|line| line.split(' ').map(replaced).collect::<Vec<_>>().join(" ") + "\n");
    lines.collect::<String>().replace("under N min", "N min").replace("N s ago", "N min ago")
}

#[test]
fn the_pages_of_the_morning_fit_a_terminal_and_have_local_times() {
    both(|bd| {
        let long = "A title that is long enough to need more than one line of a terminal";
        bd.create(&[long, "--id", "bd-1"]);
        bd.create(&["Short", "--id", "bd-2"]);
        bd.json(&["claim", "bd-1"]);
        bd.json(&[
            "note",
            "bd-1",
            "half of it is done, and the other half will be done tomorrow or the day after",
        ]);
        bd.json(&["close", "bd-1", "--reason", "all of it is done, and the tests are green"]);
        bd.json_as("bob", &["claim", "bd-2"]);
        assert_eq!(shown_at_noon(bd, &["recap", "--since", "1h"]), RECAP);
        assert_eq!(shown_at_noon(bd, &["agents"]), AGENTS);
        assert_eq!(shown_at_noon(bd, &["activity"]), ACTIVITY);
        let status = shown_at_noon(bd, &["status"]);
        assert!(status.contains("\nbob works on bd-2 since hh:mm: Short\n"), "{status}");
        // Markdown and pipes get exact times in UTC.
        for text in [bd.text(&["recap"]), bd.text(&["recap", "--format", "md"]), bd.text(&["agents"])] {
            assert!(text.contains("Z"), "{text}");
        }
    });
}

const RECAP: &str = "\
hh:mm to hh:mm
N closed, N created, N failed, N reclaimed, N conflicts

Who did what
  ann@here: N closed in N min, N created, N note

Closed
  bd-1  A title that is long enough to need more than one line of a terminal, by
    ann@here in N min, hh:mm: all of it is done, and the tests are green

Created
  bd-1  A title that is long enough to need more than one line of a terminal, by
    ann@here, hh:mm
  bd-2  Short, by ann@here, hh:mm
";

const AGENTS: &str = "\
bob  working, N closed, last seen N min ago
  bd-2  Short, held since hh:mm, until hh:mm
ann@here  idle, N closed in N min, last seen N min ago
";

const ACTIVITY: &str = "\
yyyy-mm-dd hh:mm created   bd-1 A title that is long enough to need… by ann@here
yyyy-mm-dd hh:mm created   bd-2 Short by ann@here
yyyy-mm-dd hh:mm claimed   bd-1 A title that is long enough to need… by ann@here
yyyy-mm-dd hh:mm note      bd-1 A title that is long en… by ann@here: half of i…
yyyy-mm-dd hh:mm closed    bd-1 A title that is long en… by ann@here: all of it…
yyyy-mm-dd hh:mm claimed   bd-2 Short by bob
";

#[test]
fn history_shows_no_json_and_no_milliseconds() {
    both(|bd| {
        let id = bd.create(&["x", "-l", "a,b", "--due", "2026-11-20", "--estimate", "90"]);
        bd.json(&["update", &id, "--add-label", "c", "--due", "2026-12-24", "--metadata", r#"{"k":"v"}"#]);
        bd.json(&["claim", &id]);
        bd.json(&["close", &id, "--reason", "done"]);
        let log = bd.text(&["log", &id]);
        assert!(log.contains("labels: a, b → a, b, c"), "{log}");
        assert!(log.contains("due_at: 2026-11-20T00:00:00.000Z → 2026-12-24T00:00:00.000Z"), "{log}");
        assert!(log.contains("→ closed (done, on main)"), "{log}");
        assert!(log.contains("metadata: (none) → k=v"), "{log}");
        for verb in ["log", "blame", "show"] {
            for text in [bd.text(&[verb, &id]), shown(bd, &[verb, &id])] {
                assert!(!text.contains(['{', '[', '"']), "{verb}: {text}");
                let longest = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
                assert!(longest < Some(10), "{verb}: {text}");
            }
        }
    });
}

#[test]
fn colors_follow_the_option_the_environment_and_the_terminal() {
    both(|bd| {
        let id = bd.create(&["x", "-p", "0"]);
        let colored = |args: &[&str], environment: &[(&str, &str)], terminal: bool| {
            let mut command = bd.command(&[&["show", &*id], args].concat());
            command.envs(environment.iter().copied());
            let text = if terminal {
                run_on_terminal(command, 80, 24)
            } else {
                Run::of(&mut command).succeeded(args).stdout
            };
            assert!(text.contains(&id), "{text}");
            text.contains("\u{1b}[")
        };
        assert!(colored(&[], &[], true));
        assert!(!colored(&[], &[], false));
        assert!(!colored(&[], &[("NO_COLOR", "1")], true));
        assert!(colored(&[], &[("NO_COLOR", "")], true), "an empty variable is not set");
        assert!(!colored(&[], &[("TERM", "dumb")], true));
        assert!(colored(&["--color", "always"], &[("NO_COLOR", "1"), ("TERM", "dumb")], false));
        assert!(colored(&["--color=auto"], &[("TERM", "xterm")], true));
        assert!(!colored(&["--color", "never"], &[], true));
        bd.error(&["show", &id, "--color", "green"], "invalid_value");
        assert!(!bd.text(&["show", &id, "--json", "--color", "always"]).contains('\u{1b}'));
    });
}

/// Colors are not padded: a status within a line ends where its word ends.
#[test]
fn colors_leave_no_gaps() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        bd.create(&["two", "--id", "bd-2", "--deps", "bd-1"]);
        for args in [&["show", "bd-1"][..], &["graph"], &["dep", "tree", "bd-2"]] {
            let text = run_on_terminal(bd.command(args), 80, 24);
            assert!(text.contains("\u{1b}[32mopen\u{1b}[39m"), "{args:?}: {text}");
        }
    });
}

#[test]
fn long_text_goes_to_the_pager_on_a_terminal() {
    /// A pager of shell builtins, because no other program is on the path of a sandbox.
    const PAGER: &str = "while read -r line; do echo \"paged $line\"; done";
    both(|bd| {
        for n in 0..12 {
            bd.create(&[&format!("bead {n}")]);
        }
        let pages = |args: &[&str], pager: &str, rows: u16| {
            let mut command = bd.command(args);
            command.env("NO_COLOR", "1").env("PAGER", pager);
            let text = run_on_terminal(command, 80, rows);
            assert!(text.contains("bead 11"), "{args:?}: {text}");
            text.lines().all(|line| line.starts_with("paged "))
        };
        assert!(pages(&["list"], PAGER, 10));
        assert!(!pages(&["list"], PAGER, 40), "it fits on the screen");
        assert!(!pages(&["list", "--no-pager"], PAGER, 10));
        assert!(!pages(&["list", "--json"], PAGER, 10));
        assert!(!pages(&["list"], "", 10));
        assert!(!pages(&["list"], "no-such-pager", 10));
        bd.json(&["config", "set", "pager", "none"]);
        assert!(!pages(&["list"], PAGER, 10));
        bd.json(&["config", "set", "pager", PAGER]);
        assert!(pages(&["list"], "no-such-pager", 10));
        let piped = Run::of(bd.command(&["list"]).env("PAGER", PAGER)).succeeded("piped");
        assert!(!piped.stdout.contains("paged"));
    });
}

#[test]
fn a_bead_is_shown_in_groups_on_a_terminal() {
    both(|bd| {
        bd.create(&["the epic", "--id", "bd-1", "-t", "epic"]);
        let text = "# Plan\n\n- first\n- second\n\n```\ncode\n```";
        bd.create(&["the task", "--id", "bd-2", "--parent", "bd-1", "-d", text]);
        bd.create(&["its blocker", "--id", "bd-3"]);
        bd.create(&["waits for it", "--id", "bd-4", "--deps", "bd-2"]);
        bd.create(&["done", "--id", "bd-5", "--parent", "bd-1"]);
        bd.run(&["migrate"]);
        bd.json(&["close", "bd-5", "--evidence", "cmd:make test"]);
        bd.json(&["--session", "s1", "claim", "bd-2"]);
        bd.json(&["dep", "add", "bd-2", "bd-3"]);
        let screen = shown(bd, &["show", "bd-2"]);
        for part in [
            "held by ann@here since ",
            "; last sign of life ",
            "\nPart of\n  bd-1  open         the epic\n",
            "\nDescription\nPlan\n\n• first\n• second\n\n    code\n",
            "\nBlocked by\n  bd-3  open         its blocker\n",
            "\nBlocks\n  bd-4  open         waits for it\n",
        ] {
            assert!(screen.contains(part), "{part:?} is not in:\n{screen}");
        }
        assert!(shown(bd, &["show", "bd-1"]).contains("\nChildren (1 of 2 closed)\n"));
        let closed = shown(bd, &["show", "bd-5"]);
        assert!(closed.contains("\nEvidence\n") && closed.contains("\n  cmd:make test\n"), "{closed}");
        // Piped text stays raw.
        let piped = bd.text(&["show", "bd-2"]);
        assert!(piped.contains("# Plan\n\n- first\n") && piped.contains("\nNeeded by\n"), "{piped}");
    });
}

#[test]
fn help_is_grouped_and_help_verb_works() {
    both(|bd| {
        let help = bd.text(&["help"]);
        assert_eq!(help, bd.text(&["--help"]));
        assert!(help.contains("\nWork:\n  create ") && help.contains("\nMaintain:\n"), "{help}");
        let verb = bd.text(&["help", "claim"]);
        assert_eq!(verb, bd.text(&["claim", "--help"]));
        assert!(verb.find("Usage: ").unwrap() < verb.find("Example").unwrap(), "{verb}");
        assert!(verb.find("Example").unwrap() < verb.find("Options:").unwrap(), "{verb}");
    });
}
