//! Secrets that a command line, a job file or the environment named, in memory that core dumps leave out.
//!
//! The program takes each secret out of the words before anybody reads them, and keeps it here; in its place stands `***`,
//! which is all that plans, records and messages ever hold. An engine asks here for what a stand-in stands for. What is
//! not kept here (a run that is done again, another machine) has to come from the environment.

use std::sync::{Mutex, MutexGuard, PoisonError};

use iodyno_model::Plan;
use iodyno_model::reflect::Reflect;
use iodyno_model::secret::{SecretKind, stand_in, stand_in_number};
use iodyno_s3::Secret;
use iodyno_s3::credentials::wipe_bytes;

use crate::failure::Failure;

mod arguments;
mod pages;

pub use arguments::{hide_environment, overwrite_arguments};
pub use pages::{SecretBytes, SecretPages};

/// A secret, and what stands for it.
struct KeptSecret {
    kind: SecretKind,
    number: u32,
    /// None: only what stands for it was read.
    value: Option<SecretPages<Secret>>,
    /// Whether every rank read it in its own command line.
    in_words: bool,
}

static KEPT: Mutex<Vec<KeptSecret>> = Mutex::new(Vec::new());

fn kept() -> MutexGuard<'static, Vec<KeptSecret>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn page(text: &str) -> Result<SecretPages<Secret>, Failure> {
    let mut page = SecretPages::new(Secret::empty())?;
    page.set(text).map_err(Failure::new)?;
    Ok(page)
}

/// Keeps a secret, and returns what stands for it. A text that is a stand-in already remains what it is, and no other secret
/// gets it.
///
/// # Errors
/// It is too long, or there is no memory for it.
pub fn keep(kind: SecretKind, text: &str) -> Result<String, Failure> {
    let mut all = kept();
    let of_kind = |kept: &&KeptSecret| kept.kind == kind;
    if let Some(number) = stand_in_number(text) {
        if !all.iter().filter(of_kind).any(|kept| kept.number == number) {
            all.push(KeptSecret { kind, number, value: None, in_words: false });
        }
        return Ok(text.into());
    }
    let is_it = |kept: &&KeptSecret| kept.value.as_ref().is_some_and(|value| value.text() == text);
    if let Some(known) = all.iter().filter(of_kind).find(is_it) {
        return Ok(stand_in(known.number));
    }
    let number = all.iter().filter(of_kind).map(|kept| kept.number + 1).max().unwrap_or(0);
    all.push(KeptSecret { kind, number, value: Some(page(text)?), in_words: false });
    Ok(stand_in(number))
}

/// Puts what a stand-in stands for where it is wanted; whether it is kept here.
pub fn fetch(kind: SecretKind, text: &str, into: &mut Secret) -> bool {
    let Some(number) = stand_in_number(text) else { return false };
    let all = kept();
    let found = all.iter().find(|kept| kept.kind == kind && kept.number == number);
    let Some(value) = found.and_then(|kept| kept.value.as_ref()) else { return false };
    into.set(value.text()).is_ok()
}

/// What is made of the secret that a text stands for; none: it is not kept here.
pub fn with<T>(kind: SecretKind, text: &str, make: impl FnOnce(Option<&str>) -> T) -> T {
    let mut value = Secret::empty();
    let is_here = fetch(kind, text, &mut value);
    make(is_here.then(|| value.text()))
}

/// Settings of engines whose values are stand-ins.
pub const SETTINGS: &[(&str, SecretKind)] = &[
    ("access_key", SecretKind::AccessKey),
    ("secret_key", SecretKind::SecretKey),
    ("session_token", SecretKind::SessionToken),
    ("customer_key", SecretKind::CustomerKey),
];

/// Whether a plan names secrets that are not kept here.
pub fn are_missing(plan: &Plan) -> bool {
    let all = kept();
    let settings = plan.phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.settings);
    settings.into_iter().any(|setting| {
        let kind = SETTINGS.iter().find(|(name, _)| *name == setting.name).map(|(_, kind)| *kind);
        let number = stand_in_number(&setting.value);
        let here = |kept: &KeptSecret| {
            kept.value.is_some() && Some(kept.kind) == kind && Some(kept.number) == number
        };
        kind.is_some() && number.is_some() && !all.iter().any(here)
    })
}

/// A secret on its way to another rank.
#[derive(Reflect)]
pub struct SentSecret {
    kind: SecretKind,
    number: u32,
    text: String,
}

impl Drop for SentSecret {
    fn drop(&mut self) {
        iodyno_s3::credentials::wipe(&mut self.text);
    }
}

/// What is kept by now stood in the command line: every rank of a launcher has it in its own.
pub fn are_in_words() {
    kept().iter_mut().for_each(|kept| kept.in_words = true);
}

/// What the other ranks have no other way to: what stood in a file that the first one read.
pub fn sent() -> Vec<SentSecret> {
    let all = kept();
    let one = |kept: &KeptSecret| {
        if kept.in_words {
            return None;
        }
        let text = kept.value.as_ref()?.text().to_string();
        Some(SentSecret { kind: kept.kind, number: kept.number, text })
    };
    all.iter().filter_map(one).collect()
}

/// Keeps what the first rank sent.
///
/// # Errors
/// There is no memory for it.
pub fn receive(secrets: Vec<SentSecret>) -> Result<(), Failure> {
    let mut all = kept();
    for sent in secrets {
        all.retain(|kept| kept.kind != sent.kind || kept.number != sent.number);
        let value = Some(page(&sent.text)?);
        all.push(KeptSecret { kind: sent.kind, number: sent.number, value, in_words: false });
    }
    Ok(())
}

/// Overwrites bytes that held a secret.
pub fn wipe(bytes: &mut [u8]) {
    wipe_bytes(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_kept_by_what_stands_for_it() {
        let kind = SecretKind::CustomerKey;
        // Of a rerun: it stands for something that is not here.
        assert_eq!(keep(kind, "***").unwrap(), "***");
        let first = keep(kind, "first of the test").unwrap();
        assert_eq!(first, "***2");
        assert_eq!(keep(kind, "first of the test").unwrap(), first);
        assert_eq!(keep(kind, "another").unwrap(), "***3");
        let mut found = Secret::empty();
        assert!(fetch(kind, &first, &mut found) && found.text() == "first of the test");
        assert!(!fetch(kind, "***", &mut found) && !fetch(kind, "***9", &mut found));
        assert!(!fetch(SecretKind::Other, &first, &mut found));
        let sent = sent();
        assert!(sent.iter().any(|sent| sent.kind == kind && sent.number == 1));
        receive(sent).unwrap();
        assert!(fetch(kind, "***3", &mut found) && found.text() == "another");
        assert!(keep(kind, &"x".repeat(5000)).is_err());
    }
}
