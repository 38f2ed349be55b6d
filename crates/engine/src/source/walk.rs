//! Where the next operation of a pattern goes: the picks, over one file's span, as small state machines.
//!
//! A walk answers with byte offsets relative to the span and never leaves it. What depends on the pick, the size and
//! the alignment is worked out when the walk is made; on the data plane a step is additions, comparisons and at most a
//! multiplication. It refuses to know verbs, files other than its own, and time.

use iodyno_model::{Coverage, Pick};

use super::permutation::Permutation;
use super::preconditioning::Preconditioning;
use super::random::{GOLDEN, Random, mix};
use crate::distribution::Distribution;
use crate::failure::Failure;

/// What a walk goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickRange {
    /// Bytes (or items) of the span.
    pub span: u64,
    /// Offsets are multiples of this, at least 1.
    pub align: u64,
    /// The smallest operation; no offset leaves less room than this.
    pub least: u64,
    /// Whether every operation has the smallest size.
    pub fixed: bool,
    /// Bytes the file holds now, beyond which appends go; relative to the span's start.
    pub end: u64,
    /// Bytes from the span's start that operations may reach; more than the span where they may hang over.
    pub reach: u64,
    /// Where the span begins in the file.
    pub base: u64,
    /// Whether the span's end is soft: see [`iodyno_model::Span::overhang`].
    pub overhang: bool,
}

impl PickRange {
    /// A span that nothing goes beyond, for operations that all have the smallest size.
    pub fn plain(span: u64, align: u64, least: u64, fixed: bool) -> PickRange {
        PickRange { span, align, least, fixed, end: 0, reach: span, base: 0, overhang: false }
    }

    /// How many operations of one size there are one after the other; the last may hang over.
    fn in_line(&self) -> u64 {
        match self.overhang && self.fixed && self.reach > self.span {
            true => {
                let fit = self.reach.saturating_sub(self.least) / self.pitch() + 1;
                self.span.div_ceil(self.pitch()).min(fit)
            }
            false => self.places(),
        }
    }

    /// Bytes from one aligned operation of the smallest size to the next.
    pub fn pitch(&self) -> u64 {
        self.least.max(1).next_multiple_of(self.align)
    }

    /// How many aligned offsets there are.
    pub fn offsets(&self) -> u64 {
        match self.span.checked_sub(self.least) {
            Some(room) if self.span > 0 => room / self.align + 1,
            _ => 0,
        }
    }

    /// How many operations of the smallest size fit side by side.
    pub fn places(&self) -> u64 {
        match self.span.checked_sub(self.least) {
            Some(room) if self.span > 0 => room / self.pitch() + 1,
            _ => 0,
        }
    }
}

/// A way over a span.
#[derive(Clone, Debug)]
pub enum Walk {
    /// One after the other, in equal steps.
    Linear(LinearWalk),
    /// Every place once in a shuffled order, then all again in another.
    Once(Box<Once>),
    /// Every place equally likely.
    Uniform {
        places: u64,
        /// Bytes from one to the next.
        align: u64,
    },
    /// Any other way.
    Rare(Box<Rare>),
}

/// Steps of one length; for operations of one size the length is worked out, for others each adds its own.
#[derive(Clone, Debug)]
pub struct LinearWalk {
    next: u64,
    first: u64,
    last: u64,
    step: u64,
    /// What sizes that vary need: the ground and the gap after each.
    varied: Option<(PickRange, i64)>,
    backward: bool,
}

/// A permutation of places and how far it has come.
#[derive(Clone, Debug)]
pub struct Once {
    permutation: Permutation,
    index: u64,
    places: u64,
    align: u64,
    seed: u64,
    pass: u64,
}

