//! Replicated settings: one register per key, in `meta.json`. Unknown keys are kept and joined, not
//! interpreted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical::to_canonical;
use crate::limits::MAX_SETTING_KEY_BYTES;
use crate::{Actor, Error, Line, Mark, Register, Result, Stamp};

/// The setting for custom status words.
pub const STATUS_CUSTOM: &str = "status.custom";

/// The setting for custom type words.
pub const TYPE_CUSTOM: &str = "type.custom";

/// The setting that records the last reset of the floor of garbage collection, with who did it and when.
pub const GC_FLOOR_RESET: &str = "gc.floor_reset";

/// The setting for what `bd close` does if there are open blockers or open children: `warn`, `refuse` or
/// `off`.
pub const CLOSE_CHECK: &str = "close.check";

/// The setting for whether a close needs evidence: `off`, `warn` or `require`.
pub const CLOSE_REQUIRE_EVIDENCE: &str = "close.require_evidence";

/// The key of a setting: lower-case letters, digits, `.`, `_` and `-`, starting with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingKey(Arc<str>);

crate::field::string_newtype!(SettingKey);

impl std::borrow::Borrow<str> for SettingKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for SettingKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = (1..=MAX_SETTING_KEY_BYTES).contains(&text.len());
        let begins = text.bytes().next().is_some_and(plain);
        if !fits || !begins || !text.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-')) {
            let reason = format!("{text:?} is not a key of letters, digits, ., _ and -");
            return Err(Error::invalid("setting", reason));
        }
        Ok(Self(text.into()))
    }
}

/// The settings of a store. An empty value means that the setting has been cleared.
pub type Settings = BTreeMap<SettingKey, Register<Line>>;

/// The JSON form of a setting in `meta.json` and the journal: `[value,[ms,counter],actor]`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredSetting(Line, Stamp, Actor);

pub(crate) fn stored(settings: &Settings) -> BTreeMap<SettingKey, StoredSetting> {
    let one = |register: &Register<Line>| {
        StoredSetting(register.value.clone(), register.mark.at(), register.mark.by().clone())
    };
    settings.iter().map(|(key, register)| (key.clone(), one(register))).collect()
}

pub(crate) fn restored(stored: BTreeMap<SettingKey, StoredSetting>) -> Settings {
    let one = |StoredSetting(value, at, by)| Register::new(Mark::new(at, by), value);
    stored.into_iter().map(|(key, stored)| (key, one(stored))).collect()
}

/// Merges `others` into `settings`. The later write of each key wins.
pub(crate) fn join(settings: &mut Settings, others: &Settings) {
    for (key, theirs) in others {
        match settings.get_mut(key) {
            Some(mine) => mine.join(theirs, to_canonical),
            None => {
                settings.insert(key.clone(), theirs.clone());
            }
        }
    }
}
