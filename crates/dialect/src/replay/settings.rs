//! What is replayed where: the options, resolved against what the trace holds and what its targets are.
//!
//! It refuses what does not fit and what holds data, before anything is opened for writing.

use iodyno_model::{Diagnostic, Division, Kind, Origin, Remap, Setting, Timing, Verb, units};
use iodyno_trace::TraceLevel;
use iodyno_trace::replay::Survey;

use super::options::{DivisionWord, Mode, Options, RemapWord, skipped};
use crate::engine_choice::{ASYNCHRONOUS, POSITIONED_CALLS, SYNCHRONOUS};
use crate::{Loader, PathKind};

/// Slots of an open loop: more than targets keep in flight, so that their slowness shows as latency.
const OPEN_DEPTH: u32 = 1024;
/// The depth where the trace does not tell one.
const USUAL_DEPTH: u32 = 32;
/// The engine whose workers have clocks of their own.
const VIRTUAL: &str = "sim";
/// Workers of a trace of files at most, where none are said.
const THREADS_MOST: u32 = 64;

/// What is replayed where.
pub(super) struct Settings {
    pub trace: String,
    /// Its format, where its content does not say it.
    pub format: String,
    pub survey: Survey,
    pub timing: Timing,
    pub idle_ns: u64,
    pub loops: u64,
    pub copies: u32,
    pub shift: u64,
    pub remap: Remap,
    pub align: u64,
    pub skip: Vec<Verb>,
    pub division: Division,
    pub engine: String,
    pub engine_settings: Vec<Setting>,
    pub depth: u32,
    pub workers: u32,
    pub places: Vec<Place>,
    /// By file of the trace, the position of its place.
    pub map: Vec<Option<usize>>,
    pub tree: bool,
    pub prefill: bool,
    pub verify: bool,
    pub cached: bool,
    pub prepare_only: bool,
    pub remove: bool,
    pub notes: Vec<Diagnostic>,
}

/// A target.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub path: String,
    pub kind: PlaceKind,
    /// How far the trace reaches on it, bytes.
    pub end: u64,
    /// How long it is, or will be; 0: nothing bounds it.
    pub length: u64,
    /// Whether the replay changes it.
    pub written: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceKind {
    Device,
    /// A file that is there.
    File,
    /// A file that is made.
    New,
    Directory,
    /// The engine touches no target.
    Nothing,
}

type Wrong = Vec<Diagnostic>;

fn wrong(origin: &str, message: impl Into<String>, hint: impl Into<String>) -> Wrong {
    vec![Diagnostic::error(&Origin::argument(origin), message).hint(hint)]
}

/// What the options come to.
pub(super) fn resolve(options: &Options, loader: &mut dyn Loader) -> Result<Settings, Wrong> {
    let mut skip = Vec::new();
    for word in &options.skip {
        let hint = "read, write, trim, sync, or a verb's name such as fallocate";
        let known = skipped(word).ok_or_else(|| wrong("--skip", format!("`{word}` is no verb"), hint))?;
        skip.extend(known);
    }
    let format = options.format.clone().unwrap_or_default();
    let survey = survey(&options.trace, &format, &skip, loader)?;
    if survey.facts.verbs.is_empty() {
        let hint = "iodyno trace stat says what is in it";
        return Err(wrong(&options.trace, "nothing in it can be replayed", hint));
    }
    let engine = engine(options, loader)?;
    let touches = !["null", "sim"].contains(&engine.as_str());
    let tree = is_tree(options, &survey, touches, loader);
    let (timing, needs_ends) = timing(options)?;
    if needs_ends && survey.facts.timed == 0 {
        let hint = "--mode original or --mode fast need no completions";
        return Err(wrong("--mode", "the trace has no times of completion, which this mode needs", hint));
    }
    let mut settings = Settings {
        trace: options.trace.clone(),
        format,
        timing,
        idle_ns: options.idle.unwrap_or(0),
        loops: options.loops,
        copies: options.copies,
        shift: options.shift.unwrap_or(0),
        remap: match options.remap {
            None => Remap::No,
            Some(RemapWord::Linear) => Remap::Linear,
            Some(RemapWord::Modulo) => Remap::Modulo,
            Some(RemapWord::Hash) => Remap::Hash,
        },
        align: options.align.unwrap_or(0),
        skip,
        division: match options.divide {
            DivisionWord::Threads => Division::Threads,
            DivisionWord::Files => Division::Files,
            DivisionWord::Turns => Division::Turns,
        },
        engine_settings: engine_settings(options)?,
        depth: 1,
        workers: 1,
        places: Vec::new(),
        map: Vec::new(),
        tree,
        prefill: options.prefill,
        verify: options.verify,
        cached: options.cached || survey.facts.odd,
        prepare_only: options.prepare,
        remove: options.remove,
        notes: Vec::new(),
        engine,
        survey,
    };
    shape(options, &mut settings)?;
    match tree {
        true => directory(options, &mut settings, touches, loader)?,
        false => ranges(options, &mut settings, touches, loader)?,
    }
    Ok(settings)
}

