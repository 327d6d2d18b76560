//! Random bytes from the system. The getrandom crate finds no system call to use in a static binary, and opens files in `/dev`
//! instead, which a container or a chroot may lack.

use std::io;

/// Fills the bytes with random ones.
#[cfg(target_os = "linux")]
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(got) => filled += got,
            Err(rustix::io::Errno::INTR) => {}
            // Kernels before 3.17 have no such call.
            Err(_) => return getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string())),
        }
    }
    Ok(())
}

/// Fills the bytes with random ones.
#[cfg(not(target_os = "linux"))]
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
}

/// Returns a random number.
pub fn random_u64() -> io::Result<u64> {
    let mut bytes = [0; 8];
    fill_random(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    #[test]
    fn bytes_are_filled_to_the_end_and_differ() {
        // One call of the system returns at most 256 bytes if a signal arrives.
        let [mut one, mut other] = [[0; 1000]; 2];
        fill_random(&mut one).unwrap();
        fill_random(&mut other).unwrap();
        assert_ne!(one, other);
        assert!(one[990..].iter().any(|byte| *byte != 0));
        assert_ne!(random_u64().unwrap(), random_u64().unwrap());
    }
}
