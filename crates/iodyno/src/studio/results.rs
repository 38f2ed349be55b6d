//! Runs of the history, for the page: lists, one with everything, its files, its tags and its note.

use std::io;

use iodyno_history::{Filter, PartFilter, State, StoredRun, check_tag};
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::csv::Csv;
use iodyno_report::hdr::HdrLog;
use iodyno_report::html::{Page, Run};
use iodyno_report::json::Json;
use iodyno_report::shape::Context;
use iodyno_report::{NoFiles, Output, Reporter, plan};
use iodyno_studio::admission::sandboxed;
use iodyno_studio::http::Response;
use serde_json::{Value, json};

use crate::archive;
use crate::loader::plain;

/// Runs of a list at most.
const RUNS_MOST: u32 = 500;

/// The runs with a text, a tag or a state, the newest first.
///
/// # Errors
/// There is no history.
pub fn list(text: Option<&str>, tag: Option<&str>, state: Option<&str>) -> Result<Value, Diagnostic> {
    let some = |word: Option<&str>| word.map(str::trim).filter(|word| !word.is_empty()).map(String::from);
    let filter = Filter {
        most: RUNS_MOST,
        tag: some(tag),
        state: state.and_then(State::of),
        text: some(text),
        parts: PartFilter::First,
        ..Filter::default()
    };
    let history = archive::open()?;
    let mut entries = history.list(&filter)?;
    entries.reverse();
    Ok(json!({ "runs": entries, "path": history.path().to_string_lossy() }))
}

/// A run with its plan in words and its record.
///
/// # Errors
/// There is no such run.
pub fn show(reference: &str) -> Result<Value, Diagnostic> {
    let kept = archive::open()?.load(reference)?;
    let record = replayed(&kept, &mut Json::new())?;
    let record: Value = serde_json::from_slice(&record).unwrap_or_default();
    Ok(json!({ "entry": kept.entry, "plan": plan::print(&kept.plan), "record": record }))
}

/// One of a run's files, to look at or to keep.
///
/// # Errors
/// There is no such run, or no such file.
pub fn file(references: &[&str], kind: &str, keep: bool) -> Result<Response, Diagnostic> {
    let history = archive::open()?;
    let kept = references.iter().map(|reference| history.load(reference)).collect::<Result<Vec<_>, _>>()?;
    let none =
        || Diagnostic::error(&Origin::argument("runs"), "no run is named").hint("tick one in the list");
    let first = kept.first().ok_or_else(none)?;
    let number = first.entry.id;
    let response = match kind {
        "json" => Response::of("application/json; charset=utf-8", replayed(first, &mut Json::new())?),
        "csv" => Response::of("text/csv; charset=utf-8", replayed(first, &mut Csv::new())?),
        "hdr" => Response::of("text/plain; charset=utf-8", replayed(first, &mut HdrLog::new())?),
        "html" => Response::of("text/html; charset=utf-8", page(kept).html()),
        other => {
            let wrong =
                Diagnostic::error(&Origin::argument("as"), format!("`{other}`: no such file of a run"));
            return Err(wrong.hint("json, csv, hdr, html"));
        }
    };
    Ok(match (keep, kind) {
        (false, "html") => sandboxed(response),
        _ => response.with("Content-Disposition", format!("attachment; filename=\"iodyno-{number}.{kind}\"")),
    })
}

fn page(kept: Vec<StoredRun>) -> Page {
    let run = |kept: StoredRun| {
        let context = Context { started: Some(Box::new(kept.started)) };
        let title = format!("{} · run {}", kept.entry.name, kept.entry.id);
        Run { title, ..Run::of(&context, &kept.record) }
    };
    Page::of(kept.into_iter().map(run).collect())
}

fn replayed(kept: &StoredRun, reporter: &mut dyn Reporter) -> Result<Vec<u8>, Diagnostic> {
    let mut out = Vec::new();
    for event in kept.events() {
        let mut output = Output { out: &mut out, err: &mut io::sink(), files: &mut NoFiles };
        let written = reporter.event(&event, &mut output);
        written.map_err(|error| Diagnostic::error(&Origin::argument("run"), plain(&error)))?;
    }
    Ok(out)
}

/// Changes what people said about a run: `{ add, remove, note, delete }`.
///
/// # Errors
/// There is no such run, or no such tag can be.
pub fn change(reference: &str, asked: &Value) -> Result<Value, Diagnostic> {
    let history = archive::open()?;
    let entry = history.entry(reference)?;
    if let Some(tag) = asked["add"].as_str() {
        let tag = tag.trim();
        check_tag(tag)?;
        history.tag(entry.id, tag)?;
    }
    if let Some(tag) = asked["remove"].as_str() {
        history.untag(entry.id, tag)?;
    }
    if let Some(note) = asked["note"].as_str() {
        history.note(entry.id, note)?;
    }
    if asked["delete"].as_bool() == Some(true) {
        if entry.state == State::Running {
            return Err(
                Diagnostic::error(&Origin::argument(reference), "it is still running").hint("stop it first")
            );
        }
        history.delete(entry.id)?;
        return Ok(json!({ "deleted": entry.id }));
    }
    Ok(json!({ "entry": history.entry(&entry.id.to_string())? }))
}
