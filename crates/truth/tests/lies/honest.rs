//! Honest runs, two hundred at random, that nobody may accuse; and the same with one lie each.

use iodyno_model::Verb;

use crate::stage::*;

#[test]
fn an_honest_run_is_not_accused() {
    twin(Verb::Read, |_| {});
    twin(Verb::Write, |_| {});
}

#[test]
fn forty_phases_of_one_lie_are_one_finding() {
    let stage = |index: u64| {
        let mut stage = honest(Verb::Read);
        stage.found.name = format!("p{index}");
        stage.buffered();
        stage.device(index * MIB);
        stage
    };
    let stages: Vec<Stage> = (0..40).map(stage).collect();
    let found = together(&stages);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].phase, "p0, p1, p2, p3 and 36 more");
    assert!(found[0].sentence.starts_with("100 % of the bytes read came from the page cache"));
}

/// A small generator, so that the honest runs are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    /// About a Poisson count of this mean.
    fn scatter(&mut self, mean: f64) -> u64 {
        let normal = (0..12).map(|_| self.roll(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        (mean + normal * mean.sqrt()).max(0.0).round() as u64
    }
}

fn any_honest(dice: &mut Dice) -> Stage {
    let verb = if dice.roll(2) == 0 { Verb::Read } else { Verb::Write };
    let mut stage = honest(verb);
    let bytes = (1 + dice.roll(64)) * 64 * MIB;
    stage.record().tally.lines[0].bytes = bytes;
    // Read-ahead, journals and neighbours: the device moves somewhat more.
    stage.device(bytes + bytes / 100 * dice.roll(30));
    if dice.roll(2) == 0 {
        stage.buffered();
        stage.job.finish.sync = Some(Verb::Fdatasync);
    }
    if dice.roll(3) == 0 {
        stage.resident(dice.roll(GIB), GIB);
    }
    if dice.roll(3) == 0 {
        stage.dirty(dice.roll(50) * MIB / 10);
    }
    let depth = 1 << dice.roll(7);
    (stage.record().depth, stage.job.depth.most) = (depth, depth);
    let mut depths = vec![0; depth as usize + 1];
    let even = dice.roll(2) == 0;
    depths.iter_mut().skip(1).for_each(|count| *count = if even { 5000 } else { 1 });
    depths[depth as usize] += 10_000;
    stage.record().tally.depths = depths;
    let (seconds, mean) = (1 + dice.roll(120), 2.0 * 10f64.powi(dice.roll(5) as i32));
    let rows: Vec<u64> = (0..seconds).map(|_| dice.scatter(mean)).collect();
    with_rows(stage.record(), &rows);
    stage.record().tally.lines[0].short = u64::from(verb == Verb::Read && dice.roll(4) == 0);
    stage
}

#[test]
fn two_hundred_honest_runs_are_not_accused() {
    let mut dice = Dice(20);
    for run in 0..200 {
        let stage = any_honest(&mut dice);
        assert_eq!(stage.judged(), [], "run {run}");
    }
}

/// The same runs with one lie each: the judge is not merely asleep.
#[test]
fn two_hundred_liars_are_caught() {
    let mut dice = Dice(20);
    for run in 0..200 {
        let mut stage = any_honest(&mut dice);
        stage.buffered();
        stage.job.finish.sync = None;
        stage.device(0);
        let codes: Vec<u8> = stage.judged().iter().map(|finding| finding.code).collect();
        assert!(codes == [1] || codes == [2], "run {run}: {codes:?}");
    }
}
