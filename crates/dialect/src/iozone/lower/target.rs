//! The files of a pass: how they are named, made, opened and removed.

use iodyno_model::{Direct, Extent, FileLock, Open, OpenSync, Prepare, Target, TargetKind};

use super::{Pass, StreamGroup};
use crate::iozone::settings::Settings;

/// The file of a cell, where none is named.
const SINGLE: &str = "iozone.tmp";
/// The files of streams, where none are named.
const STREAM: &str = "iozone.DUMMY.";

/// Files of so many bytes lie in the processor's caches when a pass follows another one, as iozone's do at once.
const NEAR_BYTES: u64 = 4 << 20;

/// The files of some streams in one pass; `follows`: another pass over the same file was right before it.
pub fn of(settings: &Settings, part: Pass, group: &StreamGroup, follows: bool) -> Target {
    let path = path(settings, part.streams, &group.streams);
    let rewrites = settings.has("+N") || settings.has("+E");
    let made = part.access.makes() && !rewrites;
    let reads_alone = part.access.verb() == iodyno_model::Verb::Read && part.access != super::Access::Mixed;
    Target {
        name: match settings.number("+W") {
            // Content that does not repeat follows from the name.
            Some(further) => format!("{path} +{further}"),
            None => path.clone(),
        },
        kind: TargetKind::File { path, size: Extent::Bytes(part.cell.bytes()) },
        open: Open {
            create: part.access.makes(),
            // What was there before is written over where it is, and stays.
            truncate: made || (group.writes && settings.has("+F")),
            direct: if settings.has("I") { Direct::Yes } else { Direct::No },
            sync: sync(settings),
            lock: lock(settings),
            pre_read: follows && !made && is_near(settings, part),
            ..Open::default()
        },
        prepare: match made {
            true => Prepare::AsItIs,
            // A list may read more than the other wrote.
            false if lengthens(settings, part) => Prepare::Filled,
            false if part.streams > 1 && !settings.has("+E") && !part.access.makes() => Prepare::Filled,
            false => Prepare::AsItIs,
        },
        remove: !settings.has("w") && !settings.has("+E"),
        origin: settings.origin(if reads_alone { "i" } else { "f" }),
    }
}

/// Whether the original finds the file in the processor's caches: nothing lies between two of its passes.
fn is_near(settings: &Settings, part: Pass) -> bool {
    let apart = ["I", "U", "p", "+q", "B", "+E", "+N"];
    part.streams == 0 && part.cell.bytes() <= NEAR_BYTES && !apart.iter().any(|name| settings.has(name))
}

/// The name of the file, or a template that deals the names to the streams in their order.
fn path(settings: &Settings, all: u32, streams: &[u32]) -> String {
    if all == 0 {
        return settings.text("f").unwrap_or(SINGLE).into();
    }
    if settings.has("+V") || settings.has("+L") {
        return name(settings, 0);
    }
    if streams.len() == all as usize && settings.names.is_empty() && settings.clients.is_empty() {
        return format!("{STREAM}{{worker}}");
    }
    match streams {
        [only] => name(settings, *only),
        _ => {
            let names: Vec<_> = streams.iter().map(|stream| name(settings, *stream)).collect();
            format!("{{worker:{}}}", names.join("|"))
        }
    }
}

/// The file of one stream.
pub fn name(settings: &Settings, stream: u32) -> String {
    let own = format!("{STREAM}{stream}");
    match (settings.clients.get(stream as usize), settings.names.get(stream as usize)) {
        // The stream is in that directory, so that a path from the root stays what it is.
        (Some(client), _) => match client.file.as_ref().unwrap_or(&own) {
            path if path.starts_with('/') => path.clone(),
            file => format!("{}/{file}", client.directory),
        },
        (None, Some(name)) => name.clone(),
        (None, None) => own,
    }
}

fn sync(settings: &Settings) -> OpenSync {
    match () {
        () if settings.has("o") || settings.has("+r") => OpenSync::All,
        () if settings.has("+D") => OpenSync::Data,
        () => OpenSync::No,
    }
}

/// Whether what a list reads is laid out where a list before it did not write: only in a file that the run makes.
fn lengthens(settings: &Settings, part: Pass) -> bool {
    let reads = matches!(part.access, super::Access::Read | super::Access::Reread);
    settings.has_lists() && reads && settings.wants(super::Access::Write) && !settings.has("+E")
}

fn lock(settings: &Settings) -> FileLock {
    match () {
        () if settings.has("+l") || settings.has("+L") => FileLock::ReadWrite,
        () if settings.has("W") => FileLock::Whole,
        () => FileLock::No,
    }
}

/// Every file that a command line names or means.
pub fn names(settings: &Settings) -> Vec<String> {
    match settings.most_streams() as u32 {
        0 => vec![path(settings, 0, &[])],
        _ if settings.has("+V") || settings.has("+L") => vec![name(settings, 0)],
        most => (0..most).map(|stream| name(settings, stream)).collect(),
    }
}
