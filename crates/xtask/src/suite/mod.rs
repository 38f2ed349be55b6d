//! The tests of the workspace as one list of cases, and one scheduler over all of them.
//!
//! Programs of the pure tier run whole and are never rerun. Every other case is a process of its own, so that cases that
//! wait overlap with cases of any program, one that hangs or dies takes no other with it, and one that the machine
//! disturbed can be run again by itself. What a case asks of the processors is said by the case (`testbed::Case`); which
//! programs are not pure is said by their package (`[package.metadata.tests]`). It refuses to rerun a case because it
//! failed: only a measured cause (see [`machine`]) does that.

mod case;
mod machine;
mod outcome;
mod programs;
mod schedule;

pub use case::{TestCase, Tier, Weight};
pub use outcome::CaseOutcome;
pub use programs::Suite;
pub use schedule::{Ran, Schedule};

/// The cases that a run takes.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Only this tier.
    pub tier: Option<Tier>,
    /// All cases against the originals, rather than a sample of them.
    pub whole: bool,
    /// Only cases in whose name this occurs.
    pub part: Option<String>,
}

/// One in so many of the cases against the originals is in the sample.
const SAMPLE: u64 = 8;

impl Choice {
    /// Whether a case is to be run.
    pub fn takes(&self, case: &TestCase) -> bool {
        self.tier.is_none_or(|tier| tier == case.tier)
            && self.part.as_ref().is_none_or(|part| case.name.contains(part.as_str()))
            && (self.whole || case.tier != Tier::Against || is_sampled(&case.name))
    }
}

/// Whether a case is in the sample: drawn from its name, so that it is the same in every run and in every place.
/// The hash is FNV-1a of 64 bits, whose upper half names that end in numbers hardly change: it is mixed once more.
fn is_sampled(name: &str) -> bool {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    ((hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(SAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, tier: Tier) -> TestCase {
        TestCase { program: "fio".into(), name: name.into(), tier, ..TestCase::default() }
    }

    #[test]
    fn a_sample_is_a_part_and_always_the_same() {
        let names: Vec<String> = (0..1000).map(|number| format!("job_{number}")).collect();
        let sampled = names.iter().filter(|name| is_sampled(name)).count();
        assert!((80..170).contains(&sampled), "{sampled}");
        let choice = Choice { tier: Some(Tier::Against), ..Choice::default() };
        let whole = Choice { whole: true, ..choice.clone() };
        let taken =
            |choice: &Choice| names.iter().filter(|name| choice.takes(&case(name, Tier::Against))).count();
        assert_eq!((taken(&choice), taken(&whole)), (sampled, 1000));
    }

    #[test]
    fn tiers_and_parts_of_names_choose() {
        let live = case("job_verify", Tier::Live);
        assert!(Choice::default().takes(&live));
        assert!(!Choice { tier: Some(Tier::Pure), ..Choice::default() }.takes(&live));
        assert!(Choice { part: Some("verify".into()), ..Choice::default() }.takes(&live));
    }
}
