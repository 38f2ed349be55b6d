//! `iodyno explain`: the page of a finding, with what to set in the words of a tool.

use clap::Parser;
use iodyno_dialect::{advice, finding_pages};

use crate::runs::{ended, one, paint, parsed, print};

/// Explain a finding: how the number misleads, how it is seen, what to set
#[derive(Parser)]
#[command(name = "iodyno explain", disable_version_flag = true)]
pub struct ExplainArgs {
    /// Its number or name, as reports print it; without one all are listed
    #[arg(value_name = "FINDING")]
    finding: Option<String>,
    /// What to set in the words of this tool, e.g. fio
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
}

/// Does `iodyno explain ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<ExplainArgs>("iodyno explain", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let Some(finding) = &words.finding else { return print(&finding_pages::list()) };
    let found = finding_pages::named(finding).and_then(|kind| {
        let translate = match &words.tool {
            Some(tool) => finding_pages::wording(tool)?,
            None => advice::native,
        };
        Ok(print(&finding_pages::text(kind, translate, paint().columns)))
    });
    ended(found.map_err(one))
}