/// Ways that are not worth a branch of their own on the fast path.
#[derive(Clone, Debug)]
pub enum Rare {
    /// Sets of places far apart.
    Strided {
        /// The next offset.
        next: u64,
        /// Where the present set began.
        set: u64,
        /// Distance of places.
        stride: u64,
        /// Distance of sets.
        pitch: u64,
        /// The largest offset.
        last: u64,
    },
    /// Blocks of consecutive places.
    Segmented(Segments),
    /// By a law of chance.
    Drawn {
        law: Distribution,
        /// Bytes from one place to the next.
        align: u64,
    },
    /// One way of several, drawn each time.
    Blend {
        /// The ways, with the highest draw that belongs to each.
        ways: Vec<(u64, Walk)>,
        /// The way that was drawn before its place was asked for.
        chosen: Option<usize>,
    },
    /// Each place several times.
    Repeat {
        /// How often.
        times: u32,
        /// How often still.
        left: u32,
        place: u64,
        /// How a place is found.
        walk: Walk,
    },
    /// Runs of consecutive places.
    Runs {
        /// Operations in a run.
        operations: u32,
        /// Operations left in this one.
        left: u32,
        /// Whether a run that comes to the end of the span goes on from a new place, rather than from the start.
        hops: bool,
        /// How a run goes on.
        line: LinearWalk,
        /// How a run begins.
        walk: Walk,
    },
    /// Places by their numbers.
    Listed {
        blocks: Vec<u64>,
        /// Of the list, where the next one is.
        index: usize,
        /// What is added to a number, and by how much it grows with each time through the list.
        shift: u64,
        advance: u64,
        places: u64,
        pitch: u64,
    },
    /// Some places again, by regions.
    Preconditioning(Preconditioning),
    /// At the file's position.
    Stream,
    /// At the file's end.
    Append { end: u64 },
    /// With gaps that go by the target's end.
    Jumps(Jumps),
}

/// The state of [`Pick::Gap`] where the span's end is soft.
#[derive(Clone, Debug)]
pub struct Jumps {
    ground: PickRange,
    gap: i64,
    /// Where the operation before ended, relative to the span's start.
    last: u64,
}

impl Jumps {
    /// A jump beyond the target leads to the start, or back from the end; a place outside of the span ends the pass.
    fn next(&mut self, bytes: u64) -> u64 {
        let PickRange { span, reach, base, .. } = self.ground;
        if self.last >= reach {
            return END;
        }
        let (whole, gap) = (i128::from(base) + i128::from(reach), i128::from(self.gap));
        let end = i128::from(span).min(whole);
        let backward = gap < 0 && self.last == 0 && base > 0;
        let mut place = if backward { end - i128::from(base) } else { i128::from(self.last) };
        if place != 0 {
            place += gap;
            if place < 0 || place >= whole {
                place = if gap > 0 { i128::from(base) } else { end + gap };
            }
        }
        match u64::try_from(place) {
            Ok(place) if place < span && bytes <= reach.saturating_sub(place) => {
                self.last = place + bytes;
                place
            }
            _ => END,
        }
    }
}

/// The state of [`Pick::Segmented`].
#[derive(Clone, Debug)]
pub struct Segments {
    /// Where the present segment begins.
    start: u64,
    within: u64,
    pitch: u64,
    places: u64,
    stride: u64,
    last_start: u64,
    shuffle: Option<Permutation>,
    /// The first place of the shuffle that is this worker's.
    first: u64,
    seed: u64,
    count: u64,
}

/// One worker's part of segments whose transfers are shuffled and dealt to all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    /// Its first in the shuffled order.
    pub first: u64,
    /// Transfers of a segment, of all workers together.
    pub all: u64,
    /// The seed that all of them shuffle by.
    pub seed: u64,
}

/// An offset that stands for the file's own position.
pub use crate::io::AT_POSITION;

/// The answer of a walk that has come to its end before the pass did.
pub const END: u64 = u64::MAX - 1;

