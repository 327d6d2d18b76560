//! Writes the JSON schemas of all `bd --json` output to `docs/schema/`, and removes obsolete files.

use std::fs;
use std::path::PathBuf;

use crate::arguments::{Arguments, Result};

pub fn run(arguments: &Arguments) -> Result<()> {
    let directory: PathBuf = arguments.or("dir", "docs/schema".into())?;
    let files = beads_engine::render::schema::files();
    fs::create_dir_all(&directory)?;
    for entry in fs::read_dir(&directory)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| files.contains_key(name)) {
            fs::remove_file(entry.path())?;
        }
    }
    for (name, text) in &files {
        fs::write(directory.join(name), text)?;
    }
    println!("{} files in {}", files.len(), directory.display());
    Ok(())
}
