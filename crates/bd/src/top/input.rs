//! What the keys do.

use beads_engine::request::Call;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screen::{Mode, Purpose, Request, Row, Screen, View};

/// The keys, as `?` shows them.
pub const KEYS: &[(&str, &str)] = &[
    ("j k", "next, previous row (also the arrow keys)"),
    ("tab", "first row of the next section"),
    ("1 2 3", "Now, Needs you, Last night"),
    ("enter", "open the bead; answer a question"),
    ("m", "message: a note on the bead, for its holder"),
    ("n", "note on the bead"),
    ("t", "take the bead back from its holder"),
    ("x", "close the bead"),
    ("p", "priority of the bead"),
    ("c", "new bead"),
    ("/", "find: show only rows with these words; esc shows all"),
    ("s", "sync now"),
    ("u", "undo your last change"),
    ("esc", "back; text that was typed is dropped"),
    ("?", "these keys"),
    ("q", "quit"),
];

impl Screen {
    /// Handles a key. Returns what it asks for beyond the screen.
    pub fn key(&mut self, key: KeyEvent) -> Option<Request> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Request::Quit);
        }
        match std::mem::take(&mut self.mode) {
            Mode::List => self.list_key(key.code),
            Mode::Help => None,
            Mode::Page { title, text, top } => {
                let top = match key.code {
                    KeyCode::Char('j') | KeyCode::Down => {
                        (top + 1).min(text.lines().count().saturating_sub(1))
                    }
                    KeyCode::Char('k') | KeyCode::Up => top.saturating_sub(1),
                    KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => return None,
                    _ => top,
                };
                self.mode = Mode::Page { title, text, top };
                None
            }
            Mode::Typing { purpose, line } => self.typing_key(key.code, purpose, line),
        }
    }

    fn typing_key(&mut self, key: KeyCode, purpose: Purpose, mut line: String) -> Option<Request> {
        match key {
            KeyCode::Enter => return self.finish(purpose, &line),
            KeyCode::Esc => return None,
            KeyCode::Backspace => {
                line.pop();
            }
            KeyCode::Char(character) => line.push(character),
            _ => {}
        }
        self.mode = Mode::Typing { purpose, line };
        None
    }

    fn list_key(&mut self, key: KeyCode) -> Option<Request> {
        self.message = None;
        let row = self.rows().get(self.selected).cloned();
        let id = row.as_ref().and_then(|row| row.id.clone());
        match key {
            KeyCode::Char('q') => return Some(Request::Quit),
            KeyCode::Char('j') | KeyCode::Down => self.select(1),
            KeyCode::Char('k') | KeyCode::Up => self.select(-1),
            KeyCode::Tab => self.next_section(),
            KeyCode::Char('1') => self.show(View::Now),
            KeyCode::Char('2') => self.show(View::Needs),
            KeyCode::Char('3') => self.show(View::Night),
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('c') => self.type_line(Purpose::Create),
            KeyCode::Char('/') => self.type_line(Purpose::Filter),
            KeyCode::Esc => {
                self.filter.clear();
                return Some(Request::Refresh);
            }
            KeyCode::Char('s') => {
                return Some(Request::Change("synced".to_owned(), Box::new(Call::Sync)));
            }
            KeyCode::Char('u') => {
                let undo = Call::Undo { dry_run: false, redo: false, skip: false };
                return Some(Request::Change("undone".to_owned(), Box::new(undo)));
            }
            KeyCode::Enter => match (row, id) {
                (Some(row), Some(id)) if row.question.is_some() => {
                    self.type_line(Purpose::Answer { id, question: row.question });
                }
                (_, Some(id)) if !id.is_empty() => return Some(Self::open(&id)),
                _ => self.message = Some("this row has no bead".to_owned()),
            },
            KeyCode::Char(key @ ('m' | 'n' | 'p' | 't' | 'x')) => {
                self.act(key, id, row);
            }
            _ => {}
        }
        None
    }

    /// Begins an action on the selected bead.
    fn act(&mut self, key: char, id: Option<String>, row: Option<Row>) {
        let (holder, fence) = row.map(|row| (row.holder, row.fence)).unwrap_or_default();
        match (key, id.filter(|id| !id.is_empty()), holder) {
            ('m', Some(id), Some(to)) => self.type_line(Purpose::Message { id, to }),
            ('t', Some(id), Some(_)) if fence.is_some() => self.type_line(Purpose::TakeBack { id, fence }),
            ('x', Some(id), _) => self.type_line(Purpose::Close { id }),
            ('n', Some(id), _) => self.type_line(Purpose::Note { id }),
            ('p', Some(id), _) => self.type_line(Purpose::Priority { id }),
            (_, None, _) => self.message = Some("this row has no bead".to_owned()),
            _ => self.message = Some("this bead has no holder".to_owned()),
        }
    }
}
