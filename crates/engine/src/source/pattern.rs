//! A drawn workload: which verb, which file, which place, how long. [`PatternSource`] draws anything a pattern can
//! say; [`Steady`] is the same for the common case (one verb, one size, one file), stripped to what the loop's
//! instruction budget allows.
//!
//! A worker's draws depend on the plan's seed, the job and the worker alone, never on completions or time: the same
//! seed gives the same operations everywhere. It refuses to wait, to pace and to fill: others do.

use std::borrow::Cow;

use iodyno_model::{
    FileOrder, ItemData, Job, Kind, OperationKind, Pattern, PerDirection, Pick, Share, Size, TargetKind, Verb,
};

use super::random::{GOLDEN, Random, mix};
use super::sizes::ItemSizes;
use super::walk::{AT_POSITION, Deal, END, PickRange, Walk, failure, shares};
use super::{Next, SourceContext, segments};
use crate::distribution::{Distribution, Sizes};
use crate::failure::Failure;
use crate::io::{DURABLE, Io, READ_BACK};

mod file_window;
mod joint;
mod steady;

use file_window::FileWindow;
use joint::Joint;
pub use steady::Steady;

/// Draws operations.
#[derive(Clone, Debug)]
pub struct PatternSource {
    shares: Vec<VerbShare>,
    run: u32,
    run_left: u32,
    share: usize,
    files: Vec<Span>,
    order: FileTurns,
    file: usize,
    file_run_left: u32,
    /// Which files take turns, where not all do.
    window: Option<FileWindow>,
    unfinished: usize,
    every: Vec<InsertedVerb>,
    /// Insertions that come next, a bit for each.
    due: u64,
    /// Whether all verbs are of [`ObjectClass::File`]: then a pass is one operation on each.
    only_files: bool,
    /// Whether every place gets all verbs in turn, and the place whose turn it is.
    in_turn: Option<(u64, u64)>,
    /// Whether anything came of the present pass.
    progressed: bool,
    random: Random,
    left: RemainingWork,
    pass: u64,
    /// Of a limit of bytes no more is sent or received than that: the last operation is as short as it must be.
    exact: bool,
    /// Reads of a stream end it when they bring nothing.
    pub ends_on_nothing: bool,
    /// Nothing need say when it ends: it does so by itself, or is stopped.
    endless: bool,
    /// As it was at the start, where it may begin again.
    again: Option<Box<PatternSource>>,
}

/// What is left until a limit; the largest number where there is none.
#[derive(Clone, Copy, Debug)]
struct RemainingWork {
    operations: u64,
    bytes: u64,
    passes: u64,
}

/// A verb of the mix.
#[derive(Clone, Debug)]
struct VerbShare {
    verb: Verb,
    label: u16,
    below: u64,
    class: ObjectClass,
    sizes: Sizes,
    /// The size where the place is a random one, if that makes a difference.
    sizes_random: Option<Sizes>,
    align: u64,
    /// The size is the file's.
    whole: bool,
    /// What a buffer holds, bytes; for verbs that need none, everything.
    most: u64,
    /// Bytes that an operation on an item moves at most, and how.
    item_bytes: u64,
    item_flags: u8,
}

/// What a verb works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectClass {
    /// A range of a file.
    Range,
    /// An item of a set.
    Item,
    File,
}

/// The part of one handle that is worked on.
#[derive(Clone, Debug)]
struct Span {
    handle: u32,
    base: u64,
    /// Bytes, or items.
    length: u64,
    /// All items of the set: further names are numbered from here, and lie in the same directories.
    items: u64,
    /// Renamed ones lie in the next directory, so many numbers further.
    next: u64,
    /// Where renames form a chain: the item that is none, whose name is free between.
    spare: Option<u64>,
    /// Bytes or items of one pass, and what is left of this one.
    pass_units: u64,
    left: u64,
    /// Bytes from the span's start that an operation may reach.
    reach: u64,
    /// How long each item is that is moved whole, where they differ.
    item_sizes: Option<Box<ItemSizes>>,
    /// One for each share.
    walks: Vec<Walk>,
    /// What all shares pick from together, if they do.
    joint: Option<Joint>,
    /// Where what was written since the last inserted sync begins and ends, in the file; nothing: both ends meet.
    written: (u64, u64),
}

#[derive(Clone, Debug)]
enum FileTurns {
    InTurn,
    Turns { operations: u32, next: usize },
    Drawn(Box<Walk>, u32),
}

#[derive(Clone, Debug)]
struct InsertedVerb {
    verb: Verb,
    label: u16,
    operations: u64,
    count: u64,
    between: bool,
    flags: u32,
}

