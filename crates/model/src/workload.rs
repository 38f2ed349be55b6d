//! What a job does: a pattern that is drawn, a script that is written, a trace that was recorded.
//!
//! A script is steps with labels; a step may expect something (conformance), wait for something (events), or be a
//! block of steps (a composite). Nothing here runs.

use std::sync::Arc;

use crate::reflect::Reflect;

use crate::case::{Call, Cases, Exercise};
use crate::kv_cache::CacheRequests;
use crate::origin::Origin;
use crate::pattern::{ItemData, Pattern, Pick, Size};
use crate::replay::Replay;
use crate::training::SampleOrder;
use crate::verb::Verb;

/// What a job does.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum Workload {
    /// Drawn by chance or rule.
    Pattern(Box<Pattern>),
    /// Written step by step, repeated until the limit.
    Script(Script),
    /// Recorded earlier.
    Trace(Trace),
    /// Scripts with expectations, each in a process of its own.
    Cases(Arc<Cases>),
    /// Drawn, and held against a model in memory.
    Exercise(Box<Exercise>),
}

/// A written workload.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Script {
    /// Who may act, besides the worker as it is.
    #[reflect(default)]
    pub actors: Vec<Actor>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// A step of a script. Results are tallied per label.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Step {
    /// The name results carry.
    pub label: String,
    /// What is done.
    pub action: Action,
    /// How often, at least 1.
    #[reflect(default = 1)]
    pub repeat: u64,
    /// Where it was written.
    #[reflect(default)]
    pub origin: Origin,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum Action {
    /// One operation.
    Do(Box<Operation>),
    /// One system call with what must come back; in [cases](Cases) only.
    Call(Box<Call>),
    /// Several steps as one, timed as one (filebench composite flowops).
    Block(Vec<Step>),
}

/// One operation of a script.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Operation {
    /// The verb.
    #[reflect(key = "")]
    pub verb: Verb,
    /// The job's target it works on, by index into `Job::targets`; none for control verbs.
    #[reflect(default, key = "")]
    pub target: Option<usize>,
    /// Which item of a set.
    #[reflect(default)]
    pub item: Item,
    /// The second name of rename, link, symlink and copies: an item of the same or another target.
    #[reflect(default, key = "")]
    pub other: Option<(usize, Item)>,
    /// The slot an open file lies in; open and create fill it, close empties it.
    #[reflect(default, key = "slot")]
    pub handle: Option<u32>,
    /// Where in the file.
    #[reflect(default, key = "at")]
    pub offset: Offset,
    /// How many bytes.
    #[reflect(default)]
    pub size: Size,
    /// How many bytes come back from an exchange; none: as many as were sent.
    #[reflect(default)]
    pub answer: Option<Size>,
    /// How long think and spin last, ns.
    #[reflect(default, key = "")]
    pub time_ns: u64,
    /// How long they last instead, where that is drawn each time: a number, and the ns it is multiplied by. Of what waits
    /// for a shared object or posts to it: how much, in place of its amount.
    #[reflect(default, key = "")]
    pub drawn: Option<(Size, f64)>,
    /// Handed over without waiting for it; a later `wait` without a shared object awaits half of what is in flight.
    #[reflect(default)]
    pub background: bool,
    /// Whether creating an item writes `size` bytes and opening one reads them, with all that belongs to that as one
    /// operation.
    #[reflect(default, key = "")]
    pub item_data: Option<ItemData>,
    /// When it fails, so many operations behind it are left out: they would work on what is not there.
    #[reflect(default, key = "")]
    pub skips: u32,
    /// Whether the verb is repeated with `size` until the file's end (read or write a whole file = one operation).
    #[reflect(default)]
    pub whole: bool,
    /// Further arguments by name: `mode`, `uid`, `flags`, `value`, … in the system call's own terms.
    #[reflect(default, key = "")]
    pub arguments: Vec<(String, String)>,
    /// A shared object waited for, posted to, or consumed.
    #[reflect(default)]
    pub shared: Option<SharedUse>,
    /// The buffer it uses; steps with the same number share one (dd: read A, write B).
    #[reflect(default, phrase = "buffer {}")]
    pub buffer: u32,
    /// How the buffer is filled and emptied.
    #[reflect(default, flat)]
    pub transfer: Transfer,
    /// What a read at the end of the file does.
    #[reflect(default)]
    pub at_end: AtEnd,
    /// What becomes of the bytes that a read brings, where a step gathers them.
    #[reflect(default, key = "")]
    pub conversion: Option<Box<Conversion>>,
}

