//! From a script's steps to instructions: names looked up, places and sizes decided, everything refused that cannot run.
//!
//! Done once, before the start line; all refusals are made here, so that running cannot fail. Everything wrong is listed
//! at once.

use std::sync::Arc;

use iodyno_model::{
    Action, AtEnd, Content, Conversion, Coverage, Item, Kind, Offset, Operation, Per, Pick, SampleOrder,
    Script, SharedUse, Size, Step, TargetKind, Transfer, Verb,
};

use super::super::pattern::{item_flags, worker_seed};
use super::super::random::mix;
use super::super::samples::{SamplePlaces, Samples};
use super::super::shared::{BarrierMember, Object};
use super::super::walk::{PickRange, Walk, failure};
use super::super::{SourceContext, label_of, labels, object};
use super::listing::Listing;
use crate::distribution::Sizes;
use crate::failure::Failure;
use crate::io::SAYS_MODE;

/// The largest operation of a size that has no bound of its own, bytes.
const BOUNDLESS_BYTES: u64 = 1 << 20;

/// Slots that an operation works in, one after the other, at most.
const SLOTS_MOST: u32 = 1024;

/// One instruction.
pub enum Code {
    /// An operation, so many times.
    Do(Box<CompiledOperation>, u64),
    /// A composite begins.
    Begin,
    /// A composite ends: its line, where it began, and how often it is run; no longer than there are such blocks.
    End { label: u16, verb: Verb, start: usize, repeat: u64, blocks: Option<RequestedBlocks> },
}

impl Code {
    fn requested(&self) -> Option<RequestedBlocks> {
        if let Code::Do(step, _) = self { step.what.requested() } else { None }
    }
}

/// An operation with everything looked up.
pub struct CompiledOperation {
    pub verb: Verb,
    pub label: u16,
    /// The handle it works on.
    pub file: u32,
    pub what: OperationDetail,
    /// The handle that an open or create fills.
    pub keep: Option<u32>,
    pub buffer: usize,
    pub transfer: Transfer,
    pub finish_at_end: bool,
    pub whole: bool,
    /// A write of what the buffer holds.
    pub carried: bool,
    /// Opens only where its handle is empty.
    pub once: bool,
    /// Left out where its handle is empty.
    pub held: bool,
    /// An empty pool ends the worker.
    pub ends: bool,
    /// It works in one of so many slots from its own on, each in turn; 0: in its own.
    pub rotates: u32,
    /// The handle whose item says how long a whole file is.
    pub like: Option<u32>,
    /// The same, as a number of bytes.
    pub total: Option<u64>,
    /// Handed over, and not waited for.
    pub background: bool,
    /// Of an item, what is written or read between its opening and its closing, bytes, and how.
    pub data: (u64, u8),
    /// Each item has the length that its number is drawn, and `data` is the longest.
    pub has_own_length: bool,
    /// Operations that are left out when it fails.
    pub skips: u32,
    /// Whether what is not there is removed already.
    pub missing_done: bool,
    /// The handle that is copied to, or what the verb takes as its further argument.
    pub further: u64,
    /// Bytes of an extended attribute's value.
    pub value: u64,
    /// Bytes that its reads may still bring.
    pub total_left: u64,
}

/// What an operation needs beside its verb.
pub enum OperationDetail {
    /// A range of a file.
    Range(Spot, Length),
    /// An item, and for two names the second.
    Item(Which, Option<Which>),
    File,
    /// Time, ns: always the same, or a number that is drawn and multiplied.
    Pause(u64, Option<(Length, f64)>),
    /// A number that is drawn and taken note of: as it is, or the square of how far it is from another one.
    Value(Length, Option<f64>),
    /// What is in flight in the background, down to so much; none: down to half of it.
    Reap(Option<u32>),
    Shared(Object, Box<Use>),
    /// The end, once a count is reached: of an object, of operations, of bytes.
    Finish(Option<(Object, i64)>, u64, u64),
}

impl CompiledOperation {
    /// Whether it writes what its buffer was filled with.
    pub fn writes(&self) -> bool {
        (self.verb == Verb::Write && !self.carried) || (self.verb == Verb::Create && self.data.0 > 0)
    }
}

