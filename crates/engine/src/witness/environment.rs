//! Everything about the machine that may make a difference to a figure and can be read: what two runs are held against
//! each other by.
//!
//! Facts have a fixed order, and names that say what they are. Those that are different each time (load, swap in use) come
//! last. What cannot be read is left out. Nothing is measured here, and nothing asked of anybody but the kernel.

use std::fs;
use std::os::unix::fs::MetadataExt;

use iodyno_model::TargetFacts;

use super::{control, memory, processors};

const CPUS: &str = "/sys/devices/system/cpu";

/// The facts of this machine, as name and value.
pub fn machine() -> Vec<(String, String)> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let groups: [Vec<(&str, Option<String>)>; 6] =
        [system(&cpu), frequency(), processor(&cpu), memory_facts(), limits(), present()];
    known_facts(groups.into_iter().flatten())
}

fn known_facts<'a>(facts: impl Iterator<Item = (&'a str, Option<String>)>) -> Vec<(String, String)> {
    let there = facts.filter_map(|(name, value)| Some((name.to_string(), value?)));
    there.filter(|(_, value)| !value.is_empty()).collect()
}

/// A file's text, trimmed; `None` where there is none.
fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// The word in brackets, of a file that lists choices.
fn chosen(path: &str) -> Option<String> {
    bracketed(&text(path)?)
}

fn bracketed(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_string())
}

/// The value of a line `name<separator>value`.
fn field(text: &str, name: &str, separator: char) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(separator))?;
    Some(line.trim().trim_matches('"').to_string())
}

fn switch(path: &str, on: &str) -> Option<String> {
    let is_on = text(path)? == on;
    Some(if is_on { "on" } else { "off" }.into())
}

fn system(cpu: &str) -> Vec<(&'static str, Option<String>)> {
    let clock = text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    vec![
        (
            "distribution",
            fs::read_to_string("/etc/os-release").ok().and_then(|t| field(&t, "PRETTY_NAME", '=')),
        ),
        ("kernel build", text("/proc/sys/kernel/version")),
        ("kernel command line", text("/proc/cmdline").map(|line| masked(&line))),
        ("virtualisation", virtualisation(cpu)),
        ("container", container()),
        ("clock source", clock),
        ("io_uring disabled", text("/proc/sys/kernel/io_uring_disabled").filter(|word| word != "0")),
    ]
}

/// Parts of names whose values are nobody's business.
const SECRET: [&str; 9] =
    ["key", "token", "passw", "passphrase", "secret", "credential", "luks", "auth", "psk"];
/// Parts of names that have one of these in them by chance.
const OPEN: [&str; 3] = ["keymap", "keyboard", "keytable"];

