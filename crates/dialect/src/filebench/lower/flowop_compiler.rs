//! From a thread's flowops to the steps of a script.
//!
//! A slot (`fd`) that nobody opened is opened by a step of its own, `NAME.open`, so that no implicit opening is counted as
//! the flowop itself. Where a thread never closes such a slot, it is opened once and stays so.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::{
    Action, Item, Offset, Operation, Origin, Pick, SharedKind, SharedUse, Size, Step, Transfer, Verb,
};

use super::extension_options::{self, DataPaths};
use super::filesets::Fileset;
use crate::filebench::flowops::{self, FlowopClass};
use crate::filebench::reader::AttributeReader;
use crate::filebench::script::{Attributes, Expression, Flowop};
use crate::filebench::view::BreakdownRow;

/// Composites inside each other, at most.
const DEPTH_MOST: usize = 16;
/// A turn of `hog`'s loop, measured on the machine whose outputs are our samples: a third of a nanosecond.
const HOG_TURNS_PER_NS: f64 = 3.0;
/// The most that one call writes where nothing says how much.
const WHOLE_BYTES: u64 = 1 << 20;

/// A composite, as it was defined.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Its name and `iters`.
    pub attributes: Attributes,
    /// Local variables and their defaults.
    pub locals: Vec<(String, Expression)>,
    /// What it consists of.
    pub flowops: Vec<Flowop>,
}

/// A step's label, and what can be counted of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The label.
    pub name: String,
    /// Whether it moves data, rather than being a name's operation, a composite or a pause.
    pub moves: bool,
}

/// The labels of steps, composites' too.
fn labels(steps: &[Step]) -> Vec<Label> {
    let of = |step: &Step| {
        let own = |moves| Label { name: step.label.clone(), moves };
        match &step.action {
            Action::Block(inner) => [vec![own(false)], labels(inner)].concat(),
            Action::Do(operation) => vec![own(operation.verb.moves_data())],
            Action::Call(_) => Vec::new(),
        }
    };
    steps.iter().flat_map(of).collect()
}

/// Whether a full name is what a script calls by its own.
pub(super) fn is_called(known: &str, name: &str) -> bool {
    known.strip_suffix(name).is_some_and(|outer| outer.is_empty() || outer.ends_with('.'))
}

/// A flowop that others wait at, as one of them names it.
pub struct WaitTarget {
    /// What waits.
    pub name: String,
    /// Whether it is woken rather than posted to.
    pub wakes: bool,
    /// The most that is posted at once.
    pub most: u64,
    /// Where it is named.
    pub origin: Origin,
}

/// The full name of what a script calls by its own: composites' names stand before those inside them.
pub(super) fn called(names: &[String], name: &str) -> Option<String> {
    let exact = names.iter().find(|known| *known == name);
    exact.or_else(|| names.iter().find(|known| is_called(known, name))).cloned()
}

/// Turns of a flowop that are written out, at most.
const TURNS_MOST: usize = 1024;

/// Whether a step goes through slots by turns.
fn is_turn(step: &Step) -> bool {
    matches!(&step.action, Action::Do(operation) if operation.arguments.iter().any(|(name, _)| name == "rotate"))
}

/// What a slot holds, as far as the order of flowops tells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub place: Option<usize>,
    pub open: bool,
    /// Whether the thread opens it by name, and whether it closes it.
    pub opened: bool,
    closed: bool,
}

/// What a thread comes to, flowop by flowop.
#[derive(Default)]
pub struct ThreadState {
    pub(super) slots: BTreeMap<u32, Slot>,
    /// Places it uses, files and directories apart: the job's targets.
    pub used: Vec<(usize, bool)>,
    /// What waits, as flowops name it that post or wake.
    pub named: Vec<WaitTarget>,
    /// The full names of the composites it is in.
    inside: Vec<String>,
    /// The types of the composites it is in.
    within: Vec<String>,
    /// What its steps are called.
    pub labels: Vec<Label>,
    /// How the thread's data is moved.
    pub ways: DataPaths,
    /// Whether anything waits for what others do.
    pub blocks: bool,
    /// Slots of flowops that were not understood: what they hold cannot be told.
    unclear: BTreeSet<u32>,
}