impl OperationDetail {
    /// Which of a request's blocks it works on, if on any.
    pub fn requested(&self) -> Option<RequestedBlocks> {
        match self {
            OperationDetail::Range(Spot::Requested(which), _)
            | OperationDetail::Item(Which::Requested(which), _) => Some(*which),
            _ => None,
        }
    }

    /// How many operations its step stands for.
    fn runs(&self) -> u64 {
        match self {
            OperationDetail::Item(Which::Tree { count, .. }, _) => *count,
            _ => 1,
        }
    }
}

/// How much of a shared object a use takes.
pub struct Use {
    pub amount: i64,
    /// What is drawn each time instead, and how much each of it is.
    pub drawn: Option<(Length, f64)>,
    /// A count of what anybody did, of which what nobody has settled is taken.
    pub from: Option<Object>,
    /// A post that waits for nothing, however much was posted before.
    pub boundless: bool,
    /// How soon it asks again, ns.
    pub ask_again_ns: u64,
    /// What was drawn or settled, and is not granted yet.
    pub due: Option<i64>,
    pub per: Per,
    /// Counted by this label only.
    pub of: Option<u16>,
    /// The count at the last use.
    pub counted: u64,
}

pub enum Spot {
    Next,
    End,
    /// Where the range before it began.
    Again,
    At(u64),
    Drawn(Box<Walk>),
    /// At the next sample.
    Sampled(SamplePlaces),
    /// At the request's next block.
    Requested(RequestedBlocks),
    /// In whatever item is open, at a multiple of so many bytes.
    Within(u64),
}

/// Which of a request's blocks, and the bytes of one.
#[derive(Clone, Copy)]
pub struct RequestedBlocks {
    pub stored: bool,
    pub block_bytes: u64,
}

pub enum Length {
    Drawn(Sizes),
    ResultOf(u16),
    Whole,
}

pub enum Which {
    Index(u64),
    Each,
    /// Each once, shuffled.
    Shuffled(Box<Walk>),
    /// As the file system lists them.
    Listed(Box<Listing>),
    /// The directories of the tree: so many, from the root down or back up to it, and how many were had.
    Tree {
        count: u64,
        upwards: bool,
        next: u64,
    },
    /// One that exists, or that does not; and whether they are looked through in order.
    Existing(Box<Walk>, bool),
    Missing(Box<Walk>, bool),
    /// One that exists, by a number that is drawn.
    Drawn(Sizes),
    /// In turn, and the number of the next.
    Oldest(u64),
    /// The next of those that samples lie in.
    Sampled(Samples),
    /// The request's next block.
    Requested(RequestedBlocks),
    /// So many further than the item of the operation before.
    Last(u64),
    Held(u32),
}

/// How many handles beyond those of its targets a job's script opens by itself.
pub fn extra_handles(script: &Script) -> u32 {
    let last = |operation: &&Operation| Some(operation.handle? + rotates(operation).max(1));
    operations(&script.steps).iter().filter_map(last).max().unwrap_or(0)
}

/// In how many slots an operation works in turn.
fn rotates(operation: &Operation) -> u32 {
    number(operation, "rotate").ok().flatten().map_or(0, |count| count.min(u64::from(SLOTS_MOST)) as u32)
}

/// Whether any operation is handed over without waiting for it.
pub fn has_background(script: &Script) -> bool {
    operations(&script.steps).iter().any(|operation| operation.background)
}

/// Every operation, composites unfolded.
pub fn operations(steps: &[Step]) -> Vec<&Operation> {
    steps
        .iter()
        .flat_map(|step| match &step.action {
            Action::Do(operation) => vec![&**operation],
            Action::Block(steps) => operations(steps),
            Action::Call(_) => Vec::new(),
        })
        .collect()
}

/// The most bytes that an operation moves at once.
pub fn most_bytes(operation: &Operation) -> u64 {
    match operation.verb.moves_data() {
        // A whole file goes through a block of this size again and again.
        true if operation.verb == Verb::CopyFileRange => 0,
        true => operation.size.most_bytes().unwrap_or(BOUNDLESS_BYTES),
        false if operation.item_data.is_some() => operation.size.most_bytes().unwrap_or(0),
        // What a verb on extended attributes reads or writes.
        false => number(operation, "value_bytes").ok().flatten().unwrap_or(0),
    }
}

/// The most bytes that one read asks for, into each numbered buffer.
pub fn records(script: &Script) -> Vec<u64> {
    blocks(script, |verb| verb == Verb::Read)
}

