//! A whole Ceph of one monitor and one object daemon on loopback, whose objects lie in memory.
//!
//! It is what an engine for RADOS is tested against: real placement, real locks, real errors. Nobody needs a key, and a pool
//! has one copy. There is no manager daemon, so Ceph counts nothing itself: `rados df` says 0, `rados ls` and `rados stat`
//! say what there is. It refuses to listen anywhere but on 127.0.0.1.

use std::path::{Path, PathBuf};

use crate::daemons::DaemonGroup;
use crate::program::Program;
use crate::{Skip, free_port};

/// The programs, and Debian's packages that have them.
pub const PROGRAMS: [(&str, &str); 5] = [
    ("ceph-mon", "ceph-mon"),
    ("ceph-osd", "ceph-osd"),
    ("monmaptool", "ceph-common"),
    ("ceph", "ceph-common"),
    ("rados", "ceph-common"),
];
/// Objects take memory: no more than this.
const MEMORY_BYTES: u64 = 2 << 30;
/// How long the command line waits for the monitor, seconds.
const PATIENCE: &str = "60";
/// Placement groups of a pool.
const GROUPS: &str = "8";
const CLUSTER_ID: &str = "3f1d2f4e-6f0a-4e39-9a55-0c2b8a5d7e10";
const STORE_ID: &str = "8a7c5a2b-51f7-4a35-8ef1-d2f6b3f1c9a4";

/// A cluster, gone when this is dropped or the test dies.
#[derive(Debug)]
pub struct Ceph {
    daemons: DaemonGroup,
}

impl Ceph {
    /// Starts one, and waits until it stores.
    ///
    /// # Errors
    /// A program that is missing is a [`Skip`]; else what the daemons said.
    pub fn start() -> Result<Ceph, Box<dyn std::error::Error>> {
        for (program, package) in PROGRAMS {
            let missing = |_| Skip::new(format!("{program} is not installed (Debian's package {package})"));
            crate::case::find_tool(program).map_err(missing)?;
        }
        let mut ceph = Ceph { daemons: DaemonGroup::new()? };
        let address = format!("v2:127.0.0.1:{}", free_port()?);
        std::fs::write(ceph.configuration(), configuration(ceph.home(), &address))?;
        for folder in ["run", "mon", "osd"] {
            std::fs::create_dir(ceph.home().join(folder))?;
        }
        let addresses = format!("[{address}]");
        ceph.run("monmaptool", &["--create", "--addv", "a", &addresses, "--fsid", CLUSTER_ID, "monmap"])?;
        ceph.run("ceph-mon", &["--mkfs", "-i", "a", "--monmap", "monmap", "-c", "ceph.conf"])?;
        ceph.daemons.start("mon", &["ceph-mon", "-f", "-i", "a", "-c", "ceph.conf"])?;
        ceph.ask(&["osd", "new", STORE_ID])?;
        ceph.run("ceph-osd", &["--mkfs", "-i", "0", "--osd-uuid", STORE_ID, "-c", "ceph.conf"])?;
        ceph.ask(&["osd", "crush", "add", "osd.0", "1.0", "root=default", "host=here"])?;
        ceph.daemons.start("osd", &["ceph-osd", "-f", "-i", "0", "-c", "ceph.conf"])?;
        Ok(ceph)
    }

    /// Makes a pool, and waits until it takes objects.
    ///
    /// # Errors
    /// What Ceph said.
    pub fn pool(&self, name: &str) -> Result<(), String> {
        self.ask(&["osd", "pool", "create", name, GROUPS])?;
        // The first object waits for the placement groups.
        self.rados(name, &["create", "first"])?;
        self.rados(name, &["rm", "first"]).map(drop)
    }

    /// What the program `rados` answers for a pool.
    ///
    /// # Errors
    /// What it said, where it fails.
    pub fn rados(&self, pool: &str, arguments: &[&str]) -> Result<String, String> {
        self.run("rados", &[&["-c", "ceph.conf", "-p", pool], arguments].concat())
    }

    /// The configuration file for clients.
    pub fn configuration(&self) -> PathBuf {
        self.home().join("ceph.conf")
    }

    fn home(&self) -> &Path {
        self.daemons.home()
    }

    fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        self.run("ceph", &[&["-c", "ceph.conf", "--connect-timeout", PATIENCE], arguments].concat())
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let path = crate::case::find_tool(program).map_err(|skip| skip.reason)?;
        let mut command = std::process::Command::new(path);
        command.args(arguments).current_dir(self.home());
        let output = Program::new(command).outcome()?;
        if output.status.success() {
            return Ok(output.out);
        }
        let logs = ["mon", "osd"].map(|name| format!("--- {name}\n{}", self.daemons.last_words(name)));
        Err(format!("{program} {}: {}\n{}", arguments.join(" "), output.err.trim(), logs.join("\n")))
    }
}

fn configuration(home: &Path, address: &str) -> String {
    let home = home.display();
    format!(
        "[global]
fsid = {CLUSTER_ID}
mon host = {address}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
run dir = {home}/run
admin socket = {home}/run/$name.$pid.asok
pid file =
log file =
log to stderr = true
err to stderr = true
debug rocksdb = 0
mon data = {home}/mon
osd data = {home}/osd
keyring = {home}/keyring
osd objectstore = memstore
memstore device bytes = {MEMORY_BYTES}
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
"
    )
}
