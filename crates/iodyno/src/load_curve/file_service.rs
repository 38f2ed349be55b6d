//! A mix of file service operations over a file set that grows with the load, asked for by several clients, as SPEC SFS has
//! it.
//!
//! Each client has a file set of its own, and workers. A round of a worker's script holds every operation as often as its
//! share says, in an order of the worker's own. What NFS does with a file handle is done with a file that a lookup opened.

use iodyno_dialect::{Loader, PathKind};
use iodyno_engine::random::Random;
use iodyno_engine::world::World;
use iodyno_model::{
    Arrivals, Coordinate, Diagnostic, Extent, Item, Items, Job, Limit, Offset, Open, OpenMode, Operation,
    Origin, Pace, Parameter, Pattern, Phase, Pick, Plan, Prepare, Rate, Script, Size, Step, Target,
    TargetKind, Value, Verb, Workload, Zone, units,
};

use super::LoadCurveArgs;
use crate::leftovers;
use crate::loader::HostLoader;
use crate::session::say;
use crate::single_workload::RAMP_PART;

/// One that makes a call at a time, names too.
const ENGINE: &str = "psync";
/// What a read or a write moves. Source: SPEC SFS 3.0 counts transfers of 8 KB.
const TRANSFER_BYTES: u64 = 8 << 10;
/// Sizes of files and their shares, percent. Source: SPEC SFS 3.0 user's guide, file size distribution.
const FILE_SIZES: [(u64, f64); 10] = [
    (1 << 10, 33.0),
    (2 << 10, 21.0),
    (4 << 10, 13.0),
    (8 << 10, 10.0),
    (16 << 10, 8.0),
    (32 << 10, 5.0),
    (64 << 10, 4.0),
    (128 << 10, 3.0),
    (256 << 10, 2.0),
    (1 << 20, 1.0),
];
/// Files in a directory. Source: the same, as LADDIS had it.
const FILES_IN_DIRECTORY: u64 = 30;
/// A file set has at least so many files for each client.
const LEAST_FILES: u64 = 60;
/// The file set takes at most so much, unless the command says it.
const MOST_BYTES: u64 = 1 << 30;

/// Workers that ask for a load. An operation that is due while its worker waits for an answer waits, too, and that counts.
const LOAD_WORKERS: u32 = 64;

/// A published mix.
#[derive(Debug)]
pub struct ServiceMix {
    /// Percent, by the protocol's name of the operation.
    shares: &'static [(ServiceOperation, u32)],
    /// Of the file set, for each operation per second that is offered.
    pub bytes_each: u64,
    /// The part of the files that is used, percent.
    used_percent: f64,
}

/// An operation of NFS version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceOperation {
    Lookup,
    Read,
    Write,
    Getattr,
    Readlink,
    Readdir,
    Create,
    Remove,
    Fsstat,
    Setattr,
    Readdirplus,
    Access,
    Commit,
}

use ServiceOperation::{
    Access, Commit, Create, Fsstat, Getattr, Lookup, Read, Readdir, Readdirplus, Readlink, Remove, Setattr,
    Write,
};

/// SPEC SFS 2008, NFS version 3.
pub const SFS_2008: ServiceMix = ServiceMix {
    shares: &[
        (Lookup, 24),
        (Read, 18),
        (Write, 10),
        (Getattr, 26),
        (Readlink, 1),
        (Readdir, 1),
        (Create, 1),
        (Remove, 1),
        (Fsstat, 1),
        (Setattr, 4),
        (Readdirplus, 2),
        (Access, 11),
    ],
    bytes_each: 120_000_000,
    used_percent: 30.0,
};

/// SPEC SFS 3.0 (SFS97_R1), NFS version 3. As published it comes to 99 %.
pub const SFS_97: ServiceMix = ServiceMix {
    shares: &[
        (Lookup, 27),
        (Read, 18),
        (Write, 9),
        (Getattr, 11),
        (Readlink, 7),
        (Readdir, 2),
        (Create, 1),
        (Remove, 1),
        (Fsstat, 1),
        (Setattr, 1),
        (Readdirplus, 9),
        (Access, 7),
        (Commit, 5),
    ],
    bytes_each: 10_000_000,
    used_percent: 10.0,
};

