//! The object store: where it is, who asks, and what the engine is told besides.

use iodyno_model::{Diagnostic, Setting};

use super::settings::Settings;
use crate::Loader;

/// Objects longer than a part are written in so many parts at most.
const PARTS_MOST: u64 = 10_000;

/// The least length of a part but the last, bytes.
const PART_LEAST: u64 = 5 << 20;

/// A store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreAccess {
    /// What the engine is told.
    pub settings: Vec<Setting>,
    /// What the names of objects begin with.
    pub prefix: String,
}

fn wrong(settings: &Settings, option: &str, what: &str, hint: &str) -> Diagnostic {
    Diagnostic::error(&settings.origin(option), what).hint(hint)
}

/// Judges what concerns the store.
///
/// # Errors
/// Everything that is wrong with it.
pub fn judge(
    settings: &Settings,
    paths: &[String],
    loader: &dyn Loader,
) -> Result<StoreAccess, Vec<Diagnostic>> {
    let hosts: Vec<String> = settings
        .text("s3endpoints")
        .unwrap_or_default()
        .split([',', ' ', '\n'])
        .filter(|host| !host.is_empty())
        .map(|host| if host.contains("://") { host.into() } else { format!("http://{host}") })
        .collect();
    let prefix = settings.text("s3objprefix").unwrap_or_default().to_string();
    let mut found = addresses(settings, &hosts, paths);
    found.extend(parts(settings));
    let has = |name: &str| settings.text(name).is_some_and(|value| !value.is_empty());
    let (key, secret) = (has("s3key"), has("s3secret"));
    for (is, option, what, hint) in [
        (key && !secret, "s3key", "a secret key is needed, too", "--s3secret KEY"),
        (secret && !key, "s3secret", "an access key is needed, too", "--s3key KEY"),
        (prefix.contains('%'), "s3objprefix", "no part of a name is drawn", "a prefix without %"),
    ] {
        if is {
            found.push(wrong(settings, option, what, hint));
        }
    }
    let is_anonymous = !key && !secret && loader.variable("AWS_ACCESS_KEY_ID").is_none();
    match found.is_empty() {
        true => Ok(StoreAccess { settings: client(settings, &hosts, is_anonymous), prefix }),
        false => Err(found),
    }
}

/// What is wrong with where the store is and what is named of it.
fn addresses(settings: &Settings, hosts: &[String], paths: &[String]) -> Vec<Diagnostic> {
    let is_long = |host: &String| host.matches('/').count() > 2 + usize::from(host.ends_with('/'));
    let all = [
        (hosts.is_empty(), "no address of a store", "e.g. --s3endpoints http://127.0.0.1:9000"),
        (
            hosts.iter().any(is_long),
            "an address is more than a host and a port",
            "buckets are named as paths",
        ),
        (
            paths.iter().any(|path| path.contains('/')),
            "an object is named, and not a bucket",
            "name buckets alone; -n and -N make objects, --s3objprefix says what their names begin with",
        ),
        (paths.len() > 1, "objects of a run lie in one bucket", "a run for each bucket"),
    ];
    let told = all.into_iter().filter(|(is, ..)| *is);
    told.map(|(_, what, hint)| wrong(settings, "s3endpoints", what, hint)).collect()
}

/// What the engine is told.
fn client(settings: &Settings, hosts: &[String], is_anonymous: bool) -> Vec<Setting> {
    let mut all = Vec::new();
    let mut add = |name: &str, option: &str, value: &str| {
        all.push(Setting { origin: settings.origin(option), ..Setting::new(name, value) });
    };
    add("endpoint", "s3endpoints", &hosts.join(","));
    for (name, option) in [
        ("region", "s3region"),
        ("access_key", "s3key"),
        ("secret_key", "s3secret"),
        ("session_token", "s3sessiontoken"),
        ("checksum", "s3chksumalgo"),
    ] {
        if let Some(value) = settings.text(option).filter(|value| !value.is_empty()) {
            add(name, option, value);
        }
    }
    let plain = hosts.iter().any(|host| host.starts_with("http:"));
    let signs = match settings.count("s3sign") {
        0 => plain,
        sign => sign == 1,
    };
    for (is, name, option, value) in [
        (is_anonymous, "credentials", "s3endpoints", "anonymous"),
        (signs, "sign_payload", "s3sign", "on"),
        (settings.flag("s3sse"), "encryption", "s3sse", "AES256"),
        (settings.flag("s3virtaddr"), "addressing", "s3virtaddr", "virtual"),
    ] {
        if is {
            add(name, option, value);
        }
    }
    all
}

/// What is wrong with the blocks of objects: each is a part, or a range of bytes.
fn parts(settings: &Settings) -> Vec<Diagnostic> {
    let (bytes, block) = (settings.count("size"), settings.count("block").max(1));
    let mut found = Vec::new();
    if settings.flag("write") && bytes > block {
        if block < PART_LEAST {
            found.push(wrong(
                settings,
                "block",
                "parts of an object have at least 5 MiB",
                "-b 5m or more, or -b as large as -s",
            ));
        }
        if bytes.div_ceil(block) > PARTS_MOST {
            found.push(wrong(settings, "block", "an object has at most 10000 parts", "a larger -b"));
        }
    }
    if settings.flag("read") && bytes > block && !bytes.is_multiple_of(block) {
        found.push(wrong(
            settings,
            "block",
            "ranges of an object have one length",
            "a block that divides the size",
        ));
    }
    for (option, name) in [
        ("direct", "--direct"),
        ("mmap", "--mmap"),
        ("backward", "--backward"),
        ("strided", "--strided"),
        ("sync", "--sync"),
        ("dropcache", "--dropcache"),
        ("trunc", "--trunc"),
        ("trunctosize", "--trunctosize"),
        ("preallocfile", "--preallocfile"),
        ("readinline", "--readinline"),
        ("statinline", "--statinline"),
    ] {
        if settings.flag(option) {
            found.push(wrong(settings, option, &format!("{name} is for files"), "leave it out"));
        }
    }
    for option in ["fadv", "flock", "rwmixpct"] {
        if settings.is_given(option) {
            found.push(wrong(settings, option, &format!("--{option} is for files"), "leave it out"));
        }
    }
    found
}
