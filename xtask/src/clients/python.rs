//! The generated parts of the Python client.

use std::fmt::Write as _;

use super::NOTICE;
use super::method::{Form, Kind, Method, Parameter};
use super::model::{Definition, Field, Model, Shape};
use super::schema_type::SchemaType;

/// Words that cannot be field names in the class syntax.
const KEYWORDS: [&str; 8] = ["from", "class", "import", "in", "is", "not", "or", "and"];

/// Returns `types.py`.
pub fn types(model: &Model) -> String {
    let mut text = format!(
        "# {NOTICE}\n\"\"\"The types of answers and arguments.\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import TYPE_CHECKING, Any, Dict, List, Literal, Tuple, TypedDict, Union\n\n\
         if TYPE_CHECKING:\n    from typing_extensions import NotRequired\n"
    );
    // Aliases are evaluated when the module is loaded, so those that others refer to come as texts.
    for (name, definition) in &model.types {
        match &definition.shape {
            Shape::Alias(kind) => alias(&mut text, name, definition, kind),
            Shape::Record(fields) => record(&mut text, name, definition, fields),
        }
    }
    text
}

fn alias(text: &mut String, name: &str, definition: &Definition, kind: &SchemaType) {
    let _ = write!(text, "\n{name} = {}\n", annotation(kind, true));
    if !definition.about.is_empty() {
        let _ = writeln!(text, "\"\"\"{}\"\"\"", quoted(&definition.about));
    }
}

fn record(text: &mut String, name: &str, definition: &Definition, fields: &[Field]) {
    let kind = |field: &Field| match field.required {
        true => annotation(&field.kind, false),
        false => format!("NotRequired[{}]", annotation(&field.kind, false)),
    };
    if fields.iter().any(|field| KEYWORDS.contains(&field.name.as_str())) {
        let pairs = fields.iter().map(|field| format!("    {:?}: {:?},\n", field.name, kind(field)));
        let _ = write!(text, "\n{name} = TypedDict({name:?}, {{\n{}}})\n", pairs.collect::<String>());
        return;
    }
    let _ = write!(text, "\n\nclass {name}(TypedDict):\n");
    let about = if definition.about.is_empty() { name } else { &definition.about };
    let _ = writeln!(text, "    \"\"\"{}\"\"\"\n", quoted(about));
    for field in fields {
        for line in field.about.lines() {
            let _ = writeln!(text, "    # {line}");
        }
        let _ = writeln!(text, "    {}: {}", field.name, kind(field));
    }
    if fields.is_empty() {
        text.push_str("    pass\n");
    }
    text.push('\n');
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "'''")
}

