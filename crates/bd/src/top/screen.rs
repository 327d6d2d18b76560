//! What the reader sees and does: the selected row, the open page, the text being typed.

use beads_core::op::{AnswerQuestion, Close, NoteAdd, Unclaim};
use beads_core::{Op, Text};
use beads_engine::request::{Call, Query};

use super::snapshot::Snapshot;

/// The state of the screen.
#[derive(Debug, Default)]
pub struct Screen {
    pub snapshot: Snapshot,
    pub selected: usize,
    pub mode: Mode,
    /// The search text; only rows that contain it are shown.
    pub filter: String,
    /// The result of the last action, or why the store does not answer.
    pub message: Option<String>,
}

/// What keys do at the moment.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Mode {
    #[default]
    List,
    Help,
    /// A bead, from this line on.
    Page {
        title: String,
        text: String,
        top: usize,
    },
    /// A line of text is typed.
    Typing {
        purpose: Purpose,
        line: String,
    },
}

/// What a typed line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    Filter,
    Answer { id: String, question: Option<String> },
    Message { id: String, to: String },
    TakeBack { id: String },
    Close { id: String },
}

impl Purpose {
    /// Returns what to type.
    pub fn prompt(&self) -> String {
        match self {
            Self::Filter => "find".to_owned(),
            Self::Answer { id, .. } => format!("answer {id}"),
            Self::Message { id, to } => format!("message to {to} (a note on {id})"),
            Self::TakeBack { id } => format!("take {id} back because"),
            Self::Close { id } => format!("close {id} because"),
        }
    }
}

/// What a key asks for beyond the screen itself.
#[derive(Debug)]
pub enum Request {
    Quit,
    /// Ask the store again.
    Refresh,
    /// Make a change, and say so.
    Change(String, Box<Call>),
    /// Show a bead.
    Open(String, Box<Call>),
}

/// A row that can be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: Option<String>,
    pub holder: Option<String>,
    pub question: Option<String>,
}

impl Screen {
    /// Takes in what the store says now. The selection stays on the same bead if it is still there.
    pub fn update(&mut self, mut snapshot: Snapshot) {
        let before = self.rows().get(self.selected).cloned();
        if !self.filter.is_empty() {
            let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
            let has = |parts: &[&str]| {
                let text = parts.join(" ").to_lowercase();
                words.iter().all(|word| text.contains(word))
            };
            snapshot.stuck.retain(|one| has(&[&one.id, &one.title, &one.detail]));
            snapshot
                .agents
                .retain(|one| has(&[&one.name, &one.title, one.id.as_deref().unwrap_or_default()]));
            snapshot.next.retain(|one| has(&[&one.id, &one.title]));
        }
        self.snapshot = snapshot;
        let rows = self.rows();
        let found = before.and_then(|before| {
            let same = |row: &Row| row.id == before.id && row.holder == before.holder;
            rows.get(self.selected).is_none_or(|row| !same(row)).then(|| rows.iter().position(same))?
        });
        self.selected = found.unwrap_or(self.selected).min(rows.len().saturating_sub(1));
    }

    /// Returns the rows in their order: stuck beads, agents, what comes next.
    pub fn rows(&self) -> Vec<Row> {
        let stuck = self.snapshot.stuck.iter().map(|one| Row {
            id: Some(one.id.clone()),
            holder: one.holder.clone(),
            question: one.question.clone(),
        });
        let agents = self.snapshot.agents.iter().map(|one| Row {
            id: one.id.clone(),
            holder: Some(one.name.clone()),
            question: None,
        });
        let next = self.snapshot.next.iter().map(|one| Row {
            id: Some(one.id.clone()),
            holder: None,
            question: None,
        });
        stuck.chain(agents).chain(next).collect()
    }

    /// Moves the selection.
    pub fn select(&mut self, by: isize) {
        let last = self.rows().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Begins to type a line.
    pub fn type_line(&mut self, purpose: Purpose) {
        let line = if purpose == Purpose::Filter { self.filter.clone() } else { String::new() };
        self.mode = Mode::Typing { purpose, line };
    }

    /// Returns the request to open a bead.
    pub fn open(id: &str) -> Request {
        Request::Open(id.to_owned(), Box::new(Call::query(Query::Show { ids: vec![id.to_owned()] })))
    }

    /// Ends typing, and returns what to do with the line.
    pub fn finish(&mut self, purpose: Purpose, line: &str) -> Option<Request> {
        self.mode = Mode::List;
        if purpose == Purpose::Filter {
            self.filter = line.trim().to_owned();
            return Some(Request::Refresh);
        }
        let text = match line.trim().parse::<Text>() {
            Ok(text) if !text.is_empty() => text,
            Ok(_) => {
                self.message = Some("nothing was typed; nothing was changed".to_owned());
                return None;
            }
            Err(error) => {
                self.message = Some(error.to_string());
                return None;
            }
        };
        let (done, op) = match purpose {
            Purpose::Filter => return None,
            Purpose::Answer { id, question } => (
                format!("answered {id}"),
                Op::Answer(AnswerQuestion { id, guard: Default::default(), text, question }),
            ),
            Purpose::Message { id, to } => (
                format!("message to {to} is a note on {id}"),
                Op::NoteAdd(NoteAdd { id, content: prefixed(&to, text), ..NoteAdd::default() }),
            ),
            Purpose::TakeBack { id } => (
                format!("took {id} back"),
                Op::Unclaim(Unclaim { id, force: true, reason: text, ..Unclaim::default() }),
            ),
            Purpose::Close { id } => (
                format!("closed {id}"),
                Op::Close(Close { id, reason: text, force: true, ..Close::default() }),
            ),
        };
        Some(Request::Change(done, Box::new(Call::one(op))))
    }
}

/// Names the addressee of a note.
fn prefixed(to: &str, text: Text) -> Text {
    format!("@{to} {}", text.as_str()).parse().unwrap_or(text)
}
