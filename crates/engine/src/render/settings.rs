//! What settings do.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;

use super::style::Style;
use super::wrap::wrap_after;
use crate::escape::escape;

/// A setting with its description.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SettingDescription {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The value if it is not set.
    pub default: String,
    /// Whether all clones share it. Other settings belong to this clone.
    pub synced: bool,
    /// What it does.
    pub about: String,
}

/// Writes each setting with its value, and below it what it does.
pub fn render(out: &mut String, settings: &[SettingDescription], style: Style) {
    let width = style.width().unwrap_or(usize::MAX);
    for SettingDescription { key, value, default, synced, about } in settings {
        let _ = writeln!(out, "{} = {}", style.bold(key), escape(value));
        let _ = writeln!(out, "{}", wrap_after(about, "    ", "    ", width));
        let default = if default.is_empty() || default == value {
            String::new()
        } else {
            format!("default: {default}; ")
        };
        let scope = if *synced { "the same in every clone" } else { "for this clone" };
        let _ = writeln!(out, "{}", style.faint(&format!("    {default}{scope}")));
    }
}
