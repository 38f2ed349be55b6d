//! What the control groups of this process, and of its workers, allow and how often they held somebody back.
//!
//! Sources: `/proc/self/cgroup`, the mount table, and the groups' own files of both versions (`cpu.max`, `cpu.stat`,
//! `memory.max`, `memory.events`, `io.max`; `cpu.cfs_quota_us`, `memory.limit_in_bytes`, `memory.failcnt`,
//! `blkio.throttle.*`). A limit of a parent holds for the child, so all levels that can be seen are looked at.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iodyno_model::{ControlActivity, IoLimit};

/// Version 1 says "no limit" by the largest number of whole pages.
const UNLIMITED: u64 = 1 << 60;

/// Where a controller's groups of this process lie: from its own up to the highest that can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chain {
    /// The group's name as the kernel tells it.
    name: String,
    levels: Vec<PathBuf>,
    is_unified: bool,
}

/// The groups of one process, by what they control.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    cpu: Vec<Chain>,
    memory: Vec<Chain>,
    io: Vec<Chain>,
}

/// What was read of the groups at one moment.
#[derive(Clone, Debug, Default)]
pub struct GroupCounters {
    groups: Groups,
    /// Of each level with a quota: processors, periods, throttled ones, throttled ns.
    quotas: Vec<Quota>,
    memory_failures: u64,
}

/// Reads what the groups of this process did so far, and of the groups that workers join; `None`: there are none.
pub fn read(joined: &[PathBuf]) -> Option<GroupCounters> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut groups = groups(&own, &mounts);
    joined.iter().for_each(|directory| groups.join(directory, &mounts));
    let is_empty = groups.cpu.is_empty() && groups.memory.is_empty() && groups.io.is_empty();
    (!is_empty).then(|| GroupCounters::of(groups))
}

/// The directory of this process's group of version 2.
pub fn unified() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let chain = chains(&own, &mounts).into_iter().find(|(_, chain)| chain.is_unified)?.1;
    chain.levels.first().cloned()
}

fn groups(own: &str, mounts: &str) -> Groups {
    let mut groups = Groups::default();
    chains(own, mounts).into_iter().for_each(|(controllers, chain)| groups.add(&controllers, chain));
    groups
}

/// Lines of `/proc/self/cgroup`: number, controllers (none: version 2) and path; each with the levels that exist.
fn chains(own: &str, mounts: &str) -> Vec<(String, Chain)> {
    let chain = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (mount, root) = hierarchy(mounts, controllers)?;
        let inside = path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path).trim_start_matches('/');
        let group = mount.join(inside);
        // A name outside of what is mounted here (`/../..`) cannot be seen from here.
        let group = if inside.contains("..") || !group.is_dir() { mount.clone() } else { group };
        let levels = group.ancestors().take_while(|level| level.starts_with(&mount));
        let levels = levels.map(Path::to_path_buf).collect();
        Some((controllers.into(), Chain { name: path.into(), levels, is_unified: controllers.is_empty() }))
    };
    own.lines().filter_map(chain).collect()
}

/// Where a hierarchy is mounted, and which of its groups is seen there as the root. Fields as in
/// `proc_pid_mountinfo(5)`.
fn hierarchy(mounts: &str, controllers: &str) -> Option<(PathBuf, String)> {
    let of = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let mut right = right.splitn(3, ' ');
        let kind = right.next()?;
        let options = right.nth(1)?;
        let first = controllers.split(',').next()?;
        let is_it = match first {
            "" => kind == "cgroup2",
            name => kind == "cgroup" && options.split(',').any(|option| option == name),
        };
        is_it.then_some(())?;
        Some((PathBuf::from(left.get(4)?.replace("\\040", " ")), left.get(3)?.to_string()))
    };
    mounts.lines().find_map(of)
}

impl Groups {
    /// Adds the groups that a directory and those above it are.
    fn join(&mut self, directory: &Path, mounts: &str) {
        let Ok(directory) = fs::canonicalize(directory) else { return };
        let under = |line: &str| {
            let (left, right) = line.split_once(" - ")?;
            let kind = right.split(' ').next()?;
            let mount = PathBuf::from(left.split(' ').nth(4)?);
            let here = kind.starts_with("cgroup") && directory.starts_with(&mount);
            here.then(|| (mount, kind == "cgroup2", right.to_string()))
        };
        let Some((mount, is_unified, options)) = mounts.lines().find_map(under) else { return };
        let name = format!("/{}", directory.strip_prefix(&mount).unwrap_or(&directory).display());
        let levels = directory.ancestors().take_while(|level| level.starts_with(&mount));
        self.add(&options, Chain { name, levels: levels.map(Path::to_path_buf).collect(), is_unified });
    }

