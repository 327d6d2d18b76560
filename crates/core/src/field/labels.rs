use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_LABEL_BYTES, MAX_LABELS};
use crate::{Error, Result};

/// A label: not blank, and without commas, which separate labels on the command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Label(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// Returns the schema with the bounds that the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::text_field(
        generator,
        crate::schema::line_without(MAX_LABEL_BYTES / crate::schema::MAX_CHAR_BYTES, ","),
    )
}

super::string_newtype!(Label);

impl std::str::FromStr for Label {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::invalid("label", "it is empty"));
        }
        if text.len() > MAX_LABEL_BYTES {
            return Err(Error::invalid("label", format!("it is longer than {MAX_LABEL_BYTES} bytes")));
        }
        if text.chars().any(|c| c.is_control() || c == ',') {
            return Err(Error::invalid("label", format!("{text:?} has a comma or a control character")));
        }
        Ok(Self(text.into()))
    }
}

/// The labels of a bead, sorted bytewise and without duplicates.
// The whole set is one register, so a merge keeps one side's set (§8.2.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<Label>")]
#[cfg_attr(feature = "schema", schemars(!try_from))]
pub struct Labels(#[cfg_attr(feature = "schema", schemars(schema_with = "set_schema"))] Arc<[Label]>);

#[cfg(feature = "schema")]
fn set_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::list_field::<Label>(generator, MAX_LABELS)
}

impl Labels {
    /// Returns whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the label is in the set.
    pub fn contains(&self, label: &Label) -> bool {
        self.0.binary_search(label).is_ok()
    }

    /// Iterates over the labels in byte order.
    pub fn iter(&self) -> std::slice::Iter<'_, Label> {
        self.0.iter()
    }

    /// Returns the set with more labels, or an error if there are too many.
    pub fn with(&self, added: &[Label]) -> Result<Self> {
        self.iter().chain(added).cloned().collect::<Vec<_>>().try_into()
    }

    /// Returns the set without some labels.
    pub fn without(&self, removed: &[Label]) -> Self {
        Self(self.iter().filter(|label| !removed.contains(label)).cloned().collect())
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl<'a> IntoIterator for &'a Labels {
    type Item = &'a Label;
    type IntoIter = std::slice::Iter<'a, Label>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl TryFrom<Vec<Label>> for Labels {
    type Error = Error;

    fn try_from(mut labels: Vec<Label>) -> Result<Self> {
        labels.sort_unstable();
        labels.dedup();
        if labels.len() > MAX_LABELS {
            return Err(Error::invalid("labels", format!("more than {MAX_LABELS} labels on one bead")));
        }
        Ok(Self(labels.into()))
    }
}
