//! `iodyno man`: the manual pages (roff), of the program and of each of its commands.
//!
//! A command's page holds its own help text, so that the two cannot differ.

use clap::{Command, CommandFactory, Parser};
use iodyno_dialect::{DIALECTS, Request, Written, native};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::native::Native;
use iodyno_report::paint::Paint;

use crate::accelerators::AcceleratorsArgs;
use crate::audit::AuditArgs;
use crate::cache_command::CacheArgs;
use crate::checkpoint::CheckpointArgs;
use crate::ci::CiArgs;
use crate::command::help_of;
use crate::compare::CompareArgs;
use crate::crash::CrashArgs;
use crate::doctor::DoctorArgs;
use crate::finding_page::ExplainArgs;
use crate::k8s::KubernetesArgs;
use crate::kv_cache::KvCacheArgs;
use crate::limits::LimitsArgs;
use crate::load_curve::LoadCurveArgs;
use crate::loader::HostLoader;
use crate::neighbours::NeighboursArgs;
use crate::powerfail::PowerfailArgs;
use crate::pts::PtsArgs;
use crate::record::RecordArgs;
use crate::runs::{self, parsed, print};
use crate::session::{self, OutputPolicy, say};
use crate::studio::StudioArgs;
use crate::trace::TraceArgs;
use crate::tui::TuiArgs;
use crate::tune::TuneArgs;
use crate::vector_search::VectorSearchArgs;
use crate::watch::WatchArgs;
use crate::whatif::WhatifArgs;
use crate::why::WhyArgs;
use crate::{lists, report, rerun};

/// Print the manual page of the program or of a command, or write them all
#[derive(Parser)]
#[command(name = "iodyno man", disable_version_flag = true)]
#[command(
    after_help = "To read one: iodyno man fio | man -l -\nTo install them: iodyno man --all ~/.local/share/man/man1"
)]
pub struct ManualArgs {
    /// The command; none: the program
    #[arg(conflicts_with = "all")]
    command: Option<String>,
    /// Write the pages of the program and of all commands into this directory; none may exist yet
    #[arg(long, value_name = "DIRECTORY")]
    all: Option<String>,
}

/// Does `iodyno man ARGUMENTS…`; the exit status. `list`: every command with one line about it.
pub fn answer(
    world: &mut World,
    arguments: &[String],
    commands: Command,
    list: &[(&'static str, &'static str)],
) -> u8 {
    let words = match parsed::<ManualArgs>("iodyno man", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    if let Some(folder) = words.all {
        let place = |name: &str| format!("{}/iodyno{name}.1", folder.trim_end_matches('/'));
        let file = |path: String, text: String| Written { path, bytes: text.into_bytes(), program: false };
        let mut files = vec![file(place(""), program(commands, list))];
        files.extend(
            list.iter().map(|(name, about)| file(place(&format!("-{name}")), page(world, name, about))),
        );
        let out = files.iter().map(|file| format!("{}\n", file.path)).collect();
        return session::answer(
            world,
            Ok(Request::Write { files, out, status: 0 }),
            &OutputPolicy::from_environment(),
        );
    }
    let Some(name) = words.command else { return print(&program(commands, list)) };
    if let Some((name, about)) = list.iter().find(|(known, _)| *known == name) {
        return print(&page(world, name, about));
    }
    let names: Vec<&str> = list.iter().map(|(name, _)| *name).collect();
    let wrong = Diagnostic::error(&Origin::argument(&name), "no such command");
    say(wrong.hint(native::suggestion(&name, &names)));
    2
}

/// The page of the program itself.
fn program(commands: Command, list: &[(&'static str, &'static str)]) -> String {
    let mut page = Vec::new();
    if let Err(error) = clap_mangen::Man::new(commands).render(&mut page) {
        say(format_args!("error: man: {error}"));
    }
    let mut text = String::from_utf8_lossy(&page).into_owned();
    text.push_str(&section("EXIT STATUS", EXIT_STATUS));
    text.push_str(&section("ENVIRONMENT", ENVIRONMENT));
    text.push_str(&section("FILES", FILES));
    let names: Vec<String> = list.iter().map(|(name, _)| format!("iodyno-{name}(1)")).collect();
    text + &prose("SEE ALSO", &names.join(", "))
}

/// The page of one command.
fn page(world: &World, name: &str, about: &str) -> String {
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == name);
    let is_drop_in = dialect.is_some_and(|dialect| dialect.drop_in);
    let mut text =
        format!(".TH {} 1 \"\" \"iodyno {}\"\n", roff(&format!("iodyno-{name}")), env!("CARGO_PKG_VERSION"));
    text.push_str(&prose("NAME", &format!("iodyno-{name} - {about}")));
    let synopsis = match is_drop_in {
        true => format!(
            "iodyno {name} [ARGUMENTS OF {name}]... [--also WORDS]\n{name} [ARGUMENTS]... (a link of that name)"
        ),
        false => format!("iodyno {name} [ARGUMENTS]..."),
    };
    text.push_str(&verbatim("SYNOPSIS", &synopsis));
    let help = dialect.map_or_else(|| own_help(world, name), |dialect| help_of(world, dialect));
    text.push_str(&help.map_or_else(String::new, |help| verbatim("DESCRIPTION", help.trim())));
    text.push_str(&match is_drop_in {
        true => prose(
            "EXIT STATUS",
            "That of the original; 2 where a word of --also is wrong, and nothing was run.",
        ),
        false => section("EXIT STATUS", EXIT_STATUS),
    });
    text.push_str(&section("ENVIRONMENT", ENVIRONMENT));
    let own = if name == "measure" { MEASURE_FILES } else { &[] };
    text.push_str(&section("FILES", &[own, FILES].concat()));
    text + &prose("SEE ALSO", "iodyno(1)")
}

