//! Claim refs through libgit2.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use git2::{Direction, ErrorCode, FetchOptions, ObjectType, Oid, PushOptions};

use super::{Connection, Native, is_race};
use crate::claim_refs::{ClaimListing, ClaimRemote, RefChange, Swapped, claim_tracking_prefix};
use crate::credentials::callbacks;
use crate::git::{GitRepository, is_lost_race, wait_for_ref_lock};
use crate::ref_update::compare_and_swap;
use crate::repository::{CommitId, REF};
use crate::url::redact;
use crate::vet::check_record;
use crate::{Error, Result, libgit2};

/// The store's tip, and claim refs by the last part of their names.
type Listing = (Option<CommitId>, BTreeMap<String, CommitId>);

impl ClaimRemote for Native {
    fn claims(&self, prefix: &str) -> Result<ClaimListing> {
        let prefix = prefix.to_owned();
        self.within_deadline(move |connection| connection.claims(&prefix))
    }

    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        let (prefix, changes) = (prefix.to_owned(), changes.to_vec());
        self.within_deadline(move |connection| connection.swap(&prefix, &changes))
    }
}

impl Connection {
    fn claims(&self, prefix: &str) -> Result<ClaimListing> {
        let (tip, listed) = match self.local_repository(Direction::Fetch)? {
            Some(local) => self.local_claims(&local, prefix),
            None => self.server_claims(prefix),
        }
        .map_err(|error| self.failed(&error))?;
        self.repository.claim_listing(&self.remote, tip, listed)
    }

    fn local_claims(&self, local: &GitRepository, prefix: &str) -> Result<Listing, git2::Error> {
        let tip = local.git.refname_to_id(REF).ok().map(|oid| oid.to_string());
        let mut listed = BTreeMap::new();
        for reference in local.git.references_glob(&format!("{prefix}*"))? {
            // A ref may be deleted while they are listed.
            let Ok(reference) = reference else { continue };
            let name = reference.name().ok().and_then(|name| name.strip_prefix(prefix));
            if let (Some(name), Some(oid)) = (name.filter(|name| !name.contains('/')), reference.target()) {
                copy_claim(&local.git, &self.repository.git, oid)?;
                listed.insert(name.to_owned(), oid.to_string());
            }
        }
        Ok((tip, listed))
    }

