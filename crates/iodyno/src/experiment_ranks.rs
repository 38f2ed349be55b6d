//! Experiments on several ranks and hosts: how they get there, and how the report says where something was.
//!
//! Every rank does the same; the first one decides and reports. Refuses simulated devices, whose one clock cannot be kept by
//! several processes.

use iodyno_dialect::Loader;
use iodyno_dialect::native::{self, WorldArguments};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, JobRecord, Origin, WorldFacts};
use iodyno_report::number;

use crate::hosts::{self, RemoteCommand};
use crate::loader::HostLoader;
use crate::session::say;

/// More hosts are not named one by one.
const MOST_NAMED: u32 = 8;

/// Goes to the hosts that a command names, if it names some; comes back with the exit status only where that cannot be.
/// `inputs`: files that it reads, which are sent along.
pub fn elsewhere(
    world: &World,
    name: &str,
    arguments: &[String],
    asked: &WorldArguments,
    (on, inputs): (Option<&str>, &[&str]),
) -> Option<u8> {
    let mut loader = HostLoader::new(world);
    let there = match asked.elsewhere(&mut loader) {
        Ok(there) => there?,
        Err(wrong) => {
            wrong.iter().for_each(say);
            return Some(2);
        }
    };
    if on.is_some() {
        say(Diagnostic::error(&Origin::argument("--on"), "a simulated device is on one machine")
            .hint("leave the hosts out"));
        return Some(2);
    }
    for input in inputs {
        if let Err(why) = loader.read(input) {
            say(Diagnostic::error(&Origin::argument(input), why).hint("name a file that can be read"));
            return Some(2);
        }
    }
    let words = std::iter::once(name.to_string()).chain(native::on_hosts(arguments));
    let files = std::mem::take(&mut loader.files);
    let errand = RemoteCommand { arguments: words.collect(), files, ..RemoteCommand::default() };
    Some(hosts::go(&there, &errand))
}

/// Refuses several ranks for a simulated device.
///
/// # Errors
/// There are several.
pub fn one_clock(world: &World) -> Result<(), Diagnostic> {
    if world.is_alone() {
        return Ok(());
    }
    let message = format!("a simulated device has one clock, and {} ranks have as many", world.size());
    Err(Diagnostic::error(&Origin::argument("--on"), message)
        .hint("leave the launcher out: virtual time needs one process, however many workers there are"))
}

/// Where a rank is, behind what is said of it; nothing where there is but one.
pub fn place(rank: u32, world: &WorldFacts) -> String {
    match (world.ranks(), world.machines()) {
        (1, _) => String::new(),
        (_, 1) => format!(" of rank {rank}"),
        _ => format!(" of rank {rank} on {}", world.host(rank)),
    }
}

/// The rank whose operations of a label took longest on average, as a sentence; none where there is but one rank, or workers
/// were not measured each.
pub fn late(job: &JobRecord, label: &str, world: &WorldFacts) -> Option<String> {
    let mut ranks = vec![(0u64, 0u128); world.ranks() as usize];
    for worker in &job.workers {
        let lines = worker.tally.iter().flat_map(|tally| &tally.lines).filter(|line| line.label == label);
        for line in lines {
            let (count, sum) = ranks.get_mut(worker.rank as usize)?;
            (*count, *sum) = (*count + line.latency.count(), *sum + line.latency.sum);
        }
    }
    let mean = |(count, sum): (u64, u128)| sum as f64 / count.max(1) as f64;
    let (late, of) = ranks.iter().enumerate().max_by(|one, other| mean(*one.1).total_cmp(&mean(*other.1)))?;
    let all = ranks.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    (world.ranks() > 1 && of.0 > 0).then(|| {
        let host =
            if world.machines() > 1 { format!(" on {}", world.host(late as u32)) } else { String::new() };
        format!(
            "Rank {late}{host} was the latest: {} on average, all ranks {}.",
            number::latency(mean(*of)),
            number::latency(mean(all))
        )
    })
}

/// The ranks, as a line of a report's head; none where there is but one.
pub fn fact(world: &WorldFacts) -> Option<(String, String)> {
    let (ranks, machines) = (world.ranks(), world.machines());
    let hosts = match world.hosts.as_slice() {
        [] => String::new(),
        [first, .., last] if machines > MOST_NAMED => format!("on {machines} hosts, {first} to {last}"),
        few => format!("on {}", few.join(", ")),
    };
    (ranks > 1).then(|| ("ranks".to_string(), format!("{ranks} {hosts}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_with_the_longest_mean_is_the_latest() {
        use iodyno_model::{Histogram, Line, Tally, Verb, WorkerRecord};
        let worker = |rank: u32, ns: u64| {
            let mut latency = Histogram::default();
            latency.add(ns);
            let line = Line { latency, ..Line::empty("search", Verb::Wait) };
            let tally = Some(Box::new(Tally { lines: vec![line], ..Tally::default() }));
            WorkerRecord { rank, tally, ..WorkerRecord::default() }
        };
        let workers = vec![worker(0, 9000), worker(0, 1000), worker(1, 7000), worker(1, 7000)];
        let job = JobRecord { workers, ..JobRecord::default() };
        let world =
            WorldFacts { hosts: vec!["a".into(), "b".into()], nodes: vec![0, 1], ..WorldFacts::default() };
        let told = late(&job, "search", &world).unwrap();
        assert!(told.starts_with("Rank 1 on b was the latest: 7") && told.contains("all ranks 6"), "{told}");
        assert_eq!(late(&job, "search", &WorldFacts::alone("a")), None);
    }

    #[test]
    fn a_place_is_as_exact_as_the_world_is_large() {
        let world = |hosts: &[&str], nodes: &[u32]| WorldFacts {
            hosts: hosts.iter().map(|host| (*host).to_string()).collect(),
            nodes: nodes.to_vec(),
            ..WorldFacts::default()
        };
        let (alone, node) = (world(&["a"], &[0]), world(&["a"], &[0, 0]));
        let hosts = world(&["a", "b"], &[0, 0, 1]);
        assert_eq!(
            [&alone, &node, &hosts].map(|world| place(2, world)),
            ["", " of rank 2", " of rank 2 on b"]
        );
        assert_eq!(fact(&alone), None);
        assert_eq!([&node, &hosts].map(|world| fact(world).unwrap().1), ["2 on a", "3 on a, b"]);
    }
}