    /// Adds a chain to the lists of the controllers that are named among some words; of version 2: to all.
    fn add(&mut self, controllers: &str, chain: Chain) {
        let controls =
            |name: &str| chain.is_unified || controllers.split([' ', ',']).any(|word| word == name);
        let lists = [("cpu", &mut self.cpu), ("memory", &mut self.memory), ("blkio", &mut self.io)];
        lists.into_iter().filter(|(name, _)| controls(name)).for_each(|(_, list)| list.push(chain.clone()));
    }

    /// The names of the groups, each once.
    fn name(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for chain in self.cpu.iter().chain(&self.memory).chain(&self.io) {
            if !names.contains(&chain.name.as_str()) {
                names.push(&chain.name);
            }
        }
        // Where one controller has a group of its own and the others the root, the root says nothing.
        if names.len() > 1 {
            names.retain(|name| *name != "/");
        }
        names.join(", ")
    }
}

impl GroupCounters {
    fn of(groups: Groups) -> GroupCounters {
        let quotas = levels(&groups.cpu).filter_map(|level| quota(level)).collect();
        let memory_failures = levels(&groups.memory).map(|level| failures(level)).sum();
        GroupCounters { groups, quotas, memory_failures }
    }

    /// The tightest quota, in processors' worth of time.
    fn cpu_quota(&self) -> Option<f64> {
        self.quotas.iter().map(|(quota, _)| *quota).reduce(f64::min)
    }

    /// The tightest limit of memory.
    fn memory_bytes(&self) -> Option<u64> {
        levels(&self.groups.memory).filter_map(|level| memory_limit(level)).min()
    }

    /// What the groups did since an earlier reading, and what they allow now.
    pub fn since(&self, before: &GroupCounters, interval_ns: u64) -> ControlActivity {
        let delta = |(now, then): (&Quota, &Quota)| -> [u64; 3] {
            std::array::from_fn(|field| now.1[field].saturating_sub(then.1[field]))
        };
        let none = (0.0, [0; 3]);
        let then = before.quotas.iter().chain(std::iter::repeat(&none));
        // Of several levels with a quota, the one that held us back most.
        let held = self
            .quotas
            .iter()
            .zip(then)
            .map(delta)
            .max_by_key(|[periods, throttled, ns]| (*ns, *throttled, *periods));
        let [periods, throttled_periods, throttled_ns] = held.unwrap_or_default();
        let own = self.groups.memory.first().and_then(|chain| chain.levels.first());
        let memory = own.and_then(|level| number(level, &["memory.current", "memory.usage_in_bytes"]));
        ControlActivity {
            group: self.groups.name(),
            cpu_quota: self.cpu_quota(),
            periods,
            throttled_periods,
            throttled_ns,
            memory_limit_bytes: self.memory_bytes(),
            memory_bytes: memory.unwrap_or(0),
            memory_failures: self.memory_failures.saturating_sub(before.memory_failures),
            io: io_limits(&self.groups.io),
            interval_ns,
        }
    }
}

/// What this process's groups allow.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Processors' worth of time; none: no limit.
    pub cpu_quota: Option<f64>,
    /// Memory, bytes; none: as much as there is.
    pub memory_bytes: Option<u64>,
    /// Of each limited device.
    pub io: Vec<IoLimit>,
}

/// Reads what this process's groups allow.
pub fn own_limits() -> Limits {
    let Some(reading) = read(&[]) else { return Limits::default() };
    Limits {
        cpu_quota: reading.cpu_quota(),
        memory_bytes: reading.memory_bytes(),
        io: io_limits(&reading.groups.io),
    }
}

fn levels(chains: &[Chain]) -> impl Iterator<Item = &PathBuf> {
    let mut all: Vec<&PathBuf> = chains.iter().flat_map(|chain| &chain.levels).collect();
    all.sort();
    all.dedup();
    all.into_iter()
}

fn text(level: &Path, file: &str) -> Option<String> {
    fs::read_to_string(level.join(file)).ok()
}

/// The first of the files that holds a number.
fn number(level: &Path, files: &[&str]) -> Option<u64> {
    files.iter().find_map(|file| text(level, file)?.trim().parse().ok())
}

