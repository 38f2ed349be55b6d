//! `iodyno measure s3://BUCKET/PREFIX`: the card of an object store, in about a minute; of pools of Ceph and of Hadoop's file
//! system too.
//!
//! Everything that is made lies below a prefix of the run's own, which is removed, and nothing beyond the given prefix is listed.

mod advice;
mod budget;
mod consistency;
mod cost;
mod gather;
mod left;
mod lower;
mod prices;
mod report;
mod settings;
mod text;

use iodyno_model::{Diagnostic, Origin};

use super::options::Options;
use crate::{Loader, Request, Run};

/// Whether what is to be measured is a store.
pub(super) fn is_address(path: &str) -> bool {
    path.contains("://")
}

/// Refuses options of stores for what is none.
pub(super) fn refuse_elsewhere(options: &Options) -> Result<(), Diagnostic> {
    let store = &options.store;
    let given = [
        ("--endpoint", store.endpoint.is_some()),
        ("--region", store.region.is_some()),
        ("--addressing", store.addressing.is_some()),
        ("--credentials", store.credentials.is_some()),
        ("--setting", !store.settings.is_empty()),
        ("--prices", store.prices.is_some()),
    ];
    let what = format!("{} is no store, and has nothing of that", options.path);
    refuse(&given, &what, "name a store, e.g. iodyno measure s3://BUCKET/PREFIX --endpoint http://HOST:PORT")
}

/// A long run of a store has depth and objects of its own.
fn refuse_lasting(options: &Options) -> Result<(), Diagnostic> {
    let lasting = &options.lasting;
    let given = [
        ("--depth", lasting.depth.is_some()),
        ("--block", lasting.block.is_some()),
        ("--mix", lasting.mix.is_some()),
        ("--destroy", lasting.destroy.is_some()),
    ];
    let profile = [("--profile", options.profile.is_some())];
    refuse(&profile, "it is for files and devices", "leave it out: a store has a card of its own")?;
    let hint = "leave it out; a plan for iodyno run chooses depth, objects and mix of a store";
    refuse(&given, "it is for files and devices", hint)
}

/// Refuses the first option that was given.
fn refuse(options: &[(&str, bool)], what: &str, hint: &str) -> Result<(), Diagnostic> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Diagnostic::error(&Origin::argument(option), what).hint(hint)),
    }
}

pub(super) fn request(options: &Options, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    refuse_lasting(options).map_err(|wrong| vec![wrong])?;
    let mut settings = settings::resolve(options, loader)?;
    let left = left::find(&mut settings, loader);
    let plan = match options.long {
        Some(ns) => lower::long(&settings, ns),
        None => lower::plan(&settings),
    };
    Ok(Request::Run(Box::new(Run {
        messages: left.unknown,
        abandoned: left.abandoned,
        translate: advice::translate,
        ..super::run(options, plan, settings, loader)?
    })))
}