/// A kernel command line without what looks like a secret: by its name, or a login before an `@`.
fn masked(line: &str) -> String {
    let mut inside = false;
    let words = line.split(|letter: char| {
        inside ^= letter == '"';
        !inside && letter.is_whitespace()
    });
    let mut count = 0;
    let mut mask = |word: &str| {
        let secret = word.split_once('=').filter(|(name, value)| !value.is_empty() && is_secret(name, value));
        count += u32::from(secret.is_some());
        secret.map_or_else(|| word.to_string(), |(name, _)| format!("{name}=***"))
    };
    let shown = words.map(&mut mask).collect::<Vec<_>>().join(" ");
    match count {
        0 => shown,
        1 => shown + " (a value that looks like a secret is masked)",
        count => shown + &format!(" ({count} values that look like secrets are masked)"),
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let login = value.split_once('@').is_some_and(|(login, _)| login.contains(':'));
    login || (has(&SECRET) && !has(&OPEN))
}

/// Which machine this is a guest of, as far as it says.
fn virtualisation(cpu: &str) -> Option<String> {
    let told = text("/sys/hypervisor/type");
    let dmi = || {
        let names = ["sys_vendor", "product_name"].map(|file| text(&format!("/sys/class/dmi/id/{file}")));
        Some(names.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty())
    };
    let flags = field(cpu, "flags", ':').unwrap_or_default();
    let is_guest = flags.split(' ').any(|flag| flag == "hypervisor");
    told.or_else(|| is_guest.then(|| dmi().map_or("yes".into(), |name| format!("yes ({name})"))))
        .or_else(|| (!flags.is_empty()).then(|| "none".into()))
}

fn container() -> Option<String> {
    let named = text("/run/systemd/container").filter(|name| !name.is_empty());
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let marked =
        || marks.iter().find(|(path, _)| fs::metadata(path).is_ok()).map(|(_, name)| name.to_string());
    let kubernetes = || std::env::var_os("KUBERNETES_SERVICE_HOST").map(|_| "kubernetes".to_string());
    named.or_else(kubernetes).or_else(marked)
}

fn frequency() -> Vec<(&'static str, Option<String>)> {
    let turbo = switch(&format!("{CPUS}/intel_pstate/no_turbo"), "0")
        .or_else(|| switch(&format!("{CPUS}/cpufreq/boost"), "1"));
    let mhz = text(&format!("{CPUS}/cpu0/cpufreq/cpuinfo_max_freq")).and_then(|khz| khz.parse::<f64>().ok());
    vec![
        ("governor", processors::governor()),
        ("frequency driver", text(&format!("{CPUS}/cpu0/cpufreq/scaling_driver"))),
        ("highest frequency", mhz.map(|khz| format!("{} MHz", (khz / 1000.0).round()))),
        ("turbo", turbo),
        ("idle driver", text(&format!("{CPUS}/cpuidle/current_driver"))),
    ]
}

fn processor(cpu: &str) -> Vec<(&'static str, Option<String>)> {
    vec![
        ("processors of the machine", text(&format!("{CPUS}/online"))),
        ("simultaneous multithreading", switch(&format!("{CPUS}/smt/active"), "1")),
        ("NUMA nodes", Some(processors::numa_nodes().to_string())),
        ("isolated processors", text(&format!("{CPUS}/isolated"))),
        ("microcode", field(cpu, "microcode", ':')),
        ("mitigations", mitigations()),
    ]
}

/// What slows system calls down: the mitigations that are on, and what is left open.
fn mitigations() -> Option<String> {
    let directory = fs::read_dir(format!("{CPUS}/vulnerabilities")).ok()?;
    let mut all: Vec<String> = directory
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let state = text(&entry.path().to_string_lossy())?;
            (state != "Not affected").then(|| format!("{name}: {}", state.trim_start_matches("Mitigation: ")))
        })
        .collect();
    all.sort();
    Some(if all.is_empty() { "not affected".into() } else { all.join("; ") })
}

fn memory_facts() -> Vec<(&'static str, Option<String>)> {
    let vm = |name: &str| text(&format!("/proc/sys/vm/{name}"));
    // Where a limit in bytes is set, the one in percent is 0.
    let level = |bytes: &str, percent: &str| match vm(bytes)?.as_str() {
        "0" => vm(percent).map(|percent| format!("{percent} %")),
        bytes => Some(format!("{bytes} bytes")),
    };
    vec![
        ("transparent hugepages", chosen("/sys/kernel/mm/transparent_hugepage/enabled")),
        ("swappiness", vm("swappiness")),
        ("dirty limit", level("dirty_bytes", "dirty_ratio")),
        ("dirty background limit", level("dirty_background_bytes", "dirty_background_ratio")),
        ("dirty expires", vm("dirty_expire_centisecs").map(|time| format!("{time} cs"))),
    ]
}

fn limits() -> Vec<(&'static str, Option<String>)> {
    let own = control::own_limits();
    let io: Vec<String> = own
        .io
        .iter()
        .map(|limit| {
            let part = |name: &str, value: Option<u64>| value.map(|value| format!(" {name} {value}"));
            let parts = [
                part("read bytes/s", limit.read_bytes),
                part("written bytes/s", limit.write_bytes),
                part("reads/s", limit.reads),
                part("writes/s", limit.writes),
            ];
            format!("{}:{}", limit.device, parts.into_iter().flatten().collect::<String>())
        })
        .collect();
    // SAFETY: the call takes nothing and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    vec![
        ("processor limit", own.cpu_quota.map(|quota| format!("{quota} processors"))),
        ("memory limit", own.memory_bytes.map(|bytes| format!("{bytes} bytes"))),
        ("I/O limit", Some(io.join("; "))),
        ("user", Some(if is_root { "root" } else { "not root" }.into())),
    ]
}

