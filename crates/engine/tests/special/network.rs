//! Bytes over the loopback interface: both sides ours, and one of them fio's.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;

use iodyno_model::{Job, Kind, Plan, TargetKind, Verb};
use testbed::program::{Program, Running};
use testbed::{Case, Need, Skip, wait};

use crate::plans::{in_processes, job, plan, record, refused, tallies, target};
use crate::{Failed, Outcome, holds};

const BLOCK: u64 = 2000;
/// So few that datagrams find room while their reader sleeps.
const BLOCKS: u64 = 20;

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("net: each worker its port", &[], each_worker_its_port),
        Case::new("net: whoever comes late is not waited for on the clock", &[], lateness_is_not_measured),
        Case::new("net: a reader ends with the writer", &[], a_reader_ends_with_the_writer),
        Case::new("net: time ends a silent wait", &[], time_ends_a_silent_wait),
        Case::new("net: files cannot be sent to", &[], files_cannot_be_sent_to),
    ];
    cases.extend(ours());
    cases.extend(beside_fio());
    cases
}

/// Both sides ours.
fn ours() -> Vec<Case> {
    let mut cases = Vec::new();
    for transport in ["tcp", "tcp6", "udp", "udp6", "unix", "vsock"] {
        for engine in ["net", "netsplice"] {
            if engine == "netsplice" && transport.starts_with("udp") {
                continue;
            }
            for settings in [&[][..], &["pingpong"]] {
                let name = format!("{engine}: {transport} {settings:?}");
                cases.push(Case::new(name, &[], move || {
                    missing(transport)?;
                    both_sides_count_alike(engine, transport, settings)
                }));
            }
        }
    }
    cases
}

/// One side fio's.
fn beside_fio() -> Vec<Case> {
    let mut cases = Vec::new();
    for transport in ["tcp", "udp", "unix"] {
        for pingpong in [false, true] {
            let with = if pingpong { ", pingpong" } else { "" };
            let fio = &[Need::Tool("fio")];
            let name = format!("net: fio sends by {transport}{with}");
            cases.push(Case::new(name, fio, move || fio_sends(transport, pingpong)).against());
            let name = format!("net: fio receives by {transport}{with}");
            cases.push(Case::new(name, fio, move || fio_receives(transport, pingpong)).against());
        }
    }
    cases
}

/// Why a transport cannot be had here.
fn missing(transport: &str) -> Result<(), Skip> {
    let can = match transport {
        "tcp6" | "udp6" => TcpListener::bind("[::1]:0").map(drop).map_err(|error| error.to_string()),
        "vsock" if !Path::new("/sys/module/vsock_loopback").exists() => Err("no vsock loopback".into()),
        _ => Ok(()),
    };
    can.map_err(Skip::new)
}

/// A place that nobody uses: the address to wait at, and the one to connect to.
fn place(transport: &str, folder: &Path) -> Result<(String, String), Failed> {
    Ok(match transport {
        "unix" => {
            let path = folder.join("socket").display().to_string();
            (path.clone(), path)
        }
        "vsock" => {
            let port = testbed::free_port()?;
            (format!(":{port}"), format!("1:{port}"))
        }
        "tcp6" | "udp6" => {
            let port = free_port("::1")?;
            (format!(":{port}"), format!("::1:{port}"))
        }
        _ => {
            let port = free_port("127.0.0.1")?;
            (format!(":{port}"), format!("127.0.0.1:{port}"))
        }
    })
}

/// The first of some ports that follow each other, and that no other test here is given.
fn ports_in_a_row(count: u16) -> Result<u16, Failed> {
    let mut last = testbed::free_port()?;
    let mut first = last;
    while last + 1 - first < count {
        let next = testbed::free_port()?;
        first = if next == last + 1 { first } else { next };
        last = next;
    }
    Ok(first)
}

/// A port of a host that neither TCP nor UDP uses, and that the kernel gives to no client of its own accord.
fn free_port(host: &str) -> Result<u16, Failed> {
    loop {
        let port = testbed::free_port()?;
        if TcpListener::bind((host, port)).is_ok() && UdpSocket::bind((host, port)).is_ok() {
            return Ok(port);
        }
    }
}

