//! Calls that may be repeated: with the same key a call is carried out once, and its first answer comes back.

use std::fs;
use std::time::{Duration, SystemTime};

use beads_core::canonical::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};

use super::error::{Error, Reason, Result};
use super::files;
use super::message::MessageId;
use super::send::Sent;
use super::store::{Session, Store};

const RECEIPTS: &str = "receipts";

/// The one call that makes the store.
const CREATES: &str = "agent.register";

/// How long a key is remembered. Whoever asks again later asks anew.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// One in so many calls clears away what is older: looking at every receipt on every call would cost more than it
/// frees.
const CLEARED_EVERY: u8 = 64;

#[derive(Serialize, Deserialize)]
struct Receipt {
    /// A digest of what was asked.
    asked: String,
    answer: Box<RawValue>,
}

/// Calls, unless that was done under this key before.
///
/// A process that is killed after the call and before its receipt calls again. That is harmless for everything but
/// mail, so a message takes its id from the key: it cannot be delivered twice.
pub fn once<T: Serialize>(
    store: Store,
    command: &str,
    key: &str,
    asked: &Value,
    call: impl FnOnce(&Store) -> Result<T>,
) -> Result<Box<RawValue>> {
    let digest = Sha256::digest(format!("{command}\n{key}"));
    let name = hex(&digest);
    let message_id = format!("{}k{}", MessageId::PREFIX, &name[..32]);
    let store = store.with_id(&message_id)?;
    let asked = hex(&Sha256::digest(asked.to_string()));
    let _turn = store.turn(command == CREATES)?;
    if let Some(receipt) = store.read()?.receipt(&name)? {
        if receipt.asked != asked {
            let message =
                format!("The key {key} was used for another {command}. Nothing was changed; take a new key.");
            return Err(Error::invalid(Reason::KeyReused, message));
        }
        return Ok(receipt.answer);
    }
    let answer = match call(&store) {
        Ok(answer) => json(&answer)?,
        Err(failed) if failed.reason == Some(Reason::IdTaken) => json(&store.read()?.sent_as(&message_id)?)?,
        Err(failed) => return Err(failed),
    };
    store.write()?.keep(&name, &Receipt { asked, answer: answer.clone() }, digest[0] % CLEARED_EVERY == 0)?;
    Ok(answer)
}

fn json(answer: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(answer).map_err(|why| Error::unreadable("the answer".as_ref(), why))
}

impl Session<'_> {
    fn receipt(&self, name: &str) -> Result<Option<Receipt>> {
        let path = self.path(&[RECEIPTS, &format!("{name}.json")]);
        if is_old(&path) { Ok(None) } else { files::read_json(&path) }
    }

    fn keep(&self, name: &str, receipt: &Receipt, clear: bool) -> Result<()> {
        let dir = self.path(&[RECEIPTS]);
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten().filter(|_| clear) {
            if is_old(&entry.path()) {
                // Somebody else may have been faster.
                let _ = fs::remove_file(entry.path());
            }
        }
        files::write_json(&dir.join(format!("{name}.json")), receipt)
    }

    /// What was sent under an id, to one or to many.
    fn sent_as(&self, id: &str) -> Result<Sent> {
        let dir = self.path(&["messages", "index"]);
        let entries = fs::read_dir(&dir).map_err(|why| Error::unreadable(&dir, why))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.filter(|name| name.starts_with(id));
        let mut ids: Vec<MessageId> =
            names.filter_map(|name| MessageId::parse(name.strip_suffix(".json")?).ok()).collect();
        ids.sort();
        let first = ids.first().cloned().ok_or_else(|| Error::damaged(&dir, "a message is missing"))?;
        let message = self.find_message(&first)?.ok_or_else(|| first.not_found())?;
        Ok(Sent { message, message_ids: (first.as_str() != id).then_some(ids) })
    }
}

fn is_old(path: &std::path::Path) -> bool {
    let written = fs::metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|age| age > KEPT))
}