fn survey(path: &str, format: &str, skip: &[Verb], loader: &mut dyn Loader) -> Result<Survey, Wrong> {
    let survey = loader.trace(path, format).and_then(|mut source| Survey::of(&mut *source, skip));
    survey.map_err(|error| {
        // The place may be the file itself.
        let told = if error.place == path { error.message.clone() } else { error.to_string() };
        let diagnostic = Diagnostic::error(&Origin::argument(path), told);
        vec![match error.hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }]
    })
}

fn engine(options: &Options, loader: &dyn Loader) -> Result<String, Wrong> {
    if let Some(name) = &options.engine {
        return Ok(name.clone());
    }
    let engines = ASYNCHRONOUS.into_iter().chain(SYNCHRONOUS.into_iter().take(3));
    let available = engines.into_iter().find(|name| loader.engine_available(name).is_ok());
    let hint = "iodyno engines tells what is missing";
    available.map(String::from).ok_or_else(|| wrong("--engine", "no engine works on this machine", hint))
}

/// Whether the trace works on names below a directory, rather than on ranges.
fn is_tree(options: &Options, survey: &Survey, touches: bool, loader: &dyn Loader) -> bool {
    let files = survey.header.level == TraceLevel::File;
    let on_ranges = || {
        options
            .targets
            .iter()
            .any(|path| loader.look(path).is_some_and(|facts| facts.kind != PathKind::Directory))
    };
    files && options.map.is_empty() && (!touches || !on_ranges())
}

/// When operations are issued, and whether that needs their completions.
fn timing(options: &Options) -> Result<(Timing, bool), Wrong> {
    let timed = options.mode == Mode::Original;
    if !timed && (options.speed.is_some() || options.idle.is_some()) {
        let option = if options.speed.is_some() { "--speed" } else { "--idle" };
        return Err(wrong(option, "only recorded times can be scaled or cut", "use --mode original"));
    }
    Ok(match (options.mode, options.speed) {
        (Mode::Original, None) => (Timing::AsRecorded, false),
        (Mode::Original, Some(factor)) => (Timing::Scaled(factor), false),
        (Mode::Fast, _) => (Timing::AsFast, false),
        (Mode::Think, _) => (Timing::ThinkTimes, true),
        (Mode::Dependencies, _) => (Timing::Dependencies, false),
        (Mode::Depth, _) => (Timing::Depths, true),
    })
}

fn engine_settings(options: &Options) -> Result<Vec<Setting>, Wrong> {
    let setting = |text: &String| match text.split_once('=') {
        Some((name, value)) => Ok(Setting {
            name: name.into(),
            value: value.into(),
            origin: Origin::argument(&format!("--set {text}")),
        }),
        None => Err(wrong("--set", format!("`{text}`: expected NAME=VALUE"), "e.g. --set service=50us")),
    };
    options.set.iter().map(setting).collect()
}

