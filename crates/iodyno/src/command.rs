//! Which command is meant: by the executable's name when it is a dialect's, else by the first argument.

use clap::{Arg, Command};
use iodyno_dialect::hosts::Elsewhere;
use iodyno_dialect::{DIALECTS, Dialect, ReportFile, Request, native};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin};
use iodyno_report::native::Native;
use iodyno_report::table::wrapped;

use crate::accelerators;
use crate::archive::TypedCommand;
use crate::audit;
use crate::cache_command;
use crate::checkpoint;
use crate::ci;
use crate::compare;
use crate::crash;
use crate::crash_view;
use crate::doctor;
use crate::explain;
use crate::extension_options::{self, ExtensionOptions};
use crate::finding_page;
use crate::hosts::{self, RemoteCommand};
use crate::k8s;
use crate::kv_cache;
use crate::limits;
use crate::lists;
use crate::load_curve;
use crate::loader::HostLoader;
use crate::manual;
use crate::neighbours;
use crate::powerfail;
use crate::progress;
use crate::prompt;
use crate::pts;
use crate::record;
use crate::report;
use crate::rerun;
use crate::runs::{self, print};
use crate::session::{self, OutputPolicy, say};
use crate::simulated_device;
use crate::sink;
use crate::studio;
use crate::terminal;
use crate::trace;
use crate::tui;
use crate::tune;
use crate::vector_search;
use crate::watch;
use crate::whatif;
use crate::why;

/// Runs a command and returns the exit status. Under a launcher, what runs a plan is answered by the first rank; all
/// others do what it says and end as it does.
pub fn answer(name: &str, arguments: &[String]) -> u8 {
    let is_drop_in = DIALECTS.iter().any(|dialect| dialect.drop_in && dialect.name == name);
    // Whatever is started next, settings of a device that a killed program changed are not measured.
    let left = tune::restore_left();
    if !is_drop_in {
        left.iter().for_each(say);
    }
    let taken = if is_drop_in { Ok((None, arguments.to_vec())) } else { without_units(arguments) };
    let chosen = taken.and_then(|(units, rest)| terminal::choose_units(units.as_deref()).map(|()| rest));
    let arguments = match &chosen {
        Ok(arguments) => arguments,
        Err(wrong) => {
            say(wrong);
            return 2;
        }
    };
    if !runs(name, arguments) {
        return answer_in(&mut World::alone(), name, arguments);
    }
    let mut world = match World::find() {
        Ok(world) => world,
        Err(failure) => {
            say(Diagnostic { hint: failure.hint, ..Diagnostic::error(&Origin::Default, failure.message) });
            return 2;
        }
    };
    if !world.is_first() {
        return iodyno_engine::follow(world, &mut |wrong| say(wrong));
    }
    let status = answer_in(&mut world, name, arguments);
    iodyno_engine::part(world, status, &mut |wrong| say(wrong))
}

/// The unit that `--units` names, and the other arguments. Behind the name of an original all words are the original's.
fn without_units(arguments: &[String]) -> Result<(Option<String>, Vec<String>), Diagnostic> {
    let (mut units, mut kept) = (None, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--units") {
            Some("") => {
                let value = words.next().ok_or_else(|| {
                    Diagnostic::error(&Origin::argument(word), "a unit must follow")
                        .hint("e.g. --units MiB/s")
                })?;
                units = Some(value.clone());
            }
            Some(rest) if rest.starts_with('=') => units = Some(rest[1..].to_string()),
            _ => kept.push(word.clone()),
        }
        if kept.len() == 1 && DIALECTS.iter().any(|dialect| dialect.drop_in && dialect.name == kept[0]) {
            kept.extend(words.by_ref().cloned());
        }
    }
    Ok((units, kept))
}

