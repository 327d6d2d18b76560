//! Mutates valid inputs into almost valid ones.

use beads_sim::Dice;

/// Tokens that tend to break parsers of JSON and numbers.
const TOKENS: [&[u8]; 18] = [
    b"null",
    b"true",
    b"-1",
    b"0",
    b"1e999",
    b"18446744073709551616",
    b"\"\"",
    b"[]",
    b"{}",
    b"[[[[[[[[",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\xffbdj",
    b"\n",
    b"\0",
    b"\xe2\x80\xae",
    b"4102444800000",
];

/// Makes one to four changes to an input of the corpus, each at a random offset.
pub fn mutate(corpus: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = dice.pick(corpus).cloned().unwrap_or_default();
    for _ in 0..=dice.below(4) {
        change(&mut bytes, corpus, dice);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.index(bytes.len() + 1);
    let end = (at + dice.index(40)).min(bytes.len());
    match dice.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        3 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        4 | 5 => {
            let token = dice.pick(&TOKENS).copied().unwrap_or_default();
            bytes.splice(at..end.min(at + token.len()), token.iter().copied());
        }
        6 => {
            let other = dice.pick(corpus).cloned().unwrap_or_default();
            let from = dice.index(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        // Replace a digit: numbers, stamps and checksums stay well-formed.
        _ => {
            let digits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
            if let Some(at) = dice.pick(&digits) {
                bytes[*at] = b'0' + u8::try_from(dice.below(10)).unwrap_or(0);
            }
        }
    }
}