fn endpoint(transport: &str, address: &str, listen: bool) -> TargetKind {
    TargetKind::Endpoint { transport: transport.into(), address: address.into(), listen }
}

fn limited(mut job: Job, blocks: u64) -> Job {
    job.limit.bytes = Some(blocks * BLOCK);
    job
}

fn both(engine: &str, transport: &str, settings: &[&str], place: &(String, String)) -> Plan {
    let targets = vec![
        target("here", endpoint(transport, &place.0, true)),
        target("there", endpoint(transport, &place.1, false)),
    ];
    let mut reader = limited(job(engine, settings, 0, Verb::Read, BLOCK), BLOCKS);
    let mut writer = limited(job(engine, settings, 1, Verb::Write, BLOCK), BLOCKS);
    (reader.name, writer.name) = ("reader".into(), "writer".into());
    plan(targets, vec![reader, writer])
}

fn both_sides_count_alike(engine: &str, transport: &str, settings: &[&str]) -> Outcome {
    let folder = tempfile::tempdir()?;
    let plan = both(engine, transport, settings, &place(transport, folder.path())?);
    let tally = tallies(&plan)?;
    let read = (tally[0].operations(Kind::Read), tally[0].bytes(Kind::Read));
    let written = (tally[1].operations(Kind::Write), tally[1].bytes(Kind::Write));
    let all = (BLOCKS, BLOCKS * BLOCK);
    holds(read == all && written == all, format!("read {read:?}, written {written:?}, of {all:?}"))
}

fn each_worker_its_port() -> Outcome {
    let port = ports_in_a_row(3)?;
    let here = (format!(":{port}"), format!("127.0.0.1:{port}"));
    let mut plan = both("net", "tcp", &["port_each", "nodelay"], &here);
    for job in &mut plan.phases[0].jobs {
        job.workers = 3;
        *job = in_processes(job.clone());
    }
    let tally = tallies(&plan)?;
    let bytes = (tally[0].bytes(Kind::Read), tally[1].bytes(Kind::Write));
    holds(bytes == (3 * BLOCKS * BLOCK, 3 * BLOCKS * BLOCK), format!("{bytes:?}"))
}

fn a_reader_ends_with_the_writer() -> Outcome {
    for transport in ["tcp", "udp"] {
        let mut plan = both("net", transport, &[], &place(transport, Path::new("/"))?);
        plan.phases[0].jobs[0].limit.bytes = Some(u64::MAX >> 2);
        let tally = tallies(&plan)?;
        let read = (tally[0].operations(Kind::Read), tally[0].bytes(Kind::Read));
        holds(read == (BLOCKS, BLOCKS * BLOCK), format!("{transport}: {read:?}"))?;
    }
    Ok(())
}

fn lateness_is_not_measured() -> Outcome {
    let mut plan = both("net", "tcp", &[], &place("tcp", Path::new("/"))?);
    plan.phases[0].jobs[1].start.after_ns = LATE_NS;
    let record = record(&plan)?;
    let jobs = &record.phases[0].jobs;
    let longest = jobs[0].tally.latency(Kind::Read).max;
    // However slow the machine is, a read that takes longer than both were there has waited for the writer to come.
    let together = jobs[0].workers[0].ended_ns.saturating_sub(jobs[1].workers[0].began_ns);
    let how = format!("a read took {longest} ns, both were there for {together} ns: {:?}", record.errors);
    holds(record.errors.is_empty() && longest < together + LATE_NS / 2, how)
}

/// How much later the writer comes, ns.
const LATE_NS: u64 = 2_000_000_000;

fn time_ends_a_silent_wait() -> Outcome {
    let (here, there) = place("tcp", Path::new("/"))?;
    let mut plan = one_side("tcp", &here, true, Verb::Read, false);
    let job = &mut plan.phases[0].jobs[0];
    (job.limit.bytes, job.limit.time_ns) = (None, Some(300_000_000));
    // It connects and says nothing until the reader has gone.
    let silent = std::thread::spawn(move || {
        wait_until_taken("tcp", &here).map_err(std::io::Error::other)?;
        let mut stream = TcpStream::connect(there)?;
        std::io::copy(&mut stream, &mut std::io::sink())
    });
    let tally = tallies(&plan)?;
    silent.join().map_err(|_| "the thread panicked")??;
    holds(tally[0].operations(Kind::Read) == 0, format!("{} reads", tally[0].operations(Kind::Read)))
}

