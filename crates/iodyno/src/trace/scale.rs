//! `iodyno trace scale`.

use clap::Args;
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_trace::transform::{Factor, Scale};

use super::output::OutputArgs;
use super::{Answer, input, written};

#[derive(Args)]
pub struct ScaleArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Multiply the times of issue: 0.5 is twice as fast
    #[arg(long, value_name = "FACTOR")]
    time: Option<Factor>,
    /// Multiply offsets and sizes of files: 0.5 is half the place
    #[arg(long, value_name = "FACTOR")]
    offsets: Option<Factor>,
    /// Round the new offsets down to a multiple of this
    #[arg(long, value_name = "SIZE", default_value = "512", value_parser = units::parse_bytes)]
    align: u64,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn answer(words: &ScaleArgs) -> Answer {
    if words.time.is_none() && words.offsets.is_none() {
        return Err(Diagnostic::error(&Origin::argument("iodyno trace scale"), "nothing is scaled")
            .hint("say --time FACTOR or --offsets FACTOR"));
    }
    let source = input::open(&words.trace)?;
    let [times, places] = [words.time, words.offsets].map(|factor| factor.unwrap_or(Factor::ONE));
    written::write(&mut Scale::of(source, times, places, words.align), &words.output, &words.trace)
}