/// Depth and workers.
fn shape(options: &Options, settings: &mut Settings) -> Result<(), Wrong> {
    let facts = &settings.survey.facts;
    let timed = matches!(settings.timing, Timing::AsRecorded | Timing::Scaled(_) | Timing::ThinkTimes);
    if settings.tree {
        settings.depth = options.depth.unwrap_or(1);
        if options.engine.is_none() && settings.depth == 1 {
            settings.engine = POSITIONED_CALLS.into();
        }
        one_at_a_time(settings)?;
        let threads = match settings.timing {
            Timing::Dependencies if settings.engine == VIRTUAL => 1,
            _ if settings.prepare_only => 1,
            Timing::AsFast => 1,
            _ => facts.threads.clamp(1, THREADS_MOST),
        };
        settings.workers = options.workers.unwrap_or(if settings.verify { 1 } else { threads });
        return knows_all(settings);
    }
    settings.workers = options.workers.unwrap_or(1);
    let recorded = if facts.timed > 0 { facts.depth.max(1) } else { USUAL_DEPTH };
    let usual = if timed { OPEN_DEPTH } else { recorded.saturating_mul(settings.copies).min(OPEN_DEPTH) };
    settings.depth = options.depth.unwrap_or(usual);
    if options.depth.is_some() {
        one_at_a_time(settings)?;
    } else if SYNCHRONOUS.contains(&settings.engine.as_str()) {
        settings.depth = 1;
    }
    knows_all(settings)
}

/// Refuses workers that cannot know what others have done: verification needs what they wrote, dependencies when they did.
fn knows_all(settings: &Settings) -> Result<(), Wrong> {
    if settings.timing == Timing::Dependencies && settings.workers > 1 && settings.engine == VIRTUAL {
        let hint = "leave --workers out: one worker, with a depth, keeps all dependencies";
        let message = "workers that wait for each other have one clock, and on sim each has its own";
        return Err(wrong("--workers", message, hint));
    }
    if settings.verify && settings.workers > 1 {
        let hint = "leave --workers out";
        return Err(wrong("--verify", "one worker does not know what another wrote", hint));
    }
    Ok(())
}

/// Refuses a depth that an engine has not.
fn one_at_a_time(settings: &Settings) -> Result<(), Wrong> {
    if settings.depth > 1 && SYNCHRONOUS.contains(&settings.engine.as_str()) {
        let hint = "use --engine io_uring, or --workers";
        let message = format!("engine {} makes one operation at a time", settings.engine);
        return Err(wrong("--depth", message, hint));
    }
    Ok(())
}

/// The directory of a trace of files.
fn directory(
    options: &Options,
    settings: &mut Settings,
    touches: bool,
    loader: &mut dyn Loader,
) -> Result<(), Wrong> {
    let place = |path: &str, kind| Place { path: path.into(), kind, end: 0, length: 0, written: true };
    let refused = [(options.align.is_some(), "--align"), (options.shift.is_some(), "--shift")];
    if let Some((_, option)) = refused.into_iter().find(|(said, _)| *said) {
        let hint = "name a device or file as the target to replay ranges alone";
        return Err(wrong(option, "the files of a tree keep their places", hint));
    }
    if options.remap.is_some() && !touches {
        let message =
            format!("engine {} has no files, to whose lengths places could be mapped", settings.engine);
        return Err(wrong("--remap", message, "leave it out: nothing bounds the files of a tree there"));
    }
    let [path] = options.targets.as_slice() else {
        if !touches && options.targets.is_empty() {
            settings.places = vec![place(".", PlaceKind::Nothing)];
            return Ok(());
        }
        let message = match options.targets.len() {
            0 => "a trace of files needs a directory to work in".to_string(),
            count => format!("a trace of files works in one directory, and {count} targets are named"),
        };
        return Err(wrong(&options.trace, message, "e.g. iodyno replay trace.iot /mnt/test/replay"));
    };
    if !touches {
        settings.places = vec![place(path, PlaceKind::Nothing)];
        return Ok(());
    }
    if let Some(facts) = loader.look(path) {
        if !facts.writable {
            return Err(wrong(
                path,
                "this directory cannot be written to",
                "name another, or change its mode",
            ));
        }
        let there =
            loader.list(path).map_err(|error| wrong(path, error, "name a directory that may be read"))?;
        if !there.is_empty() && !options.manner.destroy.contains(path) {
            let hint = format!("files of the same names would be lost; if that is meant: --destroy {path}");
            let message = format!("it holds {} files or directories, not replaying in it", there.len());
            return Err(wrong(path, message, hint));
        }
    }
    settings.places = vec![place(path, PlaceKind::Directory)];
    Ok(())
}

