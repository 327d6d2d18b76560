//! What another process does to a repository: fetch, join, move the ref, push. The replica learns of it at its next
//! checkpoint. It stands in for the sync loop until the replica has one.

use beads_store::{Repository, Result};

use crate::dice::Dice;
use crate::repository::SimRepository;

/// How often a message to or from the remote gets lost.
const LOST_PERCENT: u64 = 10;

pub fn exchange(own: &SimRepository, remote: &SimRepository, dice: &mut Dice) -> Result<&'static str> {
    let theirs = remote.tip()?;
    if dice.chance(LOST_PERCENT) {
        return Ok("fetch lost");
    }
    let tip = own.tip()?;
    if let Some(theirs) = &theirs {
        own.receive(remote, theirs)?;
    }
    let merged = match (&tip, &theirs) {
        (_, None) => tip.clone(),
        (None, Some(theirs)) => Some(theirs.clone()),
        (Some(tip), Some(theirs)) => Some(merge(own, tip, theirs)?),
    };
    let Some(merged) = merged else { return Ok("nothing anywhere") };
    if Some(&merged) != tip.as_ref() && !own.swing(tip.as_deref(), &merged)? {
        return Ok("the ref moved meanwhile");
    }
    if theirs.as_ref() == Some(&merged) || is_same(own, &merged, theirs.as_deref())? {
        return Ok("nothing to push");
    }
    if dice.chance(LOST_PERCENT) {
        return Ok("push lost");
    }
    // What is pushed must be durable here, or a power loss would leave the remote ahead of its only author.
    own.settle()?;
    remote.receive(own, &merged)?;
    remote.swing(theirs.as_deref(), &merged)?;
    Ok("pushed")
}

fn is_same(own: &SimRepository, merged: &str, theirs: Option<&str>) -> Result<bool> {
    match theirs {
        Some(theirs) => own.holds(merged, &own.snapshot(theirs)?),
        None => Ok(false),
    }
}

/// The commit that holds both: one of the two where it suffices.
fn merge(own: &SimRepository, tip: &str, theirs: &str) -> Result<String> {
    let (mine, other) = (own.snapshot(tip)?, own.snapshot(theirs)?);
    let mut joined = mine.decode()?.state;
    joined.join(&other.decode()?.state);
    let joined = joined.encode();
    if joined == mine {
        return Ok(tip.to_owned());
    }
    if joined == other {
        return Ok(theirs.to_owned());
    }
    own.write(&joined, &[tip.to_owned(), theirs.to_owned()], "beads: merge")
}
