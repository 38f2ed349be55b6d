//! Rounds until a figure is steady, by the rule of SNIA's Solid State Storage Performance Test Specification (2.0.2): of the
//! last five rounds, largest minus smallest at most 20 % of the mean, and the fitted line rises or falls at most 10 % of it.

use iodyno_truth::statistics::{STEADY_RANGE_PERCENT, STEADY_SLOPE_PERCENT, Steadiness, steadiness};

/// Rounds that must be steady together.
pub const WINDOW: usize = 5;
/// Rounds at most.
pub const MOST_ROUNDS: usize = 25;

/// How far the rounds of a test are.
#[derive(Clone, Debug, PartialEq)]
pub enum RoundVerdict {
    /// More rounds are needed.
    GoesOn,
    /// The last five are steady.
    Steady,
    /// All rounds were done, and they are not.
    NotReached,
}

/// The window that counts: the last rounds, if there are enough.
pub fn window(rounds: usize) -> Option<std::ops::Range<usize>> {
    (rounds >= WINDOW).then(|| rounds - WINDOW..rounds)
}

/// The verdict on tracked figures, of each of which there is a value in every round: all must be steady in one window.
pub fn verdict(tracked: &[Vec<f64>], most: usize) -> RoundVerdict {
    let rounds = tracked.iter().map(Vec::len).min().unwrap_or(0);
    let is_steady = window(rounds).is_some_and(|window| {
        tracked.iter().all(|row| steadiness(&row[window.clone()]).is_some_and(|found| found.is_steady()))
    });
    match is_steady {
        true => RoundVerdict::Steady,
        false if rounds >= most => RoundVerdict::NotReached,
        false => RoundVerdict::GoesOn,
    }
}

/// What there is to say of a tracked figure.
pub fn sentence(name: &str, rounds: &[f64]) -> String {
    let Some(window) = window(rounds.len()) else {
        return format!("{name}: {} rounds are too few to be steady.", rounds.len());
    };
    let (first, last) = (window.start + 1, window.end);
    match steadiness(&rounds[window]) {
        None => format!("{name}: rounds {first} to {last} have no figure to judge."),
        Some(found) => {
            let state = if found.is_steady() { "steady" } else { "NOT steady" };
            let Steadiness { range_percent, slope_percent, .. } = found;
            format!(
                "{name}: {state} in rounds {first} to {last}: range {range_percent:.1} % (at most {STEADY_RANGE_PERCENT}), line \
                 {:.1} % (at most {STEADY_SLOPE_PERCENT}).",
                slope_percent.abs()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that slows down by a factor in each round, to a floor.
    fn slowing(rounds: usize, factor: f64) -> Vec<f64> {
        (0..rounds).map(|round| 10_000.0 + 50_000.0 * factor.powi(round as i32)).collect()
    }

    fn rounds_until_steady(row: &[f64]) -> Option<usize> {
        (1..=row.len())
            .find(|rounds| verdict(&[row[..*rounds].to_vec()], MOST_ROUNDS) == RoundVerdict::Steady)
    }

    #[test]
    fn steady_is_where_five_rounds_keep_both_limits() {
        assert_eq!(rounds_until_steady(&[100.0; 25]), Some(5));
        // Of rounds 6 to 10 the range is 13.8 %, but the line falls by 13.3 %; of rounds 7 to 11 it falls by 6.8 %.
        assert_eq!(rounds_until_steady(&slowing(25, 0.5)), Some(11));
        assert_eq!(rounds_until_steady(&slowing(25, 0.99)), Some(5), "a slope below a tenth is steady");
        let alternating: Vec<f64> = (0..25).map(|round| if round % 2 == 0 { 100.0 } else { 130.0 }).collect();
        assert_eq!(rounds_until_steady(&alternating), None);
        assert_eq!(verdict(std::slice::from_ref(&alternating), 25), RoundVerdict::NotReached);
        assert_eq!(verdict(&[alternating[..24].to_vec()], 25), RoundVerdict::GoesOn);
        // All tracked figures must be.
        assert_eq!(verdict(&[vec![100.0; 25], alternating], 25), RoundVerdict::NotReached);
    }

    #[test]
    fn the_sentence_has_both_limits() {
        assert_eq!(
            sentence("RND 4K write", &[100.0; 6]),
            "RND 4K write: steady in rounds 2 to 6: range 0.0 % (at most 20), line 0.0 % (at most 10)."
        );
        assert!(sentence("x", &[1.0, 1.0, 1.0, 1.0, 2.0]).contains("NOT steady in rounds 1 to 5"));
        assert!(sentence("x", &[1.0]).contains("too few"));
    }
}
