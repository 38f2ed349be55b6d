//! `read_iolog` and what belongs to it: from a recording to a trace, its files and its directions.
//!
//! The engine room opens a trace's files before its first operation, and all of it is read before the run, chunked or
//! not. Traces are merged when a job is understood, as fio does; the program writes the file.

use iodyno_model::{Extent, Trace, Verb};

use super::super::recorded::{self, How, Recording};
use super::direction::Direction;
use super::names::{self, TargetFile};
use super::option_reader::OptionReader;
use super::size::Sizes;
use crate::{Loader, MergedTrace};

/// A job's recording.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The workload.
    pub trace: Trace,
    /// The names of its files.
    pub names: Vec<String>,
    /// The depth it was recorded at, where it tells.
    pub depth: Option<u32>,
}

/// The recordings that a job names: they are dealt to its clones in turn.
pub fn listed(ask: &OptionReader<'_>) -> Vec<String> {
    ask.text("read_iolog").map(names::split_names).unwrap_or_default()
}

impl Replay {
    /// What a job plays back; `turn`: which of its clones.
    pub fn of(
        ask: &mut OptionReader<'_>,
        turn: usize,
        readonly: bool,
        loader: &mut dyn Loader,
    ) -> Option<Replay> {
        let listed = listed(ask);
        let mut name = listed.get(turn % listed.len().max(1))?.clone();
        if let Some(merged) = ask.text("merge_blktrace_file").map(String::from) {
            // The clones of a job play the same file back.
            if turn == 0
                && let Err(why) = merge(ask, &listed, &merged, loader)
            {
                ask.refuse("merge_blktrace_file", why, "it merges binary traces of blktrace into a new file");
                return Some(Replay::found(ask, Recording::default()));
            }
            name = merged;
        }
        let name = &name;
        if ask.has("write_iolog") {
            ask.note("write_iolog", "fio: read iolog overrides write_iolog");
        }
        let how = how(ask, readonly);
        match bytes(name, loader)
            .and_then(|bytes| recorded::read(&bytes, &how, &mut |major, minor| device(major, minor, loader)))
        {
            Ok(recording) => Some(Replay::found(ask, recording)),
            Err(why) => {
                let hint = "write_iolog=FILE records one; blkparse -d makes one of blktrace's files";
                ask.refuse("read_iolog", format!("{name}: {why}"), hint);
                // One thing is wrong, and not the size too.
                Some(Replay::found(ask, Recording::default()))
            }
        }
    }

    fn found(ask: &mut OptionReader<'_>, recording: Recording) -> Replay {
        recording.notes.iter().for_each(|note| ask.note("read_iolog", note.clone()));
        if recording.forbidden > 0 {
            let (job, count) = (ask.job().to_string(), recording.forbidden);
            let note = format!("fio: <{job}> skips replay of {count} writes due to read-only");
            ask.note("read_iolog", note);
        }
        let Recording { files, entries, timing, depth, .. } = recording;
        let trace = Trace::of(entries, timing);
        Replay { trace, names: files, depth }
    }

    /// The directions that occur, whatever `rw` says.
    pub fn direction(&self, said: Direction) -> Direction {
        let has = |verb| self.trace.entries.iter().any(|entry| entry.verb == verb);
        Direction { reads: has(Verb::Read), writes: has(Verb::Write), trims: has(Verb::Discard), ..said }
    }

    /// The files, whatever `filename` says.
    pub fn files(&self, ask: &OptionReader<'_>, loader: &dyn Loader) -> Vec<TargetFile> {
        let named = |name: &String| TargetFile {
            path: name.clone(),
            own: false,
            stream: None,
            facts: loader.look(name),
            made_bytes: 0,
            origin: ask.origin("read_iolog").clone(),
        };
        self.names.iter().map(named).collect()
    }

    /// How much is moved; where nothing is on a disk, files are as long as the trace needs them.
    pub fn sizes(&self, diskless: bool) -> Sizes {
        let mut ends = vec![None; if diskless { self.names.len() } else { 0 }];
        for entry in &self.trace.entries {
            if let Some(end) = ends.get_mut(entry.target) {
                *end = (*end).max(Some(entry.offset.saturating_add(entry.bytes)));
            }
        }
        let moved = self.trace.entries.iter().map(|entry| entry.bytes).sum();
        Sizes { ends, pass_bytes: Some(moved), offset: Extent::Rest, ..Sizes::default() }
    }
}

/// `merge_blktrace_file` with the speeds and iterations of the traces, by their order.
fn merge(
    ask: &OptionReader<'_>,
    listed: &[String],
    merged: &str,
    loader: &mut dyn Loader,
) -> Result<(), String> {
    let list = |name: &str, usual: f64| -> Result<Vec<f64>, String> {
        match ask.decimals(name) {
            None => Ok(vec![usual; listed.len()]),
            Some(values) if values.len() == listed.len() => Ok(values.to_vec()),
            Some(values) => {
                Err(format!("{name} has {} values for {} traces in read_iolog", values.len(), listed.len()))
            }
        }
    };
    let percents = list("merge_blktrace_scalars", 100.0)?;
    let iterations = list("merge_blktrace_iters", 1.0)?;
    let speeds = percents.into_iter().zip(iterations);
    let parts = listed.iter().zip(speeds);
    let parts: Vec<MergedTrace> = parts
        .map(|(path, (percent, iterations))| MergedTrace {
            path: path.clone(),
            percent,
            iterations: iterations as u32,
        })
        .collect();
    loader.merge_blktraces(&parts, merged)
}

fn bytes(name: &str, loader: &mut dyn Loader) -> Result<Vec<u8>, String> {
    if name == "-" { loader.standard_input() } else { loader.read(name) }
}

/// The name of a block device; sysfs knows it.
fn device(major: u32, minor: u32, loader: &mut dyn Loader) -> Option<String> {
    let facts = loader.read(&format!("/sys/dev/block/{major}:{minor}/uevent")).ok()?;
    let facts = String::from_utf8_lossy(&facts).into_owned();
    let name = facts.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    Some(format!("/dev/{name}"))
}

fn how(ask: &mut OptionReader<'_>, readonly: bool) -> How {
    let number = |name: &str| ask.whole(name).unwrap_or(0).max(0) as u64;
    How {
        redirect: ask.text("replay_redirect").map(String::from),
        scale: number("replay_scale"),
        align: number("replay_align"),
        speed_percent: ask.whole("replay_time_scale").unwrap_or(100).max(1) as f64,
        no_stall: ask.flag("replay_no_stall", false),
        skip: skipped(ask),
        readonly,
    }
}

/// `replay_skip`: reads, writes, trims, syncs.
fn skipped(ask: &mut OptionReader<'_>) -> [bool; 4] {
    let mut skip = [false; 4];
    for word in ask.text("replay_skip").unwrap_or_default().split(',').map(str::trim) {
        match ["read", "write", "trim", "sync"].iter().position(|known| *known == word) {
            Some(place) => skip[place] = true,
            None if word.is_empty() => {}
            None => {
                ask.refuse("replay_skip", format!("`{word}` cannot be skipped"), "read, write, trim, sync")
            }
        }
    }
    skip
}