/// Whether a command may run something: the others are done without looking for a launcher.
fn runs(name: &str, arguments: &[String]) -> bool {
    let is_dialect = |word: &str, drop_in: bool| {
        DIALECTS.iter().any(|dialect| dialect.name == word && (dialect.drop_in || !drop_in))
    };
    is_dialect(name, true)
        || arguments.first().is_some_and(|word| {
            ["run", "rerun"].contains(&word.as_str())
                || EXPERIMENTS.contains(&word.as_str())
                || is_dialect(word, false)
        })
}

/// Commands that run several plans, which depend on what the ones before found; done anew as a whole.
pub const EXPERIMENTS: [&str; 11] = [
    "accelerators",
    "checkpoint",
    "ci",
    "kv-cache",
    "vector-search",
    "load-curve",
    "limits",
    "neighbours",
    "pts",
    "tune",
    "watch",
];

/// Those whose plans have a part for each rank.
const OVER_RANKS: [&str; 4] = ["accelerators", "checkpoint", "kv-cache", "vector-search"];

/// Refuses ranks of the others, since several would each do all of it at once.
fn alone(world: &World, word: &str) -> Result<(), Diagnostic> {
    if world.is_alone() || !EXPERIMENTS.contains(&word) || OVER_RANKS.contains(&word) {
        return Ok(());
    }
    let message =
        format!("{} ranks would each make an experiment of their own at the same time", world.size());
    let hint = match word {
        "load-curve" => {
            "leave the launcher out; --clients N are clients on this machine, each with a file set of its own"
        }
        _ => "leave the launcher out; workers of one rank are said in a plan: workers = N",
    };
    Err(Diagnostic::error(&Origin::argument(word), message).hint(hint))
}

/// The same in a world that is known.
pub fn answer_in(world: &mut World, name: &str, arguments: &[String]) -> u8 {
    if let Some(dialect) = DIALECTS.iter().find(|dialect| dialect.drop_in && dialect.name == name) {
        let policy = OutputPolicy { original: true, ..OutputPolicy::from_environment() };
        return dialect_answer(world, dialect, arguments, policy);
    }
    let Some((word, rest)) = arguments.split_first() else {
        print(&commands().render_help().to_string());
        return 2;
    };
    let is_drop_in = DIALECTS.iter().any(|dialect| dialect.drop_in && dialect.name == *word);
    if matches!(rest, [only] if only == "--version") && !is_drop_in {
        return print(&format!("iodyno {}\n", env!("CARGO_PKG_VERSION")));
    }
    if let Err(wrong) = alone(world, word) {
        say(wrong);
        return 2;
    }
    match word.as_str() {
        "plan" => explain::answer(world, rest),
        "run" => plan_run(world, rest),
        "report" => report::answer(rest),
        "runs" => runs::answer(rest),
        "compare" => compare::answer(world, rest),
        "ci" => ci::answer(world, rest),
        "audit" => audit::answer(world, rest),
        "rerun" => rerun::answer(world, rest),
        "import" => runs::import(rest),
        "record" => record::answer(rest),
        "trace" => trace::answer(rest),
        "load-curve" => load_curve::answer(world, rest),
        "accelerators" => accelerators::answer(world, rest),
        "kv-cache" => kv_cache::answer(world, rest),
        "vector-search" => vector_search::answer(world, rest),
        "checkpoint" => checkpoint::answer(world, rest),
        "k8s" => k8s::answer(world, rest),
        "limits" => limits::answer(world, rest),
        "neighbours" => neighbours::answer(world, rest),
        "powerfail" => powerfail::answer(rest),
        "pts" => pts::answer(world, rest),
        "tune" => tune::answer(world, rest),
        "watch" => watch::answer(world, rest),
        "why" => why::answer(rest),
        "whatif" => whatif::answer(world, rest),
        "crash" => crash_view::answer(rest).unwrap_or_else(|| crash::answer(rest)),
        "explain" => finding_page::answer(rest),
        "cache" => cache_command::answer(rest),
        "studio" => studio::answer(rest),
        "doctor" => doctor::answer(rest),
        "tui" => tui::answer(rest),
        "engines" => lists::engines(rest),
        "devices" => lists::devices(rest),
        "dialects" => lists::dialects(rest),
        "witnesses" => lists::witnesses(rest),
        "completions" => lists::completions(rest, &mut commands()),
        "man" => manual::answer(world, rest, commands(), &commands_list()),
        "links" => lists::links(rest),
        "--version" | "-V" => print(&format!("iodyno {}\n", env!("CARGO_PKG_VERSION"))),
        "help" | "--help" | "-h" => print(&commands().render_help().to_string()),
        word => match DIALECTS.iter().find(|dialect| dialect.name == word) {
            Some(dialect) => tool(world, dialect, rest),
            None => unknown(word),
        },
    }
}

