//! The generated parts of the TypeScript client.

use std::fmt::Write as _;

use super::NOTICE;
use super::method::{Form, Kind, Method};
use super::model::{Model, Shape, camel};
use super::python::is_optional;
use super::schema_type::SchemaType;

/// Returns `types.ts`.
pub fn types(model: &Model) -> String {
    let mut text = format!("// {NOTICE}\n\n/** The types of answers and arguments. */\n");
    for (name, definition) in &model.types {
        comment(&mut text, &definition.about, "");
        match &definition.shape {
            Shape::Alias(kind) => {
                let _ = writeln!(text, "export type {name} = {};\n", annotation(kind));
            }
            Shape::Record(fields) => {
                let _ = writeln!(text, "export interface {name} {{");
                for field in fields {
                    comment(&mut text, &field.about, "  ");
                    let optional = if field.required { "" } else { "?" };
                    let _ = writeln!(text, "  {}{optional}: {};", field.name, annotation(&field.kind));
                }
                text.push_str("}\n\n");
            }
        }
    }
    text
}

fn comment(text: &mut String, about: &str, indent: &str) {
    if !about.is_empty() {
        let about = about.replace("*/", "* /").lines().collect::<Vec<_>>().join(&format!("\n{indent} * "));
        let _ = writeln!(text, "{indent}/** {about} */");
    }
}

fn annotation(kind: &SchemaType) -> String {
    match kind {
        SchemaType::Any => "unknown".into(),
        SchemaType::Null => "null".into(),
        SchemaType::Text => "string".into(),
        SchemaType::Integer | SchemaType::Number => "number".into(),
        SchemaType::Boolean => "boolean".into(),
        SchemaType::Literals(texts) => {
            texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(" | ")
        }
        SchemaType::Named(name) => name.clone(),
        SchemaType::List(item) => format!("Array<{}>", annotation(item)),
        SchemaType::Tuple(items) => {
            format!("[{}]", items.iter().map(annotation).collect::<Vec<_>>().join(", "))
        }
        SchemaType::Map(value) => format!("Record<string, {}>", annotation(value)),
        SchemaType::Union(choices) => choices.iter().map(annotation).collect::<Vec<_>>().join(" | "),
    }
}

/// Returns `errors.ts`.
pub fn errors(model: &Model) -> String {
    let mut text = format!(
        "// {NOTICE}\n\n/** A request that failed. Codes of newer versions are plain `BeadsError`s. */\n\
         export class BeadsError extends Error {{\n  readonly code: string;\n  readonly details: unknown;\n  readonly hint: string | null;\n  \
         /** The id of a request that may have been carried out although it failed. With it, the request can be repeated safely. */\n  \
         requestId: string | null = null;\n\n  \
         constructor(message: string, code = \"\", details: unknown = null, hint: string | null = null) {{\n    super(message);\n    \
         this.name = new.target.name;\n    this.code = code;\n    this.details = details;\n    this.hint = hint;\n  }}\n}}\n"
    );
    for error in &model.errors {
        let _ =
            write!(text, "\n/** `{}` */\nexport class {} extends BeadsError {{}}\n", error.name, error.class);
    }
    text.push_str("\ntype ErrorClass = typeof BeadsError;\n\n/** The class and the hint of each code. */\nexport const byCode: ReadonlyMap<string, [ErrorClass, string | null]> = new Map<string, [ErrorClass, string | null]>([\n");
    for error in &model.errors {
        let hint = error.hint.map_or("null".into(), |hint| format!("{hint:?}"));
        let _ = writeln!(text, "  [{:?}, [{}, {hint}]],", error.name, error.class);
    }
    text.push_str("]);\n");
    text
}

/// Returns `api.ts`: the methods of the client.
pub fn api(model: &Model) -> String {
    let mut text = format!(
        "// {NOTICE}\n\nimport type * as types from \"./types.js\";\n\n\
         /** Options of a request that changes something. */\n\
         export interface Retry {{\n  /** Makes the request safe to repeat, for a day. */\n  request_id?: string;\n}}\n\n\
         /** The methods of the client. */\nexport abstract class Api {{\n  \
         /** Sends a call. */\n  abstract request(call: unknown, options?: Retry & {{ changes?: boolean }}): Promise<unknown>;\n"
    );
    for method in model.methods {
        one_method(&mut text, method);
    }
    text.push_str("}\n");
    text
}

