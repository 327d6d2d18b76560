//! Says of many inputs at once whether a tool takes them: one `{"tool":…,"input":…}` a line in, one `{"ok":…}` a line out.
//! Runs no tool; this is how CI compares our judgement with an independent validator's.

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
        let judged = match tool.check(&line["input"]) {
            Ok(()) => json!({"ok": true}),
            Err(failure) => json!({"ok": false, "error": failure.code, "details": failure.details}),
        };
        writeln!(stdout, "{judged}")?;
    }
    Ok(stdout.flush()?)
}
