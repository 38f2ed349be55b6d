//! `iodyno powerfail`: promises that are logged elsewhere until the power goes, and checked afterwards.
//!
//! Here files are opened, commands run and texts printed; the crate `crash` writes and judges.
//!
//! Exit status: 0; 1 a promise is broken, or storage or log failed; 2 the command is wrong, or nothing could be judged.

mod history;
mod key;
mod listen;
mod report;
mod verify;
mod write;

use clap::{Args, Parser, Subcommand};
use iodyno_model::{Diagnostic, Origin};

use crate::runs::{ended, one, parsed};

#[derive(Parser)]
#[command(name = "iodyno powerfail", about = "Check after a power cut that storage kept what it promised",
    disable_version_flag = true, disable_help_subcommand = true, after_help = AFTER)]
pub struct PowerfailArgs {
    #[command(subcommand)]
    command: PowerfailCommand,
}

const AFTER: &str = "Write until the power goes, with the log elsewhere; then verify:\n  \
iodyno powerfail listen --to LOG                              on another host\n  \
iodyno powerfail write /mnt/x --log tcp://HOST:7471           until the plug is pulled\n  \
iodyno powerfail verify LOG /mnt/x                            when it is up again\nIn one go, where a command \
cuts the power:\n  iodyno powerfail write /mnt/x --log /var/tmp/LOG --trigger goingdown --then 'umount /mnt/x; mount /mnt/x'\n\
docs/powerfail.md explains modes and findings.";

#[derive(Subcommand)]
enum PowerfailCommand {
    /// Write, and log each promise after its durability call has returned
    Write(Box<write::WriteArgs>),
    /// Take the log of a writer on another host
    Listen(listen::ListenArgs),
    /// Check that what a log promises is there
    Verify(verify::VerifyArgs),
}

/// How a verdict is reported, and what it may demand of a torn write.
#[derive(Args, Clone, Debug)]
struct VerdictArgs {
    /// What storage promises to write whole: 0, 512 or 4096 bytes [default: 512 on a device, 0 in a directory]
    #[arg(long, value_name = "BYTES", value_parser = atomic)]
    atomic: Option<u64>,
    /// As JSON
    #[arg(long, conflicts_with = "tap")]
    json: bool,
    /// As TAP
    #[arg(long)]
    tap: bool,
    /// Write JUnit's XML to this file, which must not exist
    #[arg(long, value_name = "FILE")]
    junit: Option<String>,
}

fn atomic(text: &str) -> Result<u64, String> {
    let bytes = text.parse().ok().filter(|bytes| [0, 512, 4096].contains(bytes));
    bytes.ok_or_else(|| "expected 0, 512 or 4096".into())
}

/// What is wrong with an argument.
fn wrong(argument: &str, what: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
    Diagnostic::error(&Origin::argument(argument), what).hint(hint)
}

/// Does `iodyno powerfail ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<PowerfailArgs>("iodyno powerfail", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    ended(
        match words.command {
            PowerfailCommand::Write(words) => write::answer(&words, arguments),
            PowerfailCommand::Listen(words) => listen::answer(&words),
            PowerfailCommand::Verify(words) => verify::answer(&words, arguments),
        }
        .map_err(one),
    )
}

#[cfg(test)]
mod tests {
    use iodyno_crash::powerfail::step::SyncMode;

    #[test]
    fn posix_counts_the_modes_of_directories() {
        // The summary of `iodyno posix` says so many rules are not checked.
        assert_eq!(SyncMode::ALL.iter().filter(|mode| !mode.is_of_devices()).count(), 17);
    }
}
