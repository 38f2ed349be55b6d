//! The hosts that a batch system has granted to this job, by the variables that it sets: Slurm's lists, PBS's file.
//!
//! Variables and files come from the loader. It starts nothing, and asks no batch system anything.

use iodyno_model::{Diagnostic, Origin};

use crate::Loader;
use crate::hosts::{self, Host};

/// The hosts of the job that this process is in, with their ranks; none: it is in no job that names them.
///
/// # Errors
/// Variables or a file that cannot be understood.
pub fn hosts(loader: &mut dyn Loader) -> Result<Option<Vec<Host>>, Diagnostic> {
    let first = |names: &[&str]| {
        names.iter().find_map(|name| {
            loader.variable(name).filter(|text| !text.is_empty()).map(|text| (name.to_string(), text))
        })
    };
    if let Some((name, list)) = first(&["SLURM_JOB_NODELIST", "SLURM_NODELIST"]) {
        let tasks = first(&["SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"]);
        return slurm((&name, &list), tasks).map(Some);
    }
    match first(&["PBS_NODEFILE"]) {
        Some((_, path)) => pbs(&path, loader).map(Some),
        None => Ok(None),
    }
}

/// Slurm's: a list of nodes, and how many tasks each of them takes.
fn slurm(nodes: (&str, &str), tasks: Option<(String, String)>) -> Result<Vec<Host>, Diagnostic> {
    let (name, list) = nodes;
    let wrong = |name: &str, text: &str, message: String| {
        Diagnostic::error(&Origin::argument(&format!("{name}={text}")), message)
            .hint("name the hosts yourself: hosts=h1,h2:4")
    };
    let mut hosts = hosts::list(list).map_err(|message| wrong(name, list, message))?;
    let Some((variable, text)) = tasks else { return Ok(hosts) };
    let counts = task_counts(&text).map_err(|message| wrong(&variable, &text, message))?;
    if counts.len() != 1 && counts.len() != hosts.len() {
        let message = format!("it tells of {} nodes, and {name} of {}", counts.len(), hosts.len());
        return Err(wrong(&variable, &text, message));
    }
    for (host, count) in hosts.iter_mut().zip(counts.iter().cycle()) {
        host.slots = *count;
    }
    Ok(hosts)
}

/// `2(x3),1`: three nodes with 2 tasks, and one with 1.
fn task_counts(text: &str) -> Result<Vec<u32>, String> {
    /// More nodes than this are a slip of the pen.
    const MOST_NODES: usize = 1 << 20;
    let mut counts = Vec::new();
    for word in text.split(',') {
        let wrong = || format!("`{word}` is no number of tasks");
        let (count, times) = match word.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')').ok_or_else(wrong)?),
            None => (word, "1"),
        };
        let positive = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let (count, times) = (positive(count)?, positive(times)? as usize);
        if counts.len() + times > MOST_NODES {
            return Err(format!("`{word}`: so many nodes cannot be"));
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    Ok(counts)
}

/// PBS's: the name of a host in each line, once for each rank that it takes.
fn pbs(path: &str, loader: &mut dyn Loader) -> Result<Vec<Host>, Diagnostic> {
    let mut hosts: Vec<Host> = Vec::new();
    for host in hosts::from_file(path, loader)? {
        match hosts.iter_mut().find(|known| known.name == host.name) {
            Some(known) => known.slots += host.slots,
            None => hosts.push(host),
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_counts_tasks_by_node() {
        let of = |list: &str, tasks: &str| {
            slurm(("SLURM_JOB_NODELIST", list), Some(("SLURM_TASKS_PER_NODE".into(), tasks.into())))
                .map(|hosts| {
                    hosts
                        .iter()
                        .map(|host| format!("{}:{}", host.name, host.slots))
                        .collect::<Vec<_>>()
                        .join(" ")
                })
                .map_err(|wrong| wrong.message)
        };
        assert_eq!(of("n[1-3],login", "2(x3),1").unwrap(), "n1:2 n2:2 n3:2 login:1");
        assert_eq!(of("n[1-3]", "4").unwrap(), "n1:4 n2:4 n3:4");
        for (list, tasks) in
            [("n[1-3]", "2(x2)"), ("n[1-3]", "2(x"), ("n[1-3]", "0"), ("n[", "1"), ("n1", "2(x9999999)")]
        {
            assert!(of(list, tasks).is_err(), "{list} {tasks}");
        }
    }
}
