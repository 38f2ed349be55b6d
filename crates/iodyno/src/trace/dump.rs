//! `iodyno trace dump`.

use clap::Args;
use iodyno_trace::text::TextWriter;

use super::Answer;
use super::input;
use super::output::{Output, OutputArgs};

#[derive(Args)]
pub struct DumpArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn answer(words: &DumpArgs) -> Answer {
    let mut source = input::open(&words.trace)?;
    let mut output = Output::open(&words.output)?;
    let written = TextWriter::new(&mut output).write_source(&mut *source);
    output.finish(written.map(drop), &words.trace)
}
