use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use beads_store::open_regular;
use beads_store::replace_file;
use sha2::{Digest, Sha256};

/// How long to keep the reminders of sessions that never reported their end.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Far more than the claims of one session need.
const MAX_BYTES: u64 = 1024 * 1024;

/// The claims that each session has been reminded of, so that it is reminded of each only once. Kept next to
/// the store and never synced.
#[derive(Debug)]
pub struct Reminders(PathBuf);

impl Reminders {
    pub fn new(store: &Path) -> Self {
        Self(store.join("reminders"))
    }

    fn file(&self, who: &str) -> PathBuf {
        let mut name = String::new();
        for byte in &Sha256::digest(who)[..16] {
            let _ = write!(name, "{byte:02x}");
        }
        self.0.join(name)
    }

    /// Returns the fences that the session has not been reminded of, and records them. On an error nothing
    /// was recorded, so the caller must not remind the session: it would do so every time.
    pub fn record_new(&self, who: &str, fences: &[String]) -> io::Result<Vec<String>> {
        let file = self.file(who);
        let known = match open_regular(&file) {
            Ok(open) => io::read_to_string(io::Read::take(open, MAX_BYTES))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let is_known = |fence: &String| known.lines().any(|line| line == fence);
        let new: Vec<String> = fences.iter().filter(|fence| !is_known(fence)).cloned().collect();
        if !new.is_empty() {
            fs::create_dir_all(&self.0)?;
            self.forget_old();
            replace_file(&file, format!("{known}{}\n", new.join("\n")).as_bytes())?;
        }
        Ok(new)
    }

    /// Removes the record of a session that ended.
    pub fn forget(&self, who: &str) {
        // A session that was never reminded has no file.
        let _ = fs::remove_file(self.file(who));
    }

    fn forget_old(&self) {
        let now = SystemTime::now();
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            if modified.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > KEPT)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_is_reminded_of_each_claim_once() {
        let store = tempfile::tempdir().unwrap();
        let reminders = Reminders::new(store.path());
        let fences = |list: &[&str]| list.iter().map(|fence| (*fence).to_owned()).collect::<Vec<_>>();
        assert_eq!(reminders.record_new("a", &fences(&["1.1"])).unwrap(), ["1.1"]);
        assert!(reminders.record_new("a", &fences(&["1.1"])).unwrap().is_empty());
        assert_eq!(reminders.record_new("a", &fences(&["1.1", "2.1"])).unwrap(), ["2.1"]);
        assert_eq!(reminders.record_new("b", &fences(&["1.1"])).unwrap(), ["1.1"], "another session");
        reminders.forget("a");
        assert_eq!(reminders.record_new("a", &fences(&["1.1"])).unwrap(), ["1.1"]);
        fs::remove_dir_all(store.path().join("reminders")).unwrap();
        fs::write(store.path().join("reminders"), "in the way").unwrap();
        assert!(reminders.record_new("a", &fences(&["1.1"])).is_err());
    }
}
