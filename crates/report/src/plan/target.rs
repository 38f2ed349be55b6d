//! A target in one line: what it is, how long, how it is opened, prepared and left.

use iodyno_model::{
    Advice, Direct, Extent, FileLock, Items, Open, OpenMode, OpenSync, Prepare, Size, Target, TargetKind,
    WriteLife,
};

use super::exact::{bytes, many, number};
use super::pattern::size;

/// The line without its indent.
pub(crate) fn line(target: &Target) -> String {
    let mut words = vec![what(target)];
    words.extend(open(&target.open));
    words.extend(prepare(target.prepare).map(String::from));
    if target.remove {
        words.push("removed at the end".into());
    }
    words.join(" · ")
}

fn what(target: &Target) -> String {
    let (text, named) = match &target.kind {
        TargetKind::File { path, size } => (file(path, *size), path.clone()),
        TargetKind::FileSet { root, items } => (file_set(root, items), root.clone()),
        TargetKind::Descriptor { number: 0 } => ("standard input".into(), "standard input".into()),
        TargetKind::Descriptor { number: 1 } => ("standard output".into(), "standard output".into()),
        TargetKind::Descriptor { number } => (format!("descriptor {number}"), format!("descriptor {number}")),
        TargetKind::Device { path } => (format!("device {path}"), path.clone()),
        TargetKind::Bucket { url, items } => (bucket(url, items), url.clone()),
        TargetKind::Endpoint { transport, address, listen } => {
            let role = if *listen { "waiting at" } else { "to" };
            (format!("{transport} {role} {address}"), address.clone())
        }
        TargetKind::Nothing { bytes: pretended } => {
            (format!("nothing, {} pretended", bytes(*pretended)), "nothing".into())
        }
    };
    match target.name == named {
        true => text,
        false => format!("\"{}\": {text}", target.name),
    }
}

fn file(path: &str, size: Extent) -> String {
    let each = if path.contains('{') { " each" } else { "" };
    match size {
        Extent::Rest => format!("file {path}"),
        Extent::Bytes(size) => format!("file {path}, {}{each}", bytes(size)),
        Extent::Percent(percent) => format!("file {path}, {} % of the free space{each}", number(percent)),
    }
}

fn file_set(root: &str, items: &Items) -> String {
    let own = if items.own { "each worker's own tree" } else { "tree" };
    format!("{own} {root} of {}", self::items(items))
}

fn bucket(url: &str, items: &Items) -> String {
    let own = if items.own { ", each worker's own" } else { "" };
    format!("bucket {url} with {}{own}", self::items(items))
}

fn items(items: &Items) -> String {
    let what = if items.directories { "directories" } else { "files" };
    if items.count == 0 {
        return format!("no {what}");
    }
    let mut words = vec![format!("{} {what} {}", items.count, items.name)];
    if items.size != Size::Fixed(0) {
        words.push(format!("{} each", size(&items.size)));
    }
    if items.depth > 0 {
        words.push(format!(
            "{} of {} directories {}",
            many(items.depth.into(), "level"),
            items.branch,
            items.directory
        ));
    } else if items.branch != 1 || items.directory != Items::default().directory {
        words.push(format!("{} directories {}", items.branch, items.directory));
    }
    if let Some(tree) = &items.tree {
        let (depths, widths) = (drawn(&tree.depths), drawn(&tree.widths));
        words.push(format!(
            "directories {} drawn by seed {}, {depths} deep and {widths} wide",
            items.directory, tree.seed
        ));
    }
    if items.makers > 0 {
        words.push(format!("made by {} side by side", items.makers));
    }
    if items.leaves_only {
        words.push("in the leaves only".into());
    }
    if items.per_directory > 0 {
        words.push(format!("{} in each directory in turn", items.per_directory));
    }
    if items.present_percent == 0.0 {
        words.push("none of them there at the start".into());
    } else if items.present_percent != 100.0 {
        words.push(format!("{} % of them there at the start", number(items.present_percent)));
    }
    words.join(", ")
}

