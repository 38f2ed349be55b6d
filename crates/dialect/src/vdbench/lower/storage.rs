//! Workloads on storage definitions: devices and files that are read and written by place.

use iodyno_model::{
    Coverage, Depth, Extent, Finish, Job, Limit, Measure, Mix, Open, OperationKind, Pattern, PerDirection,
    Pick, Prepare, SharedKind, SharedObject, SharedUse, Size, Span, Submit, Target, TargetKind, Verb,
    Workload,
};

use super::{LoweredRun, RunLowering, named, shares};
use crate::engine_choice::POSITIONED_CALLS;
use crate::vdbench::definition::Definition;
use crate::vdbench::runs::{RequestedRate, RunPoint};
use crate::vdbench::settings::{self, OpenFlags, RunTimes, Seeks};
use crate::vdbench::view::FlatColumns;
use crate::{PathKind, vdbench::scan::Parameter};

/// Weighted operations that a workload of a skew may be ahead of the others.
const AHEAD: u64 = 16;
const THREADS: f64 = 8.0;
const HIT_AREA: f64 = 1_048_576.0;

/// A storage definition, its target, and how long that is.
#[derive(Clone, Debug)]
pub(super) struct StoragePlace {
    pub definition: Definition,
    pub path: String,
    pub target: usize,
    pub bytes: u64,
}

/// What one workload does on each of its storage definitions.
pub(super) struct WorkloadShape {
    pub definition: Definition,
    size: Size,
    reads: f64,
    hits: (f64, f64),
    seeks: Seeks,
    /// Its part of all operations.
    share: f64,
    /// Its own rate, operations per second.
    rate: Option<f64>,
}

impl WorkloadShape {
    pub(super) fn of(
        definition: &Definition,
        run: &Definition,
        share: f64,
        wrong: &mut super::MistakeList,
    ) -> WorkloadShape {
        let given = |of_run: &str, own: &str| run.get(of_run).or(definition.get(own)).cloned();
        let number = |of_run: &str, own: &str| run.number(of_run).or(definition.number(own));
        let percent = |of_run: &str, own: &str, default: f64| number(of_run, own).unwrap_or(default);
        let writes = definition.number("wrpct").map_or(100.0, |writes| 100.0 - writes);
        let reads = percent("forrdpct", "rdpct", writes);
        let hits = (percent("forrhpct", "rhpct", 0.0), percent("forwhpct", "whpct", 0.0));
        for (name, value) in [("rdpct", reads), ("rhpct", hits.0), ("whpct", hits.1)] {
            if !(0.0..=100.0).contains(&value) {
                wrong.add(definition.place(name), format!("`{name}={value}`"), "a percentage from 0 to 100");
            }
        }
        let seeks = Seeks::of(given("forseekpct", "seekpct").as_ref(), wrong);
        let size = settings::sizes(given("forxfersize", "xfersize").as_ref(), 4096, wrong);
        let odd = [size.least_bytes(), size.most_bytes()].into_iter().flatten();
        if odd.clone().any(|bytes| !bytes.is_multiple_of(settings::SECTOR)) {
            let place = given("forxfersize", "xfersize").map(|parameter: Parameter| parameter.origin);
            let place = place.unwrap_or_else(|| definition.origin.clone());
            wrong.add(&place, "a transfer size that is no whole sectors of 512 bytes", "e.g. xfersize=4k");
        }
        let rate = definition.number("iorate").filter(|rate| *rate > 0.0);
        WorkloadShape { definition: definition.clone(), size, reads, hits, seeks, share, rate }
    }