/// The seed of everything a worker draws: the job's own or that of plan and job, the worker, and nothing else.
pub fn worker_seed(context: &SourceContext<'_>) -> u64 {
    let worker = u64::from(context.worker).wrapping_mul(GOLDEN);
    match context.job.seed {
        Some(seed) => mix(seed ^ mix(worker)),
        None => mix(context.plan.seed ^ mix(hashed(&context.job.name).wrapping_add(worker))),
    }
}

/// The seed of what a job's workers draw alike.
pub fn job_seed(job: &Job, plan_seed: u64) -> u64 {
    job.seed.unwrap_or_else(|| mix(plan_seed ^ mix(hashed(&job.name))))
}

fn hashed(name: &str) -> u64 {
    name.bytes().fold(0u64, |hash, byte| mix(hash ^ u64::from(byte)).wrapping_add(GOLDEN))
}

/// Which of the three directions' rules a verb follows.
pub fn directed<T>(directed: &PerDirection<T>, verb: Verb) -> &T {
    match verb.kind() {
        Kind::Trim => &directed.trim,
        Kind::Write => &directed.write,
        Kind::Metadata if verb.changes() => &directed.write,
        _ => &directed.read,
    }
}

fn class_of(verb: Verb) -> Result<ObjectClass, Failure> {
    Ok(match verb {
        Verb::Read | Verb::Write | Verb::Trim | Verb::Discard | Verb::WriteZeroes => ObjectClass::Range,
        Verb::SyncFileRange | Verb::Fallocate | Verb::Fadvise => ObjectClass::Range,
        Verb::Send | Verb::Recv | Verb::Exchange => ObjectClass::Range,
        Verb::Fsync | Verb::Fdatasync | Verb::Syncfs | Verb::Msync | Verb::Fstat | Verb::Statfs => {
            ObjectClass::File
        }
        _ if verb.kind() == Kind::Metadata => ObjectClass::Item,
        _ => {
            return Err(
                Failure::new(format!("a pattern cannot draw `{verb}`")).hint("use it as a step of a script")
            );
        }
    })
}

impl PatternSource {
    /// A source for one worker.
    ///
    /// # Errors
    /// What the pattern asks for and cannot have.
    pub fn new(context: &SourceContext<'_>, pattern: &Pattern) -> Result<Self, Failure> {
        let seed = worker_seed(context);
        let labels = super::labels(context.job);
        let parts = parts(pattern);
        let shares = mixed(&parts, &labels, context.memory.stride() as u64)?;
        let ranges = shares.iter().any(|share| share.class == ObjectClass::Range);
        if ranges && shares.iter().any(|share| share.class == ObjectClass::Item) {
            return Err(
                Failure::new("a mix of verbs on data and verbs on items").hint("use two jobs, or a script")
            );
        }
        let mut files = Vec::with_capacity(context.files.handles.len());
        for handle in 0..context.files.handles.len() {
            files.push(span(context, (pattern, &parts), &shares, handle, mix(seed ^ handle as u64))?);
        }
        if files.is_empty() {
            return Err(Failure::new("no target to work on").hint("name a file, a set of files or a device"));
        }
        let is_peer = |index: &usize| {
            matches!(
                context.plan.targets.get(*index).map(|target| &target.kind),
                Some(TargetKind::Endpoint { .. })
            )
        };
        let peers = context.job.targets.iter().any(is_peer);
        let stream = shares.iter().any(|share| *directed(&pattern.pick, share.verb) == Pick::Stream) || peers;
        let every = pattern.every.iter().map(|every| InsertedVerb {
            verb: every.verb,
            label: super::label_of(&labels, every.verb.name(), every.verb),
            operations: every.operations.max(1),
            count: 0,
            between: every.between,
            flags: every.flags,
        });
        if pattern.every.len() > 64 {
            return Err(Failure::new("more than 64 kinds of inserted operations"));
        }
        let mut source = PatternSource {
            run: pattern.mix.run.max(1),
            run_left: 0,
            share: 0,
            unfinished: files.len(),
            order: order(&pattern.files, files.len(), seed)?,
            file: 0,
            file_run_left: 0,
            window: FileWindow::new(pattern.open_most, files.len()),
            every: every.collect(),
            due: 0,
            in_turn: pattern.mix.in_turn.then_some((0, 0)),
            progressed: false,
            only_files: shares.iter().all(|share| share.class == ObjectClass::File),
            random: Random::from_seed(seed, 0),
            left: left(context),
            pass: 0,
            exact: peers && shares.iter().all(|share| matches!(share.verb, Verb::Send | Verb::Recv)),
            ends_on_nothing: stream
                && (!peers || shares.iter().any(|share| may_end(context.job, share.verb))),
            endless: stream,
            again: None,
            files,
            shares,
        };
        source.check(context)?;
        source.again = (context.job.limit.least_ns > 0).then(|| Box::new(source.clone()));
        Ok(source)
    }

