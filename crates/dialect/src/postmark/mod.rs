//! postmark: many small files made, read, appended to and deleted as a mail server does, driven by commands.
//!
//! ```text
//!   FILE, standard input ─ command ─► settings and wishes ─ course ─► deeds on files ─ lower ─► Plan ─► events ─ report ─► text
//! ```
//! All commands are read before the first run begins, unless they are typed: then each is answered as it comes. It refuses
//! lines that are no commands, by their place; the original goes on as if they were not there.

pub(crate) mod advice;
pub mod calls;
pub mod command;
pub mod course;
pub mod lower;
pub mod options;
pub mod random;
pub mod report;
pub mod session;
pub mod settings;
pub mod view;

use iodyno_model::{Diagnostic, Origin};

use crate::{Dialect, Loader, Request};
use session::CommandSession;

pub const DIALECT: Dialect = Dialect {
    name: "postmark",
    about: "many small files made, read, appended to and deleted as a mail server does (postmark)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// The file of commands that is read where none is named and it is there.
const USUAL: &str = ".pmrc";

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let mut session = CommandSession::new(loader);
    match arguments {
        [word] if matches!(word.as_str(), "--help" | "-h") => {
            return Ok(Request::Print { out: options::help(), status: 0 });
        }
        [word] if word == "--version" => {
            let out = format!("PostMark {} (iodyno {})\n", report::VERSION, env!("CARGO_PKG_VERSION"));
            return Ok(Request::Print { out, status: 0 });
        }
        [word] if word.starts_with('-') => {
            let origin = Origin::argument(word);
            return Err(vec![options::TABLE.check(word, &origin).map_or_else(
                |wrong| wrong,
                |_| {
                    Diagnostic::error(&origin, "this is a command, and stands in a file or on standard input")
                },
            )]);
        }
        [file] => session.file(file, &Origin::argument(file), loader)?,
        [] if loader.look(USUAL).is_some() => session.file(USUAL, &Origin::argument(USUAL), loader)?,
        [] => {}
        [_, more, ..] => {
            let wrong = Diagnostic::error(&Origin::argument(more), "postmark takes one file of commands");
            return Err(vec![wrong.hint("load others by a line of it: load FILE")]);
        }
    }
    match session.is_over() {
        false if loader.is_typed_at() => return Ok(Request::Prompt(Box::new(session))),
        false => session.standard_input(loader)?,
        true => {}
    }
    Ok(session.request())
}
