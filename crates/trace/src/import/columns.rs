//! Any table of text: which column holds what, in which unit.
//!
//! A map such as `ts=0:filetime,op=3,off=4:bytes,len=5:bytes,dev=2` names a column by its number from 0 or by its name in
//! the header line. The formats of public traces are maps too: see [`super::presets`].

use super::context::{ImportContext, LineFailure, LineFault};
use super::line_decoder::RecordParser;
use super::number;
use super::order::{Stamps, sortable};
use crate::{FileKind, RecordedContent, TraceClock, TraceError, TraceLevel, TraceRecord};
use iodyno_model::Verb;

/// Columns that are looked at; a longer line is wrong.
const MOST_COLUMNS: usize = 256;
const SECTOR: u64 = 512;
const MAP_HINT: &str = "for example --csv 'ts=0:us,op=1,off=2:bytes,len=3:bytes,dev=4,sep=;,header=yes': columns by number \
                        from 0 or by name; docs/trace.md lists keys and units";

/// How a table is read.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnMap {
    separator: Separator,
    header: HeaderLine,
    stamps: Stamps,
    clock: TraceClock,
    time: (TableColumn, TimeUnit),
    columns: RecordColumns,
    /// How many columns a line has, at least and at most.
    width: (usize, usize),
}

/// The columns of a record besides its time.
#[derive(Clone, Debug, Default, PartialEq)]
struct RecordColumns {
    operation: Option<(TableColumn, Coding)>,
    offset: Option<(TableColumn, u64)>,
    bytes: Option<(TableColumn, u64)>,
    /// The columns whose values together name the device or file.
    target: Vec<TableColumn>,
    level: TraceLevel,
    latency: Option<(TableColumn, TimeUnit)>,
    end: Option<(TableColumn, TimeUnit)>,
    process: Option<TableColumn>,
    thread: Option<TableColumn>,
    name: Option<TableColumn>,
    digest: Option<TableColumn>,
}

