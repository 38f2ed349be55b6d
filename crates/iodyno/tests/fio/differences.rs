//! The one list of known differences between fio and ours, each with its reason; the docs print the same list.
//!
//! A difference forgives what it names and nothing else. It is no place for what is not finished: that is `pending`,
//! which counts as skipped and fails as soon as it holds.

use std::path::Path;

/// A mismatch between the two programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The comparison: `json`, `text`, `terse`, `counts`, …
    pub topic: &'static str,
    /// What differs.
    pub said: String,
}

impl Mismatch {
    /// A mismatch under a topic.
    pub fn new(topic: &'static str, said: impl Into<String>) -> Mismatch {
        Mismatch { topic, said: said.into() }
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.topic, self.said)
    }
}

/// One entry of the list.
#[derive(Debug, Clone)]
struct Difference {
    topic: String,
    says: String,
    jobs: Vec<String>,
}

/// The list, and what is not finished.
#[derive(Debug, Clone, Default)]
pub struct Known {
    differences: Vec<Difference>,
    pending: Vec<(String, String)>,
}

impl Known {
    /// Reads the list that the dialect's documentation prints.
    ///
    /// # Panics
    /// When it cannot be read: it is part of the source.
    pub fn read() -> Known {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dialect/src/fio/differences.toml");
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Known::parse(&text)
    }

    fn parse(text: &str) -> Known {
        let table: toml::Table = text.parse().expect("the list of differences is TOML");
        let entries = |key: &str| table.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let field = |entry: &toml::Value, key: &str| {
            entry.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_string()
        };
        let difference = |entry: &toml::Value| {
            assert!(field(entry, "why").len() > 20, "a difference needs its reason: {entry}");
            let jobs = field(entry, "jobs");
            Difference {
                topic: field(entry, "topic"),
                says: field(entry, "says"),
                jobs: jobs.split_whitespace().map(str::to_string).collect(),
            }
        };
        Known {
            differences: entries("difference").iter().map(difference).collect(),
            pending: entries("pending").iter().map(|e| (field(e, "case"), field(e, "why"))).collect(),
        }
    }

    /// What is left of the mismatches of a job when the known ones are taken away, and how many those are.
    pub fn forgive(&self, job: &str, mismatches: Vec<Mismatch>) -> (Vec<Mismatch>, usize) {
        let all = mismatches.len();
        let left: Vec<Mismatch> =
            mismatches.into_iter().filter(|m| !self.differences.iter().any(|d| d.covers(job, m))).collect();
        let forgiven = all - left.len();
        (left, forgiven)
    }

    /// Why a case is not expected to hold yet.
    pub fn pending(&self, case: &str) -> Option<&str> {
        self.pending.iter().find(|(name, _)| name == case).map(|(_, why)| why.as_str())
    }
}

impl Difference {
    fn covers(&self, job: &str, mismatch: &Mismatch) -> bool {
        let named = |pattern: &String| match pattern.strip_suffix('*') {
            Some(head) => job.starts_with(head),
            None => job == pattern,
        };
        self.topic == mismatch.topic && mismatch.said.contains(&self.says) && self.jobs.iter().any(named)
    }
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![("differences_forgive_what_they_name_alone", forgive_what_they_name_alone)]
}

fn forgive_what_they_name_alone() {
    let known = Known::parse(
        "[[difference]]\ntopic = \"json\"\nsays = \"jobs/[]/eta\"\njobs = \"a* b\"\n\
         why = \"a reason that is long enough\"\n[[pending]]\ncase = \"c\"\nwhy = \"later\"\n",
    );
    let eta = || vec![Mismatch::new("json", "jobs/[]/eta is missing")];
    assert_eq!(known.forgive("anything", eta()), (vec![], 1));
    assert_eq!(known.forgive("c", eta()), (eta(), 0));
    let other = vec![Mismatch::new("text", "jobs/[]/eta")];
    assert_eq!(known.forgive("b", other.clone()), (other, 0));
    assert_eq!(known.pending("c"), Some("later"));
}
