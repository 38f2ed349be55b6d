//! What a format cannot hold, counted.

use std::collections::BTreeMap;

use iodyno_model::Verb;

use crate::TraceRecord;

/// What an exported trace does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportLosses {
    /// Records that were left out, by what they do.
    left_out: BTreeMap<&'static str, u64>,
    /// What is not told of records that were written: in how many.
    not_told: BTreeMap<&'static str, u64>,
    /// What is not told of the trace as a whole.
    of_all: Vec<&'static str>,
}

impl ExportLosses {
    pub(super) fn leave_out(&mut self, verb: Verb) {
        *self.left_out.entry(verb.name()).or_default() += 1;
    }

    pub(super) fn lose(&mut self, what: &'static str) {
        *self.not_told.entry(what).or_default() += 1;
    }

    pub(super) fn lose_if(&mut self, is_lost: bool, what: &'static str) {
        if is_lost {
            self.lose(what);
        }
    }

    pub(super) fn lose_of_all(&mut self, what: &'static str) {
        self.of_all.push(what);
    }

    /// What only our own formats hold.
    pub(super) fn lose_own(&mut self, record: &TraceRecord) {
        self.lose_if(record.content.is_some(), "digests and compressibility");
        self.lose_if(record.after.is_some(), "dependencies");
        self.lose_if(record.other.is_some(), "second names");
    }

    pub fn is_empty(&self) -> bool {
        self.left_out.is_empty() && self.not_told.is_empty() && self.of_all.is_empty()
    }

    /// A sentence for each kind of loss.
    pub fn sentences(&self) -> Vec<String> {
        let listed = |counts: &BTreeMap<&str, u64>| {
            let counts = counts.iter().map(|(what, count)| format!("{count} {what}"));
            counts.collect::<Vec<_>>().join(", ")
        };
        let told = self.not_told.iter().map(|(what, count)| {
            let records = if *count == 1 { "record" } else { "records" };
            format!("not told: {what}, of {count} {records}")
        });
        let left_out = (!self.left_out.is_empty()).then(|| format!("left out: {}", listed(&self.left_out)));
        let of_all = self.of_all.iter().map(|what| format!("not told: {what}"));
        left_out.into_iter().chain(told).chain(of_all).collect()
    }
}
