//! Creates a store, and changes its settings.

use beads_core::Op;
use beads_core::op::{SetPrefix, SetSetting};

use super::Service;
use crate::config::{KEYS, Key, PREFIX_KEY, REPLICATED, check_key, is_replicated};
use crate::failure::Failure;
use crate::render::{Answer, InitAnswer, SettingAnswer, SettingDescription};
use crate::request::Request;

impl Service {
    /// Creates the store.
    pub(super) fn init(
        &mut self,
        request: &Request,
        prefix: Option<&str>,
        compat: bool,
        private: bool,
    ) -> Result<Answer, Failure> {
        if let Some(prefix) = prefix {
            let state = self.replica.catalog().state();
            let before = state.prefix().prefix.to_string();
            let is_used = !state.beads().is_empty();
            self.set_prefix(request, prefix)?;
            if is_used && before != prefix {
                self.remarks.push(format!(
                    "the prefix was {before}; new ids now start with {prefix}- in every clone, and existing \
                     ids stay (bd init --prefix {before} changes it back)"
                ));
            }
        }
        self.checkpoint()?;
        if private {
            self.hide_private_store()?;
        }
        let compat = if compat { Some(self.set_up_clients()?) } else { None };
        let prefix = self.replica.catalog().state().prefix().prefix.clone();
        Ok(Answer::Initialised(InitAnswer { prefix, git_dir: self.place.git_dir.clone(), compat }))
    }

    fn set_prefix(&mut self, request: &Request, prefix: &str) -> Result<(), Failure> {
        let op = Op::SetPrefix(SetPrefix { prefix: prefix.parse()? });
        let caller = self.caller(request, 0);
        self.replica.apply(&op, &caller)?;
        Ok(())
    }

    pub(super) fn config_get(&self, key: &str) -> Result<Answer, Failure> {
        let value = if key == PREFIX_KEY {
            self.replica.catalog().state().prefix().prefix.to_string()
        } else if is_replicated(key) {
            self.replica.catalog().state().setting(key).unwrap_or_default().to_owned()
        } else {
            self.config.get(key)?.to_owned()
        };
        Ok(Answer::Setting(SettingAnswer { key: key.to_owned(), value }))
    }

    pub(super) fn config_set(
        &mut self,
        request: &Request,
        key: &str,
        value: &str,
    ) -> Result<Answer, Failure> {
        if key == PREFIX_KEY {
            self.set_prefix(request, value)?;
        } else if is_replicated(key) {
            self.set_setting(request, key, value)?;
        } else {
            if key == "export.path" {
                self.export_first_to(value)?;
            }
            self.set(key, value)?;
        }
        self.config_get(key)
    }

    /// Changes a setting of this replica.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let mut config = self.config.clone();
        config.set(key, value)?;
        config.save(&self.place.store_dir())?;
        self.config = config;
        Ok(())
    }

    fn set_setting(&mut self, request: &Request, key: &str, value: &str) -> Result<(), Failure> {
        let set = SetSetting { key: key.parse()?, value: value.parse()? };
        let caller = self.caller(request, 0);
        self.replica.apply(&Op::SetSetting(set), &caller)?;
        Ok(())
    }

    pub(super) fn config_unset(&mut self, request: &Request, key: &str) -> Result<Answer, Failure> {
        if key == PREFIX_KEY {
            return Err(Failure::invalid("issue_prefix cannot be unset; set it to another value"));
        }
        if is_replicated(key) {
            self.set_setting(request, key, "")?;
            return self.config_get(key);
        }
        let mut config = self.config.clone();
        config.unset(key)?;
        config.save(&self.place.store_dir())?;
        self.config = config;
        self.config_get(key)
    }

    /// Describes one setting or all of them.
    pub(super) fn config_describe(&self, key: Option<&str>) -> Result<Answer, Failure> {
        let of = |key: &str, about: &str, default: &str, synced: bool| -> Result<_, Failure> {
            let Answer::Setting(SettingAnswer { key, value }) = self.config_get(key)? else {
                return Err(Failure::internal("a setting has no value"));
            };
            let (about, default) = (about.to_owned(), default.to_owned());
            Ok(SettingDescription { key, value, default, synced, about })
        };
        let mut all = vec![of(PREFIX_KEY, "prefix of new ids", "bd", true)?];
        for (key, about) in REPLICATED {
            all.push(of(key, about, "", true)?);
        }
        for Key { name, default, about, .. } in KEYS {
            all.push(of(name, about, default, false)?);
        }
        all.sort_by(|one, other| one.key.cmp(&other.key));
        if let Some(key) = key {
            check_key(key)?;
            all.retain(|one| one.key == key);
        }
        Ok(Answer::SettingsDescribed(all))
    }

    pub(super) fn config_list(&self) -> Answer {
        let mut all = self.config.all();
        let state = self.replica.catalog().state();
        all.insert(PREFIX_KEY.into(), state.prefix().prefix.to_string());
        for (key, _) in REPLICATED {
            all.insert((*key).to_owned(), state.setting(key).unwrap_or_default().to_owned());
        }
        Answer::Settings(all)
    }
}
