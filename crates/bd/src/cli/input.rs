//! Long text: from an argument, from standard input (`-`), or from a file (`@/absolute/path`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use beads_core::Estimate;
use beads_core::limits::MAX_LINE_BYTES;
use beads_engine::failure::{Code, Failure};

/// Whether arguments that name a file or standard input can be read in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// This is the calling process, which has the standard input and the files.
    Local,
    /// As `Local`, but without notes on standard error.
    Quiet,
    /// The caller is another process.
    Unavailable,
}

impl Input {
    /// Parses an argument that is either the text itself or names a source (`-` or `@/path`).
    pub fn text<T>(self, argument: &str) -> Result<T, Failure>
    where
        T: FromStr<Err = beads_core::Error>,
    {
        let read = if argument == "-" {
            self.source(Path::new(argument))?
        } else if let Some(path) = argument.strip_prefix('@').filter(|path| path.starts_with('/')) {
            self.file(Path::new(path))?
        } else {
            self.note_unread_file(argument, "to store the content of the file, give its absolute path")?;
            return Ok(argument.parse()?);
        };
        Ok(read.parse()?)
    }

    /// Prints a note if the argument is text that looks like a relative file, and that file exists. A text
    /// such as `@team` must stay possible.
    fn note_unread_file(self, argument: &str, advice: &str) -> Result<(), Failure> {
        let Some(name) = argument.strip_prefix('@') else { return Ok(()) };
        if name.is_empty() || name.starts_with('/') || name.contains(char::is_whitespace) {
            return Ok(());
        }
        self.check_available()?;
        if self != Self::Quiet && Path::new(name).is_file() {
            let line = format!("note: {argument} was stored as text; {advice}");
            eprintln!("{}", beads_engine::escape::escape(&line));
        }
        Ok(())
    }

    /// Parses an optional argument as [`Self::text`] does.
    pub fn optional<T>(self, argument: Option<&String>) -> Result<Option<T>, Failure>
    where
        T: FromStr<Err = beads_core::Error>,
    {
        argument.map(|argument| self.text(argument)).transpose()
    }

    /// Reads the description from its argument or from `--body-file`.
    pub fn body<T>(self, argument: Option<&String>, body_file: Option<&PathBuf>) -> Result<Option<T>, Failure>
    where
        T: FromStr<Err = beads_core::Error>,
    {
        match body_file {
            Some(path) => Ok(Some(self.source(path)?.parse()?)),
            None => {
                let Some(argument) = argument else { return Ok(None) };
                if let Some(name) = argument.strip_prefix('@').filter(|name| !name.starts_with('/')) {
                    let advice = format!("to store the content of the file, use --body-file {name}");
                    self.note_unread_file(argument, &advice)?;
                    return Ok(Some(argument.parse()?));
                }
                self.text(argument).map(Some)
            }
        }
    }

    /// Reads a whole file, or standard input for `-`.
    pub fn source(self, path: &Path) -> Result<String, Failure> {
        if path.as_os_str() != "-" {
            return self.file(path);
        }
        self.check_available()?;
        read_bounded("standard input", std::io::stdin().lock())
    }

    fn file(self, path: &Path) -> Result<String, Failure> {
        self.check_available()?;
        let file = std::fs::File::open(path).map_err(|error| Failure::io("read", path, &error))?;
        read_bounded(&path.display().to_string(), file)
    }

    fn check_available(self) -> Result<(), Failure> {
        match self {
            Self::Local | Self::Quiet => Ok(()),
            Self::Unavailable => {
                Err(Failure::new(Code::NotRead, "this input must be read by the calling process"))
            }
        }
    }
}

/// Parses an estimate in minutes.
pub fn minutes(text: &str) -> Result<Estimate, String> {
    let minutes: u64 = text.parse().map_err(|_| format!("{text:?} is not a number of minutes"))?;
    minutes.try_into().map_err(|error: beads_core::Error| error.to_string())
}

/// Reads a text, but never more than fits into a bead.
fn read_bounded(name: &str, source: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    source
        .take(MAX_LINE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::IoError, format!("cannot read {name}: {error}")))?;
    if bytes.len() > MAX_LINE_BYTES {
        return Err(Failure::new(
            Code::TooLarge,
            format!("{name} is larger than {MAX_LINE_BYTES} bytes, the most that a bead may have"),
        ));
    }
    String::from_utf8(bytes).map_err(|_| Failure::invalid(format!("{name} is not valid UTF-8")))
}
