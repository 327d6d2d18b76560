use serde::{Deserialize, Serialize};

use super::Applied;
use crate::{Catalog, Context, Delta, Mark, Prefix, PrefixRegister, Result};

/// Sets the prefix of ids generated from now on, on every replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetPrefix {
    /// The part of the id before the dash.
    pub prefix: Prefix,
}

impl SetPrefix {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let old = catalog.state().prefix();
        if old.prefix == self.prefix {
            return Ok(Applied::default());
        }
        let mark = context.mark(old.mark.as_ref().map(Mark::at))?;
        let chosen = PrefixRegister { mark: Some(mark), prefix: self.prefix.clone() };
        Ok(Applied { delta: Delta { prefix: Some(chosen), ..Delta::default() }, ..Applied::default() })
    }
}
