//! `read_iolog` and what belongs to it: what a recording holds, its files, its directions, and how it is played back.
//!
//! A recording is read once as it is lowered, to its end and without being kept; the engine reads it again as it plays it
//! back, chunked or not. Traces are merged when a job is understood, as fio does; the program writes the file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_model::{Division, Extent, Kind, Timing, Trace, Verb};
use iodyno_trace::replay::Survey;
use iodyno_trace::{TraceError, TraceLevel, TraceRecord};

use super::direction::Direction;
use super::engine::Engine;
use super::names::{self, TargetFile};
use super::option_reader::OptionReader;
use super::size::Sizes;
use crate::{Loader, MergedTrace};

/// How the importer takes logs: as fio's own replay does.
const FORMAT: &str = "fio-replay";
/// The deepest that a recording makes a job, as in fio.
const DEPTH_MOST: u32 = 1024;
/// Notes of a recording that are told.
const NOTES_MOST: usize = 20;
/// Engines of which files can be closed and opened again while they run.
const REOPENING: [&str; 6] = ["psync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio"];

/// A job's recording.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The workload.
    pub trace: Trace,
    /// The names of its files.
    pub names: Vec<String>,
    /// The depth it was recorded at, where it tells.
    pub depth: Option<u32>,
    /// By name, how far it is touched.
    ends: Vec<u64>,
}

/// The recordings that a job names: they are dealt to its clones in turn.
pub fn listed(ask: &OptionReader<'_>) -> Vec<String> {
    ask.text("read_iolog").map(names::split_names).unwrap_or_default()
}

/// How it is played back.
struct ReplayOptions {
    redirect: Option<String>,
    divisor: u64,
    align: u64,
    speed_percent: u64,
    no_stall: bool,
    /// Verbs that the user leaves out, and those that may not be done.
    skip: Vec<Verb>,
    forbidden: Vec<Verb>,
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
                return Some(Replay::nothing());
            }
            name = merged;
        }
        if ask.has("write_iolog") {
            ask.note("write_iolog", "fio: read iolog overrides write_iolog");
        }
        let options = options(ask, readonly);
        match Replay::found(ask, &name, &options, loader) {
            Ok(replay) => Some(replay),
            Err((why, hint)) => {
                let usual = "write_iolog=FILE records one; blkparse -d makes one of blktrace's files";
                ask.refuse("read_iolog", format!("{name}: {why}"), hint.as_deref().unwrap_or(usual));
                // One thing is wrong, and not the size too.
                Some(Replay::nothing())
            }
        }
    }

    fn nothing() -> Replay {
        let trace = Trace::of(Vec::new(), Timing::AsFast);
        Replay { trace, names: Vec::new(), depth: None, ends: Vec::new() }
    }

    /// Reads a recording to its end, or says why it cannot be, and what helps.
    fn found(
        ask: &mut OptionReader<'_>,
        name: &str,
        options: &ReplayOptions,
        loader: &mut dyn Loader,
    ) -> Result<Replay, (String, Option<String>)> {
        if name == "-" {
            let why = "standard input is read once, and a log twice";
            return Err((why.into(), Some("write it to a file first".into())));
        }
        let skip: Vec<Verb> = options.skip.iter().chain(&options.forbidden).copied().collect();
        let mut seen = RecordingTotals::default();
        let survey = loader.trace(name, FORMAT).and_then(|mut source| {
            Survey::watched(&mut *source, &skip, &mut |record| seen.record(record, options))
        });
        let survey = survey.map_err(|error| told(name, &error))?;
        if seen.played == 0 && seen.forbidden == 0 {
            return Err(("nothing in it can be played back".into(), None));
        }
        for note in survey.header.notes.iter().take(NOTES_MOST) {
            ask.note("read_iolog", note.clone());
        }
        if seen.forbidden > 0 {
            let (job, count) = (ask.job().to_string(), seen.forbidden);
            let note = format!("fio: <{job}> skips replay of {count} writes due to read-only");
            ask.note("read_iolog", note);
        }
        let mut replay = Replay { depth: seen.depth(&survey), ..Replay::nothing() };
        let map = replay.name_files(&survey, options, &seen, loader).map_err(|why| (why, None))?;
        let is_block = survey.header.level == TraceLevel::Block;
        let is_timed = is_block || survey.header.source == "fio iolog 3";
        let timing = match (options.no_stall, is_timed) {
            (true, _) => Timing::AsFast,
            (false, true) => Timing::Gaps,
            (false, false) => Timing::NoEarlier,
        };
        let mut facts = survey.facts;
        facts.verbs.retain(|verb| verb.kind() != Kind::Metadata);
        let (engine, helped) = (Engine::of(ask), ask.word("io_submit_mode") == Some("offload"));
        let is_fixed = engine.settings.iter().any(|setting| setting.name == "fixed_files");
        let reopens = REOPENING.contains(&engine.name) && !helped && !is_fixed;
        let settings = &mut replay.trace.replay;
        settings.map = map;
        settings.offset_divisor = options.divisor.max(1);
        settings.align_bytes = options.align;
        // Of an iolog fio rounds offsets alone.
        settings.lengths_stay = !is_block;
        settings.gap_speed_percent = options.speed_percent;
        settings.skip = skip;
        settings.division = Division::Whole;
        // Several files that are one are open until the end.
        settings.opens = !is_block && options.redirect.is_none() && reopens;
        settings.facts = facts;
        (replay.trace.path, replay.trace.format, replay.trace.timing) =
            (Some(name.into()), FORMAT.into(), timing);
        Ok(replay)
    }

    /// Names the files; by file of the recording the position of its name.
    fn name_files(
        &mut self,
        survey: &Survey,
        options: &ReplayOptions,
        seen: &RecordingTotals,
        loader: &mut dyn Loader,
    ) -> Result<Vec<Option<usize>>, String> {
        let mut map = Vec::new();
        for (index, file) in survey.tables.files.iter().enumerate() {
            let name = match (&options.redirect, file.device) {
                (Some(name), _) => name.clone(),
                (None, None) => file.name.clone(),
                (None, Some((major, minor))) => device(major, minor, loader)
                    .ok_or_else(|| format!("it was recorded on device {major}:{minor}, which is not here"))?,
            };
            let position = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
                self.names.push(name);
                self.ends.push(0);
                self.names.len() - 1
            });
            let end = seen.ends.get(index).copied().unwrap_or(0);
            self.ends[position] = self.ends[position].max(end);
            map.push(Some(position));
        }
        Ok(map)
    }

    /// The directions that occur, whatever `rw` says.
    pub fn direction(&self, said: Direction) -> Direction {
        let has = |verb| self.trace.replay.facts.verbs.contains(&verb);
        Direction { reads: has(Verb::Read), writes: has(Verb::Write), trims: has(Verb::Trim), ..said }
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
        let ends = if diskless { self.ends.iter().copied().map(Some).collect() } else { Vec::new() };
        let moved = self.trace.replay.facts.moved_bytes;
        Sizes { ends, pass_bytes: Some(moved), offset: Extent::Rest, ..Sizes::default() }
    }
}

