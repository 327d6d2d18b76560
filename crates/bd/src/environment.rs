//! Cheap checks of environment variable names, which every command makes.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;

/// The environment that this process was started with, as the kernel keeps it. It is accurate here because
/// `bd` never sets the variables it looks for.
const KERNEL_COPY: &str = "/proc/self/environ";

/// Most environments fit into one read of this size.
const USUAL_BYTES: usize = 32 * 1024;

/// Returns whether a variable whose name begins with `prefix` has a value. The standard library copies every
/// variable into its own string, which took a quarter of the instructions of a short command.
pub fn has_value_with_prefix(prefix: &str) -> bool {
    // The kernel does not tell the size of this file, so `fs::read` would begin with small pieces.
    let mut entries = Vec::with_capacity(USUAL_BYTES);
    match File::open(KERNEL_COPY).and_then(|mut file| file.read_to_end(&mut entries)) {
        Ok(_) => entries.split(|byte| *byte == 0).any(|entry| entry_matches(entry, prefix)),
        Err(_) => std::env::vars_os().any(|(name, value)| variable_matches(&name, &value, prefix)),
    }
}

/// Returns whether an entry `NAME=value` begins with `prefix` and has a value.
fn entry_matches(entry: &[u8], prefix: &str) -> bool {
    entry.starts_with(prefix.as_bytes())
        && entry.iter().position(|byte| *byte == b'=').is_some_and(|end| end + 1 < entry.len())
}

fn variable_matches(name: &OsString, value: &OsString, prefix: &str) -> bool {
    !value.is_empty() && name.as_encoded_bytes().starts_with(prefix.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_prefix_matches() {
        for (entry, named) in [
            ("BEADS_DB=x", true),
            ("BEADS_=x", true),
            ("BEADS_DB=", false),
            ("BEADS_DB", false),
            ("MY_BEADS_DB=x", false),
            ("HOME=BEADS_DB=x", false),
            ("", false),
        ] {
            assert_eq!(entry_matches(entry.as_bytes(), "BEADS_"), named, "{entry:?}");
        }
    }

    #[test]
    fn a_variable_of_this_process_is_found() {
        assert!(has_value_with_prefix("PAT"), "PATH is always set");
        assert!(!has_value_with_prefix("NO_SUCH_PREFIX_"));
    }
}
