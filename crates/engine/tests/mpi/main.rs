//! Worlds of real MPI ranks: this program starts itself under every MPI that is here, each rank in a role.
//!
//! What is missing is skipped with its reason and counted. Launches are short and of few ranks. Nobody asks how long
//! anything took: a world is judged by what its ranks heard, counted and said.

#![allow(unsafe_code)]

use std::process::{Command, ExitCode};

use sites::Site;
use testbed::{Case, Need, Outcome, Skip};

mod launch;
mod roles;
mod sites;

use launch::{ROLE, well};
use testbed::program::ProgramOutput;

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        roles::play(&role);
    }
    let mut cases = vec![
        case("no_launcher_is_one_rank_and_no_library", no_launcher),
        case("a_forbidden_library_leaves_ranks_alone", forbidden),
        case("a_library_that_is_not_there_is_named", not_there),
        case("the_wrong_library_is_told_by_both_numbers", mismatch),
    ];
    for site in Site::ALL {
        let mut add = |name: &str, body: fn(Site) -> Outcome| {
            cases.push(Case::new(format!("{}::{name}", site.name()), &[], move || body(site)));
        };
        add("ranks_come_together", come_together);
        add("messages_keep_their_order", messages);
        add("facts_and_clocks", facts_and_clocks);
        add("one_rank_ends_all", one_ends_all);
        add("a_killed_rank_hangs_nobody", killed);
        // Starting so many takes seconds, and waiting is the same code everywhere.
        if matches!(site, Site::DebianOpenMpi | Site::DebianMpich) {
            add("waiting_burns_nothing", crowd);
        }
    }
    let spaces = [Need::Root, Need::Tool("unshare"), Need::Tool("hostname")];
    cases.push(Case::new("two_names_are_two_nodes", &spaces, two_nodes));
    cases.push(Case::new("a_clock_of_another_namespace_is_measured", &spaces, two_clocks));
    testbed::run(cases)
}

fn case(name: &str, body: fn() -> Outcome) -> Case {
    Case::new(name, &[], body)
}

fn ranks(site: Site, ranks: u32, role: &str) -> Result<ProgramOutput, Box<dyn std::error::Error>> {
    Ok(launch::launch(site.launcher()?, ranks, role)?)
}

fn require(condition: bool, what: impl std::fmt::Display) -> Outcome {
    if condition { Ok(()) } else { Err(what.to_string().into()) }
}

/// The lines of what was printed that begin with a word, without it.
fn lines<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect()
}

fn come_together(site: Site) -> Outcome {
    Ok(well(&ranks(site, 3, "together")?)?)
}

fn messages(site: Site) -> Outcome {
    Ok(well(&ranks(site, 3, "mail")?)?)
}

fn facts_and_clocks(site: Site) -> Outcome {
    let ended = ranks(site, 2, "facts")?;
    well(&ended)?;
    let text = ended.all();
    let mut seen = lines(&text, "facts");
    seen.sort_unstable();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for (rank, line) in seen.iter().enumerate() {
        let expected =
            format!("{rank} of 2 place {rank} hosts {} nodes [0, 0] library {}", host.trim(), site.version());
        require(line.starts_with(&expected), format!("`{line}` instead of `{expected}…`"))?;
    }
    require(seen.len() == 2, ended.all())?;
    let ended = ranks(site, 2, "clocks")?;
    well(&ended)?;
    let apart = clocks(&ended.all())?;
    // Both read the same clock; what is left is how exactly each has scaled its counter.
    let off = |(ahead, error): &(i64, u64)| ahead.unsigned_abs() > error + SCALED_NS || *error > SECOND_NS;
    require(apart.len() == 2 && !apart.iter().any(off), format!("{apart:?}"))
}

/// By how much two counters that were scaled apart may differ, ns.
const SCALED_NS: u64 = 1_000_000;
/// No bound of a clock's error that is worth its name is larger, ns.
const SECOND_NS: u64 = 1_000_000_000;

/// Each rank's clock: how far it is ahead of the first one's, and the error, ns.
fn clocks(text: &str) -> Result<Vec<(i64, u64)>, Box<dyn std::error::Error>> {
    let one = |line: &str| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    lines(text, "clock").into_iter().map(|line| one(line).ok_or_else(|| line.to_string().into())).collect()
}

fn one_ends_all(site: Site) -> Outcome {
    let ended = ranks(site, 3, "abort")?;
    let code = ended.status.code();
    require(code == Some(3), format!("{code:?} instead of 3:\n{}", ended.all()))
}

fn killed(site: Site) -> Outcome {
    let ended = ranks(site, 3, "die")?;
    require(!ended.status.success(), format!("{ended:?}"))?;
    let text = ended.all();
    let seen = lines(&text, "survivor");
    require(seen.iter().all(|line| line.contains("Err(BrokenWorld(")), ended.all())?;
    eprintln!("{}: {seen:?}", site.name());
    Ok(())
}

