//! Writes tar archives whose bytes depend on nothing but the files.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};

use crate::arguments::Result;

const BLOCK: usize = 512;

/// A tar archive (ustar) that is being written.
#[derive(Debug)]
pub struct Tar {
    bytes: Vec<u8>,
    epoch: u64,
}

impl Tar {
    pub fn new(epoch: u64) -> Self {
        Self { bytes: Vec::new(), epoch }
    }

    /// Appends a file, owned by root.
    pub fn file(&mut self, path: &str, is_executable: bool, content: &[u8]) -> Result<()> {
        self.header(path, if is_executable { 0o755 } else { 0o644 }, content.len(), b'0')?;
        self.bytes.extend_from_slice(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        Ok(())
    }

    /// Appends a directory, owned by root.
    pub fn directory(&mut self, path: &str) -> Result<()> {
        self.header(path, 0o755, 0, b'5')
    }

    /// Ends the archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&[0; 2 * BLOCK]);
        self.bytes
    }

    fn header(&mut self, path: &str, mode: u32, size: usize, kind: u8) -> Result<()> {
        if path.len() > 100 {
            return Err(format!("{path} is longer than 100 bytes").into());
        }
        let mut block = [0; BLOCK];
        let mut put = |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, path);
        put(100, &format!("{mode:07o}"));
        put(108, "0000000");
        put(116, "0000000");
        put(124, &format!("{size:011o}"));
        put(136, &format!("{:011o}", self.epoch));
        put(148, "        ");
        put(257, "ustar\x0000");
        put(265, "root");
        put(297, "root");
        block[156] = kind;
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend_from_slice(&block);
        Ok(())
    }
}

/// Compresses bytes. The header has no name and no time.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