impl RecordColumns {
    /// All that are used.
    fn used(&self) -> impl Iterator<Item = &TableColumn> + Clone {
        let with_unit = [&self.latency, &self.end].into_iter().flatten().map(|(column, _)| column);
        let counts = [&self.offset, &self.bytes].into_iter().flatten().map(|(column, _)| column);
        let bare = [&self.process, &self.thread, &self.name, &self.digest].into_iter().flatten();
        let operation = self.operation.iter().map(|(column, _)| column);
        with_unit.chain(counts).chain(operation).chain(bare).chain(&self.target)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    /// Any number of blanks and tabs.
    Blanks,
    /// What the first line has: a comma, a tab, or blanks.
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderLine {
    Yes,
    No,
    /// There is one if the first line has no time.
    Auto,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TableColumn {
    At(usize),
    Named(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUnit {
    Filetime,
    Ns(u64),
}

impl TimeUnit {
    fn parse(self, field: &[u8]) -> Option<i64> {
        match self {
            TimeUnit::Filetime => number::filetime_ns(field),
            TimeUnit::Ns(unit) => number::time_ns(field, unit),
        }
    }
}

/// What the words of an operation mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Words,
    /// 0 is a read, 1 a write.
    ReadIsZero,
    /// 1 is a read, 0 a write; of larger numbers the lowest bit counts.
    ReadIsOdd,
}

impl Coding {
    fn parse(self, field: &[u8]) -> Option<Verb> {
        match self {
            Coding::Words => word(field),
            Coding::ReadIsZero => match field {
                b"0" => Some(Verb::Read),
                b"1" => Some(Verb::Write),
                _ => None,
            },
            Coding::ReadIsOdd => Some(if number::whole(field)? & 1 == 1 { Verb::Read } else { Verb::Write }),
        }
    }
}

/// The words for operations that traces use, in any case.
const WORDS: &[(&str, Verb)] = &[
    ("read", Verb::Read),
    ("rd", Verb::Read),
    ("rs", Verb::Read),
    ("diskread", Verb::Read),
    ("write", Verb::Write),
    ("wr", Verb::Write),
    ("ws", Verb::Write),
    ("diskwrite", Verb::Write),
    ("d", Verb::Trim),
    ("t", Verb::Trim),
    ("u", Verb::Trim),
    ("trim", Verb::Trim),
    ("discard", Verb::Trim),
    ("unmap", Verb::Trim),
    ("f", Verb::Fsync),
    ("flush", Verb::Fsync),
    ("diskflush", Verb::Fsync),
    ("sync", Verb::Fsync),
    ("fsync", Verb::Fsync),
    ("fdatasync", Verb::Fdatasync),
];

fn word(field: &[u8]) -> Option<Verb> {
    match field {
        b"R" | b"r" | b"Read" => return Some(Verb::Read),
        b"W" | b"w" | b"Write" => return Some(Verb::Write),
        _ => {}
    }
    let known = WORDS.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(field));
    // Meta's cache traces: getChunkData.Permanent, putChunk.NotInitialized.
    let prefix = || match () {
        () if field.starts_with(b"getChunk") => Some(Verb::Read),
        () if field.starts_with(b"putChunk") => Some(Verb::Write),
        () => None,
    };
    known.map(|(_, verb)| *verb).or_else(prefix)
}

impl ColumnMap {
    /// Parses a map.
    ///
    /// # Errors
    /// A key, a unit or a column that is none; a map without a time, an offset or a size.
    pub fn parse(text: &str) -> Result<ColumnMap, TraceError> {
        MapParser::default().parse(text).map_err(|why| TraceError::new(why).hint(MAP_HINT))
    }

    /// How many of these lines are records of this kind, and how many are none. Only what is complete is asked about.
    pub fn counted(&self, lines: &[&[u8]]) -> (usize, usize) {
        let mut context = ImportContext::new(true);
        let mut reader = ColumnReader::new(self.clone());
        let (mut found, mut wrong) = (0, 0);
        for line in lines {
            match reader.line(line, &mut context) {
                Ok(Some(record)) if self.is_plausible(&record) => found += 1,
                Ok(None) => {}
                _ => wrong += 1,
            }
        }
        (found, wrong)
    }

    /// Times of day lie between 1990 and 2100: that tells tables of numbers apart.
    fn is_plausible(&self, record: &TraceRecord) -> bool {
        let second = 1_000_000_000;
        let ns = super::order::source_ns(record.at_ns);
        self.clock != TraceClock::Realtime || (631_152_000 * second..4_102_444_800 * second).contains(&ns)
    }

    /// The step of the clock.
    pub fn stamps(&self) -> Stamps {
        self.stamps
    }

    pub fn clock(&self) -> TraceClock {
        self.clock
    }

    pub fn level(&self) -> TraceLevel {
        self.columns.level
    }

    fn columns(&self) -> impl Iterator<Item = &TableColumn> {
        [&self.time.0].into_iter().chain(self.columns.used())
    }
}

#[derive(Default)]
struct MapParser {
    separator: Option<Separator>,
    header: Option<HeaderLine>,
    time: Option<(TableColumn, TimeUnit, Stamps)>,
    unix: bool,
    columns: RecordColumns,
    width: Option<(usize, usize)>,
}

impl MapParser {
    fn parse(mut self, text: &str) -> Result<ColumnMap, String> {
        // A comma as separator ends an item too: `sep=,` leaves an empty one.
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let Some((key, value)) = item.split_once('=') else {
                return Err(format!("`{item}` of the map is not KEY=COLUMN[:UNIT]"));
            };
            self.item(key.trim(), value)?;
        }
        let missing = |key: &str| format!("the map has no `{key}=`");
        let (time, unit, stamps) = self.time.ok_or_else(|| missing("ts"))?;
        let named = [&time].into_iter().chain(self.columns.used());
        let has_names = named.clone().any(|column| matches!(column, TableColumn::Named(_)));
        let last =
            named.filter_map(|column| if let TableColumn::At(at) = column { Some(at + 1) } else { None });
        let last = last.max().unwrap_or(1);
        if self.columns.operation.is_none() {
            return Err(missing("op"));
        }
        if self.columns.bytes.is_none() {
            return Err(missing("len"));
        }
        let header = match self.header {
            Some(HeaderLine::No) if has_names => return Err("columns by name need header=yes".into()),
            _ if has_names => HeaderLine::Yes,
            header => header.unwrap_or(HeaderLine::Auto),
        };
        let is_realtime = self.unix || unit == TimeUnit::Filetime;
        Ok(ColumnMap {
            separator: self.separator.unwrap_or(Separator::Byte(b',')),
            header,
            stamps,
            clock: if is_realtime { TraceClock::Realtime } else { TraceClock::Relative },
            time: (time, unit),
            columns: self.columns,
            width: self.width.unwrap_or((last, MOST_COLUMNS)),
        })
    }

    fn item(&mut self, key: &str, value: &str) -> Result<(), String> {
        let (place, unit) = match value.split_once(':') {
            Some((place, unit)) => (place, Some(unit)),
            None => (value, None),
        };
        let time = || Ok::<_, String>((column(place)?, time_unit(key, unit)?.0));
        let bare = || match unit {
            None => column(place),
            Some(unit) => Err(format!("`{key}` has no unit, but the map says `{unit}`")),
        };
        match key {
            "ts" => {
                let (unit, stamps) = time_unit(key, unit)?;
                self.time = Some((column(place)?, unit, stamps));
            }
            "op" => self.columns.operation = Some((column(place)?, coding(unit)?)),
            "off" => self.columns.offset = Some((column(place)?, byte_unit(key, unit)?)),
            "len" => self.columns.bytes = Some((column(place)?, byte_unit(key, unit)?)),
            "lat" => self.columns.latency = Some(time()?),
            "end" => self.columns.end = Some(time()?),
            "dev" | "file" if unit.is_none() => {
                self.columns.target = place.split('+').map(column).collect::<Result<_, _>>()?;
                self.columns.level = if key == "dev" { TraceLevel::Block } else { TraceLevel::File };
            }
            "process" => self.columns.process = Some(bare()?),
            "thread" => self.columns.thread = Some(bare()?),
            "name" => self.columns.name = Some(bare()?),
            "digest" => self.columns.digest = Some(bare()?),
            "sep" => self.separator = Some(separator(value)?),
            "header" => self.header = Some(header_line(value)?),
            "clock" => match value {
                "unix" => self.unix = true,
                "relative" => self.unix = false,
                _ => return Err(format!("`clock={value}` is neither unix nor relative")),
            },
            "columns" => self.width = Some(width(value)?),
            _ => return Err(format!("`{key}` is no key of a map")),
        }
        Ok(())
    }
}

fn column(text: &str) -> Result<TableColumn, String> {
    match text.trim() {
        "" => Err("a key of the map has no column".into()),
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => match number.parse() {
            Ok(at) if at < MOST_COLUMNS => Ok(TableColumn::At(at)),
            _ => Err(format!("column {number} is beyond {MOST_COLUMNS}")),
        },
        name => Ok(TableColumn::Named(name.into())),
    }
}

fn time_unit(key: &str, unit: Option<&str>) -> Result<(TimeUnit, Stamps), String> {
    let unit = unit.ok_or_else(|| format!("`{key}` needs a unit: filetime, s, ms, us, 100ns, ns"))?;
    let (name, is_spread) = match unit.strip_suffix("+spread") {
        Some(name) => (name, true),
        None => (unit, false),
    };
    let (unit, ns) = match name {
        "filetime" => (TimeUnit::Filetime, 100),
        "s" => (TimeUnit::Ns(1_000_000_000), 1_000_000_000),
        "ms" => (TimeUnit::Ns(1_000_000), 1_000_000),
        "us" => (TimeUnit::Ns(1000), 1000),
        "100ns" => (TimeUnit::Ns(100), 100),
        "ns" => (TimeUnit::Ns(1), 1),
        _ => return Err(format!("`{name}` is no unit of time: filetime, s, ms, us, 100ns, ns")),
    };
    Ok((
        unit,
        if is_spread { Stamps::Spread(ns) } else { Stamps::Exact(if name == "s" { 1000 } else { ns }) },
    ))
}

fn byte_unit(key: &str, unit: Option<&str>) -> Result<u64, String> {
    match unit {
        None | Some("bytes") => Ok(1),
        Some("sectors") => Ok(SECTOR),
        Some("kib") => Ok(1 << 10),
        Some("mib") => Ok(1 << 20),
        Some(number) => match number.parse() {
            Ok(unit @ 1..=0x4000_0000) => Ok(unit),
            _ => Err(format!(
                "`{number}` is no unit of `{key}`: bytes, sectors (512), kib, mib, or a number of bytes"
            )),
        },
    }
}

fn coding(unit: Option<&str>) -> Result<Coding, String> {
    match unit {
        None | Some("words") => Ok(Coding::Words),
        Some("0read") => Ok(Coding::ReadIsZero),
        Some("1read") => Ok(Coding::ReadIsOdd),
        Some(other) => Err(format!("`{other}` is no coding of operations: words, 0read, 1read")),
    }
}

fn separator(text: &str) -> Result<Separator, String> {
    match text {
        // The comma itself was taken as the end of the item.
        "" | "comma" => Ok(Separator::Byte(b',')),
        "auto" => Ok(Separator::Auto),
        "tab" => Ok(Separator::Byte(b'\t')),
        "space" | "blanks" => Ok(Separator::Blanks),
        text if text.len() == 1 && !text.as_bytes()[0].is_ascii_alphanumeric() => {
            Ok(Separator::Byte(text.as_bytes()[0]))
        }
        _ => Err(format!("`sep={text}` is no separator: a sign, comma, tab or space")),
    }
}

fn header_line(text: &str) -> Result<HeaderLine, String> {
    match text {
        "yes" => Ok(HeaderLine::Yes),
        "no" => Ok(HeaderLine::No),
        "auto" => Ok(HeaderLine::Auto),
        _ => Err(format!("`header={text}` is neither yes, no nor auto")),
    }
}

fn width(text: &str) -> Result<(usize, usize), String> {
    let (number, most) = match text.strip_suffix('+') {
        Some(number) => (number, Some(MOST_COLUMNS)),
        None => (text, None),
    };
    match number.parse() {
        Ok(count @ 1..=MOST_COLUMNS) => Ok((count, most.unwrap_or(count))),
        _ => Err(format!("`columns={text}` is no number of columns")),
    }
}

fn is_comment(line: &[u8]) -> bool {
    line.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| *byte == b'#')
}

/// The columns of the map, by their numbers.
#[derive(Clone, Debug)]
struct Places {
    time: usize,
    operation: Option<usize>,
    offset: Option<usize>,
    bytes: Option<usize>,
    target: Vec<usize>,
    latency: Option<usize>,
    end: Option<usize>,
    process: Option<usize>,
    thread: Option<usize>,
    name: Option<usize>,
    digest: Option<usize>,
}

/// Reads lines by a map.
pub struct ColumnReader {
    map: ColumnMap,
    /// None: the header line has not been met.
    places: Option<Places>,
    /// Whether the next line is the first one.
    is_first: bool,
    fields: Vec<(u32, u32)>,
    target: Vec<u8>,
    /// Columns in quotes, which are rare: the line without its quotes.
    unquoted: QuotedLine,
}

impl RecordParser for ColumnReader {
    fn line(&mut self, line: &[u8], context: &mut ImportContext) -> Result<Option<TraceRecord>, LineFailure> {
        if is_comment(line) { Ok(None) } else { self.table_line(line, context) }
    }
}

impl ColumnReader {
    pub fn new(map: ColumnMap) -> ColumnReader {
        let places = if map.header == HeaderLine::Yes { None } else { places(&map, &|_| None) };
        ColumnReader {
            map,
            places,
            is_first: true,
            fields: Vec::new(),
            target: Vec::new(),
            unquoted: QuotedLine::default(),
        }
    }

