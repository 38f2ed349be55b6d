//! Launchers of batch systems: what they are told, and the world that their ranks make.
//!
//! `srun`, `flux` and `palsrun` are scripts here, which set the variables that the real ones set. Where ranks are to come
//! together, MPICH's own launcher serves their PMI behind the script. Whose tasks they are said to be is then the script's.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, dressed, scratch, told};

const MPICH: &[Need] = &[Need::Tool("mpiexec.hydra")];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a job of Slurm or PBS names the hosts", &[], allocated),
        Case::new("batch launchers without MPI are told what to load", &[], without_mpi),
        Case::new("tasks of batch launchers are one world", MPICH, one_world),
    ]
}

/// A launcher that keeps its words in the file `said`, and then does `then`.
fn launcher(home: &Path, name: &str, then: &str) {
    let path = home.join(name);
    let text = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$(dirname \"$0\")/said\"\n{then}\n");
    std::fs::write(&path, text).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
}

/// A job of fio, by our program.
fn sent(home: &Path, also: &str, variables: &[(&str, &str)]) -> Command {
    let job = [
        "fio",
        "--also",
        also,
        "--name=j",
        "--ioengine=null",
        "--size=64k",
        "--numjobs=2",
        "--group_reporting",
    ];
    own(home, &job, variables)
}

/// Our program, which finds these launchers first.
fn own(home: &Path, words: &[&str], variables: &[(&str, &str)]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = dressed(Command::new(IODYNO), words);
    command.env("PATH", format!("{}:{path}", home.display())).envs(variables.iter().copied());
    command.env_remove("IODYNO_MPI").env("NO_COLOR", "1").current_dir(home);
    command
}

fn said(home: &Path) -> String {
    std::fs::read_to_string(home.join("said")).unwrap_or_default().replace('\n', " ")
}

fn allocated() -> Outcome {
    let home = scratch();
    launcher(home.path(), "srun", "");
    let slurm = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "n[08-09]"), ("SLURM_TASKS_PER_NODE", "2,1")];
    told(sent(home.path(), "launcher=srun", &slurm)).expect(0, &[]);
    let words = said(home.path());
    assert!(words.contains("--ntasks 3 --distribution=arbitrary --nodelist=n08,n08,n09 "), "{words}");
    let ranged = told(sent(home.path(), "hosts=n[1-2]:2,witness=off,launcher=srun", &[]));
    ranged.expect(0, &[]);
    assert!(said(home.path()).contains("--nodelist=n1,n1,n2,n2 "), "{}", said(home.path()));

    launcher(home.path(), "palsrun", "");
    std::fs::write(home.path().join("nodes"), "x1\nx2\nx1\n")?;
    let file = home.path().join("nodes").display().to_string();
    told(sent(home.path(), "launcher=palsrun", &[("PBS_NODEFILE", &file)])).expect(0, &[]);
    let words = said(home.path());
    assert!(
        words.contains("--hosts x1 -n 2 --ppn 2") && words.contains(": --hosts x2 -n 1 --ppn 1"),
        "{words}"
    );

    let none = told(sent(home.path(), "launcher=srun", &[]));
    none.expect(2, &["no hosts are named", "hosts=h1,h2"]);
    let uneven = [("SLURM_JOB_NODELIST", "n[08-09]"), ("SLURM_TASKS_PER_NODE", "2(x3)")];
    told(sent(home.path(), "launcher=srun", &uneven)).expect(2, &["SLURM_TASKS_PER_NODE", "3 nodes", "hint"]);
    Ok(())
}

