//! Repositories of every shape, and remotes that are added late or are full.

use std::process::{Command, Stdio};

use beads_store::REF;

use super::{Remote, sync_until_equal, titles};
use crate::sandbox::{Mode, Sandbox, both};
use crate::small_disk::SmallDisk;

#[test]
fn a_repository_that_was_never_initialised_syncs_with_its_remote() {
    let remote = Remote::new();
    let ann = remote.replica(Mode::Embedded);
    ann.create(&["one"]);
    ann.json(&["sync"]);
    both(|ben| {
        ben.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        let synced = ben.json(&["sync"]);
        assert!(synced["pulled"] == true && synced["pushed"] == false, "{synced}");
        assert_eq!(synced["joined"], 1, "{synced}");
        assert_eq!(titles(ben), ["one"]);
        assert_eq!(ben.repository().refname_to_id(REF).ok(), remote.tip(), "no local commit was made");
    });
}

#[test]
fn a_remote_that_appears_later_gets_everything() {
    both(|bd| {
        bd.create(&["before"]);
        assert!(bd.json(&["sync"])["remote"].is_null());
        let remote = Remote::new();
        bd.repository().remote("elsewhere", remote.path().to_str().unwrap()).unwrap();
        let synced = bd.json(&["sync"]);
        assert!(synced["remote"] == "elsewhere" && synced["pushed"] == true, "{synced}");
        assert!(remote.tip().is_some());
    });
}

#[test]
fn a_fresh_clone_finds_the_beads_without_init_or_sync() {
    let remote = Remote::new();
    let ann = remote.replica(Mode::Embedded);
    ann.create(&["one"]);
    ann.json(&["sync"]);
    both(|ben| {
        let clone = ben.root().join("clone");
        git2::Repository::clone(remote.path().to_str().unwrap(), &clone).unwrap();
        let listed = ben.json(&["-C", clone.to_str().unwrap(), "list"]);
        assert_eq!(listed[0]["title"], "one");
        // Nothing is pulled, because the clone already had it, but it joins the store.
        let sync = || ben.run(&["-C", clone.to_str().unwrap(), "sync"]).succeeded("sync").stderr;
        assert_eq!(sync(), "Joined the store of origin: 1 bead\n");
        assert_eq!(sync(), "Already up to date with origin\n");
    });
}

/// Changes made in a clone before its first sync are based on the commit of the clone's tracking ref, which
/// git may delete.
#[test]
fn a_clone_survives_the_loss_of_its_tracking_ref() {
    let remote = Remote::new();
    let ann = remote.replica(Mode::Embedded);
    let id = ann.create(&["one"]);
    ann.json(&["sync"]);
    let ben = Sandbox::new(Mode::Embedded);
    let clone = ben.root().join("clone");
    let git = git2::Repository::clone(remote.path().to_str().unwrap(), &clone).unwrap();
    let clone = clone.to_str().unwrap();
    ben.json(&["-C", clone, "update", &id, "--title", "two"]);
    git.find_reference("refs/remotes/origin/beads/store").unwrap().delete().unwrap();
    assert_eq!(ben.json(&["-C", clone, "show", &id])[0]["title"], "two");
    ben.json(&["-C", clone, "sync"]);
    assert_eq!(ben.json(&["-C", clone, "show", &id])[0]["title"], "two");
    ann.json(&["sync"]);
    assert_eq!(ann.show(&id)["title"], "two");
}

