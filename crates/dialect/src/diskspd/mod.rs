//! diskspd: command lines and XML profiles of Windows' storage load generator, its text and its XML result.
//!
//! ```text
//!   argv ─ command ─► Command ─┐
//!                              ├─► Profile ─ lower ─► Plan ─► events ─ report ─► text or XML
//!   XML profile ─ profile ─────┘
//! ```
//! Targets are paths. What only Windows has is refused by name; it never skips an option that it does not know.

pub mod advice;
pub mod command;
mod element;
pub mod lower;
pub mod options;
pub mod profile;
pub mod report;
pub mod settings;
mod size;
#[cfg(test)]
mod tests;

use iodyno_model::{Diagnostic, Origin};

use crate::{Dialect, Loader, Request, Run, status};
use command::Invocation;
use report::ReportContext;
use settings::Profile;

pub const DIALECT: Dialect = Dialect {
    name: "diskspd",
    about: "command lines and XML profiles of Windows' diskspd, on files and devices",
    drop_in: true,
    also: &[],
    lower: request,
};

/// The version whose options and output these are.
pub const VERSION: &str = "2.2";

/// Everything that is wrong, each with its place and a hint.
fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    answer(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn answer(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let profile = match command::parse(arguments).map_err(|wrong| vec![wrong])? {
        Invocation::Help => return Ok(Request::Print { out: options::help(), status: 0 }),
        Invocation::Version => {
            let out = format!("diskspd {VERSION} (iodyno {})\n", env!("CARGO_PKG_VERSION"));
            return Ok(Request::Print { out, status: 0 });
        }
        Invocation::Run(profile) => *profile,
        Invocation::File { path, over } => from_file(&path, &over, loader)?,
    };
    if profile.is_printed_only {
        return Ok(Request::Print { out: report::profile_text(&profile), status: 0 });
    }
    let plan = lower::plan(&profile, loader)?;
    let machine = loader.machine();
    let context = ReportContext {
        command: command_line(arguments),
        profile,
        host: machine.host,
        cpus: machine.cpus,
        began_unix_ns: loader.now_unix_ns(),
        sizes: Vec::new(),
    };
    let context = ReportContext { sizes: sizes(&context.profile, loader), ..context };
    Ok(Request::Run(Box::new(Run {
        own_voice: true,
        translate: advice::translate,
        status: Some(Box::new(status::usual)),
        ..Run::of(plan, report::reporter(context))
    })))
}

/// An XML profile; options beside it are for all of its time spans.
fn from_file(
    path: &str,
    over: &command::Overrides,
    loader: &mut dyn Loader,
) -> Result<Profile, Vec<Diagnostic>> {
    let unreadable = |why: String| {
        let wrong = Diagnostic::error(&Origin::argument(&format!("-X{path}")), why);
        vec![wrong.hint("an XML profile, as -Rpxml prints one: diskspd -Xprofile.xml")]
    };
    let bytes = loader.read(path).map_err(unreadable)?;
    let text = crate::text_file::text(&bytes).map_err(unreadable)?;
    let mut profile = profile::read(&text).map_err(|(line, message)| {
        vec![
            Diagnostic::error(&Origin::file(path, line), message)
                .hint("elements are those that -Rpxml prints"),
        ]
    })?;
    over.apply(&mut profile).map_err(|wrong| vec![wrong])?;
    Ok(profile)
}

/// The arguments as the report repeats them.
fn command_line(arguments: &[String]) -> String {
    let quoted = |word: &String| match word.is_empty() || word.contains(char::is_whitespace) {
        true => format!("\"{word}\""),
        false => word.clone(),
    };
    let words: Vec<String> = arguments.iter().map(quoted).collect();
    format!("diskspd {}", words.join(" "))
}

/// The size of each target that the report names: by time span and target, bytes.
fn sizes(profile: &Profile, loader: &dyn Loader) -> Vec<Vec<u64>> {
    let size = |target: &settings::TestTarget| {
        target.create_bytes.unwrap_or_else(|| loader.look(&target.path).map_or(0, |facts| facts.bytes))
    };
    profile.spans.iter().map(|span| span.targets.iter().map(size).collect()).collect()
}