    /// What only the whole can tell.
    fn check(&self, context: &SourceContext<'_>) -> Result<(), Failure> {
        let longest = self.files.iter().map(|file| file.length).max().unwrap_or(0);
        for share in &self.shares {
            let most = match share.sizes {
                _ if share.whole => longest,
                Sizes::Fixed(bytes) => bytes,
                _ => 0,
            };
            if most > share.most {
                let message = format!("operations of {most} bytes, buffers of {}", share.most);
                return Err(Failure::new(message).hint("whole files as one operation are a script's"));
            }
        }
        let limited = self.left.operations < u64::MAX - 1 || self.left.bytes != u64::MAX;
        let endless = self.files.iter().all(|file| file.pass_units == u64::MAX);
        if endless && !limited && context.job.limit.time_ns.is_none() && !self.endless {
            return Err(
                Failure::new("nothing says when to stop").hint("limit the time, the operations or the bytes")
            );
        }
        Ok(())
    }

    /// The pass that the next operation belongs to.
    pub fn pass(&self) -> u64 {
        self.pass
    }

    /// Whether items are written.
    pub fn writes_items(&self) -> bool {
        self.shares.iter().any(|share| share.verb == Verb::Create && share.item_bytes > 0)
    }

    /// Whether a verb can come.
    pub fn has(&self, verb: Verb) -> bool {
        self.shares.iter().any(|share| share.verb == verb)
    }

    /// How many operations are left, as far as it is counted.
    pub fn left(&self) -> u64 {
        self.left.operations
    }

    /// Sets how many operations are left; as many were before.
    pub fn set_left(&mut self, left: u64) -> u64 {
        std::mem::replace(&mut self.left.operations, left)
    }

    /// It has come to its end: whether it begins again. A run without any operation does not.
    pub fn repeat(&mut self) -> bool {
        let Some(again) = self.again.take().filter(|_| self.progressed) else { return false };
        *self = PatternSource { again: Some(again.clone()), ..*again };
        true
    }

    /// Nothing more is to be drawn.
    pub fn end(&mut self) {
        self.left.operations = 0;
    }

    /// Draws the next operation.
    #[inline(never)]
    pub fn next(&mut self, io: &mut Io) -> Next {
        if self.due != 0 && self.insert(io) {
            return Next::Io;
        }
        loop {
            if self.is_over() {
                return Next::Done;
            }
            self.choose_share();
            self.choose_file();
            if self.place(io) {
                break;
            }
            self.share_again();
        }
        self.progressed = true;
        self.left.operations -= u64::from(self.left.operations != u64::MAX);
        self.count_for_insertions(io);
        Next::Io
    }

    /// Whether nothing more comes; begins the next pass where one is due.
    #[inline(always)]
    fn is_over(&mut self) -> bool {
        let in_place = self.in_turn.is_some() && self.share + 1 < self.shares.len() && self.progressed;
        self.left.operations == 0
            || (self.left.bytes == 0 && !in_place)
            || (self.unfinished == 0 && !in_place && !self.next_pass())
    }

    /// The share that found no place is drawn anew with the next file.
    #[cold]
    fn share_again(&mut self) {
        self.run_left = 0;
        self.file_run_left = 0;
        if self.in_turn.is_some() {
            self.share = self.shares.len() - 1;
        }
    }

    /// One of the insertions that are due, on the file of the operation before; `false`: none is left that may come last.
    fn insert(&mut self, io: &mut Io) -> bool {
        if self.is_last() {
            let every = self.every.iter().enumerate();
            every.filter(|(_, every)| every.between).for_each(|(index, _)| self.due &= !(1 << index));
            if self.due == 0 {
                return false;
            }
        }
        let inserted = &self.every[self.due.trailing_zeros() as usize];
        self.due &= self.due - 1;
        let span = &mut self.files[self.file];
        let (verb, label, file) = (inserted.verb, inserted.label, span.handle);
        *io = Io { verb, label, file, buffer: io.buffer, ..Io::default() };
        if verb == Verb::SyncFileRange {
            let (begin, end) = span.written;
            (io.offset, io.bytes, io.other) = (begin, end - begin, u64::from(inserted.flags));
        }
        if verb.kind() == Kind::Sync {
            span.written = (0, 0);
        }
        true
    }

    /// Whether no operation of the mix comes any more.
    fn is_last(&self) -> bool {
        let passes = self.unfinished == 0 && self.left.passes == 1;
        self.left.operations == 0 || self.left.bytes == 0 || passes
    }

    #[inline(always)]
    fn choose_share(&mut self) {
        if self.in_turn.is_some() {
            self.share =
                if self.share + 1 == self.shares.len() || !self.progressed { 0 } else { self.share + 1 };
            return;
        }
        if self.run_left > 0 {
            self.run_left -= 1;
            return;
        }
        self.run_left = self.run - 1;
        if self.shares.len() > 1 {
            let draw = self.random.next();
            self.share = self.shares.iter().position(|share| draw <= share.below).unwrap_or(0);
        }
    }

