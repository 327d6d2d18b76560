//! Long text: from an argument, from standard input (`-`), or from a file (`@/absolute/path`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use beads_core::Estimate;
use beads_core::limits::MAX_LINE_BYTES;
use beads_engine::failure::{Code, Failure};

/// Where arguments that name a source instead of being the text are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// From the standard input and the files of this process, which is the caller's.
    Ours,
    /// Nowhere: the caller is another process.
    OutOfReach,
}

impl Input {
    /// Reads an argument that may name a source instead of being the text itself.
    pub fn text<T>(self, argument: &str) -> Result<T, Failure>
    where
        T: FromStr<Err = beads_core::Error>,
    {
        let read = if argument == "-" {
            self.source(Path::new(argument))?
        } else if let Some(path) = argument.strip_prefix('@').filter(|path| path.starts_with('/')) {
            self.file(Path::new(path))?
        } else {
            return Ok(argument.parse()?);
        };
        Ok(read.parse()?)
    }

    /// The same for an argument that may be absent.
    pub fn optional<T>(self, argument: Option<&String>) -> Result<Option<T>, Failure>
    where
        T: FromStr<Err = beads_core::Error>,
    {
        argument.map(|argument| self.text(argument)).transpose()
    }

    /// The description: from its own argument, or from `--body-file`.
    pub fn body<T>(self, argument: Option<&String>, body_file: Option<&PathBuf>) -> Result<Option<T>, Failure>
    where
        T: FromStr<Err = beads_core::Error>,
    {
        match body_file {
            Some(path) => Ok(Some(self.source(path)?.parse()?)),
            None => self.optional(argument),
        }
    }

    /// A whole file, or standard input for `-`.
    pub fn source(self, path: &Path) -> Result<String, Failure> {
        if path.as_os_str() != "-" {
            return self.file(path);
        }
        self.within_reach()?;
        read_bounded("standard input", std::io::stdin().lock())
    }

    fn file(self, path: &Path) -> Result<String, Failure> {
        self.within_reach()?;
        let file = std::fs::File::open(path).map_err(|error| Failure::io("read", path, &error))?;
        read_bounded(&path.display().to_string(), file)
    }

    fn within_reach(self) -> Result<(), Failure> {
        match self {
            Self::Ours => Ok(()),
            Self::OutOfReach => {
                Err(Failure::new(Code::NotRead, "this has to be read where the command was given"))
            }
        }
    }
}

/// An estimate, in minutes.
pub fn minutes(text: &str) -> Result<Estimate, String> {
    let minutes: u64 = text.parse().map_err(|_| format!("{text:?} is not a number of minutes"))?;
    minutes.try_into().map_err(|error: beads_core::Error| error.to_string())
}

/// A bead's line is bounded, so there is no point in reading more than would fit.
fn read_bounded(name: &str, source: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    source
        .take(MAX_LINE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::IoError, format!("cannot read {name}: {error}")))?;
    if bytes.len() > MAX_LINE_BYTES {
        return Err(Failure::new(
            Code::TooLarge,
            format!("{name} has more than the {MAX_LINE_BYTES} bytes a bead may have"),
        ));
    }
    String::from_utf8(bytes).map_err(|_| Failure::invalid(format!("{name} is not valid UTF-8")))
}
