//! Errors that count as work (20).

use iodyno_model::{ErrorCount, Intent, Severity, Verb};

use crate::stage::*;

#[test]
fn errors_that_count_as_work() {
    fn failed(stage: &mut Stage, errno: i32) {
        let verb = stage.record().tally.lines[0].verb;
        stage.record().tally.lines[0].failed = 7;
        let error = ErrorCount { verb, errno, count: 7, first_offset: 8192, first_target: 0 };
        stage.record().tally.errors.push(error);
    }
    let wrong = (20, Severity::Invalid);
    lie(Verb::Read, wrong, |s| failed(s, 5));
    lie(Verb::Read, wrong, |s| failed(s, -1));
    lie(Verb::Read, wrong, |s| (failed(s, -1), s.intent = Intent::Correctness).0);
    lie(Verb::Write, wrong, |s| s.record().tally.lines[0].short = 1);
    lie(Verb::Read, wrong, |s| s.record().tally.lines[0].short = 9);
    lie(Verb::Read, wrong, |s| s.record().workers[0].failure = Some("no memory\nless depth".into()));
    // The last block of a file may be short, once for each worker.
    twin(Verb::Read, |s| s.record().tally.lines[0].short = 1);
    let stage = staged(Verb::Read, |s| failed(s, 5));
    let finding = stage.judged().remove(0);
    assert_eq!(
        finding.sentence,
        "7 of 262151 operations failed, most often read with EIO (first at offset 8192)"
    );
}