/// Processors' worth of time; and periods, throttled ones, and the time throttled, ns.
type Quota = (f64, [u64; 3]);

/// A level's quota of processors, if it has one, with its periods, the throttled ones, and the time throttled, ns.
fn quota(level: &Path) -> Option<Quota> {
    let quota = match text(level, "cpu.max") {
        Some(text) => share(&text),
        None => {
            let period = number(level, &["cpu.cfs_period_us"])?;
            let quota = text(level, "cpu.cfs_quota_us")?.trim().parse::<i64>().ok()?;
            (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
        }
    }?;
    Some((quota, throttling(&text(level, "cpu.stat").unwrap_or_default())))
}

/// `cpu.max`: quota and period, the quota being `max` where there is none.
fn share(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (period > 0.0).then(|| quota / period)
}

/// `cpu.stat`: version 2 counts throttled time in microseconds, version 1 in nanoseconds.
fn throttling(text: &str) -> [u64; 3] {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    let ns = field("throttled_usec").map(|micros| micros * 1000).or_else(|| field("throttled_time"));
    [field("nr_periods").unwrap_or(0), field("nr_throttled").unwrap_or(0), ns.unwrap_or(0)]
}

/// A level's limit of memory: where it is refused, or (version 2) held back.
fn memory_limit(level: &Path) -> Option<u64> {
    let limits = ["memory.max", "memory.high", "memory.limit_in_bytes"];
    limits.iter().filter_map(|file| number(level, &[file])).filter(|bytes| *bytes < UNLIMITED).min()
}

/// How often a level ran into its limits of memory.
fn failures(level: &Path) -> u64 {
    match text(level, "memory.events") {
        Some(text) => events(&text),
        None => number(level, &["memory.failcnt"]).unwrap_or(0),
    }
}

/// `memory.events`: `high` and `max` count what was held back or reclaimed at a limit.
fn events(text: &str) -> u64 {
    let fields = text.lines().filter_map(|line| line.split_once(' '));
    let at_limit = fields.filter(|(name, _)| matches!(*name, "high" | "max"));
    at_limit.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// One of a device's limits.
type Field = fn(&mut IoLimit) -> &mut Option<u64>;

/// Files of version 1, and which limit each of them holds.
const THROTTLES: [(&str, Field); 4] = [
    ("blkio.throttle.read_bps_device", |limit| &mut limit.read_bytes),
    ("blkio.throttle.write_bps_device", |limit| &mut limit.write_bytes),
    ("blkio.throttle.read_iops_device", |limit| &mut limit.reads),
    ("blkio.throttle.write_iops_device", |limit| &mut limit.writes),
];

/// The tightest limits of each device that has some.
fn io_limits(chains: &[Chain]) -> Vec<IoLimit> {
    let mut limits = BTreeMap::new();
    for level in levels(chains) {
        let unified = text(level, "io.max").unwrap_or_default();
        unified.lines().for_each(|line| io_max(line, &mut limits));
        for (file, field) in THROTTLES {
            let lines = text(level, file).unwrap_or_default();
            lines.lines().for_each(|line| throttle(line, field, &mut limits));
        }
    }
    let named = |(number, limit): (String, IoLimit)| IoLimit { device: device(&number), ..limit };
    limits.into_iter().map(named).collect()
}

fn tighten(limit: &mut Option<u64>, to: u64) {
    *limit = Some(limit.map_or(to, |limit| limit.min(to)));
}

/// A line of `io.max`: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn io_max(line: &str, limits: &mut BTreeMap<String, IoLimit>) {
    let mut words = line.split_whitespace();
    let Some(number) = words.next() else { return };
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        let Ok(value) = value.parse() else { continue };
        let limit = limits.entry(number.to_string()).or_default();
        match name {
            "rbps" => tighten(&mut limit.read_bytes, value),
            "wbps" => tighten(&mut limit.write_bytes, value),
            "riops" => tighten(&mut limit.reads, value),
            "wiops" => tighten(&mut limit.writes, value),
            _ => {}
        }
    }
}

/// A line of a file of version 1: `8:16 1048576`.
fn throttle(line: &str, field: Field, limits: &mut BTreeMap<String, IoLimit>) {
    let Some((number, value)) = line.split_once(' ') else { return };
    if let Ok(value) = value.trim().parse() {
        tighten(field(limits.entry(number.to_string()).or_default()), value);
    }
}

