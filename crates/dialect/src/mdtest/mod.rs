//! mdtest: command lines as they are, reports in mdtest's output format.
//!
//! ```text
//!   argv ─ settings ─► Settings ─ judge ─► Test ─ lower ─► Plan and View ─► events ─ report ─► text
//! ```
//! What mdtest gets wrong it does not repeat (`docs/mdtest.md` lists it): operations that failed are no work, and any
//! failure shows in the exit status.

pub(crate) mod advice;
pub mod command;
pub mod dumps;
pub mod lower;
pub mod options;
pub mod report;
pub mod results;
pub mod settings;
pub mod test;
pub mod view;

use iodyno_model::{Diagnostic, TargetFacts};

use crate::absolute_path::absolute;
use crate::ior::text_layout;
use crate::{Dialect, Loader, Request, Run};
use report::{Report, message_text};
use settings::Settings;
use view::ReportContext;

pub const DIALECT: Dialect = Dialect {
    name: "mdtest",
    about: "rates of create, stat, read and remove of files and directories (mdtest)",
    drop_in: true,
    also: &["text", "bugs", "threads", "phases", "percentiles"],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let parsed = command::parse(arguments);
    let settings = match early_exit(parsed, DIALECT.name, report::VERSION, options::help) {
        Ok(settings) => settings,
        Err(request) => return Ok(request),
    };
    let notes = settings.without_effect().collect();
    let layout = text_layout(loader);
    let (test, layout) = match (test::judge(settings, loader), layout) {
        (Ok(test), Ok(layout)) => (test, layout),
        (test, layout) => {
            let wrong = [test.err(), layout.err().map(|wrong| vec![wrong])].into_iter().flatten().flatten();
            return Ok(refusal(&wrong.collect::<Vec<_>>()));
        }
    };
    let (plan, parts) = lower::plan(&test);
    let facts = match &test.store {
        None => facts(&test.directories[0], loader),
        Some(store) => TargetFacts { path: store.address.clone(), ..TargetFacts::default() },
    };
    let command = [&["mdtest".to_string()][..], arguments].concat();
    let percentiles = loader.also("percentiles").is_some();
    let view = ReportContext { bugs: test.bugs, test, parts, command, layout, percentiles };
    Ok(Request::Run(Box::new(Run {
        messages: notes,
        own_voice: true,
        translate: advice::translate,
        ..Run::of(plan, Box::new(Report::new(view, facts)))
    })))
}

/// What a command line of the package asks for before anything is lowered: its help, its version, or a refusal.
pub fn early_exit(
    parsed: Result<Settings, Vec<Diagnostic>>,
    program: &str,
    version: &str,
    help: fn() -> String,
) -> Result<Settings, Request> {
    let print = |out| Err(Request::Print { out, status: 0 });
    match parsed {
        Ok(settings) if settings.flag("help") => print(help()),
        Ok(settings) if settings.flag("version") => {
            print(format!("{program}-{version} (iodyno {})\n", env!("CARGO_PKG_VERSION")))
        }
        Ok(settings) => Ok(settings),
        Err(wrong) => Err(refusal(&wrong)),
    }
}

/// What is wrong, in the package's words.
pub fn refusal(wrong: &[Diagnostic]) -> Request {
    Request::Refuse { err: wrong.iter().map(message_text).collect(), status: 1 }
}

/// The file system that a directory lies on, or will; its path from the root.
fn facts(path: &str, loader: &dyn Loader) -> TargetFacts {
    let mut above = path.trim_end_matches('/');
    let target = loop {
        let place = if above.is_empty() { "/" } else { above };
        if let Some(facts) = loader.look(place) {
            break facts.target;
        }
        match above.rsplit_once('/') {
            Some((shorter, _)) => above = shorter,
            None => break loader.look(".").map(|facts| facts.target).unwrap_or_default(),
        }
    };
    TargetFacts { path: absolute(path, &loader.variable("PWD").unwrap_or_default()), ..target }
}
