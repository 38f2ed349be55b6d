//! Worlds of real MPI ranks: this program starts itself under every MPI that is here, each rank in a role.
//!
//! What is missing is skipped with its reason and counted. Launches are short and of few ranks, one at a time: two
//! worlds at once on a small machine would measure each other.

#![allow(unsafe_code)]

use std::process::{Command, ExitCode};
use std::time::Duration;

use sites::Site;
use testbed::{Case, Need, Outcome, Skip};

mod launch;
mod roles;
mod sites;

use launch::{Ended, ROLE};

const LIMIT: Duration = Duration::from_secs(90);

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
            cases.push(Case::new(format!("{}::{name}", site.name()), &[], move || body(site)).alone());
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
    cases.push(Case::new("two_names_are_two_nodes", &spaces, two_nodes).alone());
    cases.push(Case::new("a_clock_of_another_namespace_is_measured", &spaces, two_clocks).alone());
    testbed::run(cases)
}

fn case(name: &str, body: fn() -> Outcome) -> Case {
    Case::new(name, &[], body).alone()
}

fn ranks(site: Site, ranks: u32, role: &str) -> Result<Ended, Box<dyn std::error::Error>> {
    Ok(launch::launch(site.launcher()?, ranks, role, LIMIT)?)
}

fn require(condition: bool, what: impl std::fmt::Display) -> Outcome {
    if condition { Ok(()) } else { Err(what.to_string().into()) }
}

/// The lines of what was printed that begin with a word, without it.
fn lines<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect()
}

fn come_together(site: Site) -> Outcome {
    Ok(ranks(site, 3, "together")?.well()?)
}

fn messages(site: Site) -> Outcome {
    Ok(ranks(site, 3, "mail")?.well()?)
}

fn facts_and_clocks(site: Site) -> Outcome {
    let ended = ranks(site, 2, "facts")?;
    ended.well()?;
    let mut seen = lines(&ended.text, "facts");
    seen.sort_unstable();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for (rank, line) in seen.iter().enumerate() {
        let expected =
            format!("{rank} of 2 place {rank} hosts {} nodes [0, 0] library {}", host.trim(), site.version());
        require(line.starts_with(&expected), format!("`{line}` instead of `{expected}…`"))?;
    }
    require(seen.len() == 2, &ended.text)?;
    let ended = ranks(site, 2, "clocks")?;
    ended.well()?;
    let apart = clocks(&ended.text)?;
    // Both read the same clock; what is left is how exactly each has scaled its counter.
    let far = apart.iter().any(|(ahead, error)| ahead.unsigned_abs() > 1_000_000 || *error > 1_000_000);
    require(apart.len() == 2 && !far, format!("{apart:?}"))
}

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
    let code = ended.status.and_then(|status| status.code());
    require(code == Some(3), format!("{code:?} instead of 3:\n{}", ended.text))
}

fn killed(site: Site) -> Outcome {
    let ended = ranks(site, 3, "die")?;
    require(ended.status.is_some_and(|status| !status.success()), format!("{ended:?}"))?;
    let seen = lines(&ended.text, "survivor");
    require(seen.iter().all(|line| line.contains("Err(Broken(")), &ended.text)?;
    eprintln!("{}: ended after {:?}; {seen:?}", site.name(), ended.took);
    require(ended.took < Duration::from_secs(45), format!("{ended:?}"))
}

fn crowd(site: Site) -> Outcome {
    let ended = ranks(site, 64, "crowd")?;
    ended.well()?;
    let seen = lines(&ended.text, "crowd");
    eprintln!("{}: {seen:?} of {:?}", site.name(), ended.took);
    let words: Vec<&str> = seen.first().ok_or("nothing was said")?.split(' ').collect();
    let busy: f64 = words.last().ok_or("nothing was said")?.parse()?;
    let cpus = std::thread::available_parallelism()?.get() as f64;
    require(words[0] == "64", &ended.text)?;
    // Whoever spins takes all processors there are.
    require(busy < cpus / 2.0, format!("64 waiting ranks keep {busy:.2} of {cpus} processors busy"))
}

fn alone(role: &str, variables: &[(&str, &str)]) -> Result<Ended, Box<dyn std::error::Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.envs(variables.iter().copied());
    Ok(launch::run(command, role, LIMIT)?)
}

fn no_launcher() -> Outcome {
    let ended = alone("facts", &[])?;
    ended.well()?;
    let seen = lines(&ended.text, "facts");
    require(seen.len() == 1 && seen[0].starts_with("0 of 1 place 0 "), &ended.text)?;
    require(seen[0].ends_with("library none"), &ended.text)
}

fn forbidden() -> Outcome {
    let ended = alone("facts", &[("OMPI_COMM_WORLD_SIZE", "4"), ("IODYNO_MPI", "off")])?;
    ended.well()?;
    require(ended.text.contains("0 of 1 "), &ended.text)
}

fn not_there() -> Outcome {
    let ended = alone("facts", &[("PMI_SIZE", "2"), ("IODYNO_MPI", "/nowhere/libmpi.so")])?;
    require(ended.text.contains("cannot: MPICH's mpiexec started this, but no MPI library"), &ended.text)?;
    require(ended.text.contains("/nowhere/libmpi.so (cannot open"), &ended.text)?;
    require(ended.text.contains("IODYNO_MPI=off"), &ended.text)
}

/// Under one's launcher with the other's library each process is a world of its own.
fn mismatch() -> Outcome {
    let mut launcher = Site::DebianMpich.launcher()?;
    Site::DebianOpenMpi.launcher()?;
    launcher.env("IODYNO_MPI", "libmpi.so.40");
    let ended = launch::launch(launcher, 2, "facts", LIMIT)?;
    require(ended.status.is_some_and(|status| !status.success()), format!("{ended:?}"))?;
    let expected = "cannot: MPICH's mpiexec says that there are 2 ranks, but Open MPI ";
    require(ended.text.contains(expected), &ended.text)?;
    require(ended.text.contains("sees 1: it is not the launcher's library"), &ended.text)
}

/// A launcher with two programs: the second rank is wrapped in another command.
fn wrapped(site: Site, role: &str, wrapper: &[&str]) -> Result<Ended, Box<dyn std::error::Error>> {
    let own = std::env::current_exe()?;
    let mut launcher = site.launcher()?;
    launcher.args(["-n", "1"]).arg(&own).args([":", "-n", "1"]).args(wrapper).arg(&own);
    let ended = launch::run(launcher, role, LIMIT)?;
    if ended.text.contains("unshare:") {
        return Err(Skip::new(format!("no such namespace here: {}", ended.text.trim())).into());
    }
    ended.well()?;
    Ok(ended)
}

fn two_nodes() -> Outcome {
    let script = "hostname elsewhere && exec \"$@\"";
    for site in [Site::DebianMpich, Site::DebianOpenMpi] {
        let ended = wrapped(site, "facts", &["unshare", "--uts", "sh", "-c", script, "sh"])?;
        let seen = lines(&ended.text, "facts");
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
        let apart = clocks(&ended.text)?;
        eprintln!("{}: {apart:?}", site.name());
        let (ahead, error) = *apart.get(1).ok_or("no second rank")?;
        let off = (ahead - 1_000_000_000_000).unsigned_abs();
        require(off <= error, format!("off by {off} ns with an error of at most {error} ns"))?;
        require(error < 20_000_000, format!("{error} ns"))?;
    }
    Ok(())
}
