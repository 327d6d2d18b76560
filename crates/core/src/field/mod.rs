//! The values of a bead's fields. Each type can only be built from valid input.

mod bead_type;
mod estimate;
mod labels;
mod line;
mod metadata;
mod priority;
mod status;
mod text;
mod title;
mod type_group;
mod word;

pub use bead_type::BeadType;
pub use estimate::Estimate;
pub use labels::{Label, Labels};
pub use line::Line;
pub use metadata::Metadata;
pub use priority::Priority;
pub use status::{Status, StatusGroup};
pub use text::Text;
pub use title::Title;
pub use type_group::TypeGroup;
pub use word::Word;

use crate::Timestamp;

/// A field value as written to a canonical file. An empty value is the same as none, and is left out.
pub trait Value: Clone + PartialEq {
    /// The type that is written.
    type Stored;

    /// Returns the value to write, or `None` if the field is left out.
    fn stored(&self) -> Option<Self::Stored>;

    /// Returns the value for a field as read, or `None` if a required field is missing.
    fn restored(stored: Option<Self::Stored>) -> Option<Self>;
}

/// Implements [`Value`] for types that are always present.
macro_rules! required_value {
    ($($ty:ty),*) => {$(
        impl $crate::field::Value for $ty {
            type Stored = $ty;

            fn stored(&self) -> Option<$ty> {
                Some(self.clone())
            }

            fn restored(stored: Option<$ty>) -> Option<Self> {
                stored
            }
        }
    )*};
}

/// Implements [`Value`] for types whose empty form is the same as no value.
macro_rules! emptyable_value {
    ($($ty:ty),*) => {$(
        impl $crate::field::Value for $ty {
            type Stored = $ty;

            fn stored(&self) -> Option<$ty> {
                (!self.is_empty()).then(|| self.clone())
            }

            fn restored(stored: Option<$ty>) -> Option<Self> {
                Some(stored.unwrap_or_default())
            }
        }
    )*};
}

required_value!(Title, Priority);
emptyable_value!(Text, Line, Labels, Metadata);

/// Implements [`Value`] for options.
macro_rules! optional_value {
    ($($ty:ty),*) => {$(
        impl $crate::field::Value for Option<$ty> {
            type Stored = $ty;

            fn stored(&self) -> Option<$ty> {
                *self
            }

            fn restored(stored: Option<$ty>) -> Option<Self> {
                Some(stored)
            }
        }
    )*};
}

optional_value!(Estimate, Timestamp);

/// Implements serde for a validated string type without an intermediate `String`.
macro_rules! string_json {
    ($ty:ident, $read:path) => {
        impl serde::Serialize for $ty {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $ty {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Checked;

                impl serde::de::Visitor<'_> for Checked {
                    type Value = $ty;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$ty, E> {
                        $read(text).map_err(E::custom)
                    }
                }

                deserializer.deserialize_str(Checked)
            }
        }
    };
}
pub(crate) use string_json;

/// Implements the conversions that all text fields share: `String`, JSON, `Display` and `as_str`.
macro_rules! string_newtype {
    ($ty:ident) => {
        $crate::field::string_json!($ty, std::str::FromStr::from_str);

        impl $ty {
            /// Returns the value as a string slice.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $ty {
            type Error = $crate::Error;

            fn try_from(text: String) -> $crate::Result<Self> {
                text.parse()
            }
        }

        impl From<$ty> for String {
            fn from(value: $ty) -> Self {
                value.as_str().to_owned()
            }
        }

        impl std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}
pub(crate) use string_newtype;
