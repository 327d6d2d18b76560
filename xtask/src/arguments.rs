//! Parses `--name value` pairs.

use std::collections::BTreeMap;
use std::error::Error;
use std::str::FromStr;

/// The result of a task.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The options without a value.
const FLAGS: [&str; 1] = ["hub"];

/// The options of a task.
pub struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Parses all arguments.
    pub fn parse(given: impl Iterator<Item = String>) -> Result<Self> {
        let mut given = given;
        let mut pairs = BTreeMap::new();
        while let Some(name) = given.next() {
            let name = name.strip_prefix("--").ok_or_else(|| format!("{name:?} is not an option"))?;
            let value = match FLAGS.contains(&name) {
                true => "true".to_owned(),
                false => given.next().ok_or_else(|| format!("--{name} needs a value"))?,
            };
            pairs.insert(name.to_owned(), value);
        }
        Ok(Self(pairs))
    }

    /// Returns the value of a required option.
    pub fn required(&self, name: &str) -> Result<&str> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("--{name} is required").into())
    }

    /// Returns the value of an option, or a default.
    pub fn or<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        match self.0.get(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("--{name}: invalid value {text:?}").into()),
        }
    }
}
