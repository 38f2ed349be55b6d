//! Files of a job whose engine keeps objects: each file is one object of its name, whose parts are read and written.
//!
//! fio lays nothing out for such an engine, and removes nothing. Of a read it does not look at what the store answers, so that
//! objects that are not there are read at full speed; here such reads fail.

use iodyno_model::{Items, Open, Prepare, Setting, Size, Target, TargetKind};

use super::JobContext;
use super::option_reader::OptionReader;
use crate::option::refuse;

/// Where the objects of a job lie, and what its engine does beside what its options say.
pub fn store(ask: &mut OptionReader<'_>, settings: &mut Vec<Setting>) -> String {
    let pool = ask.text("pool").unwrap_or_default().to_string();
    refuse! { ask
        "pool" if pool.is_empty() => "rados pool name must be provided.", "pool=NAME; `ceph osd pool ls` says which there are";
        "pool" if pool.contains(['/', ':', '{']) => "a pool's name has no `/`, `:` or `{`", "`ceph osd pool ls` says which there are";
        "fsync" if ask.count("fsync").unwrap_or(0) > 0 =>
            "objects have nothing to sync: fio ends here", "leave it out: a write is durable when it is complete";
        "fdatasync" if ask.count("fdatasync").unwrap_or(0) > 0 =>
            "objects have nothing to sync: fio ends here", "leave it out: a write is durable when it is complete";
    }
    if !ask.has("conf") {
        settings.push(Setting::new("conf", "/etc/ceph/ceph.conf"));
    }
    if ask.flag("touch_objects", true) {
        settings.push(Setting::new("touch", "on"));
    }
    // fio writes parts of an object, also where the part is all of it.
    settings.push(Setting::new("replace", "off"));
    format!("rados://{pool}")
}

/// An object for each file of a job.
pub fn targets(url: &str, found: &JobContext) -> Vec<Target> {
    let ends = found.sizes.ends.iter().copied().chain(std::iter::repeat(None));
    let target = |(file, end): (&super::names::TargetFile, Option<u64>)| {
        let size = Size::Fixed(end.unwrap_or_default());
        let items = Items { name: file.path.clone(), size, ..Items::default() };
        Target {
            name: file.path.clone(),
            kind: TargetKind::Bucket { url: url.into(), items },
            open: Open::default(),
            prepare: Prepare::AsItIs,
            remove: false,
            origin: file.origin.clone(),
        }
    };
    found.files.iter().zip(ends).map(target).collect()
}