/// What becomes of bytes between a read and a gathering write: first of each by itself, then of pairs, then of lines (dd
/// `conv=`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Conversion {
    /// What each of the 256 bytes becomes; none: what it is.
    #[reflect(default)]
    pub bytes: Vec<u8>,
    /// The bytes of each pair change places (dd `conv=swab`).
    #[reflect(default)]
    pub swap: bool,
    /// Lines and records.
    #[reflect(default)]
    pub records: RecordForm,
}

/// How lines and records of one length become each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum RecordForm {
    #[default]
    AsRead,
    /// Each line is cut, or filled up with blanks (dd `conv=block`); what a short read lacks is blanks, too.
    FromLines {
        /// Of a record.
        bytes: u64,
        newline: u8,
        blank: u8,
    },
    /// Each record loses the blanks at its end, and gets a newline (dd `conv=unblock`).
    ToLines {
        /// Of a record.
        bytes: u64,
        newline: u8,
        blank: u8,
    },
}

/// How an operation fills or empties its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Transfer {
    /// A read goes on until it has all its bytes or the end is reached (dd `iflag=fullblock`), a write until all its
    /// bytes are written or it fails; what it wrote before it failed counts as bytes.
    #[reflect(default, phrase = "until full")]
    pub full: bool,
    /// What a short or failed read leaves empty is filled with zeros (dd `conv=sync`).
    #[reflect(default, phrase = "padded with zeros")]
    pub pad: bool,
    /// The buffer is a queue: reads append, this write takes whole blocks of its size, and the rest at the end
    /// (dd with `ibs` ≠ `obs`).
    #[reflect(default, phrase = "gathered")]
    pub gather: bool,
    /// A write of nothing but zeros is a seek, counted as a write; the file ends where the last of them does (dd
    /// `conv=sparse`).
    #[reflect(default, phrase = "zeros are skipped")]
    pub sparse: bool,
    /// A failed read is skipped, whatever the job's error policy: it is counted, the position moves on by its size, and
    /// without `pad` the pass ends there (dd `conv=noerror`).
    #[reflect(default, phrase = "failures are skipped")]
    pub skip_failed: bool,
    /// Bytes that all its reads together may bring: the last one asks for less (and is short), the one after it is at
    /// the end (dd `count` in bytes).
    /// A short read uses up what it asked for, as copying tools count.
    #[reflect(default, phrase = "{} in all")]
    pub total_bytes: Option<u64>,
    /// A transfer that goes on until it is full is made of calls of so many bytes each, and timed as one.
    #[reflect(default, phrase = "by calls of {}")]
    pub call_bytes: Option<u64>,
}

/// What a read at the end of the file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum AtEnd {
    /// It goes on at the start (filebench).
    #[default]
    Wrap,
    /// It ends the worker, not counted as an operation (dd).
    #[reflect(phrase = "the end ends the worker")]
    Finish,
}

impl Operation {
    /// An operation on the job's n-th target.
    pub fn on(verb: Verb, target: usize) -> Self {
        Operation { target: Some(target), ..Operation::control(verb) }
    }

    /// An operation on nothing.
    pub fn control(verb: Verb) -> Self {
        Operation { verb, ..Operation::blank() }
    }

    /// The operation as a step of that label.
    pub fn step(self, label: &str) -> Step {
        Step { label: label.into(), action: Action::Do(Box::new(self)), repeat: 1, origin: Origin::Default }
    }
}

