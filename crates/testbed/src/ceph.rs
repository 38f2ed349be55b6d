//! A whole Ceph of one monitor and one object daemon on loopback, whose objects lie in memory.
//!
//! It is what an engine for RADOS is tested against: real placement, real locks, real errors. Nobody needs a key, unless a
//! gateway is to run: that gives up without. A pool has one copy. There is no manager daemon, so Ceph counts nothing itself:
//! `rados df` says 0, `rados ls` and `rados stat` say what there is. It refuses to listen anywhere but on 127.0.0.1.

use std::path::{Path, PathBuf};

use crate::daemons::DaemonGroup;
use crate::program::Program;
use crate::store::{ACCESS_KEY, SECRET_KEY};
use crate::{Skip, free_port, wait};

/// The programs, and Debian's packages that have them.
pub const PROGRAMS: [(&str, &str); 5] = [
    ("ceph-mon", "ceph-mon"),
    ("ceph-osd", "ceph-osd"),
    ("monmaptool", "ceph-common"),
    ("ceph", "ceph-common"),
    ("rados", "ceph-common"),
];
/// The same of the gateway to S3.
const GATEWAY_PROGRAMS: [(&str, &str); 3] =
    [("radosgw", "radosgw"), ("radosgw-admin", "radosgw"), ("ceph-authtool", "ceph-common")];
/// Who the daemons and clients of a cluster with keys are, with what they may do.
const USERS: [(&str, &[&str]); 4] = [
    ("mon.", &["mon", "allow *"]),
    ("client.admin", &["mon", "allow *", "osd", "allow *", "mgr", "allow *"]),
    ("osd.0", &["mon", "allow profile osd", "osd", "allow *"]),
    (GATEWAY, &["mon", "allow rw", "osd", "allow rwx"]),
];
const GATEWAY: &str = "client.rgw.x";
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
        check_programs(&PROGRAMS)?;
        Ceph::start_with(false)
    }

    /// Starts one whose daemons and clients have keys (cephx), with a gateway that speaks the S3 API: its `HOST:PORT`. It
    /// knows the keys of our own store.
    ///
    /// # Errors
    /// As above.
    pub fn start_gateway() -> Result<(Ceph, String), Box<dyn std::error::Error>> {
        check_programs(&PROGRAMS)?;
        check_programs(&GATEWAY_PROGRAMS)?;
        let mut ceph = Ceph::start_with(true)?;
        ceph.pool("bench")?;
        let keys = [format!("--access-key={ACCESS_KEY}"), format!("--secret-key={SECRET_KEY}")];
        let words = ["-c", "ceph.conf", "-n", GATEWAY, "user", "create", "--uid=test", "--display-name=test"];
        ceph.run("radosgw-admin", &[&words[..], &[&keys[0], &keys[1]]].concat())?;
        let port = free_port()?;
        let (host, front) = (format!("127.0.0.1:{port}"), format!("beast endpoint=127.0.0.1:{port}"));
        let words = ["radosgw", "-f", "-n", GATEWAY, "-c", "ceph.conf", "--rgw-frontends", &front];
        ceph.daemons.start("gateway", &words)?;
        let answers = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait::until("a gateway of Ceph that answers", answers)
            .map_err(|error| format!("{error}\n{}", ceph.daemons.last_words("gateway")))?;
        Ok((ceph, host))
    }

    fn start_with(keys: bool) -> Result<Ceph, Box<dyn std::error::Error>> {
        let mut ceph = Ceph { daemons: DaemonGroup::new()? };
        let address = format!("v2:127.0.0.1:{}", free_port()?);
        std::fs::write(ceph.configuration(), configuration(ceph.home(), &address, keys))?;
        for folder in ["run", "mon", "osd", "rgw"] {
            std::fs::create_dir(ceph.home().join(folder))?;
        }
        if keys {
            ceph.run("ceph-authtool", &["--create-keyring", "keyring"])?;
            for (user, caps) in USERS {
                let caps = caps.chunks(2).flat_map(|pair| ["--cap", pair[0], pair[1]]);
                let words: Vec<&str> = ["keyring", "--gen-key", "-n", user].into_iter().chain(caps).collect();
                ceph.run("ceph-authtool", &words)?;
            }
        }
        let addresses = format!("[{address}]");
        ceph.run("monmaptool", &["--create", "--addv", "a", &addresses, "--fsid", CLUSTER_ID, "monmap"])?;
        let keyring: &[&str] = if keys { &["--keyring", "keyring"] } else { &[] };
        let words = ["--mkfs", "-i", "a", "--monmap", "monmap", "-c", "ceph.conf"];
        ceph.run("ceph-mon", &[&words[..], keyring].concat())?;
        ceph.daemons.start("mon", &["ceph-mon", "-f", "-i", "a", "-c", "ceph.conf"])?;
        ceph.ask(&["osd", "new", STORE_ID])?;
        if keys {
            ceph.ask(&["auth", "import", "-i", "keyring"])?;
        }
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
        let logs =
            ["mon", "osd", "gateway"].map(|name| format!("--- {name}\n{}", self.daemons.last_words(name)));
        Err(format!("{program} {}: {}\n{}", arguments.join(" "), output.err.trim(), logs.join("\n")))
    }
}

/// A program that is missing is a [`Skip`].
fn check_programs(programs: &[(&str, &str)]) -> Result<(), Skip> {
    for (program, package) in programs {
        let missing = |_| Skip::new(format!("{program} is not installed (Debian's package {package})"));
        crate::case::find_tool(program).map_err(missing)?;
    }
    Ok(())
}

fn configuration(home: &Path, address: &str, keys: bool) -> String {
    let (home, auth) = (home.display(), if keys { "cephx" } else { "none" });
    format!(
        "[global]
fsid = {CLUSTER_ID}
mon host = {address}
mon initial members = a
auth cluster required = {auth}
auth service required = {auth}
auth client required = {auth}
auth allow insecure global id reclaim = false
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
osd pool default pg num = 4
rgw data = {home}/rgw
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
"
    )
}