/// Compiles one thread.
pub struct FlowopCompiler<'a, 'b> {
    /// Looks values up.
    pub reader: &'a mut AttributeReader<'b>,
    /// Every place there is.
    pub places: &'a mut [Fileset],
    /// Every composite.
    pub composites: &'a BTreeMap<String, Composite>,
    /// Whether events are generated.
    pub events: bool,
    /// Whether an empty pool ends the thread rather than making it wait.
    pub ends: bool,
    /// What is shared, by name.
    pub shared: &'a mut BTreeMap<String, SharedKind>,
    /// The report's rows.
    pub rows: &'a mut Vec<BreakdownRow>,
    /// What all threads' steps are called.
    pub everywhere: &'a [Label],
    /// What waits for others, in any thread.
    pub waits: &'a [String],
    /// What its thread comes to.
    pub thread: ThreadState,
}

impl FlowopCompiler<'_, '_> {
    /// Looks at what the flowops ask of their places; nothing is said twice.
    pub fn scout(&mut self, flowops: &[Flowop]) {
        let everywhere = std::mem::take(&mut self.everywhere);
        let (wrong, rows) = (self.reader.wrong.len(), self.rows.len());
        self.thread.labels = labels(&self.steps(flowops));
        self.reader.wrong.truncate(wrong);
        self.rows.truncate(rows);
        self.thread.slots.values_mut().for_each(|slot| (slot.open, slot.place) = (false, None));
        (self.thread.used, self.thread.named, self.thread.ways) = Default::default();
        self.thread.unclear.clear();
        self.everywhere = everywhere;
    }

    /// The steps of flowops, in their order.
    pub fn steps(&mut self, flowops: &[Flowop]) -> Vec<Step> {
        flowops.iter().flat_map(|flowop| self.flowop(flowop)).collect()
    }

    /// A flowop's name in reports: with those of the composites around it.
    fn label(&mut self, flowop: &Flowop) -> String {
        let name = self.reader.text(&flowop.attributes, &["name"]).unwrap_or_else(|| flowop.kind.clone());
        self.thread.inside.last().map_or(String::new(), |outer| format!("{outer}.")) + &name
    }

    fn flowop(&mut self, flowop: &Flowop) -> Vec<Step> {
        // Inside a composite that is called like a flowop, that flowop is meant.
        let itself = self.thread.within.contains(&flowop.kind) && flowops::find(&flowop.kind).is_some();
        if let Some(composite) = self.composites.get(&flowop.kind).filter(|_| !itself) {
            return self.composite(flowop, composite);
        }
        let Some(entry) = flowops::find(&flowop.kind) else {
            let hint = flowops::hint(&flowop.kind, self.composites.keys());
            self.reader.complain(&flowop.origin, format!("no flowop `{}`", flowop.kind), hint);
            let slot = self.reader.count(&flowop.attributes, &["fd"], 0) as u32;
            self.thread.unclear.insert(slot);
            return Vec::new();
        };
        if entry.name != flowop.kind {
            return self.flowop(&Flowop { kind: entry.name.into(), ..flowop.clone() });
        }
        self.reader.known(&flowop.attributes, flowops::ATTRIBUTES, &format!("flowop {}", entry.name));
        let label = self.label(flowop);
        let repeat = self.reader.count(&flowop.attributes, &["iters"], 1).max(1);
        self.row(&label, entry.class);
        self.mode(flowop);
        if entry.name == "aiowrite" {
            self.thread.ways.handed_over = self.thread.ways.handed_over.saturating_add(repeat);
        }
        let mut steps = match entry.class {
            FlowopClass::Control => self.control(flowop, &label),
            _ if ["makedir", "removedir", "listdir", "statdir"].contains(&entry.name) => {
                self.directory(flowop, &label)
            }
            _ if entry.name == "aiowait" => vec![Operation::control(Verb::Wait).step(&label)],
            _ => self.files(flowop, &label),
        };
        if steps.len() > 1 && (steps.iter().all(is_turn) || entry.name == "testrandvar") {
            // Each turn is another file's, or another value, so both are repeated together.
            let turns = usize::try_from(repeat).unwrap_or(TURNS_MOST).min(TURNS_MOST);
            steps = std::iter::repeat_n(steps, turns).flatten().collect();
        } else if let Some(last) = steps.last_mut() {
            last.repeat = repeat;
        }
        for step in &mut steps {
            step.origin = flowop.origin.clone();
        }
        steps
    }

