//! What a reservation covers: paths below the root of the repository.

use super::bounds::SCOPE_MAX;
use super::error::{Error, Reason, Result};
use super::glob::{Glob, special_characters};

/// A normalised scope: no `./`, no `..`, no doubled or (on a plain path) trailing slash. Different spellings
/// of a scope have the same text.
#[derive(Debug, Clone)]
pub struct Scope {
    text: String,
    paths: Glob,
}

impl Scope {
    /// Parses a path or pattern relative to the root of the repository.
    pub fn parse(given: &str) -> Result<Scope> {
        let refuse =
            |why: &str| Error::invalid(Reason::InvalidScope, format!("Invalid scope '{given}': {why}."));
        if given.trim().is_empty() {
            return Err(refuse("it is empty"));
        }
        if given.len() > SCOPE_MAX {
            return Err(refuse(&format!("it is longer than {SCOPE_MAX} bytes")));
        }
        if given.contains(char::is_control) {
            return Err(refuse("it contains a control character"));
        }
        if given.starts_with('/') {
            return Err(refuse(
                "it lies outside the repository; scopes are relative to the repository's root",
            ));
        }
        let text = normalise(given).map_err(|why| refuse(&why))?;
        let mut paths = Glob::parse(&text).map_err(|why| refuse(&why))?;
        // Real directories are called `[id]`, so brackets also match literally.
        if let Some(literal) = brackets_escaped(&text).and_then(|text| Glob::parse(&text).ok()) {
            paths = paths.or(literal);
        }
        Ok(Scope { text, paths })
    }

    /// Parses a scope read from a file. An invalid one covers the literal path.
    pub fn stored(text: &str) -> Scope {
        Scope::parse(text).unwrap_or_else(|_| Scope::path(text))
    }

    /// Returns the scope of a literal path relative to the root, with everything below it.
    pub fn path(path: &str) -> Scope {
        Scope { text: path.to_owned(), paths: Glob::below(path) }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether some path lies in both.
    pub fn overlaps(&self, other: &Scope) -> bool {
        self.paths.intersects(&other.paths)
    }
}

/// Returns the pattern with every bracket escaped, if it has any.
fn brackets_escaped(text: &str) -> Option<String> {
    let (mut literal, mut escaped) = (String::new(), false);
    for c in text.chars() {
        if c == '[' && !escaped {
            literal.push('\\');
        }
        escaped = c == '\\' && !escaped;
        literal.push(c);
    }
    (literal.len() > text.len()).then_some(literal)
}

fn normalise(given: &str) -> Result<String, String> {
    let (mut depth, mut cuts, mut wild) = (0_usize, Vec::new(), false);
    for (at, mark) in special_characters(given)? {
        match mark {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => cuts.push(at),
            _ => {}
        }
        wild |= matches!(mark, '*' | '?' | '[' | '{');
    }
    let (mut names, mut from) = (Vec::new(), 0);
    for to in cuts.into_iter().chain([given.len()]) {
        match &given[from..to] {
            "" | "." => {}
            ".." => match names.pop() {
                Some(name) if name != "**" => {}
                _ => return Err("its '..' leads outside the repository".to_owned()),
            },
            name => names.push(name),
        }
        from = to + 1;
    }
    Ok(match (names.is_empty(), wild && given.ends_with('/')) {
        (true, _) => ".".to_owned(),
        (false, true) => names.join("/") + "/",
        (false, false) => names.join("/"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(given: &str) -> String {
        Scope::parse(given).unwrap().as_str().to_owned()
    }

    #[test]
    fn all_spellings_of_a_scope_have_the_same_text() {
        for given in ["src", "./src/", "src//", "lib/../src", "src/."] {
            assert_eq!(text(given), "src", "{given}");
        }
        assert_eq!(text("./"), ".");
        assert_eq!(text("src//*.rs"), "src/*.rs");
        assert_eq!(text("src/*/"), "src/*/");
        assert_eq!(text("{a/b,c}//x"), "{a/b,c}/x");
    }

    #[test]
    fn invalid_scopes_are_refused() {
        let long = "a".repeat(SCOPE_MAX + 1);
        let braces = "{a,b}".repeat(12);
        for bad in [
            "",
            " ",
            "..",
            "../x",
            "a/../../x",
            "**/../x",
            "{..,a}/x",
            "/etc/passwd",
            "a\nb",
            "a{b",
            "a}b",
            "[a",
            "[b-a]",
            "a\\",
            &long,
            &braces,
        ] {
            assert_eq!(Scope::parse(bad).unwrap_err().reason, Some(Reason::InvalidScope), "{bad}");
        }
    }

    #[test]
    fn overlap() {
        let table = [
            ("src/**", "src/a.rs", true),
            ("src", "src/a/b.rs", true),
            ("src/", "src/**", true),
            ("src", "srcs", false),
            ("src/*", "src/a/b.rs", false),
            ("src/*/", "src/a/b.rs", true),
            ("src/*", "src/a", true),
            ("src/*.rs", "src/*.ts", false),
            ("src/a*", "src/*b", true),
            ("**/*.md", "docs", true),
            ("**/*.md", "docs/*.rs", false),
            ("{src,lib}/**", "lib/x", true),
            ("{src,lib}/**", "bin/x", false),
            ("src/[a-f]*", "src/[g-z]*", false),
            ("src/[!a]*", "src/a*", false),
            ("src/??", "src/a", false),
            ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
            (".", "anything/at/all", true),
            ("a/**/b", "a/b", true),
            ("\\*", "x", false),
        ];
        for (left, right, expected) in table {
            let (l, r) = (Scope::parse(left).unwrap(), Scope::parse(right).unwrap());
            assert_eq!(l.overlaps(&r), expected, "{left} and {right}");
            assert_eq!(r.overlaps(&l), expected, "{right} and {left}");
        }
    }

    #[test]
    fn a_path_is_literal() {
        let scope = Scope::parse("app/[id]/page.tsx").unwrap();
        assert!(scope.overlaps(&Scope::path("app/[id]/page.tsx")));
        assert!(scope.overlaps(&Scope::path("app/i/page.tsx")));
        assert!(!scope.overlaps(&Scope::path("app/x/page.tsx")));
        assert!(Scope::parse("app/[id]/**").unwrap().overlaps(&Scope::path("app/[id]/page.tsx")));
        assert!(Scope::parse("app/[[...all]]/").unwrap().overlaps(&Scope::path("app/[[...all]]/a/b")));
        assert!(!Scope::parse("a").unwrap().overlaps(&Scope::path("*")));
    }
}