    #[inline(always)]
    fn choose_file(&mut self) {
        if self.files.len() > 1 {
            self.choose_among_files();
        }
    }

    fn choose_among_files(&mut self) {
        if self.in_turn.is_some() && self.share > 0 {
            return;
        }
        match &mut self.order {
            FileTurns::InTurn => {}
            _ if self.file_run_left > 0 => self.file_run_left -= 1,
            FileTurns::Turns { operations, next } => {
                self.file = *next;
                *next = if *next + 1 == self.files.len() { 0 } else { *next + 1 };
                self.file_run_left = *operations - 1;
            }
            FileTurns::Drawn(walk, operations) => {
                self.file = walk.next(&mut self.random, 1) as usize;
                self.file_run_left = *operations - 1;
            }
        }
        if self.window.is_some() {
            return self.choose_in_window();
        }
        while self.files[self.file].left == 0 {
            self.file = if self.file + 1 == self.files.len() { 0 } else { self.file + 1 };
        }
    }

    /// The chosen file if it may come; else one that may, by the same order.
    fn choose_in_window(&mut self) {
        let (files, order) = (&self.files, &mut self.order);
        let Some(window) = &mut self.window else { return };
        let mut draws = files.len();
        while !window.admits(self.file, files[self.file].left > 0) {
            self.file = match order {
                // Drawn again, so that those that take turns stay equally likely; a skewed draw may never hit them.
                FileTurns::Drawn(walk, _) if draws > 0 => {
                    draws -= 1;
                    walk.next(&mut self.random, 1) as usize
                }
                _ if self.file + 1 == files.len() => 0,
                _ => self.file + 1,
            };
            if let FileTurns::Turns { next, .. } = order {
                *next = if self.file + 1 == files.len() { 0 } else { self.file + 1 };
            }
        }
    }

    /// Writes verb, place and size; counts them against pass and limits.
    #[inline(always)]
    fn place(&mut self, io: &mut Io) -> bool {
        let share = &self.shares[self.share];
        let file = &mut self.files[self.file];
        io.verb = share.verb;
        io.flags = 0;
        io.label = share.label;
        io.file = file.handle;
        let units = match share.class {
            ObjectClass::Range => {
                let (offset, bytes) = match (self.in_turn, self.share) {
                    (Some(place), 1..) => place,
                    _ => file.next_range(share, self.share, &mut self.random),
                };
                if offset == END {
                    (self.unfinished, file.left) = (self.unfinished - usize::from(file.left > 0), 0);
                    return false;
                }
                io.offset = if offset == AT_POSITION { offset } else { file.base + offset };
                let bytes = if self.exact { bytes.min(self.left.bytes) } else { bytes };
                io.bytes = bytes;
                let counted = match &mut self.in_turn {
                    // A place counts once, with the last of its verbs.
                    Some(_) if self.share + 1 == self.shares.len() => bytes,
                    Some(place) => {
                        *place = (offset, bytes);
                        0
                    }
                    None => bytes,
                };
                self.left.bytes = match self.left.bytes {
                    u64::MAX => u64::MAX,
                    left => left.saturating_sub(counted),
                };
                counted
            }
            ObjectClass::Item => {
                let place = file.walks[self.share].next(&mut self.random, 1);
                (io.bytes, io.flags) = (share.item_bytes, share.item_flags);
                (io.offset, io.other) = file.item(share.verb, place, self.pass);
                if let Some(sizes) = file.item_sizes.as_ref().filter(|_| share.item_bytes > 0) {
                    io.bytes = sizes.of(io.offset);
                }
                1
            }
            ObjectClass::File => {
                (io.offset, io.bytes) = (0, 0);
                u64::from(self.only_files)
            }
        };
        let before = file.left;
        file.left = if before == u64::MAX { u64::MAX } else { before.saturating_sub(units) };
        self.unfinished -= usize::from(file.left == 0 && before > 0);
        true
    }

    #[inline(always)]
    fn count_for_insertions(&mut self, io: &Io) {
        if !self.every.is_empty() {
            self.count_each(io);
        }
    }

    fn count_each(&mut self, io: &Io) {
        let verb = io.verb;
        if verb.kind() == Kind::Write && io.offset != AT_POSITION {
            let (end, written) = (io.offset.saturating_add(io.bytes), &mut self.files[self.file].written);
            *written = match *written {
                (0, 0) => (io.offset, end),
                (first, last) => (first.min(io.offset), last.max(end)),
            };
        }
        for (index, inserted) in self.every.iter_mut().enumerate() {
            let counts = inserted.verb.kind() != Kind::Sync || verb.kind() == Kind::Write;
            inserted.count += u64::from(counts);
            if counts && inserted.count == inserted.operations {
                inserted.count = 0;
                self.due |= 1 << index;
            }
        }
    }

