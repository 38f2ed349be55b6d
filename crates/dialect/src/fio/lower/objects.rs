//! Files of a job whose engine keeps objects: of Ceph's, each file is one object; of Hadoop's, each is many chunks; of a
//! store behind HTTP, each block is an object of its own, or each file.
//!
//! fio lays nothing out for Ceph and for HTTP, and removes nothing. Of a read there it does not look at what the store answers, so that
//! objects that are not there are read at full speed; here such reads fail.

use iodyno_model::{Items, Open, Prepare, Setting, Size, Target, TargetKind};

use super::super::value::Amount;
use super::engine::Engine;
use super::names::TargetFile;
use super::option_reader::OptionReader;
use super::{JobContext, names};
use crate::option::refuse;
use crate::secrets;

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
    /// Objects are reached by HTTP.
    pub http: Option<HttpStore>,
}

/// How files become objects behind HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpStore {
    /// Each block is an object: `FILE_OFFSET_BYTES`.
    pub by_block: bool,
    /// The bucket that stands before the host; none: it is the first part of a file's name.
    pub bucket: Option<String>,
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
        "http" => http(ask, engine),
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
    let prefix = if directory.is_empty() { "/" } else { "" };
    Store { url, prefix, chunk_bytes: Some(chunk), ..Store::default() }
}

/// Keys of a request: fio's option and our setting.
const KEYS: [(&str, &str); 4] = [
    ("http_s3_keyid", "access_key"),
    ("http_s3_key", "secret_key"),
    ("http_s3_security_token", "session_token"),
    ("http_s3_sse_customer_key", "customer_key"),
];

fn http(ask: &mut OptionReader<'_>, engine: &mut Engine) -> Store {
    let speaks_s3 = ask.word("http_mode") == Some("s3");
    let lacks_key = ask.has("http_s3_sse_customer_algorithm") && !ask.has("http_s3_sse_customer_key");
    let host = ask.text("http_host").unwrap_or("localhost").to_string();
    let scheme = if ask.word("https") == Some("on") { "https" } else { "http" };
    let is_host = !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ', ',', '{']);
    // A host name's first label is the bucket where a file's name has none.
    let names: Vec<String> = names::split_names(ask.text("filename").unwrap_or_default());
    let has_bucket = |name: &String| name.trim_start_matches('/').contains('/');
    let labels = host.split_once('.').filter(|(first, rest)| !first.is_empty() && !rest.is_empty());
    let is_address = host.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':'));
    let before = labels.filter(|_| !is_address && !names.iter().any(has_bucket));
    let is_rooted = !names.is_empty() && names.iter().all(|name| name.starts_with('/'));
    let has_buckets = names.iter().all(has_bucket) || before.is_some();
    refuse! { ask
        "http_mode" if !speaks_s3 => "fio's default of http_mode is WebDAV, which no engine speaks here", "http_mode=s3";
        "http_host" if !is_host => format!("http_host={host}: it is more than a host and a port"), "e.g. http_host=127.0.0.1:9000";
        "filename" if !is_rooted => "a file's name is the path of its requests, and begins with a slash", "filename=/BUCKET/NAME";
        "filename" if is_rooted && !has_buckets => "the request names no bucket", "filename=/BUCKET/NAME, or http_host=BUCKET.HOST";
    }
    if lacks_key {
        ask.note(
            "http_s3_sse_customer_algorithm",
            "without http_s3_sse_customer_key nothing is encrypted by it",
        );
    }
    let mut add = |name: &str, option: &str, value: String| {
        engine.settings.push(Setting { name: name.into(), value, origin: ask.origin(option).clone() });
    };
    let place = before.map_or(host.as_str(), |(_, rest)| rest);
    add("endpoint", "http_host", format!("{scheme}://{place}"));
    if before.is_some() {
        add("addressing", "http_host", "virtual".into());
    }
    add("region", "http_s3_region", ask.text("http_s3_region").unwrap_or("us-east-1").into());
    add(
        "storage_class",
        "http_s3_storage_class",
        ask.text("http_s3_storage_class").unwrap_or("STANDARD").into(),
    );
    // fio signs what it writes, asks for nothing before the start, and reads zeros where nothing is.
    for (name, value) in [("sign_payload", "on"), ("preflight", "off"), ("missing", "zeros")] {
        add(name, "ioengine", value.into());
    }
    let mut is_bare = false;
    for (theirs, ours) in KEYS {
        let Some(value) = ask.text(theirs).filter(|value| !value.is_empty()) else { continue };
        match secrets::is_taken_out(value) {
            true => add(ours, theirs, value.into()),
            false => is_bare = true,
        }
    }
    if is_bare {
        let message = "a key came by a way that is not secret, e.g. from a client over the network";
        ask.refuse(
            "http_s3_key",
            message,
            "leave it out and export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        );
    }
    engine.name = "s3";
    let by_block = ask.word("http_object_mode") != Some("range");
    Store {
        url: "s3://".into(),
        http: Some(HttpStore { by_block, bucket: before.map(|(first, _)| first.to_string()) }),
        ..Store::default()
    }
}

