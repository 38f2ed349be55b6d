//! The table of formats, and which of them an input has.

use super::columns::{ColumnMap, ColumnReader};
use super::context::ImportContext;
use super::importer::ImportOptions;
use super::line_decoder::LineDecoder;
use super::order::OrderedRecords;
use super::presets::{PRESETS, Preset};
use super::unpack::Stream;
use super::{blkparse, blktrace};
use super::{dbench, dxt, fio_replay, iolog, nbw, strace};
use crate::text::TextSource;
use crate::{RecordSource, TraceError};
use std::io::BufReader;

/// A format that can be imported.
#[derive(Clone, Copy)]
pub struct Format {
    pub name: &'static str,
    pub about: &'static str,
    pub example: &'static str,
    /// What a user should know.
    pub pitfalls: &'static str,
    kind: FormatKind,
}

#[derive(Clone, Copy)]
enum FormatKind {
    Columns(&'static Preset),
    Own {
        fits: fn(&[u8]) -> bool,
        open: OpenFormat,
    },
    /// It has its own tables and times: one input only.
    Source {
        fits: fn(&[u8]) -> bool,
        open: OpenSource,
    },
}

/// A reader that needs nothing of ours.
type OpenSource = fn(Stream) -> Result<Box<dyn RecordSource + Send>, TraceError>;

/// Makes readers of streams; puts what the format tells into the header.
type OpenFormat =
    fn(Vec<Stream>, &ImportOptions, &mut ImportContext) -> Result<Vec<OrderedRecords>, TraceError>;

const OWN: &[Format] = &[
    Format {
        name: "iot",
        about: "a trace of ours, packed or not",
        example: "trace.iot.gz",
        pitfalls: "one that was cut off is read up to its last whole block",
        kind: FormatKind::Source {
            fits: |head| head.starts_with(&crate::format::SIGNATURE),
            open: |stream| Ok(Box::new(crate::format::Reader::new(stream.reader)?)),
        },
    },
    Format {
        name: "dump",
        about: "the text of `iodyno trace dump`",
        example: "# iodyno trace 1\n# file 0 file name=/home/a\n15000 read 0 4096 4096 latency=80000",
        pitfalls: "a file and a thread are named before they are used",
        kind: FormatKind::Source {
            fits: |head| head.starts_with(crate::text::FIRST_LINE.as_bytes()),
            open: |stream| Ok(Box::new(TextSource::new(BufReader::with_capacity(1 << 18, stream.reader))?)),
        },
    },
    Format {
        name: "blktrace",
        about: "blktrace's binary records, versions 7 and 8",
        example: "sda.blktrace.0 sda.blktrace.1 (or one file of `blkparse -d`)",
        pitfalls: "D events are taken, and Q of devices that have no D; Q is what was asked for before requests were merged, D \
                   what the device saw; a device mapper and the disk under it both have records of one I/O",
        kind: FormatKind::Own { fits: blktrace::fits, open: blktrace::open },
    },
    Format {
        name: "blkparse",
        about: "blkparse's default text, and the text of ftrace's blk tracer, classic or not",
        example: "  8,0    3        1     0.000000000   697  D  WS 223490 + 8 [kjournald]",
        pitfalls: "as of blktrace; ftrace's own text has times in µs",
        kind: FormatKind::Own { fits: blkparse::fits, open: blkparse::open },
    },
    Format {
        name: "fio",
        about: "fio's iolog, versions 2 and 3",
        example: "fio version 3 iolog\n1170 /mnt/a read 53248 4096",
        pitfalls: "written when an I/O is queued: no latencies; names with blanks are refused; `wait` of version 2 waits µs \
                   since the wait before, as documented, with --fio-compat ms since the start, as fio does",
        kind: FormatKind::Own { fits: iolog::fits, open: iolog::open },
    },
    Format {
        name: "fio1",
        about: "fio's iolog, version 1",
        example: "0,53248,4096",
        pitfalls: "no times and no names: all of it is issued at once; only with --as fio1",
        kind: FormatKind::Own { fits: |_| false, open: iolog::open_first },
    },
    Format {
        name: "fio-replay",
        about: "fio's iolog or blktrace, taken as read_iolog= of fio 3.33 takes it",
        example: "fio version 2 iolog\n/mnt/a add\n/mnt/a open\n/mnt/a read 53248 4096",
        pitfalls: "`wait` waits until ms since the start; lines that fio passes over are passed over; of a blktrace each Q is a \
                   record, merged or not; only with --as fio-replay",
        kind: FormatKind::Own { fits: |_| false, open: fio_replay::open },
    },
    Format {
        name: "dbench",
        about: "load files of dbench, each of one client",
        example: "NTCreateX \"\\clients\\client1\\a.doc\" 0x40 0x2 10 NT_STATUS_OK\nWriteX 10 0 65536 65536 NT_STATUS_OK\n\
                  Close 10 NT_STATUS_OK",
        pitfalls: "no times and no latencies: each record waits for the one before; names are taken in lower case; an operation is \
                   one call, where dbench looks a name up before; Deltree removes what the load has made by then",
        kind: FormatKind::Own { fits: dbench::fits, open: dbench::open },
    },
    Format {
        name: "dxt",
        about: "Darshan DXT, as dxt-parser prints it",
        example: "# DXT, file_id: 1, file_name: /scratch/out\n X_POSIX       0  write        0               0        262144      \
                  0.0029      0.0032  [OST: 9]",
        pitfalls: "ordered by file, so it is sorted first: beyond 262,144 segments in a file below TMPDIR, 41 bytes each; \
                   where there are POSIX calls, those of MPI-IO are left out; times have 0.1 ms",
        kind: FormatKind::Own { fits: dxt::fits, open: dxt::open },
    },
    Format {
        name: "nbw",
        about: "FIU NBW, traces of system calls",
        example: "1 1000 write 71 8192 4096 512 APPEND",
        pitfalls: "files are inodes; no threads and no latencies; HIT and MISS are not kept",
        kind: FormatKind::Own { fits: nbw::fits, open: nbw::open },
    },
    Format {
        name: "strace",
        about: "the text of strace, with any of -f, -t, -tt, -ttt, -r, -T, -y",
        example: "7  1795287630.899657 pwrite64(3</a/s.db>, \"x\"..., 4096, 8192) = 4096 <0.000010>",
        pitfalls: "best written with strace -f -ttt -T -y; without -y calls on descriptors that were open before are left out, \
                   without -T there are no latencies; what was written is not kept; mapped memory and io_uring are not seen",
        kind: FormatKind::Source {
            fits: strace::fits,
            open: |stream| Ok(Box::new(strace::StraceSource::new(stream.name, stream.reader))),
        },
    },
];

/// All formats, those of our own readers first.
pub fn formats() -> Vec<Format> {
    let presets = PRESETS.iter().map(|preset| Format {
        name: preset.name,
        about: preset.about,
        example: preset.example,
        pitfalls: preset.pitfalls,
        kind: FormatKind::Columns(preset),
    });
    OWN.iter().copied().chain(presets).collect()
}

/// The format of that name.
///
/// # Errors
/// There is none.
pub fn format_named(name: &str) -> Result<Format, TraceError> {
    formats().into_iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<_> = formats().iter().map(|format| format.name).collect();
        TraceError::new(format!("`{name}` is no format that can be imported"))
            .hint(format!("one of {}; or --csv MAP for a table", names.join(", ")))
    })
}

