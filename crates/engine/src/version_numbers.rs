//! Compares versions of programs.

/// Returns the leading numbers of a version. Clients and daemons compare nothing else.
pub fn version_numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}
