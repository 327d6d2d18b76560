//! Actors: the people and agents who write (§4.5).

use std::cell::RefCell;
use std::sync::Arc;

use crate::limits::MAX_ACTOR_BYTES;
use crate::{Error, Result};

/// A non-empty name on one line. Actors are ordered bytewise, which breaks ties between equal stamps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Actor(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// Returns the schema of an input, with the same checks as the type.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::text_field(
        generator,
        crate::schema::line(1, MAX_ACTOR_BYTES / crate::schema::MAX_CHAR_BYTES, true),
    )
}

impl Actor {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a name that sorts before all others. Real names are never empty.
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

/// The number of names in the cache. In a store with more actors, some names are stored more than once.
const CACHE_SIZE: usize = 64;

thread_local! {
    /// Actors that were read recently. A few actors write most beads, so their names are shared.
    static CACHE: RefCell<[Option<Actor>; CACHE_SIZE]> = const { RefCell::new([const { None }; CACHE_SIZE]) };
}

impl Actor {
    /// Parses a name. A name that is in the cache is neither checked nor stored again.
    fn read(text: &str) -> Result<Self> {
        let hash = text.bytes().fold(text.len(), |hash, byte| hash.wrapping_mul(31) ^ usize::from(byte));
        CACHE.with_borrow_mut(|cache| match &mut cache[hash % CACHE_SIZE] {
            Some(known) if known.as_str() == text => Ok(known.clone()),
            slot => Ok(slot.insert(text.parse()?).clone()),
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