    fn row(&mut self, label: &str, class: FlowopClass) {
        if !self.rows.iter().any(|row| row.label == label) {
            self.rows.push(BreakdownRow { label: label.into(), class, inner: Vec::new(), value: None });
        }
    }

    fn composite(&mut self, flowop: &Flowop, composite: &Composite) -> Vec<Step> {
        if self.thread.inside.len() == DEPTH_MOST {
            let hint = "a composite cannot consist of itself";
            self.reader.complain(&flowop.origin, "composites too deep inside each other", hint);
            return Vec::new();
        }
        let label = self.label(flowop);
        // What stands at the call is the caller's, and what stands at the definition the composite's own.
        let given =
            flowop.attributes.get(&["iters"]).map(|_| self.reader.count(&flowop.attributes, &["iters"], 1));
        let mut locals = BTreeMap::new();
        for (name, expression) in composite.locals.iter().chain(&flowop.locals) {
            // A default that names the variable itself is one that the caller must hand over.
            if *expression == Expression::Variable(name.clone()) && self.reader.variables.get(name).is_none()
            {
                continue;
            }
            match self.reader.variables.worth(expression) {
                Ok(value) => drop(locals.insert(name.clone(), value)),
                Err((message, hint)) => self.reader.complain(&flowop.origin, message, hint),
            }
        }
        self.reader.variables.enter(locals);
        let own = self.reader.count(&composite.attributes, &["iters"], 1);
        let repeat = given.unwrap_or(own).max(1);
        self.row(&label, FlowopClass::Control);
        self.thread.inside.push(label.clone());
        self.thread.within.push(flowop.kind.clone());
        let steps = self.steps(&composite.flowops);
        self.thread.within.pop();
        self.thread.inside.pop();
        self.reader.variables.leave();
        let origin = flowop.origin.clone();
        if steps.is_empty() {
            Vec::new()
        } else {
            vec![Step { label, action: Action::Block(steps), repeat, origin }]
        }
    }

    /// The place that a flowop names, or that its slot holds.
    fn place(&mut self, flowop: &Flowop, slot: u32) -> Option<usize> {
        let Some(attribute) = flowop.attributes.get(&["filename", "filesetname"]) else {
            let held = self.thread.slots.get(&slot).and_then(|slot| slot.place);
            // A mistake that was told already has no others for its consequences.
            let told = self.thread.unclear.contains(&slot)
                || self.reader.wrong.iter().any(|wrong| wrong.origin == flowop.origin);
            if held.is_none() && !told {
                let what = format!(" without filesetname=, and nothing in slot {slot}");
                self.refuse(flowop, &what, "name a fileset, or open one in that slot before");
            }
            return held;
        };
        let Some(name) = self.reader.value(attribute).map(|value| value.text()) else {
            self.thread.unclear.insert(slot);
            return None;
        };
        let found = self.places.iter().position(|place| place.name == name);
        if found.is_none() {
            let names: Vec<_> = self.places.iter().map(|place| place.name.clone()).collect();
            let hint = format!("there are: {}", names.join(" "));
            self.reader.complain(&attribute.origin, format!("no file or fileset `{name}`"), hint);
            self.thread.unclear.insert(slot);
        }
        found
    }