/// A tool by its name behind ours.
fn tool(world: &mut World, dialect: &'static Dialect, rest: &[String]) -> u8 {
    // First: a wrong word of it is told before minutes of rules, and it takes the file system away.
    let durability = (dialect.name == "posix").then(|| iodyno_dialect::posix::durability(rest)).flatten();
    let durable = durability.map_or(0, |words| powerfail::answer(&words));
    if durable > 1 {
        return durable;
    }
    dialect_answer(world, dialect, rest, OutputPolicy::from_environment()).max(durable)
}

/// Runs a plan file.
fn plan_run(world: &mut World, arguments: &[String]) -> u8 {
    let paint = terminal::out_paint();
    let reporter = |manner: &native::Manner| Box::new(Native::new(paint).details(manner.details)) as _;
    native_run(world, "run", arguments, &|rest, loader| native::run(rest, loader, &reporter))
}

/// The help of a tool; nothing: it has none.
pub fn help_of(world: &World, dialect: &Dialect) -> Option<String> {
    let mut loader = HostLoader::new(world);
    loader.talks = true;
    match (dialect.lower)(&["--help".to_string()], &mut loader) {
        Ok(Request::Print { out, .. }) => Some(out),
        _ => None,
    }
}

fn dialect_answer(world: &mut World, dialect: &Dialect, arguments: &[String], policy: OutputPolicy) -> u8 {
    if !dialect.drop_in {
        return native_run(world, dialect.name, arguments, &|rest, loader| (dialect.lower)(rest, loader));
    }
    let environment = std::env::var("IODYNO_ALSO").ok();
    let (also, arguments) = match ExtensionOptions::load(arguments, environment.as_deref(), world) {
        Ok(taken) => taken,
        Err(wrong) => {
            wrong.iter().for_each(say);
            return 2;
        }
    };
    if also.lists_words {
        return print(&extension_options::help(dialect));
    }
    let unknown = |(word, _): &&(String, String)| !dialect.also.contains(&word.as_str());
    if let Some((word, _)) = also.dialect_words.iter().find(unknown) {
        let message = format!("`{word}` means nothing to {}", dialect.name);
        say(Diagnostic::error(&Origin::argument("--also"), message).hint("leave it out"));
        return 2;
    }
    let words: Vec<String> = also.shaping().into_iter().chain(arguments.iter().cloned()).collect();
    let asked = TypedCommand::new(dialect.name, &words, false);
    let policy = OutputPolicy { asked, ..policy };
    let mut loader = HostLoader::new(world);
    loader.also = also.loader_words();
    loader.device_bytes = also.device.as_ref().map(simulated_device::capacity_bytes);
    loader.talks = !policy.original;
    let elsewhere = match also.elsewhere(&mut loader) {
        Ok(elsewhere) => elsewhere,
        Err(wrong) => {
            say(&wrong);
            return 2;
        }
    };
    if let Some(elsewhere) = &elsewhere {
        loader.world = elsewhere.world();
    }
    let mut request = (dialect.lower)(&arguments, &mut loader);
    if arguments == ["--help"]
        && let Ok(Request::Print { out, status: 0 }) = &mut request
    {
        out.push_str(ALSO_HELP);
    }
    if let Some(there) = destination(elsewhere.as_ref(), &request, loader.looked()) {
        let words = std::iter::once(dialect.name.to_string()).chain(arguments.iter().cloned());
        let (arguments, also, files) = (words.collect(), also.kept.clone(), loader.files);
        return hosts::go(there, &RemoteCommand { arguments, also, files, original: policy.original });
    }
    drop_in_answer(world, also, request, &policy)
}