fn one_method(text: &mut String, method: &Method) {
    let required = method.parameters.iter().filter(|one| !is_optional(one.kind));
    let mut parameters: Vec<String> =
        required.clone().map(|one| format!("{}: {}", camel(one.name), typescript_kind(one.kind))).collect();
    let mut own: Vec<String> = Vec::new();
    let mut bases: Vec<String> = Vec::new();
    for one in method.parameters.iter().filter(|one| is_optional(one.kind)) {
        match one.kind {
            Kind::Fields(name) => bases.push(format!("types.{name}")),
            kind => own.push(format!("{}?: {}", one.name, typescript_kind(kind))),
        }
    }
    if method.waits {
        own.push("wait_ms?: number".into());
    }
    if method.confirms {
        own.push("confirm?: boolean".into());
    }
    if method.changes() {
        bases.push("Retry".into());
    }
    if !own.is_empty() {
        bases.push(format!("{{ {} }}", own.join("; ")));
    }
    if !bases.is_empty() {
        parameters.push(format!("options: {} = {{}}", bases.join(" & ")));
    }
    let answer = match method.answer.strip_suffix("[]") {
        Some(item) => format!("types.{item}[]"),
        None => format!("types.{}", method.answer),
    };
    let _ = write!(text, "\n  /** {} */\n", method.about);
    let _ = writeln!(text, "  {}({}): Promise<{answer}> {{", camel(method.name), parameters.join(", "));
    body(text, method);
    let retry = match method.changes() {
        true => ", request_id === undefined ? { changes: true } : { changes: true, request_id }",
        false => "",
    };
    let _ = writeln!(text, "    return this.request(call{retry}) as Promise<{answer}>;\n  }}");
}

fn body(text: &mut String, method: &Method) {
    let wire = method.wire;
    let call = match method.form {
        Form::PlainCall => format!("{wire:?}"),
        Form::PlainQuery => format!("{{ query: {wire:?} }}"),
        Form::FilterQuery => format!("{{ query: {{ {wire}: options.filter ?? {{}} }} }}"),
        Form::Operation => format!("{{ mutate: {{ ops: [{}] }} }}", arguments(method)),
        Form::Query => format!("{{ query: {{ {wire}: {} }} }}", arguments(method)),
        Form::Call => format!("{{ {wire}: {} }}", arguments(method)),
    };
    let taken = [(method.waits, "wait_ms"), (method.confirms, "confirm"), (method.changes(), "request_id")];
    let taken: Vec<&str> = taken.into_iter().filter_map(|(is, name)| is.then_some(name)).collect();
    let has_rest = arguments(method).contains("...rest");
    match (taken.is_empty(), has_rest) {
        (false, true) => {
            let _ = writeln!(text, "    const {{ {}, ...rest }} = options;", taken.join(", "));
        }
        (false, false) => {
            let _ = writeln!(text, "    const {{ {} }} = options;", taken.join(", "));
        }
        (true, true) => text.push_str("    const rest = options;\n"),
        (true, false) => {}
    }
    let _ = writeln!(
        text,
        "    {} call: unknown = {call};",
        if method.waits || method.confirms { "let" } else { "const" }
    );
    if method.confirms {
        text.push_str("    if (confirm) call = { confirm: { call } };\n");
    }
    if method.waits {
        text.push_str("    if (wait_ms) call = { wait: { ms: wait_ms, call } };\n");
    }
}

/// Returns the object with the arguments.
fn arguments(method: &Method) -> String {
    let mut given = Vec::new();
    if method.form == Form::Operation {
        given.push(format!("op: {:?}", method.wire));
    }
    // The daemon requires a filter for some queries.
    if method.parameters.iter().any(|one| one.kind == Kind::Filter) {
        given.push("filter: {}".into());
    }
    given.extend(
        method
            .parameters
            .iter()
            .filter(|one| !is_optional(one.kind))
            .map(|one| format!("{}: {}", one.wire, camel(one.name))),
    );
    if method.form != Form::FilterQuery && method.parameters.iter().any(|one| is_optional(one.kind)) {
        given.push("...rest".into());
    }
    format!("{{ {} }}", given.join(", "))
}

fn typescript_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::OptionalText => "string",
        Kind::Texts | Kind::OptionalTexts => "string[]",
        Kind::Operations => "Record<string, unknown>[]",
        Kind::Names => "Record<string, number>",
        Kind::OptionalInteger => "number",
        Kind::Flag => "boolean",
        Kind::Filter => "types.Filter",
        Kind::ReadyFilter => "types.ReadyFilter",
        Kind::Fields(_) => "object",
    }
}