    /// Reports a flowop that makes no sense; `what` follows its type.
    pub(super) fn refuse(&mut self, flowop: &Flowop, what: &str, hint: &str) {
        self.reader.complain(&flowop.origin, format!("flowop {}{what}", flowop.kind), hint);
    }

    /// The job's target for a place.
    pub(super) fn target(&mut self, place: usize, directories: bool) -> usize {
        crate::index_of(&mut self.thread.used, (place, directories))
    }

    pub(super) fn item(&self, operation: Operation) -> Operation {
        let mut operation = operation;
        if self.ends {
            operation.arguments.push(("empty".into(), "ends".into()));
        }
        operation
    }

    fn directory(&mut self, flowop: &Flowop, label: &str) -> Vec<Step> {
        let Some(place) = self.place(flowop, 0) else { return Vec::new() };
        let Fileset { leaf_directories, entries, single, .. } = self.places[place];
        let lists = matches!(flowop.kind.as_str(), "listdir" | "statdir");
        let has_leaves = leaf_directories > 0;
        if !has_leaves && (!lists || entries == 0 || single) {
            let what = format!(" on {}, which has no leafdirs", self.places[place].name);
            self.refuse(flowop, &what, "define fileset …,leafdirs=1000");
            return Vec::new();
        }
        // Of a set without such directories, one that a file lies in is listed.
        let access = &mut self.places[place].access;
        (access.directories, access.by_name) =
            (access.directories || has_leaves, access.by_name || !has_leaves);
        let target = self.target(place, has_leaves);
        let pick = self.any(flowop);
        let (verb, item) = match flowop.kind.as_str() {
            "makedir" => (Verb::Mkdir, Item::Missing(Pick::Uniform)),
            "removedir" => (Verb::Rmdir, Item::Existing(pick)),
            _ => (Verb::Readdir, Item::Existing(pick)),
        };
        let mut operation = self.item(Operation { item, ..Operation::on(verb, target) });
        if flowop.kind == "statdir" {
            operation.arguments.push(("stat".into(), "true".into()));
        }
        vec![operation.step(label)]
    }

    fn files(&mut self, flowop: &Flowop, label: &str) -> Vec<Step> {
        let attributes = &flowop.attributes;
        let slot = self.reader.count(attributes, &["fd"], 0) as u32;
        let Some(place) = self.place(flowop, slot) else { return Vec::new() };
        let access = &mut self.places[place].access;
        access.direct |= self.reader.flag(attributes, &["directio"]);
        access.sync |= self.reader.flag(attributes, &["dsync"]);
        access.random |= self.reader.flag(attributes, &["noreadahead"]);
        access.by_name |= extension_options::by_name(&flowop.kind);
        access.creates |= extension_options::creates(&flowop.kind);
        let pick = self.pick(flowop);
        match flowop.kind.as_str() {
            "openfile" | "createfile" => {
                let known = self.thread.slots.entry(slot).or_default();
                (known.place, known.open, known.opened) = (Some(place), true, true);
                let mut open = self.open(place, slot, flowop.kind == "createfile", &pick);
                open.arguments.extend(self.mode(flowop).map(|bits| ("mode".into(), format!("{bits:o}"))));
                vec![open.step(label)]
            }
            "closefile" => {
                let known = self.thread.slots.entry(slot).or_default();
                (known.open, known.closed) = (false, true);
                vec![self.held(Verb::Close, place, slot).step(label)]
            }
            "deletefile" | "statfile" => self.by_name(flowop, place, slot, &pick, label),
            "renamefile" | "linkfile" | "symlinkfile" => self.two_names(flowop, place, &pick, label),
            kind if kind.ends_with("xattr") => self.attribute(flowop, place, slot, &pick, label),
            "fsyncset" => self.sync_set(place, label),
            _ => {
                let mut steps = self.opened(flowop, place, slot, &pick, label);
                let Some(mut operation) = self.data(flowop, place, slot) else { return steps };
                self.rotate(flowop, place, &mut operation);
                steps.push(operation.step(label));
                steps
            }
        }
    }

