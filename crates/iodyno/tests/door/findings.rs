//! What was found is told by every tool: a certain finding and a condition that fails stand in the text that its user
//! reads, and in the exit status.
//!
//! The stage is a directory in memory, which is no storage, whatever tool measures it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iodyno_dialect::DIALECTS;
use testbed::{Case, Need, Outcome, Skip, free_port};

use crate::program::{ProgramOutput, Running, iodyno, told};

/// Where memory looks like a file system.
const MEMORY: &str = "/dev/shm";
/// The finding that is certain there.
const CERTAIN: &str = "doubtful [22]";
/// What is told of a condition that always holds.
const FAILS: &str = "fails    findings >= 0";
/// The condition as one of our own words, and as an option of its own.
const ALSO: &[&str] = &["--also=fail-if=findings >= 0"];
const OWN: &[&str] = &["--fail-if", "findings >= 0"];

/// Each tool that measures storage, and its words, and how a condition is said; `HERE` is where it works.
const STORAGE: &[(&str, &str, &[&str])] = &[
    ("dd", "if=/dev/zero of=HERE/dd bs=4k count=200", ALSO),
    ("fio", "--name=a --rw=write --size=1m --directory=HERE", ALSO),
    ("ior", "-w -t 64k -b 1m -o HERE/ior", ALSO),
    ("mdtest", "-n 100 -d HERE/mdtest", ALSO),
    ("md-workbench", "-D 1 -P 50 -I 50 -o HERE/workbench", ALSO),
    (
        "dlio",
        "workload=default ++workload.dataset.data_folder=HERE/data ++workload.workflow.generate_data=True \
         ++workload.workflow.evaluation=False ++workload.dataset.num_files_train=8 ++workload.train.epochs=1 \
         ++workload.train.computation_time=0.001 hydra.run.dir=HERE/out",
        ALSO,
    ),
    ("bonnie++", "-u WHOEVER -d HERE -s 2 -r 0 -f -n 1 -z 7", ALSO),
    ("postmark", "HERE/f.postmark", ALSO),
    ("dbench", "--run-once -c HERE/load.txt -D HERE 2", ALSO),
    ("smallfile", "--top HERE --operation create --files 20 --file-size 64", ALSO),
    ("elbencho", "-w -t 2 -s 1m -b 64k HERE/elbencho", ALSO),
    ("iozone", "-s 1m -r 64k -i 0 -f HERE/iozone", ALSO),
    ("iometer", "HERE/f.icf -r HERE/results.csv --map C:=HERE", ALSO),
    ("diskspd", "-c1M -d1 -W0 -w100 HERE/diskspd", ALSO),
    ("filebench", "-f HERE/f.f", ALSO),
    ("vdbench", "-f HERE/f.parm -o HERE/output", ALSO),
    ("io500", "HERE/io500.ini", OWN),
    ("measure", "--quick --time 50ms --size 16MiB --no-save HERE", OWN),
    ("run", "--quiet --no-save HERE/f.toml", OWN),
];

/// Each tool that measures a network; `PORT` is its server's. What is found there depends on the machine.
const NETWORK: &[(&str, &str, &str)] = &[
    ("iperf3", "iperf3 -s -p PORT", "-c 127.0.0.1 -p PORT -n 1M"),
    ("iperf", "iperf -s -p PORT", "-c 127.0.0.1 -p PORT -n 1M"),
    ("netperf", "netserver -D -p PORT", "-H 127.0.0.1 -p PORT -l -100000"),
];

/// Tools that tell nothing of this kind, and why.
const OTHERS: &[(&str, &str)] = &[
    ("age", "makes a file system old, and measures nothing"),
    ("replay", "its findings are those of any run; its own tests are of its certificate"),
    ("hdparm", "reads for five seconds: a case of its own"),
    ("iostat", "watches what others do"),
    ("netserver", "serves others' runs"),
    ("net", "serves and relays; its own tests are of netperf's kind"),
    ("posix", "says what is right, not how fast"),
    ("s3check", "says what is right, not how fast"),
    ("warp", "works on stores: its own tests run it on one"),
    ("pjdfstest", "a program for scripts"),
    ("fstest", "the same by its other name"),
    ("dlio_benchmark", "dlio by the name of its program"),
];

pub fn cases() -> Vec<Case> {
    let storage = STORAGE.iter().map(|row| {
        Case::new(format!("{} tells what was found", row.0), &[Need::That(memory)], move || storage(row))
    });
    let network = NETWORK
        .iter()
        .map(|row| Case::new(format!("{} tells what failed", row.0), &[], move || network(row)));
    let own = [
        Case::new("every tool tells what was found, or has a reason not to", &[], complete),
        Case::new("hdparm tells what was found", &[Need::That(memory)], hdparm),
        Case::new("passes are told beside the report of a drop-in", &[], passes),
        Case::new("a test with a peer refuses what it cannot do", &[], refused),
    ];
    storage.chain(network).chain(own).collect()
}

fn memory() -> Result<(), Skip> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let is = mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq([MEMORY, "tmpfs"]));
    if is { Ok(()) } else { Err(Skip::new(format!("needs a tmpfs at {MEMORY}"))) }
}