impl Format {
    /// The map of columns of a format that is a table.
    pub fn map(&self) -> Option<&'static str> {
        match self.kind {
            FormatKind::Columns(preset) => Some(preset.map),
            FormatKind::Own { .. } | FormatKind::Source { .. } => None,
        }
    }

    /// Whether an input that begins so may have this format.
    pub fn fits(&self, head: &[u8]) -> bool {
        match self.kind {
            FormatKind::Own { fits, .. } | FormatKind::Source { fits, .. } => fits(head),
            FormatKind::Columns(_) => matches!(self.counted(head), (1.., 0)),
        }
    }

    /// Of a table: how many of an input's first lines are its records, and how many are none.
    fn counted(&self, head: &[u8]) -> (usize, usize) {
        let map = self.map().and_then(|map| ColumnMap::parse(map).ok());
        map.map_or((0, 0), |map| map.counted(&first_lines(head)))
    }

    /// Makes readers of the streams.
    pub(super) fn open(
        &self,
        streams: Vec<Stream>,
        options: &ImportOptions,
        context: &mut ImportContext,
    ) -> Result<OpenTrace, TraceError> {
        match self.kind {
            FormatKind::Source { open, .. } => {
                let mut streams = streams.into_iter();
                let stream = streams.next().ok_or_else(|| TraceError::new("there is no file in it"))?;
                if let Some(other) = streams.next() {
                    let message = format!("only one file of {} can be read at a time", self.name);
                    return Err(TraceError::new(message)
                        .at(other.name)
                        .hint("import each, then `iodyno trace merge` makes one of them"));
                }
                let name = stream.name.clone();
                Ok(OpenTrace::Source(open(stream).map_err(|error| within(&name, error))?, name))
            }
            FormatKind::Own { open, .. } => open(streams, options, context).map(OpenTrace::Inputs),
            FormatKind::Columns(preset) => {
                context.header.source = format!("csv:{}", preset.name);
                let map = ColumnMap::parse(preset.map)?;
                Ok(OpenTrace::Inputs(open_columns(&map, streams, context)))
            }
        }
    }
}

