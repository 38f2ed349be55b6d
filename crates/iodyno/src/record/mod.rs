//! `iodyno record`: what a program or a device does becomes a trace.
//!
//! Here the file is opened and messages are printed; the crate `recorder` records.

mod device;
mod mounted;
mod program;

use clap::{Args, Parser, Subcommand};
use iodyno_engine::clock;
use iodyno_model::{Diagnostic, Origin};
use iodyno_recorder::sink::RecordSink;
use iodyno_trace::format::{KeptTrace, Writer};
use iodyno_trace::{Tables, TraceError, TraceHeader, TraceLevel, TraceRecord};

use crate::runs::{ended, one, parsed};
use crate::trace::output::{Interruption, Output, OutputArgs};

#[derive(Parser)]
#[command(name = "iodyno record", about = "Record what a program does with files, or the requests of a device",
    disable_version_flag = true, disable_help_subcommand = true, subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true, after_help = AFTER)]
pub struct RecordArgs {
    #[command(subcommand)]
    device: Option<RecordTarget>,
    #[command(flatten)]
    output: RecordOutput,
    /// What tells of the calls; tracepoints cost little, and need root and tracefs
    #[arg(long, value_name = "SOURCE", value_enum, default_value_t)]
    calls: program::CallSourceWord,
    /// Record what happens in this directory alone, by a file system that covers it for the command: mapped memory, too
    #[arg(long, value_name = "DIR", conflicts_with = "calls")]
    fuse: Option<String>,
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Subcommand)]
enum RecordTarget {
    /// Record the requests of a block device
    Device(device::DeviceArgs),
}

#[derive(Args)]
struct RecordOutput {
    /// Write the trace to this file, which must not exist
    #[arg(short, long, value_name = "FILE", default_value = "record.iot")]
    output: String,
    /// Replace the file
    #[arg(long)]
    force: bool,
    /// Print nothing about the recording
    #[arg(short, long)]
    quiet: bool,
}

const AFTER: &str = "The exit status is the command's. Then: iodyno trace stat FILE, iodyno replay FILE TARGET. \
docs/trace.md says what is seen and what is not.";

/// What a command comes to: its exit status, or what is wrong.
type Answer = Result<u8, Diagnostic>;

/// Does `iodyno record ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<RecordArgs>("iodyno record", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let done = match &words.device {
        Some(RecordTarget::Device(device)) => device::answer(device),
        None => match &words.fuse {
            Some(directory) => mounted::answer(directory, &words.command, &words.output),
            None => program::answer(&words.command, words.calls.into(), &words.output),
        },
    };
    ended(done.map_err(one))
}

/// A trace that is being written.
struct TraceOutput<'a> {
    writer: Writer<&'a mut Output>,
    files: usize,
    threads: usize,
    /// Why nothing more is written.
    failure: Option<TraceError>,
}

/// The file of a trace.
fn open(words: &RecordOutput) -> Result<Output, Diagnostic> {
    if words.output == "-" {
        let message = "the recorded program writes to standard output itself";
        return Err(Diagnostic::error(&Origin::argument("--output"), message).hint("name a file"));
    }
    let words = OutputArgs { output: words.output.clone(), force: words.force };
    Output::open_until(&words, Interruption::Ends)
}

impl TraceOutput<'_> {
    fn begin(output: &mut Output, level: TraceLevel) -> Result<TraceOutput<'_>, TraceError> {
        let header = TraceHeader { source: "iodyno record".into(), level, ..TraceHeader::default() };
        Ok(TraceOutput { writer: Writer::new(output, header)?, files: 0, threads: 0, failure: None })
    }

    /// Ends the trace. `began_ns`: when the first record was issued, monotonic.
    fn finish(mut self, header: TraceHeader, began_ns: Option<u64>) -> Result<KeptTrace, TraceError> {
        let since = began_ns.map(|began| clock::monotonic().saturating_sub(began));
        let began_unix_ns =
            since.and_then(|since| i64::try_from(clock::unix_ns().saturating_sub(since)).ok());
        *self.writer.header_mut() = TraceHeader { began_unix_ns, ..header };
        self.writer.finish_kept(self.failure.map_or(Ok(()), Err))
    }

    fn write(&mut self, tables: &Tables, records: &[TraceRecord]) -> Result<(), TraceError> {
        for file in tables.files.get(self.files..).unwrap_or_default() {
            self.writer.define_file(file.clone())?;
        }
        for thread in tables.threads.get(self.threads..).unwrap_or_default() {
            self.writer.define_thread(thread.clone())?;
        }
        (self.files, self.threads) = (tables.files.len(), tables.threads.len());
        self.writer.push_all(records)
    }
}

impl RecordSink for TraceOutput<'_> {
    /// The program goes on where its trace cannot be written any more: what is there of it is kept.
    fn put(&mut self, tables: &Tables, records: &[TraceRecord]) -> Result<(), TraceError> {
        if self.failure.is_none() {
            self.failure = self.write(tables, records).err();
        }
        Ok(())
    }
}