fn complete() -> Outcome {
    let (storage, network) = (STORAGE.iter().map(|row| row.0), NETWORK.iter().map(|row| row.0));
    let told: Vec<&str> = storage.chain(network).chain(OTHERS.iter().map(|row| row.0)).collect();
    let missing: Vec<&str> =
        DIALECTS.iter().map(|dialect| dialect.name).filter(|name| !told.contains(name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    Ok(())
}

/// Writes the files that some tools read.
pub fn furnish(home: &Path) -> std::io::Result<()> {
    let here = home.display();
    let icf = include_str!("../../../../golden/iometer/small.icf");
    std::fs::write(home.join("f.icf"), icf)?;
    std::fs::write(home.join("load.txt"), include_str!("../../../../suites/dbench/short.txt"))?;
    let parameters = format!(
        "sd=sd1,lun={here}/vdbench,size=1m,threads=1\nwd=wd1,sd=sd1,xfersize=4k\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n"
    );
    std::fs::write(home.join("f.parm"), parameters)?;
    let commands = format!("set location {here}\nset number 20\nset transactions 40\nrun\nquit\n");
    std::fs::write(home.join("f.postmark"), commands)?;
    std::fs::write(
        home.join("f.f"),
        format!(
            "define fileset name=set,path={here}/set,entries=20,dirwidth=20,prealloc,size=4k\n\
             define process name=p {{ thread name=t {{\n\
             flowop openfile name=open,filesetname=set,fd=1\n\
             flowop readwholefile name=read,fd=1\n\
             flowop closefile name=close,fd=1\n\
             }} }}\nrun 0.1\n"
        ),
    )?;
    std::fs::write(
        home.join("io500.ini"),
        format!(
            "[global]\ndatadir = {here}/data\nresultdir = {here}/results\n[debug]\nstonewall-time = 1\n\
             [ior-easy]\ntransferSize = 1m\nblockSize = 4m\n[ior-hard]\nsegmentCount = 20\n\
             [mdtest-easy]\nn = 50\n[mdtest-hard]\nn = 50\n"
        ),
    )?;
    let plan = format!(
        "[target.f]\nfile = \"{here}/plan\"\nsize = \"1MiB\"\ncreate = true\n[[phase]]\n[[phase.job]]\non = \"f\"\n\
         do = \"write\"\nblock = \"4KiB\"\n"
    );
    std::fs::write(home.join("f.toml"), plan)
}

/// Runs a tool there; `HERE` in its words is the place, and `WHOEVER` who made it.
pub fn run(home: &Path, tool: &str, words: &str, further: &[&str]) -> ProgramOutput {
    let owner = std::fs::metadata(home).map(|facts| format!("{}:{}", facts.uid(), facts.gid()));
    let words =
        words.replace("HERE", &home.display().to_string()).replace("WHOEVER", &owner.unwrap_or_default());
    let mut command = iodyno(std::iter::once(tool).chain(words.split_whitespace()));
    command.args(further).current_dir(home).env_remove("IODYNO_ALSO").env("IODYNO_HISTORY", "off");
    told(command)
}

fn storage(row: &(&str, &str, &[&str])) -> Outcome {
    let (tool, words, condition) = *row;
    let home = tempfile::Builder::new().prefix("findings-").tempdir_in(MEMORY)?;
    furnish(home.path())?;
    let told = run(home.path(), tool, words, condition);
    let text = told.all();
    assert!(text.contains(CERTAIN), "{tool} does not tell what was found\n{told}");
    assert!(text.contains(FAILS), "{tool} does not tell what failed\n{told}");
    assert_ne!(told.code(), 0, "{tool}: a condition failed\n{told}");
    Ok(())
}

fn hdparm() -> Outcome {
    let home = tempfile::Builder::new().prefix("findings-").tempdir_in(MEMORY)?;
    std::fs::write(home.path().join("disk"), vec![1; 4 << 20])?;
    let told = run(home.path(), "hdparm", "-t HERE/disk", ALSO);
    assert!(told.err.contains("doubtful [") && told.err.contains(FAILS), "{told}");
    assert_ne!(told.code(), 0, "{told}");
    Ok(())
}

fn network(row: &(&str, &str, &str)) -> Outcome {
    let (tool, server, client) = *row;
    let home = tempfile::tempdir()?;
    let port = free_port()?;
    let worded = |words: &str| words.replace("PORT", &port.to_string());
    let mut server = Running::start(iodyno(worded(server).split_whitespace()));
    server.says(if tool == "netperf" { "Starting netserver" } else { "listening" });
    let told = run(home.path(), tool, &worded(client), ALSO);
    assert!(told.err.contains(FAILS), "{tool} does not tell what failed\n{told}");
    assert_ne!(told.code(), 0, "{tool}: a condition failed\n{told}");
    Ok(())
}

fn passes() -> Outcome {
    let home = tempfile::tempdir()?;
    furnish(home.path())?;
    for (tool, words) in [
        ("dd", "if=/dev/zero of=HERE/dd bs=4k count=200 --also=repeat=3"),
        ("fio", "--name=a --rw=write --size=1m --directory=HERE --also=repeat=3"),
        ("filebench", "-f HERE/f.f --also=repeat=3"),
        ("io500", "HERE/io500.ini --repeat 3"),
    ] {
        let told = run(home.path(), tool, words, &[]);
        assert_eq!(told.code(), 0, "{tool}: {told}");
        assert!(told.err.contains("repetitions"), "{tool} does not tell of its passes\n{told}");
    }
    Ok(())
}

fn refused() -> Outcome {
    let home = tempfile::tempdir()?;
    for (tool, words, message) in [
        ("iperf3", "-c 127.0.0.1 --also=repeat=3", "made once, not in passes"),
        ("netperf", "-H 127.0.0.1 --also=until-steady", "made once, not in passes"),
        ("iperf3", "-s --also=fail-if=errors>0", "what a server runs is its clients'"),
        ("iperf", "-c 127.0.0.1 --also=fail-if=pace>1", "`pace` is no quantity"),
    ] {
        let told = run(home.path(), tool, words, &[]);
        told.expect(1, &[message]);
        assert!(told.out.is_empty(), "{told}");
    }
    Ok(())
}
