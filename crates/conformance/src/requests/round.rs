//! One round: its steps one after the other, each answer judged, and what it made removed.

use iodyno_model::{Action, Expect, Step};
use iodyno_s3::address::BucketAddress;
use iodyno_s3::body::{ListPage, VersionPage, uploads};
use iodyno_s3::operation;

use super::calls::carry_out;
use super::client::Client;
use crate::judge::{Came, Miss, is_outcome, judge, shorten};
use crate::words::{Labels, Surroundings, WordFailure, resolve};

/// How often what a round left is looked for and deleted: a page has a thousand keys, and no round makes as many.
const REMOVALS: u32 = 3;

/// How a step ended.
pub enum RoundEnd {
    /// The next step can be made; for each check what it came to if it did not pass.
    On(Vec<Option<Miss>>),
    /// Nothing that follows means anything: why.
    Ends(Vec<Option<Miss>>, String),
    /// A step of the set-up failed: how.
    SetUpFailed(String),
}

/// A round below a prefix of its own.
pub struct StoreRound<'a, 'b> {
    client: &'a mut Client<'b>,
    prefix: String,
    labels: Labels,
}

impl<'a, 'b> StoreRound<'a, 'b> {
    pub fn new(client: &'a mut Client<'b>, name: &str) -> Self {
        let prefix = format!("{}{name}/", client.settings.prefix);
        StoreRound { client, prefix, labels: Labels::new() }
    }

    /// Makes a step, and judges what came of it.
    ///
    /// # Errors
    /// The rule makes no sense: why.
    pub fn step(&mut self, step: &Step) -> Result<RoundEnd, String> {
        let Action::Call(call) = &step.action else { return Err("it holds more than calls".into()) };
        let put_in =
            self.resolved(&call.arguments).and_then(|words| Ok((words, self.expects(&call.expect)?)));
        let (words, expects) = match put_in {
            Ok(both) => both,
            Err(WordFailure::Wrong(why)) => return Err(why),
            Err(WordFailure::Missing(why)) => return Ok(RoundEnd::SetUpFailed(why)),
        };
        let came = carry_out(self.client, &self.prefix, &call.name, &words)?;
        let shown: Vec<String> = words.iter().map(|word| shorten(word, 60)).collect();
        let said = format!("`{} {}` came back with {}", call.name, shown.join(" "), came.ended());
        let end = if expects.is_empty() {
            if came.succeeded() { RoundEnd::On(Vec::new()) } else { RoundEnd::SetUpFailed(said) }
        } else {
            let misses: Vec<_> = expects.iter().map(|expect| judge(expect, &came)).collect();
            let mut missed = expects.iter().zip(&misses).filter(|(_, miss)| miss.is_some());
            match missed.any(|(expect, _)| is_outcome(expect) || !came.succeeded()) {
                true => RoundEnd::Ends(misses, said),
                false => RoundEnd::On(misses),
            }
        };
        if !step.label.is_empty() {
            let Came { answer, .. } = came;
            self.labels.insert(step.label.clone(), answer);
        }
        Ok(end)
    }

    fn resolved(&mut self, words: &[String]) -> Result<Vec<String>, WordFailure> {
        words.iter().map(|word| resolve(word, self)).collect()
    }

    /// Expectations with their words put in.
    fn expects(&mut self, expects: &[Expect]) -> Result<Vec<Expect>, WordFailure> {
        let put_in = |expect: &Expect| {
            Ok(match expect {
                Expect::Answers(words) => Expect::Answers(self.resolved(words)?),
                Expect::Attribute { name, relation, value } => {
                    let value = resolve(value, self)?;
                    Expect::Attribute { name: name.clone(), relation: relation.clone(), value }
                }
                other => other.clone(),
            })
        };
        expects.iter().map(put_in).collect()
    }

    /// Removes what it left: objects and uploads that were not ended.
    ///
    /// # Errors
    /// What is left, and why.
    pub fn remove(mut self) -> Result<(), String> {
        let at = self.client.at.clone();
        let left =
            |prefix: &str, why: String| format!("s3 objects below {prefix} could not be removed: {why}");
        let page = self.ask(&operation::list_uploads(&at, &self.prefix)).unwrap_or_default();
        // Whatever a store makes of a prefix: nobody else's uploads or objects are touched.
        let all = uploads(&page).unwrap_or_default();
        for (key, id) in all.into_iter().filter(|(key, _)| key.starts_with(&self.prefix)) {
            let _ = self.client.ask_patiently(&operation::abort_upload(&at, &key, &id), &[]);
        }
        // A store whose lists lag behind is asked again; one that removes nothing is not asked for ever.
        for _ in 0..REMOVALS {
            let found = self.what_is_left(&at).map_err(|why| left(&self.prefix, why))?;
            if found.is_empty() {
                return Ok(());
            }
            for (key, version) in &found {
                let request = operation::delete(&at, key);
                let request = match version {
                    Some(id) => request.with("versionId", id),
                    None => request,
                };
                self.ask(&request).map_err(|why| left(key, why))?;
            }
        }
        let prefix = self.prefix.clone();
        match self.what_is_left(&at) {
            Ok(found) if found.is_empty() => Ok(()),
            Ok(_) => Err(left(&prefix, "they are listed again after they were deleted".into())),
            Err(why) => Err(left(&prefix, why)),
        }
    }

    /// Keys below the prefix, with their versions where the bucket keeps any: a page of them.
    fn what_is_left(&mut self, at: &BucketAddress) -> Result<Vec<(String, Option<String>)>, String> {
        if self.client.keeps_versions() {
            let page = VersionPage::parse(&self.ask(&operation::list_versions(at, &self.prefix, None))?)?;
            let ours = page.versions.into_iter().filter(|version| version.key.starts_with(&self.prefix));
            return Ok(ours.map(|version| (version.key, Some(version.id))).collect());
        }
        let page = ListPage::parse(&self.ask(&operation::list(at, &self.prefix, 1000, None))?)?;
        let ours = page.keys.into_iter().filter(|(key, _)| key.starts_with(&self.prefix));
        Ok(ours.map(|(key, _)| (key, None)).collect())
    }

    fn ask(&mut self, request: &iodyno_s3::RequestHead) -> Result<Vec<u8>, String> {
        let answer = self.client.ask_patiently(request, &[])?;
        if answer.is_success() { Ok(answer.body) } else { Err(answer.errors().join(", ")) }
    }
}

impl Surroundings for StoreRound<'_, '_> {
    fn number(&mut self, _name: &str) -> Option<Result<i128, WordFailure>> {
        None
    }

    fn text(&mut self, name: &str) -> Option<Result<String, WordFailure>> {
        // The bucket's name, as a copy's source wants it.
        (name == "bucket").then(|| Ok(self.client.settings.bucket.clone()))
    }

    fn labels(&self) -> &Labels {
        &self.labels
    }
}
