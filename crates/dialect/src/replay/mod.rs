//! `iodyno replay TRACE TARGET…`: issues what was recorded, and proves how faithfully it did.
//!
//! The trace is surveyed once before, so that what does not fit its targets is refused before anything is written; the run
//! reads it again as it goes. Whatever holds data is written only where the user gave it up by name.

mod command;
mod lower;
mod options;
mod report;
mod settings;

use iodyno_model::Diagnostic;
use iodyno_report::native::Native;
use iodyno_trace::replay::KnownSurvey;

use crate::{Dialect, Loader, Request};

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "replay",
    about: "replay a recorded trace and prove how faithful it was",
    drop_in: false,
    also: &[],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options = match command::parse(arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    if let Some(elsewhere) = options.world.elsewhere(loader)? {
        return Ok(Request::Hosts(elsewhere));
    }
    let settings = settings::resolve(&options, loader)?;
    let mut plan = lower::plan(&settings);
    options.manner.apply(&mut plan).map_err(|wrong| vec![wrong])?;
    if options.dry_run {
        let explained = crate::native::explanation(&plan, None, loader);
        let out = report::dry_run(&settings, &plan, loader).map_err(|wrong| vec![wrong])?;
        return Ok(Request::Print { out: format!("{out}\n{explained}"), status: 0 });
    }
    let reporter = Native::new(loader.paint()).details(options.manner.details);
    let mut run = crate::native::request(plan, Box::new(reporter));
    run.messages = settings.notes;
    let (path, format, skip) = (settings.trace, settings.format, settings.skip);
    run.surveys = vec![KnownSurvey { path, format, skip, survey: settings.survey.into() }];
    options.manner.join(&mut run);
    Ok(Request::Run(Box::new(run)))
}