/// The targets of a trace of devices, or of the ranges of files.
fn ranges(
    options: &Options,
    settings: &mut Settings,
    touches: bool,
    loader: &mut dyn Loader,
) -> Result<(), Wrong> {
    settings.survey.facts.verbs.retain(|verb| verb.kind() != Kind::Metadata || *verb == Verb::Fallocate);
    if options.prepare {
        let hint = "--prefill writes what a trace of devices reads";
        return Err(wrong("--prepare", "this trace makes no tree", hint));
    }
    let mut paths = mapped(options, &settings.survey)?;
    targets(options, &settings.survey, &mut paths, touches, loader)?;
    let (mut places, map) = laid_out(settings, &paths);
    let copies = if settings.shift == 0 { settings.copies } else { 1 };
    for copy in 1..copies {
        let hint = "say --shift SIZE to lay the copies side by side on one target";
        for index in 0..places.len() / copy as usize {
            let first = places[index].clone();
            if touches && kind(&first.path, loader) == Some(PathKind::BlockDevice) {
                return Err(wrong("--copies", format!("{}: a device has no copies", first.path), hint));
            }
            places.push(Place { path: format!("{}.copy{}", first.path, copy + 1), ..first });
        }
    }
    for one in &mut places {
        place(one, options, settings, touches, loader)?;
    }
    (settings.places, settings.map) = (places, map);
    Ok(())
}

fn kind(path: &str, loader: &dyn Loader) -> Option<PathKind> {
    loader.look(path).map(|facts| facts.kind)
}

fn file_name(survey: &Survey, file: usize) -> String {
    survey.tables.files.get(file).map_or_else(|| format!("file{file}"), |file| file.name.clone())
}

/// The files of a trace that have a range to replay.
fn used(survey: &Survey) -> Vec<usize> {
    let has_range = |file: &usize| survey.facts.ends[*file] > 0 || survey.reads[*file] > 0;
    (0..survey.facts.ends.len()).filter(has_range).collect()
}

/// By file, the target that `--map` names for it.
fn mapped(options: &Options, survey: &Survey) -> Result<Vec<Option<String>>, Wrong> {
    let count = survey.facts.ends.len();
    let mut paths: Vec<Option<String>> = vec![None; count];
    for text in &options.map {
        let Some((from, to)) = text.rsplit_once('=') else {
            let hint = "e.g. --map 8,0=/dev/sdb";
            return Err(wrong("--map", format!("`{text}`: expected SRC=DST"), hint));
        };
        let Some(file) = (0..count).find(|file| file_name(survey, *file) == from) else {
            let hint = format!("it has {}", names(survey, &used(survey)));
            return Err(wrong("--map", format!("`{from}`: the trace has no such file or device"), hint));
        };
        paths[file] = Some(to.into());
    }
    Ok(paths)
}

/// The first few names.
fn names(survey: &Survey, files: &[usize]) -> String {
    let names: Vec<String> = files.iter().take(8).map(|file| file_name(survey, *file)).collect();
    names.join(", ")
}