impl ServiceMix {
    /// Percent of an operation, by its label, of all.
    pub fn share(&self, label: &str) -> Option<f64> {
        let all: u32 = self.shares.iter().map(|(_, share)| share).sum();
        let found = self.shares.iter().find(|(operation, _)| operation.label() == label)?;
        Some(f64::from(found.1) / f64::from(all) * 100.0)
    }

    /// In the published order.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> {
        self.shares.iter().map(|(operation, _)| operation.label())
    }
}

/// A client's file sets, in the order of its job's targets.
const FILES: usize = 0;
const MADE: usize = 1;
const LINKS: usize = 2;
const SETS: usize = 3;

impl ServiceOperation {
    fn label(self) -> &'static str {
        match self {
            Lookup => "lookup",
            Read => "read",
            Write => "write",
            Getattr => "getattr",
            Readlink => "readlink",
            Readdir => "readdir",
            Create => "create",
            Remove => "remove",
            Fsstat => "fsstat",
            Setattr => "setattr",
            Readdirplus => "readdirplus",
            Access => "access",
            Commit => "commit",
        }
    }

    /// As system calls: what NFS does with a file handle is done with the file that was looked up last.
    fn step(self, used: &Pick) -> Step {
        let named = |verb, set| {
            let item = Item::Existing(if set == FILES { used.clone() } else { Pick::Uniform });
            Operation { item, ..Operation::on(verb, set) }
        };
        let on_open = |verb| Operation { item: Item::Held, handle: Some(0), ..Operation::on(verb, FILES) };
        let moved = |verb| {
            let offset = Offset::Drawn { pick: Pick::Uniform, span_bytes: 0 };
            Operation { offset, size: Size::Fixed(TRANSFER_BYTES), ..on_open(verb) }
        };
        let says = |operation: Operation, name: &str, value: &str| Operation {
            arguments: vec![(name.into(), value.into())],
            ..operation
        };
        let operation = match self {
            Lookup => Operation { handle: Some(0), ..named(Verb::Open, FILES) },
            Read => moved(Verb::Read),
            Write => moved(Verb::Write),
            Getattr => on_open(Verb::Fstat),
            Readlink => named(Verb::Readlink, LINKS),
            Readdir => named(Verb::Readdir, FILES),
            Create => Operation { item: Item::Missing(Pick::Uniform), ..Operation::on(Verb::Create, MADE) },
            Remove => named(Verb::Unlink, MADE),
            Fsstat => Operation::on(Verb::Statfs, FILES),
            Setattr => says(named(Verb::Chmod, FILES), "mode", "644"),
            Readdirplus => says(named(Verb::Readdir, FILES), "stat", "true"),
            Access => says(named(Verb::Access, FILES), "mode", "4"),
            Commit => on_open(Verb::Fsync),
        };
        operation.step(self.label())
    }
}

/// The clients, and what they work on.
#[derive(Clone, Debug)]
pub struct FileService {
    pub mix: &'static ServiceMix,
    directory: String,
    pub clients: u32,
    /// Of the file set, for each operation per second.
    pub bytes_each: u64,
    /// The file set has at most so many.
    pub most_bytes: u64,
    seed: u64,
    time_ns: u64,
}

impl FileService {
    /// # Errors
    /// No directory, no room, or options that have no meaning for it.
    pub fn of(
        world: &World,
        words: &LoadCurveArgs,
        mix: &'static ServiceMix,
    ) -> Result<FileService, Diagnostic> {
        let origin = Origin::argument(&words.target);
        leftovers::remove_temporaries(&words.target).iter().for_each(say);
        let facts = HostLoader::new(world).look(&words.target);
        let facts =
            facts.filter(|facts| facts.kind == PathKind::Directory && facts.writable).ok_or_else(|| {
                Diagnostic::error(&origin, "this is no directory that files can be made in").hint(
                    "file service operations work on a file set: name a directory, e.g. the mounted export",
                )
            })?;
        let refused = [
            (!words.spans.is_empty(), "--spans", "a file set has no addressing span"),
            (words.on.engine.is_some(), "--engine", "file service operations are calls of one worker each"),
            (!words.on.destroy.is_empty(), "--destroy", "nothing that was there before is written to"),
        ];
        if let Some((_, option, why)) = refused.into_iter().find(|(is_said, ..)| *is_said) {
            let wrong = Diagnostic::error(&Origin::argument(option), why);
            return Err(wrong.hint("leave it out of this profile"));
        }
        let free = facts.target.free_bytes.unwrap_or(u64::MAX);
        let most_bytes = words.temporary.size.unwrap_or(MOST_BYTES.min(free / 2));
        let least = LEAST_FILES * u64::from(words.clients.unwrap_or(CLIENTS)) * mean_bytes();
        if most_bytes > free || most_bytes < least {
            let message = format!("{} are free for the file set", units::binary(free));
            let hint = format!(
                "--size says how large it may be: at least {}, at most what is free",
                units::binary(least)
            );
            return Err(Diagnostic::error(&origin, message).hint(hint));
        }
        Ok(FileService {
            mix,
            directory: words.target.trim_end_matches('/').into(),
            clients: words.clients.unwrap_or(CLIENTS),
            bytes_each: words.data_per_operation.unwrap_or(mix.bytes_each),
            most_bytes,
            seed: words.on.seed.unwrap_or(1),
            time_ns: words.time,
        })
    }

