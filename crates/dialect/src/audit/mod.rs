//! `iodyno audit`: what may be wrong with a result that somebody else pasted, what would have had to carry it, and what to run
//! again.
//!
//! Reads command lines, job files and output of fio, IOR, mdtest, dd, hdparm, iozone and iperf3, alone or mixed, as they stand
//! in mails and tickets. A command line is lowered by its own dialect, so that the plan says what it asks for; figures are
//! taken as they are printed. Nothing is run. It refuses a text in which none of them is found.

mod documents;
mod fio_text;
mod lines;
mod pasted;
mod rerun;
mod tables;
mod text;
mod world;

use iodyno_model::{Diagnostic, Origin};
use iodyno_report::audit::{Claim, MeasuredLoad, NeededCarrier, Possible, carried, pages, possible};
use iodyno_report::plan;

use crate::{DIALECTS, Loader, Request};
use pasted::Piece;
use world::ForeignHost;

pub use text::{json, text};

/// The tools whose results are understood.
pub const TOOLS: &[&str] = &["fio", "ior", "mdtest", "dd", "hdparm", "iozone", "iperf3"];

/// What the reader knows of the machine that was measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Memory of a host, bytes.
    pub memory_bytes: Option<u64>,
    /// What the way to the storage carries, bit/s.
    pub ceiling_bits: Option<u64>,
}

/// What came of one result.
#[derive(Debug)]
pub struct Audit {
    /// The tool, as its dialect is called.
    pub tool: &'static str,
    /// Its command line, where it was shown.
    pub command: Option<String>,
    pub claims: Vec<Claim>,
    pub asked: MeasuredLoad,
    /// What may be wrong, the surest first.
    pub possible: Vec<Possible>,
    /// What would have had to carry each claim.
    pub carried: Vec<(String, NeededCarrier)>,
    /// What the time of an operation says of the medium.
    pub media: Vec<String>,
    /// Command lines to run again, with why.
    pub rerun: Vec<(String, String)>,
    /// What was not understood.
    pub notes: Vec<String>,
}

/// Audits every result in a text; files that a command names are read by the loader.
///
/// # Errors
/// There is none in it.
pub fn audit(name: &str, text: &str, known: Known, files: &mut dyn Loader) -> Result<Vec<Audit>, Diagnostic> {
    let pieces = pasted::pieces(text);
    let audits: Vec<Audit> = pieces.iter().flat_map(|piece| audited(piece, known, files)).collect();
    match audits.is_empty() {
        false => Ok(audits),
        true => Err(Diagnostic::error(&Origin::argument(name), "no result of a known tool is in it")
            .hint(format!("paste a command line or the output of {}, as text or JSON", TOOLS.join(", ")))),
    }
}

fn audited(piece: &Piece, known: Known, files: &mut dyn Loader) -> Vec<Audit> {
    documents::results(piece).into_iter().map(|result| one(result, known, files)).collect()
}

/// One result as a text or a document tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub tool: &'static str,
    /// The command's words without its name and its launcher.
    pub words: Vec<String>,
    /// What stood before the tool's name: a launcher with its words.
    pub launcher: Vec<String>,
    /// A job file that was pasted.
    pub job_file: Option<String>,
    /// Whether the words are all that was asked; else what they do not name is not known.
    pub whole: bool,
    pub claims: Vec<Claim>,
    /// Processes and hosts, where the output tells.
    pub tasks: Option<u32>,
    pub hosts: Option<u32>,
    pub notes: Vec<String>,
}

fn one(mut told: Told, known: Known, files: &mut dyn Loader) -> Audit {
    let mut asked = MeasuredLoad::default();
    let is_shown = !told.words.is_empty() || told.job_file.is_some();
    if is_shown {
        match understood(&told, known, files) {
            Ok(found) => asked = found,
            Err(why) => told.notes.push(why),
        }
    }
    lines::settle(&mut asked, &told);
    asked.hosts = told.hosts.or(asked.hosts);
    (asked.memory_bytes, asked.ceiling_bits) = (known.memory_bytes, known.ceiling_bits);
    let claims = told.claims.clone();
    let wide = |claim: &Claim| {
        let rate = claim.bytes_per_second.filter(|rate| *rate > 0.0)?;
        Some((claim.name.clone(), carried(rate, asked.hosts.unwrap_or(1), claim.way)))
    };
    let possible = possible(&asked, &claims);
    Audit {
        tool: told.tool,
        command: (is_shown && told.whole).then(|| pasted::line(&told)),
        carried: claims.iter().filter(|claim| !claim.is_of_cache).filter_map(wide).collect(),
        media: claims.iter().filter_map(|claim| pages(&asked, claim)).collect(),
        rerun: rerun::commands(&told, &asked, &possible),
        notes: told.notes,
        possible,
        claims,
        asked,
    }
}

/// What a command asks for, by the plan that its dialect makes of it; or why it is not understood.
fn understood(told: &Told, known: Known, files: &mut dyn Loader) -> Result<MeasuredLoad, String> {
    let plan = planned(told, known, files)?;
    let mut asked = plan::asked(&plan, &iodyno_model::EngineTrait::unsaid);
    if !told.whole {
        // Only what the output itself told is known.
        (asked.direct, asked.synced, asked.invalidated, asked.span_bytes) = (None, None, None, None);
        (asked.holes, asked.data, asked.paced, asked.shared_file) = (None, None, None, None);
        (asked.reads_own, asked.seconds, asked.part_of_device, asked.pretended) = (None, None, false, None);
        asked.repeated = None;
    }
    Ok(asked)
}

/// The plan of a command line, on a host that is not this one.
pub(crate) fn planned(
    told: &Told,
    known: Known,
    files: &mut dyn Loader,
) -> Result<iodyno_model::Plan, String> {
    let not = |why: String| format!("`{}` is not understood: {why}", pasted::line(told));
    let dialect = DIALECTS
        .iter()
        .find(|dialect| dialect.name == told.tool)
        .ok_or_else(|| not("no such tool".into()))?;
    let mut world = ForeignHost::new(told, known, files);
    let lowered = (dialect.lower)(&told.words, &mut world);
    match lowered {
        Ok(Request::Run(run)) => Ok(run.plan),
        Ok(Request::Converse(talk)) => Ok(talk.run.plan),
        Ok(Request::Repeat(mut repeat)) => Ok((repeat.make)().run.plan),
        Ok(Request::Refuse { err, .. }) => Err(not(err.lines().next().unwrap_or_default().to_string())),
        Ok(_) => Err(not("it runs nothing".into())),
        Err(wrong) => Err(not(wrong.first().map_or_else(String::new, |wrong| wrong.message.clone()))),
    }
}

#[cfg(test)]
mod tests;
