//! dd: copies blocks and says how fast, in GNU's operands and GNU's words.
//!
//! Does everything dd is used for when it measures; refuses the conversions that change bytes. Below the words there
//! is nothing of dd: the plan is a script of two steps like any other.

pub mod amount;
pub mod lower;
pub mod number;
pub mod operands;
pub mod options;
pub mod quote;
pub mod text;

use iodyno_model::{Diagnostic, Finding};

use crate::{Dialect, Keep, Loader, Request, Run, advised};
use operands::Instead;
use quote::Marks;
use text::Closing;

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    name: "dd",
    about: "copy blocks and say how fast (GNU dd)",
    drop_in: true,
    also: &[],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let planned = operands::parse(arguments, marks(loader)).and_then(|operands| {
        let (plan, warnings) = lower::lower(&operands, loader)?;
        Ok((operands, plan, warnings))
    });
    let (operands, plan, warnings) = match planned {
        Ok(planned) => planned,
        Err(instead) => return Ok(printed(instead, &loader.machine().version)),
    };
    let reads_forgiven = operands.converts("noerror");
    Ok(Request::Run(Box::new(Run {
        plan,
        live_ns: if operands.level == Some("progress") { 1_000_000_000 } else { 0 },
        interim_ns: 0,
        reporter: Box::new(Closing::new(&operands, warnings)),
        output: None,
        dies_of_signals: true,
        files: Vec::new(),
        keep: Keep::default(),
        messages: Vec::new(),
        unwatched: false,
        own_voice: true,
        findings: true,
        translate,
        reads_forgiven,
        error_status: 1,
        status: None,
    })))
}

/// Findings in dd's own operands; it shows no percentiles, so what spoils them is no matter here.
fn translate(finding: Finding) -> Option<Finding> {
    advised(
        crate::advice::of(finding, crate::advice::DD)?,
        &[
            (1, "add iflag=direct to read past the page cache"),
            (2, "add conv=fdatasync, so that the flush is part of the time, or oflag=direct"),
            (
                3,
                "read a file that holds data: what was reserved or skipped (seek=, conv=sparse) is read as zeros",
            ),
            (4, "copy data that does not compress: /dev/zero is all alike"),
            (5, "copy more (count=) than any cache before the storage holds"),
            (16, "use bs=4k or a multiple of it"),
            (19, ""),
            (24, ""),
            (6, ""),
            (13, ""),
            // The last block of a file is short, and pipes give what they have.
            (20, ""),
        ],
    )
}

fn marks(loader: &dyn Loader) -> Marks {
    let set = |name: &&str| loader.variable(name).filter(|value| !value.is_empty());
    Marks::of_locale(["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).as_deref())
}

fn printed(instead: Instead, version: &str) -> Request {
    match instead {
        Instead::Help => Request::Print { out: options::help(), status: 0 },
        Instead::Version => {
            let version = if version.is_empty() { env!("CARGO_PKG_VERSION") } else { version };
            Request::Print { out: format!("dd (iodyno) {version}\n"), status: 0 }
        }
        Instead::Usage(message) => Request::Refuse {
            err: format!("dd: {message}\nTry 'dd --help' for more information.\n"),
            status: 1,
        },
        Instead::Error(message) => Request::Refuse { err: format!("dd: {message}\n"), status: 1 },
    }
}
