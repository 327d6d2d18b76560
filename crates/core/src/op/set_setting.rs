use serde::{Deserialize, Serialize};

use super::Applied;
use crate::limits::MAX_SETTINGS;
use crate::{
    CLAIM_REF_PREFIX, CLOSE_CHECK, CLOSE_REQUIRE_EVIDENCE, Catalog, Context, Delta, Error, Line, Register,
    Result, STATUS_CUSTOM, SettingKey, Settings, TYPE_CUSTOM, check_ref_prefix, words,
};

/// Sets a replicated setting of the store. An empty value clears it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSetting {
    /// The name of the setting.
    pub key: SettingKey,
    /// The new value; empty to clear the setting.
    #[serde(default)]
    pub value: Line,
}

impl SetSetting {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        match self.key.as_str() {
            STATUS_CUSTOM => drop(words::custom_status(self.value.as_str())?),
            TYPE_CUSTOM => drop(words::custom_type(self.value.as_str())?),
            CLOSE_CHECK => one_of(&self.value, &["warn", "refuse", "off"])?,
            CLOSE_REQUIRE_EVIDENCE => one_of(&self.value, &["off", "warn", "require"])?,
            CLAIM_REF_PREFIX => check_ref_prefix(self.value.as_str())?,
            _ => {}
        }
        let settings = catalog.state().settings();
        let old = settings.get(&self.key);
        let before = old.map(|register| register.value.as_str()).unwrap_or_default();
        if before == self.value.as_str() {
            return Ok(Applied::default());
        }
        if old.is_none() && settings.len() >= MAX_SETTINGS {
            return Err(Error::invalid("setting", format!("the store already has {MAX_SETTINGS} settings")));
        }
        let mark = context.mark(old.map(|register| register.mark.at()))?;
        let settings = Settings::from([(self.key.clone(), Register::new(mark, self.value.clone()))]);
        Ok(Applied { delta: Delta { settings, ..Delta::default() }, ..Applied::default() })
    }
}

/// Refuses a value that is neither empty nor one of `known`.
fn one_of(value: &Line, known: &[&str]) -> Result<()> {
    if value.as_str().is_empty() || known.contains(&value.as_str()) {
        return Ok(());
    }
    Err(Error::invalid("setting", format!("{:?} is not one of {}", value.as_str(), known.join(", "))))
}
