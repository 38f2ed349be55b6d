//! The command line of `iodyno measure`: words to options, or the help that was asked for.

use iodyno_model::Diagnostic;

use super::options::Options;
use crate::Request;

/// The options of a command line, or the help that was asked for.
pub(super) fn parse(arguments: &[String]) -> Result<Result<Options, Request>, Vec<Diagnostic>> {
    let arguments: Vec<String> = crate::dashes(arguments).into_iter().map(long_option).collect();
    crate::native::parsed("iodyno measure", &arguments)
}

/// An option with both its hyphens: a web page makes one dash of the two, and there is no other option than a long one.
fn long_option(argument: String) -> String {
    match argument.strip_prefix('-') {
        Some(word) if word.len() > 1 && !word.starts_with('-') => format!("--{word}"),
        _ => argument,
    }
}
