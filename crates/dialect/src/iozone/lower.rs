//! From settings to a plan: a phase for each pass over each cell, or for each pass of so many streams.
//!
//! ```text
//!   cell × tests ─► phases of one worker         streams × tests ─► phases of N workers, stopped by the first
//! ```
//! Nothing is run and nothing judged here.

mod job;
mod target;

pub use job::MANY_BUFFERS;
pub use target::names;

use iodyno_model::{Coordinate, Intent, Parameter, Phase, Plan, Stop, Value};

use super::access::{self, Access};
use super::matrix::{Matrix, SizeCell};
use super::settings::Settings;

/// What a phase of the plan is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The pass.
    pub access: Access,
    /// The sizes.
    pub cell: SizeCell,
    /// How many streams; 0: a cell of the table.
    pub streams: u32,
}

/// Streams that do the same: their numbers.
struct StreamGroup {
    streams: Vec<u32>,
    /// Whether they write, of a mix.
    writes: bool,
    after_ns: u64,
}

/// The passes over some cells, in their order.
pub fn passes(settings: &Settings, cells: &[SizeCell]) -> Vec<Pass> {
    let of_round = |cell: SizeCell, streams: u32| {
        let file = if settings.has("+k") { cell.file / u64::from(streams.max(1)) } else { cell.file };
        let cell = SizeCell { file, ..cell };
        access::streams().into_iter().map(move |access| Pass { access, cell, streams })
    };
    let of_cell = |cell: &SizeCell| -> Vec<Pass> {
        let cell = *cell;
        match settings.is_throughput() {
            true => settings.rounds.iter().flat_map(|streams| of_round(cell, *streams)).collect(),
            false => access::columns().map(|access| Pass { access, cell, streams: 0 }).collect(),
        }
    };
    cells.iter().flat_map(of_cell).filter(|pass| settings.wants(pass.access)).collect()
}

/// The plan, and what each of its phases is.
pub fn plan(settings: &Settings, matrix: &Matrix) -> (Plan, Vec<Pass>) {
    let mut builder = Builder { settings, plan: Plan::default(), parts: Vec::new() };
    let passes = passes(settings, &matrix.cells()).into_iter();
    passes.filter(|pass| pass.cell.records() > 0).for_each(|pass| builder.phase(pass));
    let plan = Plan {
        name: "iozone".into(),
        seed: settings.number("+S").unwrap_or(0),
        intent: Intent::Device,
        signatures_allowed: true,
        ..builder.plan
    };
    (plan, builder.parts)
}

struct Builder<'a> {
    settings: &'a Settings,
    plan: Plan,
    parts: Vec<Pass>,
}

impl Builder<'_> {
    fn phase(&mut self, part: Pass) {
        let groups = groups(self.settings, part);
        let follows = self.parts.last().is_some_and(|last| last.cell == part.cell);
        let jobs = groups.iter().map(|group| {
            // Passes that use one file in one way share it.
            let target = target::of(self.settings, part, group, follows);
            let target = crate::index_of(&mut self.plan.targets, target);
            job::of(self.settings, part, group, target)
        });
        let jobs = jobs.collect();
        let stonewalled = part.streams > 1 && !self.settings.has("x");
        let first = self.parts.is_empty();
        self.plan.phases.push(Phase {
            name: part.access.word(),
            jobs,
            stop: if stonewalled { Stop::FirstDone } else { Stop::Each },
            coordinates: coordinates(part),
            // As the original, which ends with the first error.
            unless_failed: !first,
            remount: self.settings.text("U").map(String::from),
            pause_ns: match self.settings.number("+q") {
                Some(seconds) if !first => seconds * 1_000_000_000,
                _ => 0,
            },
            ..Phase::default()
        });
        self.parts.push(part);
    }
}

/// Streams of one kind; each by itself where they do not start together.
fn groups(settings: &Settings, part: Pass) -> Vec<StreamGroup> {
    let all: Vec<u32> = (0..part.streams.max(1)).collect();
    let writes = |stream: u32| {
        part.access == Access::Mixed && part.streams > 0 && !reads(settings, stream, part.streams)
    };
    let delay_ns = settings.number("d").unwrap_or(0) * 1000;
    // Of several hosts each stream is a rank's own.
    if delay_ns > 0 || !settings.clients.is_empty() {
        let alone = |stream: u32| StreamGroup {
            streams: vec![stream],
            writes: writes(stream),
            after_ns: u64::from(stream) * delay_ns,
        };
        return all.into_iter().map(alone).collect();
    }
    let (writers, readers): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|stream| writes(*stream));
    let groups = [(readers, false), (writers, true)].into_iter().filter(|(streams, _)| !streams.is_empty());
    groups.map(|(streams, writes)| StreamGroup { streams, writes, after_ns: 0 }).collect()
}

/// Whether a stream of the mix reads: by number, by percentage, or every other one.
pub fn reads(settings: &Settings, stream: u32, streams: u32) -> bool {
    let stream = u64::from(stream);
    match (settings.number("+K"), settings.number("+p")) {
        (Some(readers), _) => stream < readers,
        (None, Some(percent)) => stream < (u64::from(streams) * percent).div_ceil(100),
        (None, None) => stream % 2 == 0,
    }
}