    fn open(&mut self, place: usize, slot: u32, creates: bool, pick: &Item) -> Operation {
        let target = self.target(place, false);
        let (verb, item) = match creates {
            true => (Verb::Create, Item::Missing(Pick::Uniform)),
            false => (Verb::Open, pick.clone()),
        };
        self.item(Operation { item, handle: Some(slot), ..Operation::on(verb, target) })
    }

    /// An operation on what a slot holds, or on the one file that stays open.
    pub(super) fn held(&mut self, verb: Verb, place: usize, slot: u32) -> Operation {
        let target = self.target(place, false);
        match self.places[place].is_one_file() {
            true => Operation::on(verb, target),
            false => Operation { item: Item::Held, handle: Some(slot), ..Operation::on(verb, target) },
        }
    }

    /// The step that opens a slot which nobody opened.
    fn opened(&mut self, flowop: &Flowop, place: usize, slot: u32, pick: &Item, label: &str) -> Vec<Step> {
        let rotates = self.rotates(flowop, place);
        let known = self.thread.slots.entry(slot).or_default();
        if known.open && known.place == Some(place) && !rotates {
            return Vec::new();
        }
        let once = rotates || (!known.closed && !known.opened);
        (known.place, known.open) = (Some(place), true);
        if self.places[place].is_one_file() {
            return Vec::new();
        }
        let mut open = self.open(place, slot, false, pick);
        if once {
            open.arguments.push(("once".into(), "true".into()));
        }
        self.rotate(flowop, place, &mut open);
        vec![open.step(&format!("{label}.open"))]
    }

    fn by_name(&mut self, flowop: &Flowop, place: usize, slot: u32, pick: &Item, label: &str) -> Vec<Step> {
        let open = self.thread.slots.get(&slot).is_some_and(|slot| slot.open);
        let target = self.target(place, false);
        let operation = match (flowop.kind.as_str(), open) {
            ("statfile", true) => self.held(Verb::Fstat, place, slot),
            ("statfile", false) => Operation { item: pick.clone(), ..Operation::on(Verb::Stat, target) },
            (_, true) if slot > 0 => self.held(Verb::Unlink, place, slot),
            _ => Operation { item: pick.clone(), ..Operation::on(Verb::Unlink, target) },
        };
        let picks = operation.item != Item::Held;
        vec![if picks { self.item(operation) } else { operation }.step(label)]
    }

    /// Every slot that holds a file of a set is made durable, timed as one.
    fn sync_set(&mut self, place: usize, label: &str) -> Vec<Step> {
        let held = self.thread.slots.iter().filter(|(_, slot)| slot.open && slot.place == Some(place));
        let slots: Vec<u32> = held.map(|(number, _)| *number).collect();
        let inner = format!("{label}.fsync");
        let mut steps: Vec<Step> =
            slots.iter().map(|slot| self.held(Verb::Fsync, place, *slot).step(&inner)).collect();
        match steps.len() {
            0 => Vec::new(),
            1 => {
                steps[0].label = label.into();
                steps
            }
            _ => vec![Step {
                label: label.into(),
                action: Action::Block(steps),
                repeat: 1,
                origin: Origin::Default,
            }],
        }
    }