/// A number that is drawn as sizes are, without their unit.
pub(super) fn drawn(size: &Size) -> String {
    match size {
        Size::Fixed(count) => count.to_string(),
        Size::Gamma { mean_bytes, shape } => {
            format!("gamma {} around {}", number(*shape), number(*mean_bytes))
        }
        Size::Uniform { least_bytes, most_bytes, .. } => format!("{least_bytes} to {most_bytes}"),
        _ => "by a table".into(),
    }
}

fn open(open: &Open) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend(mode(open.mode).map(String::from));
    words.extend(direct(open.direct).map(String::from));
    words.extend(sync(open.sync).map(String::from));
    if open.truncate {
        words.push(format!("cut to {}", bytes(open.truncate_bytes)));
    }
    let flags = [
        (open.create, "created"),
        (open.parents, "directories made"),
        (open.exclusive, "must be new"),
        (open.append, "append"),
        (open.nonblock, "nonblock"),
        (open.noatime, "noatime"),
        (open.nofollow, "nofollow"),
        (open.directory, "directory"),
        (open.noctty, "noctty"),
        (open.invalidate, "cache dropped before"),
        (open.pre_read, "read once before"),
        (open.drop_behind, "cache dropped behind"),
    ];
    words.extend(flags.iter().filter(|(is, _)| *is).map(|(_, word)| word.to_string()));
    words.extend(open.permissions.map(|bits| format!("made with mode {bits:o}")));
    words.extend(advice(open.advice).map(String::from));
    words.extend(open.write_life.map(write_life).map(String::from));
    words.extend(lock(open.lock).map(String::from));
    words
}

fn mode(mode: OpenMode) -> Option<&'static str> {
    match mode {
        OpenMode::AsNeeded => None,
        OpenMode::Read => Some("opened to read"),
        OpenMode::Write => Some("opened to write"),
        OpenMode::ReadWrite => Some("opened to read and write"),
    }
}

fn direct(direct: Direct) -> Option<&'static str> {
    match direct {
        Direct::No => None,
        Direct::Yes => Some("direct"),
        Direct::IfPossible => Some("direct if possible"),
    }
}

fn sync(sync: OpenSync) -> Option<&'static str> {
    match sync {
        OpenSync::No => None,
        OpenSync::Data => Some("dsync"),
        OpenSync::All => Some("sync"),
    }
}

fn advice(advice: Advice) -> Option<&'static str> {
    match advice {
        Advice::No => None,
        Advice::AsPicked => Some("kernel advised"),
        Advice::Random => Some("kernel advised: random"),
        Advice::Sequential => Some("kernel advised: sequential"),
        Advice::NoReuse => Some("kernel advised: no reuse"),
    }
}

fn write_life(life: WriteLife) -> &'static str {
    match life {
        WriteLife::No => "write life none",
        WriteLife::Short => "write life short",
        WriteLife::Medium => "write life medium",
        WriteLife::Long => "write life long",
        WriteLife::Extreme => "write life extreme",
    }
}

fn lock(lock: FileLock) -> Option<&'static str> {
    match lock {
        FileLock::No => None,
        FileLock::Exclusive => Some("one operation at a time"),
        FileLock::ReadWrite => Some("many reads or one write at a time"),
        FileLock::Whole => Some("locked while open"),
    }
}

fn prepare(prepare: Prepare) -> Option<&'static str> {
    match prepare {
        Prepare::AsItIs => None,
        Prepare::Filled => Some("filled"),
        Prepare::Reserved => Some("space reserved"),
        Prepare::ReservedBeyondEnd => Some("space reserved, length kept"),
        Prepare::Sparse => Some("sparse"),
        Prepare::Empty => Some("made empty"),
        Prepare::Absent => Some("removed before"),
    }
}
