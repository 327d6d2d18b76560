//! What a machine does with the remote's store, and with claim refs afterwards.

use beads_core::CLAIM_REFS;
use beads_store::Steady;

use super::node::Scope;
use super::play::Play;
use crate::dice::Dice;
use crate::machine::Broken;

impl Play {
    /// Exchanges the store, and looks after the claim refs once that went through.
    pub(super) fn sync(&mut self, index: usize, dice: &mut Dice) -> Result<String, Broken> {
        if self.nodes[index].exchanging {
            return Ok("another exchange is under way".into());
        }
        let node = &mut self.nodes[index];
        let replica = node.replica.as_mut().ok_or("the process does not run")?;
        let upkeep = (node.scope != Scope::Old).then(|| {
            node.book.adopt_made(replica);
            node.book.upkeep(replica, CLAIM_REFS.into(), &node.clock.now())
        });
        let checkpoint = replica.begin_checkpoint().map_err(|error| error.to_string())?;
        node.commit()?;
        node.exchanging = true;
        let clock = node.clock.clone();
        let result = self.online(index, dice, |own, line| {
            let synced = checkpoint.sync(own, line, |_| ());
            let went_through = matches!(&synced, Ok((_, Ok(_))));
            let upkept = upkeep.filter(|_| went_through).map(|upkeep| upkeep.run(own, line, &clock));
            (synced, upkept)
        })?;
        let Some((synced, upkept)) = result else { return Ok("died while exchanging".into()) };
        let node = &mut self.nodes[index];
        node.exchanging = false;
        let replica = node.replica.as_mut().ok_or("the process does not run")?;
        let (saved, exchange) = synced.map_err(|error| format!("saving failed: {error}"))?;
        replica.finish_checkpoint(saved, Vec::new()).map_err(|error| error.to_string())?;
        let outcome = match upkept {
            Some(Ok(upkept)) => {
                let outcome = format!("looked after refs: {}", upkept.summary());
                node.book.upkept(replica, upkept, &node.clock.now());
                node.save();
                node.commit()?;
                outcome
            }
            Some(Err(error)) => error.to_string(),
            None => exchange.map_or_else(|error| error.to_string(), |exchange| format!("{exchange:?}")),
        };
        self.holders.look(&self.nodes[index])?;
        Ok(outcome)
    }

    /// Takes in what the remote has, and looks at the refs. `None` when the process died.
    pub(super) fn fetch(&mut self, index: usize, dice: &mut Dice) -> Result<Option<()>, Broken> {
        if self.nodes[index].exchanging {
            return Ok(Some(()));
        }
        let node = &mut self.nodes[index];
        let look = node.book.look(CLAIM_REFS.into());
        let checkpoint = node.replica()?.begin_checkpoint().map_err(|error| error.to_string())?;
        node.commit()?;
        node.exchanging = true;
        let clock = node.clock.clone();
        let result = self.online(index, dice, |own, line| {
            let fetched = checkpoint.fetch(own, line);
            (fetched, look.run(own, line, &clock))
        })?;
        let Some((fetched, looked)) = result else { return Ok(None) };
        let node = &mut self.nodes[index];
        node.exchanging = false;
        let replica = node.replica.as_mut().ok_or("the process does not run")?;
        let (saved, _) = fetched.map_err(|error| format!("saving failed: {error}"))?;
        replica.finish_checkpoint(saved, Vec::new()).map_err(|error| error.to_string())?;
        if let Ok(looked) = looked {
            node.book.upkept(replica, looked, &node.clock.now());
            node.save();
            node.commit()?;
        }
        self.holders.look(&self.nodes[index])?;
        Ok(Some(()))
    }
}
