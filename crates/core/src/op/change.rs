use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Sets or clears an optional field. In JSON, null and the empty string clear it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<T> {
    /// Sets the field to this value.
    Set(T),
    /// Removes the value.
    Clear,
}

impl<T> Change<T> {
    /// Returns the new value, or `None` if the field is cleared.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Clear => None,
        }
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire<T> {
            Value(T),
            Empty(Empty),
        }
        Ok(match Option::<Wire<T>>::deserialize(deserializer)? {
            Some(Wire::Value(value)) => Self::Set(value),
            Some(Wire::Empty(Empty::Empty)) | None => Self::Clear,
        })
    }
}

#[derive(Deserialize)]
enum Empty {
    #[serde(rename = "")]
    Empty,
}

/// Deserializes `Option<Change<T>>`: an absent field changes nothing, null clears it.
pub(super) fn present<'de, T, D>(deserializer: D) -> Result<Option<Change<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Change::deserialize(deserializer).map(Some)
}
