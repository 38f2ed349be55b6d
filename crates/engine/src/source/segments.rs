//! How the blocks of [`Pick::Segmented`] lie in a file that one worker has for itself, or that all workers share.
//!
//! Of a shared file a segment is one block of every worker, in the order of their numbers: transfer j of segment i of
//! worker r, of N, begins at i·N·b + r·b + j·t. Where the transfers are shuffled, those of a whole segment are dealt to
//! all workers, as many to each. Refuses to know whose block is whose: that is the owner's number.

use iodyno_model::{Extent, Job, Pick, Target, TargetKind, Workload};

use super::pattern::{directed, job_seed};
use super::walk::{Deal, PickRange};
use crate::names::templates::{Asker, is_own};

/// One worker's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerBlocks {
    /// Where its first block begins in the span of all; none: as the span says.
    pub begin: Option<u64>,
    /// How far it goes from there; none: to the end of the span.
    pub bytes: Option<u64>,
    block: u64,
    stride: u64,
    count: u64,
    shuffled: bool,
    /// Whether all workers get transfers of every block.
    dealt: bool,
}

/// How a worker's blocks lie in a target; none: its pick is another.
pub fn laid(job: &Job, pick: &Pick, target: Option<&Target>, asker: Asker<'_>) -> Option<WorkerBlocks> {
    let Pick::Segmented { block_bytes: block, count, stride_bytes, shuffled } = *pick else { return None };
    let Workload::Pattern(pattern) = &job.workload else { return None };
    let sharers = if is_alone(job, target) { 1 } else { u64::from(asker.all.max(1)) };
    let by_blocks = match pattern.span.increment {
        Extent::Rest | Extent::Bytes(0) => true,
        Extent::Bytes(bytes) => bytes == block,
        Extent::Percent(_) => false,
    };
    let among = stride_bytes == 0 && sharers > 1 && by_blocks;
    let stride = if stride_bytes == 0 { block.saturating_mul(sharers) } else { stride_bytes };
    let dealt = among && shuffled;
    let one = if dealt { stride } else { block };
    let bytes = (count > 0).then(|| stride.saturating_mul(count - 1).saturating_add(one));
    let begin = if dealt { 0 } else { block.saturating_mul(u64::from(asker.owner.worker)) };
    Some(WorkerBlocks { begin: among.then_some(begin), bytes, block, stride, count, shuffled, dealt })
}

/// The same for the verbs of a drawn job that pick this way; all of them lie alike, or the span says where.
pub fn of_job(job: &Job, target: Option<&Target>, asker: Asker<'_>) -> Option<WorkerBlocks> {
    let Workload::Pattern(pattern) = &job.workload else { return None };
    let used = pattern.mix.shares.iter().filter(|share| share.weight > 0.0);
    let mut all = used.map(|share| laid(job, directed(&pattern.pick, share.verb), target, asker));
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

/// Whether each worker has a file of its own.
fn is_alone(job: &Job, target: Option<&Target>) -> bool {
    match target.map(|target| &target.kind) {
        Some(TargetKind::File { path, .. }) => is_own(path) || (path.contains("{rank") && job.workers == 1),
        _ => false,
    }
}

impl WorkerBlocks {
    /// The plainest pick that goes the same way, over the ground it needs.
    pub fn plainly(&self, ground: PickRange) -> (Pick, PickRange) {
        let in_line = !self.shuffled && (self.stride == self.block || self.count == 1);
        if !in_line {
            let WorkerBlocks { block, stride, count, shuffled, .. } = *self;
            return (Pick::Segmented { block_bytes: block, count, stride_bytes: stride, shuffled }, ground);
        }
        let all = if self.count > 0 { self.block.saturating_mul(self.count) } else { ground.span };
        let span = ground.span.min(all);
        (Pick::Sequential, PickRange { span, reach: span, ..ground })
    }

    /// Which transfers of a segment are the worker's, where they are dealt.
    pub fn deal(&self, job: &Job, plan_seed: u64, asker: Asker<'_>, ground: PickRange) -> Option<Deal> {
        let places = self.block / ground.pitch();
        let first = places * u64::from(asker.owner.worker);
        // Everybody shuffles alike, so that no transfer is dealt twice.
        let seed = job_seed(job, plan_seed);
        self.dealt.then(|| Deal { first, all: places * (self.stride / self.block), seed })
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Pattern, Span, Verb};

    use super::super::testing::target;
    use super::*;
    use crate::names::templates::Owner;

    fn laid_by(path: &str, worker: u32, all: u32, change: impl Fn(&mut Pattern)) -> Option<WorkerBlocks> {
        let pick = Pick::Segmented { block_bytes: 64, count: 3, stride_bytes: 0, shuffled: false };
        let mut pattern = Pattern::of(Verb::Write, pick, 16);
        change(&mut pattern);
        let job = Job::new("j", "null", vec![0], Workload::Pattern(Box::new(pattern)));
        let file = target("f", TargetKind::File { path: path.into(), size: Extent::Rest });
        let asker = Asker { owner: Owner { worker, ..Owner::default() }, all, ..Asker::first("j", 0) };
        of_job(&job, Some(&file), asker)
    }

    fn places(path: &str, worker: u32, change: impl Fn(&mut Pattern)) -> (Option<u64>, Option<u64>, u64) {
        let laid = laid_by(path, worker, 4, change).unwrap();
        (laid.begin, laid.bytes, laid.stride)
    }

    #[test]
    fn a_shared_file_holds_a_block_of_every_worker_in_each_segment() {
        let plain = |_: &mut Pattern| {};
        assert_eq!(places("f", 2, plain), (Some(128), Some(2 * 256 + 64), 256));
        assert_eq!(places("f.{worker:08}", 2, plain), (None, Some(3 * 64), 64), "a file of one's own");
        let increment =
            |bytes| move |pattern: &mut Pattern| pattern.span = Span { increment: bytes, ..Span::default() };
        assert_eq!(places("f", 2, increment(Extent::Bytes(64))).0, Some(128), "said twice");
        assert_eq!(places("f", 2, increment(Extent::Bytes(1000))).0, None, "said otherwise");
        assert_eq!(places("f.{worker:a|b}", 1, plain).0, Some(64), "names that are dealt are shared");
    }

    #[test]
    fn other_picks_are_none_of_its_business() {
        assert_eq!(laid_by("f", 0, 1, |pattern| pattern.pick.write = Pick::Uniform), None);
    }

    #[test]
    fn what_lies_in_line_is_picked_in_line() {
        let ground = PickRange::plain(1000, 16, 16, true);
        let own = laid_by("f.{worker}", 2, 4, |_| {}).unwrap();
        assert_eq!(own.plainly(ground), (Pick::Sequential, PickRange { span: 192, reach: 192, ..ground }));
        let shared = laid_by("f", 2, 4, |_| {}).unwrap();
        assert!(matches!(shared.plainly(ground), (Pick::Segmented { stride_bytes: 256, .. }, _)));
    }
}