    /// Of the file set for a load, as much as is allowed.
    pub fn set_bytes(&self, per_second: f64) -> u64 {
        let least = LEAST_FILES * u64::from(self.clients) * mean_bytes();
        ((per_second * self.bytes_each as f64) as u64).clamp(least, self.most_bytes.max(least))
    }

    /// Whether a load's file set is smaller than the mix has it.
    pub fn is_capped(&self, per_second: f64) -> bool {
        per_second * self.bytes_each as f64 > self.most_bytes as f64
    }

    /// The files of a client for a load.
    fn files(&self, per_second: f64) -> u64 {
        self.set_bytes(per_second) / mean_bytes() / u64::from(self.clients)
    }

    /// As fast as it goes with so many workers: over the largest file set, as the load is not known yet.
    pub fn depth(&self, workers: u32) -> Plan {
        self.plan(f64::INFINITY, workers, (Parameter::Depth, f64::from(workers)), |_| Pace::default())
    }

    /// So many operations per second, at random times.
    pub fn load(&self, per_second: f64) -> Plan {
        self.plan(per_second, LOAD_WORKERS.max(self.clients), (Parameter::Rate, per_second), |all| Pace {
            rate_all: Rate::Operations(per_second / f64::from(all)),
            arrivals: Arrivals::Poisson,
            open_loop: true,
            ..Pace::default()
        })
    }

    fn plan(
        &self,
        per_second: f64,
        workers: u32,
        (parameter, at): (Parameter, f64),
        pace: impl Fn(u32) -> Pace,
    ) -> Plan {
        let files = self.files(per_second);
        let clients = self.clients.min(workers);
        let mut measured = Phase {
            name: "load".into(),
            coordinates: vec![Coordinate { parameter, value: Value::Number(at.round() as u64) }],
            ..Phase::default()
        };
        let mut links = Phase { name: "links".into(), ..Phase::default() };
        let mut targets = Vec::new();
        for client in 0..clients {
            targets.extend(self.sets(client, files));
            let pattern = Pattern::of(Verb::Symlink, Pick::Sequential, 0);
            let set = client as usize * SETS + LINKS;
            let mut job =
                Job::new(&client_name(client), ENGINE, vec![set], Workload::Pattern(Box::new(pattern)));
            job.limit.passes = Some(1);
            links.jobs.push(job);
        }
        // A job each, so that no two go through their rounds in the same order.
        for worker in 0..workers {
            let client = worker % clients;
            let first = client as usize * SETS;
            let sets = (first..first + SETS).collect();
            let mut job = Job::new(&client_name(client), ENGINE, sets, Workload::Script(self.round(worker)));
            job.limit =
                Limit { time_ns: Some(self.time_ns), ramp_ns: self.time_ns / RAMP_PART, ..Limit::default() };
            job.pace = pace(workers);
            measured.jobs.push(job);
        }
        Plan {
            name: format!("load-curve {}", self.directory),
            seed: self.seed,
            targets,
            phases: vec![links, measured],
            ..Plan::default()
        }
    }

