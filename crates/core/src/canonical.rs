//! The one JSON encoder of the canonical files: compact, keys in byte order, `\b\t\n\f\r` short and other
//! control characters `\u00xx` in lower case, nothing else escaped.
//!
//! `serde_json` writes exactly this as long as structs declare their fields in byte order and its map type is
//! the sorted one. A test guards against the `preserve_order` feature sneaking in through a dependency.

use serde::Serialize;

/// Canonical bytes of a value whose serialisation cannot fail: our own types, with string keys.
pub fn to_canonical(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("our types serialise to JSON")
}

/// The same behind what is in a buffer already.
pub(crate) fn write_canonical(buffer: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(buffer, value).expect("our types serialise to JSON, and a buffer takes it");
}

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
    fn maps_are_sorted_bytewise_whatever_features_are_on() {
        let value: serde_json::Value = serde_json::from_str(r#"{"b":1,"_a":2,"Z":3,"ä":4,"a":5}"#).unwrap();
        assert_eq!(to_canonical(&value), r#"{"Z":3,"_a":2,"a":5,"b":1,"ä":4}"#.as_bytes());
    }

    #[test]
    fn escapes_as_the_format_says() {
        let text = "\u{8}\t\n\u{c}\r\u{1}\u{1f}\u{7f}\"\\/é\u{2028}";
        assert_eq!(
            to_canonical(&text),
            "\"\\b\\t\\n\\f\\r\\u0001\\u001f\u{7f}\\\"\\\\/é\u{2028}\"".as_bytes()
        );
    }
}