    #[cold]
    fn next_pass(&mut self) -> bool {
        self.pass += 1;
        self.left.passes -= u64::from(self.left.passes != u64::MAX);
        if self.left.passes == 0 {
            self.left.operations = 0;
            return false;
        }
        if !self.progressed {
            // Nothing fits: passes without operations would never end.
            self.left.operations = 0;
            return false;
        }
        self.unfinished = self.files.len();
        self.files.iter_mut().for_each(Span::restart);
        self.file = 0;
        if let Some(window) = &mut self.window {
            window.clear();
        }
        self.progressed = false;
        true
    }
}

impl VerbShare {
    /// The one size of its operations where the place is a random one, if there is one, and what they are aligned to.
    fn one_size(&self) -> (Option<u64>, u64) {
        match self.sizes_random.as_ref().unwrap_or(&self.sizes) {
            Sizes::Fixed(bytes) if self.class == ObjectClass::Range && !self.whole => {
                (Some(*bytes), self.align)
            }
            _ => (None, self.align),
        }
    }
}

impl Span {
    /// The item at a place of the walk, and the verb's further argument.
    fn item(&self, verb: Verb, place: u64, pass: u64) -> (u64, u64) {
        let item = self.base + place;
        match (verb, self.spare) {
            (Verb::Rename, Some(spare)) => {
                let from = if place + 1 == self.length { spare } else { item };
                (from, if place == 0 { spare } else { item - 1 })
            }
            (Verb::Rename, None) if pass % 2 == 1 => (item + self.items + self.next, item),
            (Verb::Rename, None) => (item, item + self.items + self.next),
            (Verb::Link | Verb::Symlink | Verb::Clone, _) => (item, item + self.items),
            (Verb::Chmod, _) => (item, 0o600),
            (Verb::Chown, _) => (item, u64::MAX),
            _ => (item, 0),
        }
    }

    /// The next place and its length; [`END`]: there is none.
    #[inline(always)]
    fn next_range(&mut self, share: &VerbShare, number: usize, random: &mut Random) -> (u64, u64) {
        if self.joint.is_some() || share.sizes_random.is_some() {
            return self.next_rare(share, number, random);
        }
        let wanted = if share.whole { self.length } else { share.sizes.draw(random).min(share.most) };
        let offset = self.walks[number].next(random, wanted);
        let room = if offset >= self.reach { u64::MAX } else { self.reach - offset };
        (offset, wanted.min(room))
    }

    #[inline(never)]
    fn next_rare(&mut self, share: &VerbShare, number: usize, random: &mut Random) -> (u64, u64) {
        let walk = &mut self.walks[number];
        let sizes = match &share.sizes_random {
            Some(sizes) if self.joint.is_some() || walk.is_random(random) => sizes,
            _ => &share.sizes,
        };
        let wanted = if share.whole { self.length } else { sizes.draw(random).min(share.most) };
        if let Some(joint) = &mut self.joint {
            return joint.next(random, number, wanted, share.align).unwrap_or((END, 0));
        }
        let offset = walk.next(random, wanted);
        let room = if offset >= self.reach { u64::MAX } else { self.reach - offset };
        (offset, wanted.min(room))
    }

    /// A pass begins.
    fn restart(&mut self) {
        self.left = self.pass_units;
        if let Some(joint) = &mut self.joint {
            joint.restart();
        } else if self.reach != self.length || self.pass_units == u64::MAX {
            self.walks.iter_mut().for_each(Walk::restart);
        }
    }
}

/// Of peers only those end a job who may have nothing more to say, and files that are sent.
fn may_end(job: &Job, verb: Verb) -> bool {
    let is_set = |name: &str| job.settings.iter().any(|setting| setting.name == name);
    match verb {
        Verb::Exchange => is_set("answers"),
        Verb::Send => is_set("from"),
        _ => true,
    }
}

/// The shares of all operations that can come, each with the pattern that it follows.
fn parts(pattern: &Pattern) -> Vec<(Share, Cow<'_, Pattern>)> {
    let of_kind = |kind: &OperationKind| {
        let OperationKind { verb, weight, bytes, align_bytes, .. } = *kind;
        let own = Pattern {
            pick: PerDirection::same(kind.pick.clone()),
            size: PerDirection::same(Size::Fixed(bytes)),
            align_bytes: PerDirection::same(align_bytes),
            ..pattern.clone()
        };
        (Share { verb, weight }, Cow::Owned(own))
    };
    let all: Vec<_> = match pattern.kinds.is_empty() {
        true => pattern.mix.shares.iter().map(|share| (share.clone(), Cow::Borrowed(pattern))).collect(),
        false => pattern.kinds.iter().map(of_kind).collect(),
    };
    all.into_iter().filter(|(share, _)| share.weight > 0.0).collect()
}

