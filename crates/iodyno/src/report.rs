//! `iodyno report RUN… -o FILE`: runs of the history, or results of other tools, as one HTML page that needs no network.
//!
//! Several runs lie over each other on it. It refuses to overwrite what is there.

use std::io::Write;
use std::path::Path;

use clap::Parser;
use iodyno_dialect::native;
use iodyno_history::{History, import};
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::html::{Page, Run};
use iodyno_report::shape::Context;

use crate::archive;
use crate::loader::plain;
use crate::session::{print, say};
use crate::sink::unwritable;

/// Makes a page that people can look at.
#[derive(Parser)]
#[command(
    name = "iodyno report",
    about = "Write an HTML page of runs: results, charts, latencies, findings",
    disable_version_flag = true
)]
pub struct Arguments {
    /// Runs of the history, by number, tag, `last` or `last~1`; or files of fio's, IOR's or iperf3's JSON. The first is
    /// what the others are compared with
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Where the page goes; `-` is standard output [default: iodyno-RUN.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// Does what is asked; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = std::iter::once("iodyno report").chain(arguments.iter().map(String::as_str));
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(help) if help.exit_code() == 0 => {
            return print(help.to_string().as_bytes());
        }
        Err(error) => {
            say(native::refusal("iodyno report", &error));
            return 2;
        }
    };
    match write(&arguments) {
        Ok(status) => status,
        Err(wrong) => {
            say(wrong);
            2
        }
    }
}

/// Writes the page; the exit status.
fn write(arguments: &Arguments) -> Result<u8, Diagnostic> {
    let page = Page::of(runs(&arguments.runs)?).html();
    let path = match arguments.output.as_deref() {
        Some("-") => {
            return Ok(print(page.as_bytes()));
        }
        Some(path) => path.to_string(),
        None => format!("iodyno-{}.html", arguments.runs.join("-").replace('/', "-")),
    };
    let file = std::fs::File::options().write(true).create_new(true).open(&path);
    let mut file = file.map_err(|error| unwritable(&path, &error))?;
    if let Err(error) = file.write_all(page.as_bytes()) {
        let _ = std::fs::remove_file(&path);
        return Err(Diagnostic::error(&Origin::argument(&path), plain(&error)));
    }
    match arguments.output {
        None => Ok(print(format!("{path}\n").as_bytes())),
        Some(_) => Ok(0),
    }
}

/// All runs that were named, in order.
fn runs(names: &[String]) -> Result<Vec<Run>, Diagnostic> {
    let mut history: Option<History> = None;
    let mut runs = Vec::new();
    for name in names {
        if Path::new(name).is_file() {
            runs.extend(imported(name)?);
            continue;
        }
        if history.is_none() {
            history = Some(archive::open()?);
        }
        let Some(history) = &history else { continue };
        let kept = history.load(name)?;
        let context = Context { started: Some(Box::new(kept.started)) };
        let title = format!("{} · run {}", kept.entry.name, kept.entry.id);
        runs.push(Run { title, ..Run::of(&context, &kept.record) });
    }
    Ok(runs)
}

/// The runs in a file of another tool.
fn imported(path: &str) -> Result<Vec<Run>, Diagnostic> {
    let bytes =
        std::fs::read(path).map_err(|error| Diagnostic::error(&Origin::argument(path), plain(&error)))?;
    let run = |(_, started, record): import::Imported| {
        let context = Context { started: Some(Box::new(started)) };
        Run { title: format!("{} · {path}", record.name), ..Run::of(&context, &record) }
    };
    Ok(import::read(path, &bytes, iodyno_dialect::import::READERS)?.into_iter().map(run).collect())
}
