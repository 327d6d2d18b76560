use serde::{Deserialize, Serialize};

use super::Applied;
use crate::{Catalog, Context, Delta, Floor, GC_FLOOR_RESET, Register, Result, SettingKey, Settings, Stamp};

/// Resets the garbage collection floor by starting its next epoch. Dropped data that any replica still holds
/// comes back. A setting of the store records who did this, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetGcFloor {}

impl ResetGcFloor {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let before = catalog.state().gc_floor();
        if before.stamp == Stamp::ZERO {
            return Ok(Applied::default());
        }
        let floor = Floor { epoch: before.epoch.saturating_add(1), stamp: Stamp::ZERO };
        let key: SettingKey = GC_FLOOR_RESET.parse()?;
        let old = catalog.state().settings().get(&key).map(|register| register.mark.at());
        let mark = context.mark(old)?;
        let value = format!("epoch {} instead of {}", floor.epoch, before.stamp).parse()?;
        let delta = Delta {
            gc_floor: Some(floor),
            settings: Settings::from([(key, Register::new(mark, value))]),
            ..Delta::default()
        };
        Ok(Applied { delta, ..Applied::default() })
    }
}
