//! `iodyno powerfail verify`, and the judgement behind a trigger.

use std::path::Path;

use clap::Args;
use iodyno_crash::powerfail::log_reader::PromiseRecord;
use iodyno_crash::powerfail::verify::{VerifyTerms, run_directory, verify};
use iodyno_model::Diagnostic;
use iodyno_model::origin::plain;

use super::report::PowerfailReport;
use super::{VerdictArgs, history, wrong};
use crate::new_file::NewFile;

#[derive(Args)]
pub struct VerifyArgs {
    /// The log of the writer
    log: String,
    /// The directory, device or file that it wrote to
    target: String,
    #[command(flatten)]
    verdict: VerdictArgs,
}

pub fn answer(words: &VerifyArgs, arguments: &[String]) -> Result<u8, Diagnostic> {
    let junit = words.verdict.junit.as_deref().map(NewFile::create).transpose()?;
    let report = judged(&words.log, &words.target, &words.verdict)?;
    history::keep(&report, arguments);
    report.write(&words.verdict, junit)
}

/// Judges a target by a log.
///
/// # Errors
/// The log is none, or the target cannot be looked at.
pub fn judged(log: &str, target: &str, words: &VerdictArgs) -> Result<PowerfailReport, Diagnostic> {
    let text = std::fs::read(log)
        .map_err(|error| wrong(log, plain(&error), "name the file that --log or listen --to named"))?;
    let record = PromiseRecord::read(&text).map_err(|fault| {
        let place = format!("{log}:{}", fault.line);
        wrong(&place, fault.message, "the log must be whole up to its last line")
    })?;
    let path = Path::new(target);
    let facts = std::fs::metadata(path)
        .map_err(|error| wrong(target, plain(&error), "mount it again, or name what was written to"))?;
    if facts.is_dir() == record.header.is_device {
        let kind = if record.header.is_device { "a device" } else { "a directory" };
        return Err(wrong(target, format!("the log is of {kind}"), "name what was written to"));
    }
    let run = path.join(run_directory(record.header.run));
    if !record.header.is_device && record.is_ready && !run.is_dir() {
        // A lost directory is a finding; but most likely another file system is meant.
        crate::session::say(format_args!(
            "warning: {}: there is no such directory: it is lost, or this is not the file system that was written to",
            run.display()
        ));
    }
    let atomic_bytes = words.atomic.unwrap_or(if record.header.is_device { 512 } else { 0 });
    let verdict = match record.is_ready {
        true => verify(&record, path, VerifyTerms { atomic_bytes }),
        false => Ok(Default::default()),
    };
    let verdict =
        verdict.map_err(|error| wrong(target, plain(&error), "it must be readable to be judged"))?;
    Ok(PowerfailReport { target: target.into(), log: log.into(), record, verdict })
}
