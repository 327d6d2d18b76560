//! A bead as an editable page: Markdown with front matter. The body is the description.

use std::fmt::Write;

use beads_core::op::{Change, Update};
use beads_core::{Label, Timestamp};
use beads_engine::failure::Failure;
use serde_json::Value;

use super::future_time::future_time;
use super::input;

/// The keys of the front matter with the field of a bead that each one shows.
const KEYS: [(&str, &str); 11] = [
    ("title", "title"),
    ("status", "status"),
    ("priority", "priority"),
    ("type", "type"),
    ("labels", "labels"),
    ("assignee", "assignee"),
    ("parent", "parent"),
    ("estimate", "estimated_minutes"),
    ("due", "due_at"),
    ("defer", "defer_until"),
    ("external_ref", "external_ref"),
];

const FENCE: &str = "---";

/// Renders a bead as a page.
pub fn render(bead: &Value) -> String {
    let mut page = format!(
        "{FENCE}\n# Bead {}. The text below the second line of dashes is the description.\n",
        plain(&bead["id"])
    );
    page.push_str("# An empty value clears a field; a removed line leaves it as it is.\n");
    for (key, field) in KEYS {
        // A custom word is shown instead of the status or type that it stands for.
        let word = match key {
            "status" => &bead["state"],
            "type" => &bead["type_word"],
            _ => &Value::Null,
        };
        let value = plain(if word.is_null() { &bead[field] } else { word });
        let _ = writeln!(page, "{}", format!("{key}: {value}").trim_end());
    }
    let _ = writeln!(page, "{FENCE}\n{}", bead["description"].as_str().unwrap_or_default());
    page
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Returns the update that makes the bead of page `before` look like page `after`; `None` if they are equal.
pub fn changes(before: &str, after: &str) -> Result<Option<Update>, Failure> {
    let (old, new) = (Page::parse(before)?, Page::parse(after)?);
    let mut update = Update::default();
    for (key, value) in &new.fields {
        if old.get(key) != Some(value) {
            set(&mut update, key, value)
                .map_err(|failure| Failure::invalid(format!("{key}: {}", failure.message)))?;
        }
    }
    if old.body != new.body {
        update.description = Some(new.body.parse()?);
    }
    Ok((update != Update::default()).then_some(update))
}

/// A parsed page.
struct Page<'a> {
    fields: Vec<(&'a str, &'a str)>,
    body: &'a str,
}

impl<'a> Page<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// Parses a page. Line breaks at its end are not part of the description, because editors add them.
    fn parse(page: &'a str) -> Result<Self, Failure> {
        let bad = |what: &str| Failure::invalid(format!("the text cannot be read: {what}"));
        let (first, mut rest) = page.split_once('\n').unwrap_or((page, ""));
        if first.trim_end() != FENCE {
            return Err(bad("its first line is not ---"));
        }
        let mut fields: Vec<(&str, &str)> = Vec::new();
        loop {
            let Some((line, below)) = rest.split_once('\n').or((!rest.is_empty()).then_some((rest, "")))
            else {
                return Err(bad("a second line --- is missing"));
            };
            rest = below;
            let line = line.trim();
            if line == FENCE {
                break;
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) =
                line.split_once(':').ok_or_else(|| bad(&format!("{line:?} is not KEY: VALUE")))?;
            let (key, value) = (key.trim(), value.trim());
            if !KEYS.iter().any(|(known, _)| *known == key) {
                let known = KEYS.map(|(known, _)| known).join(", ");
                return Err(bad(&format!("there is no field {key:?}; the fields are {known}")));
            }
            if fields.iter().any(|(known, _)| *known == key) {
                return Err(bad(&format!("{key} is given twice")));
            }
            fields.push((key, value));
        }
        Ok(Self { fields, body: rest.trim_end_matches(['\n', '\r']) })
    }
}

fn set(update: &mut Update, key: &str, value: &str) -> Result<(), Failure> {
    match key {
        "title" => update.title = Some(value.parse()?),
        "status" => update.status = Some(value.parse()?),
        "priority" => update.priority = Some(value.parse()?),
        "type" => update.kind = Some(value.parse()?),
        "labels" => {
            let labels = value.split(',').map(str::trim).filter(|label| !label.is_empty());
            update.set_labels = Some(labels.map(str::parse).collect::<Result<Vec<Label>, _>>()?);
        }
        "assignee" => update.assignee = Some(change(value, |name| Ok(name.parse()?))?),
        "parent" => update.parent = Some(change(value, |id| Ok(id.to_owned()))?),
        "estimate" => {
            update.estimated_minutes =
                Some(change(value, |text| input::minutes(text).map_err(Failure::invalid))?);
        }
        "due" => update.due_at = Some(change(value, time)?),
        "defer" => update.defer_until = Some(change(value, time)?),
        "external_ref" => update.external_ref = Some(value.parse()?),
        other => return Err(Failure::internal(format!("{other} is not a key"))),
    }
    Ok(())
}

fn time(text: &str) -> Result<Timestamp, Failure> {
    future_time(text).map_err(Failure::invalid)
}

/// Parses the new value of a field; an empty one clears it.
fn change<T>(value: &str, parse: impl Fn(&str) -> Result<T, Failure>) -> Result<Change<T>, Failure> {
    if value.is_empty() { Ok(Change::Clear) } else { parse(value).map(Change::Set) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bead() -> Value {
        json!({
            "id": "bd-1", "title": "A: title", "status": "open", "priority": 2, "type": "task", "labels": ["a", "b"],
            "assignee": null, "parent": null, "estimated_minutes": 30, "due_at": null, "defer_until": null,
            "external_ref": null, "description": "One\n---\n# two",
        })
    }

    #[test]
    fn only_changed_fields_are_updated() {
        let page = render(&bead());
        assert!(page.contains("\ntitle: A: title\nstatus: open\npriority: 2\n"), "{page}");
        assert_eq!(changes(&page, &page).unwrap(), None);
        assert_eq!(changes(&page, &format!("{page}\n\n")).unwrap(), None, "line breaks at the end");
        assert_eq!(changes(&page, &page.replace("labels: a, b\n", "")).unwrap(), None, "a removed line");
        let edited = page.replace("labels: a, b", "labels: b,c").replace("estimate: 30", "estimate:");
        let update = changes(&page, &edited.replace("# two", "# three")).unwrap().unwrap();
        let expected = Update {
            set_labels: Some(vec!["b".parse().unwrap(), "c".parse().unwrap()]),
            estimated_minutes: Some(Change::Clear),
            description: Some("One\n---\n# three".parse().unwrap()),
            ..Update::default()
        };
        assert_eq!(update, expected);
    }

    #[test]
    fn unreadable_pages_are_rejected() {
        let page = render(&bead());
        for bad in [
            String::new(),
            "no front matter".to_owned(),
            "---\ntitle: x\n".to_owned(),
            page.replace("status: open", "status"),
            page.replace("status:", "colour:"),
            page.replace("status: open", "title: again"),
            page.replace("priority: 2", "priority: soon"),
            page.replace("title: A: title", "title:"),
        ] {
            assert!(changes(&page, &bad).is_err(), "{bad}");
        }
    }
}