impl Walk {
    /// A walk for a pick. `seed` decides permutations and popular places.
    ///
    /// # Errors
    /// A span without room, or parameters out of range.
    pub fn new(pick: &Pick, coverage: Coverage, ground: PickRange, seed: u64) -> Result<Self, Failure> {
        if matches!(pick, Pick::Stream) {
            return Ok(Walk::Rare(Box::new(Rare::Stream)));
        }
        if let Pick::Append = pick {
            return Ok(Walk::Rare(Box::new(Rare::Append { end: ground.end })));
        }
        if ground.places() == 0 {
            let message =
                format!("a span of {} bytes holds no operation of {} bytes", ground.span, ground.least);
            return Err(Failure::new(message).hint("make the file or the span larger, or the size smaller"));
        }
        if matches!(pick, Pick::Listed { blocks, .. } if blocks.is_empty()) {
            return Err(
                Failure::new("a list of places without a place").hint("list at least one block number")
            );
        }
        Ok(match pick {
            Pick::Sequential => Walk::Linear(LinearWalk::new(ground, 0, false)),
            Pick::Backward => Walk::Linear(LinearWalk::new(ground, 0, true)),
            Pick::Gap(gap) if ground.overhang => {
                Walk::Rare(Box::new(Rare::Jumps(Jumps { ground, gap: *gap, last: 0 })))
            }
            Pick::Gap(bytes) => Walk::Linear(LinearWalk::new(ground, *bytes, false)),
            Pick::Uniform if coverage != Coverage::Repeating => Walk::Once(Box::new(Once::new(ground, seed))),
            Pick::Uniform => Walk::Uniform { places: ground.offsets(), align: ground.align },
            other => Walk::Rare(Box::new(Rare::new(other, coverage, ground, seed)?)),
        })
    }

    /// A walk over a worker's part of segments whose transfers are dealt to all workers.
    ///
    /// # Errors
    /// A pick without segments, or segments without room.
    pub fn dealt(pick: &Pick, ground: PickRange, deal: Deal) -> Result<Self, Failure> {
        let Pick::Segmented { block_bytes, count, stride_bytes, .. } = *pick else {
            return Err(Failure::new("only the transfers of segments can be dealt"));
        };
        let mut segments = Segments::new((block_bytes, count), stride_bytes, true, ground, deal.seed)?;
        segments.deal(deal);
        Ok(Walk::Rare(Box::new(Rare::Segmented(segments))))
    }

    /// Whether it needs nothing but to be asked: it has no end of its own, and every place leaves room.
    pub fn is_plain(&self) -> bool {
        match self {
            Walk::Linear(_) | Walk::Once(_) | Walk::Uniform { .. } => true,
            Walk::Rare(rare) => matches!(**rare, Rare::Segmented(_)),
        }
    }

    /// Whether it has no places: each operation goes on where the last one ended.
    pub fn is_stream(&self) -> bool {
        matches!(self, Walk::Rare(rare) if matches!(**rare, Rare::Stream))
    }

    /// The next offset, for an operation that would like to move so many bytes.
    #[inline(always)]
    pub fn next(&mut self, random: &mut Random, bytes: u64) -> u64 {
        // Asked first, and the others apart: a jump through a table costs as much as half a draw.
        match self {
            Walk::Uniform { places, align } => random.below(*places) * *align,
            other => other.next_of_others(random, bytes),
        }
    }

    #[inline(never)]
    fn next_of_others(&mut self, random: &mut Random, bytes: u64) -> u64 {
        match self {
            Walk::Linear(line) => line.next(bytes),
            Walk::Once(once) => once.place(),
            Walk::Uniform { places, align } => random.below(*places) * *align,
            Walk::Rare(rare) => rare.next(random, bytes),
        }
    }

    /// Several places at once, where they lie at equal distances: the first, the distance, and how many, at most `most`
    /// (at least 1).
    pub fn run(&mut self, random: &mut Random, bytes: u64, most: u64) -> (u64, u64, u64) {
        match self {
            Walk::Linear(line) if line.varied.is_none() && !line.backward => line.run(most),
            _ => (self.next(random, bytes), 0, 1),
        }
    }

