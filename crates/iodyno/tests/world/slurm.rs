//! Slurm itself: a controller and two nodes on this machine, for `cargo xtask against slurm`.
//!
//! All of it lies in one directory and listens on ports that were free. It asserts no speed; whatever was started is ended.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testbed::daemons::DaemonGroup;
use testbed::program::{Program, ProgramOutput};
use testbed::{Case, Need, Outcome, Skip};

use crate::program::{IODYNO, dressed};

const NEEDS: &[Need] = &[
    Need::Root,
    Need::Tool("munged"),
    Need::Tool("slurmctld"),
    Need::Tool("slurmd"),
    Need::Tool("srun"),
    Need::Tool("mpiexec.hydra"),
];

pub fn cases() -> Vec<Case> {
    vec![Case::new("slurm starts the ranks of one world", NEEDS, one_world).against()]
}

/// A cluster of two nodes that share this machine.
struct Cluster {
    daemons: DaemonGroup,
}

impl Cluster {
    fn start() -> Result<Cluster, Skip> {
        let cannot = |wrong: std::io::Error| Skip::new(wrong.to_string());
        let mut cluster = Cluster { daemons: DaemonGroup::new().map_err(cannot)? };
        cluster.configure().map_err(cannot)?;
        let home = cluster.daemons.home().display().to_string();
        let files = [("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")];
        let files = files.map(|(option, name)| format!("--{option}={home}/munge/{name}"));
        let socket = format!("{home}/munge/socket");
        let place = format!("--socket={socket}");
        let munged = ["munged", "--foreground", "--force", "--num-threads=2", &place];
        let munged: Vec<&str> = munged.into_iter().chain(files.iter().map(String::as_str)).collect();
        cluster.daemons.start("munged", &munged).map_err(cannot)?;
        testbed::wait::until("the socket of munge", || Path::new(&socket).exists()).map_err(Skip::new)?;
        let configuration = format!("{home}/slurm.conf");
        let control = ["slurmctld", "-D", "-c", "-f", &configuration];
        cluster.daemons.start("control", &control).map_err(cannot)?;
        for node in ["n01", "n02"] {
            let daemon = ["slurmd", "-D", "-f", &configuration, "-N", node];
            cluster.daemons.start(node, &daemon).map_err(cannot)?;
        }
        let is_idle = || {
            let mut ask = cluster.command("sinfo");
            ask.args(["--noheader", "--format=%T %D"]);
            Program::new(ask).outcome().is_ok_and(|said| said.out.trim() == "idle 2")
        };
        testbed::wait::until("two idle nodes", is_idle)
            .map_err(|wrong| Skip::new(format!("{wrong}: {}", cluster.daemons.last_words("n01"))))?;
        Ok(cluster)
    }

    fn configure(&self) -> std::io::Result<()> {
        let home = self.daemons.home();
        let allow =
            |path: &Path, mode: u32| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
        // The socket of munge must be reachable for all.
        allow(home, 0o755)?;
        for name in ["munge", "state", "spool"] {
            std::fs::create_dir(home.join(name))?;
        }
        let key = home.join("munge/key");
        let bytes: Vec<u8> =
            (0..1024u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        std::fs::write(&key, bytes)?;
        allow(&key, 0o600)?;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
        let mut ports = [0; 4];
        for port in &mut ports {
            *port = testbed::free_port()?;
        }
        std::fs::write(home.join("slurm.conf"), configuration(home, host.trim(), ports))?;
        std::fs::write(home.join("cgroup.conf"), "CgroupPlugin=autodetect\nIgnoreSystemd=yes\n")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.daemons.home().join("slurm.conf")).current_dir(self.daemons.home());
        command
    }

    /// Our program, sent by srun with this kind of PMI.
    fn sent(&self, also: &str, pmi: &str) -> ProgramOutput {
        let mut command = dressed(self.command(IODYNO), ["fio", "--also", also]);
        command.args(["--name=j", "--ioengine=null", "--size=64k", "--numjobs=2", "--group_reporting"]);
        command.env("SLURM_MPI_TYPE", pmi).env("NO_COLOR", "1").env_remove("IODYNO_MPI");
        Program::new(command).run()
    }
}

fn configuration(home: &Path, host: &str, ports: [u16; 4]) -> String {
    let ([control, own, first, second], home) = (ports, home.display());
    format!(
        "ClusterName=iodyno\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
         AuthInfo=socket={home}/munge/socket\nSlurmctldPort={control}\nSlurmdPort={own}\n\
         StateSaveLocation={home}/state\nSlurmdSpoolDir={home}/spool/%n\n\
         SlurmctldPidFile={home}/control.pid\nSlurmdPidFile={home}/%n.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\nReturnToService=2\n\
         SlurmdParameters=config_overrides\n\
         NodeName=n01 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=4 State=UNKNOWN\n\
         NodeName=n02 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=4 State=UNKNOWN\n\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
}

fn one_world() -> Outcome {
    let cluster = Cluster::start()?;
    let run = cluster.sent("launcher=srun,hosts=n[01-02]:2,ranks", "pmi2");
    run.expect(0, &["(groupid=0, jobs=8)", "total=128,0,0,0"]);
    assert_eq!(run.out.matches("Run status group").count(), 1, "{run}");
    // A job of its own, whose hosts and tasks are Slurm's to say.
    let mut job = cluster.command("salloc");
    job.args(["--nodes=2", "--ntasks=3", "--quiet"]).args([IODYNO, "fio", "--also", "launcher=srun"]);
    job.args(["--name=j", "--ioengine=null", "--size=64k", "--group_reporting"]);
    job.env("SLURM_MPI_TYPE", "pmi2").env_remove("IODYNO_MPI");
    Program::new(job).run().expect(0, &["(groupid=0, jobs=3)"]);
    // No kind of PMI: the tasks cannot find each other.
    let lost = cluster.sent("launcher=srun,hosts=n01:2", "none");
    assert!(!lost.status.success(), "{lost}");
    lost.expect(lost.code(), &["Slurm's srun", "srun --mpi=pmix"]);
    Ok(())
}
