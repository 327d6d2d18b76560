//! The Rust standard library, which is part of the programs without being among the crates of cargo.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::arguments::Result;

/// Where a toolchain keeps the notices of the standard library and of the crates in it, below its directory.
const NOTICES: &str = "share/doc/rust/COPYRIGHT-library.html";

/// Returns the version of the compiler, and so of its library, such as `1.95.0`.
pub fn version() -> Result<String> {
    let said = rustc(&["--version"])?;
    Ok(said.split_whitespace().nth(1).ok_or("rustc names no version")?.to_owned())
}

/// Returns the notices of the standard library as text.
pub fn notices() -> Result<String> {
    let path = Path::new(&rustc(&["--print", "sysroot"])?).join(NOTICES);
    let page = fs::read_to_string(&path).map_err(|error| {
        format!("{}: {error}; the toolchains of rustup contain this file", path.display())
    })?;
    Ok(text_of(&page))
}

fn rustc(arguments: &[&str]) -> Result<String> {
    let program = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let said = Command::new(program).args(arguments).output()?;
    Ok(String::from_utf8(said.stdout)?.trim().to_owned())
}

/// Returns the text of an HTML page: without tags, and with at most one empty line in a row.
fn text_of(page: &str) -> String {
    let (_, body) = page.split_once("<body>").unwrap_or(("", page));
    let mut parts = body.split('<');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once('>').map_or(part, |(_, after)| after));
    }
    for (entity, character) in [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, character);
    }
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_text_of_a_page_has_no_tags_and_keeps_its_lines() {
        let page = "<head><style>x</style></head><body>\n<h1>Notices</h1>\n\n\n<pre>A &lt;a@b&#62; &amp;lt; \n  B</pre></body>";
        assert_eq!(super::text_of(page), "Notices\n\nA <a@b> &lt;\n  B");
    }
}
