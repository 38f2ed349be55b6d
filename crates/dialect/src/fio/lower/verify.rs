//! `verify` and its kin: what blocks carry, when they are read back, what is kept of it.

use iodyno_model::{
    Checksum, HeaderStamp, Stamp, TrimBack, Verify, VerifyLayout, VerifyPolicy, VerifyState, VerifyWhen,
};

use super::blocks::common;
use super::option_reader::OptionReader;
use super::{JobContext, template};
use crate::Loader;
use crate::option::refuse;

/// The first version whose headers have a version.
const VERSIONED: (u32, u32) = (3, 41);

/// How a job's blocks are checked; `None`: they are not. `number` is that of the first clone, from 0.
pub fn verify(
    ask: &mut OptionReader<'_>,
    found: &JobContext,
    number: u32,
    clones: u32,
    loader: &mut dyn Loader,
) -> Option<Verify> {
    let stamp = stamp(ask, found, loader)?;
    let direction = &found.direction;
    let shared = found.files.iter().any(|file| !file.own && file.is_file());
    if direction.writes && clones > 1 && shared && !found.engine.diskless {
        let message = "multiple writers may overwrite blocks that belong to other jobs. This can cause \
                       verification failures.";
        ask.warn("verify", message);
    }
    Some(Verify {
        stamp,
        when: when(ask, direction.writes),
        interval_bytes: interval(ask, found),
        pattern_interval_bytes: ask.number("verify_pattern_interval").unwrap_or(0),
        fatal: ask.flag("verify_fatal", false),
        wrong_is_read: true,
        helpers: ask.count("verify_async").unwrap_or(0),
        helper_cpus: ask.text("verify_async_cpus").and_then(super::placement::list).unwrap_or_default(),
        only: ask.flag("verify_only", false) && direction.writes,
        only_counts: ask.flag("verify_only", false) && direction.writes,
        policy: policy(ask, direction.writes),
        dump: ask.flag("verify_dump", false),
        trim: trims(ask),
        state: Some(state(ask)).filter(|state| state.save || state.load),
        first_worker: number,
        map: None,
        map_live: false,
        layout: layout(loader),
    })
}

/// `verify_interval`: fio takes what divides the smallest and the largest write, and otherwise the most that does.
fn interval(ask: &OptionReader<'_>, found: &JobContext) -> u64 {
    let (least, most) = found.blocks.ends.write;
    let divides = |bytes: &u64| *bytes > 0 && least.is_multiple_of(*bytes) && most.is_multiple_of(*bytes);
    match ask.number("verify_interval").filter(divides) {
        Some(bytes) => bytes,
        None if least == most || ask.flag("bs_unaligned", false) => 0,
        None => common(least, most),
    }
}

/// `verify_policy`: whether what no sync followed is read back too.
fn policy(ask: &mut OptionReader<'_>, writes: bool) -> VerifyPolicy {
    if ask.word("verify_policy") != Some("fsynced") || !writes {
        return VerifyPolicy::All;
    }
    refuse! { ask
        "verify_policy" if ask.number("verify_backlog").is_some_and(|writes| writes > 0) =>
            "verify_policy=fsynced tells what to read back at the end", "leave verify_backlog out";
        "verify_policy" if !["fsync", "fdatasync"].iter().any(|name| ask.number(name).is_some_and(|every| every > 0)) =>
            "verify_policy=fsynced, but nothing is synced while the job writes", "for example fsync=16";
    }
    VerifyPolicy::Synced
}

/// Of what is written: that of the version we name, or that of the one which `--also headers=` names.
fn layout(loader: &dyn Loader) -> VerifyLayout {
    let asked = loader.also("headers");
    let mut numbers =
        asked.iter().flat_map(|version| version.split('.')).map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) < VERSIONED => VerifyLayout::Unversioned,
        _ => VerifyLayout::Versioned,
    }
}

fn stamp(ask: &mut OptionReader<'_>, found: &JobContext, loader: &mut dyn Loader) -> Option<Stamp> {
    let word = ask.word("verify")?;
    let pattern = template::of(ask, "verify_pattern", found.block_bytes_most(), loader);
    let checksum = match word {
        "0" | "none" => return None,
        "1" | "md5" => Checksum::Md5,
        "null" => return Some(Stamp::Nothing),
        "pattern" => match pattern {
            Some(template) => return Some(Stamp::Pattern(template)),
            // What is wrong with it was said.
            None if ask.has("verify_pattern") => return None,
            None => {
                let hint = "for example verify_pattern=0xdeadbeef";
                ask.refuse("verify", "verify=pattern needs verify_pattern", hint);
                return None;
            }
        },
        "crc32c-intel" => Checksum::Crc32c,
        // fio keeps `meta` as a word; its header is in every block anyway.
        name => match Checksum::named(name) {
            Some(checksum) => checksum,
            None => {
                let known: Vec<_> = Checksum::ALL.iter().map(|checksum| checksum.name()).collect();
                ask.refuse_value("verify", "no such check", known.join(" "));
                return None;
            }
        },
    };
    Some(Stamp::Header(HeaderStamp {
        offset_bytes: ask.whole("verify_offset").unwrap_or(0).max(0) as u64,
        pattern,
        seed_checked: ask.flag("verify_header_seed", true),
        number_checked: ask.flag("verify_write_sequence", true),
        ..HeaderStamp::new(checksum)
    }))
}

fn when(ask: &OptionReader<'_>, writes: bool) -> VerifyWhen {
    if !writes {
        return VerifyWhen::OnRead;
    }
    if !ask.flag("do_verify", true) {
        return VerifyWhen::Never;
    }
    match ask.whole("verify_backlog").filter(|writes| *writes > 0) {
        Some(writes) => VerifyWhen::Backlog {
            writes: writes as u64,
            batch: ask.whole("verify_backlog_batch").unwrap_or(0).max(0) as u64,
        },
        None => VerifyWhen::AfterWrites,
    }
}

fn trims(ask: &OptionReader<'_>) -> Option<TrimBack> {
    let percent = ask.whole("trim_percentage").filter(|percent| *percent > 0)?;
    let backlog = ask.whole("trim_backlog").unwrap_or(0).max(0) as u64;
    Some(TrimBack {
        percent: percent.min(100) as u8,
        every_writes: backlog.max(1),
        batch: ask.whole("trim_backlog_batch").unwrap_or(0).max(0) as u64,
        reads_zero: ask.flag("trim_verify_zero", true),
    })
}

fn state(ask: &OptionReader<'_>) -> VerifyState {
    VerifyState {
        path: format!("local-{}-{{worker}}-verify.state", ask.job()),
        name: ask.job().into(),
        save: ask.flag("verify_state_save", true),
        load: ask.flag("verify_state_load", false),
        given: Vec::new(),
    }
}
