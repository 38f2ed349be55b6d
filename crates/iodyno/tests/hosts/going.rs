//! Commands that go to other hosts, and what comes back.

use std::process::Command;

use testbed::program::ProgramOutput;
use testbed::sandbox::{HOST_NEEDS, Hosts};
use testbed::{Case, Need, Outcome, Skip};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

const OPEN_MPI: &[Need] = &[Need::Tool("mpirun"), Need::Tool("orted")];

pub fn case(name: &str, body: fn() -> Outcome) -> Case {
    let needs: Vec<Need> = HOST_NEEDS.iter().chain(OPEN_MPI).copied().collect();
    Case::new(name, &needs, body)
}

pub fn cases() -> Vec<Case> {
    vec![
        case("three_hosts_are_three_machines", three_hosts_are_three_machines),
        case("what_is_wrong_is_said_before_anything_is_started", what_is_wrong_is_said_here),
        case("what_the_launcher_says_arrives_with_its_status", the_launchers_status_is_ours),
    ]
}

/// So many hosts with our program.
pub fn staged(count: usize) -> Result<Hosts, Skip> {
    Hosts::new(count, &[IODYNO])
}

/// Our program's path on every host: where it was built may be hidden there.
pub fn built(hosts: &Hosts) -> String {
    hosts.program(IODYNO).display().to_string()
}

/// The names in a directory of a host's own.
pub fn listed(hosts: &Hosts, number: usize, directory: &std::path::Path) -> std::io::Result<Vec<String>> {
    let names = std::fs::read_dir(hosts.seen(number, directory))?;
    let mut names: Vec<String> = names
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Our program on the first host.
pub fn iodyno(hosts: &Hosts, arguments: &[&str]) -> Command {
    let mut command = hosts.command(1, built(hosts));
    command.args(arguments);
    command
}

/// What it said; it must have ended well.
#[track_caller]
pub fn well(said: ProgramOutput) -> ProgramOutput {
    assert!(said.status.success(), "{said:#?}");
    said
}

fn three_hosts_are_three_machines() -> Outcome {
    let hosts = staged(3)?;
    let list = hosts.shared().join("list");
    std::fs::write(&list, "h1 slots=1\nh2 slots=1\nh3 slots=1\n")?;
    let look = "touch /tmp/$(hostname) $0/$(hostname); echo $(hostname) $(ls /tmp | grep -c ^h) $(ls $0 | grep -c ^h) \
                $(ip -4 -o address show eth0 | grep -o 192.0.2.[0-9]) $(ps ax | grep -c [s]shd.*listener)";
    let mut command = hosts.command(1, "mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "3", "--hostfile"]).arg(&list);
    command.args(["sh", "-c", look]).arg(hosts.local());
    let said = well(hosts.run(command));
    let mut lines: Vec<_> = said.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["h1 1 1 192.0.2.1 1", "h2 1 1 192.0.2.2 1", "h3 1 1 192.0.2.3 1"], "{said:#?}");
    Ok(())
}

fn what_is_wrong_is_said_here() -> Outcome {
    let hosts = staged(1)?;
    let refused = |arguments: &[&str], words: &[&str]| {
        let said = hosts.run(iodyno(&hosts, arguments));
        assert_eq!(said.status.code(), Some(2), "{arguments:?}: {said:#?}");
        for word in words {
            assert!(said.err.contains(word), "{arguments:?}: {said:#?}");
        }
    };
    refused(&["fio", "--also", "hosts=h1:0", "--name=x"], &["h1:0", "hint"]);
    refused(&["fio", "--also", "hosts=@nowhere", "--name=x"], &["nowhere", "host file"]);
    refused(&["run", "--hosts", "-oProxyCommand=x", "plan.toml"], &["hint"]);
    refused(&["fio", "--also", "launcher=mpirun", "--name=x"], &["no hosts are named"]);
    let fine = ["--name=x", "--ioengine=null", "--size=64k"];
    let go = |also: &'static str| [&["fio", "--also", also][..], &fine].concat();
    refused(&go("hosts=h1,launcher=mpirunx"), &["mpirunx", "install"]);
    refused(&go("hosts=h1,launcher=/bin/true"), &["/bin/true", "launcher="]);
    // What is printed here needs nobody else.
    let said = well(hosts.run(iodyno(&hosts, &["fio", "--also", "hosts=h9", "--version"])));
    assert!(said.out.contains("fio-3"), "{said:#?}");
    let said = hosts.run(iodyno(&hosts, &["fio", "--also", "hosts=h9", "--name=x", "--bs=nonsense"]));
    assert!(said.err.contains("nonsense") && !said.err.contains("ssh"), "{said:#?}");
    Ok(())
}

fn the_launchers_status_is_ours() -> Outcome {
    let hosts = staged(2)?;
    let job = ["--name=x", "--ioengine=null", "--size=64k"];
    // Nobody of that name; then a world inside a world.
    let said = hosts.run(iodyno(&hosts, &[&["fio", "--also", "hosts=h9"], &job[..]].concat()));
    assert!(!said.status.success() && said.err.contains("h9"), "{said:#?}");
    let mut command = hosts.command(1, "mpirun");
    command.args(["--allow-run-as-root", "-n", "1", &built(&hosts), "fio", "--also", "hosts=h2"]);
    command.args(job);
    let said = hosts.run(command);
    assert!(!said.status.success(), "{said:#?}");
    assert!(said.err.contains("started by a launcher already"), "{said:#?}");
    Ok(())
}
