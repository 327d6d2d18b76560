//! Times keep their time of day, however they are given.

use serde_json::json;

use crate::sandbox::{Run, Sandbox, both};

/// Five hours behind UTC, without daylight saving time.
const ZONE: &str = "EST5";

const DUE: [(&str, &str); 7] = [
    ("2026-11-20T14:30:00", "2026-11-20T19:30:00.000Z"),
    ("2026-11-20 14:30", "2026-11-20T19:30:00.000Z"),
    ("2026-11-20T14:30:00.250", "2026-11-20T19:30:00.250Z"),
    ("2026-11-20T14:30:00Z", "2026-11-20T14:30:00.000Z"),
    ("2026-11-20T14:30:00+02:00", "2026-11-20T12:30:00.000Z"),
    ("2026-11-20T14:30:00+00:00[UTC]", "2026-11-20T14:30:00.000Z"),
    ("2026-11-20", "2026-11-20T00:00:00.000Z"),
];

const REFUSED: [&str; 4] =
    ["2099-12-31T23:59:59-01:00", "2026-11-20T14:30:00[Nowhere/City]", "2026-11-20T25:00:00", "2026-02-30"];

fn in_zone(bd: &Sandbox, args: &[&str]) -> Run {
    Run::of(bd.command(args).env("TZ", ZONE))
}

fn tool(bd: &Sandbox, name: &str, input: &serde_json::Value) -> Run {
    use std::io::Write;
    let mut command = bd.command(&["tool", name, "--apply"]);
    let mut child = command.env("TZ", ZONE).stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    Run::finish(child)
}

#[test]
fn the_time_of_day_counts_on_the_command_line() {
    both(|bd| {
        // The daemon, if there is one, runs in another time zone.
        let id = bd.create(&["first"]);
        for (given, meant) in DUE {
            let due = ["update", &id, "--due", given, "--defer", given, "--json"];
            let updated = in_zone(bd, &due).succeeded(given).value()[0].clone();
            assert_eq!(
                (&updated["due_at"], &updated["defer_until"]),
                (&json!(meant), &json!(meant)),
                "{given}"
            );
            let created = in_zone(bd, &["create", "x", &format!("--due={given}"), "--json"]).succeeded(given);
            assert_eq!(created.value()["due_at"], meant, "{given}");
        }
        for given in REFUSED {
            in_zone(bd, &["update", &id, "--due", given, "--json"]).failed(given, "invalid_value");
            in_zone(bd, &["list", "--created-after", given, "--json"]).failed(given, "invalid_value");
        }
    });
}

#[test]
fn a_deferred_bead_waits_until_the_local_time() {
    both(|bd| {
        let id = bd.create(&["later"]);
        let bead = bd.show(&id);
        let created: jiff::Timestamp = bead["created_at"].as_str().unwrap().parse().unwrap();
        let local = |ahead: i64| {
            let time = created + jiff::SignedDuration::from_mins(ahead);
            jiff::tz::offset(-5).to_datetime(time).strftime("%Y-%m-%dT%H:%M:%S").to_string()
        };
        in_zone(bd, &["update", &id, "--defer", &local(60), "--json"]).succeeded(&id);
        assert!(bd.ids(&["ready"]).is_empty());
        in_zone(bd, &["update", &id, "--defer", &local(-60), "--json"]).succeeded(&id);
        assert_eq!(bd.ids(&["ready"]), [&*id]);
        // Filters follow the same rule.
        let listed = |args: &[&str]| in_zone(bd, args).succeeded(args).value().as_array().unwrap().len();
        assert_eq!(listed(&["list", "--created-after", &local(60), "--json"]), 0);
        assert_eq!(listed(&["list", "--created-after", &local(-60), "--json"]), 1);
        assert_eq!(listed(&["list", "--created-before", &local(60), "--json"]), 1);
    });
}

#[test]
fn tools_and_import_read_times_by_the_same_rule() {
    both(|bd| {
        let id = bd.create(&["first"]);
        for (given, meant) in DUE {
            let run = tool(bd, "beads.update", &json!({"id": id, "due_at": given}));
            assert_eq!(run.value()["result"]["due_at"], meant, "{given}: {run:?}");
        }
        for given in REFUSED {
            let run = tool(bd, "beads.update", &json!({"id": id, "due_at": given}));
            assert_eq!(run.value()["error"], "invalid_value", "{given}: {run:?}");
            assert_eq!(run.value()["field"], "due_at", "{given}: {run:?}");
        }
        // A file means the same on every machine: times without an offset are UTC.
        let line = |id: &str, due: &str| json!({"id": id, "title": id, "due_at": due}).to_string();
        let lines = [
            line("bd-1", "2026-11-20T14:30:00-05:00[America/New_York]"),
            line("bd-2", "2026-11-20 14:30"),
            line("bd-3", "2026-11-20T14:30:00[America/New_York]"),
        ];
        let path = bd.dir().join("times.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        let imported = in_zone(bd, &["import", path.to_str().unwrap(), "--json"]);
        assert_eq!(imported.value()["notices"].as_array().unwrap().len(), 1, "{imported:?}");
        assert_eq!(bd.show("bd-1")["due_at"], "2026-11-20T19:30:00.000Z");
        assert_eq!(bd.show("bd-2")["due_at"], "2026-11-20T14:30:00.000Z");
        assert!(bd.show("bd-3")["due_at"].is_null());
    });
}
