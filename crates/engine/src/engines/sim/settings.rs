//! The settings of the simulated device: from the user's text to values, with every problem at once.
//!
//! Knows no time and serves nothing; a setting that would be ignored is an error here.

use iodyno_model::{Diagnostic, Job, Origin, Setting, units};

use super::disk::Disk;
use super::service::{FORMS, Service, probability};
use crate::engines::{SettingSpec, spec};

/// What the user may say.
pub const SPECS: &[SettingSpec] = &[
    spec("preset", "disk or ssd: where the others begin"),
    spec("service", FORMS),
    spec("read_service", "the same, for reads only"),
    spec("write_service", "the same, for writes and trims only"),
    spec("sync_service", "the same, for fsync and its kin (default: as writes)"),
    spec("metadata_service", "the same, for metadata operations (default: 10us)"),
    spec("parallelism", "operations served at once; the others queue in order (default: 1)"),
    spec("bandwidth", "bytes per second of each server, added to the service time, e.g. 500MB"),
    spec("error_at", "operations that fail, from 1: 3, or 3:EIO,9:ENOSPC"),
    spec("error_rate", "share of operations that fail: 0.1% or 0.1%:ETIMEDOUT"),
    spec("short_at", "operations, from 1, that move half of their bytes: 5,8"),
    spec("stall", "when nothing moves, and how long: 2s:500ms, or several by commas"),
    spec("capacity", "bytes it holds: reads end there, writes fail with ENOSPC"),
    spec("seed", "seed of its draws (default: the plan's)"),
    spec("seek_ms", "preset=disk: average seek (default: 8.5)"),
    spec("rpm", "preset=disk: rotations per minute (default: 7200)"),
    spec("transfer_ms", "preset=disk: transfer of one operation (default: 0)"),
    spec("transfer_bytes_per_s", "preset=disk: transfer by size instead, e.g. 150MB"),
    spec("heads", "preset=disk: actuators that move on their own (default: 1)"),
    spec("seeks", "preset=disk: when_moved (default) or always, even when adjacent"),
];

const ERRORS: &[(&str, i32)] = &[
    ("EIO", libc::EIO),
    ("ENOSPC", libc::ENOSPC),
    ("ETIMEDOUT", libc::ETIMEDOUT),
    ("EROFS", libc::EROFS),
    ("EDQUOT", libc::EDQUOT),
    ("ENOMEM", libc::ENOMEM),
    ("EAGAIN", libc::EAGAIN),
    ("EBUSY", libc::EBUSY),
    ("EINTR", libc::EINTR),
    ("EINVAL", libc::EINVAL),
    ("EACCES", libc::EACCES),
    ("EPERM", libc::EPERM),
    ("ENOENT", libc::ENOENT),
    ("ENXIO", libc::ENXIO),
    ("EILSEQ", libc::EILSEQ),
];

/// What the device is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub read: Service,
    /// Writes and trims.
    pub write: Service,
    /// Flushes.
    pub sync: Service,
    /// Names and attributes.
    pub metadata: Service,
    /// Operations served at once.
    pub parallelism: u32,
    /// Bytes per second of each server; 0: transfer takes no time.
    pub bandwidth: u64,
    /// Operations that fail, counted from 1, with their error numbers.
    pub errors: Vec<(u64, i32)>,
    /// Probability of a failure, and its error number.
    pub error_rate: Option<(f64, i32)>,
    /// Operations that move half, counted from 1.
    pub shorts: Vec<u64>,
    /// Stalls: begin and end in ns, ascending, apart from each other.
    pub stalls: Vec<(u64, u64)>,
    /// Bytes it holds.
    pub capacity: Option<u64>,
    /// Seed of its draws.
    pub seed: Option<u64>,
    /// Mechanics instead of `read` and `write`.
    pub disk: Option<Disk>,
}

impl Default for Settings {
    fn default() -> Self {
        let service = Service::Constant(100_000);
        Settings {
            read: service.clone(),
            write: service.clone(),
            sync: service,
            metadata: Service::Constant(10_000),
            parallelism: 1,
            bandwidth: 0,
            errors: Vec::new(),
            error_rate: None,
            shorts: Vec::new(),
            stalls: Vec::new(),
            capacity: None,
            seed: None,
            disk: None,
        }
    }
}

/// Reads all settings of a job.
///
/// # Errors
/// Every problem there is.
pub fn read(job: &Job) -> Result<Settings, Vec<Diagnostic>> {
    let mut reader =
        SettingsReader { settings: Settings::default(), services: Default::default(), wrong: Vec::new() };
    job.settings.iter().filter(|setting| setting.name == "preset").for_each(|setting| reader.preset(setting));
    job.settings
        .iter()
        .filter(|setting| setting.name != "preset")
        .for_each(|setting| reader.setting(setting));
    reader.finish()
}

