//! `iodyno rerun RUN`: the plan of a kept run again, with the same seed, where it ran.
//!
//! What a run was allowed to destroy is not inherited: that is said again, or refused.

use clap::Parser;
use iodyno_dialect::{ReportFile, Request, native};
use iodyno_engine::world::World;
use iodyno_history::{Kept, State};
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::native::Native;

use crate::archive::{self, Asked};
use crate::runs::{ended, one, paint, parsed};
use crate::session::{self, Voice, say};

#[derive(Parser)]
#[command(
    name = "iodyno rerun",
    about = "Run the plan of a kept run again, with the same seed",
    disable_version_flag = true
)]
struct Words {
    /// Which one: its number, a tag, or `last`
    run: String,
    /// Another seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the record as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write the figures as CSV, too
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    /// Give up what is on this device; repeatable
    #[arg(long, value_name = "DEVICE")]
    destroy: Vec<String>,
    #[command(flatten)]
    keep: native::KeepArguments,
}

/// Does `iodyno rerun ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<Words>("iodyno rerun", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let kept = match archive::open().and_then(|history| history.load(&words.run)) {
        Ok(kept) => kept,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    match request(words, kept) {
        Ok(request) => {
            let asked = Asked::new("rerun", arguments, true);
            session::answer(world, Ok(request), &Voice { asked, ..Voice::from_environment() })
        }
        Err(wrong) => ended(Err(one(wrong))),
    }
}

fn request(words: Words, kept: Kept) -> Result<Request, Diagnostic> {
    settle(&kept)?;
    let mut plan = kept.plan;
    plan.seed = words.seed.unwrap_or(plan.seed);
    plan.destroy = words.destroy;
    let mut run = native::request(plan, Box::new(Native::new(paint().colour)));
    let file =
        |path: Option<String>, format: &str| path.map(|path| ReportFile { path, format: format.into() });
    run.files = [file(words.json, "json"), file(words.csv, "csv")].into_iter().flatten().collect();
    run.keep = words.keep.keep();
    Ok(Request::Run(Box::new(run)))
}

/// Goes where a run was, so that its relative paths mean the same.
///
/// # Errors
/// When it has no plan, or the place is gone.
pub fn settle(kept: &Kept) -> Result<(), Diagnostic> {
    let entry = &kept.entry;
    let origin = Origin::argument(&format!("run {}", entry.id));
    if entry.state == State::Imported || kept.plan.phases.is_empty() {
        return Err(Diagnostic::error(
            &origin,
            format!("{} measured it: there is no plan to run", entry.tool),
        )
        .hint("only runs of iodyno can be run again"));
    }
    let ranks = kept.started.world.ranks();
    if ranks > 1 {
        say(Diagnostic::note(
            &origin,
            format!("it ran on {ranks} ranks; start as many by the same launcher"),
        ));
    }
    std::env::set_current_dir(&entry.folder).map_err(|error| {
        let message = format!("its directory {} is gone: {}", entry.folder, crate::loader::plain(&error));
        Diagnostic::error(&origin, message).hint("the plan's relative paths begin there; make it again")
    })
}
