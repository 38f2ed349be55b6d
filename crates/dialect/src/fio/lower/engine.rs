//! Engines by fio's names: which of ours they are, what they can, and their own options.
//!
//! Names of engines that are not here are refused by the option table already; what is left over is refused here.

use iodyno_model::{Depth, Setting, Submit, Verb};

use super::super::options::{self, ASYNC, ATOMIC, REAPS_PARTS, RING};
use super::super::value::Amount;
use super::objects::{self, Store};
use super::option_reader::OptionReader;
use super::{JobContext, names, priority};
use crate::option::refuse;

/// An engine of a job.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The engine room's name.
    pub name: &'static str,
    /// fio's name.
    pub word: String,
    /// Whether it hands over without waiting.
    pub asynchronous: bool,
    /// Whether it touches no file.
    pub diskless: bool,
    /// Whether it moves nothing, so that no size is needed.
    pub sizeless: bool,
    /// Whether a file must have its length before it is written.
    pub cannot_extend: bool,
    /// Whether it talks to a peer rather than to a file.
    pub peer: bool,
    /// The verb of engines that work on names rather than on data.
    pub names: Option<Verb>,
    /// Where its files, which are objects, lie; none: its files are files.
    pub store: Option<Store>,
    /// Its options.
    pub settings: Vec<Setting>,
}

/// What an engine is, beyond its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EngineClass {
    /// Each call waits.
    Waiting,
    /// Hands over without waiting.
    Asynchronous,
    /// Touches no file, but pretends to.
    Diskless,
    /// Touches no file and needs no size.
    Sizeless,
    /// Talks to a peer.
    Peer,
    /// Works on names.
    Names(Verb),
    /// Works on objects, without waiting.
    Objects,
    /// Works on objects; each call waits.
    WaitingObjects,
}

/// fio's name, which is ours too, and what it is.
const ENGINES: [(&str, EngineClass); 28] = [
    ("psync", EngineClass::Waiting),
    ("sync", EngineClass::Waiting),
    ("vsync", EngineClass::Waiting),
    ("pvsync", EngineClass::Waiting),
    ("pvsync2", EngineClass::Waiting),
    ("io_uring", EngineClass::Asynchronous),
    ("libaio", EngineClass::Asynchronous),
    ("posixaio", EngineClass::Asynchronous),
    ("mmap", EngineClass::Waiting),
    ("splice", EngineClass::Waiting),
    ("sg", EngineClass::Waiting),
    ("falloc", EngineClass::Waiting),
    ("ftruncate", EngineClass::Waiting),
    ("null", EngineClass::Diskless),
    ("page_fault", EngineClass::Diskless),
    ("net", EngineClass::Peer),
    ("netsplice", EngineClass::Peer),
    ("rados", EngineClass::Objects),
    ("libhdfs", EngineClass::WaitingObjects),
    ("http", EngineClass::WaitingObjects),
    ("cpuio", EngineClass::Sizeless),
    ("exec", EngineClass::Sizeless),
    ("filecreate", EngineClass::Names(Verb::Create)),
    ("filestat", EngineClass::Names(Verb::Stat)),
    ("filedelete", EngineClass::Names(Verb::Unlink)),
    ("dircreate", EngineClass::Names(Verb::Mkdir)),
    ("dirstat", EngineClass::Names(Verb::Stat)),
    ("dirdelete", EngineClass::Names(Verb::Rmdir)),
];

/// The engine of fio's name; without a name, its default.
fn named(word: &str) -> Option<&'static (&'static str, EngineClass)> {
    let word = match word {
        "" => "psync",
        "cpp_null" => "null",
        word => word,
    };
    ENGINES.iter().find(|engine| engine.0 == word)
}

fn class(word: &str) -> Option<EngineClass> {
    named(word).map(|engine| engine.1)
}

/// Whether fio's options know this engine.
pub fn is_known(word: &str) -> bool {
    named(word).is_some()
}

/// Whether an engine reads and writes files, so that another one can do it.
pub fn does_file_io(word: &str) -> bool {
    matches!(class(word), Some(EngineClass::Waiting | EngineClass::Asynchronous | EngineClass::Diskless))
}

/// Whether an engine has one operation in flight.
pub fn waits(word: &str) -> bool {
    class(word) == Some(EngineClass::Waiting)
}