    /// The record of a line that is no comment; none: it is the header line.
    fn table_line(
        &mut self,
        line: &[u8],
        context: &mut ImportContext,
    ) -> Result<Option<TraceRecord>, LineFailure> {
        let is_first = std::mem::take(&mut self.is_first);
        if self.map.separator == Separator::Auto {
            self.map.separator = match () {
                () if line.contains(&b',') => Separator::Byte(b','),
                () if line.contains(&b'\t') => Separator::Byte(b'\t'),
                () => Separator::Blanks,
            };
        }
        let mut unquoted = std::mem::take(&mut self.unquoted);
        let answer = match memchr::memchr(b'"', line) {
            Some(_) if unquoted.take_apart(line, self.map.separator, &mut self.fields) => {
                self.split_line(&unquoted.text, is_first, context)
            }
            _ => {
                split(line, self.map.separator, &mut self.fields)?;
                self.split_line(line, is_first, context)
            }
        };
        self.unquoted = unquoted;
        answer
    }

    fn split_line(
        &mut self,
        line: &[u8],
        is_first: bool,
        context: &mut ImportContext,
    ) -> Result<Option<TraceRecord>, LineFailure> {
        let Some(places) = &self.places else {
            self.places = Some(self.named_places(line)?);
            return Ok(None);
        };
        let (least, most) = self.map.width;
        if self.fields.len() < least || self.fields.len() > most {
            return Err(LineFault::new("another number of columns").into());
        }
        let field =
            |at: usize| self.fields.get(at).map_or(&[][..], |(from, to)| &line[*from as usize..*to as usize]);
        let Some(at_ns) = self.map.time.1.parse(field(places.time)) else {
            if is_first && self.map.header == HeaderLine::Auto {
                return Ok(None);
            }
            return Err(LineFault::in_column("no time", places.time).into());
        };
        self.target.clear();
        for (index, at) in places.target.iter().enumerate() {
            if index > 0 {
                self.target.push(b'.');
            }
            self.target.extend_from_slice(field(*at));
        }
        record(&self.map, places, at_ns, &field, &self.target, context).map(Some)
    }

