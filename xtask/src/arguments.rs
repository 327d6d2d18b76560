//! Parses `--name value` pairs.

use std::collections::BTreeMap;
use std::error::Error;
use std::str::FromStr;

/// The result of a task.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The options without a value.
const FLAGS: [&str; 1] = ["hub"];

/// The options of a task. Most may be given once; the last value counts.
pub struct Arguments(BTreeMap<String, Vec<String>>);

impl Arguments {
    /// Parses all arguments.
    pub fn parse(given: impl Iterator<Item = String>) -> Result<Self> {
        let mut given = given;
        let mut pairs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        while let Some(name) = given.next() {
            let name = name.strip_prefix("--").ok_or_else(|| format!("{name:?} is not an option"))?;
            let value = match FLAGS.contains(&name) {
                true => "true".to_owned(),
                false => given.next().ok_or_else(|| format!("--{name} needs a value"))?,
            };
            pairs.entry(name.to_owned()).or_default().push(value);
        }
        Ok(Self(pairs))
    }

    /// Returns the value of a required option.
    pub fn required(&self, name: &str) -> Result<&str> {
        self.all(name).last().ok_or_else(|| format!("--{name} is required").into())
    }

    /// Returns all values of an option that may be repeated.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }

    /// Returns the value of an option, or a default.
    pub fn or<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        match self.all(name).last() {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("--{name}: invalid value {text:?}").into()),
        }
    }
}
