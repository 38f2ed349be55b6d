//! Promises that are written and judged, with damage that is staged by hand.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iodyno_crash::powerfail::entry::LogHeader;
use iodyno_crash::powerfail::log::{LogPlace, PromiseLog};
use iodyno_crash::powerfail::log_reader::PromiseRecord;
use iodyno_crash::powerfail::step::SyncMode;
use iodyno_crash::powerfail::verify::{PowerfailVerdict, VerifyTerms, run_directory, verify};
use iodyno_crash::powerfail::{device, lay_out, writer};
use iodyno_crash::promise::Damage;
use tempfile::TempDir;

fn clock() -> u64 {
    1_700_000_000_000_000_000
}

/// A target that was written to, and its log.
struct Written {
    home: TempDir,
    target: PathBuf,
    log: Vec<u8>,
}

impl Written {
    fn record(&self) -> PromiseRecord {
        PromiseRecord::read(&self.log).expect("a log")
    }

    fn verdict_of(&self, record: &PromiseRecord) -> PowerfailVerdict {
        verify(record, &self.target, VerifyTerms { atomic_bytes: 512 }).expect("a look")
    }

    fn verdict(&self) -> PowerfailVerdict {
        self.verdict_of(&self.record())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.target.join(run_directory(7)).join(name)
    }

    /// The damage that is found, and what it was found in.
    fn damage(&self) -> Vec<(Damage, String)> {
        let findings = self.verdict().findings;
        findings.into_iter().map(|finding| (finding.violation.damage, finding.violation.path)).collect()
    }
}

fn header(is_device: bool) -> LogHeader {
    let modes = SyncMode::ALL.iter().copied().filter(|mode| mode.is_of_devices() == is_device);
    LogHeader { run: 7, is_device, blocks: 16, threads: 2, has_xattr: true, modes: modes.collect() }
}

fn written(is_device: bool, steps: u64) -> Written {
    let home = tempfile::tempdir().expect("a directory");
    let target = home.path().join("target");
    let mut header = header(is_device);
    if is_device {
        File::create(&target).and_then(|file| file.set_len(32 * 4096)).expect("a file");
        device::lay_out(&target, &header, clock()).expect("a layout");
    } else {
        fs::create_dir(&target).expect("a directory");
        let layout = lay_out(&target.join(run_directory(7)), &header, clock()).expect("a layout");
        (header.modes, header.has_xattr) = (layout.modes, layout.has_xattr);
    }
    let path = home.path().join("log");
    let place = LogPlace::Stream(Box::new(File::create(&path).expect("a log")));
    let log = PromiseLog::begin(place, &header, clock).expect("a log");
    let at = if is_device { target.clone() } else { target.join(run_directory(7)) };
    let mut writing = writer::start(&at, &header, log, 5, Some(steps)).expect("threads");
    while !writing.has_ended_within(Duration::from_secs(60)) {}
    assert!(writing.ended.iter().all(|end| end.failure.is_none()), "{:?}", writing.ended);
    Written { log: fs::read(path).expect("a log"), home, target }
}

fn flip(path: &Path, at: u64, change: impl FnOnce(&mut [u8; 512])) {
    let file = File::options().read(true).write(true).open(path).expect("a file");
    let mut sector = [0; 512];
    file.read_exact_at(&mut sector, at).expect("a sector");
    change(&mut sector);
    file.write_all_at(&sector, at).expect("a sector");
}

#[test]
fn storage_that_keeps_everything_is_not_accused() {
    for is_device in [false, true] {
        let written = written(is_device, 800);
        let verdict = written.verdict();
        assert_eq!(verdict.findings, []);
        assert_eq!((verdict.newer, verdict.unpromised), (0, 0));
        assert!(written.record().has_ended);
        assert!(verdict.modes.values().all(|mode| mode.promises > 0), "{:?}", verdict.modes);
        drop(written.home);
    }
}

#[test]
fn what_was_laid_out_and_never_changed_is_kept_too() {
    assert_eq!(written(false, 1).verdict().findings, []);
}

#[test]
fn a_log_that_was_cut_anywhere_accuses_nobody() {
    let written = written(false, 300);
    // The state at the end is later than a cut log knows: only what the log says last may be compared.
    let lines: Vec<usize> = (0..written.log.len()).filter(|at| written.log[*at] == b'\n').collect();
    for cut in [lines.len() - 1, lines.len() - 2, lines.len() - 4] {
        let record = PromiseRecord::read(&written.log[..lines[cut] - 3]).expect("a log");
        assert!(record.cut_bytes > 0 && !record.has_ended);
        assert_eq!(written.verdict_of(&record).findings, [], "{cut}");
    }
}

