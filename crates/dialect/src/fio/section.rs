//! Sections as they were written: names and texts with their places, and what is wrong with them.
//!
//! Job files and command lines become these first; only then are values read, so that `kb_base` holds wherever in its
//! section it stands and all problems can be reported at once. It knows no option.

use iodyno_model::{Diagnostic, Origin};

use super::number::Fault;

/// One option as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionLine {
    /// Its name, as written.
    pub name: String,
    /// What stands behind `=`; none: no value was written.
    pub text: Option<String>,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub name: String,
    /// Whether it is `[global]`: what it says holds for the sections that follow.
    pub global: bool,
    /// Where it begins.
    pub origin: Origin,
    /// What it says, in order.
    pub lines: Vec<OptionLine>,
}

impl Section {
    /// A section without options.
    pub fn new(name: &str, origin: Origin) -> Self {
        Section { name: name.to_string(), global: name == "global", origin, lines: Vec::new() }
    }
}

/// A fault at a place.
pub fn at(origin: &Origin, fault: &Fault) -> Diagnostic {
    let wrong = Diagnostic::error(origin, fault.message.clone());
    if fault.hint.is_empty() { wrong } else { wrong.hint(fault.hint.clone()) }
}

/// The problems as fio's user reads them: `fio: job.fio:7: …`, each with its hint.
pub fn problem_text(problems: &[Diagnostic]) -> String {
    let mut text = String::new();
    for problem in problems {
        text += "fio: ";
        match &problem.origin {
            // The message says which option it is.
            Origin::Default | Origin::Argument(_) => {}
            place => text += &format!("{place}: "),
        }
        text += &problem.message;
        text.push('\n');
        if let Some(hint) = &problem.hint {
            text += &format!(" hint: {hint}\n");
        }
    }
    text
}
