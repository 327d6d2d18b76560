//! Parses the file of `bd create -f`: a bead for each `## heading`, with its fields under `### headings`.

use beads_core::op::Create;
use beads_core::{Estimate, Title};
use beads_engine::config::parse_duration;
use beads_engine::failure::Failure;

use super::input::minutes;

/// A bead of the file.
#[derive(Debug)]
pub struct PlannedBead {
    /// The name that other beads of the file use for it.
    pub name: Option<String>,
    pub create: Create,
}

/// The fields, as an error lists them.
const FIELDS: &str = "Description, Design, Acceptance criteria, Notes, Priority, Type, Assignee, Parent, Name, Estimate, \
                      Labels and Dependencies";

/// Parses the beads of a file, in order. Text directly below a title is the description.
pub fn parse(page: &str) -> Result<Vec<PlannedBead>, Failure> {
    let mut beads: Vec<PlannedBead> = Vec::new();
    let mut field = String::new();
    let mut text = String::new();
    let mut fenced = false;
    for line in page.lines() {
        // A heading inside a code block is code.
        fenced ^= line.trim_start().starts_with("```");
        let heading = |mark: &str| line.strip_prefix(mark).map(str::trim).filter(|_| !fenced);
        if let Some(title) = heading("## ") {
            set_field(beads.last_mut(), &field, &text)?;
            beads.push(PlannedBead { name: None, create: Create::titled(title.parse::<Title>()?) });
            (field, text) = (String::new(), String::new());
        } else if let Some(name) = heading("### ") {
            set_field(beads.last_mut(), &field, &text)?;
            (field, text) = (name.to_lowercase(), String::new());
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    set_field(beads.last_mut(), &field, &text)?;
    if beads.is_empty() {
        return Err(Failure::invalid("the file has no beads; each bead starts with a line \"## Title\""));
    }
    Ok(beads)
}

/// Sets a field. Text before the first bead is ignored.
fn set_field(bead: Option<&mut PlannedBead>, field: &str, text: &str) -> Result<(), Failure> {
    let text = text.trim();
    let Some(bead) = bead.filter(|_| !text.is_empty()) else { return Ok(()) };
    parse_field(bead, field, text).map_err(|failure| {
        let message = format!("## {}: {}; nothing was created", bead.create.title, failure.message);
        Failure { message, ..failure }
    })
}

fn parse_field(bead: &mut PlannedBead, field: &str, text: &str) -> Result<(), Failure> {
    let PlannedBead { name, create: bead } = bead;
    let items = || text.split([',', '\n']).map(|item| item.trim_start_matches("- ").trim());
    let items = || items().filter(|item| !item.is_empty());
    match field {
        "" | "description" => bead.description = text.parse()?,
        "design" => bead.design = text.parse()?,
        "acceptance criteria" | "acceptance" => bead.acceptance_criteria = text.parse()?,
        "notes" => bead.notes = text.parse()?,
        "priority" => bead.priority = text.parse()?,
        "type" => bead.kind = text.parse()?,
        "assignee" => bead.assignee = Some(text.parse()?),
        "parent" => bead.parent = Some(text.to_owned()),
        "name" => *name = Some(text.to_owned()),
        "estimate" => bead.estimated_minutes = Some(estimate(text)?),
        "labels" => bead.labels = items().map(str::parse).collect::<Result<_, _>>()?,
        "dependencies" | "deps" => bead.deps = items().map(str::parse).collect::<Result<_, _>>()?,
        other => {
            return Err(Failure::invalid(format!("there is no field {other:?}; the fields are {FIELDS}")));
        }
    }
    Ok(())
}

/// Parses an estimate: a number of minutes, or a duration such as 2h.
fn estimate(text: &str) -> Result<Estimate, Failure> {
    if let Ok(minutes) = minutes(text) {
        return Ok(minutes);
    }
    let bad = |_| Failure::invalid(format!("{text:?} is not a number of minutes or a duration such as 2h"));
    let seconds = parse_duration(text).map_err(bad)?.as_secs();
    Ok(seconds.div_ceil(60).try_into()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beads_are_parsed_with_their_fields() {
        let estimated = parse("## T\n### Estimate\n2h\n### Name\nbuild\n## U\n### Estimate\n45\n").unwrap();
        assert_eq!(estimated[0].create.estimated_minutes, Some(120_u64.try_into().unwrap()));
        assert_eq!(estimated[0].name.as_deref(), Some("build"));
        assert_eq!(estimated[1].create.estimated_minutes, Some(45_u64.try_into().unwrap()));
        let page = "# Plan\nintroduction\n## First\nstory\n```\n## not a title\n```\n### Priority\n0\n### Labels\na, b\n\
                    ## Second\n### Type\nbug\n### Dependencies\n- bd-1\n- related:bd-2\n";
        let beads: Vec<Create> = parse(page).unwrap().into_iter().map(|bead| bead.create).collect();
        assert_eq!(beads.len(), 2);
        assert_eq!(beads[0].description.as_str(), "story\n```\n## not a title\n```");
        assert_eq!((beads[0].priority.get(), beads[0].labels.len()), (0, 2));
        assert_eq!((beads[1].kind.to_string(), beads[1].deps.len()), ("bug".to_owned(), 2));
    }

    #[test]
    fn invalid_files_are_rejected() {
        for bad in [
            "",
            "no heading",
            "## T\n### Priority\nhuge\n",
            "## T\n### Colour\nred\n",
            "## T\n### Estimate\nlong\n",
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        let message = |page: &str| parse(page).unwrap_err().message;
        assert_eq!(
            message("## T\n### Colour\nred\n"),
            "## T: there is no field \"colour\"; the fields are Description, Design, Acceptance criteria, Notes, \
             Priority, Type, Assignee, Parent, Name, Estimate, Labels and Dependencies; nothing was created"
        );
        assert_eq!(
            message("## T\n### Estimate\nlong\n"),
            "## T: \"long\" is not a number of minutes or a duration such as 2h; nothing was created"
        );
    }
}