    /// What is drawn for one storage definition.
    pub(super) fn pattern(&self, place: &StoragePlace, span: Span, hit_area: u64) -> Pattern {
        let least = self.size.least_bytes().unwrap_or(4096);
        let pick = settings::picks(&self.definition, self.seeks, self.hits, hit_area, least);
        let align = place.definition.number("align").unwrap_or(0.0).max(0.0) as u64;
        let mut pattern = Pattern {
            pick: pick.clone(),
            size: PerDirection::same(self.size.clone()),
            align_bytes: PerDirection::same(align),
            coverage: Coverage::Repeating,
            span,
            ..Pattern::of(Verb::Read, Pick::Uniform, least)
        };
        pattern.mix = match self.reads {
            100.0 => Mix::only(Verb::Read),
            0.0 => Mix::only(Verb::Write),
            reads => Mix::reads(reads),
        };
        // Each size has places that are multiples of it, as long as places have nothing to do with each other.
        if let (Size::Split(table), true, 0) = (&self.size, self.seeks.is_random(), align) {
            let kind = |verb: Verb, share: f64, pick: &Pick, (bytes, percent): (u64, f64)| OperationKind {
                verb,
                weight: share * percent / 100.0,
                bytes,
                pick: pick.clone(),
                align_bytes: 0,
            };
            let reads = table.iter().map(|size| kind(Verb::Read, self.reads, &pick.read, *size));
            let writes = table.iter().map(|size| kind(Verb::Write, 100.0 - self.reads, &pick.write, *size));
            pattern.kinds = reads.chain(writes).filter(|kind| kind.weight > 0.0).collect();
        }
        pattern
    }

    fn columns(&self, threads: u32) -> FlatColumns {
        let fixed = if let Size::Fixed(bytes) = self.size { Some(bytes as f64) } else { None };
        FlatColumns {
            xfersize: fixed,
            threads: Some(f64::from(threads)),
            rdpct: Some(self.reads),
            rhpct: Some(self.hits.0),
            whpct: Some(self.hits.1),
            seekpct: Some(self.seeks.percent()),
            ..FlatColumns::default()
        }
    }
}

