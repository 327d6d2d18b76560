//! Where the store is found, and which files stay unchanged.

use std::path::{Path, PathBuf};

use crate::sandbox::{Mode, Run, Sandbox, both, commit_something, is_clean};

/// Returns every file below a directory, except those in `.git`.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().unwrap() != ".git" {
                todo.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn work_tree_index_and_branches_are_left_alone() {
    both(|bd| {
        let repository = bd.repository();
        let observe = || {
            let mut refs: Vec<_> = repository
                .references()
                .unwrap()
                .map(|reference| reference.unwrap())
                .map(|reference| (reference.name().unwrap().to_owned(), reference.target()))
                .filter(|(name, _)| name != "refs/heads/beads/store" && !name.starts_with("refs/beads/"))
                .collect();
            refs.sort_unstable();
            let index = std::fs::read(bd.dir().join(".git/index")).unwrap();
            let head = std::fs::read(bd.dir().join(".git/HEAD")).unwrap();
            (files(bd.dir()), refs, index, head)
        };
        let before = observe();
        bd.text(&["init"]);
        let id = bd.create(&["x"]);
        bd.json(&["claim", &id]);
        bd.json(&["close", &id]);
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        assert_eq!(observe(), before);
        assert!(repository.statuses(None).unwrap().is_empty());
        assert!(repository.find_reference("refs/heads/beads/store").is_ok());
    });
}

#[test]
fn subdirectories_and_worktrees_share_the_store() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let deep = bd.dir().join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        let other = bd.root().join("other");
        bd.repository().worktree("other", &other, None).unwrap();
        for place in [deep, other.clone()] {
            let place = place.to_str().unwrap();
            assert_eq!(bd.json(&["-C", place, "show", &id])[0]["title"], "x", "{place}");
            assert_eq!(bd.json(&["--repo", place, "where"])["path"], bd.json(&["where"])["path"]);
        }
        let there = bd.json(&["-C", other.to_str().unwrap(), "create", "from the worktree"]);
        assert_eq!(there["created_on_branch"], "other");
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2);
        assert_eq!(files(&other), [other.join(".git"), other.join("file.txt")]);
        let worktree = git2::Repository::open(&other).unwrap();
        assert!(worktree.statuses(None).unwrap().is_empty());
    });
}

#[test]
fn a_bare_repository_is_supported() {
    both(|bd| {
        let bare = bd.root().join("bare.git");
        git2::Repository::init_bare(&bare).unwrap();
        let at = bare.to_str().unwrap();
        let id = bd.json(&["-C", at, "create", "x"])["id"].as_str().unwrap().to_owned();
        bd.text(&["-C", at, "sync"]);
        let inside = bare.join("refs");
        assert_eq!(bd.json(&["-C", inside.to_str().unwrap(), "show", &id])[0]["title"], "x");
        let repository = git2::Repository::open_bare(&bare).unwrap();
        assert!(repository.find_reference("refs/heads/beads/store").is_ok());
        assert_eq!(bd.json(&["list"]), serde_json::json!([]), "another repository, another store");
    });
}

#[test]
fn outside_a_repository_the_first_write_creates_a_private_store() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let bd = Sandbox::without_repository(mode);
        for read in [
            &["list"][..],
            &["ready"],
            &["show", "bd-1"],
            &["blocked"],
            &["deleted"],
            &["count"],
            &["status"],
            &["validate"],
            &["config", "list"],
            &["label", "list-all"],
            &["dep", "cycles"],
            &["epic", "status"],
            &["sync"],
        ] {
            bd.error(read, "no_store");
        }
        // These writes do not create a store: they need one that exists, or are invalid.
        bd.error(&["close", "bd-1"], "no_store");
        bd.error(&["note", "add", "bd-1", "x"], "no_store");
        bd.error(&["config", "set", "nonsense", "1"], "unknown_key");
        bd.error(&["create", ""], "invalid_value");
        assert_eq!(bd.json(&["where"])["exists"], false);
        assert_eq!(files(bd.dir()), Vec::<PathBuf>::new(), "reading creates no files");

        let id = bd.create(&["x"]);
        assert!(bd.dir().join(".beads").is_dir());
        let found = bd.json(&["where"]);
        assert_eq!((&found["private"], &found["exists"]), (&true.into(), &true.into()));
        let below = bd.dir().join("below");
        std::fs::create_dir(&below).unwrap();
        assert_eq!(bd.json(&["-C", below.to_str().unwrap(), "show", &id])[0]["title"], "x");
        assert!(bd.show(&id)["created_on_branch"].is_null());
        bd.text(&["sync"]);
        assert_eq!(bd.json(&["validate"]), serde_json::json!([]));
    }
}

