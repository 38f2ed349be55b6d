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
use iodyno_report::Reporter;
use iodyno_report::native::Native;

use super::LIVE_NS;
use super::options::Options;
use crate::run_options::RunOptions;
use crate::{Loader, Request, Run};
use report::{GrowingStoreCard, StoreCard};

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
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Diagnostic::error(
            &Origin::argument(option),
            format!("{} is no store, and has nothing of that", options.path),
        )
        .hint("name a store, e.g. iodyno measure s3://BUCKET/PREFIX --endpoint http://HOST:PORT")),
    }
}

pub(super) fn request(options: &Options, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let mut settings = settings::resolve(options, loader)?;
    let left = left::find(&mut settings, loader);
    let mut plan = match options.long {
        Some(ns) => lower::long(&settings, ns),
        None => lower::plan(&settings),
    };
    let asked = RunOptions { fail_if: options.fail_if.clone(), ..RunOptions::default() };
    asked.apply(&mut plan, "").map_err(|wrong| vec![wrong])?;
    let growing = options.long.is_none().then(|| Box::new(GrowingStoreCard::new(settings.clone())) as _);
    let reporter: Box<dyn Reporter> = match options.long {
        Some(_) => Box::new(Native::new(loader.paint()).details(options.details)),
        None => Box::new(StoreCard::new(settings, loader.paint(), options.details)),
    };
    Ok(Request::Run(Box::new(Run {
        files: options.export.clone().files(),
        keep: options.keep.clone().keep(),
        messages: left.unknown,
        abandoned: left.abandoned,
        live_ns: LIVE_NS,
        unwatched: options.watch.unwatched(),
        tells_all: true,
        growing,
        translate: advice::translate,
        ..Run::of(plan, reporter)
    })))
}
