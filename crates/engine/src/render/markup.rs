//! Text inside a drawing or a document.

/// Returns the text with everything escaped that has a meaning there: `special` writes such a character and says so. Control
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

/// Writes one of these characters with a backslash before it.
pub fn backslashed(out: &mut String, c: char, special: &[char]) -> bool {
    let is_special = special.contains(&c);
    if is_special {
        out.extend(['\\', c]);
    }
    is_special
}
