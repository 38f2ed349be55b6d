//! A depth that was asked for and never reached (13).

use iodyno_model::{Rate, Severity, Verb};

use crate::stage::*;

#[test]
fn depth_that_was_never_reached() {
    fn depths(stage: &mut Stage, asked: u32, reached: &[u64]) {
        (stage.record().depth, stage.job.depth.most) = (asked, asked);
        stage.record().tally.depths = reached.to_vec();
    }
    lie(Verb::Read, (13, Severity::Doubtful), |s| {
        (depths(s, 32, &[0, 100_000]), s.record().engine = "psync".into()).0
    });
    lie(Verb::Read, (13, Severity::Doubtful), |s| {
        (depths(s, 2, &[0, 100_000]), s.record().engine = "mmap".into()).0
    });
    lie(Verb::Read, (13, Severity::Doubtful), |s| depths(s, 32, &[0, 50_000, 50_000, 1000]));
    twin(Verb::Read, |s| depths(s, 4, &[0, 1, 1, 1, 100_000]));
    // All complete together and are handed over one after the other.
    twin(Verb::Read, |s| depths(s, 4, &[0, 25_000, 25_000, 25_000, 25_000]));
    twin(Verb::Read, |s| (depths(s, 1, &[0, 100_000]), s.record().engine = "psync".into()).0);
    // Fewer operations than would fill the queue a few times.
    twin(Verb::Read, |s| depths(s, 32, &[0, 50]));
    twin(Verb::Read, |s| (depths(s, 32, &[0, 100_000]), s.job.pace.rate.read = Rate::Operations(1000.0)).0);
}
