//! The process around a tool: flags, standard input, and always exactly one document on standard output.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use beads_engine::daemon::VERSION;
use beads_engine::failure::{Code, Failure, exit};
use serde_json::{Value, json};

use super::flags::{About, Flags};
use super::{Context, Outcome, Tool, envelope, find, run, table};
use crate::print::{ids_in, print};

/// The largest input. More data belongs in a file for `bd import`.
pub const MAX_INPUT_BYTES: usize = 16 * 1024 * 1024;

/// Builds the context of a call from whether to apply, how to report progress, and how to trace.
pub type ContextFactory<'m> =
    dyn for<'a> Fn(bool, &'a dyn Fn(u8), &'a dyn Fn(&str)) -> Result<Context<'a>, Failure> + 'm;

/// Returns the tool whose name is the end of the program's file name.
pub fn called_as(program: &OsStr) -> Option<&'static Tool> {
    let name = Path::new(program).file_name()?.to_str()?;
    table().iter().find(|tool| name.ends_with(tool.name))
}

/// Runs a tool and returns its exit code. Writes all output at the end, exactly once.
pub fn execute(
    name: &str,
    arguments: &[OsString],
    context_factory: &ContextFactory<'_>,
    stdin: &mut dyn Read,
    stdout: &mut dyn Write,
) -> u8 {
    let (bytes, code) = catch_panic(|| answer(name, arguments, context_factory, stdin));
    print(stdout, &mut std::io::stderr(), &bytes, || applied(&bytes), code)
}

/// Returns the ids of what a tool changed, from its answer.
fn applied(document: &[u8]) -> Vec<String> {
    let document: Value = serde_json::from_slice(document).unwrap_or_default();
    if document["metadata"]["applied"] == true { ids_in(&document) } else { Vec::new() }
}

/// Turns a panic into an answer.
fn catch_panic(answer: impl FnOnce() -> (Vec<u8>, u8)) -> (Vec<u8>, u8) {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|cause| {
        let what = cause.downcast_ref::<&str>().map(|what| (*what).to_owned());
        let what = what.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_default();
        let message = format!("internal error in the tool: {what}");
        envelope::lines(&Err(Failure::new(Code::InternalError, message)))
    })
}

fn answer(
    name: &str,
    arguments: &[OsString],
    context_factory: &ContextFactory<'_>,
    stdin: &mut dyn Read,
) -> (Vec<u8>, u8) {
    let flags = match Flags::parse(arguments) {
        Ok(flags) => flags,
        Err(failure) => return envelope::lines(&Err(failure)),
    };
    match (flags.about, find(name)) {
        (Some(about), Some(tool)) => (self::about(tool, about), exit::OK),
        _ => envelope::lines(&outcome(name, &flags, context_factory, stdin)),
    }
}

fn outcome(
    name: &str,
    flags: &Flags,
    context_factory: &ContextFactory<'_>,
    stdin: &mut dyn Read,
) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let input = read_object(stdin)?;
    let progress = |percent: u8| eprintln!("PROGRESS: {percent}%");
    let trace = |line: &str| {
        if flags.trace {
            eprintln!("TRACE: {line}");
        }
    };
    trace(&format!("{name} {input}"));
    let context = context_factory(flags.apply, &progress, &trace)?;
    let outcome = run(name, input, &context);
    if flags.verbose || flags.trace {
        let how = if flags.apply { "applying" } else { "not applying" };
        eprintln!(
            "{name} as {} in {}, {how}: {} µs",
            context.actor,
            context.directory.display(),
            started.elapsed().as_micros()
        );
    }
    outcome
}

