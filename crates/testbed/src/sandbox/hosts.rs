//! Hosts of our own: each a set of namespaces with its address, host name, `/tmp`, init and sshd, on one private
//! network.
//!
//! Programs on one of them reach the others as on a cluster: by name, over ssh, and no other way but one shared
//! directory. Nothing of it is seen outside, no packet leaves, and everything ends with the value, or with the thread
//! that made it.

use crate::{Need, Skip, case::find_tool};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Everything that staging hosts takes.
pub const HOST_NEEDS: &[Need] = &[
    Need::Root,
    Need::Mount,
    Need::Tool("unshare"),
    Need::Tool("nsenter"),
    Need::Tool("ip"),
    Need::Tool("ssh"),
    Need::Tool("ssh-keygen"),
    Need::Tool("sshd"),
    Need::That(namespaces),
];

/// The size of the file system that each host has for itself.
const LOCAL_BYTES: u64 = 64 << 20;

/// How long anything may take to come up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hosts `h1`, `h2`, … Dropping them ends everything that runs on them.
#[derive(Debug)]
pub struct Hosts {
    hosts: Vec<Namespaces>,
    // Behind the hosts: whose cables are in it.
    network: Namespaces,
    home: TempDir,
}

/// What a command on a host said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// Its status; none: it was still running at its limit, and was ended.
    pub status: Option<ExitStatus>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// How long it took.
    pub took: Duration,
}

impl Hosts {
    /// So many hosts, up and reachable.
    ///
    /// # Errors
    /// A [`Skip`] where the machine does not let us.
    #[track_caller]
    pub fn new(count: usize) -> Result<Hosts, Skip> {
        HOST_NEEDS.iter().try_for_each(Need::check)?;
        // Not in /tmp, which every host has for itself.
        let home = tempfile::Builder::new().prefix("testbed-").tempdir_in("/var/tmp");
        let home = home.map_err(|error| Skip::new(format!("/var/tmp: {error}")))?;
        let network = Namespaces::start(Command::new("unshare").args(["--net", "--", "sleep", "infinity"]))?;
        let mut hosts = Hosts { hosts: Vec::new(), network, home };
        hosts.furnish(count)?;
        for number in 1..=count {
            hosts.add(number)?;
        }
        for number in 1..=count {
            hosts.await_ssh(number)?;
        }
        Ok(hosts)
    }

    /// Its name.
    pub fn name(number: usize) -> String {
        format!("h{number}")
    }

    /// All their names, with commas between them.
    pub fn names(&self) -> String {
        (1..=self.hosts.len()).map(Hosts::name).collect::<Vec<_>>().join(",")
    }

    /// A directory that all of them see at this path.
    pub fn shared(&self) -> PathBuf {
        self.home.path().join("shared")
    }

    /// The path at which each has a file system of its own.
    pub fn local(&self) -> PathBuf {
        self.home.path().join("local")
    }

    /// How ssh is told the way to them: a configuration of its own, and the user's is not read.
    pub fn ssh(&self) -> String {
        format!("ssh -F {}", self.home.path().join("ssh/config").display())
    }

    /// A command on a host, counted from 1, in the shared directory.
    pub fn command(&self, number: usize, program: impl AsRef<Path>) -> Command {
        let mut command = self.hosts[number - 1].enter(&["--mount", "--uts", "--ipc", "--net", "--pid"]);
        command.arg("env").arg("-C").arg(self.shared()).arg(program.as_ref());
        command.env("OMPI_MCA_plm_rsh_agent", self.ssh()).env("OMPI_MCA_mpi_yield_when_idle", "1");
        command
    }

    /// Runs a command to its end, or to its limit.
    pub fn run(&self, mut command: Command, limit: Duration) -> Said {
        let started = Started::new(&mut command);
        started.finish(limit)
    }

    /// Kills a host's init, and with it all that runs there, at once.
    pub fn kill(&mut self, number: usize) {
        self.hosts[number - 1].kill();
    }

    /// Cuts a host's cable: it lives on, and nobody hears of it.
    pub fn cut(&self, number: usize) -> Result<(), Skip> {
        self.in_network(&format!("ip link set cable{number} down"))
    }

    fn in_network(&self, script: &str) -> Result<(), Skip> {
        succeed(self.network.enter(&["--net"]).args(["sh", "-ec", script]))
    }

