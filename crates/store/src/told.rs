//! Answers that are kept word for word, because what was done cannot be told again from the state.

use serde_json::Value;

use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::wall::World;
use crate::{Receipt, Result};

impl<D: Disk, W: World> Replica<D, W> {
    /// What the caller was told when the same was asked before.
    pub fn told(&self, caller: &Caller) -> Result<Option<Value>> {
        let receipt = self.receipt(caller, self.now_ms())?;
        Ok(receipt.and_then(|receipt| receipt.told.clone()))
    }

    /// Keeps an answer to something that leaves no record in the journal. Durable when this returns.
    pub fn keep_told(&mut self, caller: &Caller, told: Value) -> Result<()> {
        let Some(asked) = &caller.request else { return Ok(()) };
        // With it go the receipts of mutations, which must not outlive a mutation that was lost.
        self.commit()?;
        let now_ms = self.now_ms();
        self.receipts.keep(Receipt::of_answer(asked, now_ms, told), now_ms);
        self.receipts.write(self.journal.disk(), now_ms)
    }
}