/// The verbs of the mix that can come, with their labels.
fn mixed(
    parts: &[(Share, Cow<'_, Pattern>)],
    labels: &[(String, Verb)],
    buffer: u64,
) -> Result<Vec<VerbShare>, Failure> {
    let bounds = shares(parts.iter().map(|(share, _)| share.weight))?;
    parts
        .iter()
        .zip(bounds)
        .map(|((share, pattern), below)| {
            let streamed = *directed(&pattern.pick, share.verb) == Pick::Stream;
            let class = match class_of(share.verb)? {
                // The directory as it is, entry by entry.
                ObjectClass::Item if streamed => ObjectClass::File,
                class => class,
            };
            let size = directed(&pattern.size, share.verb);
            let whole = *size == Size::Whole;
            let sizes = match class {
                ObjectClass::Range if !whole => Sizes::new(size).map_err(failure)?,
                _ => Sizes::Fixed(1),
            };
            if matches!(sizes, Sizes::Fixed(0)) && share.verb.moves_data() {
                return Err(Failure::new("operations of 0 bytes").hint("give a size of at least 1 byte"));
            }
            let sizes_random = match class {
                ObjectClass::Range if pattern.size_by_order => {
                    Some(Sizes::new(&pattern.size.write).map_err(failure)?)
                }
                _ => None,
            };
            let sizes = match sizes_random {
                Some(_) => Sizes::new(&pattern.size.read).map_err(failure)?,
                None => sizes,
            };
            let align = aligned(pattern, share.verb, class);
            let label = super::label_of(labels, share.verb.name(), share.verb);
            let most = if share.verb.moves_data() { buffer } else { u64::MAX };
            let (item_bytes, item_flags) = item_data(pattern, share.verb)?;
            if item_bytes > buffer {
                return Err(Failure::new(format!("items of {item_bytes} bytes, buffers of {buffer}")));
            }
            let verb = share.verb;
            Ok(VerbShare {
                verb,
                label,
                below,
                class,
                sizes,
                sizes_random,
                align,
                whole,
                most,
                item_bytes,
                item_flags,
            })
        })
        .collect()
}

/// The bytes that an operation on an item moves, and what else belongs to it.
fn item_data(pattern: &Pattern, verb: Verb) -> Result<(u64, u8), Failure> {
    let Some(data) = pattern.item_data.filter(|_| matches!(verb, Verb::Create | Verb::Open)) else {
        return Ok((0, 0));
    };
    let Some(bytes) = directed(&pattern.size, verb).most_bytes() else {
        let what = "items that are moved whole have a longest one";
        return Err(Failure::new(what).hint("give a size, a range, or a table of sizes"));
    };
    Ok((bytes, item_flags(data, verb, bytes)))
}

/// The lengths of a target's items that are moved whole; none: they have one.
fn item_sizes(
    context: &SourceContext<'_>,
    pattern: &Pattern,
    shares: &[VerbShare],
    target: u32,
) -> Result<Option<Box<ItemSizes>>, Failure> {
    let moving = shares.iter().find(|share| share.class == ObjectClass::Item && share.item_bytes > 0);
    let size = moving.map(|share| directed(&pattern.size, share.verb));
    let Some(size) = size.filter(|size| !matches!(size, Size::Fixed(_))) else { return Ok(None) };
    let Some(target) = context.plan.targets.get(target as usize) else { return Ok(None) };
    if let TargetKind::FileSet { items, .. } | TargetKind::Bucket { items, .. } = &target.kind
        && items.size != *size
    {
        let what = format!("target {}: its items are moved whole, and have other lengths", target.name);
        return Err(Failure::new(what).hint("give the target's size and the job's block the same value"));
    }
    let sizes = ItemSizes::new(size, context.plan.seed, &target.name);
    sizes.map(|sizes| Some(Box::new(sizes))).map_err(|wrong| Failure::new(wrong.message))
}

/// What an operation carries that moves an item's data.
pub fn item_flags(data: ItemData, verb: Verb, bytes: u64) -> u8 {
    let flag = |wanted: bool, flag: u8| if wanted && verb == Verb::Create { flag } else { 0 };
    flag(data.sync, DURABLE) | flag(data.read_back && bytes > 0, READ_BACK)
}

/// Where the part of a handle begins that is a worker's, how long it is, and how many items the whole has.
fn extent(
    context: &SourceContext<'_>,
    shares: &[VerbShare],
    index: usize,
) -> Result<(u64, u64, u64), Failure> {
    let handle = &context.files.handles[index];
    let items = shares.iter().any(|share| share.class == ObjectClass::Item);
    Ok(match (&handle.names, items) {
        (Some(names), true) => {
            let (first, count) = own_items(context, handle.target as usize, names.count);
            (first, count, names.count)
        }
        (None, false) => (handle.base, handle.bytes, 0),
        (Some(_), false) if shares.iter().all(|share| share.class == ObjectClass::File) => (0, 0, 0),
        (Some(_), false) => {
            return Err(Failure::new("a pattern moves data on files, and this target is a set of files")
                .hint("use a script: open, read or write, close"));
        }
        (None, true) => {
            return Err(Failure::new(
                "create, stat, open and their like work on the items of a set of files",
            ));
        }
    })
}

/// What one handle offers, and the walks over it.
fn span(
    context: &SourceContext<'_>,
    (pattern, parts): (&Pattern, &[(Share, Cow<'_, Pattern>)]),
    shares: &[VerbShare],
    index: usize,
    seed: u64,
) -> Result<Span, Failure> {
    let handle = &context.files.handles[index];
    let (base, mut length, items) = extent(context, shares, index)?;
    let spare = (pattern.chain && pattern.mix.has(Verb::Rename)).then(|| items + u64::from(context.worker));
    length += u64::from(spare.is_some());
    let mut span = Span {
        handle: index as u32,
        base,
        length,
        items,
        next: handle.names.as_ref().map_or(0, |names| names.per_directory),
        spare,
        pass_units: 0,
        left: 0,
        reach: length,
        item_sizes: item_sizes(context, pattern, shares, handle.target)?,
        walks: Vec::new(),
        joint: None,
        written: (0, 0),
    };
    for (number, (share, (_, own))) in shares.iter().zip(parts).enumerate() {
        let ground = ground(context, own, share, &span);
        span.reach = ground.reach;
        let (picked, ground, deal) = picked(context, directed(&own.pick, share.verb), handle.target, ground);
        let pick = if share.class == ObjectClass::File { &Pick::Stream } else { &picked };
        span.pass_units = span.pass_units.max(units(share, pick, ground, length));
        span.walks.push(match deal {
            Some(deal) => Walk::dealt(pick, ground, deal)?,
            None => Walk::new(pick, pattern.coverage, ground, mix(seed ^ number as u64))?,
        });
    }
    if pattern.kinds.is_empty() && shares.iter().any(|share| share.class == ObjectClass::Range) {
        let ground = joint_ground(context, pattern, shares, &span);
        let sizes: Vec<_> = shares.iter().map(VerbShare::one_size).collect();
        span.joint = Joint::new(pattern, ground, &sizes, seed)?;
        if let Some(joint) = &span.joint {
            span.pass_units = joint.pass_bytes(ground);
        }
    }
    span.pass_units = span.pass_units.max(1);
    span.left = span.pass_units;
    Ok(span)
}

/// Bytes or items of a pass over a span of that length by one verb.
fn units(share: &VerbShare, pick: &Pick, ground: PickRange, length: u64) -> u64 {
    let endless = match share.class {
        ObjectClass::Range => matches!(pick, Pick::Stream | Pick::Append) && length == 0,
        ObjectClass::File => share.verb == Verb::Readdir,
        ObjectClass::Item => false,
    };
    match share.class {
        _ if endless => u64::MAX,
        ObjectClass::File => 0,
        _ if ground.fixed => Walk::places(pick, ground).saturating_mul(ground.least),
        _ => length,
    }
}

/// The pick as this worker goes about it: segments lie as they are shared with others.
fn picked(
    context: &SourceContext<'_>,
    pick: &Pick,
    target: u32,
    ground: PickRange,
) -> (Pick, PickRange, Option<Deal>) {
    let target = context.plan.targets.get(target as usize);
    let Some(laid) = segments::laid(context.job, pick, target, context.asker) else {
        return (pick.clone(), ground, None);
    };
    let (pick, ground) = laid.plainly(ground);
    (pick, ground, laid.deal(context.job, context.plan.seed, context.asker, ground))
}

/// The items of a set that are this worker's: all of its own set, a part of one that all share.
fn own_items(context: &SourceContext<'_>, target: usize, count: u64) -> (u64, u64) {
    let kind = context.plan.targets.get(target).map(|target| &target.kind);
    let items = match kind {
        Some(TargetKind::FileSet { items, .. } | TargetKind::Bucket { items, .. }) => Some(items),
        _ => None,
    };
    let own = items.is_none_or(|items| items.own);
    let named = items.is_some_and(|items| items.name.contains("{worker"));
    let all = context.asker.all;
    if own || named || all <= 1 {
        return (0, count);
    }
    let part = |worker: u32| (u128::from(count) * u128::from(worker) / u128::from(all)) as u64;
    let first = part(context.worker);
    (first, part(context.worker + 1) - first)
}

/// The smallest size of a verb's operations, and whether all have it.
fn least_of(pattern: &Pattern, verb: Verb, class: ObjectClass, length: u64) -> (u64, bool) {
    let (read, write) = (&pattern.size.read, &pattern.size.write);
    match (class, directed(&pattern.size, verb)) {
        (ObjectClass::Range, _) if pattern.size_by_order && read != write => {
            (read.least_bytes().unwrap_or(1).min(write.least_bytes().unwrap_or(1)), false)
        }
        (ObjectClass::Range, Size::Whole) => (length, true),
        (ObjectClass::Range, Size::Fixed(bytes)) => (*bytes, true),
        (ObjectClass::Range, size) => (size.least_bytes().unwrap_or(1), false),
        _ => (1, true),
    }
}

/// What a verb's offsets are multiples of.
fn aligned(pattern: &Pattern, verb: Verb, class: ObjectClass) -> u64 {
    let gap = matches!(directed(&pattern.pick, verb), Pick::Gap(_)) && pattern.span.overhang;
    match (class, *directed(&pattern.align_bytes, verb)) {
        (ObjectClass::Range, 0) if gap => 1,
        (ObjectClass::Range, 0) => least_of(pattern, verb, class, 1).0.max(1),
        (ObjectClass::Range, align) => align,
        _ => 1,
    }
}

/// The ground that all verbs on ranges share: their smallest size is its grain.
fn joint_ground(
    context: &SourceContext<'_>,
    pattern: &Pattern,
    shares: &[VerbShare],
    span: &Span,
) -> PickRange {
    let ranges = || shares.iter().filter(|share| share.class == ObjectClass::Range);
    let grounds: Vec<_> = ranges().map(|share| ground(context, pattern, share, span)).collect();
    let smallest = *grounds.iter().min_by_key(|ground| ground.least).unwrap_or(&grounds[0]);
    let alike = grounds.iter().all(|ground| ground.fixed && ground.least == smallest.least);
    let tight = smallest.align == smallest.least;
    PickRange { fixed: alike && tight, align: smallest.least, ..smallest }
}

fn ground(context: &SourceContext<'_>, pattern: &Pattern, share: &VerbShare, span: &Span) -> PickRange {
    let (least, fixed) = least_of(pattern, share.verb, share.class, span.length);
    let align = match (share.class, *directed(&pattern.align_bytes, share.verb), share.whole) {
        (ObjectClass::Range, 0, true) => least,
        _ => share.align,
    };
    let appends = *directed(&pattern.pick, share.verb) == Pick::Append;
    let fd = context.files.handles[span.handle as usize].fd;
    let end = if appends { held_bytes(fd).saturating_sub(span.base) } else { 0 };
    let overhang = pattern.span.overhang && share.class == ObjectClass::Range;
    let reach = match overhang {
        true => crate::io::length(fd).ok().flatten().unwrap_or(0).saturating_sub(span.base).max(span.length),
        false => span.length,
    };
    let base = span.base;
    PickRange {
        span: span.length,
        align: align.max(1),
        least: least.max(1),
        fixed,
        end,
        reach,
        base,
        overhang,
    }
}

/// How long an open file is now; 0 where there is none.
fn held_bytes(fd: std::os::fd::RawFd) -> u64 {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` is valid for writing, and is only read when the call says that it was written.
    unsafe {
        if libc::fstat(fd, stat.as_mut_ptr()) == 0 { stat.assume_init().st_size.max(0) as u64 } else { 0 }
    }
}

fn order(order: &FileOrder, files: usize, seed: u64) -> Result<FileTurns, Failure> {
    Ok(match order {
        FileOrder::InTurn => FileTurns::InTurn,
        FileOrder::RoundRobin { operations } => {
            FileTurns::Turns { operations: (*operations).max(1), next: 0 }
        }
        FileOrder::Drawn { pick, operations } => {
            let ground = PickRange::plain(files as u64, 1, 1, true);
            let drawn = Distribution::draws(pick) || **pick == Pick::Sequential;
            if !drawn {
                return Err(Failure::new("files can be drawn by chance, or taken in turn"));
            }
            let walk = Walk::new(pick, iodyno_model::Coverage::Repeating, ground, mix(seed ^ GOLDEN))?;
            FileTurns::Drawn(Box::new(walk), (*operations).max(1))
        }
    })
}

fn left(context: &SourceContext<'_>) -> RemainingWork {
    let limit = &context.job.limit;
    let timed = limit.time_ns.is_some()
        || context.goal.is_some()
        || limit.operations.is_some()
        || limit.bytes.is_some();
    // What wears out is counted, even where nothing limits it.
    let most = if limit.wear_out { u64::MAX - 1 } else { u64::MAX };
    RemainingWork {
        operations: limit.operations.unwrap_or(most).min(context.goal.unwrap_or(most)),
        bytes: limit.bytes.unwrap_or(u64::MAX),
        passes: limit.passes.unwrap_or(if timed { u64::MAX } else { 1 }),
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
