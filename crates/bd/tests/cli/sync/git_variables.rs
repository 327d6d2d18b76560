//! Variables that git sets for its hooks, and that users set for their own work.

use std::process::Command;

use super::{Remote, titles};
use crate::sandbox::{Mode, Run};

#[test]
fn variables_of_the_users_own_git_reach_neither_the_daemon_nor_its_git() {
    if !Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no git program found");
        return;
    }
    for mode in [Mode::Daemon, Mode::Embedded] {
        let remote = Remote::new();
        let ann = remote.replica(Mode::Embedded);
        ann.create(&["from ann"]);
        ann.json(&["sync"]);
        let ben = remote.replica(mode);
        let elsewhere = ben.root().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let run = |args: &[&str]| {
            let mut command = ben.command(args);
            command.env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_NAMESPACE", "other");
            for variable in ["GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_INDEX_FILE"] {
                command.env(variable, &elsewhere);
            }
            Run::of(&mut command).succeeded(args)
        };
        run(&["config", "set", "sync.transport", "git"]);
        run(&["create", "from ben", "--quiet"]);
        run(&["sync"]);
        assert_eq!(remote.git.references_glob("refs/namespaces/*").unwrap().count(), 0, "{mode:?}");
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "{mode:?}: nothing went elsewhere");
        ann.json(&["sync"]);
        assert_eq!(titles(&ann), ["from ann", "from ben"], "{mode:?}");
        assert_eq!(titles(&ben), titles(&ann), "{mode:?}");
    }
}

#[test]
fn a_conflicting_branch_is_reported_by_validate() {
    let bd = crate::sandbox::Sandbox::new(Mode::Embedded);
    let repository = bd.repository();
    let head = repository.head().unwrap().peel_to_commit().unwrap();
    repository.branch("beads", &head, false).unwrap();
    bd.create(&["kept"]);
    let run = bd.run(&["validate", "--json"]);
    assert!(run.stdout.contains("git branch -m"), "{run:?}");
    let run = bd.run(&["sync", "--json"]);
    assert!(run.stdout.contains("git branch -m"), "{run:?}");
    repository.find_branch("beads", git2::BranchType::Local).unwrap().rename("mine", false).unwrap();
    bd.json(&["sync"]);
    assert_eq!(titles(&bd), ["kept"]);
}
