use super::{BeadType, Word};

/// The type of a bead with its custom word. They share one register, so that a merge never combines the word
/// of one write with the type of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeGroup {
    /// The type.
    pub kind: BeadType,
    /// A more specific custom type, such as one imported from another tracker.
    pub word: Option<Word>,
}

impl TypeGroup {
    /// Returns the custom word if there is one, otherwise the type.
    pub fn shown(&self) -> &str {
        self.word.as_ref().map_or(self.kind.as_str(), Word::as_str)
    }
}

impl From<BeadType> for TypeGroup {
    fn from(kind: BeadType) -> Self {
        Self { kind, word: None }
    }
}