/// The most bytes that one of some operations asks of each numbered buffer.
fn blocks(script: &Script, counts: impl Fn(Verb) -> bool) -> Vec<u64> {
    let all = operations(&script.steps);
    let count = all.iter().map(|operation| operation.buffer + 1).max().unwrap_or(1);
    let most = |number| {
        let users = all.iter().filter(|operation| operation.buffer == number && counts(operation.verb));
        users.map(|operation| most_bytes(operation)).max().unwrap_or(0)
    };
    (0..count).map(most).collect()
}

/// Bytes of each of a script's buffers, by number: the block that is read into, and the queue behind it where records
/// are gathered.
pub fn buffers(script: &Script, arena: u64) -> Vec<(u64, u64)> {
    let all = operations(&script.steps);
    let of = |(number, block): (u32, u64)| {
        let users = || all.iter().filter(move |operation| operation.buffer == number);
        let queued: u64 = if users().any(|operation| operation.transfer.gather) {
            users().map(|operation| most_bytes(operation)).sum::<u64>() + block
        } else {
            0
        };
        (block.max(arena).next_multiple_of(4096), queued.next_multiple_of(4096))
    };
    (0..).zip(blocks(script, |_| true)).map(of).collect()
}

/// What becomes of the bytes that are read into a buffer.
pub fn conversion(script: &Script, buffer: u32) -> Option<&Conversion> {
    let all = operations(&script.steps).into_iter();
    all.filter(|operation| operation.buffer == buffer).find_map(|operation| operation.conversion.as_deref())
}

/// Whether a script can run, as far as it alone tells; everything that is wrong at once.
pub fn check(script: &Script) -> Result<(), Failure> {
    let mut refusals = Vec::new();
    if !script.actors.is_empty() {
        refusals.push("actors".into());
    }
    check_steps(&script.steps, &mut refusals);
    refused(&mut refusals)
}

fn check_steps(steps: &[Step], refusals: &mut Vec<String>) {
    for step in steps {
        let operation = match &step.action {
            Action::Block(steps) => {
                check_steps(steps, refusals);
                continue;
            }
            Action::Call(call) => {
                refusals
                    .push(format!("`{}`: the system call {}, which only cases make", step.label, call.name));
                continue;
            }
            Action::Do(operation) => operation,
        };
        let mut refuse = |what: String| refusals.push(format!("`{}`: {what}", step.label));
        if operation.shared.is_some() && operation.verb.kind() != Kind::Control {
            refuse("a shared object on an operation".into());
        }
        if operation.verb.kind() == Kind::Network {
            refuse(format!("the network verb {}", operation.verb));
        }
        for item in std::iter::once(&operation.item).chain(operation.other.as_ref().map(|(_, item)| item)) {
            if let Item::Named(name) = item {
                refuse(format!("the name `{name}`"));
            }
        }
    }
}

fn refused(refusals: &mut Vec<String>) -> Result<(), Failure> {
    refusals.dedup();
    if refusals.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("this script cannot run yet: {}", refusals.join(", ")))
        .hint("network verbs arrive with iperf, the others with filebench"))
}

pub struct Compiler<'a, 'b> {
    context: &'a SourceContext<'b>,
    labels: Vec<(String, Verb)>,
    first_extra: u32,
    /// The barriers that this worker comes to.
    joined: Vec<Arc<BarrierMember>>,
    seed: u64,
    pub code: Vec<Code>,
    refusals: Vec<String>,
}

impl<'a, 'b> Compiler<'a, 'b> {
    pub fn new(context: &'a SourceContext<'b>, script: &Script) -> Self {
        let handles = context.files.handles.len() as u32;
        let first_extra = handles.saturating_sub(extra_handles(script));
        let (labels, seed) = (labels(context.job), worker_seed(context));
        let (code, refusals, joined) = (Vec::new(), Vec::new(), Vec::new());
        Compiler { context, labels, first_extra, seed, code, refusals, joined }
    }

    /// Where the script's own handles begin.
    pub fn first_extra(&self) -> u32 {
        self.first_extra
    }

