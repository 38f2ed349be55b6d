//! `iodyno measure [PATH]`: the honest card of a directory, a file, a device or a store, in about a minute.
//!
//! A directory gets a temporary file that is always removed; a file or a device that exists is only ever read, unless a
//! [`long`] run was given the device up. What is made in a [`store`] lies below a prefix of the run's own.

pub(crate) mod advice;
mod cells;
mod class;
mod command;
mod disk_mark;
mod frame;
mod gather;
mod left;
mod long;
mod lower;
mod options;
mod report;
mod settings;
mod store;
mod text;

use iodyno_model::{Diagnostic, Origin, Plan};
use iodyno_report::Reporter;
use iodyno_report::native::Native;

use crate::run_options::RunOptions;
use crate::{Dialect, Loader, Request, Run};
use disk_mark::DiskMark;
use options::Options;
use report::{Card, CardSetup, GrowingCard};

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "measure",
    about: "an honest profile of a directory, a file, a device or an object store, in about a minute",
    drop_in: false,
    also: &[],
    lower: request,
};

/// How often the live line is fed, ns.
const LIVE_NS: u64 = 500_000_000;

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options = match command::parse(arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    if let Some(elsewhere) = options.world.elsewhere(loader)? {
        return Ok(Request::Hosts(elsewhere));
    }
    if store::is_address(&options.path) {
        return store::request(&options, loader);
    }
    store::refuse_elsewhere(&options).map_err(|wrong| vec![wrong])?;
    let settings = settings::resolve(&options, loader).map_err(|wrong| vec![wrong])?;
    if let Some(profile) = options.profile {
        return marks(&options, DiskMark::new(settings, profile, options.time), loader);
    }
    let plan = match options.long {
        Some(ns) => lower::long(&settings, ns, long::resolve(&options, &settings)?),
        None => lower::plan(&settings),
    };
    let left = left::find(&settings, loader);
    let engine = settings.engine_note.iter().map(|note| Diagnostic::note(&Origin::Default, note.as_str()));
    let messages = engine.chain(left.unknown).collect();
    Ok(Request::Run(Box::new(Run {
        messages,
        abandoned: left.abandoned,
        translate: advice::translate,
        ..run(&options, plan, settings, loader)?
    })))
}

/// The run of a disk mark's tests.
fn marks(options: &Options, mark: DiskMark, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let left = left::find(mark.settings(), loader);
    let engine =
        mark.settings().engine_note.iter().map(|note| Diagnostic::note(&Origin::Default, note.as_str()));
    let messages = engine.chain(left.unknown).collect();
    let plan = mark.plan();
    Ok(Request::Run(Box::new(Run {
        messages,
        abandoned: left.abandoned,
        translate: advice::translate,
        ..run(options, plan, mark, loader)?
    })))
}

/// A run with its card, or with the native report where one cell is measured for long.
fn run<S: CardSetup + 'static>(
    options: &Options,
    mut plan: Plan,
    setup: S,
    loader: &mut dyn Loader,
) -> Result<Run, Vec<Diagnostic>> {
    let asked = RunOptions { fail_if: options.fail_if.clone(), ..RunOptions::default() };
    asked.apply(&mut plan, "").map_err(|wrong| vec![wrong])?;
    let growing = options.long.is_none().then(|| Box::new(GrowingCard::new(setup.clone())) as _);
    let reporter: Box<dyn Reporter> = match options.long {
        Some(_) => Box::new(Native::new(loader.paint()).details(options.details)),
        None => Box::new(Card::new(setup, loader.paint(), options.details)),
    };
    Ok(Run {
        files: options.export.clone().files(),
        keep: options.keep.clone().keep(),
        live_ns: LIVE_NS,
        unwatched: options.watch.unwatched(),
        tells_all: true,
        growing,
        ..Run::of(plan, reporter)
    })
}