/// Collects values and problems.
struct SettingsReader {
    settings: Settings,
    /// Service times that were said: all, read, write, sync.
    services: [Option<(Service, Origin)>; 4],
    wrong: Vec<Diagnostic>,
}

impl SettingsReader {
    fn complain(&mut self, setting: &Setting, what: impl std::fmt::Display, hint: Option<&str>) {
        let message = format!("`{}={}`: {what}", setting.name, setting.value);
        let diagnostic = Diagnostic::error(&setting.origin, message);
        self.wrong.push(match hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        });
    }

    fn preset(&mut self, setting: &Setting) {
        let settings = &mut self.settings;
        match setting.value.as_str() {
            "disk" => {
                let disk = settings.disk.get_or_insert_default();
                // A journal block that was just passed comes round again after a whole rotation.
                settings.sync = Service::Constant((2.0 * disk.half_rotation_ns()).round() as u64);
            }
            "ssd" => {
                settings.read = Service::Constant(80_000);
                settings.write = Service::Constant(20_000);
                settings.sync = Service::Constant(500_000);
                settings.parallelism = 16;
            }
            _ => self.complain(setting, "there is no such preset", Some("presets are disk and ssd")),
        }
    }

    fn setting(&mut self, setting: &Setting) {
        if DISK.contains(&setting.name.as_str()) {
            return self.disk(setting);
        }
        let value = setting.value.trim();
        let settings = &mut self.settings;
        let outcome = match setting.name.as_str() {
            "service" => Self::service(&mut self.services[0], setting),
            "read_service" => Self::service(&mut self.services[1], setting),
            "write_service" => Self::service(&mut self.services[2], setting),
            "sync_service" => Self::service(&mut self.services[3], setting),
            "metadata_service" => Service::parse(value).map(|service| settings.metadata = service),
            "parallelism" => count(value).map(|count| settings.parallelism = count),
            "bandwidth" => bytes(value).map(|bytes| settings.bandwidth = bytes),
            "error_at" => list(value, failing).map(|errors| settings.errors = errors),
            "error_rate" => rate(value).map(|rate| settings.error_rate = Some(rate)),
            "short_at" => list(value, ordinal).map(|shorts| settings.shorts = shorts),
            "stall" => list(value, stall).map(|stalls| settings.stalls = apart(stalls)),
            "capacity" => bytes(value).map(|bytes| settings.capacity = Some(bytes)),
            "seed" => number(value, "a whole number").map(|seed| settings.seed = Some(seed)),
            // Whoever checks the plan says so, for every engine.
            _ => Ok(()),
        };
        if let Err(what) = outcome {
            self.complain(setting, what, None);
        }
    }

    fn service(place: &mut Option<(Service, Origin)>, setting: &Setting) -> Result<(), String> {
        *place = Some((Service::parse(setting.value.trim())?, setting.origin.clone()));
        Ok(())
    }

    fn disk(&mut self, setting: &Setting) {
        let value = setting.value.trim();
        let Some(disk) = &mut self.settings.disk else {
            return self.complain(setting, "only a disk has that", Some("add preset=disk"));
        };
        let outcome = match setting.name.as_str() {
            "seek_ms" => decimal(value).map(|ms| disk.seek_ms = ms),
            "rpm" => decimal(value).and_then(|rpm| {
                disk.rpm = rpm;
                if rpm > 0.0 { Ok(()) } else { Err("expected more than 0".into()) }
            }),
            "transfer_ms" => decimal(value).map(|ms| disk.transfer_ms = ms),
            "transfer_bytes_per_s" => bytes(value).map(|bytes| disk.transfer_bytes_per_s = bytes as f64),
            "heads" => count(value).map(|heads| self.settings.parallelism = heads),
            _ => match value {
                "always" | "when_moved" => {
                    disk.always_seeks = value == "always";
                    Ok(())
                }
                _ => Err("expected always or when_moved".into()),
            },
        };
        if let Err(what) = outcome {
            self.complain(setting, what, None);
        }
    }

    fn finish(mut self) -> Result<Settings, Vec<Diagnostic>> {
        let [all, read, write, sync] = std::mem::take(&mut self.services);
        if self.settings.disk.is_some() {
            for (_, origin) in [&all, &read, &write].into_iter().flatten() {
                let message = "preset=disk has service times of its own";
                let hint = "say seek_ms, rpm and transfer_ms, or leave preset=disk out";
                self.wrong.push(Diagnostic::error(origin, message).hint(hint));
            }
        }
        let settings = &mut self.settings;
        if let Some((service, _)) = all {
            (settings.read, settings.write) = (service.clone(), service.clone());
            settings.sync = service;
        }
        settings.read = read.map_or(settings.read.clone(), |read| read.0);
        if let Some((service, _)) = write {
            (settings.write, settings.sync) = (service.clone(), service);
        }
        settings.sync = sync.map_or(settings.sync.clone(), |sync| sync.0);
        if self.wrong.is_empty() { Ok(self.settings) } else { Err(self.wrong) }
    }
}

