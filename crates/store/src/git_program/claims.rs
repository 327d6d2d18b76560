//! Claim refs through the git program.

use std::collections::BTreeMap;

use super::{GitProgram, RACE_MESSAGES, last_lines, named};
use crate::claim_refs::{ClaimListing, ClaimRemote, RefChange, Swapped, claim_tracking_prefix};
use crate::git::GitRepository;
use crate::repository::{CommitId, REF};
use crate::{Error, Result};

/// What git and servers print if something unrelated to the ref went wrong.
const SERVER_ERRORS: [&str; 3] = ["[remote failure]", "unpacker error", "internal server error"];

impl ClaimRemote for GitProgram {
    fn claims(&self, prefix: &str) -> Result<ClaimListing> {
        let address = self.address()?;
        let pattern = format!("{prefix}*");
        let program = named("--upload-pack", address.upload_pack.as_deref());
        let mut arguments = vec!["ls-remote", "--quiet"];
        arguments.extend(program.as_deref());
        arguments.extend(["--", &address.fetch, REF, &pattern]);
        let output = self.run(&address, &arguments)?;
        if !output.success {
            return Err(self.failed(&output));
        }
        let (tip, listed) = listing(&output.stdout, prefix);
        let repository = GitRepository::open(&self.git_dir)?;
        if listed.values().any(|commit| !repository.has_commit(commit)) {
            let refspec = format!("+{pattern}:{}*", claim_tracking_prefix(&self.remote));
            self.fetch_refs(&address, &refspec)?;
        }
        // Opened again, so that it sees the pack that the fetch may have added.
        GitRepository::open(&self.git_dir)?.claim_listing(&self.remote, tip, listed)
    }

    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let address = self.address()?;
        if address.fetch != address.push {
            // Other machines would not see claims that are pushed elsewhere.
            return Err(Error::Remote { remote: self.remote.clone(), reason: address.hint() });
        }
        let name = |change: &RefChange| format!("{prefix}{}", change.name);
        let leases: Vec<String> = changes
            .iter()
            .map(|change| {
                let expected = change.expected.as_deref().unwrap_or_default();
                format!("--force-with-lease={}:{expected}", name(change))
            })
            .collect();
        let refspecs: Vec<String> = changes
            .iter()
            .map(|change| format!("{}:{}", change.new.as_deref().unwrap_or_default(), name(change)))
            .collect();
        let output = self.push_refs(&address, &leases, &refspecs, &mut || ())?;
        let outcomes = outcomes(&output.stdout);
        let mut swapped = Vec::new();
        for change in changes {
            match outcomes.get(&name(change)) {
                Some(outcome) => swapped.push(outcome.clone()),
                // The push was refused before any ref was examined, or the answer was lost.
                None => return Err(self.failed(&output)),
            }
        }
        self.update_tracking_refs(changes, &swapped)?;
        Ok(swapped)
    }
}

impl GitProgram {
    /// Updates the tracking refs of the refs that were moved.
    fn update_tracking_refs(&self, changes: &[RefChange], swapped: &[Swapped]) -> Result<()> {
        let repository = GitRepository::open(&self.git_dir)?;
        for (change, swapped) in changes.iter().zip(swapped) {
            if let (Some(new), Swapped::Done) = (&change.new, swapped) {
                repository.update_claim_tracking_ref(
                    &format!("{}{}", claim_tracking_prefix(&self.remote), change.name),
                    new,
                );
            }
        }
        Ok(())
    }
}

/// Parses the output of `ls-remote` into the store's tip and the claim refs. Git matches the end of names, so
/// refs of others are skipped.
fn listing(text: &str, prefix: &str) -> (Option<CommitId>, BTreeMap<String, CommitId>) {
    let (mut tip, mut listed) = (None, BTreeMap::new());
    for (commit, name) in text.lines().filter_map(|line| line.split_once('\t')) {
        if name == REF {
            tip = Some(commit.to_owned());
        } else if let Some(name) = name.strip_prefix(prefix).filter(|name| !name.contains('/')) {
            listed.insert(name.to_owned(), commit.to_owned());
        }
    }
    (tip, listed)
}

/// Parses the output of `push --porcelain`: a flag, `from:to` and a summary per ref, separated by tabs.
fn outcomes(text: &str) -> BTreeMap<String, Swapped> {
    let mut outcomes = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.split('\t');
        let (Some(flag), Some(refs), Some(summary)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let Some((_, to)) = refs.rsplit_once(':') else { continue };
        let outcome = match flag {
            " " | "+" | "*" | "-" | "=" => Swapped::Done,
            "!" if RACE_MESSAGES.iter().any(|race| summary.contains(race)) => {
                Swapped::Lost(last_lines(summary))
            }
            // A failure of the server says nothing about the ref.
            "!" if SERVER_ERRORS.iter().any(|sign| summary.contains(sign)) => continue,
            "!" => Swapped::Refused(last_lines(summary)),
            _ => continue,
        };
        outcomes.insert(to.to_owned(), outcome);
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ref_has_its_own_outcome() {
        let text = "To /srv/x.git\n*\t0f:refs/beads/claims/a\t[new reference]\n!\t1f:refs/beads/claims/b\t[rejected] (stale info)\n\
            !\t2f:refs/beads/claims/c\t[remote rejected] (deny updating a hidden ref)\n-\t:refs/beads/claims/d\t[deleted]\n\
            !\t3f:refs/beads/claims/e\t[remote rejected] (cannot lock ref 'refs/beads/claims/e': is at 1 but expected 2)\n\
            !\t4f:refs/beads/claims/f\t[remote failure] (remote failed to report status)\n\
            !\t5f:refs/beads/claims/g\t[remote rejected] (unpacker error)\nDone\n";
        let outcomes = outcomes(text);
        let of = |name: &str| outcomes.get(&format!("refs/beads/claims/{name}"));
        assert_eq!(of("a"), Some(&Swapped::Done));
        assert!(matches!(of("b"), Some(Swapped::Lost(_))));
        assert!(matches!(of("c"), Some(Swapped::Refused(_))));
        assert_eq!(of("d"), Some(&Swapped::Done));
        assert!(matches!(of("e"), Some(Swapped::Lost(_))));
        assert_eq!((of("f"), of("g")), (None, None), "whether it happened is unknown");
    }

    #[test]
    fn a_listing_has_only_our_refs() {
        let text = "aa\trefs/heads/beads/store\nbb\trefs/beads/claims/12\ncc\trefs/x/refs/beads/claims/13\ndd\trefs/beads/claims/1/2\n";
        let (tip, listed) = listing(text, "refs/beads/claims/");
        assert_eq!(tip.as_deref(), Some("aa"));
        assert_eq!(listed, BTreeMap::from([("12".to_owned(), "bb".to_owned())]));
    }
}