/// Runs what a drop-in asked for, with the words of `--also`.
fn drop_in_answer(
    world: &mut World,
    also: ExtensionOptions,
    mut request: Result<Request, Vec<Diagnostic>>,
    policy: &OutputPolicy,
) -> u8 {
    let run = match &mut request {
        // A drop-in's refusal is the original's text, word for word; what is wrong with our own words is told as ours.
        Err(wrong) => {
            let own = Origin::argument("--also");
            for wrong in wrong {
                if wrong.origin == own { say(wrong) } else { say(&wrong.message) }
            }
            return 1;
        }
        Ok(Request::Run(run)) => Some(&mut **run),
        Ok(Request::Converse(talk)) => Some(&mut talk.run),
        Ok(_) => None,
    };
    if let Some(Err(wrong)) = run.map(|run| also.clone().join(run)) {
        say(&wrong);
        return 2;
    }
    match request {
        Ok(Request::Prompt(typed)) => prompt::answer(world, typed, &|run| also.clone().join(run), policy),
        request => session::answer(world, request, policy),
    }
}

/// Where a command goes instead of being done here: where it was told to go, or where the dialect says. What is only
/// printed is printed here, and so is what is wrong with it anywhere.
fn destination<'a>(
    told: Option<&'a Elsewhere>,
    request: &'a Result<Request, Vec<Diagnostic>>,
    looked: bool,
) -> Option<&'a Elsewhere> {
    match (told, request) {
        (Some(there), Ok(Request::Run(_))) => Some(there),
        // What is wrong on this machine may be right on that.
        (Some(there), Err(_) | Ok(Request::Refuse { .. })) if looked => Some(there),
        (None, Ok(Request::Hosts(there))) => Some(there),
        _ => None,
    }
}

/// Native commands that run a plan on a storage, which may be simulated.
const ON_DEVICE: &[&str] = &["run", "measure", "replay", "io500"];

/// From a command's arguments to what it asks for.
type Lowering<'a> = dyn Fn(&[String], &mut HostLoader) -> Result<Request, Vec<Diagnostic>> + 'a;

/// Lowers a native command, puts it on the simulated device that it names, and does it.
fn native_run(world: &mut World, name: &str, arguments: &[String], lower: &Lowering) -> u8 {
    let mut loader = HostLoader::new(world);
    if !ON_DEVICE.contains(&name) {
        let request = lower(arguments, &mut loader);
        return native_answer(world, name, arguments, request, &mut loader);
    }
    let (followed, known) = match progress::take(arguments) {
        Ok(taken) => taken,
        Err(wrong) => {
            say(wrong);
            return 2;
        }
    };
    let (device, rest) = match simulated_device::take(&known, world) {
        Ok(taken) => taken,
        Err(wrong) => {
            wrong.iter().for_each(say);
            return 2;
        }
    };
    loader.device_bytes = device.as_ref().map(simulated_device::capacity_bytes);
    let mut request = lower(&rest, &mut loader);
    if let (Ok(Request::Run(run)), Some(path)) = (&mut request, followed) {
        run.files.push(ReportFile { path, format: sink::PROGRESS.into() });
    }
    match (&mut request, &device) {
        (Ok(Request::Print { out, status: 0 }), _) if rest == ["--help"] => out.push_str(ON_HELP),
        (Ok(Request::Run(run)), Some(device)) => {
            if name == "io500" {
                simulated_device::leave_out_of_io500(run);
            }
            if let Err(wrong) = simulated_device::put_on(run, device, "--on") {
                request = Err(vec![wrong]);
            }
        }
        (Ok(Request::Hosts(_)), Some(_)) => {
            let wrong = Diagnostic::error(&Origin::argument("--on"), "a simulated device is on one machine");
            request = Err(vec![wrong.hint("leave the hosts out")]);
        }
        _ => {}
    }
    native_answer(world, name, arguments, request, &mut loader)
}