    /// Compiles the script, or says everything that is wrong with it.
    pub fn run(&mut self, script: &Script) -> Result<(), Failure> {
        check(script)?;
        self.steps(&script.steps);
        refused(&mut self.refusals)
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match &step.action {
                Action::Call(_) => {}
                Action::Block(steps) => {
                    let start = self.code.len();
                    self.code.push(Code::Begin);
                    self.steps(steps);
                    let verb = super::super::block_verb(steps);
                    let label = label_of(&self.labels, &step.label, verb);
                    let blocks = self.code[start..].iter().find_map(Code::requested);
                    self.code.push(Code::End { label, verb, start, repeat: step.repeat.max(1), blocks });
                }
                Action::Do(operation) => match self.operation(operation, &step.label) {
                    Ok(compiled) => {
                        let repeat = step.repeat.max(1).saturating_mul(compiled.what.runs());
                        self.code.push(Code::Do(Box::new(compiled), repeat));
                    }
                    Err(failure) => self.refusals.push(format!("`{}`: {}", step.label, failure.message)),
                },
            }
        }
    }

    fn operation(&mut self, operation: &Operation, label: &str) -> Result<CompiledOperation, Failure> {
        let verb = operation.verb;
        let (file, keep) = self.handles(operation)?;
        let what = self.what(operation, file)?;
        Ok(CompiledOperation {
            verb,
            label: label_of(&self.labels, label, verb),
            file,
            what,
            keep,
            buffer: operation.buffer as usize,
            transfer: operation.transfer,
            finish_at_end: operation.at_end == AtEnd::Finish,
            whole: operation.whole,
            rotates: rotates(operation),
            like: number(operation, "like")?.map(|slot| self.first_extra + slot as u32),
            total: number(operation, "total")?,
            background: operation.background,
            data: data(operation)?,
            has_own_length: self.has_own_length(operation, file)?,
            skips: operation.skips,
            missing_done: says(operation, "missing", "done"),
            further: self.further(operation, keep)?,
            value: self.value(operation)?,
            once: says(operation, "once", "true"),
            held: says(operation, "if", "held"),
            ends: says(operation, "empty", "ends") || self.context.job.limit.time_ns.is_none(),
            total_left: operation.transfer.total_bytes.unwrap_or(u64::MAX),
            carried: verb == Verb::Write && self.context.job.payload.content == Content::Carried,
        })
    }

    /// Whether each item is moved at the length that it was drawn: the set's and the operation's sizes are the same.
    fn has_own_length(&self, operation: &Operation, file: u32) -> Result<bool, Failure> {
        if operation.item_data.is_none() || matches!(operation.size, Size::Fixed(_)) {
            return Ok(false);
        }
        let handle = self.context.files.handles.get(file as usize);
        let target = handle.and_then(|handle| self.context.plan.targets.get(handle.target as usize));
        match target.map(|target| &target.kind) {
            Some(TargetKind::FileSet { items, .. } | TargetKind::Bucket { items, .. })
                if items.size == operation.size =>
            {
                Ok(true)
            }
            _ => Err(Failure::new("items are moved whole, and have other lengths")
                .hint("give the target's size and the step's size the same value")),
        }
    }

    fn further(&self, operation: &Operation, keep: Option<u32>) -> Result<u64, Failure> {
        if let Some(bits) = mode(operation)? {
            return match (operation.verb, keep) {
                (Verb::Create, Some(_)) => Ok(u64::from(bits | SAYS_MODE) << 32),
                (Verb::Chmod | Verb::Mknod | Verb::Access, _) => Ok(u64::from(bits)),
                (verb, _) => Err(Failure::new(format!("mode= of {verb}, which has no place for it"))),
            };
        }
        if operation.verb == Verb::Fadvise {
            return Ok(number(operation, "advice")?.unwrap_or(0));
        }
        Ok(match number(operation, "to")? {
            Some(slot) => u64::from(self.first_extra) + slot,
            None => u64::from(says(operation, "stat", "true")),
        })
    }

    /// What a verb on extended attributes moves.
    fn value(&self, operation: &Operation) -> Result<u64, Failure> {
        match operation.verb {
            Verb::Setxattr | Verb::Getxattr | Verb::Listxattr => {
                Ok(number(operation, "value_bytes")?.unwrap_or(64).min(self.context.memory.stride() as u64))
            }
            _ => Ok(0),
        }
    }

    /// The handle that is worked on, and the one that is filled.
    fn handles(&self, operation: &Operation) -> Result<(u32, Option<u32>), Failure> {
        let own = operation.handle.map(|number| self.first_extra + number);
        let opens = matches!(operation.verb, Verb::Open | Verb::Create);
        if operation.verb.kind() == Kind::Control {
            return Ok((0, None));
        }
        let on_open = matches!(operation.verb.kind(), Kind::Metadata) && operation.item == Item::Held;
        let by_handle = !self.has_name(operation) || (on_open && is_attribute(operation.verb));
        if let Some(handle) = own.filter(|_| !opens && by_handle) {
            return Ok((handle, None));
        }
        let target = operation.target.ok_or_else(|| Failure::new("no target"))?;
        let target = *self.context.job.targets.get(target).ok_or_else(|| Failure::new("no such target"))?;
        let handles = &self.context.files.handles[..self.first_extra as usize];
        let handle = handles.iter().position(|handle| handle.target as usize == target);
        Ok((handle.ok_or_else(|| Failure::new("nothing open for its target"))? as u32, own.filter(|_| opens)))
    }

    /// Whether the verb works by name rather than on what is open.
    fn has_name(&self, operation: &Operation) -> bool {
        let by_handle = matches!(
            operation.verb,
            Verb::Close
                | Verb::Fstat
                | Verb::Statfs
                | Verb::Truncate
                | Verb::Fallocate
                | Verb::Fadvise
                | Verb::Lock
                | Verb::Unlock
        );
        operation.verb.kind() == Kind::Metadata && !by_handle
    }

    fn what(&mut self, operation: &Operation, file: u32) -> Result<OperationDetail, Failure> {
        Ok(match operation.verb {
            Verb::Spin if says(operation, "draws", "true") => self.drawn(operation)?,
            Verb::Think | Verb::Spin => {
                OperationDetail::Pause(operation.time_ns, self.drawn_number(operation)?)
            }
            Verb::Wait if operation.shared.is_none() => {
                OperationDetail::Reap(number(operation, "stay")?.map(|stay| stay as u32))
            }
            Verb::Wait | Verb::Post => {
                let wanted = operation.shared.as_ref().ok_or_else(|| Failure::new("no shared object"))?;
                let (drawn, boundless) = (self.drawn_number(operation)?, says(operation, "bounded", "false"));
                let object = object(self.context, wanted)?.join(&mut self.joined)?;
                if object.is_barrier() && operation.verb == Verb::Post {
                    return Err(Failure::new(format!("`{}` is a barrier", wanted.name)).hint("wait for it"));
                }
                OperationDetail::Shared(object, Box::new(Use { drawn, boundless, ..self.used(wanted)? }))
            }
            Verb::Finish => self.finish(operation)?,
            verb if verb.moves_data()
                || matches!(verb, Verb::Trim | Verb::Discard | Verb::SyncFileRange | Verb::Fallocate) =>
            {
                self.range(operation, file)?
            }
            Verb::Fadvise => self.range(operation, file)?,
            Verb::Truncate if operation.size != Size::default() && file >= self.first_extra => {
                self.range(operation, file)?
            }
            verb if is_attribute(verb) && file >= self.first_extra => OperationDetail::File,
            _ if self.has_name(operation) => {
                if self.context.files.handles[file as usize].names.is_none() {
                    return Err(Failure::new(format!("{} by name on a single file", operation.verb)));
                }
                let other = match &operation.other {
                    Some((_, item)) => Some(self.item(item, operation, file)?),
                    None => None,
                };
                OperationDetail::Item(self.item(&operation.item, operation, file)?, other)
            }
            _ => OperationDetail::File,
        })
    }

    fn used(&self, wanted: &SharedUse) -> Result<Use, Failure> {
        let known = |label: &String| self.labels.iter().position(|(name, _)| name == label);
        let of = match &wanted.of {
            Some(label) => {
                Some(known(label).ok_or_else(|| Failure::new(format!("no step `{label}`")))? as u16)
            }
            None => None,
        };
        let from =
            wanted.from.as_ref().map(|name| object(self.context, &SharedUse::new(name, 1))).transpose()?;
        let (amount, per) = (wanted.amount, wanted.per);
        let ask_again_ns = if wanted.retry_ns > 0 { wanted.retry_ns } else { super::ASK_AGAIN_NS };
        Ok(Use { amount, drawn: None, from, boundless: false, ask_again_ns, due: None, per, of, counted: 0 })
    }

    fn finish(&self, operation: &Operation) -> Result<OperationDetail, Failure> {
        let shared = |wanted: &SharedUse| Ok((object(self.context, wanted)?, wanted.amount));
        let counted = operation.shared.as_ref().map(shared).transpose()?;
        let (operations, bytes) = (number(operation, "operations")?, number(operation, "bytes")?);
        Ok(OperationDetail::Finish(counted, operations.unwrap_or(0), bytes.unwrap_or(0)))
    }

    /// A number that is only taken note of.
    fn drawn(&self, operation: &Operation) -> Result<OperationDetail, Failure> {
        let around = operation.arguments.iter().find(|(name, _)| name == "around");
        let around = around.and_then(|(_, value)| value.parse().ok()).filter(|around| *around > 0.0);
        Ok(OperationDetail::Value(self.length(operation)?, around))
    }

    /// What is drawn in place of a time or an amount, and what it is multiplied by.
    fn drawn_number(&self, operation: &Operation) -> Result<Option<(Length, f64)>, Failure> {
        let drawn = operation.drawn.as_ref();
        drawn.map(|(size, unit)| Ok((self.length_of(size)?, *unit))).transpose()
    }

    fn length(&self, operation: &Operation) -> Result<Length, Failure> {
        self.length_of(&operation.size)
    }

    fn length_of(&self, size: &Size) -> Result<Length, Failure> {
        Ok(match size {
            Size::ResultOf(label) => {
                let known = self.labels.iter().position(|(name, _)| name == label);
                Length::ResultOf(known.ok_or_else(|| Failure::new(format!("no step `{label}`")))? as u16)
            }
            Size::Whole => Length::Whole,
            size => Length::Drawn(Sizes::new(size).map_err(failure)?),
        })
    }

    fn range(&mut self, operation: &Operation, file: u32) -> Result<OperationDetail, Failure> {
        let length = self.length(operation)?;
        let spot = match &operation.offset {
            Offset::Next | Offset::NextFrom(_) => Spot::Next,
            Offset::End => Spot::End,
            Offset::Again => Spot::Again,
            Offset::At(at) => Spot::At(*at),
            Offset::Sampled { order, record_bytes, first_byte } => {
                Spot::Sampled(SamplePlaces::new(self.samples(order), *record_bytes, *first_byte))
            }
            Offset::Requested { stored, block_bytes } => {
                Spot::Requested(RequestedBlocks { stored: *stored, block_bytes: *block_bytes })
            }
            Offset::Drawn { pick, span_bytes } => {
                let handle = &self.context.files.handles[file as usize];
                let held = handle.names.as_ref().map_or(handle.bytes, |names| names.item_bytes);
                let span = if *span_bytes == 0 { held } else { *span_bytes };
                let least = operation.size.least_bytes().unwrap_or(1);
                if span == 0 && file >= self.first_extra {
                    return Ok(OperationDetail::Range(Spot::Within(least.max(1)), length));
                }
                let fixed = matches!(operation.size, Size::Fixed(_));
                let align = number(operation, "align")?.unwrap_or(least).max(1);
                let ground = PickRange::plain(span, align, least.max(1), fixed);
                let once = says(operation, "coverage", "once");
                let coverage = if once { Coverage::Once } else { Coverage::Repeating };
                Spot::Drawn(Box::new(self.covering(pick, coverage, ground)?))
            }
        };
        Ok(OperationDetail::Range(spot, length))
    }

    fn samples(&self, order: &SampleOrder) -> Samples {
        let lists = self.context.shared.map(|shared| shared.sample_lists.clone()).unwrap_or_default();
        Samples::new(order, self.context.worker, &lists)
    }

    fn walk(&mut self, pick: &Pick, ground: PickRange) -> Result<Walk, Failure> {
        self.covering(pick, Coverage::Repeating, ground)
    }

    fn covering(&mut self, pick: &Pick, coverage: Coverage, ground: PickRange) -> Result<Walk, Failure> {
        let seed = mix(self.seed ^ self.code.len() as u64);
        Walk::new(pick, coverage, ground, seed)
    }

    fn item(&mut self, item: &Item, operation: &Operation, file: u32) -> Result<Which, Failure> {
        let count = self.context.files.handles[file as usize].names.as_ref().map_or(0, |names| names.count);
        let ground = PickRange::plain(count, 1, 1, true);
        Ok(match item {
            Item::Index(index) => Which::Index(*index),
            Item::Each => Which::Each,
            Item::Existing(pick) => Which::Existing(Box::new(self.walk(pick, ground)?), in_order(pick)),
            Item::Missing(pick) => Which::Missing(Box::new(self.walk(pick, ground)?), in_order(pick)),
            Item::Drawn(size) => Which::Drawn(Sizes::new(size).map_err(failure)?),
            Item::Shuffled => Which::Shuffled(Box::new(Walk::new(
                &Pick::Uniform,
                Coverage::Once,
                ground,
                mix(self.seed ^ self.code.len() as u64),
            )?)),
            Item::Listed => Which::Listed(Box::new(Listing::new(self.context, file)?)),
            Item::Oldest { first, .. } => Which::Oldest(first + self.context.passed),
            Item::Sampled(order) => Which::Sampled(self.samples(order)),
            Item::Requested { stored } => {
                Which::Requested(RequestedBlocks { stored: *stored, block_bytes: 1 })
            }
            Item::Last { further } => Which::Last(*further),
            Item::AllHeld => return Err(Failure::new("everything held open")),
            Item::Held => {
                let handle = operation.handle.ok_or_else(|| Failure::new("no handle to hold an item"))?;
                Which::Held(self.first_extra + handle)
            }
            Item::Whole if matches!(operation.verb, Verb::Mkdir | Verb::Rmdir) => {
                let names = self.context.files.handles[file as usize].names.as_ref();
                let count = names.map_or(1, |names| names.directories());
                Which::Tree { count, upwards: operation.verb == Verb::Rmdir, next: 0 }
            }
            Item::Whole => return Err(Failure::new("the set itself by name")),
            Item::Named(_) => return Err(Failure::new("a name")),
        })
    }
}

