//! One run of a script while its jobs are made: processes and threads to jobs, places to targets.
//!
//! Refuses to know commands: what is defined and set is handed in.

use std::collections::BTreeMap;

use iodyno_model::{
    Action, BufferKind, Buffers, Depth, Job, Limit, Placement, Plan, Script, SharedKind, Step, Verb, Workload,
};

use super::extension_options::DataPaths;
use super::filesets::Fileset;
use super::flowop_compiler::{Composite, FlowopCompiler, Label, ThreadState, WaitTarget};
use super::session::Process;
use crate::engine_choice::{ASYNCHRONOUS, POSITIONED_CALLS, SYNCHRONOUS};
use crate::filebench::reader::AttributeReader;
use crate::filebench::script::{Attributes, Thread};
use crate::filebench::view::RunReport;
use crate::index_of;

/// Writes that a thread has handed over and not awaited, at most: a turn never waits for what it hands over itself, and
/// half of the turn before may still be under way.
const AIO_MOST: (u64, u64) = (64, 1023);

/// The lines about the filesets before a run.
pub fn layout_lines(places: &[Fileset]) -> Vec<String> {
    let mut lines = vec!["Populating and pre-allocating filesets".to_string()];
    for place in places {
        lines.extend(place.populated());
        if !place.reuse {
            lines.push(format!("Removing {} tree (if exists)", place.name));
        }
        lines.push(format!("Pre-allocating directories in {} tree", place.name));
        lines.push(format!("Pre-allocating files in {} tree", place.name));
    }
    lines.push("Waiting for pre-allocation to finish (in case of a parallel pre-allocation)".into());
    lines.push("Population and pre-allocation of filesets completed".into());
    lines
}

/// One run, while its jobs are made.
pub struct RunCompiler<'a, 'b> {
    /// Looks values up.
    pub reader: &'a mut AttributeReader<'b>,
    /// Every place there is.
    pub places: Vec<Fileset>,
    /// Every composite.
    pub composites: &'a BTreeMap<String, Composite>,
    /// Whether events are generated.
    pub events: bool,
    /// Whether an empty pool ends a thread.
    pub ends: bool,
    /// What is shared, by name.
    pub shared: BTreeMap<String, SharedKind>,
    /// What the report needs.
    pub part: RunReport,
    /// Until when.
    pub limit: Limit,
    /// What waits for others, in any thread.
    pub waits: Vec<String>,
    /// What all threads' steps are called.
    pub everywhere: Vec<Label>,
    pub targets: &'a mut Plan,
    /// Seed of trees.
    pub seed: u64,
}

/// How many steps of a job wait at an object.
fn waits_at(job: &Job, name: &str) -> u32 {
    fn count(steps: &[Step], name: &str) -> u32 {
        let one = |step: &Step| match &step.action {
            Action::Block(inner) => count(inner, name),
            Action::Do(operation) => {
                let waits = operation.verb == Verb::Wait;
                u32::from(waits && operation.shared.as_ref().is_some_and(|shared| shared.name == name))
            }
            Action::Call(_) => 0,
        };
        steps.iter().map(one).sum()
    }
    match &job.workload {
        Workload::Script(script) => count(&script.steps, name),
        _ => 0,
    }
}

