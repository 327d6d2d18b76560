//! A small model of the store: beads by id, and the expected answers. It shares no code with the product, so
//! that the two can disagree.

use std::collections::BTreeMap;

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bead {
    title: String,
    status: &'static str,
    holder: Option<String>,
    notes: Vec<String>,
}

/// A request of a client. Claims are never given back, so the first claimant stays the holder.
#[derive(Debug, Clone)]
pub enum Ask {
    Create { title: String },
    Retitle { id: String, title: String },
    Claim { id: String },
    Close { id: String },
    Note { id: String, text: String },
    Show { id: String },
    List,
}

impl Ask {
    pub fn call(&self) -> Value {
        let op = match self {
            Self::Create { title } => json!({"op": "create", "title": title}),
            Self::Retitle { id, title } => json!({"op": "update", "id": id, "title": title}),
            Self::Claim { id } => json!({"op": "claim", "id": id}),
            Self::Close { id } => json!({"op": "close", "id": id}),
            Self::Note { id, text } => json!({"op": "note_add", "id": id, "content": text}),
            Self::Show { id } => return json!({"query": {"show": {"ids": [id]}}}),
            Self::List => return json!({"query": {"list": {}}}),
        };
        json!({"mutate": {"ops": [op]}})
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model(BTreeMap<String, Bead>);

impl Model {
    /// Applies the request and checks that the reply is the one expected in this state.
    pub fn replay(&mut self, actor: &str, ask: &Ask, reply: &Value) -> Result<(), String> {
        let result = &reply["result"];
        match ask {
            Ask::Create { title } => {
                let id = result["id"].as_str().ok_or("no id")?.to_owned();
                let new = Bead { title: title.clone(), status: "open", holder: None, notes: Vec::new() };
                if self.0.insert(id.clone(), new).is_some() {
                    return Err(format!("{id} was given out twice"));
                }
                self.same(&id, result)
            }
            Ask::Retitle { id, title } => {
                self.bead(id)?.title.clone_from(title);
                self.same(id, result)
            }
            Ask::Claim { id } => {
                let bead = self.bead(id)?;
                let refusal = match &bead.holder {
                    _ if bead.status == "closed" => Some("closed"),
                    Some(holder) if holder != actor => Some("already_claimed"),
                    _ => None,
                };
                if let Some(code) = refusal {
                    return expect(&reply["error"]["code"], &json!(code));
                }
                bead.status = "in_progress";
                bead.holder = Some(actor.to_owned());
                self.same(id, result)
            }
            Ask::Close { id } => {
                self.bead(id)?.status = "closed";
                self.same(id, result)
            }
            Ask::Note { id, text } => {
                self.bead(id)?.notes.push(text.clone());
                expect(&result["content"], &json!(text))
            }
            Ask::Show { id } => self.same(id, &result[0]),
            Ask::List => self.agrees(result),
        }
    }

    /// Whether a listing of all beads agrees with this model.
    pub fn agrees(&self, list: &Value) -> Result<(), String> {
        let beads = list.as_array().ok_or("no list")?;
        if beads.len() != self.0.len() {
            return Err(format!("{} beads listed, {} in the model", beads.len(), self.0.len()));
        }
        beads.iter().try_for_each(|bead| self.same(bead["id"].as_str().unwrap_or_default(), bead))
    }

    fn bead(&mut self, id: &str) -> Result<&mut Bead, String> {
        self.0.get_mut(id).ok_or_else(|| format!("{id} does not exist yet"))
    }

    fn same(&self, id: &str, shown: &Value) -> Result<(), String> {
        let bead = self.0.get(id).ok_or_else(|| format!("{id} is not in the model"))?;
        let notes: Vec<_> =
            shown["notes"].as_array().ok_or("no notes")?.iter().map(|note| note["content"].clone()).collect();
        let seen = json!([shown["id"], shown["title"], shown["status"], shown["assignee"], notes]);
        expect(&seen, &json!([id, bead.title, bead.status, bead.holder, bead.notes]))
    }
}

fn expect(seen: &Value, expected: &Value) -> Result<(), String> {
    if seen == expected { Ok(()) } else { Err(format!("saw {seen}, expected {expected}")) }
}