/// The help of a command that is no dialect.
fn own_help(world: &World, name: &str) -> Option<String> {
    let mut loader = HostLoader::new(world);
    let help = &["--help".to_string()][..];
    let command = match name {
        "plan" => return printed(native::plan(help, &mut loader)),
        "run" => {
            return printed(native::run(help, &mut loader, &|_| Box::new(Native::new(Paint::PLAIN)) as _));
        }
        "report" => report::Arguments::command(),
        "runs" => runs::RunsArgs::command(),
        "rerun" => rerun::RerunArgs::command(),
        "compare" => CompareArgs::command(),
        "ci" => CiArgs::command(),
        "audit" => AuditArgs::command(),
        "import" => runs::ImportArgs::command(),
        "record" => RecordArgs::command(),
        "trace" => TraceArgs::command(),
        "load-curve" => LoadCurveArgs::command(),
        "accelerators" => AcceleratorsArgs::command(),
        "kv-cache" => KvCacheArgs::command(),
        "vector-search" => VectorSearchArgs::command(),
        "checkpoint" => CheckpointArgs::command(),
        "k8s" => KubernetesArgs::command(),
        "limits" => LimitsArgs::command(),
        "neighbours" => NeighboursArgs::command(),
        "powerfail" => PowerfailArgs::command(),
        "pts" => PtsArgs::command(),
        "tune" => TuneArgs::command(),
        "watch" => WatchArgs::command(),
        "why" => WhyArgs::command(),
        "crash" => CrashArgs::command(),
        "whatif" => WhatifArgs::command(),
        "explain" => ExplainArgs::command(),
        "studio" => StudioArgs::command(),
        "tui" => TuiArgs::command(),
        "cache" => CacheArgs::command(),
        "doctor" => DoctorArgs::command(),
        "engines" => lists::EnginesArgs::command(),
        "devices" => lists::DevicesArgs::command(),
        "dialects" => lists::DialectsArgs::command(),
        "witnesses" => lists::WitnessesArgs::command(),
        "links" => lists::LinksArgs::command(),
        "completions" => lists::CompletionsArgs::command(),
        "man" => ManualArgs::command(),
        _ => return None,
    };
    Some({ command }.render_help().to_string())
}

fn printed(request: Result<Request, Vec<Diagnostic>>) -> Option<String> {
    match request {
        Ok(Request::Print { out, .. }) => Some(out),
        _ => None,
    }
}

/// What a native command returns.
const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "All went well."),
    ("1", "Something failed: an operation, a case, or a condition of --fail-if held."),
    ("2", "The request was wrong, and nothing was run."),
    ("128+N", "Signal N ended the run; what was measured until then is reported."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("IODYNO_ALSO", "Words of --also for every tool, before those of the command line."),
    (
        "IODYNO_FINDINGS",
        "1: print the findings after a tool's report, also under the original's name; 0: print none.",
    ),
    ("IODYNO_HISTORY", "The file of the history; off: keep no run."),
    ("IODYNO_UNITS", "MB/s (default), MiB/s or Gbit/s for all data rates; --units overrides it."),
    ("COLUMNS", "Columns of all text, 40 to 140; default: those of the terminal, or 80."),
    ("NO_COLOR, TERM=dumb", "Plain text."),
    ("XDG_DATA_HOME", "Where the history lies; default: ~/.local/share."),
];

const FILES: &[(&str, &str)] = &[("$XDG_DATA_HOME/iodyno/history.sqlite", "The history of runs.")];

const MEASURE_FILES: &[(&str, &str)] = &[
    (
        ".iodyno-measure-*",
        "Temporary files in the directory that is measured; removed at the end, or by the next run where this one was killed.",
    ),
    (
        "PREFIX/iodyno-measure-*/",
        "Objects in the store that is measured; removed likewise (after a kill: in buckets of S3).",
    ),
];

/// A section of words with a paragraph each.
fn section(title: &str, rows: &[(&str, &str)]) -> String {
    let row = |(word, text): &(&str, &str)| format!(".TP\n\\fB{}\\fR\n{}\n", roff(word), roff(text));
    format!(".SH {title}\n{}", rows.iter().map(row).collect::<String>())
}

fn prose(title: &str, text: &str) -> String {
    format!(".SH {title}\n{}\n", roff(text))
}

fn verbatim(title: &str, text: &str) -> String {
    format!(".SH {title}\n.nf\n{}\n.fi\n", text.lines().map(roff).collect::<Vec<_>>().join("\n"))
}

/// A line of text, without what roff takes for orders.
fn roff(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_gives_roff_no_orders() {
        assert_eq!(roff(".iodyno-x \\n"), "\\&.iodyno\\-x \\en");
        assert_eq!(verbatim("A", "'b\nc"), ".SH A\n.nf\n\\&'b\nc\n.fi\n");
    }
}
