//! The same command on other hosts: under the site's own launcher, which goes out over the user's own ssh.
//!
//! What asked for it is taken out of the command, and the launcher takes this process's place: its exit status and its
//! signals are the user's. Nothing of ours listens or stays anywhere. It refuses to go out from where a launcher has
//! already been.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use iodyno_dialect::hosts::{Elsewhere, Host};
use iodyno_model::{Diagnostic, Origin};

use crate::forwarded_files;
use crate::loader::plain;
use crate::session::say;

/// Whose command line a launcher understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LauncherKind {
    /// Open MPI up to 4, with a runtime of its own.
    OpenMpi,
    /// Open MPI from 5 on, whose launcher is PRRTE's.
    Prrte,
    /// MPICH and its family.
    Hydra,
    /// Slurm.
    Srun,
    /// Flux.
    Flux,
    /// HPE's PALS, beneath PBS.
    Pals,
}

/// A command that goes elsewhere.
#[derive(Debug, Default)]
pub struct RemoteCommand {
    /// The arguments there, the name of the dialect or command first.
    pub arguments: Vec<String>,
    /// Our other words, for `IODYNO_ALSO`.
    pub also: Vec<String>,
    /// Files that were read here, which the first rank needs.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether this program was called by the original's name.
    pub original: bool,
}

/// Variables by which a launcher's processes know that they are its own.
const RANK_VARIABLES: &[&str] = &[
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "PALS_RANKID",
    "FLUX_TASK_RANK",
    MARK,
];

/// Set where the command was sent to other hosts by us.
const MARK: &str = "IODYNO_SENT";

/// Set beside it where we were called by the original's name.
pub const ORIGINAL: &str = "IODYNO_ORIGINAL";

/// Whether this process is one of a launcher's.
pub fn launched() -> bool {
    // A shell in an allocation may be a step of Slurm's, of one task.
    let tasks = std::env::var("SLURM_STEP_NUM_TASKS").ok().and_then(|tasks| tasks.parse::<u32>().ok());
    RANK_VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) || tasks.is_some_and(|tasks| tasks > 1)
}

/// Runs the command on the hosts; comes back only where that cannot be, with the exit status.
pub fn go(elsewhere: &Elsewhere, errand: &RemoteCommand) -> u8 {
    match prepare(elsewhere, errand) {
        Ok(mut command) => {
            let program = command.get_program().to_string_lossy().into_owned();
            let error = command.exec();
            say(Diagnostic::error(&Origin::argument(&program), plain(&error)).hint(INSTALL));
        }
        Err(wrong) => say(wrong),
    }
    2
}

const INSTALL: &str =
    "install the site's MPI (Debian: openmpi-bin or mpich), or name its launcher: launcher=PATH";

fn prepare(elsewhere: &Elsewhere, errand: &RemoteCommand) -> Result<Command, Diagnostic> {
    if launched() {
        let wrong =
            Diagnostic::error(&Origin::argument("hosts"), "this process was started by a launcher already");
        return Err(wrong.hint("say hosts= without mpirun, or mpirun without hosts="));
    }
    let (launcher, kind) = launcher(elsewhere.launcher.as_deref())?;
    let unknown = |error: std::io::Error| Diagnostic::error(&Origin::Default, plain(&error));
    let program = std::env::current_exe().map_err(unknown)?;
    let directory = std::env::current_dir().map_err(unknown)?;
    let variables = variables(errand);
    let words = LaunchRequest {
        elsewhere,
        program: &program.to_string_lossy(),
        directory: &directory.to_string_lossy(),
        arguments: &errand.arguments,
        variables: &variables.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        root: is_root(),
    };
    let told = words.of(kind)?;
    let mut command = Command::new(launcher);
    command.args(told).env_remove("IODYNO_ALSO").envs(variables);
    if kind == LauncherKind::OpenMpi {
        // A host whose network is gone is missed after 8 s, and not after 8 minutes; the user's own wish comes first.
        let missing = |(name, _): &(&str, &str)| std::env::var_os(name).is_none();
        command.envs(KEEP_ALIVE.iter().copied().filter(missing));
    }
    if let Some(shell) = &elsewhere.shell {
        command.envs(remote_shell(kind, shell)?);
    }
    Ok(command)
}

