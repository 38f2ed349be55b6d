//! `iodyno trace export`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use iodyno_trace::export::{ExportFormat, ExportLosses, export};

use super::Answer;
use super::input;
use super::output::{Output, OutputArgs};
use crate::session::say;

#[derive(Args)]
pub struct ExportArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// The format: fio2 and fio3 (iologs), blkparse (text), csv, dump (our own text)
    #[arg(long = "as", value_name = "FORMAT", required = true, hide_possible_values = true,
        value_parser = PossibleValuesParser::new(ExportFormat::ALL.map(|(name, _)| name)))]
    format: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn answer(words: &ExportArgs) -> Answer {
    let named = ExportFormat::ALL.into_iter().find(|(name, _)| *name == words.format);
    let format = named.map_or(ExportFormat::Dump, |(_, format)| format);
    let mut source = input::open(&words.trace)?;
    let mut output = Output::open(&words.output)?;
    let mut losses = ExportLosses::default();
    let written = export(&mut *source, format, &mut output).map(|found| losses = found);
    let status = output.finish(written, &words.trace)?;
    if !losses.is_empty() {
        say(format_args!("note: {} does not hold all of the trace", words.format));
        losses.sentences().iter().for_each(|sentence| say(format_args!("  {sentence}")));
    }
    Ok(status)
}
