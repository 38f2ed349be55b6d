//! `iodyno trace stat`.

use std::io::Write;

use clap::Args;
use iodyno_report::html::TracePage;
use iodyno_report::trace_statistics::{json, text};
use iodyno_trace::statistics::TraceStatistics;

use super::Answer;
use super::input;
use super::output::{Output, OutputArgs};
use crate::runs::{paint, print};

#[derive(Args)]
#[command(after_help = "What each figure means, and how it is computed, is in docs/trace.md.")]
pub struct StatArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Write an HTML page with charts, too, to this file, which must not exist
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Replace the file of --html
    #[arg(long, requires = "html")]
    force: bool,
}

pub fn answer(words: &StatArgs) -> Answer {
    let mut source = input::open_any(&words.trace)?;
    let page = |output: &String| Output::open(&OutputArgs { output: output.clone(), force: words.force });
    let page = words.html.as_ref().map(page).transpose()?;
    let statistics = match (TraceStatistics::of(&mut *source), page.is_some()) {
        (Ok(statistics), _) => statistics,
        // An interruption in the middle of a record reads like a damaged one; the page knows which it was.
        (Err(error), true) => return page.map_or(Ok(1), |output| output.finish(Err(error), &words.trace)),
        (Err(error), false) => return Err(input::wrong(&words.trace, &error)),
    };
    let name = match words.trace.as_str() {
        "-" => "standard input",
        path => path,
    };
    if let Some(mut output) = page {
        let written = output.write_all(TracePage::of(name, &statistics).html().as_bytes());
        output.finish(written.map_err(Into::into), &words.trace)?;
        if words.html.as_deref() == Some("-") {
            return Ok(0);
        }
    }
    Ok(match words.json {
        true => print(&format!("{:#}\n", json(name, &statistics))),
        false => print(&text(name, &statistics, paint())),
    })
}