impl Engine {
    /// What a job says.
    pub fn of(ask: &mut OptionReader<'_>) -> Engine {
        let word = ask.word("ioengine").unwrap_or("psync").to_string();
        let Some((name, class)) = named(&word) else {
            let names: Vec<_> = ENGINES.iter().map(|engine| engine.0).collect();
            ask.refuse("ioengine", format!("engine `{word}` is not served yet"), names.join(" "));
            return Engine::new("psync", &word, EngineClass::Waiting);
        };
        let mut engine = Engine::new(name, &word, *class);
        // Alone, an I/O of the null engine is done when it is handed over.
        engine.asynchronous |= *name == "null" && ask.whole("iodepth").unwrap_or(1) > 1;
        engine.settings = settings(ask, name);
        if matches!(class, EngineClass::Objects | EngineClass::WaitingObjects) {
            engine.store = Some(objects::store(ask, &mut engine));
        }
        check(ask, &engine);
        engine
    }

    fn new(name: &'static str, word: &str, class: EngineClass) -> Engine {
        Engine {
            name,
            word: word.into(),
            asynchronous: matches!(class, EngineClass::Asynchronous | EngineClass::Objects),
            diskless: !matches!(
                class,
                EngineClass::Waiting | EngineClass::Asynchronous | EngineClass::Names(_)
            ),
            sizeless: class == EngineClass::Sizeless,
            cannot_extend: name == "mmap",
            peer: class == EngineClass::Peer,
            names: if let EngineClass::Names(verb) = class { Some(verb) } else { None },
            store: None,
            settings: Vec::new(),
        }
    }

    /// Whether only one operation can be in flight.
    pub fn waits(&self) -> bool {
        !self.asynchronous && self.name != "null"
    }
}

/// Options of engines: fio's name, ours, and how the value is written for us. The option table says which engines have
/// them.
pub const SETTINGS: [(&str, &str, Form); 34] = [
    ("fixedbufs", "fixed_buffers", Form::Switch),
    ("registerfiles", "fixed_files", Form::Switch),
    ("sqthread_poll", "sqpoll", Form::Switch),
    ("sqthread_poll_cpu", "sqpoll_cpu", Form::Number),
    ("hipri", "hipri", Form::Switch),
    ("nonvectored", "vectored", Form::Opposite),
    ("force_async", "force_async", Form::Every),
    ("userspace_reap", "userspace_reap", Form::Switch),
    ("hipri_percentage", "hipri_percentage", Form::Number),
    ("nowait", "nowait", Form::Switch),
    ("uncached", "uncached", Form::Switch),
    ("atomic", "atomic", Form::Switch),
    ("thp", "thp", Form::Switch),
    ("cpuload", "load_percent", Form::Number),
    ("cpuchunks", "chunk_us", Form::Number),
    ("cpumode", "mode", Form::Text),
    ("program", "program", Form::Text),
    ("arguments", "arguments", Form::Text),
    ("grace_time", "grace_s", Form::Number),
    ("std_redirect", "redirect", Form::Switch),
    ("stat_type", "stat_type", Form::Text),
    ("nodelay", "nodelay", Form::Switch),
    ("pingpong", "pingpong", Form::Switch),
    ("window_size", "window_bytes", Form::Given),
    ("mss", "mss", Form::Given),
    ("interface", "interface", Form::Text),
    ("ttl", "ttl", Form::Number),
    ("clustername", "cluster", Form::Text),
    ("clientname", "client", Form::Text),
    ("conf", "conf", Form::Text),
    ("busy_poll", "busy_poll", Form::Switch),
    ("readfua", "read_fua", Form::Switch),
    ("writefua", "write_fua", Form::Switch),
    ("sg_write_mode", "write_mode", Form::Command),
];

/// How a value is written for the engine room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// On or left out.
    Switch,
    /// On where fio says off; what fio leaves open is left open.
    Opposite,
    Number,
    /// A number; 0 says nothing.
    Given,
    /// A SCSI command.
    Command,
    /// Every so many: only each one, or none.
    Every,
    Text,
}

fn settings(ask: &mut OptionReader<'_>, engine: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (theirs, ours, form) in SETTINGS.iter().filter(|setting| has_option(engine, setting.0)) {
        if !ask.has(theirs) {
            continue;
        }
        let value = match form {
            Form::Switch => ask.flag(theirs, true).then(|| "on".to_string()),
            Form::Opposite => (ask.whole(theirs) == Some(0)).then(|| "on".to_string()),
            Form::Number => ask.whole(theirs).map(|number| number.to_string()),
            Form::Given | Form::Every => {
                ask.whole(theirs).filter(|every| *every > 0).map(|every| every.to_string())
            }
            Form::Command => command(ask, theirs),
            Form::Text => ask.text(theirs).map(String::from),
        };
        // A ring polls as a whole, other engines with each call.
        let name = if *ours == "hipri" && RING.contains(&engine) { "iopoll" } else { ours };
        let setting = |value| Setting { name: name.into(), value, origin: ask.origin(theirs).clone() };
        settings.extend(value.map(setting));
    }
    if has_option(engine, "cmdprio") {
        settings.extend(priority::settings(ask));
    }
    if has_option(engine, "port") && ask.count("numjobs").unwrap_or(1) > 1 && ask.has("port") {
        settings.push(Setting::new("port_each", "on"));
    }
    settings
}

