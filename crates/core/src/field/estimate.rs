use serde::{Deserialize, Serialize};

use crate::limits::MAX_ESTIMATE_MINUTES;
use crate::{Error, Result};

/// Estimated time for the work, in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u64", into = "u64")]
#[cfg_attr(feature = "schema", schemars(!try_from, !into))]
pub struct Estimate(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] u32);

/// Returns the schema with the bounds that the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::number_field(generator, u64::from(MAX_ESTIMATE_MINUTES))
}

impl Estimate {
    /// Returns the number of minutes.
    pub fn minutes(self) -> u32 {
        self.0
    }
}

impl TryFrom<u64> for Estimate {
    type Error = Error;

    fn try_from(minutes: u64) -> Result<Self> {
        match u32::try_from(minutes) {
            Ok(minutes) if minutes <= MAX_ESTIMATE_MINUTES => Ok(Self(minutes)),
            _ => Err(Error::invalid(
                "estimated_minutes",
                format!("{minutes} is more than {MAX_ESTIMATE_MINUTES}"),
            )),
        }
    }
}

impl From<Estimate> for u64 {
    fn from(estimate: Estimate) -> Self {
        Self::from(estimate.0)
    }
}
