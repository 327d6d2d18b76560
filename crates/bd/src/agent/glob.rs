//! Patterns over paths, and whether two of them have a path in common.
//!
//! The syntax is that of `globset` with literal separators: `?`, `*` and `[a-z]` match within one component,
//! `**` as a whole component matches any number of components (at least one at the end), `{a,b}` matches
//! either, `\` escapes the next character. `globset` can match a path but cannot intersect two patterns. This
//! module does both by walking two patterns together: component by component, then character by character
//! within a pair of components. A path is a pattern without wildcards.

use super::bounds::{SCOPE_ALTERNATIVES_MAX, SCOPE_EXPANDED_MAX};

/// A set of paths: those that match one of the alternatives after brace expansion.
#[derive(Debug, Clone)]
pub struct Glob(Vec<Vec<Component>>);

#[derive(Debug, Clone, PartialEq)]
enum Component {
    /// Zero or more components.
    Deep,
    /// Exactly one component, never empty.
    One(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// Zero or more characters.
    Many,
    /// One character in one of these inclusive ranges.
    OneOf(Vec<(u32, u32)>),
}

const LAST: u32 = char::MAX as u32;

impl Token {
    fn literal(c: char) -> Token {
        Token::OneOf(vec![(c.into(), c.into())])
    }

    fn any() -> Token {
        Token::OneOf(vec![(0, LAST)])
    }

    /// Returns whether both accept some common character.
    fn intersects(&self, other: &Token) -> bool {
        match (self, other) {
            (Token::Many, Token::OneOf(ranges)) | (Token::OneOf(ranges), Token::Many) => !ranges.is_empty(),
            (Token::Many, Token::Many) => true,
            (Token::OneOf(left), Token::OneOf(right)) => {
                left.iter().any(|l| right.iter().any(|r| l.0.max(r.0) <= l.1.min(r.1)))
            }
        }
    }
}

impl Glob {
    /// Parses a pattern. The error says what is wrong with it.
    pub fn parse(pattern: &str) -> Result<Glob, String> {
        let alternatives = expand(pattern)?;
        alternatives.iter().map(|text| components(text)).collect::<Result<_, _>>().map(Glob)
    }

    /// Matches the path itself and everything below it. Wildcards are literal here.
    pub fn below(path: &str) -> Glob {
        let mut all = Glob::exactly(path);
        all.0[0].push(Component::Deep);
        all
    }

    /// Matches only this path.
    fn exactly(path: &str) -> Glob {
        let names = path.split('/').filter(|name| !matches!(*name, "" | "."));
        Glob(vec![names.map(|name| Component::One(name.chars().map(Token::literal).collect())).collect()])
    }

    /// Matches what either pattern matches.
    pub fn or(mut self, other: Glob) -> Glob {
        self.0.extend(other.0);
        self
    }

    /// Returns whether some path matches both.
    pub fn intersects(&self, other: &Glob) -> bool {
        self.0.iter().any(|left| other.0.iter().any(|right| paths_intersect(left, right)))
    }
}

/// Visits all pairs of positions that a common path can reach.
fn paths_intersect(left: &[Component], right: &[Component]) -> bool {
    let mut seen = vec![false; (left.len() + 1) * (right.len() + 1)];
    let mut open = vec![(0, 0)];
    while let Some((i, j)) = open.pop() {
        if std::mem::replace(&mut seen[i * (right.len() + 1) + j], true) {
            continue;
        }
        match (left.get(i), right.get(j)) {
            (None, None) => return true,
            (Some(Component::Deep), Some(Component::Deep)) => open.extend([(i + 1, j), (i, j + 1)]),
            (Some(Component::Deep), next) => {
                open.push((i + 1, j));
                open.extend(next.map(|_| (i, j + 1)));
            }
            (next, Some(Component::Deep)) => {
                open.push((i, j + 1));
                open.extend(next.map(|_| (i + 1, j)));
            }
            (Some(Component::One(l)), Some(Component::One(r))) if names_intersect(l, r) => {
                open.push((i + 1, j + 1));
            }
            _ => {}
        }
    }
    false
}

/// Does the same within one component. A name has at least one character.
fn names_intersect(left: &[Token], right: &[Token]) -> bool {
    let place = |i: usize, j: usize, some: bool| (i * (right.len() + 1) + j) * 2 + usize::from(some);
    let mut seen = vec![false; (left.len() + 1) * (right.len() + 1) * 2];
    let mut open = vec![(0, 0, false)];
    while let Some((i, j, some)) = open.pop() {
        if std::mem::replace(&mut seen[place(i, j, some)], true) {
            continue;
        }
        if i == left.len() && j == right.len() && some {
            return true;
        }
        let (l, r) = (left.get(i), right.get(j));
        if l == Some(&Token::Many) {
            open.push((i + 1, j, some));
        }
        if r == Some(&Token::Many) {
            open.push((i, j + 1, some));
        }
        if let (Some(l), Some(r)) = (l, r)
            && l.intersects(r)
        {
            let next = |at: usize, token: &Token| if *token == Token::Many { at } else { at + 1 };
            open.push((next(i, l), next(j, r), true));
        }
    }
    false
}

/// Expands the braces of a pattern into all alternatives.
fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let (mut done, mut open, mut size) = (Vec::new(), vec![pattern.to_owned()], 0);
    while let Some(text) = open.pop() {
        size += text.len();
        // Intermediate texts count too, which bounds the work as well as the memory.
        if done.len() + open.len() >= SCOPE_ALTERNATIVES_MAX || size > SCOPE_EXPANDED_MAX * 4 {
            return Err(format!("its braces expand to more than {SCOPE_ALTERNATIVES_MAX} alternatives"));
        }
        match first_brace(&text)? {
            None => done.push(text),
            Some(Brace { start, commas, end }) => {
                let mut from = start + 1;
                for to in commas.into_iter().chain([end]) {
                    open.push([&text[..start], &text[from..to], &text[end + 1..]].concat());
                    from = to + 1;
                }
            }
        }
    }
    if done.iter().map(String::len).sum::<usize>() > SCOPE_EXPANDED_MAX {
        return Err(format!("its braces expand to more than {SCOPE_EXPANDED_MAX} characters"));
    }
    done.reverse();
    Ok(done)
}

