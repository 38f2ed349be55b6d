//! Files as targets: how they are opened, what must be there before, and what is left of them.

use iodyno_model::{
    Advice, Direct, Extent, FileLock, Items, Open, OpenSync, Prepare, Size, Target, TargetKind, Verb,
    WriteLife,
};

use super::JobContext;
use super::direction::Direction;
use super::engine::Engine;
use super::names::{self, TargetFile};
use super::objects;
use super::option_reader::OptionReader;
use super::peers;
use crate::PathKind;

/// The targets of a job, in the order of its files.
pub fn targets(ask: &mut OptionReader<'_>, found: &JobContext) -> Vec<Target> {
    let JobContext { direction, engine, files, sizes, .. } = found;
    if let Some(verb) = engine.names {
        return sets(ask, verb, found);
    }
    if engine.peer {
        return vec![peers::target(ask, found)];
    }
    if let Some(store) = &engine.store {
        return objects::targets(ask, store, found);
    }
    let open = open(ask, direction, engine);
    let prepare = layout(ask, direction, engine);
    // A file that is there must not end the work at its length.
    let fills = sizes.fill && direction.writes;
    let beyond = |file: &TargetFile| (fills && file.is_file() && file.bytes() > 0).then_some(u64::MAX >> 1);
    let ends = sizes.ends.iter().copied().chain(std::iter::repeat(None));
    let target = |(file, end): (&TargetFile, Option<u64>)| Target {
        name: file.path.clone(),
        kind: kind(file, end.or_else(|| beyond(file)), engine),
        open: opened(file, &open),
        prepare: if file.is_file() && end.is_some() { prepare } else { Prepare::AsItIs },
        remove: file.is_file() && ask.flag("unlink", false),
        origin: file.origin.clone(),
    };
    files.iter().zip(ends).map(target).collect()
}

/// All files of a job that only names them.
fn sets(ask: &mut OptionReader<'_>, verb: Verb, found: &JobContext) -> Vec<Target> {
    let makes = matches!(verb, Verb::Create | Verb::Mkdir);
    let bytes = found.sizes.ends.first().copied().flatten().unwrap_or(0);
    let directories = matches!(found.engine.name, "dircreate" | "dirstat" | "dirdelete");
    let sets = names::sets(ask, found.clones);
    let set = |(root, name, count): (String, String, u64)| {
        let items = Items {
            count,
            name: name.clone(),
            size: Size::Fixed(bytes),
            present_percent: if makes { 0.0 } else { 100.0 },
            directories,
            ..Items::default()
        };
        Target {
            name: if ask.has("filename") { format!("{root}/{name}") } else { root.clone() },
            kind: TargetKind::FileSet { root, items },
            open: Open::default(),
            prepare: if makes { Prepare::Empty } else { Prepare::Filled },
            remove: false,
            origin: ask.settings.origin.clone(),
        }
    };
    sets.into_iter().map(set).collect()
}

/// What a file is; without an end given, what it has.
fn kind(file: &TargetFile, end: Option<u64>, engine: &Engine) -> TargetKind {
    if engine.diskless {
        // What moves nothing never comes to an end of it.
        let bytes = if engine.sizeless { u64::MAX >> 1 } else { end.unwrap_or(file.bytes()) };
        return TargetKind::Nothing { bytes };
    }
    match (file.stream, file.kind()) {
        (Some(output), _) => TargetKind::Descriptor { number: u32::from(output) },
        (None, PathKind::BlockDevice) => TargetKind::Device { path: file.path.clone() },
        (None, PathKind::File) => {
            TargetKind::File { path: file.path.clone(), size: end.map_or(Extent::Rest, Extent::Bytes) }
        }
        // Character devices and pipes have no length that could be cut.
        (None, _) => TargetKind::File { path: file.path.clone(), size: Extent::Rest },
    }
}

/// What only files have.
fn opened(file: &TargetFile, open: &Open) -> Open {
    let plain = file.is_file();
    let has_pages = matches!(file.kind(), PathKind::File | PathKind::BlockDevice);
    Open {
        create: open.create && plain,
        parents: open.parents && plain && file.path.trim_start_matches('/').contains('/'),
        advice: if plain || file.kind() == PathKind::BlockDevice { open.advice } else { Advice::No },
        invalidate: open.invalidate && has_pages,
        pre_read: open.pre_read && has_pages,
        ..open.clone()
    }
}

fn open(ask: &OptionReader<'_>, direction: &Direction, engine: &Engine) -> Open {
    let creates = direction.changes() || ask.flag("create_on_open", false);
    Open {
        create: creates && ask.flag("allow_file_create", true),
        parents: ask.flag("allow_file_create", true) && !engine.diskless,
        direct: if is_direct(ask) { Direct::Yes } else { Direct::No },
        sync: match ask.word("sync") {
            Some("sync" | "1") => OpenSync::All,
            Some("dsync") => OpenSync::Data,
            _ => OpenSync::No,
        },
        advice: match ask.word("fadvise_hint") {
            _ if engine.diskless => Advice::No,
            Some("0" | "none") => Advice::No,
            Some("random") => Advice::Random,
            Some("sequential") => Advice::Sequential,
            Some("noreuse") => Advice::NoReuse,
            _ => Advice::AsPicked,
        },
        write_life: match ask.word("write_hint") {
            Some("short") => Some(WriteLife::Short),
            Some("medium") => Some(WriteLife::Medium),
            Some("long") => Some(WriteLife::Long),
            Some("extreme") => Some(WriteLife::Extreme),
            _ => None,
        },
        lock: match ask.word("lockfile") {
            Some("exclusive") => FileLock::Exclusive,
            Some("readwrite") => FileLock::ReadWrite,
            _ => FileLock::No,
        },
        invalidate: ask.flag("invalidate", true) && !ask.flag("pre_read", false) && !engine.diskless,
        pre_read: ask.flag("pre_read", false) && !engine.diskless,
        ..Open::default()
    }
}

/// `direct`, and its opposite `buffered`: the later one counts.
pub fn is_direct(ask: &OptionReader<'_>) -> bool {
    match (ask.position("direct"), ask.position("buffered")) {
        (direct, buffered) if buffered > direct => !ask.flag("buffered", true),
        _ => ask.flag("direct", false) || ask.flag("atomic", false),
    }
}

/// What must be there before: reads need blocks with data, writes get their space.
fn layout(ask: &mut OptionReader<'_>, direction: &Direction, engine: &Engine) -> Prepare {
    if engine.diskless || ask.flag("create_on_open", false) || !ask.flag("allow_file_create", true) {
        return Prepare::AsItIs;
    }
    let whole = direction.reads || ask.flag("overwrite", false) || engine.cannot_extend;
    match ask.word("fallocate").unwrap_or("native") {
        _ if whole && !ask.flag("file_append", false) => Prepare::Filled,
        "none" | "0" => Prepare::Empty,
        "truncate" => Prepare::Sparse,
        "keep" => Prepare::ReservedBeyondEnd,
        _ => Prepare::Reserved,
    }
}