/// What was opened.
pub enum OpenTrace {
    Inputs(Vec<OrderedRecords>),
    /// A reader of its own, and the input's name.
    Source(Box<dyn RecordSource + Send>, String),
}

/// Puts an input's name before a place in it.
pub fn within(name: &str, error: TraceError) -> TraceError {
    let place = if error.place.is_empty() { name.to_string() } else { format!("{name}: {}", error.place) };
    error.at(place)
}

/// Readers of tables.
pub fn open_columns(
    map: &ColumnMap,
    streams: Vec<Stream>,
    context: &mut ImportContext,
) -> Vec<OrderedRecords> {
    context.header.clock = map.clock();
    context.header.level = map.level();
    context.header.resolution_ns = map.stamps().resolution_ns();
    if let super::order::Stamps::Spread(interval_ns) = map.stamps() {
        let every = if interval_ns == 1_000_000_000 { "1 s".into() } else { format!("{interval_ns} ns") };
        context.note(format!(
            "its clock steps by {every}: records with the same stamp are spread evenly over it, and bursts within it are unknown"
        ));
    }
    let decoder = |stream| Box::new(LineDecoder::new(stream, ColumnReader::new(map.clone())));
    streams.into_iter().map(|stream| OrderedRecords::new(decoder(stream), map.stamps())).collect()
}

/// The complete lines that a head holds, at most 50.
pub fn first_lines(head: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').take(51).collect();
    // The last one may be cut, unless the head is the whole input.
    if lines.len() > 1
        && (head.len() >= super::unpack::HEAD || lines.last().is_some_and(|line| line.is_empty()))
    {
        lines.pop();
    }
    lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).take(50).collect()
}

/// The one format that all streams have; streams of archives that have none are left out and named.
///
/// # Errors
/// None, or several.
pub fn detect(streams: &mut Vec<Stream>, context: &mut ImportContext) -> Result<Format, TraceError> {
    let all = formats();
    let of = |stream: &Stream| -> Vec<Format> {
        let fitting: Vec<Format> = all.iter().filter(|format| format.fits(&stream.head)).copied().collect();
        // A few lines may be a table of numbers, too; what has a form of its own is that.
        let own: Vec<Format> = fitting.iter().filter(|format| format.map().is_none()).copied().collect();
        match (own.len(), fitting.is_empty()) {
            (1, _) => own,
            (_, true) => nearest(&all, &stream.head),
            _ => fitting,
        }
    };
    let mut found: Option<(Format, String)> = None;
    let mut left_out = Vec::new();
    for (index, stream) in streams.iter().enumerate() {
        match &of(stream)[..] {
            [] if stream.is_member => left_out.push(index),
            [] => return Err(unknown(&stream.name, &stream.head)),
            [format] => match &found {
                Some((known, name)) if known.name != format.name => {
                    let message = format!("it is {}, but {name} is {}", format.name, known.name);
                    return Err(TraceError::new(message)
                        .at(&stream.name)
                        .hint("import them one after the other"));
                }
                _ => found = Some((*format, stream.name.clone())),
            },
            several => {
                let names: Vec<_> = several.iter().map(|format| format.name).collect();
                let message = format!("it may be any of {}", names.join(", "));
                return Err(TraceError::new(message).at(&stream.name).hint("say which with --as NAME"));
            }
        }
    }
    let Some((format, _)) = found else {
        let (name, head) = streams.first().map_or(("", &[][..]), |stream| (&stream.name, &stream.head));
        return Err(unknown(name, head));
    };
    for index in left_out.into_iter().rev() {
        let stream = streams.remove(index);
        context.note(format!("left out, because it is no {}: {}", format.name, stream.name));
    }
    Ok(format)
}

/// The tables that most of the first lines are records of: wrong lines among them are named when they are read.
fn nearest(all: &[Format], head: &[u8]) -> Vec<Format> {
    let counted = |format: &Format| match format.counted(head) {
        (found, wrong) if found > wrong => found,
        _ => 0,
    };
    let most = all.iter().map(counted).max().unwrap_or(0);
    all.iter().filter(|format| most > 0 && counted(format) == most).copied().collect()
}

fn unknown(name: &str, head: &[u8]) -> TraceError {
    if head.is_empty() {
        return TraceError::new("it is empty").at(name);
    }
    let line = first_lines(head).first().copied().unwrap_or_default();
    let shown: String = line.escape_ascii().to_string().chars().take(60).collect();
    TraceError::new(format!("no format that is known begins with `{shown}`"))
        .at(name)
        .hint("--csv MAP reads any table, --as NAME says what it is, --list names the formats")
}
