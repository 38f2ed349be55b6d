//! Systems without Linux's calls for durability: a refusal.

use clap::Parser;
use iodyno_model::{Diagnostic, Origin};

use crate::session::say;

#[derive(Parser)]
#[command(name = "iodyno powerfail", about = "Check after a power cut that storage kept what it promised")]
pub struct PowerfailArgs {}

pub fn answer(_arguments: &[String]) -> u8 {
    say(Diagnostic::error(&Origin::argument("powerfail"), "promises are written and checked on Linux only"));
    2
}