fn coordinates(part: Pass) -> Vec<Coordinate> {
    let number = |parameter, value| Coordinate { parameter, value: Value::Number(value) };
    let mut coordinates =
        vec![number(Parameter::FileBytes, part.cell.file), number(Parameter::BlockBytes, part.cell.record)];
    if part.streams > 0 {
        coordinates.push(number(Parameter::Workers, u64::from(part.streams)));
    }
    coordinates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iozone::{command, settings, testing::Nowhere};
    use iodyno_model::{Prepare, WorkerKind};

    fn lowered(line: &str) -> (Plan, Vec<Pass>) {
        let words = line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let settings = settings::judge(command::parse(&words).unwrap(), &mut Nowhere).unwrap();
        let matrix = Matrix::of(&settings);
        plan(&settings, &matrix)
    }

    #[test]
    fn a_cell_is_a_phase_for_each_pass() {
        let (plan, parts) = lowered("-s 64 -r 4 -i 0 -i 1 -i 2");
        let names: Vec<_> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["initial write", "rewrite", "read", "re-read", "random read", "random write"]);
        assert_eq!((parts.len(), plan.targets.len()), (6, 3));
        assert_eq!(lowered("-s 64 -i 0 -i 1 -+n").1.len(), 2);
        assert_eq!(lowered("-s 64").1.len(), 13);
        assert_eq!(lowered("-s 64 -E").1.len(), 17);
        assert_eq!(lowered("-s 64 -B").1.len(), 9);
    }

    #[test]
    fn a_small_file_is_near_when_a_pass_follows_another() {
        let near = |line: &str| -> Vec<bool> {
            let (plan, _) = lowered(line);
            let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
            jobs.map(|job| plan.targets[job.targets[0]].open.pre_read).collect()
        };
        assert_eq!(near("-s 64 -i 0 -i 1"), [false, true, true, true]);
        assert_eq!(near("-s 64 -i 1"), [false, true], "nothing was before the first");
        assert_eq!(near("-s 64 -c -i 0"), [false, true], "closing keeps it near");
        assert_eq!(near("-a -n 64 -g 128 -y 4 -q 4 -i 0"), [false, true, false, true], "another file");
        for apart in ["-s 8m", "-s 64 -I", "-s 64 -p", "-s 64 -+q 1", "-s 64 -B", "-t 2 -s 64"] {
            assert!(!near(&format!("{apart} -i 0 -i 1")).contains(&true), "{apart}");
        }
    }

    #[test]
    fn a_stream_of_a_cluster_has_its_file_in_its_directory() {
        let names: Vec<String> = lowered("-t 4 -+m nodes -s 64 -r 4 -i 0")
            .0
            .targets
            .iter()
            .filter(|target| target.open.truncate)
            .map(|target| target.name.clone())
            .collect();
        let own = "/mnt/e/own".to_string();
        assert_eq!(names, ["/mnt/a/iozone.DUMMY.0", "/mnt/b/iozone.DUMMY.1", "/mnt/c/own", &own]);
    }

    #[test]
    fn records_repeat_as_iozone_parts_them() {
        use iodyno_model::Dedupe;
        let of = |line: &str| {
            let (plan, _) = lowered(&format!("-s 64 -r 4 -i 0 {line}"));
            let payload = &plan.phases[0].jobs[0].payload;
            (payload.dedupe_percent, payload.dedupe)
        };
        let mixed = |few_percent, own_percent| Dedupe::Mixed { few_percent, own_percent };
        assert_eq!(of("-+w 50"), (50, mixed(0.0, 0.0)));
        assert_eq!(of("-+w 50 -+y 20"), (50, mixed(20.0, 0.0)));
        assert_eq!(of("-+w 50 -+y 20 -+C 30"), (50, mixed(14.0, 6.0)));
        assert_eq!(of("-+y 20 -+C 30"), (20, mixed(70.0, 30.0)));
        assert_eq!((of("-+y 20"), of("-+C 30")), ((20, Dedupe::Few), (30, Dedupe::Own)));
    }

    #[test]
    fn streams_stop_with_the_first_and_missing_ends_are_filled() {
        let (plan, _) = lowered("-t 3 -s 64 -i 0 -i 1");
        assert_eq!(plan.phases.len(), 4);
        assert!(plan.phases.iter().all(|phase| phase.stop == Stop::FirstDone && phase.jobs[0].workers == 3));
        assert_eq!(plan.phases[0].jobs[0].kind, WorkerKind::Processes);
        assert!(plan.targets[0].open.truncate);
        assert!(plan.targets[1..].iter().all(|target| target.prepare == Prepare::Filled));
        let (free, _) = lowered("-t 3 -T -x -s 64 -i 0 -i 1");
        assert!(free.phases.iter().all(|phase| phase.stop == Stop::Each));
        assert_eq!(free.phases[0].jobs[0].kind, WorkerKind::Threads);
    }

    #[test]
    fn the_mix_parts_streams_in_readers_and_writers() {
        let (plan, _) = lowered("-t 4 -s 64 -i 8");
        let jobs = &plan.phases[0].jobs;
        assert_eq!((jobs.len(), jobs[0].workers, jobs[1].workers), (2, 2, 2));
        let (plan, _) = lowered("-t 4 -s 64 -i 8 -+p 75");
        assert_eq!(plan.phases[0].jobs[0].workers, 3);
        let (plan, _) = lowered("-t 3 -s 64 -i 0 -d 50");
        let starts: Vec<_> = plan.phases[0].jobs.iter().map(|job| job.start.after_ns).collect();
        assert_eq!(starts, [0, 50_000, 100_000]);
    }
}
