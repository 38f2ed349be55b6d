//! `iodyno age DIR --to 70%`: makes a young file system old before anything is measured on it, and says how it wore.
//!
//! The same may be asked of any plan (`[[age]]` in a plan file, `--age`, or `age=70%` among our words beside a drop-in).
//! Nothing is made old here; the words become an [`iodyno_model::Aging`], and its record a table.

pub mod lower;
pub mod options;
pub mod report;

use iodyno_model::{Diagnostic, Origin};

use crate::{Dialect, Keep, Loader, PathKind, Request, Run};
use options::Options;
use report::AgingReporter;

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "age",
    about: "age a file system: fill it, rewrite files, report how it changed",
    drop_in: false,
    also: &[],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options: Options = match crate::native::parsed("iodyno age", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    let origin = Origin::argument(&options.directory);
    let wrong =
        |message: &str| vec![Diagnostic::error(&origin, message).hint("name a directory, e.g. /mnt/test")];
    match loader.look(&options.directory) {
        None => return Err(wrong("no such directory")),
        Some(facts) if facts.kind != PathKind::Directory => return Err(wrong("this is no directory")),
        Some(facts) if !facts.writable => return Err(wrong("this directory cannot be written to")),
        Some(_) => {}
    }
    Ok(Request::Run(Box::new(run(&options, origin))))
}

fn run(options: &Options, origin: Origin) -> Run {
    Run {
        files: options.export.clone().files(),
        keep: Keep { wanted: Some(false), tags: Vec::new() },
        unwatched: true,
        findings: false,
        ..Run::of(lower::plan(options, origin), Box::new(AgingReporter))
    }
}
