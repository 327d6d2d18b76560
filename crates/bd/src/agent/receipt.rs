//! Idempotent calls: a call with a key runs once, and repeating it returns the first answer.

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

/// The only command that creates the store.
const CREATING_COMMAND: &str = "agent.register";

/// How long a key is remembered. After that a call with it runs again.
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// One in this many calls deletes old receipts; checking all of them on every call would cost too much.
const CLEANUP_INTERVAL: u8 = 64;

#[derive(Serialize, Deserialize)]
struct Receipt {
    /// A digest of the arguments.
    #[serde(rename = "asked")]
    arguments_digest: String,
    answer: Box<RawValue>,
}

/// Runs `call` unless it already ran with this key, and returns the first answer.
///
/// If the process is killed after the call but before the receipt is saved, a retry runs the call again. That
/// is harmless except for mail, so a message derives its id from the key and cannot be delivered twice.
pub fn call_once<T: Serialize>(
    store: Store,
    command: &str,
    key: &str,
    arguments: &Value,
    call: impl FnOnce(&Store) -> Result<T>,
) -> Result<Box<RawValue>> {
    let digest = Sha256::digest(format!("{command}\n{key}"));
    let name = hex(&digest);
    let message_id = format!("{}k{}", MessageId::PREFIX, &name[..32]);
    let store = store.with_id(&message_id)?;
    let arguments_digest = hex(&Sha256::digest(arguments.to_string()));
    let _lock = store.lock_keyed_calls(command == CREATING_COMMAND)?;
    if let Some(receipt) = store.read()?.receipt(&name)? {
        if receipt.arguments_digest != arguments_digest {
            let message =
                format!("The key {key} was used for another {command}. Nothing was changed; use a new key.");
            return Err(Error::invalid(Reason::KeyReused, message));
        }
        return Ok(receipt.answer);
    }
    let answer = match call(&store) {
        Ok(answer) => json(&answer)?,
        Err(failed) if failed.reason == Some(Reason::IdTaken) => {
            json(&store.read()?.find_sent(&message_id)?)?
        }
        Err(failed) => return Err(failed),
    };
    store.write()?.save_receipt(
        &name,
        &Receipt { arguments_digest, answer: answer.clone() },
        digest[0] % CLEANUP_INTERVAL == 0,
    )?;
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

    fn save_receipt(&self, name: &str, receipt: &Receipt, clear: bool) -> Result<()> {
        let dir = self.path(&[RECEIPTS]);
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten().filter(|_| clear) {
            if is_old(&entry.path()) {
                // Another process may have removed it already.
                let _ = fs::remove_file(entry.path());
            }
        }
        files::write_json(&dir.join(format!("{name}.json")), receipt)
    }

    /// Finds what was sent with an id, to one recipient or several.
    fn find_sent(&self, id: &str) -> Result<Sent> {
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
    written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|age| age > RETENTION))
}
