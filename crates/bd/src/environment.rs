//! Questions about the names of environment variables, which every command asks.

use std::ffi::OsString;

/// The environment that this process was started with, as the kernel keeps it. This program sets no variable that is
/// looked for here.
const KERNEL_COPY: &str = "/proc/self/environ";

/// Returns whether a variable whose name begins with `prefix` has a value. Copying every variable into a string of its own, as the
/// standard library does, was a quarter of the instructions of a short command.
pub fn has_value_with_prefix(prefix: &str) -> bool {
    match std::fs::read(KERNEL_COPY) {
        Ok(entries) => entries.split(|byte| *byte == 0).any(|entry| is_named(entry, prefix)),
        Err(_) => std::env::vars_os().any(|(name, value)| is_given(&name, &value, prefix)),
    }
}

/// Returns whether an entry `NAME=value` begins with `prefix` and has a value.
fn is_named(entry: &[u8], prefix: &str) -> bool {
    entry.starts_with(prefix.as_bytes())
        && entry.iter().position(|byte| *byte == b'=').is_some_and(|end| end + 1 < entry.len())
}

fn is_given(name: &OsString, value: &OsString, prefix: &str) -> bool {
    !value.is_empty() && name.as_encoded_bytes().starts_with(prefix.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_name_counts() {
        for (entry, named) in [
            ("BEADS_DB=x", true),
            ("BEADS_=x", true),
            ("BEADS_DB=", false),
            ("BEADS_DB", false),
            ("MY_BEADS_DB=x", false),
            ("HOME=BEADS_DB=x", false),
            ("", false),
        ] {
            assert_eq!(is_named(entry.as_bytes(), "BEADS_"), named, "{entry:?}");
        }
    }

    #[test]
    fn a_variable_of_this_process_is_found() {
        assert!(has_value_with_prefix("PAT"), "PATH is always set");
        assert!(!has_value_with_prefix("NO_SUCH_PREFIX_"));
    }
}