    /// Reading, writing, appending, syncing.
    fn data(&mut self, flowop: &Flowop, place: usize, slot: u32) -> Option<Operation> {
        let kind = flowop.kind.as_str();
        let verb = match kind {
            "fsync" => Verb::Fsync,
            "fdatasync" => Verb::Fdatasync,
            "read" | "readwholefile" | "mmapread" => Verb::Read,
            "truncatefile" => Verb::Truncate,
            "fallocatefile" => Verb::Fallocate,
            "copyfilerange" => return self.copy(flowop, slot),
            _ => Verb::Write,
        };
        let mut operation = self.held(verb, place, slot);
        if matches!(verb, Verb::Fsync | Verb::Fdatasync) {
            return Some(operation);
        }
        self.ways(flowop);
        let one_by_one = ["read", "write", "mmapread", "mmapwrite", "aiowrite"].contains(&kind);
        let least = u64::from(one_by_one);
        let size = self.reader.size(&flowop.attributes, &["iosize"], least);
        let size = size.filter(|size| *size != Size::Fixed(0));
        operation.transfer =
            Transfer { full: verb == Verb::Write && kind != "aiowrite", ..Transfer::default() };
        operation.size = match (kind, size) {
            ("readwholefile", size) => {
                operation.whole = true;
                size.unwrap_or(Size::Fixed(WHOLE_BYTES))
            }
            ("writewholefile", size) => {
                operation.whole = true;
                let like = self.like(flowop, place, slot);
                operation.arguments.push(like);
                size.unwrap_or(Size::Fixed(WHOLE_BYTES))
            }
            ("truncatefile", size) => {
                operation.offset = Offset::At(0);
                size.unwrap_or(Size::Fixed(0))
            }
            ("appendfilerand", Some(size)) => {
                operation.offset = Offset::End;
                let most_bytes = size.most_bytes().unwrap_or(WHOLE_BYTES);
                Size::Uniform { least_bytes: 0, most_bytes, step_bytes: 1 }
            }
            (_, Some(size)) => size,
            (_, None) if flowop.attributes.get(&["iosize"]).is_some_and(|given| given.value.is_some()) => {
                return None;
            }
            (_, None) => {
                let message = format!("flowop {kind} without iosize=");
                self.reader.complain(&flowop.origin, message, "e.g. iosize=8k");
                return None;
            }
        };
        if kind == "appendfile" {
            operation.offset = Offset::End;
        }
        let random = self.reader.flag(&flowop.attributes, &["random"]) && one_by_one;
        if random || kind == "aiowrite" {
            operation.offset = self.anywhere(flowop, place);
        }
        if kind == "aiowrite" {
            (operation.background, operation.buffer) = (true, 1);
            self.thread.ways.background = true;
        }
        if kind == "fallocatefile" {
            operation.offset = Offset::At(0);
        }
        Some(operation)
    }

    fn control(&mut self, flowop: &Flowop, label: &str) -> Vec<Step> {
        let attributes = &flowop.attributes;
        match flowop.kind.as_str() {
            "print" | "testrandvar" => return self.look(flowop, label),
            "delay" => return vec![self.pause(attributes, Verb::Think, 1e9).step(label)],
            "hog" => return vec![self.pause(attributes, Verb::Spin, 1.0 / HOG_TURNS_PER_NS).step(label)],
            "eventlimit" | "iopslimit" | "opslimit" | "bwlimit" => return self.limit(flowop, label),
            _ => {}
        }
        match flowop.kind.as_str() {
            "finishoncount" | "finishonbytes" => self.finish(flowop, label),
            "block" => {
                self.thread.blocks = true;
                self.shared.insert(label.into(), SharedKind::Signal);
                let used = SharedUse::new(label, 1);
                vec![Operation { shared: Some(used), ..Operation::control(Verb::Wait) }.step(label)]
            }
            "semblock" => {
                self.thread.blocks = true;
                let (most, operation) = self.amount(attributes, Verb::Wait, label);
                let most = most + self.reader.count(attributes, &["highwater"], 1);
                self.shared.insert(label.into(), SharedKind::Semaphore { initial: 0, most, waiters: 0 });
                vec![operation.step(label)]
            }
            _ => self.post(flowop, label),
        }
    }

    /// Time that passes: as many units as `value` says, or as are drawn each time.
    fn pause(&mut self, attributes: &Attributes, verb: Verb, unit_ns: f64) -> Operation {
        if let Some(size) = self.reader.drawn(attributes, &["value"], 0) {
            return Operation { drawn: size.map(|size| (size, unit_ns)), ..Operation::control(verb) };
        }
        let units = self.reader.number(attributes, &["value"]).unwrap_or(1.0);
        Operation { time_ns: (units * unit_ns) as u64, ..Operation::control(verb) }
    }
}
