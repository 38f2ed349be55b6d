//! `--help`, `--cmdhelp`, `--enghelp` and the like, in fio's layouts and our own words.
//!
//! It refuses to say anything that the tables do not say.

use std::fmt::Write as _;

use super::VERSION;
use super::options::program::PROGRAM;
use super::options::{self, ENGINES, JobOption, OPTIONS, ValueType};
use crate::option::{Status, nearest};

/// `--cpuclock-test`: the engine room judges its clock at every start.
pub const CLOCK: &str =
    "cs: the clock is chosen and checked at every start; `iodyno measure` prints which it is\n";

/// `--help`.
pub fn usage() -> String {
    let mut text = format!("{VERSION}\nfio [options] [job options] <job file(s)>\n");
    for entry in PROGRAM.entries {
        let value = match entry.value {
            "" => String::new(),
            value if value.starts_with('[') => format!("[={}]", value.trim_matches(['[', ']'])),
            value => format!("={}", value.to_lowercase()),
        };
        let _ = writeln!(text, "  --{}{value}\t{}{}", entry.name, entry.help, entry.status.remark());
    }
    text + "\nJob options are explained by --cmdhelp=all and --cmdhelp=OPTION.\n"
}

/// `--cmdhelp[=OPTION]` and the exit status.
pub fn option(name: &str) -> (String, i32) {
    if name.is_empty() || name == "all" {
        return (OPTIONS.iter().filter(|option| option.is_general()).map(line).collect(), 0);
    }
    match options::find(name).filter(|option| option.is_general()) {
        Some(option) => (details(option), 0),
        None => {
            let core = OPTIONS.iter().filter(|option| option.is_general());
            (closest(name, core), 0)
        }
    }
}

/// `--enghelp[=ENGINE[,OPTION]]` and the exit status.
pub fn engine(asked: &str) -> (String, i32) {
    let (name, option) = asked.split_once(',').unwrap_or((asked, ""));
    if name.is_empty() {
        let usable = ENGINES.iter().filter(|word| !matches!(word.status, Status::Refused(..)));
        let list: String = usable.map(|word| format!("\t{}\n", word.name)).collect();
        return (format!("Available IO engines:\n{list}"), 0);
    }
    match ENGINES.iter().find(|word| word.name == name).map(|word| (word.name, word.status)) {
        None => (format!("fio: engine {name} not loadable\nIO engine {name} not found\n"), 1),
        Some((name, Status::Refused(why, hint))) => {
            (format!("IO engine {name} not here: {why}; {hint}\n"), 1)
        }
        Some((name, _)) => engine_options(name, option),
    }
}

fn engine_options(engine: &'static str, option: &str) -> (String, i32) {
    let own = || OPTIONS.iter().filter(move |option| option.rule.engines.contains(&engine));
    if own().next().is_none() {
        return (format!("IO engine {engine} has no options\n"), 0);
    }
    if option.is_empty() {
        return (own().map(line).collect(), 0);
    }
    match own().find(|known| known.entry.answers_to(option)) {
        Some(option) => (details(option), 0),
        None => (closest(option, own()), 1),
    }
}

fn closest(name: &str, rows: impl Iterator<Item = &'static JobOption> + Clone) -> String {
    let names = rows.clone().map(|option| option.entry.name);
    match nearest(name, names).and_then(options::find) {
        Some(option) => format!("No such command: {name} - showing closest match\n{}", details(option)),
        None => format!("No such command: {name}\n"),
    }
}

/// One line of a list: the name in 24 columns, indented below what it depends on.
fn line(option: &JobOption) -> String {
    let (indent, name) = (option.rule.depth * 2, option.entry.name);
    let width = 24usize.saturating_sub(indent);
    format!("{:indent$}{name:<width$}: {}{}\n", "", option.entry.help, option.entry.status.remark())
}

/// All about one option.
pub fn details(option: &JobOption) -> String {
    let mut text = String::new();
    let entry = &option.entry;
    let _ = writeln!(text, "{:>20}: {}{}", entry.name, entry.help, entry.status.remark());
    if let Some(alias) = entry.aliases.first() {
        let _ = writeln!(text, "{:>20}: {alias}", "alias");
    }
    let _ = writeln!(text, "{:>20}: {}", "type", type_of(option));
    let default = if entry.default.is_empty() { "no default" } else { entry.default };
    let _ = writeln!(text, "{:>20}: {default}", "default");
    text += &range(option);
    for (index, word) in entry.words().iter().enumerate() {
        let label = if index == 0 { "valid values" } else { "" };
        let _ = writeln!(text, "{label:>20}: {:<10} {}{}", word.name, word.help, word.status.remark());
    }
    if let Status::Ignored(why) | Status::Refused(why, _) = entry.status {
        let _ = writeln!(text, "{:>20}: {why}", "here");
    }
    text + "\n"
}

fn type_of(option: &JobOption) -> &'static str {
    match option.rule.value {
        ValueType::Flag => "boolean value (opt=1)",
        ValueType::Switch => "empty or boolean value ([0|1])",
        ValueType::Whole(..) | ValueType::Triple(..) | ValueType::Bytes(..) => "integer value (opt=100)",
        ValueType::Amount => "string with possible k/m/g postfix (opt=4k)",
        ValueType::Time(_) | ValueType::Times | ValueType::Latencies => "string with time postfix (opt=10s)",
        ValueType::Ranges => "one to three ranges (opt=1k-4k[,4k-8k[,1k-8k]])",
        ValueType::Decimals(..) => "list of floating point values separated by ':' (opt=5.9:7.8)",
        _ => "string (opt=bla)",
    }
}

/// The bounds; -1 is no upper bound.
fn range(option: &JobOption) -> String {
    if option.rule.bounded == Some(false) {
        return String::new();
    }
    let bounds = match option.rule.value {
        _ if option.rule.bounded == Some(true) => "min=0, max=-1".to_string(),
        ValueType::Flag => "min=0, max=1".to_string(),
        ValueType::Whole(least, most) | ValueType::Triple(least, most) | ValueType::Bytes(least, most) => {
            let most = if most >= i64::from(u32::MAX) { -1 } else { most };
            format!("min={least}, max={most}")
        }
        ValueType::Decimals(least, most) if most < f64::from(i32::MAX) => {
            format!("min={least:.6}, max={most:.6}")
        }
        ValueType::Range | ValueType::Ranges => "min=1".to_string(),
        _ => return String::new(),
    };
    format!("{:>20}: {bounds}\n", "range")
}

/// `--crctest`: the names it knows, or which it does not.
pub fn checksums(names: &str) -> (String, i32) {
    let known = || {
        options::find("verify").map_or(&[][..], |option| option.entry.words()).iter().map(|word| word.name)
    };
    for name in names.split(',').filter(|name| !name.is_empty()) {
        if !known().any(|known| known == name) {
            let list: String =
                known().filter(|known| *known != "0").map(|name| format!("{name}\n")).collect();
            return (format!("fio: unknown hash `{name}`. Available:\n{list}"), 1);
        }
    }
    ("fio: checksums are not timed here; cargo xtask bench does\n".to_string(), 1)
}
