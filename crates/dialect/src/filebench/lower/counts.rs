//! Flowops that look at what others do: limits, ends, semaphores and signals.
//!
//! `target=` is any flowop of the script, by its own name: what this thread has of that name goes first. Refuses what could
//! never be counted, such as bytes of a flowop that moves none.

use iodyno_model::{Operation, Per, SharedKind, SharedUse, Step, Verb};

use super::flowop_compiler::{FlowopCompiler, Label, WaitTarget, called, is_called};
use crate::filebench::script::{Attributes, Flowop};

/// Names that a hint lists, at most.
const LISTED_MOST: usize = 24;

/// What a flowop counts.
enum CountScope {
    /// All that its thread does.
    Thread,
    /// Flowops of a name: the one that its thread has, if it has one, and all of the script.
    Named { own: Option<String>, all: Vec<String> },
}

impl FlowopCompiler<'_, '_> {
    /// How much is waited for or posted, drawn each time or not, and the most that it may be.
    pub(super) fn amount(&mut self, attributes: &Attributes, verb: Verb, of: &str) -> (u64, Operation) {
        let drawn = self.reader.bounded(attributes, &["value"], 1).flatten();
        let most = match &drawn {
            Some(size) => size.most_bytes().unwrap_or(1),
            None => self.reader.count(attributes, &["value"], 1),
        };
        let shared = Some(SharedUse::new(of, if drawn.is_some() { 1 } else { most as i64 }));
        let drawn = drawn.map(|size| (size, 1.0));
        (most, Operation { shared, drawn, ..Operation::control(verb) })
    }

    /// `wakeup` and `sempost`: to what waits, in any thread.
    pub(super) fn post(&mut self, flowop: &Flowop, label: &str) -> Vec<Step> {
        let Some(target) = self.reader.text(&flowop.attributes, &["target"]) else {
            self.refuse(flowop, " without target=", "target=NAME of the flowop that waits");
            return Vec::new();
        };
        let name = called(self.waits, &target).unwrap_or(target);
        let wakes = flowop.kind == "wakeup";
        let (most, mut operation) = match wakes {
            true => {
                let shared = Some(SharedUse::new(&name, 1));
                (1, Operation { shared, ..Operation::control(Verb::Post) })
            }
            false => self.amount(&flowop.attributes, Verb::Post, &name),
        };
        if !wakes && !self.reader.flag(&flowop.attributes, &["blocking"]) {
            operation.arguments.push(("bounded".into(), "false".into()));
        }
        self.thread.named.push(WaitTarget { name, wakes, most, origin: flowop.origin.clone() });
        vec![operation.step(label)]
    }

    /// What a flowop counts, and whether anything of it can be counted.
    fn counted(&mut self, flowop: &Flowop, by_data: bool) -> Option<CountScope> {
        let Some(target) = self.reader.text(&flowop.attributes, &["target"]) else {
            return Some(CountScope::Thread);
        };
        if self.everywhere.is_empty() {
            return Some(CountScope::Named { own: None, all: vec![target] });
        }
        let of_name = |labels: &[Label]| -> Vec<Label> {
            labels.iter().filter(|label| is_called(&label.name, &target)).cloned().collect()
        };
        let (own, all) = (of_name(&self.thread.labels), of_name(self.everywhere));
        if all.is_empty() {
            let message = format!("target={target}: the script has no flowop of that name");
            let hint = format!("there are: {}", listed(&self.thread.labels, self.everywhere));
            self.reader.complain(&flowop.origin, message, hint);
            return None;
        }
        if by_data && !all.iter().any(|label| label.moves) {
            let hint = match flowop.kind.as_str() {
                "iopslimit" => "opslimit counts what moves none; of a composite, name the flowop in it",
                "finishonbytes" => "finishoncount counts operations; of a composite, name the flowop in it",
                _ => "name a flowop that reads or writes",
            };
            self.refuse(flowop, &format!(": target={target} moves no data itself"), hint);
            return None;
        }
        let one = |own: Vec<Label>| <[Label; 1]>::try_from(own).ok().map(|[label]| label.name);
        let mut all: Vec<String> = all.into_iter().map(|label| label.name).collect();
        all.dedup();
        Some(CountScope::Named { own: one(own), all })
    }

    /// The count of what all flowops of some names do.
    fn done(&mut self, of: Vec<String>, bytes: bool) -> String {
        let what = if bytes { "bytes" } else { "operations" };
        let name = format!("{what} of {}", of.join(" and "));
        // Before the script's flowops are known, a name stands for nothing yet.
        if !self.everywhere.is_empty() {
            self.shared.insert(name.clone(), SharedKind::Done { of, bytes });
        }
        name
    }

    /// Events that are waited for; without a generator nothing is.
    pub(super) fn limit(&mut self, flowop: &Flowop, label: &str) -> Vec<Step> {
        let (per, by_data) = match flowop.kind.as_str() {
            "eventlimit" => (Per::Use, false),
            "bwlimit" => (Per::Bytes(1 << 20), true),
            "iopslimit" => (Per::Operation, true),
            _ => (Per::Operation, false),
        };
        let Some(counted) = self.counted(flowop, by_data) else { return Vec::new() };
        if !self.events {
            return Vec::new();
        }
        let mut used = SharedUse { per, ..SharedUse::new("events", 1) };
        match counted {
            _ if per == Per::Use => {}
            CountScope::Thread => {}
            CountScope::Named { own: Some(own), .. } => used.of = Some(own),
            CountScope::Named { own: None, all } => {
                used.from = Some(self.done(all, matches!(per, Per::Bytes(_))));
            }
        }
        vec![Operation { shared: Some(used), ..Operation::control(Verb::Wait) }.step(label)]
    }

    /// What was done by all threads, looked at; reached, it ends this one.
    pub(super) fn finish(&mut self, flowop: &Flowop, label: &str) -> Vec<Step> {
        let bytes = flowop.kind == "finishonbytes";
        let value = self.reader.count(&flowop.attributes, &["value"], 1);
        let Some(counted) = self.counted(flowop, bytes) else { return Vec::new() };
        let name;
        let counts = match counted {
            // Those that look at it add what they did themselves since they last did.
            CountScope::Thread => {
                name = format!("{} of all", if bytes { "bytes" } else { "operations" });
                self.shared.insert(name.clone(), SharedKind::Counter);
                let per = if bytes { Per::Bytes(1) } else { Per::Operation };
                SharedUse { per, ..SharedUse::new(&name, 1) }
            }
            CountScope::Named { all, .. } => {
                name = self.done(all, bytes);
                SharedUse::new(&name, 0)
            }
        };
        let reached = SharedUse::new(&name, value as i64);
        let step = |verb, used| Operation { shared: Some(used), ..Operation::control(verb) }.step(label);
        vec![step(Verb::Post, counts), step(Verb::Finish, reached)]
    }
}

/// Names that a target may have: this thread's first.
fn listed(own: &[Label], everywhere: &[Label]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for label in own.iter().chain(everywhere) {
        if !label.name.ends_with(".open") && !names.contains(&label.name.as_str()) {
            names.push(&label.name);
        }
    }
    let more = if names.len() > LISTED_MOST { " …" } else { "" };
    names.truncate(LISTED_MOST);
    names.join(" ") + more
}