    /// Goes on at a place within the last run, since the rest of it was not needed.
    pub fn resume(&mut self, place: u64) {
        if let Walk::Linear(line) = self {
            line.next = place;
        }
    }

    /// A pass begins: what ended before its end begins anew.
    pub fn restart(&mut self) {
        match self {
            Walk::Linear(line) => line.restart(),
            Walk::Rare(rare) => match &mut **rare {
                Rare::Jumps(jumps) => jumps.last = 0,
                Rare::Listed { index, shift, .. } => (*index, *shift) = (0, 0),
                Rare::Blend { ways, .. } => ways.iter_mut().for_each(|(_, way)| way.restart()),
                _ => {}
            },
            _ => {}
        }
    }

    /// Whether the next place will be a random one; where that is drawn, it is drawn now.
    pub fn is_random(&mut self, random: &mut Random) -> bool {
        match self {
            Walk::Linear(_) => false,
            Walk::Once(_) | Walk::Uniform { .. } => true,
            Walk::Rare(rare) => match &mut **rare {
                Rare::Drawn { .. } | Rare::Listed { .. } | Rare::Preconditioning(_) => true,
                Rare::Blend { ways, chosen } => {
                    let way = *chosen.get_or_insert_with(|| drawn(ways, random));
                    ways[way].1.is_random(random)
                }
                Rare::Repeat { walk, .. } => walk.is_random(random),
                Rare::Runs { left, walk, .. } => *left == 0 && walk.is_random(random),
                _ => false,
            },
        }
    }

    /// How many operations of the smallest size one pass is; the largest number where only a limit ends it.
    pub fn places(pick: &Pick, ground: PickRange) -> u64 {
        if ground.overhang
            && matches!(pick, Pick::Gap(_) | Pick::Repeat { .. } | Pick::Runs { .. } | Pick::Blend(_))
        {
            return u64::MAX;
        }
        match pick {
            Pick::Sequential => ground.in_line(),
            Pick::Gap(gap) => match ground.pitch().checked_add_signed(*gap) {
                Some(step) if step > 0 => ground.span.saturating_sub(ground.least) / step + 1,
                _ => ground.places(),
            },
            Pick::Strided { stride_bytes } => {
                let last = ground.offsets().saturating_sub(1) * ground.align;
                let sets = ((*stride_bytes).max(1) - 1).min(last) / ground.pitch() + 1;
                (0..sets).map(|set| (last - set * ground.pitch()) / (*stride_bytes).max(1) + 1).sum()
            }
            Pick::Segmented { block_bytes, stride_bytes, count, .. } => {
                let segments = (ground.span.saturating_sub(*block_bytes)) / (*stride_bytes).max(1) + 1;
                let segments = if *count > 0 { segments.min(*count) } else { segments };
                segments * (block_bytes / ground.pitch())
            }
            Pick::Repeat { times, pick } => Walk::places(pick, ground).saturating_mul(u64::from(*times)),
            Pick::Preconditioning { .. } => Preconditioning::writes(pick, ground).unwrap_or(0),
            _ => ground.places(),
        }
    }

    /// Tells a line where another way has been, so that it goes on from there.
    fn follow(&mut self, offset: u64, bytes: u64) {
        match self {
            Walk::Linear(line) => line.follow(offset, bytes),
            Walk::Rare(rare) => {
                if let Rare::Blend { ways, .. } = &mut **rare {
                    ways.iter_mut().for_each(|(_, way)| way.follow(offset, bytes));
                }
            }
            _ => {}
        }
    }
}