fn without_mpi() -> Outcome {
    let home = scratch();
    let program = "while [ ! -f \"$1\" ]; do shift; done";
    let alone = "unset IODYNO_SENT\nIODYNO_MPI=/nowhere/libmpi.so\nexport IODYNO_MPI\nexec";
    let task = "SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_MPI_TYPE=none";
    launcher(home.path(), "srun", &format!("{program}\nexport {task}\n{alone} \"$@\""));
    told(sent(home.path(), "launcher=srun,hosts=h1:2", &[]))
        .expect(2, &["Slurm's srun started this, but no MPI library", "srun --mpi=pmix", "IODYNO_MPI=off"]);
    let task = "FLUX_TASK_RANK=0 FLUX_JOB_SIZE=2 FLUX_JOB_ID=f1 FLUX_URI=local:///nowhere";
    launcher(home.path(), "flux", &format!("{program}\nexport {task}\n{alone} \"$@\""));
    told(sent(home.path(), "launcher=flux,hosts=h1:2", &[])).expect(2, &["Flux started this", "-o pmi=pmix"]);
    let task = "PALS_RANKID=0 PALS_LOCAL_RANKID=0 PALS_APID=a";
    launcher(home.path(), "palsrun", &format!("{program}\nexport {task}\n{alone} \"$@\""));
    told(sent(home.path(), "launcher=palsrun,hosts=h1:2", &[]))
        .expect(2, &["PALS started this", "cray-mpich"]);
    Ok(())
}

/// What the tasks of each launcher are given beside their PMI; `R` is the task's number.
const TASKS: [(&str, &str); 3] = [
    (
        "srun",
        "SLURM_JOB_ID=1 SLURM_JOBID=1 SLURM_STEP_ID=0 SLURM_STEPID=0 SLURM_PROCID=R SLURM_LOCALID=R SLURM_NODEID=0 \
         SLURM_NTASKS=2 SLURM_NPROCS=2 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=1 SLURM_STEP_TASKS_PER_NODE=2 \
         SLURM_STEP_NODELIST=h1 SLURM_NODELIST=h1 SLURM_TASKS_PER_NODE=2 SLURMD_NODENAME=h1 SLURM_GTIDS=0,1 \
         SLURM_TASK_PID=1 SLURM_DISTRIBUTION=arbitrary SLURM_MPI_TYPE=pmi2",
    ),
    (
        "flux",
        "FLUX_TASK_RANK=R FLUX_TASK_LOCAL_ID=R FLUX_JOB_SIZE=2 FLUX_JOB_NNODES=1 FLUX_JOB_ID=f1 FLUX_JOB_TMPDIR=/tmp \
         FLUX_URI=local:///nowhere FLUX_KVS_NAMESPACE=job-1",
    ),
    (
        "palsrun",
        "PALS_RANKID=R PALS_LOCAL_RANKID=R PALS_NODEID=0 PALS_DEPTH=1 PALS_APID=a PALS_APINFO=/nowhere \
         PALS_LOCAL_SIZE=2 PALS_SPOOL_DIR=/nowhere PALS_STARTUP_BARRIER=1",
    ),
];

/// Two tasks of a launcher: their PMI is that of MPICH's own launcher, which is to look for no batch system.
fn tasks(task: &str) -> String {
    let task = task.replace("=R", "=$PMI_RANK");
    format!(
        "while [ ! -f \"$1\" ]; do shift; done\nexport HYDRA_LAUNCHER=fork HYDRA_RMK=user\n\
         exec mpiexec.hydra -n 2 sh -c 'export {task}; exec \"$@\"' sh \"$@\""
    )
}

fn one_world() -> Outcome {
    let home = scratch();
    for (name, task) in TASKS {
        launcher(home.path(), name, &tasks(task));
        let run = told(sent(home.path(), &format!("launcher={name},hosts=h1:2,ranks"), &[]));
        run.expect(0, &["(groupid=0, jobs=4)", "total=64,0,0,0"]);
        assert_eq!(run.out.matches("Run status group").count(), 1, "{name}: {run}");
    }
    // A native command that makes several runs goes the same way.
    let search =
        "vector-search . --vectors 500 --list 5 --threads 1 --time 100ms --launcher srun --hosts h1:2";
    let command = own(home.path(), &search.split(' ').collect::<Vec<_>>(), &[]);
    told(command).expect(0, &["by 2 threads", "was the latest"]);
    Ok(())
}
