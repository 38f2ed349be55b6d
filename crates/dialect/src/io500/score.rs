//! The score: the square root of the product of two geometric means, of four bandwidths and of eight rates.
//!
//! Source: the rules of IO500 as its list publishes them; bandwidth in GiB/s, rates in thousands a second.

use super::phases::ScoreGroup;

/// A score and what it is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Geometric mean of the bandwidths, GiB/s.
    pub bandwidth: f64,
    /// Geometric mean of the rates, thousand a second.
    pub rate: f64,
    /// The score.
    pub total: f64,
}

/// The score of phases with their figures; a phase that was not run counts as 0, and so makes its mean 0.
pub fn score(figures: &[(ScoreGroup, f64)]) -> Score {
    let mean = |wanted: ScoreGroup| {
        let of: Vec<f64> =
            figures.iter().filter(|(group, _)| *group == wanted).map(|(_, value)| *value).collect();
        match of.len() {
            0 => 0.0,
            _ if of.contains(&0.0) => 0.0,
            count => (of.iter().map(|value| value.ln()).sum::<f64>() / count as f64).exp(),
        }
    };
    let (bandwidth, rate) = (mean(ScoreGroup::Bandwidth), mean(ScoreGroup::Metadata));
    Score { bandwidth, rate, total: (bandwidth * rate).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric() {
        let figures = [
            (ScoreGroup::Bandwidth, 1.0),
            (ScoreGroup::Bandwidth, 4.0),
            (ScoreGroup::Metadata, 8.0),
            (ScoreGroup::Metadata, 2.0),
            (ScoreGroup::No, 1e9),
        ];
        let found = score(&figures);
        assert!((found.bandwidth - 2.0).abs() < 1e-12 && (found.rate - 4.0).abs() < 1e-12);
        assert!((found.total - 8f64.sqrt()).abs() < 1e-12);
        assert_eq!(score(&[(ScoreGroup::Bandwidth, 0.0), (ScoreGroup::Metadata, 3.0)]).total, 0.0);
    }

    #[test]
    fn a_published_run_has_its_score() {
        let bandwidths =
            [0.082423, 0.082290, 0.174505, 0.210457].map(|figure| (ScoreGroup::Bandwidth, figure));
        let rates = [9.828955, 6.568456, 37.726451, 51.355031, 67.047716, 57.597056, 35.704409, 31.826870];
        let all: Vec<_> =
            bandwidths.into_iter().chain(rates.map(|figure| (ScoreGroup::Metadata, figure))).collect();
        let found = score(&all);
        // The published figures are rounded.
        for (mine, published) in
            [(found.bandwidth, 0.125629), (found.rate, 29.338469), (found.total, 1.919837)]
        {
            assert!((mine / published - 1.0).abs() < 1e-5, "{mine} {published}");
        }
    }
}