/// `--db`, `BEADS_DB` and `BEADS_DIR` all lead to the same private store, however its path is spelled.
#[test]
fn a_private_store_by_name() {
    both(|bd| {
        let home = bd.root().join("elsewhere");
        std::fs::create_dir(&home).unwrap();
        std::os::unix::fs::symlink(&home, bd.root().join("link")).unwrap();
        let db = home.join(".beads/beads.db");
        // The first write uses a path with a link and `..`. The store still has one canonical path from the
        // start.
        let id = bd.create(&["x", "--db", "../link/.beads/beads.db"]);
        assert_eq!(bd.json(&["--db", db.to_str().unwrap(), "show", &id])[0]["title"], "x");
        let with = |name: &str, value: &Path| {
            let mut command = bd.command(&["show", &id, "--json"]);
            Run::of(command.env(name, value)).succeeded(name).value()[0]["title"].clone()
        };
        assert_eq!(with("BEADS_DB", &db), "x");
        assert_eq!(with("BEADS_DIR", &home.join(".beads")), "x");
        assert_eq!(with("BEADS_DIR", Path::new("../link/.beads")), "x");
        bd.error(&["show", &id], "not_found");
        // An empty variable counts as unset.
        for name in ["BEADS_DB", "BEADS_DIR"] {
            let run = Run::of(bd.command(&["list", "--json"]).env(name, ""));
            assert_eq!(run.succeeded(name).value(), serde_json::json!([]));
        }
        let names: Vec<_> = files(&home).into_iter().filter(|path| path.parent() == Some(&home)).collect();
        assert_eq!(names, [home.join(".beads")]);
        assert_eq!(files(bd.dir()), [bd.dir().join(".git"), bd.dir().join("file.txt")]);
    });
}

/// An existing store takes precedence over the repository around it; one in a directory above the repository
/// does not.
#[test]
fn the_nearest_store_up_to_the_repository() {
    both(|bd| {
        let inner = bd.dir().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let db = inner.join(".beads/beads.db");
        let at = inner.to_str().unwrap();
        bd.text(&["-C", at, "init", "--private"]);
        let id = bd.create(&["private", "--db", db.to_str().unwrap()]);
        assert_eq!(bd.json(&["-C", at, "show", &id])[0]["title"], "private");
        bd.error(&["show", &id], "not_found");
        let nested = inner.join("nested");
        std::fs::create_dir(&nested).unwrap();
        commit_something(&nested);
        bd.error(&["-C", nested.to_str().unwrap(), "show", &id], "not_found");
    });
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    both(|bd| {
        bd.error(&["-C", "/no/such/directory", "list"], "io_error");
        bd.error(&["-C", "", "list"], "usage");
    });
}

/// A `.beads` directory in a work tree, left by another `bd` or by a client, refers to the repository's
/// store.
#[test]
fn a_leftover_directory_does_not_split_the_store() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let beads = bd.dir().join(".beads");
        std::fs::create_dir(&beads).unwrap();
        std::fs::write(beads.join("beads.db"), "SQLite format 3").unwrap();
        let db = beads.join("beads.db").display().to_string();
        let other = bd.root().join("other");
        bd.repository().worktree("other", &other, None).unwrap();
        let there = other.join(".beads/beads.db").display().to_string();
        for db in [&db, &there] {
            assert_eq!(bd.json(&["--db", db, "show", &id])[0]["title"], "x", "{db}");
            for (name, value) in [("BEADS_DB", Path::new(db)), ("BEADS_DIR", Path::new(db).parent().unwrap())]
            {
                let run = Run::of(bd.command(&["show", &id, "--json"]).env(name, value));
                assert_eq!(run.succeeded(name).value()[0]["title"], "x");
            }
        }
        let made = bd.create(&["y", "--db", &db]);
        assert_eq!(bd.show(&made)["title"], "y", "one store");
        assert!(!beads.join("store.git").exists());
        // Elsewhere in the work tree a write does not create a store.
        let odd = bd.dir().join("odd/beads.db").display().to_string();
        bd.error(&["create", "z", "--db", &odd], "no_store");
        assert!(!bd.dir().join("odd").exists());
    });
}

