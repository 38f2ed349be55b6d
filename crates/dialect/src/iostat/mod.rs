//! iostat: what the kernel counted of block devices and processors, in sysstat's columns.
//!
//! A plan without jobs: one phase that only watches. The figures come from the same witness as everywhere else; old
//! scripts find old columns with `layout=`.

mod cell;
pub mod columns;
pub mod command;
mod device;
mod figures;
mod json;
pub mod lower;
pub mod options;
pub mod report;
pub mod settings;

use iodyno_model::{Diagnostic, Origin, Plan};

use crate::{Dialect, Loader, Request, Run, status};
use columns::Layout;
use command::EarlyExit;
use report::Reports;
use settings::{Selection, Settings};

pub const DIALECT: Dialect = Dialect {
    name: "iostat",
    about: "report the kernel's counters of block devices and processors (sysstat)",
    drop_in: true,
    also: &["layout"],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let refuse = |err: String| Ok(Request::Refuse { err, status: 1 });
    let layout = match loader.also("layout").map(|word| (Layout::named(&word), word)) {
        None => Layout::default(),
        Some((Some(layout), _)) => layout,
        Some((None, word)) => {
            let wrong = format!("`layout={word}`: expected 9, 10, 11 or 12, a version of sysstat");
            return Err(vec![Diagnostic::error(&Origin::argument("--also"), wrong)]);
        }
    };
    let command = match command::parse(arguments) {
        Ok(command) => command,
        Err(EarlyExit::Help) => return Ok(Request::Print { out: options::usage(), status: 0 }),
        Err(EarlyExit::Version) => {
            let ours = env!("CARGO_PKG_VERSION");
            let out = format!("sysstat version {}\n(iodyno {ours})\n", layout.version());
            return Ok(Request::Print { out, status: 0 });
        }
        Err(EarlyExit::Wrong(what)) => return refuse(format!("iostat: {what}\n{}", options::usage())),
    };
    let names = match device::names(&command, loader) {
        Ok(names) => names,
        Err(what) => return refuse(format!("iostat: {what}\n")),
    };
    let selection = Selection::of(&command, &names, loader);
    let plan = lower::plan(&command, &selection);
    let settings = Settings::of(command, layout, selection, names, loader);
    Ok(Request::Run(Box::new(run(plan, settings))))
}

fn run(plan: Plan, settings: Settings) -> Run {
    Run {
        own_voice: true,
        findings: false,
        translate: |_| None,
        status: Some(Box::new(status::until_interrupted)),
        ..Run::of(plan, Box::new(Reports::new(settings)))
    }
}