#[test]
fn worktrees_and_bare_repositories_sync() {
    both(|bd| {
        let remote = Remote::new();
        bd.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        let tree = bd.root().join("tree");
        bd.repository().worktree("tree", &tree, None).unwrap();
        bd.json(&["-C", tree.to_str().unwrap(), "create", "from the worktree"]);
        assert_eq!(bd.json(&["-C", tree.to_str().unwrap(), "sync"])["pushed"], true);
        assert_eq!(titles(bd), ["from the worktree"]);

        let bare = bd.root().join("bare.git");
        let git = git2::Repository::init_bare(&bare).unwrap();
        git.remote("origin", remote.path().to_str().unwrap()).unwrap();
        let bare = bare.to_str().unwrap();
        bd.json(&["-C", bare, "sync"]);
        bd.json(&["-C", bare, "create", "from the bare one"]);
        bd.json(&["-C", bare, "sync"]);
        bd.json(&["sync"]);
        assert_eq!(titles(bd), ["from the bare one", "from the worktree"]);
    });
}

#[test]
fn a_shallow_clone_merges_without_its_history() {
    if !git(&["--version"]) {
        eprintln!("skipped: only the git program makes shallow clones of a remote on this machine");
        return;
    }
    for transport in ["native", "git"] {
        let remote = Remote::new();
        let ann = remote.replica(Mode::Embedded);
        for title in ["one", "two", "three"] {
            ann.create(&[title]);
            ann.json(&["sync"]);
        }
        let ben = Sandbox::without_repository(Mode::Embedded);
        std::fs::remove_dir(ben.dir()).unwrap();
        let url = format!("file://{}", remote.path().display());
        let into = ben.dir().to_str().unwrap();
        assert!(git(&[
            "clone",
            "-q",
            "--depth",
            "1",
            "--branch",
            "beads/store",
            "--no-checkout",
            &url,
            into
        ]));
        assert!(ben.dir().join(".git/shallow").exists());
        ben.json(&["config", "set", "sync.transport", transport]);
        let run = |args: &[&str]| {
            let mut command = ben.command(args);
            if transport == "git" {
                command.env("PATH", std::env::var_os("PATH").unwrap());
            }
            crate::sandbox::Run::of(&mut command).succeeded(args)
        };
        run(&["create", "from the shallow one"]);
        ann.create(&["four"]);
        ann.json(&["sync"]);
        run(&["sync"]);
        ann.create(&["five"]);
        ann.json(&["sync"]);
        run(&["sync"]);
        sync_until_equal(&[&ann]);
        assert_eq!(titles(&ben), ["five", "four", "from the shallow one", "one", "three", "two"]);
        assert_eq!(titles(&ann), titles(&ben), "{transport}");
    }
}

fn git(args: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Creates a remote with a `main` branch and a store, and a clone of it as CI makes it. Returns `None`
/// without a git program.
fn cloned(how: &[&str], mode: Mode) -> Option<(Remote, Sandbox)> {
    if !git(&["--version"]) {
        eprintln!("skipped: only the git program makes such clones");
        return None;
    }
    let remote = Remote::new();
    remote.git.config().unwrap().set_bool("uploadpack.allowFilter", true).unwrap();
    let ann = remote.replica(Mode::Embedded);
    ann.create(&["one"]);
    ann.json(&["sync"]);
    let repository = ann.repository();
    let mut origin = repository.find_remote("origin").unwrap();
    origin.push(&["refs/heads/main:refs/heads/main"], None).unwrap();
    let ben = Sandbox::without_repository(mode);
    std::fs::remove_dir(ben.dir()).unwrap();
    let url = format!("file://{}", remote.path().display());
    let into = ben.dir().to_str().unwrap();
    let clone = ["clone", "-q", "--branch", "main"];
    assert!(git(&[&clone, how, &[url.as_str(), into]].concat()));
    Some((remote, ben))
}

#[test]
fn a_partial_clone_fetches_missing_objects() {
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let Some((_remote, ben)) = cloned(&[filter], Mode::Embedded) else { return };
        let run = |args: &[&str]| {
            let mut command = ben.command(args);
            command.env("PATH", std::env::var_os("PATH").unwrap());
            crate::sandbox::Run::of(&mut command).succeeded(args)
        };
        assert!(run(&["list", "--json"]).stdout.contains("\"one\""), "{filter}");
        run(&["create", "two"]);
        run(&["sync"]);
        assert_eq!(titles(&ben), ["one", "two"], "{filter}");
    }
}