fn files_cannot_be_sent_to() -> Outcome {
    let there = target("there", endpoint("tcp", "127.0.0.1:1", false));
    let wrong = refused(&plan(vec![there], vec![job("psync", &[], 0, Verb::Write, 1)]))?;
    holds(wrong.contains("network endpoint"), wrong)
}

/// fio as the other side.
fn fio(transport: &str, place: &str, reads: bool, pingpong: bool) -> Result<Running, String> {
    let mut command = Command::new("fio");
    command.args(["--name=other", "--ioengine=net", "--bs=2000", "--size=40000"]);
    command.arg(format!("--protocol={transport}"));
    command.arg(if reads { "--rw=read" } else { "--rw=write" });
    match place.rsplit_once(':') {
        Some((host, port)) => {
            command.arg(format!("--port={port}"));
            if !reads {
                command.arg(format!("--hostname={host}"));
            } else if transport == "tcp" {
                command.arg("--listen");
            }
        }
        None => {
            command.arg(format!("--filename={place}"));
        }
    }
    if pingpong {
        command.arg("--pingpong=1");
    }
    Program::new(command).launch()
}

fn one_side(transport: &str, address: &str, listen: bool, verb: Verb, pingpong: bool) -> Plan {
    let settings: &[&str] = if pingpong { &["pingpong"] } else { &[] };
    let ours = limited(job("net", settings, 0, verb, BLOCK), BLOCKS);
    plan(vec![target("other", endpoint(transport, address, listen))], vec![ours])
}

fn fio_sends(transport: &str, pingpong: bool) -> Outcome {
    let folder = tempfile::tempdir()?;
    let (here, there) = place(transport, folder.path())?;
    // fio does not try twice: it starts when we wait.
    let starts = std::thread::spawn({
        let (transport, here) = (transport.to_string(), here.clone());
        move || {
            wait_until_taken(&transport, &here)?;
            // It dies with this thread, which stays as long.
            fio(&transport, &there, false, pingpong)?.outcome()
        }
    });
    let tally = tallies(&one_side(transport, &here, true, Verb::Read, pingpong))?;
    starts.join().map_err(|_| "the thread panicked")??;
    let read = (tally[0].operations(Kind::Read), tally[0].bytes(Kind::Read));
    holds(read == (BLOCKS, BLOCKS * BLOCK), format!("{read:?}"))
}

/// Waits until somebody waits at a port.
fn wait_until_taken(transport: &str, here: &str) -> Result<(), String> {
    let table = |name: &str| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    wait::until("somebody who waits at the port", || match (transport, here.rsplit_once(':')) {
        ("unix", _) => table("unix").contains(here),
        (_, Some((_, port))) => {
            let port = format!(":{:04X} 00000000:0000", port.parse::<u16>().unwrap_or(0));
            table(transport).contains(&port)
        }
        _ => true,
    })
}

fn fio_receives(transport: &str, pingpong: bool) -> Outcome {
    let folder = tempfile::tempdir()?;
    let (here, there) = place(transport, folder.path())?;
    let reader = if transport == "unix" { here.clone() } else { there.clone() };
    let other = fio(transport, &reader, true, pingpong)?;
    wait_until_taken(transport, &here)?;
    let tally = tallies(&one_side(transport, &there, false, Verb::Write, pingpong))?;
    let said = other.outcome()?;
    let written = (tally[0].operations(Kind::Write), tally[0].bytes(Kind::Write));
    holds(written == (BLOCKS, BLOCKS * BLOCK), format!("{written:?}"))?;
    // Over unix sockets fio 3.33 fails at its own farewell.
    holds(said.status.success() || transport == "unix", format!("fio: {said}"))
}
