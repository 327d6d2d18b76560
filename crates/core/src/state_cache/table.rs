//! Numbers and texts in the tables of a cached state. Numbers are little-endian; a text or a run of bytes
//! follows its length.

use std::collections::BTreeMap;

use crate::{Actor, Stamp};

/// Bytes that are being written.
#[derive(Debug, Default)]
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Writes a text of at most 65,535 bytes. Ids and actors are shorter.
    pub fn text(&mut self, text: &str) {
        self.0.extend_from_slice(&(text.len() as u16).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }

    pub fn mark(&mut self, at: Stamp, by: u32) {
        self.u64(at.ms());
        self.u32(at.counter());
        self.u32(by);
    }
}

/// The actors of a state, by number.
#[derive(Debug, Default)]
pub(super) struct Actors<'a>(BTreeMap<&'a Actor, u32>);

impl<'a> Actors<'a> {
    pub fn number(&mut self, actor: &'a Actor) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(actor).or_insert(next)
    }

    pub fn write(&self, out: &mut Writer) {
        let mut by_number: Vec<_> = self.0.iter().map(|(actor, number)| (*number, *actor)).collect();
        by_number.sort_unstable();
        out.u32(by_number.len() as u32);
        by_number.iter().for_each(|(_, actor)| out.text(actor.as_str()));
    }
}

/// Bytes that are being read. Every function returns `None` if the bytes end too early.
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes that are left.
    pub fn rest(&self) -> usize {
        self.0.len()
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u64()?).ok()?;
        self.take(length)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.array().map(u16::from_le_bytes)?;
        std::str::from_utf8(self.take(usize::from(length))?).ok()
    }

    /// Returns a number of entries. Each takes at least a byte, so there cannot be more than bytes.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok().filter(|count| *count <= self.rest())
    }

    pub fn stamp(&mut self) -> Option<Stamp> {
        let (ms, counter) = (self.u64()?, self.u32()?);
        Stamp::decode(ms, counter).ok()
    }

    pub fn mark(&mut self, actors: &[Actor]) -> Option<(Stamp, Actor)> {
        Some((self.stamp()?, actors.get(self.u32()? as usize)?.clone()))
    }

    pub fn actors(&mut self) -> Option<Vec<Actor>> {
        (0..self.count()?).map(|_| self.text()?.parse().ok()).collect()
    }
}
