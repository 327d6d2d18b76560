//! Questions to a person.

use std::fmt::Write;

use beads_core::{Actor, BeadId, NoteId, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::style::{Style, age};
use crate::escape::escape;

/// An open question.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuestionAnswer {
    /// The bead that waits for the answer.
    pub id: BeadId,
    /// Its title.
    pub title: Title,
    /// The note that holds the question.
    #[schemars(with = "String")]
    pub question: NoteId,
    /// The question.
    pub text: String,
    /// Suggested answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Who asked.
    pub asked_by: Actor,
    /// When it was asked.
    pub at: String,
    /// The time since then.
    pub age_ms: u64,
    /// How many unfinished beads wait for this one, directly or through others.
    pub waiting: usize,
}

/// Writes each question with its bead, its age and the command that answers it.
pub fn render(out: &mut String, questions: &[QuestionAnswer], style: Style) {
    for (index, question) in questions.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let id = question.id.as_str();
        let asked = format!("({}, {} ago)", escape(question.asked_by.as_str()), age(question.age_ms));
        let title = style.fit(&escape(question.title.as_str()), id.len() + asked.len() + 4);
        let _ = writeln!(out, "{}  {title}  {}", style.id(id), style.faint(&asked));
        for line in question.text.lines() {
            let _ = writeln!(out, "{}", style.wrapped(&format!("  {}", escape(line)), "  "));
        }
        for option in &question.options {
            let _ = writeln!(out, "{}", style.wrapped(&format!("  - {}", escape(option)), "    "));
        }
        let several = questions.iter().filter(|other| other.id == question.id).count() > 1;
        let which = if several { format!(" --question {}", question.question) } else { String::new() };
        let _ = writeln!(out, "  {}", style.faint(&format!("answer: bd answer {id}{which} \"…\"")));
    }
}