/// Which item of a set an operation works on.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum Item {
    /// The target itself; of a set: its root, or with mkdir and rmdir its whole tree of directories.
    #[default]
    Whole,
    /// That index.
    Index(u64),
    /// A name below the set's root.
    Named(String),
    /// Each in turn; one rotor per worker.
    Each,
    /// Each once, in a seeded random order (mdtest -R).
    Shuffled,
    /// Each that is there, in the order in which the file system lists its directory; directories are listed one after
    /// the other, while the items are worked on. Where nothing has directories they come in their order.
    Listed,
    /// One that exists, picked; an empty pool is a counted wait.
    Existing(Pick),
    /// One that does not exist, picked.
    Missing(Pick),
    /// One that exists, from a number on that is drawn; numbers beyond the last begin anew (filebench `indexed`).
    Drawn(Size),
    /// Each in turn from that number on, one for each pass of the script: the oldest of a set that is renewed.
    Oldest {
        first: u64,
        /// So many further as passes were done in the phases of that name before.
        after: Option<String>,
    },
    /// The next of those that samples of training input lie in; after the last one the worker ends.
    Sampled(Box<SampleOrder>),
    /// The next block of the [request](SharedKind::Requests) that this worker has taken: of those that it reads, or of those
    /// that it stores. There is none: the step is left out.
    Requested { stored: bool },
    /// The item of the operation before, so many further.
    Last { further: u64 },
    /// What lies in the operation's handle.
    Held,
    /// Everything of the set that this worker has open (filebench `fsyncset`).
    AllHeld,
}

/// Where in a file an operation goes.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub enum Offset {
    /// At the handle's position, which moves (read, write); wraps at the end for reads.
    #[default]
    Next,
    /// As `Next`, beginning so many bytes into the file; what cannot seek reads and discards them (a short
    /// read as a whole one, unless transfers are full).
    NextFrom(u64),
    /// At the end of the file.
    End,
    /// Where the read or write before it began, of whichever step.
    Again,
    /// There.
    At(u64),
    /// Drawn, within the working set.
    Drawn {
        /// How.
        pick: Pick,
        /// The part of the file that is used; 0: all.
        span_bytes: u64,
    },
    /// Where the next sample of training input begins, of samples that lie one after the other.
    Sampled {
        order: Box<SampleOrder>,
        /// From the beginning of one to that of the next.
        record_bytes: u64,
        /// Where the first one of an item begins, of items that are opened; none: all of them lie in one file.
        #[reflect(default)]
        first_byte: Option<u64>,
    },
    /// As of items: blocks that lie one after the other.
    Requested { stored: bool, block_bytes: u64 },
}

/// Who acts: a process of its own that takes an identity. `u32::MAX` for user and group is that of whoever runs it.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Actor {
    /// The name in reports.
    pub name: String,
    /// User id; `u32::MAX`: it stays who runs the case, with all groups.
    pub uid: u32,
    /// Group id; `u32::MAX`: it stays as it is.
    pub gid: u32,
    /// Further groups.
    #[reflect(default)]
    pub groups: Vec<u32>,
    /// File mode creation mask.
    #[reflect(default)]
    pub umask: u32,
}

/// What must come back from an operation.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum Expect {
    /// Success.
    Succeeds,
    /// One of these errors, by name (`EACCES`, `EPERM`).
    Fails(Vec<String>),
    /// One of these answers: `ok` for success, an error by name, or the text that comes back.
    Answers(Vec<String>),
    /// An attribute of the result: `mode`, `uid`, `size`, `ctime`, … with a relation and a value or another label.
    Attribute {
        /// Its name.
        name: String,
        /// `=`, `≠`, `<`, `>`, `≥`, `≤`.
        relation: String,
        /// Literals, any of which will do with `=`, or `$label.attribute` of an earlier step.
        value: String,
    },
}

