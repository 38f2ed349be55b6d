//! Passes over a plan whose number is not known before: until each rate has a narrow confidence interval, or is steady.
//!
//! The first rank decides, and only between passes; `truth` judges whether a rate is good enough.

use std::sync::Arc;

use iodyno_model::{Phase, Plan, Record, Repeat, RoundsRecord, sweep};
use iodyno_truth::rounds;

/// What of a plan comes again, and until when.
pub struct Passes {
    repeat: Repeat,
    /// The phases of the first pass.
    once: Vec<Phase>,
    /// Passes in the plan so far.
    made: u32,
    /// Phases in the record when the last pass was decided on.
    recorded: usize,
}

impl Passes {
    /// The passes of an expanded plan; `repeat` is what it said before.
    pub fn new(plan: &Plan, repeat: Repeat) -> Self {
        let made = repeat.times.max(1);
        let phases = plan.phases.iter().filter(|phase| !phase.precondition);
        let count = phases.clone().count() / made as usize;
        Passes { repeat, once: phases.take(count).cloned().collect(), made, recorded: 0 }
    }

    /// Whether another pass is wanted after those in the record.
    pub fn want(&mut self, plan: &Plan, record: &mut Record) -> bool {
        let recorded = std::mem::replace(&mut self.recorded, record.phases.len());
        if !rounds::waits(&self.repeat) || self.once.is_empty() || self.made >= rounds::most(&self.repeat) {
            return false;
        }
        // A pass of which every phase was left out would be so for ever.
        let found = rounds::judge(plan, &self.repeat, record);
        !found.attained && found.passes > 0 && record.phases.len() > recorded
    }

    /// Adds a pass to the plan.
    pub fn append(&mut self, plan: &mut Arc<Plan>) {
        let next = sweep::pass(&self.once, self.made);
        Arc::make_mut(plan).phases.extend(next);
        self.made += 1;
    }

    /// How it came to its end, where that was open.
    pub fn told(&self, plan: &Plan, record: &Record) -> Option<RoundsRecord> {
        rounds::waits(&self.repeat).then(|| rounds::judge(plan, &self.repeat, record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_added_one_by_one_and_what_makes_ready_is_not() {
        let phase = |name: &str, precondition| Phase { name: name.into(), precondition, ..Phase::default() };
        let plan = Plan {
            phases: vec![phase("a", false), phase("fill", true), phase("b", false)],
            repeat: Repeat { times: 2, until_interval_percent: 5.0, ..Repeat::default() },
            ..Plan::default()
        };
        let mut expanded = Arc::new(sweep::expand(&plan).unwrap());
        let mut passes = Passes::new(&expanded, plan.repeat);
        passes.append(&mut expanded);
        let names: Vec<_> = expanded.phases.iter().map(|p| (p.name.as_str(), p.repetition)).collect();
        assert_eq!(names, [("fill", 0), ("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]);
        assert!(!passes.want(&expanded, &mut Record::default()), "nothing ran");
    }
}
