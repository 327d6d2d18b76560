//! Where the store of `bb agent` is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use git2::{Repository, Signature, WorktreeAddOptions};

use crate::team::{Team, ran};

/// Returns `bb agent …` in a directory, without `BB_AGENT_ROOT`.
fn in_dir(team: &Team, dir: &Path, args: &[&str]) -> Command {
    let mut command = team.agent(args);
    command.env_remove("BB_AGENT_ROOT").current_dir(dir);
    command
}

fn register(team: &Team, dir: &Path, name: &str) {
    let said = ran(in_dir(team, dir, &["register", "--name", name, "--role", "ui"]));
    assert_eq!(said.exit, 0, "{said:?}");
}

fn names(team: &Team, dir: &Path) -> String {
    ran(in_dir(team, dir, &["list"])).out
}

fn commit(repository: &Repository) {
    let me = Signature::now("t", "t@example.org").unwrap();
    let tree = repository.treebuilder(None).unwrap().write().unwrap();
    let tree = repository.find_tree(tree).unwrap();
    repository.commit(Some("HEAD"), &me, &me, "first", &tree, &[]).unwrap();
}

fn add_work_tree(repository: &Repository, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap().to_str().unwrap();
    repository.worktree(name, path, Some(&WorktreeAddOptions::new())).unwrap();
    path.to_path_buf()
}

#[test]
fn all_work_trees_share_the_store_of_the_main_one() {
    let team = Team::of(&[]);
    let main = team.dir().join("main");
    let repository = Repository::init(&main).unwrap();
    commit(&repository);
    let linked = add_work_tree(&repository, &team.dir().join("linked"));
    let deep = main.join("a/b");
    fs::create_dir_all(&deep).unwrap();

    register(&team, &linked, "amber");
    register(&team, &deep, "birch");
    assert!(main.join(".beadboard/agent/agents/amber.json").is_file());
    assert!(!linked.join(".beadboard").exists() && !deep.join(".beadboard").exists());
    for dir in [&main, &linked, &deep] {
        assert_eq!(names(&team, dir), "Found 2 agents:\n- amber (ui) [idle]\n- birch (ui) [idle]\n");
    }
}

#[test]
fn it_is_ignored_by_git_without_touching_a_tracked_file() {
    let team = Team::of(&[]);
    let main = team.dir().join("main");
    let repository = Repository::init(&main).unwrap();
    let exclude = main.join(".git/info/exclude");
    fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    fs::write(&exclude, "# mine\n*.bak").unwrap();
    for name in ["amber", "birch"] {
        register(&team, &main, name);
    }
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "# mine\n*.bak\n.beadboard/\n");
    assert!(repository.statuses(None).unwrap().iter().all(|entry| entry.status().is_ignored()));
    assert!(!main.join(".gitignore").exists());
}

#[test]
fn a_refused_command_leaves_no_trace_in_a_repository() {
    let team = Team::of(&[]);
    let main = team.dir().join("main");
    Repository::init(&main).unwrap();
    for args in
        [&["heartbeat", "--agent", "amber"][..], &["list"], &["guard", "--agent", "amber", "x"], &["status"]]
    {
        ran(in_dir(&team, &main, args));
    }
    assert!(!main.join(".beadboard").exists());
}

#[test]
fn a_bare_repository_contains_its_store() {
    let team = Team::of(&[]);
    let bare = team.dir().join("project.git");
    let repository = Repository::init_bare(&bare).unwrap();
    commit(&repository);
    let linked = add_work_tree(&repository, &team.dir().join("linked"));
    register(&team, &linked, "amber");
    register(&team, &bare, "birch");
    assert!(bare.join(".beadboard/agent/agents/amber.json").is_file());
    assert_eq!(names(&team, &linked), names(&team, &bare));
}

#[test]
fn a_bare_repository_called_git_is_still_bare() {
    let team = Team::of(&[]);
    let project = team.dir().join("project");
    let repository = Repository::init_bare(project.join(".git")).unwrap();
    commit(&repository);
    let linked = add_work_tree(&repository, &project.join("linked"));
    register(&team, &linked, "amber");
    assert!(project.join(".git/.beadboard/agent/agents/amber.json").is_file());
    assert!(!project.join(".beadboard").exists());
}