/// How a launcher is told by which remote shell it goes out. Batch systems go by daemons of their own.
fn remote_shell(kind: LauncherKind, shell: &str) -> Result<Vec<(&'static str, String)>, Diagnostic> {
    match kind {
        LauncherKind::OpenMpi => Ok(vec![("OMPI_MCA_plm_rsh_agent", shell.into())]),
        LauncherKind::Prrte => Ok(vec![("PRTE_MCA_plm_ssh_agent", shell.into())]),
        LauncherKind::Hydra if shell.contains(char::is_whitespace) => {
            let wrong = Diagnostic::error(&Origin::argument("RSH"), "this launcher takes a program alone");
            Err(wrong.hint("name a script that calls it with its arguments"))
        }
        LauncherKind::Hydra => {
            Ok(vec![("HYDRA_LAUNCHER", "ssh".into()), ("HYDRA_LAUNCHER_EXEC", shell.into())])
        }
        LauncherKind::Srun | LauncherKind::Flux | LauncherKind::Pals => Ok(Vec::new()),
    }
}

const KEEP_ALIVE: &[(&str, &str)] = &[
    ("OMPI_MCA_oob_tcp_keepalive_time", "2"),
    ("OMPI_MCA_oob_tcp_keepalive_intvl", "2"),
    ("OMPI_MCA_oob_tcp_keepalive_probes", "3"),
];

/// Our variables there: those that are set here, and what the command needs.
fn variables(errand: &RemoteCommand) -> Vec<(String, String)> {
    let ours = std::env::vars().filter(|(name, _)| name.starts_with("IODYNO_") && name != "IODYNO_ALSO");
    let mut list: Vec<_> = ours.collect();
    list.push((MARK.into(), "1".into()));
    if !errand.also.is_empty() {
        list.push(("IODYNO_ALSO".into(), errand.also.join(",")));
    }
    if errand.original {
        list.push((ORIGINAL.into(), "1".into()));
    }
    list.extend(
        forwarded_files::packed(&errand.files).map(|packed| (forwarded_files::VARIABLE.to_string(), packed)),
    );
    list
}

/// The owner of a process's own folder is who runs it; where there is none, nobody is root.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0)
}

/// Launchers that are known by their names.
const NAMED: &[(&str, LauncherKind)] =
    &[("srun", LauncherKind::Srun), ("flux", LauncherKind::Flux), ("palsrun", LauncherKind::Pals)];

/// The variable by which a batch system's job knows itself, and the launcher that reaches its nodes.
const BATCH: &[(&str, &str)] = &[("SLURM_JOB_ID", "srun"), ("FLUX_URI", "flux")];

/// The first launcher that is there, by its name alone.
pub fn any_launcher() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let names = ["mpirun", "mpiexec"].into_iter().chain(NAMED.iter().map(|(name, _)| *name));
    names.into_iter().find_map(|name| found(name, &paths))
}

/// The launcher's path, and whose it is.
fn launcher(wish: Option<&str>) -> Result<(PathBuf, LauncherKind), Diagnostic> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let there = |name: &str| found(name, &paths);
    let path = match wish {
        Some(name) => there(name).ok_or_else(|| absent(name))?,
        None => {
            let batch = BATCH.iter().filter(|(variable, _)| std::env::var_os(variable).is_some());
            let names = batch.map(|(_, name)| name).chain(&["mpirun", "mpiexec"]);
            names.into_iter().find_map(|name| there(name)).ok_or_else(|| absent("mpirun"))?
        }
    };
    if let Some((_, kind)) = NAMED.iter().find(|(name, _)| path.file_name() == Some(OsStr::new(name))) {
        return Ok((path, *kind));
    }
    let answer = Command::new(&path).arg("--version").output();
    let text = answer.map(|answer| [answer.stdout, answer.stderr].concat()).unwrap_or_default();
    match kind(&String::from_utf8_lossy(&text)) {
        Some(kind) => Ok((path, kind)),
        None => {
            let message = "its --version names no MPI that is known here";
            let wrong = Diagnostic::error(&Origin::argument(&path.to_string_lossy()), message);
            Err(wrong.hint(
                "launcher= takes the mpirun or mpiexec of Open MPI, MPICH or PALS, or srun, flux, palsrun",
            ))
        }
    }
}

fn absent(name: &str) -> Diagnostic {
    let message = format!("`{name}` is not there: other hosts are reached by the launcher of an MPI");
    Diagnostic::error(&Origin::argument("hosts"), message).hint(INSTALL)
}

/// Where an executable lies.
fn found(name: &str, paths: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    match name.contains('/') {
        true => Some(PathBuf::from(name)).filter(is_program),
        false => std::env::split_paths(paths).map(|folder| folder.join(name)).find(is_program),
    }
}