/// What is wrong with a recording, and what helps. Its place begins with the recording's own name.
fn told(name: &str, error: &TraceError) -> (String, Option<String>) {
    let place = error.place.strip_prefix(name).unwrap_or(&error.place).trim_start_matches(':');
    let line = if place.is_empty() { String::new() } else { format!("line {place}: ") };
    (format!("{line}{}", error.message), error.hint.clone())
}

/// What is counted of a recording while it is read.
#[derive(Default)]
struct RecordingTotals {
    /// Operations that are played back, and writes and trims that may not be.
    played: u64,
    forbidden: u64,
    /// By file of the recording, how far it is touched.
    ends: Vec<u64>,
    /// fio's measure of depth: how many were queued, by reads and others, since one of them ended.
    queued: [u32; 2],
    most: u32,
    ending: BinaryHeap<Reverse<(u64, usize)>>,
}

impl RecordingTotals {
    fn record(&mut self, record: &TraceRecord, options: &ReplayOptions) {
        let skipped = options.skip.contains(&record.verb);
        let forbidden = options.forbidden.contains(&record.verb);
        self.forbidden += u64::from(forbidden && !skipped);
        self.depth_at(record);
        if skipped || forbidden || record.verb.kind() == Kind::Metadata {
            return;
        }
        self.played += 1;
        let offset = record.offset / options.divisor.max(1);
        let bytes = record.bytes.next_multiple_of(options.align.max(1));
        let index = record.file as usize;
        self.ends.resize(self.ends.len().max(index + 1), 0);
        self.ends[index] = self.ends[index].max(offset.saturating_add(bytes));
    }

    fn depth_at(&mut self, record: &TraceRecord) {
        while let Some(Reverse((_, way))) = self.ending.peek().filter(|Reverse((at, _))| *at <= record.at_ns)
        {
            let way = *way;
            self.ending.pop();
            self.ended(way);
        }
        // One that was merged into another ends with that one.
        if let Some(end_ns) = record.ended_ns() {
            let way = usize::from(record.verb != Verb::Read);
            self.queued[way] += 1;
            self.ending.push(Reverse((end_ns, way)));
        }
    }

    fn ended(&mut self, way: usize) {
        self.most = self.most.max(self.queued[way]);
        self.queued[way] = 0;
    }

    /// The depth of a block trace, as fio takes it.
    fn depth(&mut self, survey: &Survey) -> Option<u32> {
        while let Some(Reverse((_, way))) = self.ending.pop() {
            self.ended(way);
        }
        let is_block = survey.header.level == TraceLevel::Block;
        Some(self.most.min(DEPTH_MOST)).filter(|most| is_block && *most > 0)
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

/// The name of a block device; sysfs knows it.
fn device(major: u32, minor: u32, loader: &mut dyn Loader) -> Option<String> {
    let facts = loader.read(&format!("/sys/dev/block/{major}:{minor}/uevent")).ok()?;
    let facts = String::from_utf8_lossy(&facts).into_owned();
    let name = facts.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    Some(format!("/dev/{name}"))
}

fn options(ask: &mut OptionReader<'_>, readonly: bool) -> ReplayOptions {
    let number = |name: &str| ask.whole(name).unwrap_or(0).max(0) as u64;
    ReplayOptions {
        redirect: ask.text("replay_redirect").map(String::from),
        divisor: number("replay_scale").max(1),
        align: number("replay_align"),
        speed_percent: ask.whole("replay_time_scale").unwrap_or(100).max(1) as u64,
        no_stall: ask.flag("replay_no_stall", false),
        skip: skipped(ask),
        forbidden: if readonly { vec![Verb::Write, Verb::Trim] } else { Vec::new() },
    }
}

/// `replay_skip`: reads, writes, trims, syncs.
fn skipped(ask: &mut OptionReader<'_>) -> Vec<Verb> {
    let mut skip = Vec::new();
    for word in ask.text("replay_skip").unwrap_or_default().split(',').map(str::trim) {
        match word {
            "read" => skip.push(Verb::Read),
            "write" => skip.push(Verb::Write),
            "trim" => skip.push(Verb::Trim),
            "sync" => skip.extend([Verb::Fsync, Verb::Fdatasync]),
            "" => {}
            word => {
                ask.refuse("replay_skip", format!("`{word}` cannot be skipped"), "read, write, trim, sync")
            }
        }
    }
    skip
}