/// An object that workers of a phase share.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct SharedObject {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SharedKind,
    /// Whether each rank has one of its own; else no two ranks may use it, unless it is a [barrier](SharedKind::Barrier), which
    /// then goes over all of them.
    #[reflect(default)]
    pub each_rank: bool,
}

impl SharedObject {
    /// One for all workers of the phase.
    pub fn new(name: &str, kind: SharedKind) -> Self {
        SharedObject { name: name.into(), kind, each_rank: false }
    }
}

/// What a shared object is.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum SharedKind {
    /// Events that arrive at a rate and queue up (filebench `eventgen`, limits).
    Tokens {
        /// Arrivals per second.
        per_second: f64,
        /// The longest queue, in seconds of arrivals.
        queue_s: f64,
    },
    /// A counting semaphore.
    Semaphore {
        /// Value at the start.
        initial: u64,
        /// Highest value; a post beyond it waits.
        most: u64,
        /// Waiters that have one each, all of which a post goes to (filebench `semblock`); 0: one for all.
        #[reflect(default)]
        waiters: u32,
    },
    /// Whoever waits for it goes on when all have come that do so in this phase; then they come again. Who is over is not
    /// waited for.
    Barrier,
    /// Semaphores side by side. Which of them a worker uses, its number and its [use](SharedUse) say.
    Lanes {
        count: u32,
        /// Value of each at the start.
        initial: u64,
    },
    /// A number that steps raise and `finish` looks at.
    Counter,
    /// What all steps of these labels did, of whichever job: operations as they complete, or the bytes that they moved.
    Done {
        /// The labels; of a composite its runs are counted.
        of: Vec<String>,
        /// Whether bytes are counted.
        #[reflect(default)]
        bytes: bool,
    },
    /// A post wakes all that wait at that moment and is not remembered (filebench `block` and `wakeup`).
    Signal,
    /// Requests to a cache of blocks. Whoever waits for one takes the next, when it has arrived; there is none: the worker
    /// ends.
    Requests(Box<CacheRequests>),
    /// The time of so many servers, in ns: whoever waits for some has it when those are done who asked before.
    Servers { count: u32 },
    /// Weights by which jobs keep their shares (fio `flow`): a job may run ahead by `most` in weighted operations.
    Weights {
        /// Weighted operations that a job may be ahead.
        most: u64,
    },
}

/// One use of a shared object.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct SharedUse {
    /// The object's name in the phase.
    #[reflect(bare, needed)]
    pub name: String,
    /// How much is waited for, posted, consumed; or the weight.
    #[reflect(absent = 1)]
    pub amount: i64,
    /// What the amount is counted by.
    #[reflect(default)]
    pub per: Per,
    /// Only what steps of that label did counts; none: everything this worker did.
    #[reflect(default, phrase = "of \"{}\"")]
    pub of: Option<String>,
    /// What counts instead: how much that [count](SharedKind::Done) has risen since anybody last took it into account.
    #[reflect(default, phrase = "in \"{}\"")]
    pub from: Option<String>,
    /// How long a worker that must wait sleeps before it asks again, ns; 0: as briefly as makes sense.
    #[reflect(default, phrase = "asked again after {}")]
    pub retry_ns: u64,
    /// Of [lanes](SharedKind::Lanes), so many belong to each worker, which uses them in turn: worker n those from n times
    /// this number on; 0: one.
    #[reflect(default, positive, phrase = "{} lanes in turn")]
    pub lanes: u32,
    /// Which of them is the first, counted from 0: each step takes turns of its own.
    #[reflect(default, phrase = "the first is number {}")]
    pub first_lane: u32,
    /// So many successive workers have theirs in common; 0: each has its own.
    #[reflect(default, positive, phrase = "shared by {} workers")]
    pub sharers: u32,
}

impl SharedUse {
    /// So much at each use.
    pub fn new(name: &str, amount: i64) -> Self {
        SharedUse {
            name: name.into(),
            amount,
            per: Per::default(),
            of: None,
            from: None,
            retry_ns: 0,
            lanes: 0,
            first_lane: 0,
            sharers: 0,
        }
    }
}