/// Whoever spins never leaves its processor by itself, but by the library's yields; whoever waits leaves it with each look,
/// and takes little of it in between.
fn crowd(site: Site) -> Outcome {
    let ended = ranks(site, 64, "crowd")?;
    well(&ended)?;
    let text = ended.all();
    let seen = lines(&text, "crowd");
    eprintln!("{}: {seen:?}", site.name());
    let words = seen.first().ok_or("nothing was said")?.split(' ');
    let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>()?;
    let [ranks, left, thrown, used_us] = numbers[..] else { return Err(text.into()) };
    require(ranks == 64, &text)?;
    let how = format!("{left} times waiting ranks left their processor, {thrown} times they yielded it");
    require(left * 8 > left + thrown, how)?;
    let look_us = used_us / left.max(1);
    require(look_us < 1000, format!("{look_us} µs of a processor for each look"))
}

fn alone(role: &str, variables: &[(&str, &str)]) -> Result<ProgramOutput, Box<dyn std::error::Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.envs(variables.iter().copied());
    Ok(launch::run(command, role)?)
}

fn no_launcher() -> Outcome {
    let ended = alone("facts", &[])?;
    well(&ended)?;
    let text = ended.all();
    let seen = lines(&text, "facts");
    require(seen.len() == 1 && seen[0].starts_with("0 of 1 place 0 "), ended.all())?;
    require(seen[0].ends_with("library none"), ended.all())
}

fn forbidden() -> Outcome {
    let ended = alone("facts", &[("OMPI_COMM_WORLD_SIZE", "4"), ("IODYNO_MPI", "off")])?;
    well(&ended)?;
    require(ended.all().contains("0 of 1 "), ended.all())
}

fn not_there() -> Outcome {
    let ended = alone("facts", &[("PMI_SIZE", "2"), ("IODYNO_MPI", "/nowhere/libmpi.so")])?;
    require(ended.all().contains("cannot: MPICH's mpiexec started this, but no MPI library"), ended.all())?;
    require(ended.all().contains("/nowhere/libmpi.so (cannot open"), ended.all())?;
    require(ended.all().contains("IODYNO_MPI=off"), ended.all())
}

/// Under one's launcher with the other's library each process is a world of its own.
fn mismatch() -> Outcome {
    let mut launcher = Site::DebianMpich.launcher()?;
    Site::DebianOpenMpi.launcher()?;
    launcher.env("IODYNO_MPI", "libmpi.so.40");
    let ended = launch::launch(launcher, 2, "facts")?;
    require(!ended.status.success(), format!("{ended:?}"))?;
    let expected = "cannot: MPICH's mpiexec says that there are 2 ranks, but Open MPI ";
    require(ended.all().contains(expected), ended.all())?;
    require(ended.all().contains("sees 1: it is not the launcher's library"), ended.all())
}

/// A launcher with two programs: the second rank is wrapped in another command.
fn wrapped(site: Site, role: &str, wrapper: &[&str]) -> Result<ProgramOutput, Box<dyn std::error::Error>> {
    let own = std::env::current_exe()?;
    let mut launcher = site.launcher()?;
    launcher.args(["-n", "1"]).arg(&own).args([":", "-n", "1"]).args(wrapper).arg(&own);
    let ended = launch::run(launcher, role)?;
    if ended.all().contains("unshare:") {
        return Err(Skip::new(format!("no such namespace here: {}", ended.all().trim())).into());
    }
    well(&ended)?;
    Ok(ended)
}

fn two_nodes() -> Outcome {
    let script = "hostname elsewhere && exec \"$@\"";
    for site in [Site::DebianMpich, Site::DebianOpenMpi] {
        let ended = wrapped(site, "facts", &["unshare", "--uts", "sh", "-c", script, "sh"])?;
        let text = ended.all();
        let seen = lines(&text, "facts");
        let second = seen.iter().find(|line| line.starts_with("1 ")).ok_or("no second rank")?;
        require(second.contains("place 0") && second.contains(",elsewhere nodes [0, 1]"), second)?;
    }
    Ok(())
}

/// The known answer: a namespace whose clock is 1,000 s ahead.
fn two_clocks() -> Outcome {
    let wrapper = ["unshare", "--time", "--monotonic", "1000", "--fork"];
    for site in [Site::DebianMpich, Site::DebianOpenMpi] {
        let ended = wrapped(site, "clocks", &wrapper)?;
        let apart = clocks(&ended.all())?;
        eprintln!("{}: {apart:?}", site.name());
        let (ahead, error) = *apart.get(1).ok_or("no second rank")?;
        let off = (ahead - 1_000_000_000_000).unsigned_abs();
        require(off <= error, format!("off by {off} ns with an error of at most {error} ns"))?;
        require(error < SECOND_NS, format!("{error} ns"))?;
    }
    Ok(())
}
