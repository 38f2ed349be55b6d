//! How long the simulated device works on one operation: a constant, a draw, or a list that repeats.
//!
//! Pure arithmetic on a seeded stream; it refuses the platform's mathematics, so a seed means the same everywhere.

use iodyno_model::units;

use crate::random::Random;

/// A distribution of service times, in ns.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Always the same.
    Constant(u64),
    /// Anything from the first to the second, inclusive.
    Uniform(u64, u64),
    /// Memoryless with this mean.
    Exponential(u64),
    /// Mean and standard deviation; what would be negative is 0.
    Normal(u64, u64),
    /// Mostly the first; the second with this probability (0 to 1).
    Bimodal(u64, u64, f64),
    /// One after the other, then again from the first.
    Sequence(Vec<u64>),
}

/// What a service time may look like, for messages.
pub const FORMS: &str = "a time such as 100us, uniform:50us-150us, exponential:100us, normal:100us,10us, \
                         bimodal:80us,5ms,1% or sequence:100us,200us";

impl Service {
    /// Reads one of the [`FORMS`].
    ///
    /// # Errors
    /// What was expected, as a fragment.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or(("constant", text));
        match kind.trim() {
            "constant" => Ok(Service::Constant(units::parse_ns(rest)?)),
            "uniform" => match rest.split_once('-') {
                Some((least, most)) => uniform(units::parse_ns(least)?, units::parse_ns(most)?),
                None => Err("expected two times, e.g. uniform:50us-150us".into()),
            },
            "exponential" => Ok(Service::Exponential(units::parse_ns(rest)?)),
            "normal" => match times(rest)?[..] {
                [mean, deviation] => Ok(Service::Normal(mean, deviation)),
                _ => Err("expected a mean and a deviation, e.g. normal:100us,10us".into()),
            },
            "bimodal" => bimodal(rest),
            "sequence" => Ok(Service::Sequence(times(rest)?)),
            _ => Err(format!("expected {FORMS}")),
        }
    }

    /// The next service time; `count` is how many this device has served before, for sequences.
    #[inline]
    pub fn draw(&self, random: &mut Random, count: u64) -> u64 {
        match self {
            Service::Constant(ns) => *ns,
            Service::Uniform(least, most) => least + random.below((most - least).saturating_add(1)),
            Service::Exponential(mean) => random.exponential(*mean as f64).round() as u64,
            // The cast saturates: what is negative becomes 0.
            Service::Normal(mean, deviation) => {
                (*mean as f64 + *deviation as f64 * random.normal()).round() as u64
            }
            Service::Bimodal(usual, rare, probability) => {
                if random.unit() < *probability {
                    *rare
                } else {
                    *usual
                }
            }
            Service::Sequence(list) => list[(count % list.len() as u64) as usize],
        }
    }
}

fn uniform(least: u64, most: u64) -> Result<Service, String> {
    if least > most {
        return Err("the first time must not be the longer one".into());
    }
    Ok(Service::Uniform(least, most))
}

fn bimodal(text: &str) -> Result<Service, String> {
    let expected = || "expected two times and a percentage, e.g. bimodal:80us,5ms,1%".to_string();
    let parts: Vec<&str> = text.split(',').collect();
    let [usual, rare, share] = parts[..] else { return Err(expected()) };
    let share = probability(share).ok_or_else(expected)?;
    Ok(Service::Bimodal(units::parse_ns(usual)?, units::parse_ns(rare)?, share))
}

fn times(text: &str) -> Result<Vec<u64>, String> {
    text.split(',').map(units::parse_ns).collect()
}

/// A probability: `1%` or `0.01`.
pub fn probability(text: &str) -> Option<f64> {
    let text = text.trim();
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (0.0..=1.0).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, count: u64) -> Vec<u64> {
        let (service, mut random) = (Service::parse(text).unwrap(), Random::from_seed(1, 0));
        (0..count).map(|index| service.draw(&mut random, index)).collect()
    }

    fn mean(values: &[u64]) -> f64 {
        values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64
    }

    #[test]
    fn every_form_has_its_mean() {
        assert_eq!(drawn("100us", 3), [100_000; 3]);
        assert_eq!(drawn("sequence:1us,2us,5ms", 4), [1_000, 2_000, 5_000_000, 1_000]);
        let close = |text: &str, expected: f64| {
            let found = mean(&drawn(text, 100_000));
            assert!((found / expected - 1.0).abs() < 0.02, "{text}: {found}");
        };
        close("uniform:50us-150us", 100e3);
        close("exponential:100us", 100e3);
        close("normal:100us,10us", 100e3);
        close("bimodal:80us,5ms,1%", 0.99 * 80e3 + 0.01 * 5e6);
    }

    #[test]
    fn uniform_keeps_its_ends_and_normal_never_turns_back_time() {
        let values = drawn("uniform:3ns-5ns", 1000);
        assert_eq!((values.iter().min(), values.iter().max()), (Some(&3), Some(&5)));
        assert!(drawn("normal:10us,100us", 1000).iter().all(|ns| *ns < 1_000_000));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["", "abc", "uniform:5us", "uniform:9us-3us", "normal:1us", "bimodal:1us,2us,150%", "x:1us"]
        {
            assert!(Service::parse(text).is_err(), "{text}");
        }
    }
}
