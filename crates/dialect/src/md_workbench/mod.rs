//! md-workbench: the IOR package's metadata benchmark whose working set stays as large as it is, with its report.
//!
//! ```text
//!   argv ─ settings ─► Settings ─ judge ─► Test ─ lower ─► Plan and View ─► events ─ report ─► text
//! ```
//! Its options are split and its help is laid out as mdtest's, which has the same parser. Operations that failed are no
//! work, and any failure shows in the exit status.

pub(crate) mod advice;
pub mod command;
pub mod latencies;
pub mod lower;
pub mod options;
pub mod report;
pub mod results;
pub mod settings;
pub mod test;
pub mod view;

use iodyno_model::{Diagnostic, Record};

use crate::mdtest::{early_exit, refusal};
use crate::{Dialect, Loader, Request, Run};
use report::Report;
use view::{PhaseRole, ReportContext};

pub const DIALECT: Dialect = Dialect {
    name: "md-workbench",
    about: "latencies of a working set of small files that is renewed all the time (md-workbench)",
    drop_in: true,
    also: &["threads"],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let parsed = command::parse(arguments);
    let settings = match early_exit(parsed, DIALECT.name, report::VERSION, options::help) {
        Ok(settings) => settings,
        Err(request) => return Ok(request),
    };
    let notes = settings.without_effect().collect();
    let test = match test::judge(settings, loader) {
        Ok(test) => test,
        Err(wrong) => return Ok(refusal(&wrong)),
    };
    let (plan, parts) = lower::plan(&test);
    let command = [&["md-workbench".to_string()][..], arguments].concat();
    let view = ReportContext { test, parts: parts.clone(), command };
    Ok(Request::Run(Box::new(Run {
        messages: notes,
        own_voice: true,
        translate: advice::translate,
        status: Some(Box::new(move |record| status(record, &parts))),
        ..Run::of(plan, Box::new(Report::new(view)))
    })))
}

/// Nothing is wrong with a directory that stays because something else is in it.
fn status(record: &Record, parts: &[view::TestPhase]) -> u8 {
    let counts = |index: usize| parts.get(index).is_none_or(|part| part.role != PhaseRole::Hidden);
    let failed = record
        .phases
        .iter()
        .filter(|phase| counts(phase.index))
        .flat_map(|phase| &phase.jobs)
        .any(|job| job.tally.failed() > 0 || job.workers.iter().any(|worker| worker.failure.is_some()));
    u8::from(failed || !record.errors.is_empty())
}