    fn server_claims(&self, prefix: &str) -> Result<Listing, git2::Error> {
        libgit2::load_certificates();
        let git = &self.repository.git;
        let url = self.url(Direction::Fetch)?;
        let mut remote = self.anonymous(Direction::Fetch)?;
        let (mut tip, mut listed) = (None, BTreeMap::new());
        {
            let connection = remote.connect_auth(Direction::Fetch, Some(callbacks(git, &url)), None)?;
            for head in connection.list()? {
                if head.name() == REF {
                    tip = Some(head.oid().to_string());
                } else if let Some(name) = head.name().strip_prefix(prefix).filter(|name| !name.contains('/'))
                {
                    listed.insert(name.to_owned(), head.oid().to_string());
                }
            }
        }
        if listed.values().any(|commit| !self.repository.has_commit(commit)) {
            let mut options = FetchOptions::new();
            options.remote_callbacks(callbacks(git, &url)).download_tags(git2::AutotagOption::None);
            options.update_fetchhead(false);
            let refspec = format!("+{prefix}*:{}*", claim_tracking_prefix(&self.remote));
            self.anonymous(Direction::Fetch)?.fetch(&[refspec], Some(&mut options), None)?;
        }
        Ok((tip, listed))
    }

    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        if self.address.fetch != self.address.push {
            // Other machines would not see claims that are pushed elsewhere.
            return Err(Error::Remote { remote: self.remote.clone(), reason: self.address.hint() });
        }
        let local = self.local_repository(Direction::Push)?;
        let mut swapped = Vec::new();
        for change in changes {
            let name = format!("{prefix}{}", change.name);
            let outcome = match &local {
                Some(local) => self.swap_in_local(local, &name, change),
                None => self.swap_over_network(&name, change),
            };
            let outcome = outcome.map_err(|error| self.failed(&error))?;
            if let (Some(new), Swapped::Done) = (&change.new, &outcome) {
                let place = format!("{}{}", claim_tracking_prefix(&self.remote), change.name);
                self.repository.update_claim_tracking_ref(&place, new);
            }
            swapped.push(outcome);
        }
        Ok(swapped)
    }

    fn swap_in_local(
        &self,
        local: &GitRepository,
        name: &str,
        change: &RefChange,
    ) -> Result<Swapped, git2::Error> {
        let expected = change.expected.as_deref().map(Oid::from_str).transpose()?;
        let moved = match change.new.as_deref().map(Oid::from_str).transpose()? {
            Some(new) => {
                copy_claim(&self.repository.git, &local.git, new)?;
                compare_and_swap(&local.git, name, expected, new, "bd claim")
            }
            None => match local.git.find_reference(name) {
                // libgit2 compares the value again when it deletes.
                Ok(mut reference) if reference.target() == expected => reference.delete(),
                Ok(_) => return Ok(Swapped::Lost("it has moved".to_owned())),
                Err(error) => Err(error),
            },
        };
        match moved {
            Ok(()) => Ok(Swapped::Done),
            Err(error) if is_lost_race(&error) => {
                if error.code() == ErrorCode::Locked {
                    wait_for_ref_lock(local.git.commondir(), name);
                }
                Ok(Swapped::Lost(error.message().to_owned()))
            }
            Err(error) => Ok(Swapped::Refused(redact(error.message()))),
        }
    }

    /// Moves a ref on a server. libgit2 takes the advertised value for the old one, so that value is compared
    /// before anything is sent.
    fn swap_over_network(&self, name: &str, change: &RefChange) -> Result<Swapped, git2::Error> {
        const UNEXPECTED_VALUE: &str = "the ref is not where it was expected";
        libgit2::load_certificates();
        let git = &self.repository.git;
        let expected = change.expected.as_deref().map(Oid::from_str).transpose()?.unwrap_or(Oid::ZERO_SHA1);
        let staging = format!("refs/beads/push-{}", change.name);
        let refused: Rc<RefCell<Option<String>>> = Rc::default();
        let push = || -> Result<(), git2::Error> {
            let mut callbacks = callbacks(git, &self.url(Direction::Push)?);
            callbacks.push_negotiation(move |updates| {
                match updates.iter().all(|one| one.src() == expected) {
                    true => Ok(()),
                    false => Err(git2::Error::from_str(UNEXPECTED_VALUE)),
                }
            });
            let sink = refused.clone();
            callbacks.push_update_reference(move |_, status| {
                *sink.borrow_mut() = status.map(str::to_owned);
                Ok(())
            });
            let mut options = PushOptions::new();
            options.remote_callbacks(callbacks);
            let refspec = match &change.new {
                Some(new) => {
                    git.reference(&staging, Oid::from_str(new)?, true, "bd claim")?;
                    format!("+{staging}:{name}")
                }
                None => format!(":{name}"),
            };
            self.anonymous(Direction::Push)?.push(&[refspec], Some(&mut options))
        };
        let pushed = push();
        if let Ok(mut reference) = git.find_reference(&staging) {
            let _ = reference.delete();
        }
        match (pushed, refused.borrow().clone()) {
            (Ok(()), None) => Ok(Swapped::Done),
            (Ok(()), Some(reason)) if is_race(&reason) => Ok(Swapped::Lost(redact(&reason))),
            (Ok(()), Some(reason)) => Ok(Swapped::Refused(redact(&reason))),
            (Err(error), _) if error.message().contains(UNEXPECTED_VALUE) || is_race(error.message()) => {
                Ok(Swapped::Lost(redact(error.message())))
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Copies a value of a claim ref, and the values it replaced, until one that is already there.
fn copy_claim(from: &git2::Repository, to: &git2::Repository, wanted: Oid) -> Result<(), git2::Error> {
    let (source, target) = (from.odb()?, to.odb()?);
    let copy = |id: Oid| -> Result<(), git2::Error> {
        let object = source.read(id)?;
        target.write(object.kind(), object.data()).map(|_| ())
    };
    // Copy the oldest first, so that a commit that exists always has its whole history.
    let mut missing = Vec::new();
    let mut next = Some(wanted);
    while let Some(id) = next.filter(|id| !target.exists(*id)) {
        check_record(from, id).map_err(|reason| git2::Error::from_str(&reason))?;
        let commit = from.find_commit(id)?;
        for entry in &commit.tree()? {
            if entry.kind() == Some(ObjectType::Blob) {
                copy(entry.id())?;
            }
        }
        copy(commit.tree_id())?;
        missing.push(id);
        next = commit.parent_id(0).ok();
    }
    missing.into_iter().rev().try_for_each(copy)
}
