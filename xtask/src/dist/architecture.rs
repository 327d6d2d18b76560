use std::env;
use std::path::Path;
use std::process::Command;

use crate::arguments::Result;

/// A processor that releases are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// Returns the processor of this machine.
    pub fn host() -> Result<Self> {
        let is_host = |architecture: &Self| architecture.name() == env::consts::ARCH;
        let found = Self::ALL.into_iter().find(is_host);
        found.ok_or_else(|| format!("releases are not built for {}", env::consts::ARCH).into())
    }

    /// Returns the processors other than that of this machine.
    pub fn others() -> Result<Vec<Self>> {
        let host = Self::host()?;
        Ok(Self::ALL.into_iter().filter(|architecture| *architecture != host).collect())
    }

    /// Returns the name that `uname -m` prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Returns the name in Debian.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Returns the name in Node.
    pub fn node(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Returns the number in the header of an ELF file.
    pub fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }

    /// Returns the name in Rust.
    pub fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// Returns the C compiler, which also links: `cc` for this machine, else the one that Debian names after the
    /// processor.
    pub fn compiler(self) -> Result<String> {
        Ok(match self == Self::host()? {
            true => "cc".to_owned(),
            false => format!("{}-linux-gnu-gcc", self.name()),
        })
    }

    /// Returns what this machine lacks to link programs for this processor.
    pub fn lacks(self) -> Result<Vec<String>> {
        let mut lacks = Vec::new();
        let asked =
            Command::new("rustc").args(["--print", "target-libdir", "--target", &self.target()]).output();
        let has_target =
            asked.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).exists());
        if !has_target {
            lacks.push(format!("the Rust target (rustup target add {})", self.target()));
        }
        let compiler = self.compiler()?;
        // The compiler answers with the bare name when it has no such file.
        match Command::new(&compiler).arg("-print-file-name=libc.a").output() {
            Err(_) => {
                lacks
                    .push(format!("{compiler} (in Debian: gcc-{}-linux-gnu)", self.name().replace('_', "-")));
            }
            Ok(said) if !said.stdout.contains(&b'/') => lacks
                .push(format!("the C library to link with (in Debian: libc6-dev-{}-cross)", self.debian())),
            Ok(_) => {}
        }
        Ok(lacks)
    }
}
