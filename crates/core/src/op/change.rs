use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A new value, or none any more. In JSON the empty string and null clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<T> {
    Set(T),
    Clear,
}

impl<T> Change<T> {
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

/// For `Option<Change<T>>`: an absent field changes nothing, a null one clears.
pub(super) fn present<'de, T, D>(deserializer: D) -> Result<Option<Change<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Change::deserialize(deserializer).map(Some)
}