    fn named_places(&self, line: &[u8]) -> Result<Places, LineFailure> {
        let names: Vec<String> = self
            .fields
            .iter()
            .map(|(from, to)| {
                String::from_utf8_lossy(&line[*from as usize..*to as usize])
                    .trim_start_matches('#')
                    .trim()
                    .to_string()
            })
            .collect();
        let find = |name: &str| names.iter().position(|known| known.eq_ignore_ascii_case(name));
        places(&self.map, &find).ok_or_else(|| {
            let missing = self.map.columns().find_map(|column| match column {
                TableColumn::Named(name) if find(name).is_none() => Some(name.clone()),
                _ => None,
            });
            let message = format!("the header line has no column `{}`", missing.unwrap_or_default());
            let hint = format!("it has: {}", names.join(", ").chars().take(400).collect::<String>());
            LineFailure::End(TraceError::new(message).hint(hint))
        })
    }
}

fn places(map: &ColumnMap, find: &dyn Fn(&str) -> Option<usize>) -> Option<Places> {
    let place = |column: &TableColumn| match column {
        TableColumn::At(at) => Some(*at),
        TableColumn::Named(name) => find(name),
    };
    // A column that is asked for and is not there makes the whole none.
    let wanted = |column: Option<&TableColumn>| match column {
        Some(column) => place(column).map(Some),
        None => Some(None),
    };
    Some(Places {
        time: place(&map.time.0)?,
        operation: wanted(map.columns.operation.as_ref().map(|column| &column.0))?,
        offset: wanted(map.columns.offset.as_ref().map(|column| &column.0))?,
        bytes: wanted(map.columns.bytes.as_ref().map(|column| &column.0))?,
        target: map.columns.target.iter().map(place).collect::<Option<_>>()?,
        latency: wanted(map.columns.latency.as_ref().map(|column| &column.0))?,
        end: wanted(map.columns.end.as_ref().map(|column| &column.0))?,
        process: wanted(map.columns.process.as_ref())?,
        thread: wanted(map.columns.thread.as_ref())?,
        name: wanted(map.columns.name.as_ref())?,
        digest: wanted(map.columns.digest.as_ref())?,
    })
}

fn record<'a>(
    map: &ColumnMap,
    places: &Places,
    at_ns: i64,
    field: &dyn Fn(usize) -> &'a [u8],
    target: &[u8],
    context: &mut ImportContext,
) -> Result<TraceRecord, LineFailure> {
    let verb = match (places.operation, &map.columns.operation) {
        (Some(at), Some((_, coding))) => {
            coding.parse(field(at)).ok_or(LineFault::in_column("no operation that is known", at))?
        }
        _ => Verb::Read,
    };
    let count = |place: Option<usize>, column: &Option<(TableColumn, u64)>, why: &'static str| match (
        place, column,
    ) {
        (Some(at), Some((_, unit))) => number::whole(field(at))
            .and_then(|count| count.checked_mul(*unit))
            .ok_or(LineFault::in_column(why, at)),
        _ => Ok(0),
    };
    let offset = count(places.offset, &map.columns.offset, "no offset below 2^63")?;
    let bytes = count(places.bytes, &map.columns.bytes, "no size below 2^63")?;
    if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
        return Err(LineFault::new("it reaches beyond 2^63 bytes").into());
    }
    let latency_ns = latency(map, places, at_ns, field)?;
    let content = match places.digest {
        Some(at) => {
            let digest = number::digest(field(at))
                .ok_or(LineFault::in_column("no digest of 32 hexadecimal digits", at))?;
            Some(RecordedContent::Digest(digest))
        }
        None => None,
    };
    let kind = if map.columns.level == TraceLevel::Block { FileKind::Device } else { FileKind::File };
    let file = context.file(target, kind)?;
    let thread = thread(places, field, context)?;
    Ok(TraceRecord {
        latency_ns,
        content,
        thread,
        ..TraceRecord::new(sortable(at_ns), verb, file, offset, bytes)
    })
}

