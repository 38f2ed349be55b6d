//! What the sections after the blocks hold: counts, and the place of each block.

use iodyno_model::{Kind, Verb};

use crate::format::bytes::{Cursor, put_varint};
use crate::format::tables::NamedVerb;
use crate::{TraceError, TraceRecord};

/// Counts over a whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceTotals {
    pub records: u64,
    /// When the last record was issued.
    pub last_ns: u64,
    /// When the last completion was; at least `last_ns`.
    pub ended_ns: u64,
    /// Those that occur, in the order of [`Verb::ALL`].
    pub verbs: Vec<VerbTotal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerbTotal {
    pub verb: Verb,
    pub records: u64,
    /// Bytes asked for by reads, writes and trims; of other verbs 0.
    pub bytes: u64,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Bytes from the start of the file.
    pub place: u64,
    /// How many records are before it.
    pub first_record: u64,
    pub records: u64,
    /// When its first record was issued.
    pub first_ns: u64,
}

/// Whether offset and bytes of a record are a range of its file.
pub fn has_range(verb: Verb) -> bool {
    matches!(verb.kind(), Kind::Read | Kind::Write | Kind::Trim)
}

/// Totals while a trace is written.
pub struct Counting {
    records: u64,
    last_ns: u64,
    ended_ns: u64,
    verbs: [(u64, u64); Verb::COUNT],
    /// The end of the farthest range of each file.
    reach: Vec<u64>,
}

impl Default for Counting {
    fn default() -> Counting {
        Counting { records: 0, last_ns: 0, ended_ns: 0, verbs: [(0, 0); Verb::COUNT], reach: Vec::new() }
    }
}

impl Counting {
    pub fn add(&mut self, record: &TraceRecord) {
        self.records += 1;
        self.last_ns = self.last_ns.max(record.at_ns);
        self.ended_ns = self.ended_ns.max(record.ended_ns().unwrap_or(record.at_ns));
        let (records, bytes) = &mut self.verbs[record.verb.index()];
        *records += 1;
        if has_range(record.verb) {
            *bytes = bytes.saturating_add(record.bytes);
            let file = record.file as usize;
            if file >= self.reach.len() {
                self.reach.resize(file + 1, 0);
            }
            self.reach[file] = self.reach[file].max(record.end());
        }
    }

    pub fn reach(&self, file: usize) -> Option<u64> {
        self.reach.get(file).copied().filter(|reach| *reach > 0)
    }

    pub fn totals(&self) -> TraceTotals {
        let verbs = Verb::ALL.iter().zip(&self.verbs).filter(|(_, (records, _))| *records > 0);
        let verbs =
            verbs.map(|(verb, (records, bytes))| VerbTotal { verb: *verb, records: *records, bytes: *bytes });
        let (records, last_ns, ended_ns) = (self.records, self.last_ns, self.ended_ns);
        TraceTotals { records, last_ns, ended_ns, verbs: verbs.collect() }
    }
}

pub fn put_totals(out: &mut Vec<u8>, totals: &TraceTotals) {
    [totals.records, totals.last_ns, totals.ended_ns, totals.verbs.len() as u64]
        .into_iter()
        .for_each(|value| put_varint(out, value));
    for total in &totals.verbs {
        put_varint(out, total.verb.index() as u64);
        put_varint(out, total.records);
        put_varint(out, total.bytes);
    }
}

pub fn totals(body: &mut Cursor<'_>, known: &[NamedVerb]) -> Result<TraceTotals, TraceError> {
    let (records, last_ns, ended_ns) = (body.varint()?, body.varint()?, body.varint()?);
    let mut verbs = Vec::new();
    for _ in 0..body.count()? {
        let verb = verb_of(known, body.varint()?)?;
        verbs.push(VerbTotal { verb, records: body.varint()?, bytes: body.varint()? });
    }
    Ok(TraceTotals { records, last_ns, ended_ns, verbs })
}

/// The verb of a number in the file.
pub fn verb_of(known: &[NamedVerb], number: u64) -> Result<Verb, TraceError> {
    match usize::try_from(number).ok().and_then(|index| known.get(index)) {
        Some(Ok(verb)) => Ok(*verb),
        Some(Err(name)) => Err(TraceError::new(format!("the operation `{name}` is unknown"))
            .hint("a newer version or another program wrote it")),
        None => Err(TraceError::new(format!("operation {number} of {}", known.len()))),
    }
}

/// Places, each as the difference to the one before.
pub fn put_places(out: &mut Vec<u8>, places: &[BlockPlace]) {
    put_varint(out, places.len() as u64);
    let mut before = (0, 0);
    for block in places {
        put_varint(out, block.place - before.0);
        put_varint(out, block.records);
        put_varint(out, block.first_ns - before.1);
        before = (block.place, block.first_ns);
    }
}

pub fn places(body: &mut Cursor<'_>, mut first_record: u64) -> Result<Vec<BlockPlace>, TraceError> {
    let (mut places, mut before) = (Vec::new(), (0u64, 0u64));
    let excess = || TraceError::new("a place beyond 64 bits");
    for _ in 0..body.count()? {
        let place = before.0.checked_add(body.varint()?).ok_or_else(excess)?;
        let records = body.varint()?;
        let first_ns = before.1.checked_add(body.varint()?).ok_or_else(excess)?;
        places.push(BlockPlace { place, first_record, records, first_ns });
        first_record = first_record.checked_add(records).ok_or_else(excess)?;
        before = (place, first_ns);
    }
    Ok(places)
}
