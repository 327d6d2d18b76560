//! Every error code of the registry, wrong command lines, and that no failure exits with 0.

use crate::team::{Team, envelope, error, ran};

/// Each code of §9 with a command that fails with it. `amber` holds `src`, `birch` once held `old`.
const TABLE: [(&str, i32, &str); 13] = [
    ("INVALID_ARGS", 2, "inbox --agent amber --limit 0"),
    ("AGENT_NOT_FOUND", 1, "show --agent nobody"),
    ("DUPLICATE_AGENT_ID", 1, "register --name amber --role x"),
    ("UNKNOWN_SENDER", 1, "send --from nobody --to amber --bead b --category INFO --subject s --body b"),
    ("UNKNOWN_RECIPIENT", 1, "send --from amber --to nobody --bead b --category INFO --subject s --body b"),
    ("MISSING_BEAD_ID", 2, "send --from amber --to birch --category INFO --subject s --body b"),
    ("INVALID_CATEGORY", 2, "send --from amber --to birch --bead b --category NEWS --subject s --body b"),
    ("MESSAGE_NOT_FOUND", 1, "read --agent amber --message msg_none"),
    ("ACK_FORBIDDEN", 1, "ack --agent amber --message msg_fixed"),
    ("RESERVATION_CONFLICT", 1, "reserve --agent birch --scope src --bead b"),
    ("RESERVATION_STALE_FOUND", 1, "reserve --agent amber --scope old --bead b"),
    ("RESERVATION_NOT_FOUND", 1, "release --agent amber --scope docs"),
    ("RELEASE_FORBIDDEN", 1, "release --agent birch --scope src"),
];

#[test]
fn every_code_of_the_registry() {
    let mut team = Team::of(&["amber", "birch"]);
    team.reserves("birch", "old");
    let letter = "send --from amber --to birch --bead b --category INFO --subject s --body b";
    team.ok_with_id("msg_fixed", &letter.split(' ').collect::<Vec<_>>());
    team.at("2026-02-13T15:00:00Z").reserves("amber", "src");
    for (code, exit, line) in TABLE {
        let args: Vec<&str> = line.split(' ').collect();
        team.fails(code, exit, &args);
        let said = team.run(&args);
        assert_eq!((said.exit, said.out.as_str()), (exit, ""), "{line}");
        assert!(
            said.err.starts_with(&format!("Error: [{code}] ")) && said.err.lines().count() == 1,
            "{}",
            said.err
        );
    }
    team.write("agents/birch.json", "?");
    team.fails("IO_READ_FAILED", 1, &["show", "--agent", "birch"]);
    let mut command = team.agent(&["register", "--name", "cedar", "--role", "x", "--json"]);
    let file = team.store().join("agents/amber.json/store");
    command.env("BB_AGENT_ROOT", file);
    let said = ran(command);
    assert_eq!((said.exit, &error(&said, &["register"])["code"]), (1, &"IO_WRITE_FAILED".into()));
}

#[test]
fn a_wrong_command_line() {
    let team = Team::of(&["amber"]);
    let lines: [(&[&str], &str); 9] = [
        (&["agent", "register", "--json"], "agent register"),
        (&["agent", "register", "--name", "birch", "--json"], "agent register"),
        (&["--json", "agent", "send", "--nonsense"], "agent send"),
        (&["agent", "show", "--json"], "agent show"),
        (&["--json", "agent", "show", "--agent"], "agent show"),
        (&["agent", "ack", "--agent", "amber", "--message", "msg_1", "extra", "--json"], "agent ack"),
        (&["agent", "frobnicate", "--json"], "agent"),
        (&["agent", "--json"], "agent"),
        (&["--json"], "agent"),
    ];
    for (args, command) in lines {
        let said = ran(team.bb(args));
        let answer = envelope(&said);
        assert_eq!(said.exit, 2, "{args:?}");
        assert_eq!(answer["error"]["code"], "INVALID_ARGS", "{args:?}");
        assert_eq!(answer["error"]["reason"], "USAGE", "{args:?}");
        assert_eq!(answer["command"], command, "{args:?}");
        assert!(!answer["error"]["message"].as_str().unwrap().contains('\n'), "{answer}");
        let plain: Vec<&str> = args.iter().copied().filter(|arg| *arg != "--json").collect();
        let said = ran(team.bb(&plain));
        assert_eq!((said.exit, said.out.as_str()), (2, ""), "{plain:?}");
        assert!(said.err.starts_with("Error: [INVALID_ARGS] "), "{}", said.err);
    }
}

#[test]
fn help_and_version_succeed() {
    let team = Team::of(&[]);
    for args in [&["--help"][..], &["agent", "--help"], &["agent", "guard", "--help"], &["--version"]] {
        let said = ran(team.bb(args));
        assert_eq!((said.exit, said.err.as_str()), (0, ""), "{args:?}");
        assert!(!said.out.is_empty());
    }
    let help = ran(team.bb(&["agent", "--help"])).out;
    let commands: Vec<&str> =
        help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().lines().collect();
    assert_eq!(commands.len(), 14);
    assert!(
        commands.iter().all(|line| line.split_whitespace().count() > 3),
        "each says what it does: {help}"
    );
    let help = ran(team.bb(&["agent", "guard", "--help"])).out;
    for word in ["0 allowed", "1 denied", "3 unknown", "--hook", "warns on stderr and allows"] {
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(word), "{word}: {help}");
    }
}

#[test]
fn a_wrong_environment() {
    let team = Team::of(&["amber"]);
    for (name, value, reason) in [("BB_NOW", "noon", "INVALID_NOW"), ("BB_ID", "../x", "INVALID_ID")] {
        let mut command = team.agent(&["list", "--json"]);
        command.env(name, value);
        let said = ran(command);
        assert_eq!((said.exit, &error(&said, &["list"])["reason"]), (2, &reason.into()));
    }
}

#[test]
fn json_is_pretty_with_two_spaces() {
    let team = Team::of(&[]);
    let said = ran(team.agent(&["list", "--json"]));
    assert_eq!(
        said.out,
        "{\n  \"ok\": true,\n  \"command\": \"agent list\",\n  \"data\": [],\n  \"error\": null\n}\n"
    );
}