impl LinearWalk {
    fn new(ground: PickRange, gap: i64, backward: bool) -> Self {
        let pitch = ground.pitch() as i64;
        let step = if backward { -pitch } else { pitch.saturating_add(gap) };
        let step = step.signum() * (step.unsigned_abs().next_multiple_of(ground.align) as i64);
        let last = match ground.overhang && ground.fixed {
            true => (ground.in_line() - 1) * pitch as u64,
            false => (ground.offsets() - 1) * ground.align,
        };
        let (first, last) = if step < 0 { ((last / pitch as u64) * pitch as u64, 0) } else { (0, last) };
        let varied = (!ground.fixed).then_some((ground, gap));
        let backward = step < 0;
        // A backward line of varied sizes keeps the end of the next operation instead of its start.
        let next = if backward && varied.is_some() { ground.span } else { first };
        LinearWalk { next, first, last, step: step.unsigned_abs(), varied, backward }
    }

    #[inline(always)]
    fn next(&mut self, bytes: u64) -> u64 {
        if self.varied.is_some() {
            return self.next_varied(bytes);
        }
        let offset = self.next;
        self.advance(offset);
        offset
    }

    fn run(&mut self, most: u64) -> (u64, u64, u64) {
        let (first, step) = (self.next, self.step.max(1));
        let count = (self.last.saturating_sub(first) / step + 1).min(most);
        self.advance(first + (count - 1) * step);
        (first, step, count)
    }

    fn restart(&mut self) {
        self.next = match self.varied {
            Some((ground, _)) if self.backward => ground.span,
            _ => self.first,
        };
    }

    #[inline(always)]
    fn advance(&mut self, offset: u64) {
        self.next = if self.backward {
            if offset < self.step { self.first } else { offset - self.step }
        } else if offset + self.step > self.last {
            self.first
        } else {
            offset + self.step
        };
    }

    fn next_varied(&mut self, bytes: u64) -> u64 {
        let Some((ground, gap)) = self.varied else { return 0 };
        let offset = if self.backward {
            let end = if self.next < ground.least { ground.span } else { self.next };
            let offset = end.saturating_sub(bytes.max(1));
            offset.next_multiple_of(ground.align).min((end - ground.least) / ground.align * ground.align)
        } else if self.next > self.last {
            self.first
        } else {
            self.next
        };
        self.next = self.after(offset, bytes, ground, gap);
        offset
    }

    fn after(&self, offset: u64, bytes: u64, ground: PickRange, gap: i64) -> u64 {
        if self.backward {
            return if gap < 0 {
                offset.saturating_sub(gap.unsigned_abs() - bytes.min(gap.unsigned_abs()))
            } else {
                offset
            };
        }
        let end = offset + bytes.min(ground.span - offset);
        end.saturating_add_signed(gap).checked_next_multiple_of(ground.align).unwrap_or(u64::MAX)
    }

    fn follow(&mut self, offset: u64, bytes: u64) {
        match self.varied {
            Some((ground, gap)) => self.next = self.after(offset, bytes, ground, gap),
            None => self.advance(offset),
        }
    }
}

impl Once {
    /// A permutation of the places that the ground has.
    pub fn new(ground: PickRange, seed: u64) -> Self {
        // Where operations of one size may overlap each other's alignment, only the places side by side are "all".
        let (places, align) = match ground.fixed {
            true => (ground.places(), ground.pitch()),
            false => (ground.offsets(), ground.align),
        };
        Once { permutation: Permutation::new(places, seed), index: 0, places, align, seed, pass: 0 }
    }

    /// The next place.
    #[inline(always)]
    pub fn place(&mut self) -> u64 {
        if self.index == self.places {
            self.begin_anew();
        }
        let place = self.permutation.at(self.index);
        self.index += 1;
        place * self.align
    }

    /// The next pass has another order: its own seed, which only the pass and the first seed decide.
    #[cold]
    fn begin_anew(&mut self) {
        self.pass += 1;
        self.index = 0;
        let seed = mix(self.seed ^ mix(self.pass.wrapping_mul(GOLDEN)));
        self.permutation = Permutation::new(self.places, seed);
    }
}

