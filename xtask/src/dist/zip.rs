//! Writes zip archives whose bytes depend on nothing but the files.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::arguments::Result;

/// 1980-01-01, the first date of the format.
const DATE: u16 = 0x21;
const DEFLATED: u16 = 8;
const MADE_BY_UNIX: u16 = 3 << 8 | 20;

/// A zip archive that is being written.
#[derive(Debug, Default)]
pub struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl Zip {
    /// Appends a file.
    pub fn file(&mut self, path: &str, is_executable: bool, content: &[u8]) -> Result<()> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content)?;
        let packed = encoder.finish()?;
        let mut crc = Crc::new();
        crc.update(content);
        let offset = u32::try_from(self.bytes.len())?;
        // What the header of the file and its entry in the directory have in common.
        let mut common = Vec::new();
        for number in [20, 0, DEFLATED, 0, DATE] {
            common.extend_from_slice(&number.to_le_bytes());
        }
        for number in [crc.sum(), u32::try_from(packed.len())?, u32::try_from(content.len())?] {
            common.extend_from_slice(&number.to_le_bytes());
        }
        common.extend_from_slice(&u16::try_from(path.len())?.to_le_bytes());
        common.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(b"PK\x03\x04");
        self.bytes.extend_from_slice(&common);
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.extend_from_slice(&packed);
        let mode: u32 = if is_executable { 0o100_755 } else { 0o100_644 };
        self.directory.extend_from_slice(b"PK\x01\x02");
        self.directory.extend_from_slice(&MADE_BY_UNIX.to_le_bytes());
        self.directory.extend_from_slice(&common);
        self.directory.extend_from_slice(&[0; 6]);
        self.directory.extend_from_slice(&(mode << 16).to_le_bytes());
        self.directory.extend_from_slice(&offset.to_le_bytes());
        self.directory.extend_from_slice(path.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// Ends the archive.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let (offset, size) = (u32::try_from(self.bytes.len())?, u32::try_from(self.directory.len())?);
        self.bytes.append(&mut self.directory);
        self.bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend_from_slice(&self.count.to_le_bytes());
        self.bytes.extend_from_slice(&self.count.to_le_bytes());
        self.bytes.extend_from_slice(&size.to_le_bytes());
        self.bytes.extend_from_slice(&offset.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 2]);
        Ok(self.bytes)
    }
}