impl<'b> RunCompiler<'_, 'b> {
    fn compiler(&mut self) -> FlowopCompiler<'_, 'b> {
        FlowopCompiler {
            reader: self.reader,
            places: &mut self.places,
            composites: self.composites,
            events: self.events,
            ends: self.ends,
            shared: &mut self.shared,
            rows: &mut self.part.rows,
            everywhere: &self.everywhere,
            waits: &self.waits,
            thread: ThreadState::default(),
        }
    }

    pub fn jobs(&mut self, processes: &[Process]) -> Vec<Job> {
        // What a place is depends on all that is done with it, so everything is looked at once before.
        let mut everywhere: Vec<Label> = Vec::new();
        for thread in processes.iter().flat_map(|process| &process.threads) {
            let wrong = self.reader.wrong.len();
            let mut compiler = self.compiler();
            (compiler.events, compiler.ends) = (false, false);
            compiler.scout(&thread.flowops);
            everywhere.append(&mut compiler.thread.labels);
            self.reader.wrong.truncate(wrong);
        }
        self.part.rows.clear();
        let waits = |kind: &SharedKind| matches!(kind, SharedKind::Signal | SharedKind::Semaphore { .. });
        let shared = self.shared.iter();
        self.waits = shared.filter(|(_, kind)| waits(kind)).map(|(name, _)| name.clone()).collect();
        self.shared.clear();
        everywhere.sort_by(|one, other| one.name.cmp(&other.name));
        everywhere.dedup();
        self.everywhere = everywhere;
        let mut named = Vec::new();
        let jobs: Vec<Job> = processes.iter().flat_map(|process| self.process(process, &mut named)).collect();
        self.meet(&named);
        // The original gives every instance of a flowop that waits a semaphore of its own, and posts to all of them.
        for (name, kind) in &mut self.shared {
            if let SharedKind::Semaphore { waiters, .. } = kind {
                let waiting = jobs.iter().map(|job| job.workers.saturating_mul(waits_at(job, name)));
                *waiters = waiting.fold(0, u32::saturating_add);
            }
        }
        jobs
    }

    /// Brings together what waits and what wakes it or posts to it. A semaphore takes any one post while somebody may wait.
    fn meet(&mut self, named: &[WaitTarget]) {
        let mut posts: BTreeMap<&str, u64> = BTreeMap::new();
        for WaitTarget { name, wakes, most, origin } in named {
            let (message, hint) = match (self.shared.get(name), wakes) {
                (Some(SharedKind::Signal), true) => continue,
                (Some(SharedKind::Semaphore { .. }), false) => {
                    let known = posts.entry(name).or_default();
                    *known = (*known).max(*most);
                    continue;
                }
                (Some(SharedKind::Signal), _) => ("a block is woken, not posted to", "wakeup"),
                (Some(SharedKind::Semaphore { .. }), _) => ("a semblock is posted to, not woken", "sempost"),
                _ => ("no flowop of that name waits", "name a block or semblock flowop"),
            };
            self.reader.complain(origin, format!("target={name}: {message}"), hint);
        }
        for (name, amount) in posts {
            if let Some(SharedKind::Semaphore { most, .. }) = self.shared.get_mut(name) {
                *most += amount.saturating_sub(1);
            }
        }
    }

    fn process(&mut self, process: &Process, named: &mut Vec<WaitTarget>) -> Vec<Job> {
        let attributes = &process.attributes;
        self.reader.known(attributes, "name instances nice", "a process");
        let name = self.reader.text(attributes, &["name"]).unwrap_or_else(|| "process".into());
        let instances = self.reader.count(attributes, &["instances"], 1);
        if instances == 0 {
            let hint = "instances=1";
            self.reader.complain(&process.origin, format!("process {name} without an instance"), hint);
        }
        self.part.processes.push((name.clone(), instances));
        let nice = self.reader.count(attributes, &["nice"], 0);
        let placement = Placement { nice: (nice > 0).then_some(nice.min(19) as i32), ..Placement::default() };
        let threads = process.threads.iter();
        threads.filter_map(|thread| self.thread(&name, instances, thread, &placement, named)).collect()
    }

    fn thread(
        &mut self,
        process: &str,
        instances: u64,
        thread: &Thread,
        placement: &Placement,
        named: &mut Vec<WaitTarget>,
    ) -> Option<Job> {
        let attributes = &thread.attributes;
        self.reader.known(attributes, "name instances memsize useism ioprio engine", "a thread");
        let name = self.reader.text(attributes, &["name"]).unwrap_or_else(|| "thread".into());
        let own = self.reader.count(attributes, &["instances"], 1);
        let workers = u32::try_from(own.saturating_mul(instances)).unwrap_or(u32::MAX);
        if own == 0 {
            return None;
        }
        let priority = self.reader.number(attributes, &["ioprio"]).map(|level| level as u8);
        let mut compiler = self.compiler();
        compiler.scout(&thread.flowops);
        let steps = compiler.steps(&thread.flowops);
        named.append(&mut compiler.thread.named);
        let used = std::mem::take(&mut compiler.thread.used);
        let (ways, blocks) = (compiler.thread.ways, compiler.thread.blocks);
        // A pool that ends its thread was to be used up.
        self.part.blocks |= blocks || self.ends;
        let targets = used.iter().map(|(place, directories)| self.target(*place, *directories)).collect();
        if steps.is_empty() {
            return None;
        }
        let script = Workload::Script(Script { actors: Vec::new(), steps });
        let engine = self.engine(attributes, ways);
        let shared = self.reader.flag(attributes, &["useism"]);
        let buffers = Buffers {
            arena_bytes: self.reader.count(attributes, &["memsize"], 0),
            kind: if shared { BufferKind::SharedMapping } else { BufferKind::Mapping },
            ..Buffers::default()
        };
        let handed_over = ways.handed_over.saturating_mul(2).clamp(AIO_MOST.0, AIO_MOST.1) as u32;
        let most = if ways.background { handed_over + 1 } else { 1 };
        Some(Job {
            workers,
            buffers,
            depth: Depth { most, ..Depth::default() },
            limit: self.limit.clone(),
            placement: Placement {
                io_priority: priority.filter(|level| *level < 8).map(|level| (2, level)),
                ..placement.clone()
            },
            origin: thread.origin.clone(),
            ..Job::new(&format!("{process}.{name}"), &engine, targets, script)
        })
    }

    /// What carries a thread's data: calls, unless its flowops or the script ask for something else.
    fn engine(&mut self, attributes: &Attributes, ways: DataPaths) -> String {
        let by_need = match (ways.background, ways.mapped) {
            (true, _) => "posixaio",
            (_, true) => "mmap",
            _ => POSITIONED_CALLS,
        };
        let wanted = self.reader.text(attributes, &["engine"]);
        if let (Some(wanted), Some(attribute)) = (&wanted, attributes.get(&["engine"])) {
            let several = ASYNCHRONOUS.contains(&wanted.as_str());
            let one = SYNCHRONOUS.contains(&wanted.as_str());
            let why = match (several || one, ways) {
                (false, _) => Some("no engine for files of that name"),
                (_, DataPaths { background: true, .. }) if !several => {
                    Some("it hands nothing over without waiting")
                }
                (_, DataPaths { mapped: true, .. }) if wanted != "mmap" => {
                    Some("the thread's data goes by mappings")
                }
                _ => None,
            };
            if let Some(why) = why {
                let message = format!("engine={wanted}: {why}");
                let hint = "psync, sync, vsync, pvsync, pvsync2, mmap, posixaio, libaio or io_uring";
                self.reader.complain(&attribute.origin, message, hint);
            }
        }
        wanted.unwrap_or_else(|| by_need.into())
    }

    /// The plan's target for a place.
    fn target(&mut self, place: usize, directories: bool) -> usize {
        let place = &self.places[place];
        let target = if directories { place.directories(self.seed) } else { place.target(self.seed) };
        index_of(&mut self.targets.targets, target)
    }
}
