//! The file of `bd create -f`: a bead for each `## heading`, its fields under `### headings`.

use beads_core::Title;
use beads_core::op::Create;
use beads_engine::failure::Failure;

/// The beads of a page, in its order. Text right below a title is the description.
pub fn parse(page: &str) -> Result<Vec<Create>, Failure> {
    let mut beads: Vec<Create> = Vec::new();
    let mut field = String::new();
    let mut text = String::new();
    let mut fenced = false;
    for line in page.lines() {
        // A heading inside a code block is code.
        fenced ^= line.trim_start().starts_with("```");
        let heading = |mark: &str| line.strip_prefix(mark).map(str::trim).filter(|_| !fenced);
        if let Some(title) = heading("## ") {
            put(beads.last_mut(), &field, &text)?;
            beads.push(Create::titled(title.parse::<Title>()?));
            (field, text) = (String::new(), String::new());
        } else if let Some(name) = heading("### ") {
            put(beads.last_mut(), &field, &text)?;
            (field, text) = (name.to_lowercase(), String::new());
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    put(beads.last_mut(), &field, &text)?;
    if beads.is_empty() {
        return Err(Failure::invalid("the file has no bead: a line \"## Title\" begins one"));
    }
    Ok(beads)
}

/// Fills in a field. What stands before the first bead belongs to none.
fn put(bead: Option<&mut Create>, field: &str, text: &str) -> Result<(), Failure> {
    let text = text.trim();
    let Some(bead) = bead else { return Ok(()) };
    if text.is_empty() {
        return Ok(());
    }
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
        "labels" => bead.labels = items().map(str::parse).collect::<Result<_, _>>()?,
        "dependencies" | "deps" => bead.deps = items().map(str::parse).collect::<Result<_, _>>()?,
        other => {
            return Err(Failure::invalid(format!("{:?}: there is no field {other:?}", bead.title.as_str())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beads_with_their_fields() {
        let page = "# Plan\nfor nobody\n## First\nstory\n```\n## not a title\n```\n### Priority\n0\n### Labels\na, b\n\
                    ## Second\n### Type\nbug\n### Dependencies\n- bd-1\n- related:bd-2\n";
        let beads = parse(page).unwrap();
        assert_eq!(beads.len(), 2);
        assert_eq!(beads[0].description.as_str(), "story\n```\n## not a title\n```");
        assert_eq!((beads[0].priority.get(), beads[0].labels.len()), (0, 2));
        assert_eq!((beads[1].kind.to_string(), beads[1].deps.len()), ("bug".to_owned(), 2));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for bad in ["", "no heading", "## T\n### Priority\nhuge\n", "## T\n### Colour\nred\n"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
