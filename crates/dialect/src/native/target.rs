//! `[target.NAME]`: what jobs work on, how it is opened, what must be there before.

use iodyno_model::{
    Advice, Direct, Extent, FileLock, Items, Open, OpenMode, OpenSync, Prepare, Size, Target, TargetKind,
    Tree, WriteLife,
};

use super::fields::Fields;
use super::pattern;
use super::tree::{Entry, Node, Value};
use super::value::{Read, bytes, choice, extent, flag, number, percent, small, small_count, text, whole};

/// One target.
pub(crate) fn read(entry: &Entry, wrong: &super::fields::Wrong) -> Target {
    let fields = Fields::new(&entry.node, "a target", wrong);
    let target = Target {
        name: entry.name.clone(),
        kind: kind(&fields, &entry.name),
        open: open(&fields),
        prepare: fields.or("prepare", choice(PREPARE), Prepare::AsItIs),
        remove: fields.flag("remove"),
        origin: entry.origin.clone(),
    };
    fields.unknown();
    target
}

const PREPARE: &[(&str, Prepare)] = &[
    ("as it is", Prepare::AsItIs),
    ("filled", Prepare::Filled),
    ("reserved", Prepare::Reserved),
    ("reserved beyond end", Prepare::ReservedBeyondEnd),
    ("sparse", Prepare::Sparse),
    ("empty", Prepare::Empty),
    ("absent", Prepare::Absent),
];

const ADVICE: &[(&str, Advice)] = &[
    ("true", Advice::AsPicked),
    ("false", Advice::No),
    ("random", Advice::Random),
    ("sequential", Advice::Sequential),
    ("no reuse", Advice::NoReuse),
];

const LIFE: &[(&str, WriteLife)] = &[
    ("none", WriteLife::No),
    ("short", WriteLife::Short),
    ("medium", WriteLife::Medium),
    ("long", WriteLife::Long),
    ("extreme", WriteLife::Extreme),
];

const LOCK: &[(&str, FileLock)] = &[
    ("false", FileLock::No),
    ("exclusive", FileLock::Exclusive),
    ("read write", FileLock::ReadWrite),
    ("whole", FileLock::Whole),
];

fn kind(fields: &Fields<'_>, name: &str) -> TargetKind {
    let mut kinds = Vec::new();
    if let Some(path) = fields.get("file", text) {
        kinds.push(TargetKind::File { path, size: fields.or("size", extent, Extent::Rest) });
    }
    if let Some(root) = fields.get("files", text) {
        kinds.push(TargetKind::FileSet { root, items: items(fields) });
    }
    if let Some(url) = fields.get("bucket", text) {
        kinds.push(TargetKind::Bucket { url, items: items(fields) });
    }
    kinds.extend(fields.get("device", text).map(|path| TargetKind::Device { path }));
    kinds.extend(fields.get("descriptor", small).map(|number| TargetKind::Descriptor { number }));
    kinds.extend(fields.get("nothing", bytes).map(|bytes| TargetKind::Nothing { bytes }));
    kinds.extend(fields.get("connect", |node| endpoint(node, false)));
    kinds.extend(fields.get("listen", |node| endpoint(node, true)));
    if kinds.len() != 1 {
        let count = if kinds.is_empty() { "nothing" } else { "several things at once" };
        fields.wrong().error(
            fields.origin(),
            format!("target `{name}` is {count}"),
            "say exactly one of file, files, device, descriptor, bucket, connect, listen, nothing",
        );
    }
    kinds.into_iter().next().unwrap_or(TargetKind::Nothing { bytes: 0 })
}

/// `tcp:127.0.0.1:5201`.
fn endpoint(node: &Node, listen: bool) -> Read<TargetKind> {
    let expected = || "expected a transport and an address such as \"tcp:127.0.0.1:5201\"".to_string();
    let (transport, address) = node.word().and_then(|word| word.split_once(':')).ok_or_else(expected)?;
    match transport {
        "tcp" | "tcp6" | "udp" | "udp6" | "unix" | "sctp" | "vsock" => {
            Ok(TargetKind::Endpoint { transport: transport.into(), address: address.into(), listen })
        }
        _ => Err(expected()),
    }
}

