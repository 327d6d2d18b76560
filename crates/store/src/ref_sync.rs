//! The ref that a store was opened at may not be durable yet: the process that moved it may have died before
//! syncing it. It is synced before the first write that builds on it, and never for a query.

use crate::Result;

/// Makes a ref durable, if that is still necessary.
pub struct RefSync(Option<Box<dyn Fn() -> Result<()> + Send + Sync>>);

impl std::fmt::Debug for RefSync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RefSync").field(&self.0.is_some()).finish()
    }
}

impl RefSync {
    /// Returns a ref that is synced by calling `sync`.
    pub fn pending(sync: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(sync)))
    }

    /// Returns a ref that is durable, or that nothing builds on.
    pub fn done() -> Self {
        Self(None)
    }

    /// Syncs the ref the first time. After an error the next call tries again.
    pub(crate) fn ensure(&mut self) -> Result<()> {
        if let Some(sync) = &self.0 {
            sync()?;
            self.0 = None;
        }
        Ok(())
    }
}
