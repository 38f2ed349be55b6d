//! What accelerators did step by step, from what they wrote down: loading, computing, and the checkpoints between steps.

use iodyno_model::{JournalEntry, JournalPart, Verb};

use super::lower::DlioPhase;

/// One step of an accelerator, s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTimes {
    /// Until its batch was there.
    pub load_s: f64,
    pub compute_s: f64,
    /// Loading and computing.
    pub whole_s: f64,
    /// When it ended, after the start line.
    pub ended_s: f64,
}

/// A continuous run of steps, which a checkpoint ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockTimes {
    /// After the start line.
    pub began_s: f64,
    pub ended_s: f64,
    pub steps: Vec<StepTimes>,
    /// From when to when the checkpoint behind it was written; none: there was none.
    pub saved: Option<(f64, f64)>,
}

/// What one accelerator wrote down.
#[derive(Clone, Debug, Default)]
pub struct AcceleratorSteps {
    pub blocks: Vec<BlockTimes>,
    /// The end of the step before, from which loading counts.
    since_s: f64,
    /// Control operations behind a step that still come.
    behind: u32,
    taken: u64,
    /// Pauses of this step by now.
    pauses: u32,
}

impl AcceleratorSteps {
    /// Takes note of more entries, in the order of time.
    pub fn add(&mut self, part: &JournalPart, phase: &DlioPhase) {
        if self.blocks.is_empty() {
            self.since_s = part.began_ns as f64 / 1e9;
            self.blocks.push(BlockTimes {
                began_s: self.since_s,
                ended_s: self.since_s,
                ..BlockTimes::default()
            });
        }
        for entry in &part.entries {
            let JournalEntry::Done { at_ns, verb, latency_ns, .. } = entry else { continue };
            self.take(*at_ns as f64 / 1e9, *verb, *latency_ns as f64 / 1e9, phase);
        }
    }

    fn take(&mut self, at_s: f64, verb: Verb, latency_s: f64, phase: &DlioPhase) {
        if self.behind > 0 {
            return self.take_behind(at_s, phase);
        }
        if verb != Verb::Think || self.taken >= phase.steps {
            return;
        }
        if self.pauses < phase.pauses {
            self.pauses += 1;
            return;
        }
        let since_s = self.since_s;
        self.pauses = 0;
        let Some(block) = self.blocks.last_mut() else { return };
        block.steps.push(StepTimes {
            load_s: (at_s - latency_s - since_s).max(0.0),
            compute_s: latency_s,
            whole_s: at_s - since_s,
            ended_s: at_s,
        });
        block.ended_s = at_s;
        self.since_s = at_s;
        self.taken += 1;
        // The barrier, the end of the step itself, and of a checkpoint two more.
        self.behind = 1 + u32::from(phase.barrier) + 2 * u32::from(phase.saves.contains(&self.taken));
    }

    fn take_behind(&mut self, at_s: f64, phase: &DlioPhase) {
        self.behind -= 1;
        self.since_s = at_s;
        let saves = phase.saves.contains(&self.taken);
        let Some(block) = self.blocks.last_mut() else { return };
        match (saves, self.behind) {
            (true, 0) => {
                block.saved = Some((block.ended_s, at_s));
                if self.taken < phase.steps {
                    self.blocks.push(BlockTimes { began_s: at_s, ended_s: at_s, ..BlockTimes::default() });
                }
            }
            (true, 1) => {}
            _ => block.ended_s = at_s,
        }
    }
}

impl BlockTimes {
    /// The share of its time in which it computed, percent; so many steps at its beginning and its end do not count.
    ///
    /// Source: DLIO 2.0.0: computing without the first step, over the block's time without the first step's.
    pub fn utilised_percent(&self, nominal_s: Option<f64>, (first, last): (usize, usize)) -> f64 {
        let end = self.steps.len().saturating_sub(last);
        let counted = self.steps.get(first..end).unwrap_or_default();
        let left_out = |steps: &[StepTimes]| steps.iter().map(|step| step.whole_s).sum::<f64>();
        let before = left_out(&self.steps[..first.min(self.steps.len())]);
        let behind = left_out(&self.steps[end.max(first).min(self.steps.len())..]);
        let computed: f64 = counted.iter().map(|step| nominal_s.unwrap_or(step.compute_s)).sum();
        let whole = self.ended_s - self.began_s - before - behind;
        if computed > 0.0 && whole > 0.0 { computed / whole * 100.0 } else { 0.0 }
    }

    pub fn samples_per_second(&self, batch: u32) -> f64 {
        let whole = self.ended_s - self.began_s;
        if whole > 0.0 { self.steps.len() as f64 * f64::from(batch) / whole } else { 0.0 }
    }
}
