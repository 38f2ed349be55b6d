//! Cycling: which runs a test comes to, by how many workers, targets and outstanding operations.
//!
//! It counts only; who these workers are is decided where they are lowered.

use super::settings::{CyclingTest, Settings, Steps};

/// One run of an access specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Workers of each manager; none: all.
    pub workers: Option<u32>,
    /// Targets of each worker; none: all.
    pub targets: Option<u32>,
    /// Targets over all workers of a manager, filled one worker after the other; none: does not count.
    pub serial: Option<u32>,
    /// Outstanding operations of each target; none: as each worker says.
    pub depth: Option<u32>,
}

/// The runs of a test, in their order.
pub fn points(configuration: &Settings) -> Vec<Point> {
    let managers = &configuration.managers;
    let most =
        |count: fn(&super::settings::Manager) -> usize| managers.iter().map(count).max().unwrap_or(0) as u32;
    let workers = || steps(configuration.workers, most(|manager| manager.workers.len()));
    let widest = most(|manager| manager.workers.iter().map(|worker| worker.targets.len()).max().unwrap_or(0));
    let targets = || steps(configuration.targets, widest);
    let depths = || steps(configuration.depths, configuration.depths.end);
    let all = Point::default();
    let with_workers = |count: u32| Point { workers: Some(count), ..all };
    let with_targets = |count: u32| Point { targets: Some(count), ..all };
    match configuration.test {
        CyclingTest::Normal => vec![all],
        CyclingTest::Workers => workers().into_iter().map(with_workers).collect(),
        CyclingTest::Targets | CyclingTest::TargetsParallel => {
            targets().into_iter().map(with_targets).collect()
        }
        CyclingTest::TargetsSerial => {
            let sum = most(|manager| manager.workers.iter().map(|worker| worker.targets.len()).sum());
            let serial = steps(configuration.targets, sum);
            serial.into_iter().map(|count| Point { serial: Some(count), ..all }).collect()
        }
        CyclingTest::Depths => {
            depths().into_iter().map(|depth| Point { depth: Some(depth), ..all }).collect()
        }
        CyclingTest::DepthsAndTargets => {
            let over = |count: u32| {
                depths().into_iter().map(move |depth| Point { depth: Some(depth), ..with_targets(count) })
            };
            targets().into_iter().flat_map(over).collect()
        }
        CyclingTest::WorkersAndTargets => {
            let over = |count: u32| {
                targets()
                    .into_iter()
                    .map(move |targets| Point { targets: Some(targets), ..with_workers(count) })
            };
            workers().into_iter().flat_map(over).collect()
        }
    }
}

/// From the first on, and at last all of them.
fn steps(steps: Steps, most: u32) -> Vec<u32> {
    let next = |count: &u32| match steps.exponential {
        true => count.checked_mul(steps.step.max(2)),
        false => count.checked_add(steps.step.max(1)),
    };
    let mut counts: Vec<u32> =
        std::iter::successors(Some(steps.start.max(1)), next).take_while(|count| *count <= most).collect();
    // Workers and targets: what a step would leave out comes, too. A depth has an end of its own.
    if steps.end == 0 && counts.last() != Some(&most) && most > 0 {
        counts.push(most);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_with_all_there_are() {
        let of = |start, end, step, exponential, most| steps(Steps { start, end, step, exponential }, most);
        assert_eq!(of(1, 32, 2, true, 32), [1, 2, 4, 8, 16, 32]);
        assert_eq!(of(1, 30, 2, true, 30), [1, 2, 4, 8, 16]);
        assert_eq!(of(1, 0, 2, false, 4), [1, 3, 4]);
        assert_eq!(of(9, 0, 1, false, 4), [4]);
        assert!(of(2, 0, 1, false, 0).is_empty());
    }
}
