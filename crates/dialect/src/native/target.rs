//! `[target.NAME]`: what jobs work on, how it is opened, what must be there before.

use iodyno_model::{Extent, Items, Open, Prepare, Size, Target, TargetKind, Tree};

use super::fields::Fields;
use super::tree::{Entry, Node, Value};
use super::value::{Read, bytes, extent, flag, number, small, small_count, text, whole_number};

pub(crate) fn read(entry: &Entry, wrong: &super::fields::Wrong) -> Target {
    let fields = Fields::new(&entry.node, "a target", wrong);
    let mut target = Target {
        name: entry.name.clone(),
        kind: kind(&fields, &entry.name),
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: entry.origin.clone(),
    };
    fields.fill(&mut target);
    let cut = fields.or("truncate", truncate, (false, 0));
    (target.open.truncate, target.open.truncate_bytes) = cut;
    fields.unknown();
    target
}

fn kind(fields: &Fields<'_>, name: &str) -> TargetKind {
    let mut kinds = Vec::new();
    if let Some(path) = fields.get("file", text) {
        kinds.push(TargetKind::File { path, size: fields.or("size", extent, Extent::Rest) });
    }
    if let Some(root) = fields.get("files", text) {
        kinds.push(TargetKind::FileSet { root, items: items(fields) });
    }
    if let Some(url) = fields.get("bucket", text) {
        let items = items(fields);
        if items.format.is_some() {
            let hint = "leave it out, or copy the files of a data set into the bucket";
            fields.wrong().error(fields.origin(), "`format`: objects are laid out with random bytes", hint);
        }
        kinds.push(TargetKind::Bucket { url, items });
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
    let mut items = Items { tree: tree(fields), ..Items::default() };
    fields.fill(&mut items);
    items
}

/// Directories of drawn depth and width, around those that `depth` and `branch` say.
fn tree(fields: &Fields<'_>) -> Option<Box<Tree>> {
    let shape = fields.or("gamma", number, 0.0);
    let (depth, branch) = (fields.or("depth", small, 0), fields.or("branch", small_count, 1));
    let gamma = |mean: u32| Size::Gamma { mean_bytes: f64::from(mean.max(1)), shape };
    let seed = fields.or("tree_seed", whole_number, 0);
    (shape > 0.0).then(|| Box::new(Tree { depths: gamma(depth), widths: gamma(branch), seed }))
}

/// Mode bits as they are written: `"640"`, in octal digits.
pub(super) fn permissions(node: &Node) -> Read<u32> {
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
