//! What goes wrong on a machine, and when. Its disk and its repository ask before every operation.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// EIO: any operation may fail so.
    Io,
    /// ENOSPC: strikes the next operation that needs space.
    NoSpace,
    /// The machine goes dark: this operation and all after it fail.
    PowerLoss,
}

/// A fault to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// How many operations succeed before it.
    pub after: u64,
    /// Whether it stays until it is healed, or strikes once.
    pub lasting: bool,
}

/// What an operation needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Access,
    Space,
}

/// Shared by everything on one machine.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Debug, Default)]
struct Plan {
    armed: Option<Fault>,
    dark: bool,
    fired: u64,
}

impl Faults {
    pub fn arm(&self, fault: Fault) {
        self.plan().armed = Some(fault);
    }

    /// Nothing goes wrong any more, until the next fault is armed.
    pub fn heal(&self) {
        let mut plan = self.plan();
        (plan.armed, plan.dark) = (None, false);
    }

    pub fn is_dark(&self) -> bool {
        self.plan().dark
    }

    pub fn is_armed(&self) -> bool {
        self.plan().armed.is_some()
    }

    /// How many operations have failed so far.
    pub fn fired(&self) -> u64 {
        self.plan().fired
    }

    /// Called before each operation.
    pub fn strike(&self, needs: Needs) -> io::Result<()> {
        let mut plan = self.plan();
        if plan.dark {
            return Err(io::Error::other("the power is off"));
        }
        let Some(fault) = &mut plan.armed else { return Ok(()) };
        if fault.after > 0 {
            fault.after -= 1;
            return Ok(());
        }
        let fault = *fault;
        if fault.kind == FaultKind::NoSpace && needs != Needs::Space {
            return Ok(());
        }
        if !fault.lasting {
            plan.armed = None;
        }
        plan.fired += 1;
        plan.dark = fault.kind == FaultKind::PowerLoss;
        Err(match fault.kind {
            FaultKind::Io => io::Error::other("injected EIO"),
            FaultKind::NoSpace => io::Error::new(io::ErrorKind::StorageFull, "injected ENOSPC"),
            FaultKind::PowerLoss => io::Error::other("the power went off"),
        })
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