const DISK: &[&str] = &["seek_ms", "rpm", "transfer_ms", "transfer_bytes_per_s", "heads", "seeks"];

fn number<T: std::str::FromStr>(text: &str, expected: &str) -> Result<T, String> {
    text.replace('_', "").parse().map_err(|_| format!("expected {expected}"))
}

fn count(text: &str) -> Result<u32, String> {
    match number(text, "a whole number of at least 1")? {
        count @ 1..=65_536 => Ok(count),
        _ => Err("expected a whole number from 1 to 65536".into()),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    match units::parse_bytes(text.trim_end_matches("/s"))? {
        0 => Err("expected more than 0".into()),
        bytes => Ok(bytes),
    }
}

fn decimal(text: &str) -> Result<f64, String> {
    let value: f64 = number(text, "a number such as 8.5")?;
    if (0.0..1e9).contains(&value) { Ok(value) } else { Err("expected a number from 0 on".into()) }
}

fn list<T>(text: &str, item: fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(|part| item(part.trim())).collect()
}

fn ordinal(text: &str) -> Result<u64, String> {
    match number(text, "an operation's number, from 1")? {
        0 => Err("operations are counted from 1".into()),
        ordinal => Ok(ordinal),
    }
}

fn failing(text: &str) -> Result<(u64, i32), String> {
    let (at, name) = text.split_once(':').unwrap_or((text, "EIO"));
    Ok((ordinal(at)?, errno(name)?))
}

fn rate(text: &str) -> Result<(f64, i32), String> {
    let (share, name) = text.split_once(':').unwrap_or((text, "EIO"));
    let share = probability(share).ok_or("expected a share such as 0.1% or 0.001")?;
    Ok((share, errno(name)?))
}

fn errno(name: &str) -> Result<i32, String> {
    let known = ERRORS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.trim()));
    let numbered = name.trim().parse().ok().filter(|errno| (1..4096).contains(errno));
    let names = || ERRORS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    known
        .map(|(_, errno)| *errno)
        .or(numbered)
        .ok_or_else(|| format!("`{name}`: expected an error number or one of {}", names()))
}

fn stall(text: &str) -> Result<(u64, u64), String> {
    let (at, length) = text.split_once(':').ok_or("expected a time and a duration, e.g. 2s:500ms")?;
    let at = units::parse_ns(at)?;
    Ok((at, at.saturating_add(units::parse_ns(length)?)))
}

/// Sorted, and what touches joined.
fn apart(mut stalls: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    stalls.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(stalls.len());
    for (begin, end) in stalls {
        match joined.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Pattern, Pick, Verb, Workload};

    fn settings(said: &[(&str, &str)]) -> Result<Settings, Vec<Diagnostic>> {
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let mut job = Job::new("j", "sim", Vec::new(), Workload::Pattern(Box::new(pattern)));
        job.settings = said.iter().map(|(name, value)| Setting::new(name, value)).collect();
        read(&job)
    }

    #[test]
    fn what_is_said_holds_in_any_order() {
        let said = [("write_service", "20us"), ("service", "80us"), ("heads", "2"), ("preset", "disk")];
        let plain = settings(&said[..2]).unwrap();
        assert_eq!((plain.read, plain.write.clone()), (Service::Constant(80_000), Service::Constant(20_000)));
        assert_eq!(plain.sync, plain.write);
        assert_eq!(settings(&said[2..]).unwrap().parallelism, 2);
    }

    #[test]
    fn lists_are_read_and_stalls_joined() {
        let said = [
            ("error_at", "3,9:ENOSPC"),
            ("stall", "5s:1s,2s:500ms,2400ms:1s"),
            ("error_rate", "1%:ETIMEDOUT"),
        ];
        let settings = settings(&said).unwrap();
        assert_eq!(settings.errors, [(3, libc::EIO), (9, libc::ENOSPC)]);
        assert_eq!(settings.stalls, [(2_000_000_000, 3_400_000_000), (5_000_000_000, 6_000_000_000)]);
        assert_eq!(settings.error_rate, Some((0.01, libc::ETIMEDOUT)));
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let said = [("parallelism", "0"), ("rpm", "7200"), ("error_at", "0"), ("stall", "2s")];
        let wrong = settings(&said).unwrap_err();
        assert_eq!(wrong.len(), said.len());
        assert_eq!(wrong[1].hint.as_deref(), Some("add preset=disk"));
        assert!(settings(&[("preset", "disk"), ("service", "1ms")]).is_err());
    }
}