/// Does what a native command asks for, here or on the hosts that it names.
fn native_answer(
    world: &mut World,
    name: &str,
    arguments: &[String],
    request: Result<Request, Vec<Diagnostic>>,
    loader: &mut HostLoader,
) -> u8 {
    let Ok(Request::Hosts(there)) = &request else {
        let asked = TypedCommand::new(name, arguments, true);
        return session::answer(world, request, &OutputPolicy { asked, ..OutputPolicy::from_environment() });
    };
    let words = std::iter::once(name.to_string()).chain(native::on_hosts(arguments));
    let files = std::mem::take(&mut loader.files);
    hosts::go(there, &RemoteCommand { arguments: words.collect(), files, ..RemoteCommand::default() })
}

fn unknown(word: &str) -> u8 {
    let names: Vec<&str> = commands_list().iter().map(|(name, _)| *name).collect();
    let wrong = Diagnostic::error(&Origin::argument(word), "no such command");
    // A beginning that fits one command only needs no guess.
    let beginnings: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(word)).collect();
    let known = if beginnings.is_empty() { names } else { beginnings };
    say(wrong.hint(match known.as_slice() {
        [only] => format!("did you mean `{only}`?"),
        known => native::suggestion(word, known),
    }));
    2
}

/// Every command with one line about it.
fn commands_list() -> Vec<(&'static str, &'static str)> {
    let own = [
        ("plan", "explain what a plan file or a tool's command line does, before it runs"),
        ("run", "run a plan file and report it"),
        ("report", "write an HTML page of runs: charts, latencies, findings"),
        ("runs", "list, show, tag and delete kept runs"),
        ("rerun", "run the plan of a kept run again, with the same seed"),
        ("compare", "compare runs, with confidence intervals"),
        ("ci", "hold a run against a baseline in a pipeline, and say it as Markdown"),
        ("audit", "say what a pasted result of another tool may hide, and what to run again"),
        ("import", "import JSON results of fio, IOR, iperf3 or iodyno into the history"),
        ("record", "record what a program or a device does"),
        ("trace", "show, shape and convert recorded I/O"),
        ("why", "split the latency of a program's I/O: scheduler, device, journal, …"),
        ("load-curve", "find the maximum rate, and the response time below it"),
        ("accelerators", "find how many AI accelerators a storage keeps busy"),
        ("kv-cache", "find how many requests a key-value cache on a storage serves in time"),
        ("vector-search", "find how many vector searches a storage answers each second"),
        ("checkpoint", "measure how long checkpoints of a language model take, and a restart"),
        ("limits", "find the caps, bursts and accounting of a volume by experiment"),
        ("neighbours", "see how two workloads slow each other down, with and without a limit"),
        ("powerfail", "check after a power cut that storage kept what it promised"),
        ("pts", "test a solid-state drive by SNIA's specification, until it is steady"),
        ("tune", "measure a disk under other settings of its queue, and restore them"),
        ("watch", "watch a storage for months by tiny probes, and tell when it becomes slower"),
        ("crash", "what a crash leaves of a file system, and of your files in it"),
        ("whatif", "a workload on simulated devices, side by side; what a store can promise"),
        ("explain", "explain a finding: how the number misleads, what to set"),
        ("cache", "show how much of files is in the page cache, and drop it"),
        ("studio", "design, run, watch and compare measurements in a browser"),
        ("doctor", "say what this machine lacks for measuring, and how to get it"),
        ("k8s", "print a Kubernetes manifest that runs a command in a cluster"),
        ("tui", "plans, history and comparisons in the full screen"),
        ("engines", "list the engines and whether they are available here"),
        ("devices", "list the simulated devices that tools can run on"),
        ("dialects", "list the supported tools"),
        ("witnesses", "list the witnesses and what they read"),
        ("links", "make a link for each tool's name in a directory"),
        ("completions", "print a completion script for a shell"),
        ("man", "print or write the manual pages (roff)"),
    ];
    DIALECTS.iter().map(|dialect| (dialect.name, dialect.about)).chain(own).collect()
}