struct Brace {
    start: usize,
    commas: Vec<usize>,
    end: usize,
}

/// Returns the byte positions of the first outermost `{…}`.
fn first_brace(text: &str) -> Result<Option<Brace>, String> {
    let (mut depth, mut start, mut commas) = (0, 0, Vec::new());
    for (at, mark) in special_characters(text)? {
        match mark {
            '{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            ',' if depth == 1 => commas.push(at),
            '}' if depth == 0 => return Err("it has a '}' without '{'".to_owned()),
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(Brace { start, commas, end: at }));
                }
            }
            _ => {}
        }
    }
    if depth > 0 { Err("it has a '{' without '}'".to_owned()) } else { Ok(None) }
}

/// Returns the positions of special characters that are neither escaped nor inside a class.
pub(super) fn special_characters(text: &str) -> Result<Vec<(usize, char)>, String> {
    let mut found = Vec::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => {
                let rest = class_end(chars.as_str())?;
                found.push((at, '['));
                chars = text.char_indices();
                let resume = at + 1 + rest;
                while chars.offset() < resume && chars.next().is_some() {}
            }
            '/' | '{' | '}' | ',' | '*' | '?' => found.push((at, c)),
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the number of bytes up to and including the `]` of a class whose `[` was already consumed.
fn class_end(text: &str) -> Result<usize, String> {
    let skip = usize::from(text.starts_with(['!', '^']));
    // A leading `]` is a member.
    let first = skip + text[skip..].chars().next().map_or(0, char::len_utf8);
    match text[first..].find(']') {
        Some(at) => Ok(first + at + 1),
        None => Err("it has a '[' without ']'".to_owned()),
    }
}

/// Splits one alternative into components. Drops `.`, resolves `..`, and makes a plain path or a trailing
/// slash cover everything below.
fn components(text: &str) -> Result<Vec<Component>, String> {
    let (mut path, mut names, mut wild) = (Vec::new(), vec![Vec::new()], false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (token, used) = token(c, rest)?;
        wild |= matches!(c, '*' | '?' | '[');
        match token {
            None => names.push(Vec::new()),
            Some(token) => names.extend_last(token),
        }
        rest = &rest[used..];
    }
    let directory = names.last().is_some_and(Vec::is_empty);
    for name in names {
        match name.as_slice() {
            [] => {}
            [one] if *one == Token::literal('.') => {}
            [one, two] if *one == Token::literal('.') && *two == *one => match path.pop() {
                Some(Component::One(_)) => {}
                _ => return Err("its '..' leads outside the repository".to_owned()),
            },
            [Token::Many, Token::Many] => path.push(Component::Deep),
            _ => path.push(Component::One(name)),
        }
    }
    if path.last() == Some(&Component::Deep) {
        let last = path.len() - 1;
        path.insert(last, Component::One(vec![Token::Many]));
    } else if directory || !wild {
        path.push(Component::Deep);
    }
    Ok(path)
}

trait ExtendLast {
    fn extend_last(&mut self, token: Token);
}

impl ExtendLast for Vec<Vec<Token>> {
    fn extend_last(&mut self, token: Token) {
        if let Some(last) = self.last_mut() {
            last.push(token);
        }
    }
}

/// Returns the token that starts with `c` (`None` for a separator) and its length in bytes.
fn token(c: char, text: &str) -> Result<(Option<Token>, usize), String> {
    Ok(match c {
        '/' => (None, 1),
        '*' => (Some(Token::Many), 1),
        '?' => (Some(Token::any()), 1),
        '[' => {
            let end = 1 + class_end(&text[1..])?;
            (Some(class(&text[1..end - 1])?), end)
        }
        '\\' => match text[1..].chars().next() {
            Some('/') => (None, 2),
            Some(next) => (Some(Token::literal(next)), 1 + next.len_utf8()),
            None => return Err("it ends in a single '\\'".to_owned()),
        },
        _ => (Some(Token::literal(c)), c.len_utf8()),
    })
}

/// Parses the inside of `[…]`.
fn class(text: &str) -> Result<Token, String> {
    let inside = text.strip_prefix(['!', '^']);
    let members: Vec<u32> = inside.unwrap_or(text).chars().map(u32::from).collect();
    let (mut ranges, mut at) = (Vec::new(), 0);
    while at < members.len() {
        let from = members[at];
        let ranged = members.get(at + 1) == Some(&u32::from('-')) && at + 2 < members.len();
        let to = if ranged { members[at + 2] } else { from };
        if to < from {
            return Err(format!("'[{text}]' has a reversed range"));
        }
        ranges.push((from, to));
        at += if ranged { 3 } else { 1 };
    }
    Ok(Token::OneOf(if inside.is_some() { complement(ranges) } else { ranges }))
}

fn complement(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let (mut rest, mut next) = (Vec::new(), 0);
    for (from, to) in ranges {
        if from > next {
            rest.push((next, from - 1));
        }
        next = next.max(to + 1);
    }
    if next <= LAST {
        rest.push((next, LAST));
    }
    rest
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
