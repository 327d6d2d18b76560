//! Numbers with their nouns.

/// Returns a number with its noun, such as `1 edge`, `2 edges` or `2 dependencies`.
pub fn counted<N: Copy + std::fmt::Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let words = [(0_usize, "bead"), (1, "bead"), (2, "bead"), (1, "try"), (3, "try"), (2, "day")];
        let shown = words.map(|(count, noun)| counted(count, noun));
        assert_eq!(shown, ["0 beads", "1 bead", "2 beads", "1 try", "3 tries", "2 days"]);
    }
}
