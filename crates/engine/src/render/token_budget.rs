//! Lists that stay within a number of tokens, for texts that agents read into their context.

/// Lists as many items as fit the budget, then counts the rest.
pub fn list_within(all: &[String], budget: usize) -> String {
    let mut left = budget;
    let fits = |one: &&String| {
        let cost = most_tokens(one) + 1;
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    };
    let shown: Vec<&str> = all.iter().take_while(fits).map(String::as_str).collect();
    match all.len() - shown.len() {
        0 => shown.join(", "),
        rest if shown.is_empty() => rest.to_string(),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

/// Truncates a text to a number of characters.
pub fn truncate(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Returns an upper bound of the number of tokens: two for every three alphanumeric characters, one for every
/// other byte.
pub fn most_tokens(text: &str) -> usize {
    let word = text.chars().filter(char::is_ascii_alphanumeric).count();
    (word * 2).div_ceil(3) + (text.len() - word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_within_their_budget() {
        let keys: Vec<String> = (0..100).map(|n| format!("key-{n}")).collect();
        let shown = list_within(&keys, 30);
        assert!(shown.starts_with("key-0, key-1") && shown.ends_with(" more"), "{shown}");
        assert!(most_tokens(&shown) < 50, "{shown}");
        assert_eq!(list_within(&["x".repeat(500)], 30), "1");
        assert_eq!(list_within(&keys[..2], 30), "key-0, key-1");
    }
}