/// The targets of the files that are not mapped, as they are named.
fn targets(
    options: &Options,
    survey: &Survey,
    paths: &mut [Option<String>],
    touches: bool,
    loader: &dyn Loader,
) -> Result<(), Wrong> {
    let open: Vec<usize> = used(survey).into_iter().filter(|file| paths[*file].is_none()).collect();
    match options.targets.as_slice() {
        [] if !touches => open.iter().for_each(|file| paths[*file] = Some(file_name(survey, *file))),
        [] if options.map.is_empty() => {
            let hint = "e.g. iodyno replay trace.iot /dev/sdb, or a file, or a directory";
            return Err(wrong(&options.trace, "it needs a target", hint));
        }
        // Those that are not mapped are left out, and counted.
        [] => {}
        [directory] if kind(directory, loader) == Some(PathKind::Directory) => {
            for file in open {
                let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
                let own: String = file_name(survey, file).chars().map(plain).collect();
                let (directory, own) = (directory.trim_end_matches('/'), own.trim_matches('-'));
                paths[file] = Some(format!("{directory}/{own}.replay"));
            }
        }
        targets if targets.len() == open.len() => {
            open.iter().zip(targets).for_each(|(file, path)| paths[*file] = Some(path.clone()));
        }
        targets => {
            let (files, given) = (open.len(), targets.len());
            let hint = "name as many, say --map SRC=DST for each, or name a directory";
            let known = names(survey, &open);
            let message =
                format!("the trace has {files} files or devices ({known}), and {given} targets are named");
            return Err(wrong(&options.trace, message, hint));
        }
    }
    Ok(())
}

/// The targets of the first copy, and by file the position of its own.
fn laid_out(settings: &Settings, paths: &[Option<String>]) -> (Vec<Place>, Vec<Option<usize>>) {
    let (mut places, mut map): (Vec<Place>, _) = (Vec::new(), vec![None; paths.len()]);
    let shift = settings.shift.saturating_mul(u64::from(settings.copies - 1));
    for (file, path) in paths.iter().enumerate() {
        let Some(path) = path else { continue };
        let end = settings.survey.facts.ends[file].saturating_add(shift);
        let end = if settings.align > 0 { end.next_multiple_of(settings.align) } else { end };
        let written = settings.survey.changes[file] > 0;
        let position = places.iter().position(|place| place.path == *path).unwrap_or_else(|| {
            let kind = PlaceKind::New;
            places.push(Place { path: path.clone(), kind, end: 0, length: 0, written: settings.prefill });
            places.len() - 1
        });
        let place = &mut places[position];
        (place.end, place.written) = (place.end.max(end), place.written || written);
        map[file] = Some(position);
    }
    (places, map)
}

/// What a target is, and whether the trace may and can go there.
fn place(
    place: &mut Place,
    options: &Options,
    settings: &Settings,
    touches: bool,
    loader: &dyn Loader,
) -> Result<(), Wrong> {
    if !touches {
        (place.kind, place.length) = (PlaceKind::Nothing, place.end);
        return Ok(());
    }
    let path = place.path.clone();
    let Some(facts) = loader.look(&path) else {
        if path.starts_with("/dev/") {
            return Err(wrong(&path, "no such device", "a file of that name is not made there"));
        }
        (place.kind, place.length) = (PlaceKind::New, place.end);
        return Ok(());
    };
    place.kind = match facts.kind {
        PathKind::BlockDevice => PlaceKind::Device,
        PathKind::File => PlaceKind::File,
        PathKind::Directory => {
            let hint = "a directory is the only target of a replay";
            return Err(wrong(&path, "a directory among other targets", hint));
        }
        _ => return Err(wrong(&path, "neither a file nor a block device", "name a file or a block device")),
    };
    if !facts.readable || (place.written && !facts.writable) {
        let message = if facts.readable { "it cannot be written to" } else { "it cannot be read" };
        return Err(wrong(&path, format!("{message}: permission denied"), "run as its owner, or as root"));
    }
    let given_up = options.manner.destroy.contains(&path);
    if place.kind == PlaceKind::File && facts.bytes > 0 && place.written && !given_up {
        let hint = format!("what is in it would be overwritten; if that is meant: --destroy {path}");
        let message = format!("it holds {}, not writing to it", units::binary(facts.bytes));
        return Err(wrong(&path, message, hint));
    }
    place.length = facts.bytes;
    if place.end > place.length && settings.remap == Remap::No {
        if place.kind == PlaceKind::File && place.written {
            // It is extended: it is empty, or given up.
            place.length = place.end;
            return Ok(());
        }
        let (end, length) = (units::binary(place.end), units::binary(place.length));
        let hint = "--remap linear, modulo or hash maps its places to a smaller target; or name a larger one";
        return Err(wrong(&path, format!("the trace reaches to {end}, and it has {length}"), hint));
    }
    Ok(())
}