/// Whose launcher it is, by what it says of its version.
fn kind(version: &str) -> Option<LauncherKind> {
    let text = version.to_lowercase();
    if text.contains("open mpi") || text.contains("openrte") {
        // "mpirun (Open MPI) 4.1.4", "mpiexec (OpenRTE) 4.1.4"
        let number =
            text.split(')').nth(1).and_then(|rest| rest.trim().split('.').next()?.parse::<u32>().ok());
        return Some(if number.is_some_and(|major| major >= 5) {
            LauncherKind::Prrte
        } else {
            LauncherKind::OpenMpi
        });
    }
    if text.contains("prrte") || text.contains("prte") {
        return Some(LauncherKind::Prrte);
    }
    // "mpiexec version 1.2.12 revision ..."
    if text.contains("pals") || text.starts_with("mpiexec version ") {
        return Some(LauncherKind::Pals);
    }
    let hydra = ["hydra", "mpich", "intel(r) mpi", "mvapich"];
    hydra.iter().any(|word| text.contains(word)).then_some(LauncherKind::Hydra)
}

/// What the launcher is told.
struct LaunchRequest<'a> {
    elsewhere: &'a Elsewhere,
    program: &'a str,
    directory: &'a str,
    arguments: &'a [String],
    variables: &'a [&'a str],
    root: bool,
}

