//! `iodyno rerun RUN`: the plan of a kept run again, with the same seed, where it ran.
//!
//! What a run was allowed to destroy is not inherited: that is said again, or refused.

use clap::Parser;
use iodyno_dialect::{DIALECTS, Request, Run, native};
use iodyno_engine::world::World;
use iodyno_history::{Entry, StoredRun};
use iodyno_model::{Diagnostic, Origin, Plan};
use iodyno_report::native::Native;

use crate::archive::{self, TypedCommand};
use crate::command;
use crate::extension_options::ExtensionOptions;
use crate::loader::HostLoader;
use crate::runs::{ended, one, paint, parsed};
use crate::secret_words;
use crate::session::{self, OutputPolicy, say};

#[derive(Parser)]
#[command(
    name = "iodyno rerun",
    about = "Run the plan of a kept run again, with the same seed",
    disable_version_flag = true
)]
pub struct RerunArgs {
    /// Which one: its number, a tag, or `last`
    run: String,
    #[command(flatten)]
    manner: native::Manner,
}

/// Does `iodyno rerun ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<RerunArgs>("iodyno rerun", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let kept = match archive::open().and_then(|history| history.load(&words.run)) {
        Ok(kept) => kept,
        Err(wrong) => return ended(Err(one(wrong))),
    };
    if kept.entry.part_of.is_none() && command::EXPERIMENTS.contains(&kept.entry.tool.as_str()) {
        let own = arguments.iter().filter(|word| **word != words.run).cloned().collect();
        return anew(world, &kept, own).unwrap_or_else(|wrong| ended(Err(one(wrong))));
    }
    match request(world, words.manner, kept) {
        Ok(request) => {
            let asked = TypedCommand::new("rerun", arguments, true);
            session::answer(world, Ok(request), &OutputPolicy { asked, ..OutputPolicy::from_environment() })
        }
        Err(wrong) => ended(Err(one(wrong))),
    }
}

/// Options with a value that are not inherited: what may be destroyed, and files that are there by now.
const ANEW: [&str; 4] = ["--destroy", "--html", "--xlsx", "--to"];

/// Does a command anew, with the options of the rerun in place of its own.
fn anew(world: &mut World, kept: &StoredRun, own: Vec<String>) -> Result<u8, Diagnostic> {
    settle(kept)?;
    let origin = Origin::argument(&format!("run {}", kept.entry.id));
    secret_words::recall(&kept.entry.words).map_err(|failure| failure.diagnostic(&origin, ""))?;
    let is_seeded = own.iter().any(|word| word.starts_with("--seed"));
    let is_replaced = |name: &str| ANEW.contains(&name) || (is_seeded && name == "--seed");
    let (mut words, mut typed) = (Vec::new(), kept.entry.words.iter());
    while let Some(word) = typed.next() {
        match word.split_once('=') {
            Some((name, _)) if is_replaced(name) => {}
            None if is_replaced(word) => {
                typed.next();
            }
            _ => words.push(word.clone()),
        }
    }
    words.extend(own);
    Ok(command::answer_in(world, "iodyno", &words))
}

fn request(world: &World, manner: native::Manner, kept: StoredRun) -> Result<Request, Diagnostic> {
    settle(&kept)?;
    let origin = Origin::argument(&format!("run {}", kept.entry.id));
    secret_words::recall(&kept.entry.words).map_err(|failure| failure.diagnostic(&origin, ""))?;
    let own = in_own_hand(world, &kept);
    if own.is_none() && DIALECTS.iter().any(|dialect| dialect.drop_in && dialect.name == kept.entry.tool) {
        let told = format!("what {} was told means something else by now", kept.entry.tool);
        let note = Diagnostic::note(&Origin::argument(&format!("run {}", kept.entry.id)), told);
        say(note.hint("the same plan is run as it is kept, and reported in our own way"));
    }
    let mut run = own.unwrap_or_else(|| {
        let native = Native::new(paint()).details(manner.details);
        native::request(Plan::default(), Box::new(native))
    });
    run.plan = kept.plan;
    secret_words::note(&run.plan, &origin).into_iter().for_each(say);
    manner.apply(&mut run.plan)?;
    manner.join(&mut run);
    Ok(Request::Run(Box::new(run)))
}

/// The run as the tool would report it whose command line is kept; `None` where that line no longer says this very plan
/// (a job file was changed, a name is made of the time).
fn in_own_hand(world: &World, kept: &StoredRun) -> Option<Run> {
    let Entry { tool, words, .. } = &kept.entry;
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == *tool)?;
    // What was said on standard input then is not said again now.
    let words = words.get(1..).filter(|words| !words.iter().any(|word| word == "-"))?;
    let (also, arguments) = match dialect.drop_in {
        true => ExtensionOptions::take(words, None).ok()?,
        false => (ExtensionOptions::default(), words.to_vec()),
    };
    let mut loader = HostLoader::new(world);
    loader.also = also.loader_words();
    loader.talks = true;
    let Ok(Request::Run(mut run)) = (dialect.lower)(&arguments, &mut loader) else { return None };
    also.join(&mut run).ok()?;
    run.output = None;
    run.files.retain(|file| file.format == "own");
    is_same(&run.plan, &kept.plan).then_some(*run)
}

/// Whether plans are the same but for what is said anew each time.
fn is_same(plan: &Plan, kept: &Plan) -> bool {
    let plan = Plan {
        seed: kept.seed,
        destroy: kept.destroy.clone(),
        mounted_allowed: kept.mounted_allowed.clone(),
        demands: kept.demands.clone(),
        ..plan.clone()
    };
    serde_json::to_value(&plan).ok() == serde_json::to_value(kept).ok()
}

/// Goes where a run was, so that its relative paths mean the same.
///
/// # Errors
/// When it has no plan, or the place is gone.
pub fn settle(kept: &StoredRun) -> Result<(), Diagnostic> {
    let entry = &kept.entry;
    let origin = Origin::argument(&format!("run {}", entry.id));
    if kept.plan.phases.is_empty() {
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