/// Without a git program: from a path on this machine, over the network, and from another remote when the
/// promisor remote is unreachable.
#[test]
fn a_partial_clone_fetches_missing_objects_without_git() {
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        for way in ["path", "wire", "other"] {
            let Some((remote, ben)) = cloned(&[filter], Mode::Embedded) else { return };
            let origin = ben.repository().find_remote("origin").unwrap().url().unwrap().to_owned();
            let repository = ben.repository();
            match way {
                "path" => {}
                "wire" => {
                    let url = serve(&remote.path());
                    repository.remote_set_url("origin", &url).unwrap();
                }
                _ => {
                    repository.remote_set_url("origin", "/nowhere/at/all.git").unwrap();
                    repository.remote("backup", &origin).unwrap();
                }
            }
            assert_eq!(titles(&ben), ["one"], "{filter} {way}");
        }
    }
}

/// Serves a repository with `git daemon`, one process for each connection, until the test ends.
fn serve(repository: &std::path::Path) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}{}", listener.local_addr().unwrap(), repository.display());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let stream = std::os::fd::OwnedFd::from(stream);
            let output = stream.try_clone().unwrap();
            let mut daemon = Command::new("git");
            daemon
                .args(["daemon", "--inetd", "--export-all"])
                .stdin(stream)
                .stdout(output)
                .stderr(Stdio::null());
            let _ = daemon.status();
        }
    });
    url
}

#[test]
fn a_partial_clone_with_an_unreachable_remote_is_not_repaired() {
    let Some((remote, ben)) = cloned(&["--filter=blob:none"], Mode::Embedded) else { return };
    let away = remote.path().with_extension("away");
    std::fs::rename(remote.path(), &away).unwrap();
    let run = ben.run(&["repair", "--apply", "--json"]);
    assert!(run.exit == Some(1) && run.stdout.contains("partial clone"), "{run:?}");
    assert!(!ben.dir().join(".git").join(REF).exists(), "nothing was committed");
}

#[test]
fn a_shallow_clone_of_one_branch_asks_its_remote_once() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let Some((_remote, ben)) = cloned(&["--depth", "1"], mode) else { return };
        assert_eq!(titles(&ben), ["one"], "{mode:?}: without bd sync");

        let Some((remote, cyd)) = cloned(&["--depth", "1"], mode) else { return };
        remote.git.find_reference(REF).unwrap().delete().unwrap();
        assert!(titles(&cyd).is_empty());
        assert!(remote.tip().is_none(), "{mode:?}: a query pushes nothing");
        let asked = std::fs::read_to_string(cyd.dir().join(".git/beads/sync-state.json")).unwrap();
        assert!(asked.contains("asked_ms"), "{mode:?}: {asked}");
    }
}

#[test]
fn a_full_disk_on_the_remote_loses_nothing_and_sync_recovers() {
    let bd = Sandbox::new(Mode::Embedded);
    let Some(disk) = SmallDisk::mount(bd.root().join("small"), "256k") else { return };
    let path = disk.path().join("remote.git");
    git2::Repository::init_bare(&path).unwrap();
    bd.repository().remote("origin", path.to_str().unwrap()).unwrap();
    bd.create(&["kept"]);
    let filler = disk.fill();
    let run = bd.run(&["sync", "--json"]);
    assert!(matches!(run.exit, Some(1 | 22)), "{run:?}");
    let error = bd.json(&["status"])["sync"]["last_error"].clone();
    assert!(error["message"].is_string(), "{error}");
    assert_eq!(titles(&bd), ["kept"]);
    std::fs::remove_file(&filler).unwrap();
    assert_eq!(bd.json(&["sync"])["pushed"], true);
    assert!(bd.json(&["status"])["sync"]["last_error"].is_null());
}
