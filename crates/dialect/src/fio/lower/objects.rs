//! Files of a job whose engine keeps objects: of Ceph's, each file is one object; of Hadoop's, each is many chunks.
//!
//! fio lays nothing out for Ceph, and removes nothing. Of a read there it does not look at what the store answers, so that
//! objects that are not there are read at full speed; here such reads fail.

use iodyno_model::{Items, Open, Prepare, Setting, Size, Target, TargetKind};

use super::JobContext;
use super::engine::Engine;
use super::names::TargetFile;
use super::option_reader::OptionReader;
use crate::option::refuse;

/// Bytes of a chunk where a job does not say.
const CHUNK_BYTES: u64 = 1 << 20;

/// Where the objects of a job lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    /// Its address.
    pub url: String,
    /// What stands before each object's name.
    pub prefix: &'static str,
    /// A file is chunks of so many bytes, which are there before the start; none: it is one object.
    pub chunk_bytes: Option<u64>,
}

/// Where the objects of a job lie, and what its engine does beside what its options say.
pub fn store(ask: &mut OptionReader<'_>, engine: &mut Engine) -> Store {
    let syncs = ["fsync", "fdatasync"].into_iter().find(|name| ask.count(name).unwrap_or(0) > 0);
    if let Some(name) = syncs {
        let message = "fio's engine has nothing to sync: it ends here";
        ask.refuse(name, message, "leave it out");
    }
    match engine.name {
        "libhdfs" => hdfs(ask, engine),
        _ => rados(ask, &mut engine.settings),
    }
}

fn rados(ask: &mut OptionReader<'_>, settings: &mut Vec<Setting>) -> Store {
    let pool = ask.text("pool").unwrap_or_default().to_string();
    refuse! { ask
        "pool" if pool.is_empty() => "rados pool name must be provided.", "pool=NAME; `ceph osd pool ls` says which there are";
        "pool" if pool.contains(['/', ':', '{']) => "a pool's name has no `/`, `:` or `{`", "`ceph osd pool ls` says which there are";
    }
    if !ask.has("conf") {
        settings.push(Setting::new("conf", "/etc/ceph/ceph.conf"));
    }
    if ask.flag("touch_objects", true) {
        settings.push(Setting::new("touch", "on"));
    }
    // fio writes parts of an object, also where the part is all of it.
    settings.push(Setting::new("replace", "off"));
    Store { url: format!("rados://{pool}"), ..Store::default() }
}

fn hdfs(ask: &mut OptionReader<'_>, engine: &mut Engine) -> Store {
    // Both write the same place in fio: the later one counts.
    let later = if ask.position("hostname") > ask.position("namenode") { "hostname" } else { "namenode" };
    let host = ask.text(later).unwrap_or("localhost");
    let port = ask.count("port").unwrap_or(9000);
    let directory = ask.text("hdfsdirectory").unwrap_or("/").trim_matches('/').to_string();
    let mut url = format!("hdfs://{host}:{port}");
    if !directory.is_empty() {
        url = format!("{url}/{directory}");
    }
    let chunk = ask.whole("chunk_size").and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(CHUNK_BYTES);
    engine.settings.push(Setting::new("block_bytes", chunk.min(i32::MAX as u64)));
    if !ask.flag("single_instance", true) {
        engine.settings.push(Setting::new("own_connection", "on"));
    }
    engine.name = "hdfs";
    Store { url, prefix: if directory.is_empty() { "/" } else { "" }, chunk_bytes: Some(chunk) }
}

/// What each file of a job is.
pub fn targets(store: &Store, found: &JobContext) -> Vec<Target> {
    let ends = found.sizes.ends.iter().copied().chain(std::iter::repeat(None));
    let target = |(file, end): (&TargetFile, Option<u64>)| Target {
        name: file.path.clone(),
        kind: TargetKind::Bucket {
            url: store.url.clone(),
            items: items(store, file, end.unwrap_or_default()),
        },
        open: Open::default(),
        prepare: if store.chunk_bytes.is_some() { Prepare::Filled } else { Prepare::AsItIs },
        remove: false,
        origin: file.origin.clone(),
    };
    found.files.iter().zip(ends).map(target).collect()
}

fn items(store: &Store, file: &TargetFile, bytes: u64) -> Items {
    let name = format!("{}{}", store.prefix, file.path);
    match store.chunk_bytes {
        None => Items { name, size: Size::Fixed(bytes), ..Items::default() },
        Some(chunk) => Items {
            name: format!("{name}_{{item}}"),
            count: bytes.div_ceil(chunk).max(1),
            size: Size::Fixed(chunk),
            ..Items::default()
        },
    }
}
