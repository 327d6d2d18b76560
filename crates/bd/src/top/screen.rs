//! What the reader sees and does: the selected row, the open page, the text being typed.

use beads_core::op::{AnswerQuestion, Close, Create, Fence, Guard, NoteAdd, Unclaim, Update};
use beads_core::{Op, Priority, Text, Title};
use beads_engine::request::{Call, Query};

use super::matter::Matter;
use super::rows::WIDE;
use super::snapshot::Snapshot;

/// The state of the screen.
#[derive(Debug, Default)]
pub struct Screen {
    pub snapshot: Snapshot,
    pub view: View,
    /// Whether there is room for a column on the right.
    pub is_wide: bool,
    pub selected: usize,
    pub mode: Mode,
    /// The search text; only rows that contain it are shown.
    pub filter: String,
    /// The result of the last action.
    pub message: Option<String>,
    /// Why the store does not answer.
    pub store_failure: Option<String>,
}

/// What is shown: the first three views of the board's answers, with the same numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum View {
    #[default]
    Now,
    Needs,
    Night,
}

/// A list on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Stuck,
    Agents,
    Needs,
    Next,
    Incidents,
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
    Note { id: String },
    TakeBack { id: String, fence: Option<Fence> },
    Close { id: String },
    Priority { id: String },
    Create,
}