/// What is different each time.
fn present() -> Vec<(&'static str, Option<String>)> {
    let load = text("/proc/loadavg").map(|load| load.split(' ').take(3).collect::<Vec<_>>().join(" "));
    let levels = memory::read();
    vec![
        ("load", load),
        ("available memory", levels.map(|levels| format!("{} bytes", levels.available))),
        ("swap in use", levels.map(|levels| format!("{} bytes", levels.swapped))),
    ]
}

/// The facts of the file systems that targets lie on: how full, and when made.
pub fn file_systems(targets: &[TargetFacts]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for facts in targets {
        let (Some(point), Some(kind)) = (&facts.mount_point, &facts.file_system) else { continue };
        let name = format!("file system {point}");
        if all.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let full = facts.size_bytes.zip(facts.free_bytes).filter(|(size, _)| *size > 0);
        let full = full.map(|(size, free)| format!(", {} % full", (size - free.min(size)) * 100 / size));
        let made = made_on(point).map(|day| format!(", made {day}"));
        let value = [Some(kind.clone()), full, made].into_iter().flatten().collect();
        all.push((name, value));
    }
    all
}

/// The day on which a file system was made: that of its root directory, where that is its oldest object.
fn made_on(point: &str) -> Option<String> {
    let facts = fs::metadata(point).ok()?;
    let is_root = matches!(facts.ino(), 1 | 2 | 64 | 128 | 256);
    let made = facts.created().ok().filter(|_| is_root)?;
    let since = made.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    // A file system made without a time, as images are, says 1970.
    (since > 86_400).then(|| day(since))
}

/// The day of a time since 1970, s, by universal time: `2026-03-01`.
fn day(seconds: u64) -> String {
    let seconds = seconds as libc::time_t;
    // SAFETY: both structures are valid for what the call does with them.
    let date = unsafe {
        let mut date: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&raw const seconds, &raw mut date);
        date
    };
    format!("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_recorded_texts() {
        assert_eq!(bracketed("always [madvise] never"), Some("madvise".into()));
        assert_eq!(bracketed("none"), None);
        let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
        assert_eq!(field(release, "PRETTY_NAME", '='), Some("Debian GNU/Linux 13 (trixie)".into()));
        assert_eq!(day(1_772_323_200), "2026-03-01");
        assert_eq!(
            field("microcode\t: 0x1\nflags\t\t: fpu hypervisor\n", "flags", ':'),
            Some("fpu hypervisor".into())
        );
    }

    #[test]
    fn secrets_of_the_command_line_are_masked() {
        let plain = "BOOT_IMAGE=/vmlinuz root=UUID=1-2 ro rd.vconsole.keymap=de quiet mitigations=off";
        assert_eq!(masked(plain), plain);
        assert_eq!(
            masked("ro rd.luks.key=/k:UUID=1 ip=dhcp API_TOKEN=\"a b\" quiet"),
            "ro rd.luks.key=*** ip=dhcp API_TOKEN=*** quiet (2 values that look like secrets are masked)"
        );
        let told = masked("root_password=x");
        assert_eq!(told, "root_password=*** (a value that looks like a secret is masked)");
        for word in ["systemd.set_credential=a:b", "inst.ks=https://me:pw@h/ks", "netroot=iscsi:u:p@h::3"] {
            assert!(masked(word).contains("=*** ("), "{word}");
        }
        assert_eq!(masked("token= key"), "token= key");
    }

    #[test]
    fn names_are_told_once_and_have_values() {
        let facts = machine();
        let mut names: Vec<&String> = facts.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), facts.len());
        assert!(facts.iter().all(|(_, value)| !value.is_empty()));
        assert!(facts.iter().any(|(name, _)| name == "user"));
    }

    #[test]
    fn a_file_system_is_told_of_once() {
        let facts = TargetFacts {
            mount_point: Some("/nowhere".into()),
            file_system: Some("ext4".into()),
            size_bytes: Some(200),
            free_bytes: Some(50),
            ..TargetFacts::default()
        };
        let told = file_systems(&[facts.clone(), facts, TargetFacts::default()]);
        assert_eq!(told, [("file system /nowhere".to_string(), "ext4, 75 % full".to_string())]);
    }
}
