use super::{BeadType, Word};

/// The type of a bead and the word of another tracker that stands for it: one register, so that a word never outlives
/// the type it was set with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeGroup {
    pub kind: BeadType,
    pub word: Option<Word>,
}

impl TypeGroup {
    /// The word if there is one, else the type.
    pub fn shown(&self) -> &str {
        self.word.as_ref().map_or(self.kind.as_str(), Word::as_str)
    }
}

impl From<BeadType> for TypeGroup {
    fn from(kind: BeadType) -> Self {
        Self { kind, word: None }
    }
}