    /// Keys, names and the network's middle.
    fn furnish(&self, count: usize) -> Result<(), Skip> {
        let home = self.home.path();
        write(&home.join("hosts"), &names_file(count));
        for folder in ["shared", "local", "ssh"] {
            std::fs::create_dir(home.join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        }
        let ssh = home.join("ssh");
        make_key(&ssh.join("id"))?;
        std::fs::copy(ssh.join("id.pub"), ssh.join("authorized"))
            .unwrap_or_else(|error| panic!("a key: {error}"));
        write(&ssh.join("config"), &client_configuration(&ssh));
        self.in_network("ip link set lo up; ip link add switch type bridge; ip link set switch up")
    }

    /// Starts a host and plugs its cable in.
    fn add(&mut self, number: usize) -> Result<(), Skip> {
        let home = self.home.path();
        let ssh = home.join("ssh");
        let key = ssh.join(format!("{}.key", Hosts::name(number)));
        make_key(&key)?;
        let configuration = ssh.join(format!("{}.sshd", Hosts::name(number)));
        write(&configuration, &server_configuration(&ssh, &key, number));
        let script = home.join(format!("{}.init", Hosts::name(number)));
        write(&script, &init(home, number, &find_tool("sshd")?, &configuration));
        let host = Namespaces::start(
            Command::new("unshare")
                .args(["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child=KILL", "--"])
                .arg("sh")
                .arg("-e")
                .arg(&script),
        )?;
        let plug = format!(
            "ip link add cable{number} type veth peer name eth0 netns {}; \
             ip link set cable{number} master switch up",
            host.inner
        );
        self.hosts.push(host);
        self.in_network(&plug)
    }

    fn await_ssh(&self, number: usize) -> Result<(), Skip> {
        let began = Instant::now();
        loop {
            let mut command = self.command(1, "sh");
            command.args(["-c", &format!("{} {} true", self.ssh(), Hosts::name(number))]);
            let said = self.run(command, PATIENCE);
            if said.status.is_some_and(|status| status.success()) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(Skip::new(format!("sshd on a host of our own: {}", said.err.trim())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.hosts.iter_mut().for_each(Namespaces::kill);
        self.network.kill();
    }
}

/// A set of namespaces, kept alive by a process.
#[derive(Debug)]
struct Namespaces {
    keeper: Child,
    /// The process in them: the keeper itself, or its child, which is init there.
    inner: u32,
}

impl Namespaces {
    fn start(command: &mut Command) -> Result<Namespaces, Skip> {
        // What is missing has been said by the needs.
        ends_with_us(command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let forks = command.get_args().any(|word| word == "--fork");
        let keeper = command.spawn().map_err(|error| Skip::new(format!("unshare: {error}")))?;
        let mut made = Namespaces { inner: keeper.id(), keeper };
        let began = Instant::now();
        while !made.is_ready(forks) {
            if began.elapsed() > PATIENCE || made.keeper.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Err(Skip::new("namespaces could not be made"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(made)
    }

    /// Whether the process in the namespaces is there, and they are not ours.
    fn is_ready(&mut self, forks: bool) -> bool {
        let id = self.keeper.id();
        if forks {
            let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
            let Some(child) = children.ok().and_then(|text| text.trim().parse().ok()) else { return false };
            self.inner = child;
        }
        let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        network(&self.inner.to_string()).is_some_and(|there| Some(there) != network("self"))
    }

    fn enter(&self, which: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.inner.to_string()]).args(which).arg("--");
        command
    }

    fn kill(&mut self) {
        if self.keeper.try_wait().is_ok_and(|ended| ended.is_none()) {
            // SAFETY: a signal to our child or its child, which is not reaped as long as the keeper lives.
            unsafe { libc::kill(self.inner as i32, libc::SIGKILL) };
            let _ = self.keeper.wait();
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command that runs, heard in the background.
pub struct Started {
    child: Child,
    out: std::thread::JoinHandle<String>,
    err: std::thread::JoinHandle<String>,
    began: Instant,
}

impl Started {
    /// Starts it, in a process group of its own.
    pub fn new(command: &mut Command) -> Started {
        ends_with_us(command).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        Started { child, out: heard(out), err: heard(err), began: Instant::now() }
    }

    /// Waits for its end, at most so long; then it is killed with its group.
    pub fn finish(mut self, limit: Duration) -> Said {
        let deadline = Instant::now() + limit;
        let status = loop {
            match self.child.try_wait().expect("a child of ours") {
                Some(status) => break Some(status),
                None if Instant::now() > deadline => break None,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let took = self.began.elapsed();
        if status.is_none() {
            // SAFETY: the group is that of a child of ours that was not reaped yet.
            unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
            let _ = self.child.wait();
        }
        let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
        Said { status, out: text(self.out), err: text(self.err), took }
    }
}

fn heard(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The kernel kills the command when the thread that starts it is gone, however that came.
fn ends_with_us(command: &mut Command) -> &mut Command {
    // SAFETY: prctl is a plain system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    }
}

/// Whether namespaces, a bridge and a cable can be had.
fn namespaces() -> Result<(), Skip> {
    let script = "ip link add switch type bridge && ip link add one type veth peer name other";
    let mut command = Command::new("unshare");
    command.args(["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--", "sh", "-ec", script]);
    succeed(&mut command)
}

fn succeed(command: &mut Command) -> Result<(), Skip> {
    let name = command.get_program().to_string_lossy().into_owned();
    let said =
        command.stdin(Stdio::null()).output().map_err(|error| Skip::new(format!("{name}: {error}")))?;
    match said.status.success() {
        true => Ok(()),
        false => Err(Skip::new(format!("{name}: {}", String::from_utf8_lossy(&said.stderr).trim()))),
    }
}

fn make_key(path: &Path) -> Result<(), Skip> {
    succeed(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path))
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    std::fs::set_permissions(path, Permissions::from_mode(0o600))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// An address of documentation's own range, which nothing routes (RFC 5737).
fn address(number: usize) -> String {
    format!("192.0.2.{number}")
}

fn names_file(count: usize) -> String {
    let lines = (1..=count).map(|number| format!("{} {}\n", address(number), Hosts::name(number)));
    format!("127.0.0.1 localhost\n{}", lines.collect::<String>())
}

fn client_configuration(ssh: &Path) -> String {
    let ssh = ssh.display();
    format!(
        "Host *\n User root\n IdentityFile {ssh}/id\n IdentitiesOnly yes\n BatchMode yes\n ConnectTimeout 5\n \
         StrictHostKeyChecking no\n UserKnownHostsFile {ssh}/known\n GlobalKnownHostsFile /dev/null\n LogLevel ERROR\n"
    )
}

fn server_configuration(ssh: &Path, key: &Path, number: usize) -> String {
    format!(
        "ListenAddress {}:22\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nPidFile none\nUsePAM no\n\
         PermitRootLogin prohibit-password\nMaxStartups 100\nUseDNS no\n",
        address(number),
        key.display(),
        ssh.join("authorized").display()
    )
}

/// What init does: everything that is the host's own, then sshd, which reaps whoever is left behind.
fn init(home: &Path, number: usize, sshd: &Path, configuration: &Path) -> String {
    let (name, address, home_path) = (Hosts::name(number), address(number), home.display());
    let (local_mib, sshd, configuration) = (LOCAL_BYTES >> 20, sshd.display(), configuration.display());
    format!(
        "mount --make-rprivate /\n\
         mount -t proc proc /proc\n\
         mount -t tmpfs -o mode=1777 tmp /tmp\n\
         mount -t tmpfs run /run\n\
         mkdir -p /run/sshd\n\
         mount --bind {home_path}/hosts /etc/hosts\n\
         truncate -s {local_mib}M /run/local.img\n\
         mkfs.ext4 -q /run/local.img >/dev/null 2>&1 && mount -o loop /run/local.img {home_path}/local 2>/dev/null \
         || mount -t tmpfs -o size={local_mib}m local {home_path}/local\n\
         echo {name} > /proc/sys/kernel/hostname\n\
         ip link set lo up\n\
         tries=0\n\
         until ip link show eth0 >/dev/null 2>&1; do tries=$((tries+1)); test $tries -lt 400; sleep 0.05; done\n\
         ip addr add {address}/24 dev eth0\n\
         ip link set eth0 up\n\
         exec {sshd} -D -f {configuration} -E /run/sshd.log\n"
    )
}