/// What the blocks of a job must be so that each, or each file, is an object.
fn check_http(ask: &mut OptionReader<'_>, http: &HttpStore, found: &JobContext) {
    let used = found.blocks.used(&found.direction);
    let first = used.first().copied().unwrap_or_default();
    let is_one = used.iter().all(|(least, most)| least == most && *least == first.0);
    let offset = match ask.amount("offset") {
        Some(Amount::Bytes(bytes)) => bytes,
        Some(_) => 1,
        None => 0,
    };
    let is_odd = http.by_block && first.0 > 0 && !offset.is_multiple_of(first.0);
    let changes = found.direction.writes || found.direction.trims;
    refuse! { ask
        "bs" if http.by_block && !is_one =>
            "each block is an object named after its place and length: blocks of one length are served", "one bs= for all directions";
        "offset" if is_odd => "objects lie at multiples of the block", "an offset that is a multiple of bs";
        "http_object_mode" if !http.by_block && changes =>
            "in fio every write or trim of a range changes the whole object, and what was there is lost",
            "read with http_object_mode=range; write with rw=write and bs= the file's size in block mode";
        "filename" if found.replay.is_some() => "a recording on objects is not served", "leave read_iolog out";
    }
}

/// What each file of a job is.
pub fn targets(ask: &mut OptionReader<'_>, store: &Store, found: &JobContext) -> Vec<Target> {
    if let Some(http) = &store.http {
        check_http(ask, http, found);
    }
    let ends = found.sizes.ends.iter().copied().chain(std::iter::repeat(None));
    let target = |(file, end): (&TargetFile, Option<u64>)| Target {
        name: file.path.clone(),
        kind: match &store.http {
            Some(http) => by_http(http, file, end.unwrap_or_default(), found),
            None => TargetKind::Bucket {
                url: store.url.clone(),
                items: items(store, file, end.unwrap_or_default()),
            },
        },
        open: Open::default(),
        prepare: if store.chunk_bytes.is_some() { Prepare::Filled } else { Prepare::AsItIs },
        remove: false,
        origin: file.origin.clone(),
    };
    found.files.iter().zip(ends).map(target).collect()
}

/// A file's objects. A name's first part is the bucket, unless that stands before the host.
fn by_http(http: &HttpStore, file: &TargetFile, bytes: u64, found: &JobContext) -> TargetKind {
    let path = file.path.trim_start_matches('/');
    let (bucket, name) = match &http.bucket {
        Some(bucket) => (bucket.as_str(), path),
        None => path.split_once('/').unwrap_or((path, "")),
    };
    let block = found.blocks.used(&found.direction).first().map_or(0, |(least, _)| *least).max(1);
    let items = match http.by_block {
        true => Items {
            name: format!("{name}_{{item*{block}}}_{block}"),
            count: (bytes / block).max(1),
            size: Size::Fixed(block),
            ..Items::default()
        },
        false => Items { name: name.into(), size: Size::Fixed(bytes), ..Items::default() },
    };
    TargetKind::Bucket { url: format!("s3://{bucket}"), items }
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