fn latency<'a>(
    map: &ColumnMap,
    places: &Places,
    at_ns: i64,
    field: &dyn Fn(usize) -> &'a [u8],
) -> Result<Option<u64>, LineFault> {
    if let (Some(at), Some((_, unit))) = (places.latency, &map.columns.latency) {
        // Some writers leave it empty where they do not know it.
        if field(at).is_empty() {
            return Ok(None);
        }
        let ns = unit.parse(field(at)).and_then(|ns| u64::try_from(ns).ok());
        return ns.map(Some).ok_or(LineFault::in_column("no latency", at));
    }
    match (places.end, &map.columns.end) {
        (Some(at), Some((_, unit))) => {
            let ns = unit.parse(field(at)).and_then(|end| u64::try_from(end.checked_sub(at_ns)?).ok());
            ns.map(Some).ok_or(LineFault::in_column("no time of its end after its beginning", at))
        }
        _ => Ok(None),
    }
}

fn thread<'a>(
    places: &Places,
    field: &dyn Fn(usize) -> &'a [u8],
    context: &mut ImportContext,
) -> Result<u32, LineFault> {
    let number = |place: Option<usize>| match place {
        Some(at) => number::small(field(at))
            .map(Some)
            .ok_or(LineFault::in_column("no number of a process or thread", at)),
        None => Ok(None),
    };
    let (process, thread) = (number(places.process)?, number(places.thread)?);
    let index = context.thread(process.or(thread).unwrap_or(0), thread.or(process).unwrap_or(0));
    if let Some(at) = places.name {
        context.name_thread(index, field(at));
    }
    Ok(index)
}

