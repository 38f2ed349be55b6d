//! The command line of `iodyno replay`: words to options, or the help that was asked for.

use iodyno_model::Diagnostic;

use super::options::Options;
use crate::Request;

/// The options of a command line, or the help that was asked for.
pub(super) fn parse(arguments: &[String]) -> Result<Result<Options, Request>, Vec<Diagnostic>> {
    crate::native::parsed("iodyno replay", arguments)
}
