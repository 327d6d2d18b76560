//! Escapes text for drawings and documents.

/// Escapes text. `special` writes the escaped form of a special character and returns whether it did. Control
/// characters become spaces.
pub fn escaped(text: &str, special: impl Fn(&mut String, char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !special(&mut out, c) {
            out.push(if c.is_control() { ' ' } else { c });
        }
    }
    out
}

/// Writes a special character with a backslash before it. Returns whether `c` is special.
pub fn backslashed(out: &mut String, c: char, special: &[char]) -> bool {
    let is_special = special.contains(&c);
    if is_special {
        out.extend(['\\', c]);
    }
    is_special
}
