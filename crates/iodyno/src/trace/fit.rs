//! `iodyno trace fit`.

use std::io::Write;

use clap::{Args, ValueEnum};
use iodyno_report::trace_fit;
use iodyno_trace::fit;

use super::Answer;
use super::input;
use super::output::{Output, OutputArgs};
use crate::session::say;
use crate::terminal;

/// Operations that are generated to tell the distance, at most.
const GENERATED_MOST: u64 = 2_000_000;

#[derive(Args)]
#[command(
    after_help = "The plan goes to standard output or -o FILE, how far it is from the trace to standard error. Its \
files are new ones in the current directory: the trace's own are not touched. docs/trace.md explains the distances."
)]
pub struct FitArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// What to write: a plan file of ours, or a job file of fio
    #[arg(long = "as", value_name = "FORMAT", default_value = "plan")]
    format: FitFormat,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FitFormat {
    Plan,
    Fio,
}

pub fn answer(words: &FitArgs) -> Answer {
    let mut source = input::open_any(&words.trace)?;
    let mut output = Output::open(&words.output)?;
    let name = if words.trace == "-" { "standard input" } else { &words.trace };
    let (statistics, load) = match fit::fit(&mut *source) {
        Ok(fitted) => fitted,
        Err(error) => return output.finish(Err(error), &words.trace),
    };
    let distance = fit::distance(&statistics, &load, GENERATED_MOST, 1)
        .map_err(|error| input::wrong(&words.trace, &error))?;
    let text = match words.format {
        FitFormat::Plan => fit::plan_file(&load, name),
        FitFormat::Fio => fit::job_file(&load, name),
    };
    let written = output.write_all(text.as_bytes());
    let status = output.finish(written.map_err(Into::into), &words.trace)?;
    say(trace_fit::text(name, &load, &distance, terminal::err_paint()).trim_end());
    Ok(status)
}
