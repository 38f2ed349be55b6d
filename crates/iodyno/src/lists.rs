//! What there is in the program itself: its engines, dialects and witnesses; completions, links by other names.

use clap::{Command, Parser};
use clap_complete::Shell;
use iodyno_dialect::{DIALECTS, native};
use iodyno_engine::EngineFacts;
use iodyno_engine::registry::{all_facts, facts};
use iodyno_engine::witness::WITNESSES;
use iodyno_model::{Diagnostic, Origin, VerbSet};

use crate::loader::plain;
use crate::runs::{parsed, print};
use crate::session::say;
use crate::simulated_device;

/// List the engines, whether they are available here, and their settings
#[derive(Parser)]
#[command(name = "iodyno engines", disable_version_flag = true)]
pub struct EnginesArgs {
    /// Only this one
    name: Option<String>,
}

/// List the simulated devices, or print the file of one
#[derive(Parser)]
#[command(name = "iodyno devices", disable_version_flag = true)]
#[command(
    after_help = "A tool runs on one with --also on=DEVICE, measure, run, replay and io500 with --on DEVICE. \
DEVICE may also be the path of a file like those that iodyno devices NAME prints: docs/sim.md."
)]
pub struct DevicesArgs {
    /// The file of this one
    name: Option<String>,
}

/// List the supported tools
#[derive(Parser)]
#[command(name = "iodyno dialects", disable_version_flag = true)]
pub struct DialectsArgs {}

/// List the witnesses and what they read
#[derive(Parser)]
#[command(name = "iodyno witnesses", disable_version_flag = true)]
pub struct WitnessesArgs {}

/// Print a completion script for a shell
#[derive(Parser)]
#[command(name = "iodyno completions", disable_version_flag = true)]
#[command(
    after_help = "For bash: iodyno completions bash > ~/.local/share/bash-completion/completions/iodyno"
)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Make a link for each tool's name in a directory: called by that name, the program is that tool
#[derive(Parser)]
#[command(name = "iodyno links", disable_version_flag = true)]
#[command(after_help = "Files that exist are never replaced.")]
pub struct LinksArgs {
    /// The directory
    directory: String,
}

/// `iodyno engines`.
pub fn engines(arguments: &[String]) -> u8 {
    let words = match parsed::<EnginesArgs>("iodyno engines", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let Some(name) = words.name else {
        return print(&all_facts().map(engine).collect::<String>());
    };
    if let Some(facts) = facts(&name) {
        return print(&engine(facts));
    }
    let names: Vec<&str> = all_facts().map(|facts| facts.name).collect();
    let wrong = Diagnostic::error(&Origin::argument(&name), "no engine of that name");
    say(wrong.hint(native::suggestion(&name, &names)));
    2
}

fn engine(facts: &EngineFacts) -> String {
    let state = match (facts.available)() {
        Ok(()) => String::new(),
        Err(failure) => format!("  (not here: {})", failure.message),
    };
    let depth = if facts.most_depth == 1 { "1".into() } else { format!("up to {}", facts.most_depth) };
    let verbs = match (facts.verbs == VerbSet::ALL, facts.opens_files) {
        (true, _) => "all verbs",
        (_, true) => "its own verbs alone",
        _ => "its own verbs, the others by plain calls",
    };
    let settings = facts.settings.iter();
    let settings: String =
        settings.map(|setting| format!("{:<11} {:<18} {}\n", "", setting.name, setting.help)).collect();
    format!("{:<9} {}{state}\n{:<9} depth {depth} · {verbs}\n{settings}", facts.name, facts.about, "")
}

/// `iodyno devices`.
pub fn devices(arguments: &[String]) -> u8 {
    let words = match parsed::<DevicesArgs>("iodyno devices", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let Some(name) = words.name else { return print(&simulated_device::list()) };
    match simulated_device::named(&name, &name) {
        Ok(device) => print(&iodyno_report::device::toml(&device)),
        Err(wrong) => {
            wrong.iter().for_each(say);
            2
        }
    }
}

/// `iodyno dialects`.
pub fn dialects(arguments: &[String]) -> u8 {
    let list = || DIALECTS.iter().map(|dialect| format!("{:<9} {}\n", dialect.name, dialect.about)).collect();
    listed::<DialectsArgs>("iodyno dialects", arguments, list)
}

/// `iodyno witnesses`.
pub fn witnesses(arguments: &[String]) -> u8 {
    let list = || WITNESSES.iter().map(|(name, reads)| format!("{name:<10} {reads}\n")).collect();
    listed::<WitnessesArgs>("iodyno witnesses", arguments, list)
}

fn listed<T: Parser>(name: &str, arguments: &[String], list: impl Fn() -> String) -> u8 {
    parsed::<T>(name, arguments).map_or_else(|status| status, |_| print(&list()))
}

/// `iodyno completions SHELL`.
pub fn completions(arguments: &[String], commands: &mut Command) -> u8 {
    let words = match parsed::<CompletionsArgs>("iodyno completions", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let mut script = Vec::new();
    clap_complete::generate(words.shell, commands, "iodyno", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// `iodyno links DIRECTORY`: what exists stays.
pub fn links(arguments: &[String]) -> u8 {
    let folder = match parsed::<LinksArgs>("iodyno links", arguments) {
        Ok(words) => words.directory,
        Err(status) => return status,
    };
    let Ok(program) = std::env::current_exe() else {
        say("error: links: the program does not know where it lies");
        return 1;
    };
    let mut status = 0;
    for dialect in DIALECTS.iter().filter(|dialect| dialect.drop_in) {
        let link = format!("{}/{}", folder.trim_end_matches('/'), dialect.name);
        let Err(error) = std::os::unix::fs::symlink(&program, &link) else {
            status = status.max(print(&format!("{link}\n")));
            continue;
        };
        status = 1;
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        let (place, hint) = match exists {
            true => (&link, "existing files are never replaced"),
            false => (&folder, "name a directory that exists and can be written to"),
        };
        say(format_args!("error: {place}: {}\n hint: {hint}", plain(&error)));
        // What keeps one link from being made keeps all of them.
        if !exists {
            break;
        }
    }
    status
}
