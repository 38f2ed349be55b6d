//! `-+t`: the network between a master and the hosts of a node list, all of them this one.
//!
//! The ports are the original's, and its own ends miss each other's where one was used a minute ago: a case has a network of its own.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testbed::{Case, Need, Outcome, Skip};

use crate::beside::skeleton;
use crate::program::{IODYNO, Program, ProgramOutput, dressed, told};
use crate::runs::iozone;

pub fn cases() -> Vec<Case> {
    let apart = &[Need::Root, Need::Tool("unshare"), Need::Tool("ip")];
    let beside = &[Need::Root, Need::Tool("unshare"), Need::Tool("ip"), Need::Tool("iozone")];
    vec![
        Case::new("iozone_the_network_of_each_host_is_told_both_ways", apart, both_ways),
        Case::new("iozone_says_of_the_network_what_the_original_says", beside, alike).against(),
        Case::new("iozone_measures_the_network_with_the_originals_client", beside, with_its_client).against(),
        Case::new("iozone_measures_the_network_for_the_originals_master", beside, with_its_master).against(),
        Case::new("iozone_a_host_of_the_network_that_is_not_there_is_told", apart, gone),
        Case::new("iozone_the_network_needs_hosts", &[], wrong),
    ]
}

/// Options of a transfer: 16 records.
const LINE: &str = "-+t -+m nodes -r 4 -s 64";

/// Ours by a name without blanks, as a node list wants it, wherever the tree lies.
fn link(home: &Path) -> String {
    home.join("iozone").display().to_string()
}

/// A node list; a remote shell that is none: it leaves the host out; and ours by a name that needs no word behind it.
fn stage(home: &Path, hosts: &[&str], program: &str) -> std::io::Result<()> {
    let lines: String = hosts.iter().map(|host| format!("{host} /tmp {program}\n")).collect();
    std::fs::write(home.join("nodes"), lines)?;
    std::os::unix::fs::symlink(IODYNO, link(home))?;
    let shell = home.join("shell");
    std::fs::write(&shell, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n")?;
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755))
}

/// A master in a directory, and in a network of its own.
fn apart(home: &Path, program: &[&str]) -> Command {
    let up = "ip link set lo up && exec \"$@\"";
    let words = ["--net", "sh", "-c", up, "sh"].into_iter().chain(program.iter().copied());
    let line = words.chain(LINE.split(' ')).map(OsString::from);
    let mut command = dressed(Command::new("unshare"), line);
    command.env("IODYNO_FINDINGS", "0").env("RSH", home.join("shell")).current_dir(home);
    command
}

fn ours(home: &Path) -> ProgramOutput {
    told(apart(home, &[IODYNO, "iozone"]))
}

/// What the original says as the master.
fn originals(home: &Path) -> Result<ProgramOutput, Skip> {
    let ended = Program::new(apart(home, &["iozone"])).outcome_of_an_original();
    ended.map_err(|error| Skip::new(format!("the original: {error}")))
}

/// What is said of a host: both ends, both ways, a figure each.
#[track_caller]
fn is_told(told: &ProgramOutput, host: &str) {
    for way in ["received", " sent   "] {
        let start = format!("{host:<20} {way}          64 kBytes @ ");
        let line = told.out.lines().find_map(|line| line.strip_prefix(&start));
        let rate = line.and_then(|rest| rest.strip_suffix(" kBytes/sec ")?.trim().parse::<f64>().ok());
        assert!(rate.is_some_and(|rate| rate > 0.0), "{host} {way}: {told}");
    }
    assert_eq!(told.out.matches(" kbytes @ ").count(), told.out.matches(" kBytes @ ").count(), "{told}");
}

fn both_ways() -> Outcome {
    let home = tempfile::tempdir()?;
    stage(home.path(), &["localhost", "127.0.0.1"], &link(home.path()))?;
    let told = ours(home.path());
    told.expect(0, &["Checking 2 clients", "Transfer size 4096 bytes", "Count 16", "Total size 64 kbytes"]);
    is_told(&told, "localhost");
    is_told(&told, "127.0.0.1");
    Ok(())
}

fn alike() -> Outcome {
    let home = tempfile::tempdir()?;
    stage(home.path(), &["localhost"], "iozone")?;
    let theirs = originals(home.path())?;
    let own = tempfile::tempdir()?;
    stage(own.path(), &["localhost"], &link(own.path()))?;
    let ours = ours(own.path());
    assert_eq!(skeleton(&ours.out, "Checking"), skeleton(&theirs.out, "Checking"));
    Ok(())
}

fn with_its_client() -> Outcome {
    let home = tempfile::tempdir()?;
    stage(home.path(), &["localhost"], "iozone")?;
    let told = ours(home.path());
    told.expect(0, &["Checking 1 clients"]);
    is_told(&told, "localhost");
    Ok(())
}

fn with_its_master() -> Outcome {
    let home = tempfile::tempdir()?;
    stage(home.path(), &["localhost"], &link(home.path()))?;
    let told = originals(home.path())?;
    is_told(&told, "localhost");
    Ok(())
}

/// Who cannot be there is told at once, and why.
fn gone() -> Outcome {
    let home = tempfile::tempdir()?;
    stage(home.path(), &["no.such.host.invalid"], "true")?;
    let told = ours(home.path());
    told.expect(
        1,
        &["iozone: the client of no.such.host.invalid: ", "hint: see what this says: ", " true -+s -t 1"],
    );
    Ok(())
}

fn wrong() -> Outcome {
    let home = tempfile::tempdir()?;
    iozone(home.path(), "-+t").expect(1, &["-+t: it needs to know the hosts", "hint: -+m FILE"]);
    iozone(home.path(), "-+t -+m absent").expect(1, &["-+m absent"]);
    iozone(home.path(), "-+c host -s 1m").expect(1, &["-+c host: clusters are started", "-+m"]);
    stage(home.path(), &["localhost"], "iozone")?;
    iozone(home.path(), "-+t -+m nodes -r 64 -s 4").expect(1, &["no record of 64 kB fits in 4 kB"]);
    Ok(())
}