impl Rare {
    fn new(pick: &Pick, coverage: Coverage, ground: PickRange, seed: u64) -> Result<Self, Failure> {
        let inner = |pick: &Pick, number: u64| Walk::new(pick, coverage, ground, mix(seed ^ number));
        Ok(match pick {
            Pick::Strided { stride_bytes } => {
                let stride = (*stride_bytes).max(1).next_multiple_of(ground.align);
                let last = (ground.offsets() - 1) * ground.align;
                Rare::Strided { next: 0, set: 0, stride, pitch: ground.pitch(), last }
            }
            Pick::Segmented { block_bytes, count, stride_bytes, shuffled } => Rare::Segmented(Segments::new(
                (*block_bytes, *count),
                *stride_bytes,
                *shuffled,
                ground,
                seed,
            )?),
            Pick::Blend(ways) if !Distribution::draws(pick) => Rare::Blend {
                chosen: None,
                ways: shares(ways.iter().map(|way| way.percent))?
                    .into_iter()
                    .zip(ways)
                    .enumerate()
                    .map(|(number, (below, way))| Ok((below, inner(&way.pick, number as u64)?)))
                    .collect::<Result<_, Failure>>()?,
            },
            Pick::Repeat { times, pick } => {
                Rare::Repeat { times: (*times).max(1), left: 0, place: 0, walk: inner(pick, 1)? }
            }
            Pick::Listed { blocks, advances } => Rare::Listed {
                advance: if *advances { blocks.len() as u64 } else { 0 },
                blocks: blocks.clone(),
                index: 0,
                shift: 0,
                places: ground.places(),
                pitch: ground.pitch(),
            },
            Pick::Preconditioning { .. } => Rare::Preconditioning(Preconditioning::new(pick, ground, seed)?),
            Pick::Runs { operations, pick } => {
                let line = LinearWalk::new(ground, 0, false);
                Rare::Runs {
                    operations: (*operations).max(1),
                    left: 0,
                    hops: ground.overhang,
                    line,
                    walk: inner(pick, 1)?,
                }
            }
            drawn => {
                let law = Distribution::new(drawn, ground.offsets(), ground.align, seed).map_err(failure)?;
                Rare::Drawn { law, align: ground.align }
            }
        })
    }

    #[inline(never)]
    fn next(&mut self, random: &mut Random, bytes: u64) -> u64 {
        match self {
            Rare::Strided { next, set, stride, pitch, last } => {
                let offset = *next;
                *next += *stride;
                if *next > *last {
                    *set += *pitch;
                    if *set >= *stride || *set > *last {
                        *set = 0;
                    }
                    *next = *set;
                }
                offset
            }
            Rare::Segmented(segments) => segments.next(),
            Rare::Drawn { law, align } => law.draw(random) * *align,
            Rare::Blend { ways, chosen } => {
                let way = chosen.take().unwrap_or_else(|| drawn(ways, random));
                let offset = ways[way].1.next(random, bytes);
                let others = ways.iter_mut().enumerate().filter(|(other, _)| *other != way);
                others.for_each(|(_, (_, other))| other.follow(offset, bytes));
                offset
            }
            Rare::Repeat { times, left, place, walk } => {
                if *left == 0 {
                    *place = walk.next(random, bytes);
                    *left = *times;
                }
                *left -= 1;
                *place
            }
            Rare::Runs { operations, left, hops, line, walk } => {
                if *left > 0 {
                    *left -= 1;
                    if !*hops || line.next != line.first {
                        return line.next(bytes);
                    }
                    // The run has come to the end of the span: it goes on from a new place.
                    let offset = walk.next(random, bytes);
                    line.follow(offset, bytes);
                    return offset;
                }
                *left = *operations - 1;
                let offset = walk.next(random, bytes);
                line.follow(offset, bytes);
                offset
            }
            Rare::Listed { blocks, index, shift, advance, places, pitch } => {
                let place = (blocks[*index].wrapping_add(*shift) % *places) * *pitch;
                *index += 1;
                if *index == blocks.len() {
                    (*index, *shift) = (0, (*shift + *advance) % *places);
                }
                place
            }
            Rare::Preconditioning(preconditioning) => preconditioning.place(),
            Rare::Stream => AT_POSITION,
            Rare::Jumps(jumps) => jumps.next(bytes),
            Rare::Append { end } => {
                let offset = *end;
                *end += bytes;
                offset
            }
        }
    }
}

