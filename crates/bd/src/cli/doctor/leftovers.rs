//! Leftovers of other trackers that still act, or whose data was not imported.

use std::path::Path;

use serde_json::Value;

use super::Examined;
use super::finding::{info, warning};
use crate::cli::go_directory;

/// The git hooks that the Go bd installs.
const HOOKS: [&str; 5] = ["pre-commit", "post-merge", "pre-push", "post-checkout", "prepare-commit-msg"];

/// What the hooks of the Go bd contain: their version line, the section of newer ones, and the commands of
/// older ones, which this bd does not have.
const HOOK_MARKS: [&str; 4] =
    ["bd-hooks-version", "BEGIN BEADS INTEGRATION", "bd hooks run", "bd sync --flush-only"];

/// Hooks longer than this were not written by the Go bd alone and are not searched.
const MAX_HOOK_BYTES: u64 = 1 << 20;

/// Reports data, hooks, merge drivers and daemons of the Go bd, and the beadboard directory of `bb`.
pub fn check(examined: &Examined) -> Vec<Value> {
    let place = examined.place;
    let exports_there = examined.setting("export.path").is_some_and(|path| path.starts_with(".beads/"));
    let data = if exports_there { None } else { go_data(&place.beads_dir()) };
    let found = [
        data,
        go_daemon(&place.beads_dir()),
        go_hooks(&place.git_dir.join("hooks")),
        merge_driver(place.home()),
        beadboard(place.home()),
    ];
    found.into_iter().flatten().collect()
}

fn go_data(beads: &Path) -> Option<Value> {
    let shown = beads.display();
    match go_directory::find_in(beads) {
        Ok(None) => None,
        Ok(Some(_)) => Some(info(
            "go_beads",
            format!(
                "{shown} has data of the Go bd; if it was not imported yet, run bd import to see what it would bring, and \
                 bd import --yes to import it"
            ),
        )),
        Err(failure) => Some(info("go_beads", failure.message)),
    }
}

fn go_daemon(beads: &Path) -> Option<Value> {
    let left = ["bd.sock", "daemon.pid", "daemon.lock"].into_iter().find(|name| beads.join(name).exists())?;
    let message = format!(
        "{} is left from a daemon of the Go bd; if one still runs, stop it with its own bd daemon stop, because it may \
         commit .beads files",
        beads.join(left).display()
    );
    Some(warning("go_daemon", message))
}

fn go_hooks(hooks: &Path) -> Option<Value> {
    let is_theirs = |name: &&str| {
        let path = hooks.join(name);
        let is_small = path.metadata().is_ok_and(|file| file.is_file() && file.len() <= MAX_HOOK_BYTES);
        let text = if is_small { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let text = String::from_utf8_lossy(&text);
        HOOK_MARKS.iter().any(|mark| text.contains(mark))
    };
    let found: Vec<_> = HOOKS.into_iter().filter(is_theirs).collect();
    let message = || {
        format!(
            "the git hooks {} in {} belong to the Go bd and call commands that this bd does not have; delete them, or \
             the lines that name bd",
            found.join(", "),
            hooks.display()
        )
    };
    (!found.is_empty()).then(|| warning("go_hooks", message()))
}

fn merge_driver(home: &Path) -> Option<Value> {
    let attributes = home.join(".gitattributes");
    let text = std::fs::read_to_string(&attributes).ok()?;
    text.lines().any(|line| line.contains("merge=beads")).then(|| {
        warning(
            "go_merge_driver",
            format!(
                "{} uses the merge driver of the Go bd (merge=beads), which fails without it; remove that line",
                attributes.display()
            ),
        )
    })
}

/// The directory of `bb agent` also has that name. Other content belongs to the beadboard program.
fn beadboard(home: &Path) -> Option<Value> {
    let directory = home.join(".beadboard");
    let mut entries = std::fs::read_dir(&directory).ok()?.flatten();
    entries.any(|entry| entry.file_name() != "agent").then(|| {
        info(
            "beadboard",
            format!(
                "{} has files of the beadboard program besides the directory agent, which bb agent uses; bd does not read \
                 them, and you may delete them if you no longer run beadboard",
                directory.display()
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_content_of_other_programs_is_reported() {
        let home = tempfile::tempdir().unwrap();
        let (home, beads) = (home.path(), home.path().join(".beads"));
        let hooks = home.join("hooks");
        for directory in [&beads, &hooks, &home.join(".beadboard"), &home.join(".beadboard/agent")] {
            std::fs::create_dir(directory).unwrap();
        }
        std::fs::write(hooks.join("pre-commit"), "#!/bin/sh\nmake check\n").unwrap();
        let all =
            || [go_data(&beads), go_daemon(&beads), go_hooks(&hooks), merge_driver(home), beadboard(home)];
        assert_eq!(all(), [None, None, None, None, None]);
        std::fs::write(beads.join("issues.jsonl"), "{}\n").unwrap();
        std::fs::write(beads.join("daemon.pid"), "1\n").unwrap();
        std::fs::write(hooks.join("pre-commit"), "#!/bin/sh\n# bd-hooks-version: 0.30\n").unwrap();
        std::fs::write(home.join(".gitattributes"), ".beads/issues.jsonl merge=beads\n").unwrap();
        std::fs::write(home.join(".beadboard/board.json"), "{}\n").unwrap();
        let codes: Vec<_> = all().into_iter().flatten().map(|found| found["code"].clone()).collect();
        assert_eq!(codes, ["go_beads", "go_daemon", "go_hooks", "go_merge_driver", "beadboard"]);
    }
}
