//! Script steps that only print a message: reported when a worker passes them, as far as its counts show it.
//!
//! Workers write nothing: the conductor reads their counts, as it does all others. A step that is passed often is reported once a
//! second with its count, and few lines of all steps are printed.

use iodyno_model::{Action, Event, Said, Step, Verb, Workload};

use super::{Emit, PhaseContext};
use crate::clock::{self, Tick};

/// The same step is told again after so long, ns.
const AGAIN_NS: u64 = 1_000_000_000;
/// Lines that are reported in that time, at most.
const LINES_MOST: usize = 10;

/// What the steps of a phase say.
#[derive(Default)]
pub struct LogSteps {
    all: Vec<Saying>,
    /// Lines that were reported since then.
    lines: (Tick, usize),
}

/// What one step says, and how often that was reported.
struct Saying {
    job: usize,
    line: usize,
    label: String,
    text: String,
    told: u64,
    next: Tick,
}

impl LogSteps {
    /// Those of a phase.
    pub fn of(context: &PhaseContext) -> Self {
        let mut all = Vec::new();
        for (job, description) in context.phase().jobs.iter().enumerate() {
            let Workload::Script(script) = &description.workload else { continue };
            find(&script.steps, &mut |label, text| {
                let is = |(name, verb): &(String, Verb)| name == label && *verb == Verb::Spin;
                let Some(line) = context.labels[job].iter().position(is) else { return };
                let (label, text) = (label.to_string(), text.to_string());
                all.push(Saying { job, line, label, text, told: 0, next: 0 });
            });
        }
        LogSteps { all, lines: (0, 0) }
    }

    /// Tells what came by since.
    pub fn tell(&mut self, context: &PhaseContext, now: Tick, emit: Emit<'_>) {
        if self.all.is_empty() {
            return;
        }
        if now >= self.lines.0.saturating_add(AGAIN_NS) {
            self.lines = (now, 0);
        }
        for saying in self.all.iter_mut().filter(|saying| now >= saying.next) {
            if self.lines.1 == LINES_MOST {
                return;
            }
            let seats = context.seats.iter().enumerate().filter(|(_, (job, _))| *job == saying.job);
            let count: u64 =
                seats.map(|(number, _)| context.counters.of(number).operations(saying.line)).sum();
            // After a warm-up counts begin anew.
            let times = if count < saying.told { count } else { count - saying.told };
            saying.told = count;
            if times == 0 {
                continue;
            }
            saying.next = now.saturating_add(AGAIN_NS);
            self.lines.1 += 1;
            let at_unix_ns = clock::unix_ns();
            emit(&Event::Said(Box::new(Said {
                phase: context.phase().name.clone(),
                label: saying.label.clone(),
                text: saying.text.clone(),
                times,
                rank: context.rank,
                began_unix_ns: at_unix_ns.saturating_sub(now.saturating_sub(context.barrier.started())),
                at_unix_ns,
            })));
        }
    }
}

/// Every step that says something, composites unfolded.
fn find(steps: &[Step], found: &mut dyn FnMut(&str, &str)) {
    for step in steps {
        match &step.action {
            Action::Block(steps) => find(steps, found),
            Action::Do(operation) if operation.verb == Verb::Spin => {
                let says = operation.arguments.iter().find(|(name, _)| name == "says");
                says.iter().for_each(|(_, text)| found(&step.label, text));
            }
            _ => {}
        }
    }
}
