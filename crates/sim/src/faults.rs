//! Injected faults of a machine. Its disk and its repository consult them before every operation.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// EIO: any operation may fail.
    Io,
    /// ENOSPC: the next operation that needs space fails.
    NoSpace,
    /// The power fails: this operation and all later ones fail.
    PowerLoss,
}

/// A planned fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// How the operation fails.
    pub kind: FaultKind,
    /// How many operations succeed first.
    pub after: u64,
    /// Whether the fault persists until healed, or happens once.
    pub lasting: bool,
}

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Access,
    Space,
}

/// The faults of one machine, shared by its disk and its repository.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

#[derive(Debug, Default)]
struct Plan {
    armed: Option<Fault>,
    powered_off: bool,
    fired: u64,
}

impl Faults {
    /// Plans a fault.
    pub fn arm(&self, fault: Fault) {
        self.plan().armed = Some(fault);
    }

    /// Removes all faults until the next one is armed.
    pub fn heal(&self) {
        let mut plan = self.plan();
        (plan.armed, plan.powered_off) = (None, false);
    }

    /// Returns whether the power is off.
    pub fn is_powered_off(&self) -> bool {
        self.plan().powered_off
    }

    /// Returns whether a fault is planned.
    pub fn is_armed(&self) -> bool {
        self.plan().armed.is_some()
    }

    /// Returns how many operations have failed so far.
    pub fn fired(&self) -> u64 {
        self.plan().fired
    }

    /// Fails if a fault is due. Called before each operation.
    pub fn inject(&self, needs: Needs) -> io::Result<()> {
        let mut plan = self.plan();
        if plan.powered_off {
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
        plan.powered_off = fault.kind == FaultKind::PowerLoss;
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
