//! What the phases of a test work on.

use iodyno_model::{Direct, Extent, FileLock, Items, Open, OpenMode, Prepare, Size, Target, TargetKind};

use super::names;
use super::s3::{self, ObjectShape};
use crate::ior::test::IorTest;

/// How a phase uses its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Made anew: what was there is removed.
    Made,
    /// Written into as it is, made where it is missing.
    Kept,
    Read,
    Removed,
}

/// The target of a test in one use.
pub fn target(test: &IorTest, usage: Use) -> Target {
    let path = names::template(test);
    let kept = test.flag("keepFile") || test.flag("keepFileWithError");
    let target = |kind, open| Target {
        name: path.clone(),
        kind,
        open,
        prepare: Prepare::AsItIs,
        remove: false,
        origin: test.settings.origin("testFile"),
    };
    if !super::engine::has_files(test) || test.flag("dryRun") {
        return target(TargetKind::Nothing { bytes: file_bytes(test) }, Open::default());
    }
    if let Some(url) = super::engine::store(test) {
        let items = items(test, &path);
        return Target {
            prepare: if usage == Use::Made { Prepare::Absent } else { Prepare::AsItIs },
            remove: usage == Use::Made && !kept,
            ..target(TargetKind::Bucket { url, items }, Open::default())
        };
    }
    if usage == Use::Removed {
        let (root, name) = names::parts(&path);
        let items = Items { name, size: Size::Fixed(0), ..Items::default() };
        return target(TargetKind::FileSet { root, items }, Open::default());
    }
    if is_device(test) {
        return target(
            TargetKind::Device { path: path.clone() },
            Open { direct: direct(test), ..Open::default() },
        );
    }
    let size = match usage {
        Use::Read => Extent::Rest,
        _ => Extent::Bytes(file_bytes(test)),
    };
    let kind = TargetKind::File { path: path.clone(), size };
    let lock = if test.flag("posix.rangelocks") { FileLock::Range } else { FileLock::No };
    let open = Open { direct: direct(test), lock, hints: test.hints.clone().boxed(), ..Open::default() };
    match usage {
        Use::Read => target(kind, Open { mode: OpenMode::Read, ..open }),
        _ => Target {
            prepare: if usage == Use::Made { Prepare::Absent } else { Prepare::AsItIs },
            remove: !kept,
            ..target(
                kind,
                Open { mode: OpenMode::ReadWrite, create: true, parents: test.flag("uniqueDir"), ..open },
            )
        },
    }
}

/// What a file is in a store: one object, or one for each transfer, named by its place and length but for the first.
fn items(test: &IorTest, path: &str) -> Items {
    let (bytes, transfer) = (file_bytes(test), test.transfer);
    match s3::shape(test) {
        // The file is the bucket.
        Some(ObjectShape::Transfers) if s3::has_buckets(test) => Items {
            name: format!("{{item*{transfer}}}-{transfer}"),
            first_name: "0".into(),
            count: (bytes / transfer.max(1)).max(1),
            size: Size::Fixed(transfer),
            ..Items::default()
        },
        Some(ObjectShape::Transfers) => {
            let name = s3::key_template(path);
            Items {
                name: format!("{name}-{{item*{transfer}}}-{transfer}"),
                first_name: name,
                count: (bytes / transfer.max(1)).max(1),
                size: Size::Fixed(transfer),
                ..Items::default()
            }
        }
        Some(ObjectShape::Parts) => {
            Items { name: path.trim_start_matches('/').into(), size: Size::Fixed(bytes), ..Items::default() }
        }
        None => Items { name: path.into(), size: Size::Fixed(bytes), ..Items::default() },
    }
}

/// Whether it is a device rather than a file; devices are never removed.
pub fn is_device(test: &IorTest) -> bool {
    super::engine::store(test).is_none()
        && test.file.starts_with("/dev/")
        && !test.file.starts_with("/dev/shm/")
        && names::template(test) == test.file
}

fn direct(test: &IorTest) -> Direct {
    match test.flag("posix.odirect") && matches!(test.api.as_str(), "POSIX" | "AIO") {
        true => Direct::Yes,
        false => Direct::No,
    }
}

pub fn file_bytes(test: &IorTest) -> u64 {
    if test.is_file_per_task() { test.task_bytes() } else { test.aggregate() }
}
