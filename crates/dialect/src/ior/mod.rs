//! IOR: command lines and scripts as they are, reports in IOR's output format.
//!
//! ```text
//!   argv, script ─ syntax ─► Settings of each test ─ judge ─► Test ─ lower ─► Plan and View ─► events ─ report ─► text
//! ```
//! It refuses object stores and client libraries, each by name with what to use instead; and it does not repeat what IOR
//! gets wrong (`docs/ior.md` lists it).

pub mod command;
pub mod import;
pub mod lower;
pub mod options;
pub mod report;
pub mod script;
pub mod settings;
pub mod test;
pub mod value;
pub mod view;

use iodyno_model::{Diagnostic, Origin, Plan, Record};

use crate::{Dialect, Loader, Request, Run};
use settings::Settings;
use test::IorTest;
use view::ReportContext;

pub const DIALECT: Dialect = Dialect {
    name: "ior",
    about: "parallel I/O of many tasks on shared or own files (IOR)",
    drop_in: true,
    also: &["text", "bugs", "threads"],
    lower: request,
};

/// A command line, lowered.
pub struct LoweredTests {
    pub plan: Plan,
    /// What the report must know besides.
    pub view: ReportContext,
    /// What changes nothing, each named once.
    pub notes: Vec<Diagnostic>,
}

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let refuse = |wrong: &[Diagnostic]| {
        let err = wrong.iter().map(report::message_text).collect();
        Ok(Request::Refuse { err, status: 1 })
    };
    let command = match command::parse(arguments) {
        Ok(command) if command.help => return Ok(Request::Print { out: options::help(), status: 0 }),
        Ok(command) if command.version => {
            let out = format!("IOR-{} (iodyno {})\n", report::VERSION, env!("CARGO_PKG_VERSION"));
            return Ok(Request::Print { out, status: 0 });
        }
        Ok(command) => command,
        Err(wrong) => return refuse(&wrong),
    };
    match lower(&command, arguments, loader) {
        Ok(lowered) => Ok(Request::Run(Box::new(run(lowered)))),
        Err(wrong) => refuse(&wrong),
    }
}

/// From a command line to a plan and what its report needs.
///
/// # Errors
/// Everything that is wrong with the script, the tests, or our own words.
pub fn lower(
    command: &command::Command,
    arguments: &[String],
    loader: &mut dyn Loader,
) -> Result<LoweredTests, Vec<Diagnostic>> {
    let settings = tests(command, loader)?;
    let (mut tests, mut wrong, mut notes) = (Vec::new(), Vec::new(), Vec::<Diagnostic>::new());
    for (id, settings) in settings.into_iter().enumerate() {
        for note in settings.without_effect() {
            if !notes.iter().any(|known| known.message == note.message) {
                notes.push(note);
            }
        }
        match test::judge(id, settings, loader) {
            Ok(test) => tests.push(test),
            Err(more) => wrong.extend(more),
        }
    }
    if let Some(bugs) = loader.also("bugs").filter(|bugs| bugs != "ior") {
        wrong.push(refused_word(format!("bugs={bugs}: no such tool here"), "bugs=ior"));
    }
    let layout = text_layout(loader).unwrap_or_else(|refused| {
        wrong.push(refused);
        4
    });
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let (plan, parts) = lower::plan(&tests);
    // The report names what the transfers go through.
    if let Some(engine) = loader.also("engine") {
        tests.iter_mut().for_each(|test| test.api.clone_from(&engine));
    }
    let words = [&["ior".to_string()][..], arguments].concat();
    let bugs = loader.also("bugs").is_some();
    let view = ReportContext {
        tests,
        parts,
        command: words.join(" "),
        world: loader.world(),
        layout,
        talks: loader.talks(),
        bugs,
    };
    Ok(LoweredTests { plan, view, notes })
}

fn tests(command: &command::Command, loader: &mut dyn Loader) -> Result<Vec<Settings>, Vec<Diagnostic>> {
    let Some((path, origin)) = &command.script else { return Ok(vec![command.defaults.clone()]) };
    let bytes = loader
        .read(path)
        .map_err(|why| vec![Diagnostic::error(origin, format!("{path}: {why}")).hint("-f names a script")])?;
    let text = crate::text_file::text(&bytes).map_err(|why| {
        let wrong = Diagnostic::error(origin, format!("{path}: {why}"));
        vec![wrong.hint("a script is IOR START, KEY=VALUE lines, RUN, IOR STOP")]
    })?;
    script::parse(path, &text, &command.defaults)
}

/// The version whose text is printed: 4, or 3 with `--also text=3`. mdtest has the same two.
///
/// # Errors
/// That it is another.
pub(crate) fn text_layout(loader: &dyn Loader) -> Result<u8, Diagnostic> {
    match loader.also("text").as_deref() {
        None | Some("4") => Ok(4),
        Some("3") => Ok(3),
        Some(other) => Err(refused_word(format!("text={other}: no such layout"), "text=3 or text=4")),
    }
}

fn refused_word(message: String, hint: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument("--also"), message).hint(hint)
}

fn run(lowered: LoweredTests) -> Run {
    let LoweredTests { plan, view, notes } = lowered;
    let tests = view.tests.clone();
    let parts = view.parts.clone();
    Run {
        messages: notes,
        own_voice: true,
        dies_of_signals: true,
        translate: lower::advice::translate,
        status: Some(Box::new(move |record| status(record, &tests, &parts))),
        ..Run::of(plan, report::reporter(view))
    }
}

/// 1 where anything failed, was wrong, or is missing that no deadline left out; 128 and the signal's number after one.
fn status(record: &Record, tests: &[IorTest], parts: &[view::TestPhase]) -> u8 {
    let incomplete = |phase: &iodyno_model::PhaseRecord| {
        let part = parts.get(phase.index);
        part.and_then(|part| report::missing(phase, *part, &tests[part.test])).is_some()
    };
    crate::status::with(record, record.phases.iter().any(incomplete))
}