#[test]
fn a_submodule_has_its_own_store() {
    let team = Team::of(&[]);
    let outer = team.dir().join("outer");
    Repository::init(&outer).unwrap();
    // The layout of a submodule: its git directory is inside the one of the outer repository.
    let inner = outer.join("inner");
    let mut options = git2::RepositoryInitOptions::new();
    options.workdir_path(&inner).no_dotgit_dir(true);
    fs::create_dir_all(&inner).unwrap();
    let modules = outer.join(".git/modules/inner");
    let repository = Repository::init_opts(&modules, &options).unwrap();
    repository.config().unwrap().set_str("core.worktree", "../../../inner").unwrap();
    fs::write(inner.join(".git"), format!("gitdir: {}\n", modules.display())).unwrap();
    register(&team, &inner, "amber");
    assert!(inner.join(".beadboard/agent/agents/amber.json").is_file());
    assert_eq!(names(&team, &outer), "Found 0 agents:\n");
}

#[test]
fn outside_a_repository_it_is_in_the_home_directory() {
    let team = Team::of(&[]);
    let dir = team.dir().join("elsewhere");
    fs::create_dir(&dir).unwrap();
    register(&team, &dir, "amber");
    assert!(team.dir().join("home/.beadboard/agent/agents/amber.json").is_file());
}

#[test]
fn a_broken_repository_is_not_skipped() {
    let team = Team::of(&[]);
    let main = team.dir().join("main");
    fs::create_dir_all(&main).unwrap();
    fs::write(main.join(".git"), "gitdir: /nowhere/at/all\n").unwrap();
    let said = ran(in_dir(&team, &main, &["register", "--name", "amber", "--role", "ui", "--json"]));
    assert_eq!(said.exit, 1, "{said:?}");
    assert!(!team.dir().join("home/.beadboard").exists());
}

#[test]
fn the_override_may_be_relative() {
    let team = Team::of(&[]);
    let mut command = team.agent(&["register", "--name", "amber", "--role", "ui"]);
    command.env("BB_AGENT_ROOT", "some/where");
    assert_eq!(ran(command).exit, 0);
    assert!(team.dir().join("some/where/agents/amber.json").is_file());
}

#[test]
fn a_path_means_the_same_in_every_work_tree() {
    let team = Team::of(&[]);
    let main = team.dir().join("main");
    let repository = Repository::init(&main).unwrap();
    commit(&repository);
    let linked = add_work_tree(&repository, &team.dir().join("linked"));
    let nested = add_work_tree(&repository, &main.join("nested"));
    for name in ["amber", "birch"] {
        register(&team, &main, name);
    }
    let scope = linked.join("src");
    let reserve = ["reserve", "--agent", "amber", "--bead", "b", "--scope", scope.to_str().unwrap()];
    assert!(
        ran(in_dir(&team, &linked, &reserve)).out.contains("\nScope: src\n"),
        "an absolute scope is made relative"
    );
    fs::create_dir(main.join("src")).unwrap();
    for (dir, path) in [
        (&main, "src/a.rs".to_owned()),
        (&linked, "src/a.rs".to_owned()),
        (&main.join("src"), "a.rs".to_owned()),
        (&main, nested.join("src/a.rs").to_str().unwrap().to_owned()),
        (&nested, linked.join("src/a.rs").to_str().unwrap().to_owned()),
    ] {
        let said = ran(in_dir(&team, dir, &["guard", "--agent", "birch", &path]));
        assert_eq!(said.exit, 1, "{path} in {}", dir.display());
    }
    let said =
        ran(in_dir(&team, &main.join("src"), &["guard", "--agent", "birch", "../a.rs", "src/a.rs/.."]));
    assert_eq!(said.exit, 1, "src/src/a.rs lies below src as well");
    assert_eq!(ran(in_dir(&team, &main.join("src"), &["guard", "--agent", "birch", "../a.rs"])).exit, 0);
}

/// A sandbox that may read but not write. Root may always write, so the test does nothing as root.
#[test]
fn a_read_only_store_can_be_read() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let mut team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src");
    team.sends("birch", "amber", "INFO", "s");
    let modes = |file: u32, dir: u32| {
        for (path, mode) in
            [("lock", file), ("agents", dir), ("messages", dir), ("reservations", dir), ("", dir)]
        {
            let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(mode);
            fs::set_permissions(team.store().join(path), mode).unwrap();
        }
    };
    modes(0o444, 0o555);
    let mut codes = Vec::new();
    for args in [
        &["list"][..],
        &["show", "--agent", "amber"],
        &["status"],
        &["inbox", "--agent", "amber"],
        &["guard", "--agent", "amber", "src/a"],
        &["guard", "--agent", "birch", "src/a"],
        &["heartbeat", "--agent", "amber"],
    ] {
        codes.push(team.run(args).exit);
    }
    modes(0o644, 0o755);
    assert_eq!(codes, [0, 0, 0, 0, 0, 1, 1]);
    team.at("2026-02-13T12:01:00Z").ok(&["heartbeat", "--agent", "amber"]);
}