impl Segments {
    fn new(
        (block, count): (u64, u64),
        stride: u64,
        shuffled: bool,
        ground: PickRange,
        seed: u64,
    ) -> Result<Self, Failure> {
        let (pitch, stride) = (ground.pitch(), stride.max(1).next_multiple_of(ground.align));
        let places = block / pitch;
        if places == 0 || block > ground.span {
            let message = format!(
                "segments of {block} bytes: expected at least one operation of {pitch} bytes, and within the span"
            );
            return Err(Failure::new(message).hint("make the segment a multiple of the operation's size"));
        }
        let most = (ground.span - block) / stride;
        let last_start = if count > 0 { most.min(count - 1) } else { most } * stride;
        let mut segments = Segments {
            start: 0,
            within: 0,
            pitch,
            places,
            stride,
            last_start,
            shuffle: None,
            first: 0,
            seed,
            count: 0,
        };
        if shuffled {
            segments.shuffle = Some(Permutation::new(places, seed));
        }
        Ok(segments)
    }

    /// From now on only a part of the segment's transfers.
    fn deal(&mut self, deal: Deal) {
        (self.first, self.shuffle) = (deal.first, Some(Permutation::new(deal.all, deal.seed)));
    }

    fn next(&mut self) -> u64 {
        if self.within == self.places {
            self.within = 0;
            self.count += 1;
            self.start =
                if self.start + self.stride > self.last_start { 0 } else { self.start + self.stride };
            if let Some(shuffle) = &mut self.shuffle {
                *shuffle = Permutation::new(shuffle.len(), mix(self.seed ^ mix(self.count)));
            }
        }
        let place = self.shuffle.as_ref().map_or(self.within, |shuffle| shuffle.at(self.first + self.within));
        self.within += 1;
        self.start + place * self.pitch
    }
}

/// Which way comes next.
fn drawn(ways: &[(u64, Walk)], random: &mut Random) -> usize {
    let draw = random.next();
    ways.iter().position(|(below, _)| draw <= *below).unwrap_or(ways.len() - 1)
}

/// Upper bounds (inclusive) of the 64-bit draws that belong to each weight; a weight of nothing gets no draw.
///
/// # Errors
/// Weights that are negative, not numbers, or all nothing.
pub fn shares(weights: impl Iterator<Item = f64> + Clone) -> Result<Vec<u64>, Failure> {
    let total: f64 = weights.clone().sum();
    if total <= 0.0 || weights.clone().any(|weight| weight < 0.0 || !weight.is_finite()) {
        return Err(Failure::new("shares: expected weights of 0 or more, at least one above 0"));
    }
    let mut sum = 0.0;
    let mut bounds: Vec<u64> = weights
        .clone()
        .map(|weight| {
            sum += weight;
            (sum / total * 18_446_744_073_709_551_616.0) as u64
        })
        .collect();
    let last = weights.enumerate().filter(|(_, weight)| *weight > 0.0).last().map_or(0, |(index, _)| index);
    bounds[last..].fill(u64::MAX);
    Ok(bounds)
}

/// A diagnostic as the reason why a worker cannot start.
pub fn failure(diagnostic: iodyno_model::Diagnostic) -> Failure {
    Failure { message: diagnostic.message, hint: diagnostic.hint, errno: 0 }
}
