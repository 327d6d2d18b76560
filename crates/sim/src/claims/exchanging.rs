//! Exchanges with the remote's store, and the maintenance of claim refs afterwards.

use beads_core::CLAIM_REFS;
use beads_store::SteadyClock;

use super::node::Scope;
use super::run::ClaimRun;
use crate::dice::Dice;
use crate::machine::Violation;

impl ClaimRun {
    /// Exchanges the store, and maintains the claim refs if that succeeds.
    pub(super) fn sync(&mut self, index: usize, dice: &mut Dice) -> Result<String, Violation> {
        if self.nodes[index].exchanging {
            return Ok("another exchange is under way".into());
        }
        let node = &mut self.nodes[index];
        let replica = node.replica.as_mut().ok_or("the process is not running")?;
        let upkeep = (node.scope != Scope::Old).then(|| {
            node.book.adopt_offline_claims(replica);
            node.book.upkeep(replica, CLAIM_REFS.into(), &node.clock.now())
        });
        let checkpoint = replica.begin_checkpoint().map_err(|error| error.to_string())?;
        node.commit()?;
        node.exchanging = true;
        let clock = node.clock.clone();
        let result = self.online(index, dice, |own, connection| {
            let synced = checkpoint.sync(own, connection, |_| ());
            let upkeep = match &synced {
                Ok((_, exchange)) => upkeep.and_then(|upkeep| upkeep.after(exchange)),
                Err(_) => None,
            };
            (synced, upkeep.map(|upkeep| upkeep.run(own, connection, &clock)))
        })?;
        let Some((synced, upkept)) = result else { return Ok("died while exchanging".into()) };
        let node = &mut self.nodes[index];
        node.exchanging = false;
        let replica = node.replica.as_mut().ok_or("the process is not running")?;
        let (saved, exchange) = synced.map_err(|error| format!("saving failed: {error}"))?;
        replica.finish_checkpoint(saved, Vec::new()).map_err(|error| error.to_string())?;
        let outcome = match upkept {
            Some(Ok(upkept)) => {
                let outcome = format!("maintained refs: {}", upkept.summary());
                node.book.upkeep_finished(replica, upkept, &node.clock.now());
                node.save();
                node.commit()?;
                outcome
            }
            Some(Err(error)) => error.to_string(),
            None => exchange.map_or_else(|error| error.to_string(), |exchange| format!("{exchange:?}")),
        };
        self.holders.observe(&self.nodes[index])?;
        Ok(outcome)
    }

    /// Merges the remote's state and lists its claim refs. Returns `None` if the process died.
    pub(super) fn fetch(&mut self, index: usize, dice: &mut Dice) -> Result<Option<()>, Violation> {
        if self.nodes[index].exchanging {
            return Ok(Some(()));
        }
        let node = &mut self.nodes[index];
        let look = node.book.listing_only(CLAIM_REFS.into());
        let checkpoint = node.replica()?.begin_checkpoint().map_err(|error| error.to_string())?;
        node.commit()?;
        node.exchanging = true;
        let clock = node.clock.clone();
        let result = self.online(index, dice, |own, connection| {
            let fetched = checkpoint.fetch(own, connection);
            (fetched, look.run(own, connection, &clock))
        })?;
        let Some((fetched, looked)) = result else { return Ok(None) };
        let node = &mut self.nodes[index];
        node.exchanging = false;
        let replica = node.replica.as_mut().ok_or("the process is not running")?;
        let (saved, _) = fetched.map_err(|error| format!("saving failed: {error}"))?;
        replica.finish_checkpoint(saved, Vec::new()).map_err(|error| error.to_string())?;
        if let Ok(looked) = looked {
            node.book.upkeep_finished(replica, looked, &node.clock.now());
            node.save();
            node.commit()?;
        }
        self.holders.observe(&self.nodes[index])?;
        Ok(Some(()))
    }
}
