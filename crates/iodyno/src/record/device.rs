//! `iodyno record device /dev/X`.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use iodyno_engine::{clock, signal};
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_recorder::ProgramEnd;
use iodyno_recorder::device::DeviceTrace;
use iodyno_trace::format::{KeptTrace, Writer};
use iodyno_trace::import::{ImportOptions, Importer, Input, import};
use iodyno_trace::{TraceError, TraceHeader, TraceLevel};

use super::{Answer, RecordOutput, open};
use crate::loader::plain;
use crate::session::say;
use crate::trace::output::Output;

#[derive(Args)]
pub struct DeviceArgs {
    /// The block device: /dev/sda, or a partition
    #[arg(value_name = "DEVICE")]
    device: String,
    #[command(flatten)]
    output: RecordOutput,
    /// End after this time, e.g. 10s; else with the command, or at Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = units::parse_ns)]
    time_ns: Option<u64>,
    /// A command during which it is recorded, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub fn answer(words: &DeviceArgs) -> Answer {
    let mut output = open(&words.output)?;
    let wrong = |error: TraceError| wrong(&words.device, &error);
    // Before the tracer is on: whoever is ended by a signal leaves it on.
    signal::install();
    let trace = DeviceTrace::begin(Path::new(&words.device)).map_err(wrong)?;
    if trace.holds(Path::new(&words.output.output)) {
        say(Diagnostic {
            hint: Some("write it to another device with -o FILE".into()),
            ..Diagnostic::warning(
                &Origin::argument(&words.output.output),
                format!("the trace lies on {}: its own writes will be in it", words.device),
            )
        });
    }
    let child = command(words)?.map(|child| Arc::new(Mutex::new(child)));
    let recorded = record(words, trace, child.clone(), &mut output);
    let status = child.map_or(Ok(0), |child| {
        let ended = child.lock().unwrap_or_else(PoisonError::into_inner).wait();
        ended.map(|status| ProgramEnd::from(status).status()).map_err(|error| TraceError::new(plain(&error)))
    });
    let (kept, notes) = recorded.map_err(wrong)?;
    let records = output.finish_kept(kept)?.records;
    if !words.output.quiet {
        say(format_args!("recorded {records} requests of {} in {}", words.device, words.output.output));
        notes.iter().for_each(|note| say(format_args!("  {note}")));
    }
    status.map_err(wrong)
}

fn wrong(device: &str, error: &TraceError) -> Diagnostic {
    Diagnostic { hint: error.hint.clone(), ..Diagnostic::error(&Origin::argument(device), error.to_string()) }
}

fn command(words: &DeviceArgs) -> Result<Option<Child>, Diagnostic> {
    let Some((program, arguments)) = words.command.split_first() else { return Ok(None) };
    Command::new(program).args(arguments).spawn().map(Some).map_err(|error| {
        Diagnostic::error(&Origin::argument(program), plain(&error))
            .hint("name a program that can be executed")
    })
}

/// Records until it is over; what was written, and what a reader should know.
fn record(
    words: &DeviceArgs,
    trace: DeviceTrace,
    child: Option<Arc<Mutex<Child>>>,
    output: &mut Output,
) -> Result<(KeptTrace, Vec<String>), TraceError> {
    let began_ns = clock::monotonic();
    let time_ns = words.time_ns;
    let is_over = move || {
        let is_late = time_ns.is_some_and(|time_ns| clock::monotonic().saturating_sub(began_ns) >= time_ns);
        let has_ended = child.as_ref().is_some_and(|child| {
            let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
            child.try_wait().is_ok_and(|status| status.is_some())
        });
        is_late || has_ended || signal::interruptions().0 > 0
    };
    let mut events = trace.events(Box::new(is_over))?;
    let mut first = vec![0; 4096];
    let read = events.read(&mut first)?;
    first.truncate(read);
    let header = TraceHeader {
        source: "iodyno record device".into(),
        level: TraceLevel::Block,
        ..TraceHeader::default()
    };
    let mut writer = Writer::new(output, header)?;
    let (mut began_ns, mut written) = (None, Ok(()));
    // A device that nobody uses has no events, which is no trace of blktrace's.
    if !first.is_empty() {
        let mut importer = importer(Box::new(Cursor::new(first).chain(events)), &trace)?;
        written = writer.write_source(&mut importer);
        began_ns = importer.began_ns();
    }
    let lost = trace.end()?;
    if lost > 0 {
        writer.note(format!("lost: {lost} events came faster than they could be read"));
    }
    let offset_ns = clock::unix_ns() as i64 - clock::monotonic() as i64;
    let header = writer.header_mut();
    header.source = concat!("iodyno record device ", env!("CARGO_PKG_VERSION")).into();
    header.began_unix_ns = began_ns.map(|began_ns| began_ns + offset_ns);
    let notes = header.notes.clone();
    Ok((writer.finish_kept(written)?, notes))
}

/// What is traced, as requests: by the reader of blktrace's records.
fn importer(events: Box<dyn Read + Send>, trace: &DeviceTrace) -> Result<Importer, TraceError> {
    let once = Mutex::new(Some(events));
    let open = move || -> io::Result<Box<dyn Read + Send>> {
        match once.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(events) => Ok(events),
            None => Err(io::ErrorKind::NotSeekable.into()),
        }
    };
    let name = format!("{},{}", trace.device.0, trace.device.1);
    let input = Input { name: "the tracer".into(), open: Box::new(open), is_seekable: false };
    let options = ImportOptions {
        format: Some("blktrace".into()),
        device_sizes: trace.bytes.map(|bytes| (name, bytes)).into_iter().collect(),
        ..ImportOptions::default()
    };
    import(&[input], &options)
}
