use std::fs;
use std::process::Command;

use crate::team::{Ran, Team, data, envelope, ran};

fn guard(team: &Team, agent: &str, args: &[&str]) -> Ran {
    team.run(&[&["guard", "--agent", agent], args].concat())
}

#[test]
fn allows_paths_that_no_other_agent_reserved() {
    let mut team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src/**");
    assert_eq!(team.text(&["guard", "--agent", "amber", "src/a.rs"]), "✓ Allowed: 1 paths\n");
    assert_eq!(team.text(&["guard", "--agent", "birch", "docs/a.md", "lib.rs"]), "✓ Allowed: 2 paths\n");
    let verdict = team.ok(&["guard", "--agent", "amber", "src/a.rs"]);
    assert_eq!(verdict, serde_json::json!({"decision": "allow", "agent_id": "amber", "paths": ["src/a.rs"]}));
    team.at("2026-02-13T14:00:00Z");
    assert_eq!(guard(&team, "birch", &["src/a.rs"]).exit, 0, "expired");
}

#[test]
fn denies_with_the_holders_name() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src/**");
    for path in ["src/a.rs", "./src/../src/b.rs", "src", "src/not/yet/there.rs"] {
        let said = guard(&team, "birch", &["ok.rs", path]);
        assert_eq!((said.exit, said.out.as_str()), (1, ""), "{path}");
        let expected =
            format!("Error: [RESERVATION_CONFLICT] {path} is reserved by amber (scope 'src/**', bead bd-1)");
        assert!(said.err.starts_with(&expected), "{}", said.err);
    }
    let error = team.fails("RESERVATION_CONFLICT", 1, &["guard", "--agent", "birch", "src/a", "x", "src/b"]);
    assert_eq!(error["details"]["holder"], "amber");
    let paths: Vec<_> =
        error["details"]["conflicts"].as_array().unwrap().iter().map(|c| &c["path"]).collect();
    assert_eq!(paths, ["src/a", "src/b"]);
}

#[test]
fn paths_are_literal_and_relative_to_the_current_directory() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "app/[id]/page.tsx");
    assert_eq!(guard(&team, "birch", &["app/[id]/page.tsx"]).exit, 1);
    assert_eq!(guard(&team, "birch", &["app/*/page.tsx"]).exit, 0, "no agent reserved a file of that name");
    let absolute = team.dir().join("app/[id]/page.tsx");
    assert_eq!(guard(&team, "birch", &[absolute.to_str().unwrap()]).exit, 1);
    assert_eq!(guard(&team, "birch", &["/somewhere/else/app/[id]/page.tsx"]).exit, 0);
}

#[test]
fn a_link_does_not_bypass_the_guard() {
    let team = Team::of(&["amber", "birch"]);
    fs::create_dir(team.dir().join("src")).unwrap();
    std::os::unix::fs::symlink("src", team.dir().join("link")).unwrap();
    team.reserves("amber", "src/**");
    assert_eq!(guard(&team, "birch", &["link/a.rs"]).exit, 1);
}

#[test]
fn the_agent_may_come_from_the_environment() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src");
    for (agent, exit) in [("amber", 0), ("birch", 1)] {
        let mut command = team.agent(&["guard", "src/a"]);
        command.env("BB_AGENT", agent);
        assert_eq!(ran(command).exit, exit, "{agent}");
    }
    assert_eq!(team.fails("INVALID_ARGS", 2, &["guard", "src/a"])["reason"], "INVALID_AGENT_ID");
    assert_eq!(team.fails("INVALID_ARGS", 2, &["guard", "--agent", "amber"])["reason"], "INVALID_PATH");
    team.fails("AGENT_NOT_FOUND", 1, &["guard", "--agent", "cedar", "src/a"]);
}

#[test]
fn an_unreadable_store_is_an_error_not_an_answer() {
    let team = Team::of(&["amber", "birch"]);
    team.write("reservations/active.json", "{\"reservations\": [");
    let error = team.fails("IO_READ_FAILED", 3, &["guard", "--agent", "birch", "src/a"]);
    assert!(error["details"]["file"].as_str().unwrap().ends_with("reservations/active.json"));
    let hook = guard(&team, "birch", &["--hook", "src/a"]);
    assert_eq!((hook.exit, hook.out.as_str()), (0, ""), "a hook fails open");
    assert!(
        hook.err.starts_with("Warning: [IO_READ_FAILED] ") && hook.err.ends_with("Not checked; allowed.\n")
    );
    let said = ran(team.agent(&["guard", "--agent", "birch", "--hook", "--json", "src/a"]));
    let verdict = data(&said, &["guard"]);
    assert_eq!(
        (&verdict["decision"], &verdict["warning"]["code"]),
        (&"unknown".into(), &"IO_READ_FAILED".into())
    );
}

#[test]
fn a_refused_hook_exits_with_two() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src");
    let said = guard(&team, "birch", &["--hook", "src/a", "--json"]);
    assert_eq!((said.exit, &envelope(&said)["error"]["code"]), (2, &"RESERVATION_CONFLICT".into()));
    assert!(said.err.contains("reserved by amber"));
    assert_eq!(guard(&team, "amber", &["--hook", "src/a"]).exit, 0);
    assert_eq!(guard(&team, "amber", &["--hook"]).exit, 0, "a commit without files");
}

#[test]
fn a_hook_allows_callers_that_are_not_agents() {
    let team = Team::of(&["amber"]);
    team.reserves("amber", "src");
    for args in [&["guard", "--hook", "src/a"][..], &["guard", "--hook", "--agent", "nobody", "src/a"]] {
        let said = team.run(args);
        assert_eq!(said.exit, 0, "{args:?}");
        assert!(said.err.starts_with("Warning: ["), "{}", said.err);
    }
    let mut lost = team.agent(&["guard", "--hook", "--agent", "amber", "src/a"]);
    lost.env("BB_NOW", "yesterday");
    assert_eq!(ran(lost).exit, 0, "a hook fails open");
}

/// The hook of docs/BB.md, as git runs it.
#[test]
fn as_a_pre_commit_hook() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src");
    let work = team.dir().join("work");
    let git = |args: &[&str], agent: &str| {
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_bb")).parent().unwrap().to_path_buf();
        let path = std::env::join_paths(
            [bin].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args).current_dir(&work);
        git.env("PATH", path.unwrap()).env("BB_AGENT_ROOT", team.store()).env("BB_AGENT", agent);
        git.env("BB_NOW", crate::team::NOON).env("HOME", team.dir());
        git.output()
    };
    fs::create_dir_all(work.join("src")).unwrap();
    if git(&["init", "-q"], "").is_err() {
        return; // There is no git on this machine.
    }
    let doc = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/BB.md")).unwrap();
    let hook =
        doc.split("```sh\n").find(|part| part.starts_with("#!/bin/sh\n# .git/hooks/pre-commit")).unwrap();
    let hook = hook.split("```").next().unwrap();
    let file = work.join(".git/hooks/pre-commit");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, hook).unwrap();
    let executable = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(&file, executable).unwrap();

    fs::write(work.join("src/a b.rs"), "").unwrap();
    assert!(git(&["add", "."], "").unwrap().status.success());
    let refused = git(&["commit", "-qm", "x"], "birch").unwrap();
    assert!(!refused.status.success());
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("src/a b.rs is reserved by amber"),
        "{refused:?}"
    );
    let allowed = git(&["commit", "-qm", "x"], "amber").unwrap();
    assert!(allowed.status.success(), "{allowed:?}");
}
