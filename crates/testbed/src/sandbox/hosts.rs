//! Hosts of our own: each a set of namespaces with its address, host name, `/tmp`, init and sshd, on one private
//! network.
//!
//! Programs on one of them reach the others as on a cluster: by name, over ssh, and no other way but one shared
//! directory. The programs that a test brings lie on every host at one path, wherever they lie outside. Nothing of it is
//! seen outside, no packet leaves, and everything ends with the value, or with the thread that made it. It refuses to
//! wait for a time: each step waits for what the one before it has said or opened.

use crate::program::{Program, ProgramOutput, Running};
use crate::{Need, Skip, case::find_tool, wait};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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

/// Hosts `h1`, `h2`, … Dropping them ends everything that runs on them.
#[derive(Debug)]
pub struct Hosts {
    hosts: Vec<Namespaces>,
    // Behind the hosts: whose cables are in it.
    network: Namespaces,
    home: TempDir,
}

impl Hosts {
    /// So many hosts, up and reachable, each with these programs; what they take is [`HOST_NEEDS`].
    ///
    /// # Errors
    /// A [`Skip`] where the machine does not let us.
    #[track_caller]
    pub fn new(count: usize, programs: &[&str]) -> Result<Hosts, Skip> {
        // Not in /tmp, which every host has for itself, and at a path that needs no quotes anywhere.
        let home = tempfile::Builder::new().prefix("testbed-").tempdir_in("/var/tmp");
        let home = home.map_err(|error| Skip::new(format!("/var/tmp: {error}")))?;
        let network = Namespaces::start(&["--net"], &["sh", "-c", "echo up; exec sleep infinity"])?;
        let mut hosts = Hosts { hosts: Vec::new(), network, home };
        hosts.furnish(count, programs)?;
        for number in 1..=count {
            hosts.add(number, programs)?;
        }
        hosts.plug()?;
        hosts.await_ssh()?;
        Ok(hosts)
    }

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

    /// Where a program that they were given lies on each of them.
    pub fn program(&self, brought: &str) -> PathBuf {
        self.home.path().join("programs").join(Path::new(brought).file_name().unwrap_or_default())
    }

