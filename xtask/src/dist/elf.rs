use super::architecture::Architecture;
use crate::arguments::Result;

/// The segment that names the dynamic loader.
const PT_INTERP: u32 = 3;

/// The section with the symbols that stripping removes.
const SHT_SYMTAB: u32 = 2;

/// Fails unless the program `name` is built for this processor, static and stripped.
pub fn check(name: &str, bytes: &[u8], architecture: Architecture) -> Result<()> {
    let machine = number(bytes, 18, 2)?;
    if !bytes.starts_with(b"\x7fELF\x02\x01") || machine != u64::from(architecture.elf_machine()) {
        return Err(format!("{name} is not a program for Linux on {}", architecture.name()).into());
    }
    if kinds(bytes, 32, 54, 0)?.contains(&PT_INTERP) {
        let reason = "the C compiler found no static C library, or BD_LINK_DYNAMIC was set";
        return Err(format!("{name} is not static: {reason}").into());
    }
    if kinds(bytes, 40, 58, 4)?.contains(&SHT_SYMTAB) {
        return Err(format!("{name} is not stripped: build it with --release").into());
    }
    Ok(())
}

/// Returns the type of every entry of a table: the header has the table's offset at `offset`, and at `size` the size of
/// an entry and the number of entries. The type is at `at` in each entry.
fn kinds(bytes: &[u8], offset: usize, size: usize, at: usize) -> Result<Vec<u32>> {
    let begin = usize::try_from(number(bytes, offset, 8)?)?;
    let each = usize::try_from(number(bytes, size, 2)?)?;
    let count = usize::try_from(number(bytes, size + 2, 2)?)?;
    (0..count).map(|index| Ok(u32::try_from(number(bytes, begin + index * each + at, 4)?)?)).collect()
}

/// Returns the little-endian number of `length` bytes at `at`.
fn number(bytes: &[u8], at: usize, length: usize) -> Result<u64> {
    let found = at.checked_add(length).and_then(|end| bytes.get(at..end));
    let found = found.ok_or("the program ends in the middle of a header")?;
    Ok(found.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an ELF file with one segment and one section.
    fn program(machine: u8, segment: u8, section: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 8 + 8];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        for (at, value) in [(18, machine), (32, 64), (40, 72), (54, 8), (56, 1), (58, 8), (60, 1)] {
            bytes[at] = value;
        }
        bytes[64] = segment;
        bytes[76] = section;
        bytes
    }

    #[test]
    fn only_static_and_stripped_programs_of_the_processor_pass() {
        let refusal = |bytes: &[u8]| {
            let checked = check("bd", bytes, Architecture::Aarch64);
            checked.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refusal(&program(183, 1, 1)), "");
        assert!(refusal(&program(62, 1, 1)).contains("not a program for Linux on aarch64"));
        assert!(refusal(&program(183, 3, 1)).contains("not static"));
        assert!(refusal(&program(183, 1, 2)).contains("not stripped"));
        assert!(refusal(&program(183, 1, 1)[..70]).contains("in the middle of a header"));
        assert!(refusal(b"").contains("in the middle of a header"));
    }
}
