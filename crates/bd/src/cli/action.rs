//! What the arguments of a verb become: a call on the store, or a command that runs in this process.

use beads_engine::failure::Failure;
use beads_engine::request::{Call, Reply};

use super::Globals;

/// What a verb becomes.
pub enum Action {
    /// A call on the store.
    Call(Call),
    /// A command that runs in this process.
    Local(Box<LocalCommand>),
}

/// A verb that runs in this process instead of becoming a call.
pub type LocalCommand = dyn FnOnce(&Globals) -> Result<Reply, Failure>;

/// The result of reading a verb's arguments: a call, or an error about them.
pub trait IntoAction {
    fn into_action(self) -> Result<Action, Failure>;
}

impl IntoAction for Call {
    fn into_action(self) -> Result<Action, Failure> {
        Ok(Action::Call(self))
    }
}

impl IntoAction for Result<Call, Failure> {
    fn into_action(self) -> Result<Action, Failure> {
        self.map(Action::Call)
    }
}

/// The result of a local command.
pub trait IntoReply {
    fn into_reply(self) -> Result<Reply, Failure>;
}

impl IntoReply for Reply {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(self)
    }
}

impl IntoReply for Result<Reply, Failure> {
    fn into_reply(self) -> Result<Reply, Failure> {
        self
    }
}