/// The groups of the help text, with the names of their commands.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Measure",
        &[
            "measure",
            "load-curve",
            "accelerators",
            "kv-cache",
            "vector-search",
            "checkpoint",
            "limits",
            "neighbours",
            "pts",
            "tune",
            "watch",
            "run",
            "plan",
            "studio",
            "k8s",
            "age",
        ],
    ),
    (
        "Storage tools",
        &[
            "fio",
            "ior",
            "mdtest",
            "md-workbench",
            "bonnie++",
            "postmark",
            "dbench",
            "smallfile",
            "elbencho",
            "io500",
            "iozone",
            "iometer",
            "vdbench",
            "diskspd",
            "filebench",
            "dd",
            "hdparm",
            "iostat",
            "warp",
            "dlio",
            "dlio_benchmark",
        ],
    ),
    ("Network", &["net", "iperf3", "iperf", "netperf", "netserver"]),
    ("Verify", &["posix", "s3check", "crash", "powerfail", "pjdfstest", "fstest"]),
    ("Compute", &["whatif"]),
    ("Traces", &["record", "replay", "trace"]),
    ("History", &["tui", "runs", "report", "compare", "ci", "rerun", "import"]),
    ("Understand", &["explain", "audit", "cache", "why"]),
    (
        "This program",
        &["doctor", "engines", "devices", "dialects", "witnesses", "links", "completions", "man"],
    ),
];

/// The help text: all commands in groups.
fn help() -> String {
    let list = commands_list();
    let columns = terminal::out_paint().columns.min(HELP_COLUMNS);
    let mut text = format!("{}\n\nUsage: iodyno [COMMAND]\n", "The dynamometer for I/O");
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{group}:\n"));
        for (name, about) in names.iter().filter_map(|name| list.iter().find(|(known, _)| known == name)) {
            text.push_str(&format!("  {name:12} {}\n", wrapped(about, columns - 15, 15)));
        }
    }
    let units = wrapped("MB/s, MiB/s or Gbit/s for all data rates that are printed", columns - 17, 17);
    text + &format!(
        "\nOptions:\n      --units U  {units}\n  -h, --help     Print help\n  -V, --version  Print version\n\n\
         Begin with: iodyno measure .\nEvery command has its own --help.\n"
    )
}

/// Columns of the help text, unless the terminal has fewer.
const HELP_COLUMNS: usize = 80;
/// Behind the help of a tool.
const ALSO_HELP: &str = "\nWith --also WORDS it takes options of iodyno; --also help lists them.\n";

/// Behind the help of a native command that runs a plan.
const ON_HELP: &str = "\nWith --on DEVICE it runs in virtual time on a simulated device; iodyno devices lists them.\n\
     With --progress FILE it writes what happens, each second, as lines of JSON.\n";

/// The command tree, for help, completions and the manual.
fn commands() -> Command {
    let rest = || Arg::new("arguments").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
    let sub = |(name, about): &(&'static str, &'static str)| Command::new(*name).about(*about).arg(rest());
    Command::new("iodyno")
        .about("The dynamometer for I/O")
        .version(env!("CARGO_PKG_VERSION"))
        .override_help(help())
        .after_help("Begin with: iodyno measure .\nEvery command has its own --help.")
        .disable_help_subcommand(true)
        .subcommands(commands_list().iter().map(sub))
}