impl Purpose {
    /// Returns what to type.
    pub fn prompt(&self) -> String {
        match self {
            Self::Filter => "find".to_owned(),
            Self::Answer { id, .. } => format!("answer {id}"),
            Self::Message { id, to } => format!("message to {to} (a note on {id})"),
            Self::Note { id } => format!("note on {id}"),
            Self::TakeBack { id, .. } => format!("take {id} back because"),
            Self::Close { id } => format!("close {id} because"),
            Self::Priority { id } => format!("priority of {id}, 0 (urgent) to 4 (someday)"),
            Self::Create => "new bead".to_owned(),
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
    /// The fence of the claim.
    pub fence: Option<Fence>,
    pub question: Option<String>,
}

impl Screen {
    /// Returns what to say in place of the keys.
    pub fn footnote(&self) -> Option<&str> {
        self.message.as_deref().or(self.store_failure.as_deref())
    }

    /// Takes in the width of the terminal.
    pub fn resize(&mut self, width: usize) {
        let before = self.rows().get(self.selected).cloned();
        self.is_wide = width >= WIDE;
        self.select_again(before.as_ref());
    }

    /// Takes in what the store says now. The selection stays on the same bead if it is still there.
    pub fn update(&mut self, mut snapshot: Snapshot) {
        let before = self.rows().get(self.selected).cloned();
        if !self.filter.is_empty() {
            let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
            let has = |parts: &[&str]| {
                let text = parts.join(" ").to_lowercase();
                words.iter().all(|word| text.contains(word))
            };
            let concerns = |one: &Matter| {
                has(&[&one.id, &one.title, one.word(), one.holder.as_deref().unwrap_or_default()])
            };
            snapshot.stuck.retain(concerns);
            snapshot.needs.retain(concerns);
            // Nothing is known of their words.
            snapshot.unlisted = 0;
            snapshot
                .agents
                .retain(|one| has(&[&one.name, &one.title, one.id.as_deref().unwrap_or_default()]));
            snapshot.next.retain(|one| has(&[&one.id, &one.title]));
            snapshot
                .night
                .incidents
                .retain(|one| has(&[&one.line.id, &one.line.text, &one.line.by, &one.what]));
        }
        self.snapshot = snapshot;
        self.select_again(before.as_ref());
    }

    fn select_again(&mut self, before: Option<&Row>) {
        let rows = self.rows();
        let same =
            |row: &Row| before.is_some_and(|before| row.id == before.id && row.holder == before.holder);
        let is_there = rows.get(self.selected).is_some_and(same);
        let found = if is_there { None } else { rows.iter().position(same) };
        self.selected = found.unwrap_or(self.selected).min(rows.len().saturating_sub(1));
    }

    /// Returns the lists of the view in their order, with their lengths.
    fn sections(&self) -> Vec<(Section, usize)> {
        let snapshot = &self.snapshot;
        match self.view {
            View::Now => vec![
                (Section::Stuck, snapshot.stuck.len()),
                (Section::Agents, snapshot.agents.len()),
                (Section::Needs, if self.is_wide { snapshot.other_needs().count() } else { 0 }),
                (Section::Next, snapshot.next.len()),
            ],
            View::Needs => vec![(Section::Needs, snapshot.needs.len())],
            View::Night => vec![(Section::Incidents, snapshot.night.incidents.len())],
        }
    }

    /// Returns the number of the first row of a section.
    pub fn first_of(&self, section: Section) -> usize {
        let before = self.sections().into_iter().take_while(|(one, _)| *one != section);
        before.map(|(_, count)| count).sum()
    }

    /// Selects the first row of the next section that has rows.
    pub fn next_section(&mut self) {
        let mut first = 0;
        let starts: Vec<usize> = self
            .sections()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(_, count)| {
                first += count;
                first - count
            })
            .collect();
        let next = starts.iter().find(|start| **start > self.selected).or(starts.first());
        self.selected = next.copied().unwrap_or(0);
    }

    /// Shows another view.
    pub fn show(&mut self, view: View) {
        if self.view != view {
            self.view = view;
            self.selected = 0;
        }
    }

    /// Returns the rows in their order.
    pub fn rows(&self) -> Vec<Row> {
        let snapshot = &self.snapshot;
        let matter = |one: &Matter| Row {
            id: Some(one.id.clone()),
            holder: one.holder.clone(),
            fence: one.fence,
            question: one.question().map(str::to_owned),
        };
        let bead = |id: &str| Row { id: Some(id.to_owned()), holder: None, fence: None, question: None };
        let rows = |(section, count): (Section, usize)| -> Vec<Row> {
            match section {
                _ if count == 0 => Vec::new(),
                Section::Stuck => snapshot.stuck.iter().map(matter).collect(),
                Section::Agents => {
                    let row = |one: &super::agents::Agent| Row {
                        id: one.id.clone(),
                        holder: Some(one.name.clone()),
                        fence: one.fence,
                        question: None,
                    };
                    snapshot.agents.iter().map(row).collect()
                }
                Section::Needs if self.view == View::Needs => snapshot.needs.iter().map(matter).collect(),
                Section::Needs => snapshot.other_needs().map(matter).collect(),
                Section::Next => snapshot.next.iter().map(|one| bead(&one.id)).collect(),
                Section::Incidents => snapshot.night.incidents.iter().map(|one| bead(&one.line.id)).collect(),
            }
        };
        self.sections().into_iter().flat_map(rows).collect()
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
        if line.trim().is_empty() {
            self.message = Some("nothing was typed; nothing was changed".to_owned());
            return None;
        }
        match change(purpose, line.trim()) {
            Ok((done, op)) => Some(Request::Change(done, Box::new(Call::one(op)))),
            Err(message) => {
                self.message = Some(message);
                None
            }
        }
    }
}

/// Returns what a typed line changes, and what to say then.
fn change(purpose: Purpose, line: &str) -> Result<(String, Op), String> {
    let text = || line.parse::<Text>().map_err(|error| error.to_string());
    Ok(match purpose {
        Purpose::Filter => return Err("nothing was changed".to_owned()),
        Purpose::Answer { id, question } => (
            format!("answered {id}"),
            Op::Answer(AnswerQuestion { id, guard: Default::default(), text: text()?, question }),
        ),
        Purpose::Message { id, to } => (
            format!("message to {to} is a note on {id}"),
            Op::NoteAdd(NoteAdd { id, content: prefixed(&to, text()?), ..NoteAdd::default() }),
        ),
        Purpose::Note { id } => (
            format!("added a note to {id}"),
            Op::NoteAdd(NoteAdd { id, content: text()?, ..NoteAdd::default() }),
        ),
        Purpose::TakeBack { id, fence } => {
            let guard = Guard { fence, ..Guard::default() };
            (format!("took {id} back"), Op::Unclaim(Unclaim { id, guard, force: true, reason: text()? }))
        }
        Purpose::Close { id } => {
            (format!("closed {id}"), Op::Close(Close { id, reason: text()?, ..Close::default() }))
        }
        Purpose::Priority { id } => {
            let digit = line.trim_start_matches(['p', 'P']).parse::<u64>().ok();
            let priority = digit.and_then(|digit| Priority::try_from(digit).ok());
            let Some(priority) = priority else {
                return Err("a priority is a number from 0 to 4; nothing was changed".to_owned());
            };
            let update = Update { id: id.clone(), priority: Some(priority), ..Update::default() };
            (format!("set {id} to P{}", priority.get()), Op::Update(Box::new(update)))
        }
        Purpose::Create => {
            let title: Title = line.parse().map_err(|error: beads_core::Error| error.to_string())?;
            (format!("created {line:?}"), Op::Create(Box::new(Create::titled(title))))
        }
    })
}

/// Names the addressee of a note.
fn prefixed(to: &str, text: Text) -> Text {
    format!("@{to} {}", text.as_str()).parse().unwrap_or(text)
}
