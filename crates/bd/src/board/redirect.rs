//! A file that leads a browser to the board. Arguments of programs are visible to all users of the machine, so the
//! address with its token must not be one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use beads_engine::failure::Failure;
use beads_store::Replacement;

/// How long a browser may take to start and read the file.
const KEPT: Duration = Duration::from_secs(60);

/// A file that only its owner may read. It is removed after a minute, and when this value is dropped.
#[derive(Debug)]
pub struct Redirect {
    path: PathBuf,
}

impl Redirect {
    /// Writes the file into the directory of the store, which also holds the token.
    pub fn create(store_dir: &Path, url: &str) -> Result<Self, Failure> {
        let id = std::process::id();
        let path = store_dir.join(format!("board-open.{id}.html"));
        let write = || -> std::io::Result<()> {
            let temporary = store_dir.join(format!(".board-open.{id}.tmp"));
            let mut file = Replacement::private(&path, temporary)?;
            file.write_all(page(url).as_bytes())?;
            file.finish()
        };
        write().map_err(|error| Failure::io("write", &path, &error))?;
        let redirect = Self { path };
        let late = redirect.path.clone();
        std::thread::spawn(move || {
            std::thread::sleep(KEPT);
            let _ = std::fs::remove_file(late);
        });
        Ok(redirect)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Redirect {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn page(url: &str) -> String {
    let url = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; url={url}\">\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_private_and_goes_away() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let redirect = Redirect::create(directory.path(), "http://127.0.0.1:4000/#token=00ff").unwrap();
        let path = redirect.path().to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("content=\"0; url=http://127.0.0.1:4000/#token=00ff\"")
        );
        drop(redirect);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(page("http://\"><script>").contains("url=http://&quot;>&lt;script>\">"));
    }
}