/// Reads exactly one JSON object.
fn read_object(stdin: &mut dyn Read) -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    stdin
        .take(MAX_INPUT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::IoError, format!("cannot read standard input: {error}")))?;
    if bytes.len() > MAX_INPUT_BYTES {
        let message = format!("the input has more than {} MiB", MAX_INPUT_BYTES / 1024 / 1024);
        return Err(Failure::new(Code::TooLarge, message).with(json!({"limit": MAX_INPUT_BYTES})));
    }
    let invalid = |message: String| Failure::new(Code::InvalidJson, message);
    let text =
        std::str::from_utf8(&bytes).map_err(|error| invalid(format!("the input is not UTF-8: {error}")))?;
    if text.trim().is_empty() {
        return Err(invalid(
            "the input is empty: give one JSON object on standard input, at least {}".to_owned(),
        ));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| invalid(not_json(text, &error)))?;
    if !value.is_object() {
        let expected = json!({"expected": "object"});
        return Err(Failure::new(Code::InvalidType, "the input must be one JSON object").with(expected));
    }
    Ok(value)
}

fn not_json(text: &str, error: &serde_json::Error) -> String {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if documents.next().is_some_and(|first| first.is_ok()) {
        return format!("the input has more than one JSON document: {error}");
    }
    format!("the input is not JSON: {error}")
}

fn about(tool: &Tool, about: About) -> Vec<u8> {
    let pretty = |schema: &Value| beads_engine::render::json(schema).into_bytes();
    match about {
        About::Help => help(tool).into_bytes(),
        About::Version => format!("{} {VERSION}\n", tool.name).into_bytes(),
        About::InputSchema => pretty(tool.input_schema()),
        About::OutputSchema => pretty(&tool.output_schema()),
        About::BatchSchema => pretty(&tool.batch_schema()),
    }
}

fn help(tool: &Tool) -> String {
    let Tool { name, example, mutates, .. } = tool;
    let apply = if *mutates { " --apply" } else { "" };
    let mut fields = String::new();
    let schema = tool.input_schema();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (field, about) in schema["properties"].as_object().into_iter().flatten() {
        let note = if required.contains(&field.as_str()) { " (required)" } else { "" };
        let description = about["description"].as_str().unwrap_or_default();
        fields.push_str(&format!("  {field:<22} {description}{note}\n"));
    }
    format!(
        "{name}: {}\n\nOne JSON object on stdin, one JSON document on stdout.\n\n\
         Example:\n  echo '{example}' | {name}{apply}\n\nInput:\n{fields}\n\
         Flags:\n  --schema[=input|output|batch]  Print a JSON schema\n  --help, --version\n{}  \
         --verbose, --trace             Print details to stderr\n\n\
         Exit codes: 0 ok, 1 refused or failed, 2 wrong flags or input, 22 network, 127 a helper is missing\n",
        tool.description(),
        if *mutates {
            "  --apply                        Make the change; without it the tool shows what it would do\n  \
             --dry-run                      Change nothing, even with --apply\n"
        } else {
            "  --apply, --dry-run             No effect: this tool changes nothing\n"
        },
    )
}

/// Returns the output of `bd tool`.
pub fn list() -> String {
    let row = |tool: &Tool| json!({"name": tool.name, "summary": tool.summary(), "mutates": tool.mutates});
    let rows: Vec<Value> = table().iter().map(row).collect();
    beads_engine::render::json(&json!({"ok": true, "result": rows}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere(_: bool, _: &dyn Fn(u8), _: &dyn Fn(&str)) -> Result<Context<'static>, Failure> {
        panic!("no such place")
    }

    #[test]
    fn a_panic_becomes_one_document() {
        let mut out = Vec::new();
        let code = execute(
            "beads.list",
            &[],
            &|apply, progress, trace| nowhere(apply, progress, trace),
            &mut "{}".as_bytes(),
            &mut out,
        );
        let document: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(code, exit::DOMAIN);
        assert_eq!(document["error"], "internal_error");
        assert!(document["message"].as_str().unwrap().contains("no such place"), "{document}");
    }

    #[test]
    fn a_program_runs_the_tool_that_its_name_ends_in() {
        let name = |program: &str| called_as(program.as_ref()).map(|tool| tool.name);
        assert_eq!(name("/usr/bin/beads.create"), Some("beads.create"));
        assert_eq!(name("my-agent.send"), Some("agent.send"));
        assert_eq!(name("beads.create/bd"), None);
        assert_eq!(name("bd"), None);
        assert_eq!(name("beads.create.old"), None);
    }
}