/// The bytes that an operation on an item moves, and what else belongs to it.
fn data(operation: &Operation) -> Result<(u64, u8), Failure> {
    let Some(data) = operation.item_data else { return Ok((0, 0)) };
    if !matches!(operation.verb, Verb::Create | Verb::Open) || operation.handle.is_some() {
        return Err(Failure::new(format!(
            "{} moves no data of an item that it closes again",
            operation.verb
        )));
    }
    let Some(bytes) = operation.size.most_bytes() else {
        return Err(Failure::new("items that are moved whole have a longest one")
            .hint("give a size, a range, or a table of sizes"));
    };
    Ok((bytes, item_flags(data, operation.verb, bytes)))
}

/// The phase of whose passes a script's items are the next.
pub fn follows(script: &Script) -> Option<&str> {
    let item = |operation: &'_ Operation| matches!(operation.item, Item::Oldest { .. });
    let of = operations(&script.steps).into_iter().find(|operation| item(operation))?;
    if let Item::Oldest { after: Some(name), .. } = &of.item { Some(name) } else { None }
}

/// Whether the next item follows the last one.
fn in_order(pick: &Pick) -> bool {
    *pick == Pick::Sequential
}

/// Verbs on extended attributes: by name, or on what is open.
fn is_attribute(verb: Verb) -> bool {
    matches!(verb, Verb::Setxattr | Verb::Getxattr | Verb::Listxattr | Verb::Removexattr)
}

/// Whether an argument has that value.
fn says(operation: &Operation, name: &str, value: &str) -> bool {
    operation.arguments.iter().any(|(known, said)| known == name && said == value)
}

/// Mode bits as they are written, in octal digits.
fn mode(operation: &Operation) -> Result<Option<u32>, Failure> {
    let Some((_, text)) = operation.arguments.iter().find(|(known, _)| known == "mode") else {
        return Ok(None);
    };
    let bits = u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o7777);
    bits.map(Some).ok_or_else(|| Failure::new(format!("mode={text}: expected octal digits such as 640")))
}

/// A numeric argument.
fn number(operation: &Operation, name: &str) -> Result<Option<u64>, Failure> {
    let value = operation.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let parsed =
        value.map(|text| text.parse().map_err(|_| Failure::new(format!("{name}={text}: expected a number"))));
    parsed.transpose()
}
