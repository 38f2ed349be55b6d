//! `iodyno trace merge`.

use clap::Args;
use iodyno_model::{Diagnostic, Origin};
use iodyno_trace::transform::{Merge, MergeStart};

use super::output::OutputArgs;
use super::{Answer, input, written};

#[derive(Args)]
pub struct MergeArgs {
    /// The traces; -: standard input
    #[arg(value_name = "TRACE", required = true, num_args = 2..)]
    traces: Vec<String>,
    /// Let all begin at once; default: by the time of day at which each began, if all tell it
    #[arg(long)]
    together: bool,
    /// Keep files and threads of the traces apart: a file of trace 2 is called 2:NAME
    #[arg(long)]
    apart: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn answer(words: &MergeArgs) -> Answer {
    if words.traces.iter().filter(|trace| *trace == "-").count() > 1 {
        return Err(Diagnostic::error(&Origin::argument("-"), "standard input can be read once")
            .hint("name the other traces by their files"));
    }
    let sources = words.traces.iter().map(|trace| input::open(trace)).collect::<Result<_, _>>()?;
    let start = if words.together { MergeStart::Together } else { MergeStart::Known };
    let mut merge = Merge::of(sources, start, words.apart);
    written::write(&mut merge, &words.output, &words.traces.join(", "))
}
