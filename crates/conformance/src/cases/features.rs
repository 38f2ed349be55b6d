//! What the file system, its surroundings and whoever runs the cases have, and what a case needs of it.

use std::collections::BTreeMap;

use iodyno_model::{Action, Outcome, Script, Step};

use super::process::is_same;

/// Why a feature is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Whoever runs the cases may not have it: they are left out.
    Privilege(String),
    /// The file system does not have it: they are not applicable.
    Missing(String),
}

impl Lack {
    /// The reason.
    pub fn why(&self) -> &str {
        match self {
            Lack::Privilege(why) | Lack::Missing(why) => why,
        }
    }

    /// What becomes of a check of a case that needs it.
    pub fn outcome(&self, feature: &str) -> Outcome {
        match self {
            Lack::Privilege(why) => Outcome::Skip(why.clone()),
            Lack::Missing(why) if why.is_empty() => Outcome::NotApplicable(feature.into()),
            Lack::Missing(why) => Outcome::NotApplicable(format!("{feature}: {why}")),
        }
    }
}

/// What is known of features: of each by its name, what it lacks.
#[derive(Clone, Debug, Default)]
pub struct KnownFeatures(BTreeMap<String, Option<Lack>>);

impl KnownFeatures {
    /// Notes what was found.
    pub fn note(&mut self, name: &str, lack: Option<Lack>) {
        self.0.insert(name.into(), lack);
    }

    /// The first thing that is needed and not there.
    pub fn lacks(&self, needs: &[String]) -> Option<(String, Lack)> {
        needs.iter().find_map(|name| {
            let lack = match self.0.get(name) {
                Some(lack) => lack.clone()?,
                None => Lack::Missing("nobody says what this feature is".into()),
            };
            Some((name.clone(), lack))
        })
    }

    /// Everything, for the record: the name, and why it is missing.
    pub fn all(&self) -> Vec<(String, Option<String>)> {
        self.0
            .iter()
            .map(|(name, lack)| (name.clone(), lack.as_ref().map(|lack| lack.why().into())))
            .collect()
    }
}

/// Known without a probe: who runs the cases, and where.
pub const ROOT: &str = "root";
/// As above: private mounts.
pub const MOUNTS: &str = "mounts";
/// As above: a small file system of the same type.
pub const SMALL: &str = "small";

/// Whether a feature is known without a probe.
pub fn is_own(name: &str) -> bool {
    matches!(name, ROOT | MOUNTS | SMALL)
}

/// What a script needs without saying so.
pub fn implied(script: &Script) -> impl Iterator<Item = &'static str> {
    const VIEWS: [&str; 6] = ["$ro", "$nosuid", "$noexec", "$nodev", "$view", "$elsewhere"];
    let identity = is_foreign(script).then_some(ROOT);
    let mounts = (VIEWS.iter().any(|word| says(&script.steps, word)) || super::mounts::wants_own(script))
        .then_some(MOUNTS);
    let small = says(&script.steps, "$small").then_some(SMALL);
    identity.into_iter().chain(mounts).chain(small)
}

/// Whether a script has an actor who is somebody else.
pub fn is_foreign(script: &Script) -> bool {
    !script.actors.iter().all(is_same)
}

/// Whether a `$` word stands anywhere in the arguments.
fn says(steps: &[Step], word: &str) -> bool {
    let ends =
        |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':'));
    steps.iter().any(|step| match &step.action {
        Action::Block(steps) => says(steps, word),
        Action::Call(call) => call
            .arguments
            .iter()
            .any(|argument| argument.match_indices(word).any(|(at, _)| ends(&argument[at + word.len()..]))),
        Action::Do(_) => false,
    })
}
