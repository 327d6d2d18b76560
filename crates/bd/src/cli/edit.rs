use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use beads_core::Op;
use beads_core::op::{Guard, Update};
use beads_engine::client;
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::place::Place;
use beads_engine::render;
use beads_engine::request::{Call, Format, Mutate, Query, Reply};
use serde_json::{Value, json};

use super::globals::Globals;
use super::{ask_at, bead_page, me};

/// Edit a bead in your editor
///
/// Opens $VISUAL, else $EDITOR, with the bead as Markdown: the fields between two lines ---, then the
/// description. Applies what you changed as one update, but only if the bead has not changed meanwhile.
/// If that fails, or if the text cannot be read, it is kept in a file. Unchanged text changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd edit bd-a1")]
pub struct Args {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: String,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let editor = editor()?;
        let place = globals.place()?;
        let show = || Call::query(Query::Show { ids: vec![self.id.clone()] });
        let beads: Vec<Value> = globals.value(&place, show())?;
        let bead = beads.into_iter().next().unwrap_or_default();
        let page = bead_page::render(&bead);
        let mut file = PageFile::create(&bead, &page)?;
        let edited = run_editor(&editor, &file.path).and_then(|()| read(&file.path));
        let update = edited.and_then(|edited| bead_page::changes(&page, &edited));
        match update {
            Ok(None) => unchanged(globals, &place, show(), &bead),
            Ok(Some(update)) => {
                let reply = apply(globals, &place, update, &bead)?;
                if reply.exit == exit::OK {
                    return Ok(reply);
                }
                file.keep = true;
                Ok(with_kept(reply, globals.format(), &file.path))
            }
            // The text may be new even if the editor failed.
            Err(failure) if read(&file.path).is_ok_and(|text| text != page) => {
                file.keep = true;
                let message = format!("{}; nothing was changed. {}", failure.message, kept(&file.path));
                Err(Failure { message, ..failure })
            }
            Err(failure) => Err(failure),
        }
    }
}

/// Returns the user's editor. Without a terminal there is no default.
fn editor() -> Result<String, Failure> {
    let set = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    match set {
        Some(editor) => Ok(editor),
        None if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() => Ok("vi".to_owned()),
        None => {
            Err(Failure::usage("set VISUAL or EDITOR to your editor, or use bd update; nothing was changed"))
        }
    }
}

/// The file that the editor opens. It is removed unless its text has to be kept.
struct PageFile {
    path: PathBuf,
    keep: bool,
}

impl PageFile {
    fn create(bead: &Value, page: &str) -> Result<Self, Failure> {
        let random = client::random_id().unwrap_or_default();
        let id = bead["id"].as_str().unwrap_or_default();
        let name = format!("bd-edit-{id}-{}.md", random.trim_start_matches('~'));
        let path = std::env::temp_dir().join(name);
        let failed = |error: std::io::Error| Failure::io("write", &path, &error);
        // Other users must not read the bead or put a link in its place.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        file.write_all(page.as_bytes()).map_err(failed)?;
        Ok(Self { path, keep: false })
    }
}

impl Drop for PageFile {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Runs the editor as git does: through the shell, because the variable may contain options.
fn run_editor(editor: &str, path: &Path) -> Result<(), Failure> {
    let failed = |why: String| {
        Failure::new(Code::IoError, format!("the editor {editor:?} failed: {why}; nothing was changed"))
    };
    let status = Command::new("/bin/sh")
        .args(["-c", &format!("{editor} \"$@\""), editor])
        .arg(path)
        .status()
        .map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

/// Reads the edited page. Editors often replace the file, so it is opened by its name.
fn read(path: &Path) -> Result<String, Failure> {
    super::input::Input::Local.source(path)
}

fn apply(globals: &Globals, place: &Place, update: Update, bead: &Value) -> Result<Reply, Failure> {
    let text = |field: &str| bead[field].as_str().map(str::to_owned);
    let guard = Guard { content_hash: text("if_hash").or_else(|| text("content_hash")), fence: None };
    let update = Update { id: text("id").unwrap_or_default(), guard, ..update };
    let call = Call::Mutate(Mutate { ops: vec![Op::Update(Box::new(update))], many: true, dry_run: false });
    ask_at(place, globals, call, |request| me::replace(&mut request.call, &request.actor))
}

fn unchanged(globals: &Globals, place: &Place, show: Call, bead: &Value) -> Result<Reply, Failure> {
    if globals.format() == Format::Json {
        return ask_at(place, globals, show, |_| ());
    }
    let id = bead["id"].as_str().unwrap_or_default();
    let stderr = if globals.is_quiet() { String::new() } else { format!("note: {id} did not change\n") };
    Ok(Reply { stderr, ..Reply::default() })
}

/// Adds to a failed reply where the edited text is.
fn with_kept(mut reply: Reply, format: Format, path: &Path) -> Reply {
    match (format, serde_json::from_str::<Value>(&reply.stdout)) {
        (Format::Json, Ok(mut answer)) => {
            let error = &mut answer["error"];
            if !error["details"].is_object() {
                error["details"] = json!({});
            }
            error["details"]["kept"] = json!(path.to_string_lossy());
            reply.stdout = render::json(&answer);
        }
        _ => reply.stderr.push_str(&format!("{}\n", kept(path))),
    }
    reply
}

fn kept(path: &Path) -> String {
    format!("Your text is kept in {}", path.display())
}
