//! What this machine is, what of it can be measured, and what it lacks for that.

use iodyno_engine::registry::all_facts;
use iodyno_engine::witness;
use iodyno_model::TargetFacts;
use serde_json::{Value, json};

use super::explanation::holds;
use crate::doctor;

/// File systems that hold nobody's data.
const NO_DATA: &[&str] = &[
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "securityfs",
    "tracefs",
    "debugfs",
    "bpf",
    "mqueue",
    "hugetlbfs",
    "pstore",
    "configfs",
    "fusectl",
    "autofs",
    "binfmt_misc",
    "rpc_pipefs",
    "nsfs",
    "efivarfs",
    "squashfs",
    "ramfs",
];

/// All of it.
pub fn shown() -> Value {
    let machine = witness::machine();
    let engines: Vec<Value> = all_facts()
        .filter(|facts| facts.is_stream())
        .map(|facts| {
            let missing = (facts.available)().err().map(|failure| failure.message);
            json!({ "name": facts.name, "about": facts.about, "missing": missing })
        })
        .collect();
    let facts: Vec<Value> = machine.facts.iter().map(|(name, value)| json!([name, value])).collect();
    json!({
        "host": machine.host, "kernel": machine.kernel, "processor": machine.processor, "cpus": machine.cpus,
        "memory_bytes": machine.memory_bytes, "clock": machine.clock, "version": machine.version, "facts": facts,
        "targets": targets(), "checks": doctor::checked(), "engines": engines,
    })
}

/// What can be measured here: where files lie, and devices.
pub fn targets() -> Value {
    let mounts: Vec<Value> = mounts().iter().map(|(path, kind)| directory(path, kind)).collect();
    let devices: Vec<Value> = devices().iter().filter_map(|path| device(path)).collect();
    json!({ "directories": mounts, "devices": devices })
}

fn directory(path: &str, kind: &str) -> Value {
    let facts = witness::identity::facts(path);
    json!({
        "path": path, "file_system": kind, "free_bytes": facts.free_bytes, "size_bytes": facts.size_bytes,
        "writable": witness::identity::writable(path), "on": facts.source, "about": about(&facts),
    })
}

fn device(path: &str) -> Option<Value> {
    let facts = witness::identity::facts(path);
    let size = facts.size_bytes.filter(|bytes| *bytes > 0)?;
    Some(json!({
        "path": path, "size_bytes": size, "holds": holds(path), "model": facts.model, "about": about(&facts),
        "readable": witness::identity::readable(path), "writable": witness::identity::writable(path),
        "scheduler": facts.scheduler, "write_cache": facts.write_cache, "logical_block_bytes": facts.logical_block_bytes,
        "physical_block_bytes": facts.physical_block_bytes, "queue_requests": facts.queue_requests,
    }))
}

/// What lies beneath, in a few words.
fn about(facts: &TargetFacts) -> String {
    let turns = facts.rotational.map(|turns| if turns { "rotational" } else { "solid state" });
    let words = [facts.model.as_deref(), turns, facts.scheduler.as_deref()];
    words.into_iter().flatten().map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Mount points with what is mounted there, and the directory that the studio was started in.
fn mounts() -> Vec<(String, String)> {
    let text = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut found: Vec<(String, String)> = text.lines().filter_map(mount).collect();
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    let here = crate::archive::folder();
    if !found.iter().any(|(path, _)| *path == here) {
        let kind = witness::identity::facts(&here).file_system.unwrap_or_default();
        found.insert(0, (here, kind));
    }
    found
}

/// A line of the kernel's list: the source, the mount point, the kind.
fn mount(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ').skip(1);
    let (path, kind) = (words.next()?, words.next()?);
    let path = path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\");
    let is_inside = ["/proc", "/sys", "/dev", "/run/user", "/snap"]
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    let is_directory = std::path::Path::new(&path).is_dir();
    (!NO_DATA.contains(&kind) && !is_inside && is_directory).then(|| (path, kind.to_string()))
}

/// Block devices and their partitions.
fn devices() -> Vec<String> {
    let names = |folder: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut paths = Vec::new();
    for disk in names("/sys/block") {
        let folder = format!("/sys/block/{disk}");
        let parts = names(&folder)
            .into_iter()
            .filter(|name| std::path::Path::new(&format!("{folder}/{name}/partition")).exists());
        let parts: Vec<String> = parts.map(|part| format!("/dev/{part}")).collect();
        // A device that the kernel names with slashes has exclamation marks there.
        paths.push(format!("/dev/{}", disk.replace('!', "/")));
        paths.extend(parts);
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_with_data_are_offered() {
        assert_eq!(mount("/dev/vda / ext4 rw 0 0"), Some(("/".into(), "ext4".into())));
        for line in [
            "proc /proc proc rw 0 0",
            "tmpfs /dev/shm tmpfs rw 0 0",
            "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0",
            "x",
            "",
        ] {
            assert_eq!(mount(line), None, "{line}");
        }
    }
}