/// The kernel's name of a device number, or the number where it has none.
fn device(number: &str) -> String {
    let link = fs::read_link(format!("/sys/dev/block/{number}")).ok();
    let name = link.and_then(|link| link.file_name().map(|name| name.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn hierarchies_are_found_in_the_mount_table() {
        let (cpu, root) = hierarchy(MIXED, "cpu,cpuacct").unwrap();
        assert_eq!((cpu.to_str(), root.as_str()), (Some("/sys/fs/cgroup/cpu,cpuacct"), "/"));
        assert_eq!(hierarchy(MIXED, "memory").unwrap().1, "/docker/abc");
        assert_eq!(hierarchy(MIXED, "").unwrap().0, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(hierarchy(MIXED, "blkio"), None);
    }

    /// A group with a parent, and files of either version in them.
    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Groups) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("parent/child")).unwrap();
        for (file, text) in files {
            fs::write(root.path().join(file), text).unwrap();
        }
        let mounts = format!("1 0 0:1 / {} rw - cgroup2 none rw", root.path().display());
        let groups = groups("0::/parent/child", &mounts);
        (root, groups)
    }

    #[test]
    fn the_tightest_of_all_levels_holds() {
        let (_root, groups) = tree(&[
            ("parent/cpu.max", "50000 100000\n"),
            ("parent/cpu.stat", "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 700\n"),
            ("parent/child/cpu.max", "max 100000\n"),
            ("parent/child/cpu.stat", "usage_usec 9\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
            ("parent/memory.max", "1048576\n"),
            ("parent/memory.events", "low 0\nhigh 3\nmax 4\noom 1\n"),
            ("parent/child/memory.max", "max\n"),
            ("parent/child/memory.high", "4096\n"),
            ("parent/child/memory.current", "2048\n"),
            ("parent/io.max", "999:77 rbps=100 wbps=max riops=max wiops=5\n"),
            ("parent/child/io.max", "999:77 rbps=70 wbps=max\n"),
        ]);
        let before = GroupCounters {
            quotas: vec![(0.5, [6, 1, 200_000])],
            memory_failures: 2,
            ..GroupCounters::default()
        };
        let seen = GroupCounters::of(groups).since(&before, 9);
        assert_eq!((seen.group.as_str(), seen.cpu_quota), ("/parent/child", Some(0.5)));
        assert_eq!((seen.periods, seen.throttled_periods, seen.throttled_ns), (4, 3, 500_000));
        assert_eq!((seen.memory_limit_bytes, seen.memory_bytes, seen.memory_failures), (Some(4096), 2048, 5));
        let limit =
            IoLimit { device: "999:77".into(), read_bytes: Some(70), writes: Some(5), ..Default::default() };
        assert_eq!(seen.io, [limit]);
    }

    #[test]
    fn version_one_has_files_of_its_own() {
        let (_root, groups) = tree(&[
            ("parent/child/cpu.cfs_quota_us", "20000\n"),
            ("parent/child/cpu.cfs_period_us", "100000\n"),
            ("parent/child/cpu.stat", "nr_periods 8\nnr_throttled 2\nthrottled_time 12345\n"),
            ("parent/cpu.cfs_quota_us", "-1\n"),
            ("parent/cpu.cfs_period_us", "100000\n"),
            ("parent/memory.limit_in_bytes", "9223372036854771712\n"),
            ("parent/child/memory.limit_in_bytes", "65536\n"),
            ("parent/child/memory.usage_in_bytes", "60000\n"),
            ("parent/child/memory.failcnt", "11\n"),
            ("parent/child/blkio.throttle.write_bps_device", "999:77 1048576\n"),
        ]);
        let seen = GroupCounters::of(groups).since(&GroupCounters::default(), 9);
        assert_eq!((seen.cpu_quota, seen.throttled_periods, seen.throttled_ns), (Some(0.2), 2, 12345));
        assert_eq!(
            (seen.memory_limit_bytes, seen.memory_bytes, seen.memory_failures),
            (Some(65536), 60000, 11)
        );
        assert_eq!(seen.io[0].write_bytes, Some(1 << 20));
    }

    #[test]
    fn no_limit_is_none() {
        let (_root, groups) =
            tree(&[("parent/child/cpu.max", "max 100000\n"), ("parent/memory.max", "max\n")]);
        let seen = GroupCounters::of(groups).since(&GroupCounters::default(), 9);
        assert_eq!((seen.cpu_quota, seen.memory_limit_bytes, seen.io.len()), (None, None, 0));
    }
}
