//! Answers that are cached verbatim, because the state alone cannot reproduce them.

use serde_json::Value;

use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::world::World;
use crate::{Receipt, Result};

impl<D: Disk, W: World> Replica<D, W> {
    /// Returns the cached answer if the same request was answered before.
    pub fn cached_answer(&self, caller: &Caller) -> Result<Option<Value>> {
        let receipt = self.receipt(caller, self.now_ms())?;
        Ok(receipt.and_then(|receipt| receipt.cached_answer.clone()))
    }

    /// Caches an answer to a request that leaves no record in the journal. Durable when this returns.
    pub fn cache_answer(&mut self, caller: &Caller, answer: Value) -> Result<()> {
        let Some(key) = &caller.request else { return Ok(()) };
        // This also writes the receipts of mutations, which must not outlive a mutation that was lost.
        self.commit()?;
        let now_ms = self.now_ms();
        self.receipts.keep(Receipt::of_answer(key, now_ms, answer), now_ms);
        self.receipts.write(self.journal.disk(), now_ms)
    }
}
