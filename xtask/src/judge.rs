//! Validates many tool inputs at once: reads one `{"tool":…,"input":…}` per line, and writes one `{"ok":…}`
//! per line. Runs no tool. CI compares the result with an independent validator.

use std::io::{BufRead, Write};

use beads::tool;
use serde_json::{Value, json};

use crate::arguments::{Arguments, Result};

pub fn run(_: &Arguments) -> Result<()> {
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let name = line["tool"].as_str().unwrap_or_default();
        let tool = tool::find(name).ok_or_else(|| format!("there is no tool {name:?}"))?;
        let verdict = match tool.check(&line["input"]) {
            Ok(()) => json!({"ok": true}),
            Err(failure) => json!({"ok": false, "error": failure.code, "details": failure.details}),
        };
        writeln!(stdout, "{verdict}")?;
    }
    Ok(stdout.flush()?)
}
