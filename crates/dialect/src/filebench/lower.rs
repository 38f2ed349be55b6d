//! From a script to a plan: each client carries it out, and their plans are merged into one.

pub mod clients;
mod counts;
mod extension_options;
pub mod filesets;
pub mod flowop_compiler;
mod running;
pub mod session;
mod stats;

use iodyno_model::{Diagnostic, Intent, Origin, Plan};

use super::command::Command;
use super::view::ReportContext;
use crate::Loader;
use clients::{ClientPlan, ClientRank};
use session::{FilebenchSession, setting};

/// What a script comes to.
pub enum LoweringResult {
    /// Nothing is run: a text is printed.
    Text(String),
    /// The plan, what the report needs, and what is worth telling before.
    Plan { plan: Box<Plan>, view: ReportContext, notes: Vec<Diagnostic> },
}

/// Lowers a script, of which `path` is the name.
///
/// # Errors
/// Everything that is wrong with it.
pub fn lower(
    command: &Command,
    path: &str,
    text: &str,
    loader: &mut dyn Loader,
) -> Result<LoweringResult, Vec<Diagnostic>> {
    let world = loader.world();
    let mut all = Vec::new();
    for client in ClientRank::all(&world) {
        let number = client.number;
        let mut session = carried_out(command, path, text, client, loader);
        if command.help {
            return Ok(LoweringResult::Text(usage(&session)));
        }
        session.finish(path);
        if let Some(out) = session.only_says() {
            return Ok(LoweringResult::Text(out));
        }
        let (lowered, wrong) = session.ended();
        if !wrong.is_empty() {
            return Err(each_once(wrong, path, number));
        }
        all.push(lowered);
    }
    let ClientPlan { plan, view, notes, .. } = clients::together(all, &world)?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let plan = Plan { name: name.into(), seed: command.seed, intent: Intent::Device, ..plan };
    Ok(LoweringResult::Plan { plan: Box::new(plan), view, notes })
}

/// The script as one client has it.
fn carried_out<'a>(
    command: &Command,
    path: &str,
    text: &str,
    client: ClientRank,
    loader: &'a mut dyn Loader,
) -> FilebenchSession<'a> {
    let mut session = FilebenchSession::new(loader, client);
    session.seed = command.seed;
    for given in &command.variables {
        match setting(given) {
            Some((name, value)) => session.variables.fix(name, value),
            None => {
                let wrong = Diagnostic::error(&Origin::argument(given), "no variable and its value");
                session.wrong.push(wrong.hint("-D nfiles=1000"));
            }
        }
    }
    session.text(path, text);
    session
}

/// Definitions are looked at anew for each run; what is wrong with them is told once, and with the client's number where
/// those before it found nothing wrong.
fn each_once(wrong: Vec<Diagnostic>, path: &str, client: u32) -> Vec<Diagnostic> {
    let mut told: Vec<Diagnostic> = Vec::new();
    for mut one in wrong {
        if client > 0 {
            one.message = format!("client {client}: {}", one.message);
        }
        if !told.contains(&one) {
            told.push(one);
        }
    }
    // Of one file, in the order of its lines: what is read and what is looked up is told together.
    told.sort_by_key(|wrong| match &wrong.origin {
        Origin::File { path: file, line } if **file == *path => *line,
        _ => u32::MAX,
    });
    told
}

/// A script's own usage, and its variables with their values.
fn usage(session: &FilebenchSession<'_>) -> String {
    let mut text: String = session.usage.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    for (name, value) in session.variables.all() {
        text += &format!("  -D {name}={}\n", value.text());
    }
    text
}
