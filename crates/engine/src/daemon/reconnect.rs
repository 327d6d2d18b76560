//! How long to wait before connecting to the hub again.

use std::time::Duration;

/// The usual pauses. The last one is repeated.
const PAUSES_MS: [u64; 6] = [100, 200, 500, 1_000, 2_000, 5_000];

/// Returns the pause before the next connection, after a number of failures in a row and with a random number. It is
/// between a half and one and a half of the usual pause, so that machines that lost the same server do not all come
/// back at once.
pub fn pause(failures: usize, random: u64) -> Duration {
    let usual = PAUSES_MS[failures.min(PAUSES_MS.len() - 1)];
    Duration::from_millis(usual / 2 + random % (usual + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as a generator would draw them, the same in every run.
    fn drawn(index: u64) -> u64 {
        (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    fn pauses_ms(failures: usize) -> Vec<u64> {
        (0..1_000).map(|index| pause(failures, drawn(index)).as_millis() as u64).collect()
    }

    #[test]
    fn a_pause_is_at_most_half_off_the_usual_one() {
        for failures in 0..40 {
            let usual = PAUSES_MS[failures.min(PAUSES_MS.len() - 1)];
            let wanted = usual / 2..=usual + usual / 2;
            for random in [0, 1, usual, usual + 1, u64::MAX - 1, u64::MAX] {
                let paused = pause(failures, random).as_millis() as u64;
                assert!(wanted.contains(&paused), "{failures} {random}: {paused}");
            }
            assert!(pauses_ms(failures).iter().all(|paused| wanted.contains(paused)), "{failures}");
        }
    }

    #[test]
    fn a_thousand_machines_spread_over_the_pause() {
        for (failures, usual) in PAUSES_MS.into_iter().enumerate() {
            let mut tenths = [0; 10];
            for paused in pauses_ms(failures) {
                let at = (paused - usual / 2) * 10 / (usual + 1);
                tenths[at as usize] += 1;
            }
            assert!(tenths.iter().all(|machines| (50..200).contains(machines)), "{failures}: {tenths:?}");
        }
    }

    #[test]
    fn pauses_grow_and_then_stay() {
        let shortest: Vec<_> = (0..10).map(|failures| pause(failures, 0)).collect();
        assert!(shortest.windows(2).all(|pair| pair[0] <= pair[1]), "{shortest:?}");
        assert!(pause(0, u64::MAX) < Duration::from_millis(200), "the first try is soon");
        assert_eq!(pause(5, 7), pause(5_000, 7));
    }
}