/// Whether an engine has an option: one of its own, or `atomic`, which all jobs may name.
fn has_option(engine: &str, option: &str) -> bool {
    match option {
        "atomic" => ATOMIC.contains(&engine),
        option => options::find(option).is_some_and(|row| row.rule.engines.contains(&engine)),
    }
}

/// The command that writes, under its old or new name.
fn command(ask: &OptionReader<'_>, name: &str) -> Option<String> {
    Some(match ask.word(name)? {
        "verify" => "write_and_verify".into(),
        "same" => "write_same".into(),
        "verify_bytchk_00" => "verify".into(),
        word => word.into(),
    })
}

/// What fio has for some engines that ours of the same name do not.
fn check(ask: &mut OptionReader<'_>, engine: &Engine) {
    let (is_atomic, is_scsi) = (has_option(engine.name, "atomic"), engine.name == "sg");
    refuse! { ask
        "atomic" if ask.flag("atomic", false) && !is_atomic && !engine.diskless =>
            format!("fio: engine {} does not support atomic writes", engine.word), "use ioengine=io_uring, libaio or pvsync2";
        "hipri" if is_scsi && ask.flag("hipri", false) =>
            "polling for SCSI commands is not served", "leave it out, or use ioengine=io_uring";
        "nrfiles" if engine.name == "page_fault" && ask.count("nrfiles").unwrap_or(1) > 1 =>
            "fio: page_fault ioengine does not support multiple files", "leave it out";
        "filename" if engine.name == "page_fault" && is_list(ask) =>
            "fio: page_fault ioengine does not support multiple files", "name one file";
        "offset" if engine.name == "page_fault" && !matches!(ask.amount("offset"), None | Some(Amount::Bytes(0))) =>
            "fio: page_fault engine does not support start_offset", "leave offset out";
    }
}

/// Whether a job names several files.
fn is_list(ask: &OptionReader<'_>) -> bool {
    ask.text("filename").is_some_and(|text| names::split_names(text).len() > 1)
}

/// `iodepth` and how operations are handed over and taken back.
pub fn depth(ask: &mut OptionReader<'_>, found: &JobContext) -> Depth {
    let engine = &found.engine;
    // A recording may tell how deep it was.
    let recorded = found.replay.as_ref().and_then(|replay| replay.depth).filter(|_| engine.asynchronous);
    let asked = ask.count("iodepth").or(recorded).unwrap_or(1).max(1);
    let submit = match ask.word("io_submit_mode") {
        Some("offload") => Submit::Offload,
        _ => Submit::Inline,
    };
    if asked > 1 && engine.waits() && submit == Submit::Inline {
        let message =
            "both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1";
        ask.note("iodepth", message);
    }
    // fio hands over one at a time unless told otherwise, and takes back one at a time once all are in flight. A batch of
    // 0 is all of them.
    let batch = match ask.count("iodepth_batch").unwrap_or(1) {
        // Helpers take over each by itself.
        _ if submit == Submit::Offload => 0,
        0 => asked,
        batch => batch.min(asked),
    };
    let least = ask.count("iodepth_batch_complete_min").unwrap_or(1).min(asked);
    let most = ask.count("iodepth_batch_complete_max").map(|most| most.clamp(least.max(1), asked));
    let keeps_most = engine.waits() || REAPS_PARTS.contains(&engine.name) || submit == Submit::Offload;
    if most.is_some_and(|most| most < asked) && !keeps_most {
        let message =
            format!("engine {} takes back all I/Os that are done, however many, as fio's does", engine.word);
        ask.note("iodepth_batch_complete_max", message);
    }
    // With a most, fio waits for one where no least is asked for.
    let least = if most.is_some() { least.max(1) } else { least };
    // Its other engines take back all that is done.
    let in_parts = ASYNC.contains(&engine.name) && submit == Submit::Inline;
    // With neither a least nor a most, fio waits after each I/O: only one is ever in flight.
    let waits_each = least == 0 && most.is_none() && engine.asynchronous && submit == Submit::Inline;
    if waits_each || asked == 1 || (engine.waits() && submit == Submit::Inline) {
        return Depth { most: if waits_each { 1 } else { asked }, submit, ..Depth::default() };
    }
    Depth {
        most: asked,
        submit_batch: batch,
        reap_least: least,
        reap_most: most.filter(|_| keeps_most).unwrap_or(if in_parts { least.max(1) } else { 0 }),
        low: ask.count("iodepth_low").filter(|low| *low < asked).unwrap_or(0),
        submit,
    }
}
