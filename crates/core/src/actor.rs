//! Who did it (§4.5).

use std::cell::RefCell;
use std::sync::Arc;

use crate::limits::MAX_ACTOR_BYTES;
use crate::{Error, Result};

/// A non-empty name on one line. Ordered bytewise, which is how ties between equal stamps are broken.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Actor(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// How the schema of an input says what the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::text_field(
        generator,
        crate::schema::line(1, MAX_ACTOR_BYTES / crate::schema::WIDEST, true),
    )
}

impl Actor {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Sorts before all others; no real one is empty.
    pub(crate) fn least() -> Self {
        Self("".into())
    }
}

impl std::str::FromStr for Actor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::invalid("actor", "it is empty"));
        }
        if text.len() > MAX_ACTOR_BYTES {
            return Err(Error::invalid("actor", format!("it is longer than {MAX_ACTOR_BYTES} bytes")));
        }
        if text.chars().any(char::is_control) {
            return Err(Error::invalid("actor", "it has control characters"));
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for Actor {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Actor> for String {
    fn from(actor: Actor) -> Self {
        actor.as_str().to_owned()
    }
}

crate::field::string_json!(Actor, Actor::read);

/// How many names are remembered, and so how many a store may have before some of them are kept more than once.
const REMEMBERED: usize = 64;

thread_local! {
    /// Actors that were read last. Few write very much: whoever reads a name that was read before shares it.
    static LAST_READ: RefCell<[Option<Actor>; REMEMBERED]> = const { RefCell::new([const { None }; REMEMBERED]) };
}

impl Actor {
    /// Like parsing, without checking and keeping again what was read a moment ago.
    fn read(text: &str) -> Result<Self> {
        let hash = text.bytes().fold(text.len(), |hash, byte| hash.wrapping_mul(31) ^ usize::from(byte));
        LAST_READ.with_borrow_mut(|last| match &mut last[hash % REMEMBERED] {
            Some(known) if known.as_str() == text => Ok(known.clone()),
            place => Ok(place.insert(text.parse()?).clone()),
        })
    }
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