/// Puts the fields' ranges into `fields`, without the blanks around them.
fn split(line: &[u8], separator: Separator, fields: &mut Vec<(u32, u32)>) -> Result<(), LineFault> {
    fields.clear();
    match separator {
        Separator::Byte(sign) => {
            let mut from = 0;
            for (at, byte) in line.iter().enumerate() {
                if *byte == sign {
                    fields.push(trimmed(line, from, at));
                    from = at + 1;
                }
            }
            fields.push(trimmed(line, from, line.len()));
        }
        Separator::Blanks | Separator::Auto => {
            let mut from = None;
            for (at, byte) in line.iter().enumerate() {
                match (byte.is_ascii_whitespace(), from) {
                    (false, None) => from = Some(at),
                    (true, Some(start)) => {
                        fields.push((start as u32, at as u32));
                        from = None;
                    }
                    _ => {}
                }
            }
            fields.extend(from.map(|start| (start as u32, line.len() as u32)));
        }
    }
    if fields.len() > MOST_COLUMNS { Err(LineFault::new("more than 256 columns")) } else { Ok(()) }
}

fn trimmed(line: &[u8], mut from: usize, mut to: usize) -> (u32, u32) {
    while from < to && line[from].is_ascii_whitespace() {
        from += 1;
    }
    while from < to && line[to - 1].is_ascii_whitespace() {
        to -= 1;
    }
    (from as u32, to as u32)
}

/// A line whose quotes were taken away, by the rules of CSV.
#[derive(Default)]
struct QuotedLine {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl QuotedLine {
    /// Whether it could be taken apart; blanks as separators know no quotes.
    fn take_apart(&mut self, line: &[u8], separator: Separator, fields: &mut Vec<(u32, u32)>) -> bool {
        let Separator::Byte(sign) = separator else { return false };
        let mut reader = csv_core::ReaderBuilder::new().delimiter(sign).build();
        self.text.resize(line.len() + 1, 0);
        self.ends.resize(MOST_COLUMNS + 1, 0);
        let (_, read, written, count) = reader.read_record(line, &mut self.text, &mut self.ends);
        // Without a line's end the reader asks for more: an empty input is the end.
        let (result, _, more, last) =
            reader.read_record(&[], &mut self.text[written..], &mut self.ends[count..]);
        if read != line.len() || result != csv_core::ReadRecordResult::Record {
            return false;
        }
        self.text.truncate(written + more);
        fields.clear();
        let mut from = 0;
        for end in &self.ends[..count + last] {
            fields.push(trimmed(&self.text, from, *end));
            from = *end;
        }
        true
    }
}