/// Returns a type. At module level a name has to be a text, because it may be defined later.
fn annotation(kind: &SchemaType, at_module: bool) -> String {
    let inner = |kind: &SchemaType| annotation(kind, at_module);
    match kind {
        SchemaType::Any => "Any".into(),
        SchemaType::Null => "None".into(),
        SchemaType::Text => "str".into(),
        SchemaType::Integer => "int".into(),
        SchemaType::Number => "float".into(),
        SchemaType::Boolean => "bool".into(),
        SchemaType::Literals(texts) => {
            format!(
                "Literal[{}]",
                texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ")
            )
        }
        SchemaType::Named(name) if at_module => format!("\"{name}\""),
        SchemaType::Named(name) => name.clone(),
        SchemaType::List(item) => format!("List[{}]", inner(item)),
        SchemaType::Tuple(items) => {
            format!("Tuple[{}]", items.iter().map(inner).collect::<Vec<_>>().join(", "))
        }
        SchemaType::Map(value) => format!("Dict[str, {}]", inner(value)),
        SchemaType::Union(choices) => {
            format!("Union[{}]", choices.iter().map(inner).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns `errors.py`.
pub fn errors(model: &Model) -> String {
    let mut text = format!(
        "# {NOTICE}\n\"\"\"One exception for each error code.\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import Any, Dict, Optional, Type\n\n\n\
         class BeadsError(Exception):\n    \"\"\"A request that failed. Codes of newer versions are plain `BeadsError`s.\"\"\"\n\n    \
         code: str = \"\"\n    hint: Optional[str] = None\n    \
         #: The id of a request that may have been carried out although it failed. With it, the request can be repeated safely.\n    \
         request_id: Optional[str] = None\n\n    \
         def __init__(self, message: str, code: str = \"\", details: Any = None, hint: Optional[str] = None) -> None:\n        \
         super().__init__(message)\n        self.message = message\n        self.code = code or type(self).code\n        \
         self.details = details\n        self.hint = hint or type(self).hint\n"
    );
    for error in &model.errors {
        let _ = write!(text, "\n\nclass {}(BeadsError):\n    code = {:?}\n", error.class, error.name);
        if let Some(hint) = error.hint {
            let _ = writeln!(text, "    hint = {hint:?}");
        }
    }
    text.push_str("\n\nBY_CODE: Dict[str, Type[BeadsError]] = {\n");
    for error in &model.errors {
        let _ = writeln!(text, "    {:?}: {},", error.name, error.class);
    }
    text.push_str("}\n");
    text
}

/// Returns `_api.py`: the methods of both clients.
pub fn api(model: &Model) -> String {
    let mut text = format!(
        "# {NOTICE}\n\"\"\"The methods of `Client` and `AsyncClient`.\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import TYPE_CHECKING, Any, Dict, List, Optional\n\nfrom . import types\n\n\
         if TYPE_CHECKING:\n    from typing_extensions import Unpack\n"
    );
    for (class, prefix, about) in [
        ("Api", "", "The methods of a client that blocks."),
        ("AsyncApi", "async ", "The methods of an asyncio client."),
    ] {
        let _ = write!(
            text,
            "\n\nclass {class}:\n    \"\"\"{about}\"\"\"\n\n    \
             {prefix}def request(self, call: Any, *, request_id: Optional[str] = None, changes: bool = False) -> Any:\n        \
             raise NotImplementedError\n"
        );
        for method in model.methods {
            one_method(&mut text, method, prefix);
        }
    }
    text
}

fn one_method(text: &mut String, method: &Method, prefix: &str) {
    let required = method.parameters.iter().filter(|one| !is_optional(one.kind));
    let mut parameters: Vec<String> =
        required.map(|one| format!("{}: {}", one.name, python_kind(one.kind))).collect();
    let mut optional: Vec<String> = method
        .parameters
        .iter()
        .filter(|one| is_optional(one.kind) && !matches!(one.kind, Kind::Fields(_)))
        .map(|one| match one.kind {
            Kind::Flag => format!("{}: bool = False", one.name),
            kind => format!("{}: Optional[{}] = None", one.name, python_kind(kind)),
        })
        .collect();
    if method.waits {
        optional.push("wait_ms: int = 0".into());
    }
    if method.confirms {
        optional.push("confirm: bool = False".into());
    }
    if method.changes() {
        optional.push("request_id: Optional[str] = None".into());
    }
    if !optional.is_empty() {
        parameters.push("*".into());
        parameters.extend(optional);
    }
    if let Some(Kind::Fields(name)) = method.parameters.last().map(|one| one.kind) {
        parameters.push(format!("**fields: Unpack[types.{name}]"));
    }
    let parameters: String = parameters.iter().map(|one| format!(", {one}")).collect();
    let answer = match method.answer.strip_suffix("[]") {
        Some(item) => format!("List[types.{item}]"),
        None => format!("types.{}", method.answer),
    };
    let _ = write!(text, "\n    {prefix}def {}(self{parameters}) -> {answer}:\n", method.name);
    let _ = writeln!(text, "        \"\"\"{}\"\"\"", method.about);
    body(text, method);
    let wait = if prefix.is_empty() { "" } else { "await " };
    let options = if method.changes() { ", request_id=request_id, changes=True" } else { "" };
    let _ = writeln!(text, "        return {wait}self.request(call{options})");
}

fn body(text: &mut String, method: &Method) {
    let wire = method.wire;
    if matches!(method.form, Form::PlainQuery | Form::PlainCall) {
        let call = if method.form == Form::PlainCall {
            format!("{wire:?}")
        } else {
            format!("{{\"query\": {wire:?}}}")
        };
        let _ = writeln!(text, "        call: Any = {call}");
        return;
    }
    if method.form == Form::FilterQuery {
        let _ = writeln!(text, "        call: Any = {{\"query\": {{{wire:?}: filter or {{}}}}}}");
        return;
    }
    let mut given: Vec<String> = Vec::new();
    if method.form == Form::Operation {
        given.push(format!("\"op\": {wire:?}"));
    }
    let is_given = |one: &&Parameter| !is_optional(one.kind);
    given
        .extend(method.parameters.iter().filter(is_given).map(|one| format!("{:?}: {}", one.wire, one.name)));
    if method.parameters.iter().any(|one| matches!(one.kind, Kind::Fields(_))) {
        given.push("**fields".into());
    }
    let _ = writeln!(text, "        args: Dict[str, Any] = {{{}}}", given.join(", "));
    for one in method.parameters.iter().filter(|one| is_optional(one.kind)) {
        match one.kind {
            Kind::Fields(_) => {}
            Kind::Flag => {
                let _ = writeln!(text, "        if {}:\n            args[{:?}] = True", one.name, one.wire);
            }
            // The daemon requires a filter for some queries.
            Kind::Filter => {
                let _ = writeln!(text, "        args[{:?}] = {} or {{}}", one.wire, one.name);
            }
            _ => {
                let _ = writeln!(
                    text,
                    "        if {0} is not None:\n            args[{1:?}] = {0}",
                    one.name, one.wire
                );
            }
        }
    }
    let call = match method.form {
        Form::Operation => "{\"mutate\": {\"ops\": [args]}}".to_owned(),
        Form::Query => format!("{{\"query\": {{{wire:?}: args}}}}"),
        _ => format!("{{{wire:?}: args}}"),
    };
    let _ = writeln!(text, "        call: Any = {call}");
    if method.confirms {
        text.push_str("        if confirm:\n            call = {\"confirm\": {\"call\": call}}\n");
    }
    if method.waits {
        text.push_str(
            "        if wait_ms:\n            call = {\"wait\": {\"ms\": wait_ms, \"call\": call}}\n",
        );
    }
}

/// Returns whether a parameter can be left out.
pub fn is_optional(kind: Kind) -> bool {
    !matches!(kind, Kind::Text | Kind::Texts | Kind::Operations | Kind::Names)
}

fn python_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::OptionalText => "str",
        Kind::Texts | Kind::OptionalTexts => "List[str]",
        Kind::Operations => "List[Dict[str, Any]]",
        Kind::Names => "Dict[str, int]",
        Kind::OptionalInteger => "int",
        Kind::Flag => "bool",
        Kind::Filter => "types.Filter",
        Kind::ReadyFilter => "types.ReadyFilter",
        Kind::Fields(_) => "Any",
    }
}
