//! A target in one line: what it is, how long, how it is opened, prepared and left.

use iodyno_model::{Extent, Items, Open, Size, Target, TargetKind};

use super::exact::{bytes, many, number};
use super::pattern::size;
use super::phrase::phrases;

/// The line without its indent.
pub(crate) fn line(target: &Target) -> String {
    let mut words = vec![described(target)];
    words.extend(open(&target.open));
    words.extend(phrases(target, "prepare remove"));
    words.join(" · ")
}

fn described(target: &Target) -> String {
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
    format!(
        "bucket {url} with {}{own}",
        listed(items, if items.directories { "directories" } else { "objects" })
    )
}

fn items(items: &Items) -> String {
    listed(items, if items.directories { "directories" } else { "files" })
}

fn listed(items: &Items, what: &str) -> String {
    if items.count == 0 {
        return format!("no {what}");
    }
    let mut words = vec![format!("{} {what} {}", items.count, items.name)];
    words.extend(phrases(items, "first_name"));
    if let Some(format) = &items.format {
        let length = size(&items.size);
        words.push(format!(
            "{length} a sample, {} in each of the format {}",
            format.samples,
            format.kind.name()
        ));
        if format.chunk_bytes > 0 {
            words.push(format!("in chunks of {}", bytes(format.chunk_bytes)));
        }
    } else if items.size != Size::Fixed(0) {
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
    words.extend(phrases(items, "makers leaves_only per_directory"));
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
        Size::Normal { mean_bytes, deviation_bytes } => {
            format!("normal around {}, deviation {}", number(*mean_bytes), number(*deviation_bytes))
        }
        Size::Uniform { least_bytes, most_bytes, .. } => format!("{least_bytes} to {most_bytes}"),
        _ => "by a table".into(),
    }
}

fn open(open: &Open) -> Vec<String> {
    let mut words = phrases(open, "mode direct sync");
    words.extend(open.truncate.then(|| format!("cut to {}", bytes(open.truncate_bytes))));
    let flags = "create parents exclusive append nonblock noatime nofollow directory noctty invalidate pre_read \
                 drop_behind permissions advice write_life lock hints";
    words.extend(phrases(open, flags));
    words
}