fn items(fields: &Fields<'_>) -> Items {
    let plain = Items::default();
    Items {
        count: fields.or("count", whole, plain.count),
        name: fields.or("name", text, plain.name),
        directory: fields.or("directory", text, plain.directory),
        size: fields.or("size", pattern::size, Size::Fixed(0)),
        depth: fields.or("depth", small, plain.depth),
        branch: fields.or("branch", small_count, plain.branch),
        tree: tree(fields),
        makers: fields.or("makers", small, plain.makers),
        leaves_only: fields.flag("leaves_only"),
        per_directory: fields.or("per_directory", whole, 0),
        own: fields.flag("own"),
        present_percent: fields.or("present", percent, plain.present_percent),
        directories: fields.flag("directories"),
    }
}

/// Directories of drawn depth and width, around those that `depth` and `branch` say.
fn tree(fields: &Fields<'_>) -> Option<Box<Tree>> {
    let shape = fields.or("gamma", number, 0.0);
    let (depth, branch) = (fields.or("depth", small, 0), fields.or("branch", small_count, 1));
    let gamma = |mean: u32| Size::Gamma { mean_bytes: f64::from(mean.max(1)), shape };
    let seed = fields.or("tree_seed", whole, 0);
    (shape > 0.0).then(|| Box::new(Tree { depths: gamma(depth), widths: gamma(branch), seed }))
}

fn open(fields: &Fields<'_>) -> Open {
    let (truncate, truncate_bytes) = fields.or("truncate", truncate, (false, 0));
    let modes = [("read", OpenMode::Read), ("write", OpenMode::Write), ("read write", OpenMode::ReadWrite)];
    let direct = [("true", Direct::Yes), ("false", Direct::No), ("if possible", Direct::IfPossible)];
    let sync = [("false", OpenSync::No), ("data", OpenSync::Data), ("all", OpenSync::All)];
    Open {
        mode: fields.or("mode", choice(&modes), OpenMode::AsNeeded),
        create: fields.flag("create"),
        exclusive: fields.flag("exclusive"),
        parents: fields.flag("directories_made"),
        permissions: fields.get("permissions", permissions),
        truncate,
        truncate_bytes,
        append: fields.flag("append"),
        direct: fields.or("direct", choice(&direct), Direct::No),
        sync: fields.or("sync", choice(&sync), OpenSync::No),
        nonblock: fields.flag("nonblock"),
        noatime: fields.flag("noatime"),
        nofollow: fields.flag("nofollow"),
        directory: fields.flag("must_be_directory"),
        noctty: fields.flag("noctty"),
        invalidate: fields.flag("invalidate"),
        pre_read: fields.flag("pre_read"),
        drop_behind: fields.flag("drop_behind"),
        advice: fields.or("advise", choice(ADVICE), Advice::No),
        write_life: fields.get("write_life", choice(LIFE)),
        lock: fields.or("lock", choice(LOCK), FileLock::No),
    }
}

/// Mode bits as they are written: `"640"`, in octal digits.
fn permissions(node: &Node) -> Read<u32> {
    let digits = node.word().map(String::from).unwrap_or_else(|| node.to_string());
    let bits = u32::from_str_radix(&digits, 8).ok().filter(|bits| *bits <= 0o7777);
    bits.ok_or_else(|| "expected octal digits such as \"640\"".into())
}

/// `true`, or the length it is cut to.
fn truncate(node: &Node) -> Read<(bool, u64)> {
    match (&node.value, flag(node)) {
        (Value::Word(_), Ok(flag)) => Ok((flag, 0)),
        _ => bytes(node).map(|bytes| (true, bytes)).map_err(|_| "expected true, false or a size".into()),
    }
}
