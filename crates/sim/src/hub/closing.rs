//! What is checked at the end of each run, step by step: claims that need more than one machine, and a hub that lost
//! something.

use beads_core::op::{Close, Reopen};
use beads_core::{Lineage, Op, Status};

use super::node::{Held, LEASE_MS};
use super::run::HubRun;
use super::scenario::Action;
use crate::dice::Dice;
use crate::machine::Violation;

impl HubRun {
    /// Tries claims, each when all earlier leases are over and all machines know the same.
    pub(super) fn try_claims(&mut self) -> Result<(), Violation> {
        for check in [Self::take_offers, Self::restore, Self::repeat_for_a_twin, Self::reopen_with_claim] {
            self.pass(2 * LEASE_MS);
            self.exchange_all()?;
            self.exchange_all()?;
            check(self)?;
        }
        Ok(())
    }

    fn exchange_all(&mut self) -> Result<(), Violation> {
        let mut dice = Dice::new(5);
        (0..self.nodes.len()).try_for_each(|index| self.act(index, Action::Exchange, &mut dice).map(drop))
    }

    /// Lets machine 0 claim a bead.
    fn claim_one(&mut self) -> Result<Lineage, Violation> {
        let report = self.act(0, Action::Claim, &mut Dice::new(6))?;
        let held = self.nodes[0].confirmed();
        held.last()
            .map(|Held { lineage, .. }| lineage.clone())
            .ok_or(format!("machine 0 holds nothing: {report}"))
    }

    /// After a backup that is several leases old is restored, grants wait for the machines that it knows.
    fn restore(&mut self) -> Result<(), Violation> {
        let mut dice = Dice::new(7);
        self.act(0, Action::Create, &mut dice)?;
        self.exchange_all()?;
        self.network.server.borrow_mut().back_up();
        self.pass(3 * LEASE_MS);
        self.claim_one()?;
        self.network.server.borrow_mut().restore();
        self.act(1, Action::Exchange, &mut dice)?;
        let report = self.act(1, Action::Claim, &mut dice)?;
        if !report.starts_with("Hold") {
            return Err(format!("after a restore, a claim does not wait for machine 0: {report}"));
        }
        Ok(())
    }

    /// A machine that repeats the claim of another one, whose actor has the same name, does not get it.
    fn repeat_for_a_twin(&mut self) -> Result<(), Violation> {
        let mut dice = Dice::new(8);
        let twin = (1..self.nodes.len()).find(|index| self.nodes[*index].actor == self.nodes[0].actor);
        let Some(twin) = twin else { return Ok(()) };
        self.act(0, Action::Create, &mut dice)?;
        self.exchange_all()?;
        self.network.server.borrow_mut().back_up();
        self.claim_one()?;
        self.act(twin, Action::Exchange, &mut dice)?;
        self.network.server.borrow_mut().restore();
        self.act(twin, Action::Exchange, &mut dice)?;
        self.exchange_all()?;
        self.observe(0)?;
        self.act(twin, Action::Reclaim, &mut dice)?;
        self.observe(twin)
    }

    /// A bead that is reopened with the claim that it had is held at the hub.
    fn reopen_with_claim(&mut self) -> Result<(), Violation> {
        let mut dice = Dice::new(9);
        self.act(0, Action::Create, &mut dice)?;
        self.act(0, Action::Exchange, &mut dice)?;
        let lineage = self.claim_one()?;
        let id = self.nodes[0].replica()?.catalog().id_of(&lineage).to_string();
        self.write(0, &Op::Close(Close { id: id.clone(), ..Close::default() }))?;
        self.act(0, Action::Exchange, &mut dice)?;
        self.write(0, &Op::Reopen(Reopen { id, status: Some(Status::InProgress), ..Reopen::default() }))?;
        self.act(0, Action::Exchange, &mut dice)?;
        if !self.network.server.borrow().is_held(&lineage) {
            return Err("a bead that was reopened with its claim is free at the hub".into());
        }
        Ok(())
    }

    /// Checks that a machine whose process was killed is not a reason to hold grants again.
    pub(super) fn come_back(&mut self) -> Result<(), Violation> {
        let before = self.network.server.borrow().epoch();
        let mut dice = Dice::new(3);
        for index in 0..self.nodes.len() {
            self.nodes[index].kill(false);
            self.nodes[index].open()?;
            self.act(index, Action::Exchange, &mut dice)?;
        }
        if self.network.server.borrow().epoch() != before {
            return Err("a machine that came back started an epoch".into());
        }
        Ok(())
    }

    /// Checks that the actor of an offer can take it on another machine, ahead of other beads. It does not matter who held
    /// the bead before.
    fn take_offers(&mut self) -> Result<(), Violation> {
        let mut dice = Dice::new(4);
        let (holder, to) = (self.nodes[0].actor.clone(), self.nodes[1].actor.clone());
        for giver in [0, 2] {
            if to == holder || to == self.nodes[giver].actor {
                continue;
            }
            self.act(0, Action::Create, &mut dice)?;
            self.act(0, Action::Exchange, &mut dice)?;
            self.act(0, Action::Claim, &mut dice)?;
            self.act(0, Action::Create, &mut dice)?;
            for index in [0, giver] {
                self.act(index, Action::Exchange, &mut dice)?;
            }
            let held = self.nodes[0].confirmed();
            let Held { lineage, .. } = held.last().ok_or("machine 0 holds nothing")?;
            let op = self.nodes[giver].hand_over_bead(lineage, &to);
            let report = self.write(giver, &op)?;
            for index in [giver, 1, 0] {
                self.act(index, Action::Exchange, &mut dice)?;
            }
            let taken = self.act(1, Action::Claim, &mut dice)?;
            if !taken.starts_with(&format!("granted {:?}", lineage.birth_id())) {
                return Err(format!("machine 1 cannot take what machine {giver} offered, {report}: {taken}"));
            }
        }
        Ok(())
    }
}