/// An existing private store is used. `bd doctor` reports it, and its beads can be imported.
#[test]
fn a_private_store_in_a_work_tree() {
    both(|bd| {
        let shared = bd.create(&["shared"]);
        bd.text(&["init", "--private", "--quiet"]);
        assert!(is_clean(&bd.repository()), "git does not see it");
        let own = bd.create(&["own"]);
        bd.error(&["show", &shared], "not_found");
        let db = bd.dir().join(".beads/beads.db").display().to_string();
        assert_eq!(bd.json(&["--db", &db, "show", &own])[0]["title"], "own");
        let doctor = bd.json(&["doctor"]);
        assert_eq!(doctor["checks"][3]["findings"][0]["code"], "private_store", "{doctor}");
        bd.json(&["import", "--from", "private-store", ".beads"]);
        std::fs::rename(bd.dir().join(".beads/store.git"), bd.root().join("moved.git")).unwrap();
        assert_eq!(bd.show(&own)["title"], "own");
        assert_eq!(bd.show(&shared)["title"], "shared");
    });
}

#[test]
fn a_new_private_store_says_what_it_hides() {
    both(|bd| {
        let shared = bd.create(&["shared"]);
        let run = bd.run(&["init", "--private", "--json"]);
        assert_eq!((run.exit, run.value()["prefix"].as_str()), (Some(0), Some("bd")), "{run:?}");
        assert!(run.stderr.contains("hides 1 bead of the repository's store"), "{run:?}");
        assert_eq!(bd.json(&["list"]), serde_json::json!([]));
        // The warning names this way back.
        bd.json(&["uninstall"]);
        assert_eq!(bd.show(&shared)["title"], "shared");
    });
}

/// A client whose first command is a read finds no beads and creates nothing.
#[test]
fn an_empty_directory_outside_git_is_an_empty_store() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let bd = Sandbox::without_repository(mode);
        let beads = bd.dir().join(".beads");
        std::fs::create_dir(&beads).unwrap();
        let db = beads.join("beads.db").display().to_string();
        for query in [&["list"][..], &["ready"], &["blocked"], &["dep", "cycles"], &["epic", "status"]] {
            let answer = bd.json(&[&["--db", &db], query].concat());
            assert_eq!(answer, serde_json::json!([]), "{query:?}");
        }
        assert_eq!(bd.json(&["--db", &db, "stats"])["summary"]["total_issues"], 0);
        bd.error(&["--db", &db, "show", "bd-1"], "not_found");
        bd.error(&["--db", &db, "close", "bd-1"], "no_store");
        assert_eq!(files(bd.dir()), [beads]);
    }
}
/// The layout of jj: the main workspace has a directory `.jj/repo`, the others a file that names it.
#[test]
fn workspaces_of_a_jj_repository_share_the_store() {
    both(|bd| {
        let workspace = |name: &str, repo: &str| {
            let dir = bd.root().join(name);
            std::fs::create_dir_all(dir.join(".jj")).unwrap();
            std::fs::write(dir.join(".jj/repo"), repo).unwrap();
            dir.to_str().unwrap().to_owned()
        };
        let main = |dir: &Path, target: &str| {
            std::fs::create_dir_all(dir.join(".jj/repo/store")).unwrap();
            std::fs::write(dir.join(".jj/repo/store/git_target"), target).unwrap();
        };
        // With a `.git` directory beside `.jj`.
        main(bd.dir(), "../../../.git");
        let second = workspace("second", "../../repo/.jj/repo");
        bd.json(&["-C", &second, "create", "from the second", "--id", "bd-1"]);
        assert_eq!(bd.show("bd-1")["title"], "from the second");
        assert!(!Path::new(&second).join(".beads").exists());
        // With the git repository inside `.jj`.
        let alone = bd.root().join("alone");
        main(&alone, "git");
        git2::Repository::init_bare(alone.join(".jj/repo/store/git")).unwrap();
        let third = workspace("third", alone.join(".jj/repo").to_str().unwrap());
        let alone = alone.to_str().unwrap();
        bd.json(&["-C", alone, "create", "from the main one", "--id", "bd-2"]);
        assert_eq!(bd.json(&["-C", &third, "show", "bd-2"])[0]["title"], "from the main one");
        assert_eq!(bd.json(&["-C", &third, "where"])["git_dir"], bd.json(&["-C", alone, "where"])["git_dir"]);
    });
}

#[test]
fn a_repository_has_a_store_once_something_was_written() {
    let bd = Sandbox::new(Mode::Embedded);
    assert_eq!(bd.json(&["where"])["exists"], false);
    bd.create(&["x"]);
    assert_eq!(bd.json(&["where"])["exists"], true);
    bd.text(&["sync"]);
    std::fs::remove_dir_all(bd.dir().join(".git/beads")).unwrap();
    assert_eq!(bd.json(&["where"])["exists"], true, "its saved state is still there");
}