#[test]
fn each_kind_of_damage_to_a_block_has_its_name() {
    let written = written(false, 800);
    let path = written.file("t0/fsync.dat");
    let whole = fs::read(&path).expect("a file");
    let name = |block: u64| format!("t0/fsync.dat block {block}");
    let restore = || fs::write(&path, &whole).expect("a file");
    let zeroed = |block: u64| vec![(Damage::Zeroed, name(block))];

    fs::write(&path, [&[0; 4096][..], &whole[4096..]].concat()).expect("a file");
    assert_eq!(written.damage(), zeroed(0));
    restore();
    flip(&path, 4096 + 512, |sector| sector.fill(0));
    assert_eq!(written.damage(), [(Damage::Torn, name(1))]);
    restore();
    flip(&path, 8192, |sector| sector[100] ^= 1);
    assert_eq!(written.damage(), [(Damage::Garbage, name(2))]);
    assert!(
        written.verdict().findings[0].violation.found.contains("1 inverted bit"),
        "{:?}",
        written.verdict()
    );
    restore();
    fs::write(&path, [&whole[..4096], &whole[..4096], &whole[8192..]].concat()).expect("a file");
    assert_eq!(written.damage(), [(Damage::Garbage, name(1))]);
    assert!(
        written.verdict().findings[0].violation.found.contains("misdirected: block 0"),
        "{:?}",
        written.verdict()
    );
    fs::write(&path, &whole[..3 * 4096]).expect("a file");
    assert_eq!(written.damage(), [(Damage::WrongSize, "t0/fsync.dat".into())]);
    fs::remove_file(&path).expect("a file");
    assert_eq!(written.damage(), [(Damage::Lost, "t0/fsync.dat".into())]);
}

#[test]
fn each_kind_of_damage_to_a_file_has_its_name() {
    let written = written(false, 800);
    let file = |name: &str| written.file(name);
    fs::set_permissions(file("t1/attribute.dat"), PermissionsExt::from_mode(0o777)).expect("a mode");
    File::options().write(true).open(file("t0/size.dat")).and_then(|file| file.set_len(1)).expect("a size");
    let entries = fs::read_dir(file("t0")).expect("a directory").flatten();
    let old = entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("/rename-2."));
    fs::rename(old.expect("a name"), file("t0/rename-2.999999")).expect("a name");
    let damage = written.damage();
    let has = |damage_of: Damage, name: &str| {
        assert!(
            damage.iter().any(|(damage, path)| *damage == damage_of && path.starts_with(name)),
            "{name}: {damage:?}"
        );
    };
    has(Damage::WrongAttribute, "t1/attribute.dat");
    has(Damage::WrongSize, "t0/size.dat");
    has(Damage::WrongName, "t0/rename-2");
    assert_eq!(damage.len(), 3, "{damage:?}");
}

#[test]
fn a_removed_file_that_is_back_is_resurrected() {
    let written = written(false, 800);
    let record = written.record();
    let removed = record.files.iter().find(|(_, promise)| promise.mode == SyncMode::Remove).expect("one");
    fs::write(written.file(&removed.0.path()), b"back").expect("a file");
    assert_eq!(written.damage(), [(Damage::Resurrected, removed.0.path())]);
}

#[test]
fn a_device_that_is_set_back_is_stale_and_out_of_order() {
    let written = written(true, 40);
    let early = fs::read(&written.target).expect("a device");
    let record = written.record();
    let ((object, block), promise) =
        record.blocks.iter().min_by_key(|(_, promise)| promise.generation).expect("a block");
    // The block as it was laid out, with all later ones as they are.
    let fresh = {
        let other = tempfile::NamedTempFile::new().expect("a file");
        other.as_file().set_len(32 * 4096).expect("room");
        device::lay_out(other.path(), &record.header, clock()).expect("a layout");
        fs::read(other.path()).expect("a device")
    };
    let at = *block as usize * 4096;
    let mut stale = early.clone();
    stale[at..at + 4096].copy_from_slice(&fresh[at..at + 4096]);
    fs::write(&written.target, &stale).expect("a device");
    let verdict = written.verdict();
    let [finding] = &verdict.findings[..] else { panic!("{:?}", verdict.findings) };
    assert_eq!(
        (finding.violation.damage, finding.promise, finding.thread),
        (Damage::Stale, *promise, object.thread)
    );
    assert!(finding.later.is_some_and(|later| later > promise.generation));
}
