//! hdparm: `-T` and `-t`, the two lines everybody knows; nothing that touches a drive's settings.
//!
//! Cached reads are a phase that means the cache, device reads one that means the device; both are plain patterns.

pub(crate) mod advice;
pub mod command;
pub mod lower;
pub mod options;
pub mod report;

use iodyno_model::Diagnostic;

use crate::{Dialect, Loader, PathKind, Request, Run};
use command::EarlyExit;
use lower::BLOCK_BYTES;
use report::Timings;

pub const DIALECT: Dialect = Dialect {
    name: "hdparm",
    about: "time cached and device reads (hdparm -T -t)",
    drop_in: true,
    also: &[],
    lower: request,
};

const ENOENT: i32 = 2;
const EINVAL: i32 = 22;

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let refuse = |err: String, status: i32| Ok(Request::Refuse { err, status });
    let command = match command::parse(arguments) {
        Ok(command) => command,
        Err(EarlyExit::Print(out)) => return Ok(Request::Print { out, status: 0 }),
        Err(EarlyExit::Wrong(err)) => return refuse(err, EINVAL),
    };
    for device in &command.devices {
        match loader.look(device) {
            None => return refuse(format!("{device}: {}\n", crate::strerror::of_system(ENOENT)), ENOENT),
            Some(facts)
                if matches!(facts.kind, PathKind::File | PathKind::BlockDevice)
                    && facts.bytes < BLOCK_BYTES =>
            {
                return refuse(format!("{device}: device too small: 2 MiB is read at a time\n"), 5);
            }
            Some(_) => {}
        }
    }
    let (plan, headings) = lower::plan(&command, loader);
    Ok(Request::Run(Box::new(Run {
        dies_of_signals: true,
        own_voice: true,
        translate: advice::translate,
        error_status: 5,
        ..Run::of(plan, Box::new(Timings::new(headings)))
    })))
}