impl RunLowering<'_> {
    /// The jobs of a run on storage definitions.
    pub(super) fn storage_run(&mut self, point: &RunPoint, times: RunTimes) -> LoweredRun {
        let run = &point.definition;
        let all = self.all;
        let workloads = named(&all.workloads, run.values("wd"), "wd", run.place("wd"), &mut self.wrong);
        if workloads.is_empty() {
            self.wrong.add(&run.origin, format!("rd={} names no workload", run.name), "rd=…,wd=wd1");
            return None;
        }
        let free: Vec<&Definition> =
            workloads.iter().filter(|workload| workload.number("iorate").is_none()).copied().collect();
        let parts = shares(&free, &mut self.wrong);
        let share = |workload: &Definition| {
            let place = free.iter().position(|known| known.name == workload.name);
            place.map_or(0.0, |place| parts[place])
        };
        let shapes: Vec<WorkloadShape> = workloads
            .iter()
            .map(|workload| WorkloadShape::of(workload, run, share(workload), &mut self.wrong))
            .collect();
        let chosen: Vec<Vec<StoragePlace>> = shapes.iter().map(|shape| self.storage_of(shape, run)).collect();
        self.format_storage(&chosen, run, times);
        let skewed = workloads.iter().any(|workload| workload.has("skew")) && shapes.len() > 1;
        let flows = skewed && matches!(point.rate, RequestedRate::Max | RequestedRate::Curve);
        let (mut jobs, mut columns) = (Vec::new(), None::<FlatColumns>);
        for (shape, places) in shapes.iter().zip(&chosen) {
            for place in places {
                let users = chosen.iter().flatten().filter(|other| other.path == place.path).count() as u32;
                let (more, threads) =
                    self.storage_jobs(point, times, shape, place, (places.len(), users, flows));
                jobs.extend(more);
                let own = shape.columns(threads);
                columns = Some(columns.map_or(own.clone(), |all| all.common(own)));
            }
        }
        let mut columns = columns.unwrap_or_default();
        let mut distinct: Vec<&StoragePlace> = Vec::new();
        for place in chosen.iter().flatten() {
            if !distinct.iter().any(|known| known.path == place.path) {
                distinct.push(place);
            }
        }
        let bytes: u64 = distinct.iter().map(|place| place.bytes).sum();
        columns.lunsize = Some(bytes as f64 / f64::from(1 << 30));
        columns.compratio =
            Some(run.number("forcompratio").or(all.general.number("compratio")).unwrap_or(1.0));
        columns.dedupratio = Some(all.general.number("dedupratio").unwrap_or(1.0));
        let shared = if flows {
            vec![SharedObject::new("skew", SharedKind::Weights { most: AHEAD })]
        } else {
            Vec::new()
        };
        Some((jobs, shared, columns, vec!["read", "write"]))
    }

    /// The storage definitions that a workload works on.
    pub(super) fn storage_of(&mut self, shape: &WorkloadShape, run: &Definition) -> Vec<StoragePlace> {
        let from = if run.has("sd") { run } else { &shape.definition };
        if !from.has("sd") {
            let message = format!("wd={} names no storage", shape.definition.name);
            self.wrong.add(&shape.definition.origin, message, "wd=…,sd=sd1");
            return Vec::new();
        }
        let all = storage(self.all);
        let found = named(&all, from.values("sd"), "sd", from.place("sd"), &mut self.wrong);
        let found: Vec<Definition> = found.into_iter().cloned().collect();
        found.iter().filter_map(|definition| self.storage_place(definition)).collect()
    }

    /// The target of a storage definition.
    fn storage_place(&mut self, definition: &Definition) -> Option<StoragePlace> {
        let origin = definition.place("lun").clone();
        let Some(path) = definition.text("lun").map(String::from) else {
            self.wrong.add(
                &definition.origin,
                format!("sd={} has no lun=", definition.name),
                "lun=/dev/sdX or lun=FILE",
            );
            return None;
        };
        if path.contains(['{', '}']) {
            self.wrong.add(&origin, format!("`lun={path}`: braces have a meaning of their own"), "rename it");
            return None;
        }
        let flags = OpenFlags::of(&[definition], &mut self.wrong);
        let (is_device, bytes) = self.kind_and_length(definition, &path)?;
        let kind = match is_device {
            true => TargetKind::Device { path: path.clone() },
            false => TargetKind::File { path: path.clone(), size: Extent::Bytes(bytes) },
        };
        let target = self.target(Target {
            name: definition.name.clone(),
            kind,
            open: Open { direct: flags.direct, sync: flags.sync, create: !is_device, ..Open::default() },
            prepare: Prepare::AsItIs,
            remove: false,
            origin,
        });
        Some(StoragePlace { definition: definition.clone(), path, target, bytes })
    }

    /// Whether a storage definition is a device, and how long it is or is to be.
    fn kind_and_length(&mut self, definition: &Definition, path: &str) -> Option<(bool, u64)> {
        let origin = definition.place("lun").clone();
        let asked = definition.number("size").map(|bytes| bytes.max(0.0) as u64);
        let facts = self.loader.look(path);
        let made = self.made.iter().find(|(known, _)| known == path).map(|(_, bytes)| *bytes);
        let there = facts.as_ref().map(|facts| (facts.kind, facts.bytes));
        let found = match (there, asked) {
            (Some((PathKind::BlockDevice | PathKind::CharacterDevice, bytes)), asked) => {
                if bytes > 0 && asked.is_some_and(|asked| asked > bytes) {
                    self.wrong.add(
                        definition.place("size"),
                        format!("{path} has only {bytes} bytes"),
                        "lower size=",
                    );
                }
                (true, asked.unwrap_or(bytes))
            }
            (Some((PathKind::File, bytes)), asked) => (false, asked.or(made).unwrap_or(bytes)),
            (Some(_), _) => {
                self.wrong.add(
                    &origin,
                    format!("{path} is neither a file nor a device"),
                    "fsd=…,anchor= is for directories",
                );
                return None;
            }
            (None, _) if is_device_name(path) && self.sites.count() == 1 => {
                self.wrong.add(&origin, format!("{path} is not there"), "lun= names a device or a file");
                return None;
            }
            (None, _) if is_device_name(path) => {
                // The hosts have it.
                (true, asked.unwrap_or(0))
            }
            (None, Some(asked)) => (false, asked),
            (None, None) => {
                self.wrong.add(
                    &origin,
                    format!("{path} is not there, and nothing says how long it is to be"),
                    "size=1g makes it",
                );
                return None;
            }
        };
        Some(found)
    }

    /// The jobs of a workload on one storage definition, and how many threads those are.
    fn storage_jobs(
        &mut self,
        point: &RunPoint,
        times: RunTimes,
        shape: &WorkloadShape,
        place: &StoragePlace,
        (places, users, flows): (usize, u32, bool),
    ) -> (Vec<Job>, u32) {
        let run = &point.definition;
        let threads =
            run.number("forthreads").or(place.definition.number("threads")).unwrap_or(THREADS).max(1.0)
                as u32;
        let (ranks, count) = self.sites.places(&[&place.definition, &shape.definition], &mut self.wrong);
        let each = (threads / users.max(1) / count.max(1)).max(1);
        let hit_area =
            run.number("forhitarea").or(place.definition.number("hitarea")).unwrap_or(HIT_AREA) as u64;
        let mut span = settings::span(&place.definition, &shape.definition, &mut self.wrong);
        if place.definition.has("size") && span == Span::default() {
            span.length = Extent::Bytes(place.bytes);
        }
        let streams = shape.definition.number("streams").map_or(0, |streams| streams.max(0.0) as u32);
        let mut pattern = shape.pattern(place, span, hit_area);
        let (workers, depth) = self.workers(shape, place, &mut pattern, (each, streams));
        let flags = OpenFlags::of(&[run, &shape.definition, &place.definition], &mut self.wrong);
        let share = shape.share / places as f64 / f64::from(count.max(1));
        let mut pace =
            self.pace(point, share, workers, shape.rate.map(|rate| rate / places as f64 / f64::from(count)));
        if flows && shape.rate.is_none() {
            let weight = (share / f64::from(workers) * 1_000_000.0).max(1.0) as i64;
            pace.shared.push(SharedUse { retry_ns: 0, ..SharedUse::new("skew", weight) });
        }
        let mut limit = self.limit(point, times, (u64::from(workers * count), place.bytes));
        if shape.seeks == Seeks::ToEnd {
            limit = Limit { passes: Some(1), ..limit };
        }
        let payload = self.payload(place, run, pattern.mix.has(Verb::Write));
        let target = self.opened(place.target, flags);
        let name = format!("{} on {}", shape.definition.name, place.definition.name);
        let workload = Workload::Pattern(Box::new(pattern));
        let sync = flags.fsync.then_some(Verb::Fsync);
        let job = Job {
            workers,
            depth,
            pace,
            limit,
            payload,
            finish: Finish { sync, ..Finish::default() },
            measure: Measure::default(),
            ..self.job(&name, POSITIONED_CALLS, target, workload, &shape.definition.origin)
        };
        let named = |(index, ranks): (usize, &iodyno_model::Ranks)| Job {
            name: if index == 0 { name.clone() } else { format!("{name}, host {}", index + 1) },
            ranks: *ranks,
            ..job.clone()
        };
        (ranks.iter().enumerate().map(named).collect(), threads)
    }

    /// How many workers there are, and how many operations each keeps in flight: a worker for each thread where places have
    /// nothing to do with each other.
    fn workers(
        &mut self,
        shape: &WorkloadShape,
        place: &StoragePlace,
        pattern: &mut Pattern,
        (threads, streams): (u32, u32),
    ) -> (u32, Depth) {
        let deep = |most: u32| Depth {
            most,
            submit: if most > 1 { Submit::Offload } else { Submit::Inline },
            ..Depth::default()
        };
        if streams > 1 {
            let part = 100.0 / f64::from(streams);
            pattern.span.length = Extent::Percent(part);
            pattern.span.increment = Extent::Percent(part);
            if pattern.span.offset != Extent::Rest
                || !pattern.kinds.is_empty()
                || shape.seeks.is_random() && shape.definition.has("seekpct")
            {
                let hint = "streams= divides the whole storage, and each is sequential";
                self.wrong.add(
                    shape.definition.place("streams"),
                    "streams of a part, or at random places",
                    hint,
                );
            }
            pattern.pick = PerDirection::same(Pick::Sequential);
            pattern.span.align_bytes = 1 << 20;
            return (streams, deep((threads / streams).max(1)));
        }
        if shape.seeks == Seeks::FromAnywhere {
            let percent = (self.out.plan.seed / 977 % 90) as f64;
            if pattern.span == Span::default() || place.bytes > 0 {
                pattern.span =
                    Span { offset: Extent::Percent(percent), align_bytes: 1 << 20, ..Span::default() };
            }
        }
        match shape.seeks.is_random() && !self.validation.is_on && !shape.definition.has("stride") {
            true => (threads, Depth::default()),
            false => (1, deep(threads)),
        }
    }

    /// What is written, and how it is checked. What a run only reads is checked where an earlier one keeps a journal of it.
    fn payload(&mut self, place: &StoragePlace, run: &Definition, writes: bool) -> iodyno_model::Payload {
        let mut payload = settings::payload(self.all, Some(&place.definition), run, &mut self.wrong);
        let map = self.map_of(place);
        let keeps = |job: &Job| {
            let verify = job.payload.verify.as_ref();
            verify.is_some_and(|verify| verify.map.is_some() && verify.map == map)
        };
        if let Some(map) = map.as_deref().filter(|_| writes && !self.validation.recovers)
            && self.has_journal(map)
        {
            let hint = "-jr checks it and goes on; to begin anew, remove it";
            self.wrong.add(&place.definition.origin, format!("the journal {map} exists"), hint);
        }
        let is_known = self.out.plan.phases.iter().flat_map(|phase| &phase.jobs).any(keeps);
        if writes || is_known {
            payload.verify = self.validation.verify(map, false);
        }
        payload
    }

    /// Where the generations of a storage definition's blocks are kept.
    pub(super) fn map_of(&self, place: &StoragePlace) -> Option<String> {
        let folder = place.definition.text("journal").unwrap_or(".");
        let name = format!("{}/{}.map", folder.trim_end_matches('/'), place.definition.name);
        self.validation.journal.then(|| name.trim_start_matches("./").to_string())
    }

    /// The target with the flags of the run, where those are others.
    pub(super) fn opened(&mut self, target: usize, flags: OpenFlags) -> usize {
        let known = self.out.plan.targets[target].clone();
        let open = Open { direct: flags.direct, sync: flags.sync, ..known.open.clone() };
        self.target(Target { open, ..known })
    }
}

/// Whether a path can only be a device's: what lies in memory below `/dev/shm` are files.
fn is_device_name(path: &str) -> bool {
    path.starts_with("/dev/") && !path.starts_with("/dev/shm/")
}

/// All storage definitions, those with `count=` so often.
pub(super) fn storage(all: &super::Definitions) -> Vec<Definition> {
    counted(&all.storage, "lun")
}

/// Definitions, each with `count=(START,N)` as N of them, with numbers behind their names and paths.
pub(super) fn counted(definitions: &[Definition], path: &str) -> Vec<Definition> {
    let of = |definition: &Definition| {
        let numbers = definition.numbers("count");
        let [start, count] = numbers[..] else { return vec![definition.clone()] };
        let one = |number: u64| {
            let mut one = Definition { name: format!("{}{number}", definition.name), ..definition.clone() };
            for parameter in one.parameters.iter_mut().filter(|parameter| parameter.keyword == path) {
                parameter.values[0] += &number.to_string();
            }
            one
        };
        let start = start.max(0.0) as u64;
        (start..start + (count.max(0.0) as u64).min(4096)).map(one).collect()
    };
    definitions.iter().flat_map(of).collect()
}