    /// Where a path of a host, counted from 1, is seen from outside.
    pub fn seen(&self, number: usize, path: &Path) -> PathBuf {
        let root = format!("/proc/{}/root", self.hosts[number - 1].inner);
        Path::new(&root).join(path.strip_prefix("/").unwrap_or(path))
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

    /// Runs a command to its end.
    #[track_caller]
    pub fn run(&self, command: Command) -> ProgramOutput {
        Program::new(command).run()
    }

    /// Kills a host's init, and with it all that runs there, at once.
    pub fn kill(&mut self, number: usize) {
        self.hosts[number - 1].kill();
    }

    /// Cuts a host's cable: it lives on, and nobody hears of it.
    pub fn cut(&self, number: usize) -> Result<(), Skip> {
        self.in_network(&[&format!("link set cable{number} down")])
    }

    /// Lines of `ip` in the network between them.
    fn in_network(&self, lines: &[&str]) -> Result<(), Skip> {
        let batch = self.home.path().join("batch");
        write(&batch, &(lines.join("\n") + "\n"));
        succeed(self.network.enter(&["--net"]).args(["ip", "-batch"]).arg(&batch))
    }

    /// Keys, names and the network's middle.
    fn furnish(&self, count: usize, programs: &[&str]) -> Result<(), Skip> {
        let home = self.home.path();
        write(&home.join("hosts"), &names_file(count));
        write(&home.join("init"), INIT);
        for folder in ["shared", "local", "ssh", "programs"] {
            std::fs::create_dir(home.join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        }
        // Each host lays the program itself over this.
        programs.iter().for_each(|brought| write(&self.program(brought), ""));
        let ssh = home.join("ssh");
        // One key is the user's and every host's.
        make_key(&ssh.join("id"))?;
        write(&ssh.join("config"), &client_configuration(&ssh));
        self.in_network(&["link set lo up", "link add switch type bridge", "link set switch up"])
    }

    /// Starts a host, whose init waits for its cable.
    fn add(&mut self, number: usize, programs: &[&str]) -> Result<(), Skip> {
        let home = self.home.path();
        write(&home.join(format!("sshd{number}")), &server_configuration(&home.join("ssh"), number));
        let apart = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child=KILL"];
        let (init, home) = (home.join("init").display().to_string(), home.display().to_string());
        let (sshd, address) = (find_tool("sshd")?.display().to_string(), address(number));
        let number = number.to_string();
        let line = [&["sh", "-e", &init, &home, &number, &address, &sshd], programs].concat();
        self.hosts.push(Namespaces::start(&apart, &line)?);
        Ok(())
    }

    /// Plugs all cables in, and tells each init.
    fn plug(&mut self) -> Result<(), Skip> {
        let lines: Vec<String> =
            (1..).zip(&self.hosts).flat_map(|(number, host)| cable(number, host)).collect();
        self.in_network(&lines.iter().map(String::as_str).collect::<Vec<_>>())?;
        self.hosts.iter_mut().for_each(|host| host.keeper.tell(b"plugged\n"));
        Ok(())
    }

    /// Each listens; and the first can log in at the last, as it then can at the others.
    fn await_ssh(&mut self) -> Result<(), Skip> {
        self.hosts.iter_mut().try_for_each(Namespaces::await_ssh)?;
        let mut command = self.command(1, "sh");
        command.args(["-c", &format!("{} {} true", self.ssh(), Hosts::name(self.hosts.len()))]);
        let said = self.run(command);
        match said.status.success() {
            true => Ok(()),
            false => Err(Skip::new(format!("sshd on a host of our own: {}", said.err.trim()))),
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // All at once, before anybody is waited for.
        self.hosts.iter_mut().for_each(Namespaces::strike);
        self.hosts.iter_mut().for_each(Namespaces::kill);
    }
}

/// A cable between the switch and a host.
fn cable(number: usize, host: &Namespaces) -> [String; 2] {
    let inner = host.inner;
    [
        format!("link add cable{number} type veth peer name eth0 netns {inner}"),
        format!("link set cable{number} master switch up"),
    ]
}

/// A set of namespaces, kept alive by a process.
#[derive(Debug)]
struct Namespaces {
    keeper: Running,
    /// The process in them: the keeper itself, or its child, which is init there.
    inner: i32,
}

impl Namespaces {
    /// Namespaces of their own for a program, which says `up` once it is in them.
    fn start(apart: &[&str], program: &[&str]) -> Result<Namespaces, Skip> {
        let mut command = Command::new("unshare");
        command.args(apart).arg("--").args(program);
        let keeper = Program::new(command).input(Stdio::piped()).launch().map_err(Skip::new)?;
        let mut made = Namespaces { inner: keeper.pid(), keeper };
        made.await_either("namespaces", |made| made.keeper.out().contains("up\n"))?;
        if apart.contains(&"--fork") {
            made.inner = child_of(made.keeper.pid()).ok_or_else(|| Skip::new("unshare: no init is there"))?;
        }
        Ok(made)
    }

    /// Waits until something is true, or the keeper has ended, which is why it cannot be.
    fn await_either(&mut self, what: &str, is: impl Fn(&Namespaces) -> bool) -> Result<(), Skip> {
        let came = wait::until(what, || is(self) || !self.keeper.is_there());
        match came.is_ok() && is(self) {
            true => Ok(()),
            false => Err(Skip::new(format!("{what} could not be had: {}", self.keeper.err().trim()))),
        }
    }

    /// Waits until somebody listens at ssh's port there. Source: `/proc/net/tcp`, where `0A` is a listener's state.
    fn await_ssh(&mut self) -> Result<(), Skip> {
        self.await_either("sshd on a host of our own", |made| {
            let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", made.inner));
            table.is_ok_and(|table| table.contains(":0016 00000000:0000 0A"))
        })
    }

    fn enter(&self, which: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.inner.to_string()]).args(which).arg("--");
        command
    }

    /// Kills the process in them, and with an init all that runs there.
    fn strike(&mut self) {
        if self.keeper.is_there() {
            // SAFETY: a signal to our child or its child, which is not reaped as long as the keeper lives.
            unsafe { libc::kill(self.inner, libc::SIGKILL) };
        }
    }

    /// The same, and waits until the keeper has seen it.
    fn kill(&mut self) {
        self.strike();
        // The keeper is killed with this value at the latest.
        let _ = wait::until("the end of namespaces", || !self.keeper.is_there());
    }
}

/// The only child of a process that forks once.
fn child_of(process: i32) -> Option<i32> {
    std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?.trim().parse().ok()
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
        "Host *\n User root\n IdentityFile {ssh}/id\n IdentitiesOnly yes\n BatchMode yes\n \
         StrictHostKeyChecking no\n UserKnownHostsFile {ssh}/known\n GlobalKnownHostsFile /dev/null\n LogLevel ERROR\n"
    )
}

fn server_configuration(ssh: &Path, number: usize) -> String {
    let (address, ssh) = (address(number), ssh.display());
    format!(
        "ListenAddress {address}:22\nHostKey {ssh}/id\nAuthorizedKeysFile {ssh}/id.pub\nStrictModes no\nPidFile none\n\
         UsePAM no\nPermitRootLogin prohibit-password\nMaxStartups 100\nLoginGraceTime 0\nUseDNS no\n"
    )
}

/// What init does, told its home, number, address, sshd and programs: everything that is the host's own, once its cable is
/// there; then sshd, which reaps whoever is left behind. Programs are laid out before `/tmp` is hidden, where they may lie.
const INIT: &str = r#"echo up
home=$1 number=$2 address=$3 sshd=$4
shift 4
mount --make-rprivate /
for program do mount --bind "$program" "$home/programs/${program##*/}"; done
mount -t proc proc /proc
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs run /run
mkdir -p /run/sshd
mount --bind "$home/hosts" /etc/hosts
truncate -s 64M /run/local.img
mkfs.ext4 -q /run/local.img >/dev/null 2>&1 && mount -o loop /run/local.img "$home/local" 2>/dev/null \
|| mount -t tmpfs -o size=64m local "$home/local"
echo "h$number" > /proc/sys/kernel/hostname
ip link set lo up
read -r plugged
ip addr add "$address/24" dev eth0
ip link set eth0 up
exec "$sshd" -D -f "$home/sshd$number" -E /run/sshd.log </dev/null >/dev/null 2>&1
"#;
