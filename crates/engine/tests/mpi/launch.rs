//! Runs this very test program again as ranks under a launcher, each in a role.
//!
//! Who hangs is given up, with all that was said, as the test kit does it; a rank ends with who started it.

use std::process::Command;

use testbed::program::{Program, ProgramOutput};

/// Names the role of a process that is a rank.
pub const ROLE: &str = "IODYNO_TEST_ROLE";

/// Whether all went well.
pub fn well(ended: &ProgramOutput) -> Result<(), String> {
    if ended.status.success() { Ok(()) } else { Err(ended.to_string()) }
}

/// Lets `launcher` start `ranks` of us in a role.
pub fn launch(mut launcher: Command, ranks: u32, role: &str) -> Result<ProgramOutput, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    launcher.args(["-n", &ranks.to_string()]).arg(own);
    run(launcher, role)
}

/// Runs a whole command line with the role in its environment.
pub fn run(mut command: Command, role: &str) -> Result<ProgramOutput, String> {
    command.env(ROLE, role);
    Program::new(command).outcome()
}
