//! The package's back ends on Ceph and Hadoop: where the store is, who asks, and what is missing of that.

use iodyno_model::Setting;

use crate::option::GivenOptions;

/// An option that something is wrong with, what, and what to do.
pub type StoreDefect = (&'static str, &'static str, &'static str);

/// Those that there are.
fn found<const N: usize>(all: [(bool, StoreDefect); N]) -> Vec<StoreDefect> {
    all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, defect)| defect).collect()
}

/// The pool that the back end RADOS works on.
pub fn rados_address(settings: &GivenOptions) -> String {
    format!("rados://{}", settings.text("rados.pool").unwrap_or_default())
}

/// The name node that the back end HDFS works on.
pub fn hdfs_address(settings: &GivenOptions) -> String {
    let named = settings.text("hdfs.name_node").unwrap_or_default();
    format!("hdfs://{}", named.trim_start_matches("hdfs://"))
}

/// What is wrong with who asks Ceph, and for what. IOR wants all three.
pub fn rados_defects(settings: &GivenOptions) -> Vec<StoreDefect> {
    let said = |name: &str| settings.text(name).unwrap_or_default();
    let odd = said("rados.pool").contains(['/', ':', '{']);
    found([
        (
            said("rados.user").is_empty(),
            ("rados.user", "RADOS user must be specified", "e.g. --rados.user=admin"),
        ),
        (
            said("rados.conf").is_empty(),
            ("rados.conf", "RADOS conf must be specified", "e.g. --rados.conf=/etc/ceph/ceph.conf"),
        ),
        (
            said("rados.pool").is_empty(),
            (
                "rados.pool",
                "RADOS pool must be specified",
                "e.g. --rados.pool=bench; `ceph osd pool ls` says which there are",
            ),
        ),
        (
            odd,
            ("rados.pool", "a pool's name has no `/`, `:` or `{`", "`ceph osd pool ls` says which there are"),
        ),
    ])
}

/// What is wrong with where Hadoop is and how it keeps files.
pub fn hdfs_defects(settings: &GivenOptions) -> Vec<StoreDefect> {
    let node = hdfs_address(settings);
    let odd = node.trim_start_matches("hdfs://").contains(['/', '{', ' ']);
    let block = settings.count("hdfs.block_size") > i32::MAX as u64;
    found([
        (
            odd,
            (
                "hdfs.name_node",
                "the name node is more than HOST:PORT",
                "e.g. --hdfs.name_node=localhost:9000",
            ),
        ),
        (
            block,
            ("hdfs.block_size", "a block is below 2 GiB for Hadoop's library", "e.g. --hdfs.block_size=128m"),
        ),
    ])
}

/// Who asks Ceph.
pub fn rados_client(settings: &GivenOptions) -> Vec<Setting> {
    given(settings, &[("conf", "rados.conf"), ("client", "rados.user")])
}

/// Who asks Hadoop, and how it keeps what is written.
pub fn hdfs_client(settings: &GivenOptions) -> Vec<Setting> {
    let mut found = given(settings, &[("user", "hdfs.user")]);
    for (name, option) in [("replication", "hdfs.replicas"), ("block_bytes", "hdfs.block_size")] {
        let number = settings.count(option);
        if number > 0 {
            found.push(Setting { origin: settings.origin(option), ..Setting::new(name, number) });
        }
    }
    found
}

fn given(settings: &GivenOptions, names: &[(&str, &str)]) -> Vec<Setting> {
    let said = |(name, option): &(&str, &str)| {
        let value = settings.text(option)?;
        Some(Setting { origin: settings.origin(option), ..Setting::new(name, value) })
    };
    names.iter().filter_map(said).collect()
}
