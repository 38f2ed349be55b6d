//! Lists of hosts: `h1,h2:4`, host files, and the options that carry them.
//!
//! Text to names and numbers, the same for every dialect; who starts what on these hosts is the door's concern. It
//! refuses what no launcher takes as a host's name.

use iodyno_model::{Diagnostic, Origin, WorldFacts};

use crate::{Loader, allocation, host_ranges};

/// A host, and how many ranks run there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name or address, as the user's ssh knows it.
    pub name: String,
    /// Ranks, at least 1.
    pub slots: u32,
}

/// That the same command is to run on other hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Where, in the order of the ranks.
    pub hosts: Vec<Host>,
    /// Who starts it there: `mpirun`, `mpiexec`, `srun`, `flux`, `palsrun`, or a path; none: whoever is here.
    pub launcher: Option<String>,
    /// The remote shell that the launcher goes out with, with its arguments; none: the launcher's own, which is ssh.
    pub shell: Option<String>,
}

impl Elsewhere {
    /// How many ranks that makes.
    pub fn ranks(&self) -> u32 {
        self.hosts.iter().map(|host| host.slots).sum()
    }

    /// The world that will be, as far as it is known beforehand.
    pub fn world(&self) -> WorldFacts {
        let mut facts = WorldFacts::default();
        for host in &self.hosts {
            let known = facts.hosts.iter().position(|name| *name == host.name);
            let node = known.unwrap_or(facts.hosts.len());
            if known.is_none() {
                facts.hosts.push(host.name.clone());
            }
            facts.nodes.extend(std::iter::repeat_n(node as u32, host.slots as usize));
        }
        facts
    }
}

/// What hosts are written as, for hints.
pub const FORM: &str = "hosts are named with commas between them, and with their ranks where there are several: h1,h2:4, node[01-16]:8";

/// More ranks than this are a slip of the pen.
const MOST_RANKS: u32 = 1 << 20;

/// `h1,h2:4`, `node[01-03,07]:2`.
///
/// # Errors
/// The first name that is none, as a lower-case fragment.
pub fn list(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for word in words(text) {
        hosts.extend(written(word.trim())?);
    }
    within(hosts)
}

/// The words of a list: commas within brackets belong to a name.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut is_within = false;
    text.split(move |letter: char| {
        is_within = letter == '[' || is_within && letter != ']';
        letter == ',' && !is_within
    })
}

fn within(hosts: Vec<Host>) -> Result<Vec<Host>, String> {
    let ranks: u64 = hosts.iter().map(|host| u64::from(host.slots)).sum();
    match ranks {
        0 => Err("no host is named".into()),
        ranks if ranks > u64::from(MOST_RANKS) => Err(format!("{ranks} ranks are too many")),
        _ => Ok(hosts),
    }
}

/// Whether a word can be a host, with or without a number of ranks.
pub fn is_host(word: &str) -> bool {
    written(word).is_ok()
}

/// The hosts that one word stands for: several where it has brackets.
fn written(word: &str) -> Result<Vec<Host>, String> {
    let (name, slots) = match word.split_once(':') {
        Some((name, slots)) => (name, ranks(word, slots)?),
        None => (word, 1),
    };
    let names = host_ranges::expanded(name, MOST_RANKS as usize)?;
    names.iter().map(|name| named(name, slots)).collect()
}

fn ranks(word: &str, slots: &str) -> Result<u32, String> {
    let count = slots.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
    count.ok_or_else(|| format!("`{word}`: `{slots}` is no number of ranks"))
}

fn named(name: &str, slots: u32) -> Result<Host, String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    // ssh would take a leading hyphen for an option.
    match !name.is_empty() && !name.starts_with('-') && name.chars().all(fits) {
        true => Ok(Host { name: name.into(), slots }),
        false => Err(format!("`{name}` is no host's name")),
    }
}

/// The hosts of a host file: `h1`, `h1:4` or `h1 slots=4` in each line, `#` before comments.
///
/// # Errors
/// The first line that is none.
pub fn file(text: &str, path: &str) -> Result<Vec<Host>, Diagnostic> {
    let mut hosts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |message| {
            let origin = Origin::File { path: path.into(), line: index as u32 + 1 };
            Diagnostic::error(&origin, message).hint("a line names a host: h1, h1:4 or h1 slots=4")
        };
        hosts.extend(file_line(line).map_err(wrong)?);
    }
    within(hosts).map_err(|message| Diagnostic::error(&Origin::argument(path), message).hint(FORM))
}

fn file_line(line: &str) -> Result<Vec<Host>, String> {
    let mut words = line.split_whitespace();
    let mut hosts = written(words.next().unwrap_or(""))?;
    for word in words {
        match word.split_once('=') {
            Some(("slots" | "max_slots" | "max-slots", slots)) => {
                let slots = ranks(word, slots)?;
                if word.starts_with("slots") {
                    hosts.iter_mut().for_each(|host| host.slots = slots);
                }
            }
            _ => return Err(format!("`{word}` is not understood")),
        }
    }
    Ok(hosts)
}

