//! Random inputs from a schema: mostly valid, sometimes invalid.

use serde_json::{Map, Value, json};

/// A stream of random numbers, determined by a seed.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % sides.max(1) as u64).unwrap_or_default()
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())].clone()
    }

    /// Returns true in one of `n` cases.
    pub fn one_in(&mut self, many: usize) -> bool {
        self.roll(many) == 0
    }
}

/// The values from which inputs are generated.
#[derive(Debug)]
pub struct Generator<'a> {
    pub dice: &'a mut Dice,
    /// Names of beads and other things that exist.
    pub known: &'a [String],
    /// A path inside the sandbox. No other absolute path is generated.
    pub path: &'a str,
}

const ODD: [&str; 14] = [
    "",
    " ",
    "-",
    "--id",
    "bd-none",
    "a\nb",
    "\u{1b}]0;t\u{7}",
    "\u{202e}evil",
    "\u{9b}2J",
    "é👩‍💻",
    "null",
    "{\"id\":1}",
    "\u{0}",
    "x|y:z,w",
];

const TIMES: [&str; 7] = [
    "2026-11-20T14:30:00Z",
    "2026-11-20 14:30",
    "2026-11-20",
    "1970-01-01T00:00:00+23:59",
    "2099-12-31T23:59:59-01:00",
    "2026-11-20T14:30:00[Nowhere/City]",
    "2026-02-30",
];

impl Generator<'_> {
    /// Returns an input for the schema of an object.
    pub fn input(&mut self, schema: &Value) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut input = Map::new();
        for (name, about) in schema["properties"].as_object().into_iter().flatten() {
            let is_wanted =
                if required.contains(&name.as_str()) { !self.dice.one_in(12) } else { self.dice.one_in(4) };
            if is_wanted {
                input.insert(name.clone(), self.field(name, about));
            }
        }
        if self.dice.one_in(15) {
            let name = self.dice.pick(&["labels", "colour", "ID", "tittle", ""]);
            input.insert(name.to_owned(), self.anything(2));
        }
        Value::Object(input)
    }

    fn field(&mut self, name: &str, about: &Value) -> Value {
        // Tests must not wait.
        if name.contains("timeout") || name.contains("wait") {
            return self.dice.pick(&[json!(0), json!(1), json!(-1), json!("soon")]);
        }
        match self.dice.roll(10) {
            0 => self.anything(3),
            1 if name == "repo" || name == "path" => self.dice.pick(&[
                json!("nowhere"),
                json!(format!("{}/none", self.path)),
                json!("."),
                json!(7),
            ]),
            _ if name == "repo" || name == "path" => json!(self.path),
            2 if about["type"] == "string" => json!(self.dice.pick(&ODD)),
            _ => self.valid(name, about),
        }
    }

    /// Returns a valid value, except that patterns are not solved.
    fn valid(&mut self, name: &str, about: &Value) -> Value {
        if let Some(among) = about["enum"].as_array() {
            return self.dice.pick(among);
        }
        let kinds: Vec<&str> = match &about["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return self.anything(2),
        };
        match self.dice.pick(&kinds) {
            "boolean" => json!(self.dice.one_in(2)),
            "integer" | "number" => {
                let (least, most) =
                    (about["minimum"].as_i64().unwrap_or(0), about["maximum"].as_i64().unwrap_or(9));
                self.dice.pick(&[json!(least), json!(most), json!(2), json!(2.0)])
            }
            "array" => {
                let count = self.dice.roll(4);
                (0..count).map(|_| self.valid(name, &about["items"])).collect()
            }
            "object" if about["properties"].is_object() => self.input(about),
            "object" => json!({"key": self.anything(1)}),
            "null" => Value::Null,
            _ => self.text(name, about),
        }
    }

    fn text(&mut self, name: &str, about: &Value) -> Value {
        let pattern = about["pattern"].as_str().unwrap_or_default();
        if pattern.contains("19[7-9]") {
            return json!(self.dice.pick(&TIMES));
        }
        let names_something = name.ends_with("id")
            || name.ends_with("ids")
            || ["from", "to", "agent", "parent", "target", "deps", "ack", "bead"].contains(&name);
        if names_something && !self.dice.one_in(4) {
            let known = self.dice.pick(self.known);
            let length = self.dice.roll(known.len()) + 1;
            return json!(if self.dice.one_in(5) { known[..length].to_owned() } else { known });
        }
        match self.dice.roll(8) {
            0 => json!("long ".repeat(1 + self.dice.roll(2_000))),
            1 => json!(self.dice.pick(&ODD)),
            _ => json!(self.dice.pick(&["alpha", "beta one", "gamma-3", "bug", "HANDOFF", "src/**", "docs"])),
        }
    }

    /// Returns any JSON value.
    fn anything(&mut self, depth: usize) -> Value {
        match self.dice.roll(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => json!(self.dice.one_in(2)),
            2 => self.dice.pick(&[
                json!(-1),
                json!(1.5),
                json!(u64::MAX),
                json!(i64::MIN),
                json!(1e300),
                json!(0),
            ]),
            3 => json!(self.dice.pick(&ODD)),
            4 => json!("some text"),
            5 => (0..self.dice.roll(3)).map(|_| self.anything(depth - 1)).collect(),
            _ => json!({self.dice.pick(&["id", "op", "x"]): self.anything(depth - 1)}),
        }
    }
}
