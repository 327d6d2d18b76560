//! The JSON encoder of the canonical files: compact, keys in byte order, the short escapes `\b\t\n\f\r`,
//! other control characters as `\u00xx` in lower case, and no other escapes except `\"` and `\\`.
//!
//! `serde_json` writes exactly this if structs declare their fields in byte order and maps are sorted. A test
//! fails if a dependency turns on the feature `preserve_order`.

use serde::Serialize;

/// Returns the canonical bytes of a value. Only for our own types, whose serialization cannot fail.
pub fn to_canonical(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("our types serialize to JSON")
}

/// Appends the canonical bytes of a value to a buffer.
pub(crate) fn write_canonical(buffer: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(buffer, value)
        .expect("our types serialize to JSON, and writing to a buffer cannot fail");
}

/// Returns the lower-case hexadecimal form of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_sorted_bytewise() {
        let value: serde_json::Value = serde_json::from_str(r#"{"b":1,"_a":2,"Z":3,"ä":4,"a":5}"#).unwrap();
        assert_eq!(to_canonical(&value), r#"{"Z":3,"_a":2,"a":5,"b":1,"ä":4}"#.as_bytes());
    }

    #[test]
    fn escapes_follow_the_format() {
        let text = "\u{8}\t\n\u{c}\r\u{1}\u{1f}\u{7f}\"\\/é\u{2028}";
        assert_eq!(
            to_canonical(&text),
            "\"\\b\\t\\n\\f\\r\\u0001\\u001f\u{7f}\\\"\\\\/é\u{2028}\"".as_bytes()
        );
    }
}