/// Where a command is to run: `hosts` as typed (`h1,h2:4` or `@FILE`), or a host file.
///
/// # Errors
/// No such file, or what is no host.
pub fn elsewhere(
    hosts: Option<&str>,
    hostfile: Option<&str>,
    launcher: Option<String>,
    loader: &mut dyn Loader,
) -> Result<Option<Elsewhere>, Diagnostic> {
    let argument = |name: &str, value: &str| Origin::argument(&format!("{name}={value}"));
    let hosts = match (hosts, hostfile) {
        (None, None) if launcher.is_none() => return Ok(None),
        (None, None) => allocation::hosts(loader)?.ok_or_else(unallocated)?,
        (Some(hosts), Some(_)) => {
            let message = "hosts are named, and a host file, too";
            return Err(Diagnostic::error(&argument("hosts", hosts), message).hint("say one of them"));
        }
        (Some(hosts), None) => match hosts.strip_prefix('@') {
            Some(path) => from_file(path, loader)?,
            None => list(hosts)
                .map_err(|message| Diagnostic::error(&argument("hosts", hosts), message).hint(FORM))?,
        },
        (None, Some(path)) => from_file(path, loader)?,
    };
    Ok(Some(Elsewhere { hosts, launcher, shell: None }))
}

fn unallocated() -> Diagnostic {
    let message = "no hosts are named, and this is no job of Slurm or PBS that would name them";
    Diagnostic::error(&Origin::argument("launcher"), message)
        .hint("say hosts=h1,h2, too; within Flux: hosts=\"$(flux getattr hostlist)\"")
}

/// The hosts of a file that the user named.
///
/// # Errors
/// It cannot be read, or a line is no host.
pub fn from_file(path: &str, loader: &mut dyn Loader) -> Result<Vec<Host>, Diagnostic> {
    let unreadable = |reason: String| {
        let message = format!("the host file cannot be read: {reason}");
        Diagnostic::error(&Origin::argument(path), message).hint("it names a host in each line")
    };
    let text = loader.read(path).and_then(|bytes| crate::text_file::text(&bytes)).map_err(unreadable)?;
    file(&text, path)
}

/// The arguments without these options and their values.
pub fn without(arguments: &[String], options: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.split_once('=') {
            _ if argument == "--" => {
                kept.push(argument.clone());
                kept.extend(rest.by_ref().cloned());
            }
            Some((name, _)) if options.contains(&name) => {}
            None if options.contains(&argument.as_str()) => drop(rest.next()),
            _ => kept.push(argument.clone()),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hosts: &[Host]) -> String {
        hosts.iter().map(|host| format!("{}:{}", host.name, host.slots)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lists_name_hosts_and_their_ranks() {
        assert_eq!(
            shown(&list("h1,h2:4, 10.0.0.3 ,n-4.example_x:2").unwrap()),
            "h1:1 h2:4 10.0.0.3:1 n-4.example_x:2"
        );
        for wrong in [
            "",
            "h1,,h2",
            "h1:0",
            "h1:x",
            "h1:",
            "-oProxyCommand",
            "h 1",
            "h1;rm",
            "h1:2:3",
            "n[1-3",
            "n[3-1]",
            "h1:2000000",
            "$(x)",
        ] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
        assert!(is_host("h1:4") && !is_host("threads=4") && !is_host(""));
        assert_eq!(shown(&list("n[08-10,2]:3,h").unwrap()), "n08:3 n09:3 n10:3 n2:3 h:1");
    }

    #[test]
    fn files_name_a_host_in_each_line() {
        let text = "# the cluster\nh1\n\nh2:4  # big\nh3 slots=2 max_slots=9\n";
        assert_eq!(shown(&file(text, "f").unwrap()), "h1:1 h2:4 h3:2");
        let wrong = |text| file(text, "f").unwrap_err().to_string();
        assert!(wrong("h1\nh2 cpus=4\n").contains("f:2"), "{}", wrong("h1\nh2 cpus=4\n"));
        assert!(wrong("# none\n").contains("no host"));
        assert!(wrong("h1 slots=none").contains("f:1"));
    }

    #[test]
    fn the_world_to_come_counts_nodes_once() {
        let hosts = list("h1:2,h2,h1").unwrap();
        let facts = Elsewhere { hosts, ..Elsewhere::default() }.world();
        assert_eq!((facts.hosts.join(" "), facts.nodes), ("h1 h2".into(), vec![0, 0, 1, 0]));
    }

    #[test]
    fn options_are_taken_out_with_their_values() {
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let kept = without(&words("a --hosts h1,h2 b --hosts=h3 --hostsx c -- --hosts d"), &["--hosts"]);
        assert_eq!(kept.join(" "), "a b --hostsx c -- --hosts d");
    }
}
