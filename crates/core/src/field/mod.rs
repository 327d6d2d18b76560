//! The values a bead's registers hold. Each type can only be built from valid input.

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

/// How a register's value stands in a line of a canonical file: empty and null are one value and are left out.
pub trait Value: Clone + PartialEq {
    type Stored;

    fn stored(&self) -> Option<Self::Stored>;

    /// `None` when the field may not be absent.
    fn restored(stored: Option<Self::Stored>) -> Option<Self>;
}

/// A value that is always present.
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

/// A value whose empty form is the same as no value.
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

/// JSON of a type that is a checked string: written and read as it stands, without a `String` in between.
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

/// Conversions that every text-like field has: from and to `String` and JSON, `Display`, `as_str`.
macro_rules! string_newtype {
    ($ty:ident) => {
        $crate::field::string_json!($ty, std::str::FromStr::from_str);

        impl $ty {
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