/// What the amount of a use is counted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Per {
    /// The use itself.
    #[default]
    Use,
    /// Each operation since the last use (filebench `iopslimit`).
    Operation,
    /// Each so many bytes moved since the last use; at a step that moves data, by that step (filebench `bwlimit`).
    Bytes(u64),
}

/// A recorded workload.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Trace {
    /// The entries, when they are few.
    #[reflect(default, key = "")]
    pub entries: Vec<TraceEntry>,
    /// The file they are read from in batches, when they are many.
    #[reflect(default)]
    pub path: Option<String>,
    /// That file's format, by its registered name.
    #[reflect(default)]
    pub format: String,
    /// When entries start.
    #[reflect(default)]
    pub timing: Timing,
    /// How the records of a file are played back.
    #[reflect(default, flat)]
    pub replay: Box<Replay>,
}

impl Trace {
    /// A few entries.
    pub fn of(entries: Vec<TraceEntry>, timing: Timing) -> Trace {
        Trace { entries, path: None, format: String::new(), timing, replay: Box::default() }
    }

    /// The verbs that it has.
    pub fn verbs(&self) -> Vec<Verb> {
        let mut verbs = Vec::new();
        let entries = self.entries.iter().map(|entry| entry.verb);
        for verb in entries.chain(self.replay.facts.verbs.iter().copied()) {
            if !verbs.contains(&verb) {
                verbs.push(verb);
            }
        }
        verbs
    }
}

/// One recorded operation.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct TraceEntry {
    /// When it started, after the first; with [pauses](Timing::Pauses) the pause before it, with [gaps](Timing::Gaps) the
    /// time since the one before started, ns.
    pub at_ns: u64,
    /// What it was.
    #[reflect(key = "do")]
    pub verb: Verb,
    /// On which of the job's targets.
    #[reflect(key = "")]
    pub target: usize,
    /// Where, in bytes; of what names an item of a set, the item's number.
    #[reflect(form = "bytes")]
    pub offset: u64,
    /// How much, in bytes.
    #[reflect(key = "size")]
    pub bytes: u64,
    /// So often, each behind the bytes of the one before.
    #[reflect(absent = 1, positive, phrase = "{} times in a row")]
    pub repeat: u64,
}

/// When a trace's entries start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub enum Timing {
    /// At their recorded distance from the first: an open loop.
    #[default]
    #[reflect(phrase = "at its recorded times")]
    AsRecorded,
    /// That many times faster.
    #[reflect(phrase = "{} times as fast")]
    Scaled(f64),
    /// After their recorded pause since the one before ended (iozone telemetry): a closed loop.
    #[reflect(phrase = "after its recorded pauses")]
    Pauses,
    /// No earlier than their recorded distance from the start of the one before: what comes late delays all that
    /// follow, and latency counts from the real start (fio iolog version 3, blktrace).
    #[reflect(phrase = "keeping the recorded time between starts")]
    Gaps,
    /// No earlier than their recorded distance from the start of the run; what is late comes at once, and latency counts
    /// from the real start (fio iolog version 2 with `wait`).
    #[reflect(phrase = "no earlier than recorded")]
    NoEarlier,
    /// One after the other without pause.
    #[reflect(phrase = "as fast as it goes")]
    AsFast,
    /// By recorded thread: as long after the completion of the operation before as it was recorded.
    #[reflect(phrase = "after its recorded think times")]
    ThinkTimes,
    /// As soon as everything has ended that had ended in the trace and that it may depend on: of the same thread, of an
    /// overlapping range, of the same name; a sync waits for the writes of its file.
    #[reflect(phrase = "as soon as its dependencies have ended")]
    Dependencies,
    /// By recorded thread: as soon as no more operations are in flight than were when it was recorded.
    #[reflect(phrase = "at its recorded depth")]
    Depths,
}