    fn sets(&self, client: u32, files: u64) -> [Target; SETS] {
        let root = leftovers::temporary(&self.directory, "load");
        let set = |name: &str, mode, prepare, items: Items| Target {
            name: format!("{name} of {}", client_name(client)),
            kind: TargetKind::FileSet { root: format!("{root}/client{}/{name}", client + 1), items },
            open: Open { mode, create: true, parents: true, invalidate: true, ..Open::default() },
            prepare,
            remove: true,
            origin: Origin::argument(&self.directory),
        };
        let dealt = |count: u64, size: Size| Items {
            count,
            size,
            depth: 1,
            branch: count.div_ceil(FILES_IN_DIRECTORY) as u32,
            leaves_only: true,
            per_directory: FILES_IN_DIRECTORY,
            ..Items::default()
        };
        let directories = files.div_ceil(FILES_IN_DIRECTORY);
        [
            set(
                "files",
                OpenMode::ReadWrite,
                Prepare::Filled,
                dealt(files, Size::Split(FILE_SIZES.to_vec())),
            ),
            // As many names are free as are taken, so that creating and removing find one.
            set(
                "made",
                OpenMode::AsNeeded,
                Prepare::Filled,
                Items { present_percent: 50.0, ..dealt(files, Size::Fixed(0)) },
            ),
            set(
                "links",
                OpenMode::AsNeeded,
                Prepare::AsItIs,
                Items { count: directories, ..Items::default() },
            ),
        ]
    }

    /// Each operation as often as its share says; a lookup is the first, so that a file is open.
    fn round(&self, worker: u32) -> Script {
        let zone = |accesses_percent, extent| Zone { accesses_percent, extent };
        let used = Pick::Zones(vec![
            zone(100.0, Extent::Percent(self.mix.used_percent)),
            zone(0.0, Extent::Percent(100.0 - self.mix.used_percent)),
        ]);
        let all = self.mix.shares.iter().flat_map(|(operation, share)| (0..*share).map(move |_| *operation));
        let mut round: Vec<ServiceOperation> = all.collect();
        Random::from_seed(self.seed, worker.into()).shuffle(&mut round);
        let first = round.iter().position(|operation| *operation == Lookup).unwrap_or(0);
        round.rotate_left(first);
        Script {
            steps: round.into_iter().map(|operation| operation.step(&used)).collect(),
            ..Script::default()
        }
    }
}

/// Clients, unless the command says it.
const CLIENTS: u32 = 4;

fn mean_bytes() -> u64 {
    (FILE_SIZES.iter().map(|(bytes, percent)| *bytes as f64 * percent).sum::<f64>() / 100.0) as u64
}

fn client_name(client: u32) -> String {
    format!("client {}", client + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(mix: &'static ServiceMix) -> FileService {
        FileService {
            mix,
            directory: "/srv".into(),
            clients: 3,
            bytes_each: mix.bytes_each,
            most_bytes: 1 << 30,
            seed: 1,
            time_ns: 1,
        }
    }

    #[test]
    fn a_round_has_every_operation_as_often_as_published() {
        for (mix, length, reads) in [(&SFS_2008, 100, 18), (&SFS_97, 99, 18)] {
            let rounds: Vec<Vec<String>> = (0..2)
                .map(|worker| service(mix).round(worker).steps.into_iter().map(|step| step.label).collect())
                .collect();
            assert_eq!((rounds[0].len(), rounds[0][0].as_str()), (length, "lookup"));
            for label in mix.labels() {
                let count = rounds[0].iter().filter(|other| *other == label).count() as f64;
                assert_eq!(Some(count / length as f64 * 100.0), mix.share(label), "{label}");
            }
            assert_eq!(rounds[0].iter().filter(|label| *label == "read").count(), reads);
            assert_ne!(rounds[0], rounds[1], "workers do not march in step");
        }
    }

    #[test]
    fn the_file_set_grows_with_the_load_to_what_is_allowed() {
        let service = service(&SFS_97);
        assert_eq!(service.set_bytes(50.0), 500_000_000);
        assert_eq!((service.set_bytes(1e6), service.set_bytes(f64::INFINITY)), (1 << 30, 1 << 30));
        assert!(service.set_bytes(0.01) > 4_000_000, "a file set without files serves nobody");
        assert!((26_000..28_000).contains(&mean_bytes()), "published are 27 KB");
        let plan = service.load(50.0);
        let sets: Vec<usize> = plan.phases[1].jobs.iter().map(|job| job.targets[FILES]).collect();
        assert_eq!((plan.targets.len(), sets.len(), &sets[..4]), (9, 64, &[0, 3, 6, 0][..]));
        let Rate::Operations(each) = plan.phases[1].jobs[2].pace.rate_all else { panic!("no rate") };
        assert!((each * 64.0 - 50.0).abs() < 1e-9);
        // One worker is one client, however many there may be.
        assert_eq!(service.depth(1).phases[1].jobs.len(), 1);
    }
}