impl LaunchRequest<'_> {
    fn of(&self, kind: LauncherKind) -> Result<Vec<String>, Diagnostic> {
        Ok(match kind {
            LauncherKind::OpenMpi => self.open_mpi(&["--oversubscribe"]),
            LauncherKind::Prrte => self.open_mpi(&["--map-by", ":OVERSUBSCRIBE"]),
            LauncherKind::Hydra => self.in_groups(&[], |host| self.hydra(host)),
            LauncherKind::Pals => self.in_groups(&[], |host| self.pals(host)),
            LauncherKind::Srun => self.srun(),
            LauncherKind::Flux => self.flux()?,
        })
    }

    /// One group of ranks for each host: Open MPI counts its own host first otherwise, whatever the order of names.
    fn in_groups(&self, first: &[String], group: impl Fn(&Host) -> Vec<String>) -> Vec<String> {
        let mut words = first.to_vec();
        for (index, host) in self.elsewhere.hosts.iter().enumerate() {
            words.extend((index > 0).then(|| ":".to_string()));
            words.extend(group(host));
            words.push(self.program.into());
            words.extend_from_slice(self.arguments);
        }
        words
    }

    fn open_mpi(&self, crowd: &[&str]) -> Vec<String> {
        let root = self.root.then_some("--allow-run-as-root");
        // Workers are bound by the plan, where it says so.
        let first: Vec<String> =
            root.iter().chain(crowd).chain(&["--bind-to", "none"]).map(ToString::to_string).collect();
        self.in_groups(&first, |host| {
            let place = [format!("{}:{}", host.name, host.slots), host.slots.to_string()];
            let mut words = strings(&["--host", &place[0], "-n", &place[1], "--wdir", self.directory]);
            self.variables.iter().for_each(|name| words.extend(strings(&["-x", name])));
            words
        })
    }

    fn hydra(&self, host: &Host) -> Vec<String> {
        strings(&["-host", &host.name, "-n", &host.slots.to_string(), "-wdir", self.directory])
    }

    /// PALS takes Hydra's groups, and binds ranks to processors unless it is told not to.
    fn pals(&self, host: &Host) -> Vec<String> {
        let slots = host.slots.to_string();
        let place = ["--hosts", &host.name, "-n", &slots, "--ppn", &slots];
        [strings(&place), strings(&["--cpu-bind", "none", "--wdir", self.directory])].concat()
    }

    /// Flux puts the same number of tasks on each node, in the order of its own ranks.
    fn flux(&self) -> Result<Vec<String>, Diagnostic> {
        let hosts = &self.elsewhere.hosts;
        let mut names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() < hosts.len() || hosts.iter().any(|host| host.slots != hosts[0].slots) {
            let message = "Flux puts the same number of ranks on each host, and names each host once";
            let wrong = Diagnostic::error(&Origin::argument("hosts"), message);
            return Err(wrong.hint("give each host the same number of ranks: node[01-04]:8"));
        }
        let nodes = format!("--nodes={}", hosts.len());
        let tasks = format!("--tasks-per-node={}", hosts.first().map_or(1, |host| host.slots));
        let place = format!("--requires=hosts:{}", names.join(","));
        let folder = format!("--cwd={}", self.directory);
        let first = ["run", &nodes, &tasks, &place, &folder, "-o", "cpu-affinity=off", self.program];
        let mut words = strings(&first);
        words.extend_from_slice(self.arguments);
        Ok(words)
    }

    /// Ranks lie in the order of the list, a name in it for each of them.
    fn srun(&self) -> Vec<String> {
        let names: Vec<_> = self
            .elsewhere
            .hosts
            .iter()
            .flat_map(|host| std::iter::repeat_n(host.name.as_str(), host.slots as usize))
            .collect();
        let ranks = self.elsewhere.ranks().to_string();
        let list = format!("--nodelist={}", names.join(","));
        let folder = format!("--chdir={}", self.directory);
        let place = ["--ntasks", &ranks, "--distribution=arbitrary", &list, &folder];
        let mut words = strings(&place);
        words.extend(strings(&["--export=ALL", "--cpu-bind=none", self.program]));
        words.extend_from_slice(self.arguments);
        words
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_dialect::hosts::list;

    fn words(kind: LauncherKind, hosts: &str, root: bool) -> String {
        told(kind, hosts, root).expect("words")
    }

    fn told(kind: LauncherKind, hosts: &str, root: bool) -> Result<String, String> {
        let elsewhere = Elsewhere { hosts: list(hosts).unwrap(), ..Elsewhere::default() };
        let arguments = strings(&["ior", "-t", "1m"]);
        let words = LaunchRequest {
            elsewhere: &elsewhere,
            program: "/opt/iodyno",
            directory: "/data",
            arguments: &arguments,
            variables: &["IODYNO_SENT"],
            root,
        };
        words.of(kind).map(|words| words.join(" ")).map_err(|wrong| wrong.message)
    }

    #[test]
    fn every_launcher_is_told_in_its_own_words() {
        assert_eq!(
            words(LauncherKind::OpenMpi, "h1,h2:4", true),
            "--allow-run-as-root --oversubscribe --bind-to none --host h1:1 -n 1 --wdir /data -x IODYNO_SENT \
             /opt/iodyno ior -t 1m : --host h2:4 -n 4 --wdir /data -x IODYNO_SENT /opt/iodyno ior -t 1m"
        );
        assert!(
            words(LauncherKind::Prrte, "h1", false)
                .starts_with("--map-by :OVERSUBSCRIBE --bind-to none --host h1:1")
        );
        assert_eq!(
            words(LauncherKind::Hydra, "h1,h2:4", true),
            "-host h1 -n 1 -wdir /data /opt/iodyno ior -t 1m : -host h2 -n 4 -wdir /data /opt/iodyno ior -t 1m"
        );
        assert_eq!(
            words(LauncherKind::Srun, "h2,h1:2", false),
            "--ntasks 3 --distribution=arbitrary --nodelist=h2,h1,h1 --chdir=/data --export=ALL --cpu-bind=none \
             /opt/iodyno ior -t 1m"
        );
        assert_eq!(
            words(LauncherKind::Pals, "h1,h2:4", false),
            "--hosts h1 -n 1 --ppn 1 --cpu-bind none --wdir /data /opt/iodyno ior -t 1m : \
             --hosts h2 -n 4 --ppn 4 --cpu-bind none --wdir /data /opt/iodyno ior -t 1m"
        );
        assert_eq!(
            words(LauncherKind::Flux, "n[1-2]:4", false),
            "run --nodes=2 --tasks-per-node=4 --requires=hosts:n1,n2 --cwd=/data -o cpu-affinity=off \
             /opt/iodyno ior -t 1m"
        );
        assert!(told(LauncherKind::Flux, "h1,h2:4", false).is_err_and(|wrong| wrong.contains("same number")));
    }

    #[test]
    fn a_remote_shell_is_told_in_each_launchers_variable() {
        let told = |kind, shell| remote_shell(kind, shell).map(|told| told.last().cloned());
        let agent = Ok(Some(("OMPI_MCA_plm_rsh_agent", "ssh -q".to_string())));
        assert_eq!(told(LauncherKind::OpenMpi, "ssh -q").map_err(|wrong| wrong.message), agent);
        assert!(told(LauncherKind::Hydra, "ssh -q").is_err() && told(LauncherKind::Hydra, "ssh").is_ok());
        assert!(told(LauncherKind::Srun, "ssh").is_ok_and(|told| told.is_none()));
    }

    #[test]
    fn launchers_are_known_by_their_versions() {
        assert_eq!(kind("mpirun (Open MPI) 4.1.4\n\nReport bugs"), Some(LauncherKind::OpenMpi));
        assert_eq!(kind("mpiexec (OpenRTE) 4.1.4"), Some(LauncherKind::OpenMpi));
        assert_eq!(kind("mpirun (Open MPI) 5.0.11"), Some(LauncherKind::Prrte));
        assert_eq!(kind("HYDRA build details:\n    Version: 5.0.2"), Some(LauncherKind::Hydra));
        assert_eq!(kind("Intel(R) MPI Library for Linux* OS, Version 2021.9"), Some(LauncherKind::Hydra));
        assert_eq!(kind("mpiexec version 1.2.12 revision abc built x"), Some(LauncherKind::Pals));
        assert_eq!(kind("lamd 7.1"), None);
    }
}
