//! What is known of a case before it runs.

use std::path::PathBuf;
use std::str::FromStr;

/// By what a case is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tier {
    /// By values and virtual time: nothing of the machine matters.
    #[default]
    Pure,
    /// By what the kernel, a device or another program counted.
    Live,
    /// By an original program beside ours.
    Against,
}

impl Tier {
    /// All of them, in the order in which they run.
    pub const ALL: [Tier; 3] = [Tier::Pure, Tier::Live, Tier::Against];

    /// Its name, as `--only` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Pure => "pure",
            Tier::Live => "live",
            Tier::Against => "against",
        }
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let tier = Tier::ALL.into_iter().find(|tier| tier.name() == text);
        tier.ok_or_else(|| format!("`{text}`: expected pure, live or against"))
    }
}

/// What a case asks of the processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// It mostly waits: several for each processor.
    Waits,
    /// It keeps a processor busy.
    #[default]
    Computes,
    /// It looks at the whole machine: nothing else runs.
    Alone,
}

/// One case, or a whole program of the pure tier.
#[derive(Debug, Clone, Default)]
pub struct TestCase {
    /// Its program, by the name of its target: `door`; of a crate's own tests: the crate.
    pub program: String,
    /// Its name in the program; empty: all of the program.
    pub name: String,
    /// By what it is judged.
    pub tier: Tier,
    /// What it asks of the processors.
    pub weight: Weight,
    /// The built test program.
    pub executable: PathBuf,
    /// Where it is to run: its package's folder.
    pub folder: PathBuf,
}

impl TestCase {
    /// How it is named in what is printed.
    pub fn title(&self) -> String {
        if self.name.is_empty() { self.program.clone() } else { format!("{}: {}", self.program, self.name) }
    }

    /// A line of a program's plan: `NAME\tWEIGHT\tTIER`; or of its list: `NAME: test`, which says nothing else.
    pub fn read(line: &str) -> Option<TestCase> {
        if let Some((name, rest)) = line.split_once('\t') {
            let (weight, tier) = rest.split_once('\t')?;
            let weight = match weight {
                "waits" => Weight::Waits,
                "computes" => Weight::Computes,
                "alone" => Weight::Alone,
                _ => return None,
            };
            return Some(TestCase {
                name: name.into(),
                weight,
                tier: tier.parse().ok()?,
                ..TestCase::default()
            });
        }
        let name = line.strip_suffix(": test")?;
        Some(TestCase { name: name.into(), tier: Tier::Live, ..TestCase::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_and_lists_are_read() {
        let case = TestCase::read("text is the original's: -t 2\twaits\tagainst").expect("a case");
        assert_eq!((case.name.as_str(), case.weight), ("text is the original's: -t 2", Weight::Waits));
        assert_eq!(case.tier, Tier::Against);
        let case = TestCase::read("a::b: test").expect("a case");
        assert_eq!((case.name.as_str(), case.weight, case.tier), ("a::b", Weight::Computes, Tier::Live));
        assert!(
            TestCase::read("3 tests, 0 benchmarks").is_none() && TestCase::read("a\tflies\tlive").is_none()
        );
    }

    #[test]
    fn a_tier_is_known_by_its_name() {
        assert!(Tier::ALL.iter().all(|tier| tier.name().parse() == Ok(*tier)));
        assert!("quick".parse::<Tier>().unwrap_err().contains("pure, live or against"));
    }
}
