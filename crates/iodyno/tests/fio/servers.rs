//! `--server` and `--client` over loopback: ours with ours, and with the original in both roles.
//!
//! What a server's jobs did is known beforehand: the client must report it, in text and in JSON. A mistake in a job file
//! reaches the client, and an interrupted client ends the jobs on the server.

use serde_json::Value;
use testbed::{Case, Outcome, free_port, wait};

use crate::output::Output;
use crate::program::{Fio, Program, ProgramOutput, Sandbox};
use testbed::program::Running;

const JOBS: &str = "[global]\nioengine=null\nbs=4k\n[reads]\nrw=randread\nsize=400k\ndescription=first of two\n\
                    [writes]\nrw=write\nsize=80k\nnumjobs=2\ngroup_reporting\nnew_group\n";

/// Who serves and who asks.
const PAIRS: &[Pair] = &[
    ("ours_with_ours", || Ok((Fio::candidate()?, Fio::candidate()?))),
    ("ours_with_a_real_client", || Ok((Fio::candidate()?, Fio::reference()?))),
    ("a_real_server_with_ours", || Ok((Fio::reference()?, Fio::candidate()?))),
];

type Pair = (&'static str, fn() -> Roles);
type Roles = Result<(Fio, Fio), testbed::Skip>;
type Check = fn(&Fio, &Stand) -> Outcome;

pub fn cases() -> Vec<Case> {
    let checks: &[(&str, Check)] = &[
        ("json", json),
        ("text", text),
        ("logs", logs),
        ("histograms", histograms),
        ("recording", recording),
        ("trigger", trigger),
        ("states", states),
        ("reads_only", reads_only),
        ("mistake", mistake),
        ("failure", failure),
        ("interrupted", interrupted),
        ("server_ends", server_ends),
    ];
    let pairs = PAIRS.iter().flat_map(|pair| checks.iter().map(move |check| (pair, check)));
    let cases = pairs.map(|((pair, roles), (name, check))| {
        let (roles, check) = (*roles, *check);
        Case::new(format!("server_{pair}_{name}"), &[], move || {
            let (server, client) = roles()?;
            check(&client, &Stand::with(&server)?)
        })
        .against()
    });
    cases.chain([Case::new("server_nobody_is_there", &[], nobody)]).collect()
}

/// A server and a place for files.
struct Stand {
    server: Running,
    is_ours: bool,
    port: u16,
    sandbox: Sandbox,
}

impl Stand {
    fn with(fio: &Fio) -> Result<Stand, Box<dyn std::error::Error>> {
        let (port, sandbox) = (free_port()?, Sandbox::new());
        let mut command = fio.command([format!("--server=127.0.0.1,{port}")]);
        command.current_dir(sandbox.path());
        let mut server = Program::new(command).launch()?;
        wait::until("a server of fio's", || listens(port) || !server.is_there())?;
        match listens(port) {
            true => Ok(Stand { server, is_ours: fio.is_ours(), port, sandbox }),
            false => Err(format!("the server does not listen: {}", server.outcome()?).into()),
        }
    }

    fn command(&self, client: &Fio, job: &str, more: &[&str]) -> std::process::Command {
        self.sandbox.put("job.fio", job.as_bytes());
        let place = format!("--client=127.0.0.1,{}", self.port);
        let mut command = client.command([&[place.as_str()], more, &["job.fio"]].concat());
        command.current_dir(self.sandbox.path());
        command
    }

    fn run(&self, client: &Fio, job: &str, more: &[&str]) -> Result<ProgramOutput, String> {
        Program::new(self.command(client, job, more)).outcome()
    }
}

/// Whether something listens at a port of this machine.
fn listens(port: u16) -> bool {
    let wanted = format!(":{port:04X} 00000000:0000 0A ");
    std::fs::read_to_string("/proc/net/tcp").is_ok_and(|table| table.contains(&wanted))
}

fn wanted(holds: bool, said: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(said.into().into()) }
}

fn json(client: &Fio, stand: &Stand) -> Outcome {
    stand.sandbox.put("out.json", b"of yesterday");
    let said = stand.run(client, JOBS, &["--output-format=json", "--output=out.json"])?;
    wanted(said.code() == 0, format!("status {}: {}", said.code(), said.all()))?;
    let written = std::fs::read_to_string(stand.sandbox.path().join("out.json"))?;
    wanted(!written.contains("yesterday"), "what was in the file is still there")?;
    let document = Output::read(&written).document()?;
    let jobs: Vec<&Value> = document["client_stats"].as_array().into_iter().flatten().collect();
    let found: Vec<_> = jobs
        .iter()
        .map(|job| {
            let counts = ["read", "write"].map(|way| job[way]["total_ios"].as_u64().unwrap_or(0));
            let bytes = job["read"]["io_bytes"].as_u64().unwrap_or(0)
                + job["write"]["io_bytes"].as_u64().unwrap_or(0);
            (
                job["jobname"].as_str().unwrap_or(""),
                job["groupid"].as_u64(),
                counts,
                bytes,
                job["port"].as_u64(),
            )
        })
        .collect();
    let port = Some(u64::from(stand.port));
    let expected = [
        ("reads", Some(0), [100, 0], 409_600, port),
        ("writes", Some(1), [0, 40], 163_840, port),
        ("All clients", Some(1), [100, 40], 573_440, port),
    ];
    wanted(found == expected, format!("found {found:?} in {written}"))?;
    let read = &jobs[0]["read"];
    let (least, most) = (read["clat_ns"]["min"].as_u64(), read["clat_ns"]["max"].as_u64());
    let median = read["clat_ns"]["percentile"]["50.000000"].as_u64();
    wanted(median.is_some() && least <= median && read["clat_ns"]["N"] == 100, format!("latency {read}"))?;
    wanted(least <= most && most > Some(0), format!("latency {read}"))?;
    wanted(jobs[0]["desc"] == "first of two", "the description is lost")?;
    wanted(jobs[0]["job options"]["rw"] == "randread", format!("options {}", jobs[0]["job options"]))?;
    wanted(document["global options"]["bs"] == "4k", format!("global options {}", document["global options"]))
}

fn text(client: &Fio, stand: &Stand) -> Outcome {
    let said = stand.run(client, JOBS, &[])?;
    wanted(said.code() == 0, format!("status {}: {}", said.code(), said.all()))?;
    let lines = [
        "hostname=",
        "> reads: (g=0): rw=randread, bs=(R) 4096B-4096B",
        "> Starting 3 processes",
        "reads: (groupid=0, jobs=1): err= 0: pid=",
        "  Description  : [first of two]",
        "writes: (groupid=1, jobs=2): err= 0: pid=",
        "     issued rwts: total=100,0,0,0 short=0,0,0,0 dropped=0,0,0,0",
        "Run status group 1 (all jobs):",
        "io=400KiB (410kB)",
        "io=160KiB (164kB)",
        "All clients: (groupid=1, jobs=2): err= 0:",
        "     issued rwts: total=100,40,0,0 short=0,0,0,0 dropped=0,0,0,0",
    ];
    let lost: Vec<&&str> = lines.iter().filter(|line| !said.out.contains(**line)).collect();
    wanted(lost.is_empty(), format!("no {lost:?} in {}", said.all()))
}

/// Log files come to the client, each under its server's name. Without `log_offset`: with it the original's client loses the
/// last fifth of the lines, of its own server too.
fn logs(client: &Fio, stand: &Stand) -> Outcome {
    let job = "[l]\nioengine=null\nrw=write\nbs=4k\nsize=40k\nwrite_lat_log=mine\n";
    let said = stand.run(client, job, &[])?;
    wanted(said.code() == 0, format!("status {}: {}", said.code(), said.all()))?;
    let text = std::fs::read_to_string(stand.sandbox.path().join("mine_lat.1.log.127.0.0.1"));
    let text = text.map_err(|error| format!("{error}: {:?}", stand.sandbox.files()))?;
    let blocks = text.lines().filter(|line| line.contains(", 1, 4096, 0")).count();
    wanted((blocks, text.lines().count()) == (10, 10), format!("not ten writes of 4 KiB: {text}"))
}

/// The log of histograms comes to the client too: its columns add up to all operations.
fn histograms(client: &Fio, stand: &Stand) -> Outcome {
    let job = "[l]\nioengine=null\nrw=write\nbs=4k\nsize=400k\nrate_iops=100\nwrite_hist_log=mine\n\
               log_hist_msec=100\nlog_hist_coarseness=3\n";
    let said = stand.run(client, job, &[])?;
    wanted(said.code() == 0, format!("status {}: {}", said.code(), said.all()))?;
    let text = std::fs::read_to_string(stand.sandbox.path().join("mine_clat_hist.1.log.127.0.0.1"));
    let text = text.map_err(|error| format!("{error}: {:?}", stand.sandbox.files()))?;
    let rows: Vec<Vec<u64>> = text
        .lines()
        .map(|line| line.split(", ").filter_map(|number| number.parse().ok()).collect())
        .collect();
    let shape = rows.iter().all(|row| row.len() == 3 + 1856 / 8 && row[1..3] == [1, 4096]);
    wanted(shape && rows.len() > 4, format!("not rows of writes with 232 bins: {text}"))?;
    let counted: u64 = rows.iter().flat_map(|row| &row[3..]).sum();
    // The original's server leaves the last interval out and sends others twice, which its own client prints too.
    let most = if stand.is_ours { 100 } else { 1000 };
    wanted((80..=most).contains(&counted), format!("{counted} of 100 writes"))
}

/// The record of a job's operations stays where the server is.
fn recording(client: &Fio, stand: &Stand) -> Outcome {
    let job = "[r]\nioengine=null\nrw=write\nbs=4k\nsize=40k\nwrite_iolog=done.iolog\n";
    let said = stand.run(client, job, &[])?;
    wanted(said.code() == 0, format!("status {}: {}", said.code(), said.all()))?;
    let text = std::fs::read_to_string(stand.sandbox.path().join("done.iolog"));
    let text = text.map_err(|error| format!("{error}: {:?}", stand.sandbox.files()))?;
    let writes = text.lines().filter(|line| line.contains(" write ")).count();
    wanted(writes == 10 && text.starts_with("fio version 3 iolog\n"), format!("not ten writes: {text}"))?;
    let names: Vec<String> = stand.sandbox.files().iter().map(|file| format!("{file:?}")).collect();
    wanted(!names.iter().any(|name| name.contains("iolog.127")), format!("{names:?}"))
}

/// A file that appears where the client is ends the jobs on the server, whose states come back, and the server runs the
/// command. Client and server share a directory here: the states have the server's name, the command's file has not.
fn trigger(client: &Fio, stand: &Stand) -> Outcome {
    let job = "[t]\nrw=write\nbs=4k\nsize=1m\nfilename=data\nruntime=600\ntime_based\nrate_iops=200\nverify=crc32c\n";
    let more = ["--eta=always", "--trigger-file=now", "--trigger-remote=echo pulled > pulled"];
    let mut running = Program::new(stand.command(client, job, &more)).launch()?;
    wait::until("a job on the server", || running.out().contains("Jobs: 1") || !running.is_there())?;
    stand.sandbox.put("now", b"");
    let said = running.outcome()?;
    wanted(said.out.contains("t: (groupid=0, jobs=1): err= 0"), format!("no report in {}", said.all()))?;
    wanted(said.code() == 0, format!("status {}", said.code()))?;
    let file = |name: &str| std::fs::read(stand.sandbox.path().join(name)).unwrap_or_default();
    wanted(file("pulled") == b"pulled\n", format!("the command did not run: {}", said.all()))?;
    wanted(!stand.sandbox.path().join("now").exists(), "the file is still there")?;
    let state = file("127.0.0.1-t-0-verify.state");
    let begun = state.get(40..48).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    wanted(
        state.len() == 192 && state[0] == 3 && begun > 0,
        format!("a state of {} bytes: {state:?}", state.len()),
    )
}

/// What a trigger kept at the client is loaded by a later run on the server: of the file, which holds zeros behind the writes
/// that were made, no more is verified than these. Without the state, and with a damaged one, nothing runs.
fn states(client: &Fio, stand: &Stand) -> Outcome {
    let head = "[t]\nbs=4k\nsize=4m\nfilename=data\nverify=crc32c\nrw=write\n";
    let writes = format!("{head}do_verify=0\nruntime=600\ntime_based\nrate_iops=200\n");
    let more = ["--eta=always", "--trigger-file=now", "--trigger-remote=true"];
    let mut running = Program::new(stand.command(client, &writes, &more)).launch()?;
    wait::until("a job on the server", || running.out().contains("Jobs: 1") || !running.is_there())?;
    stand.sandbox.put("now", b"");
    running.outcome()?;
    let name = "127.0.0.1-t-0-verify.state";
    let path = stand.sandbox.path().join(name);
    let state = std::fs::read(&path)?;
    let begun = u64::from_le_bytes(state[40..48].try_into()?);
    let read = format!("{head}verify_only=1\nverify_state_load=1\n");
    let said = stand.run(client, &read, &["--output-format=json", "--output=out.json"])?;
    wanted(said.code() == 0, format!("status {}: {}", said.code(), said.all()))?;
    let written = std::fs::read_to_string(stand.sandbox.path().join("out.json"))?;
    let document = Output::read(&written).document()?;
    let bytes = document["client_stats"][0]["read"]["io_bytes"].as_u64();
    wanted(
        bytes.is_some_and(|bytes| bytes > 0 && bytes <= begun * 4096),
        format!("{bytes:?} of {begun} writes were read: {written}"),
    )?;
    std::fs::remove_file(&path)?;
    let said = stand.run(client, &read, &[])?;
    wanted(said.code() == 1 && !said.all().contains("READ: bw="), said.all())?;
    if stand.is_ours {
        let reason = format!("failure on receiving state file {name}: No such file or directory");
        wanted(said.all().contains(&reason), said.all())?;
        stand.sandbox.put(name, &[&state[..100], b"x", &state[101..]].concat());
        let said = stand.run(client, &read, &[])?;
        wanted(said.code() == 1 && said.all().contains("its checksum is wrong"), said.all())?;
    }
    Ok(())
}

/// Nothing runs where the jobs are only to be read or shown.
fn reads_only(client: &Fio, stand: &Stand) -> Outcome {
    let job = "[w]\nrw=write\nbs=4k\nsize=64k\nfilename=untouched\n";
    let said = stand.run(client, job, &["--parse-only"])?;
    wanted(said.code() == 0 && !said.all().contains("Starting"), said.all())?;
    let said = stand.run(client, job, &["--showcmd"])?;
    let line = "> fio --name=w --rw=write --bs=4k --size=64k --filename=untouched \n";
    wanted(said.code() == 0 && said.out.contains(line) && !said.all().contains("Starting"), said.all())?;
    wanted(!stand.sandbox.path().join("untouched").exists(), "the job ran")
}

/// A job file that is wrong: the client prints why, and nothing runs.
fn mistake(client: &Fio, stand: &Stand) -> Outcome {
    let said = stand.run(client, "[a]\nrw=raed\nsize=4k\n", &[])?;
    wanted(said.all().contains("raed"), format!("the mistake is not in: {}", said.all()))?;
    wanted(!said.all().contains("Starting 1 process"), said.all())?;
    wanted(said.code() == 1, format!("status {}", said.code()))
}

/// A job that fails on the server fails for the client.
fn failure(client: &Fio, stand: &Stand) -> Outcome {
    let said = stand.run(client, "[a]\nrw=write\nsize=4k\nfilename=/dev/full\n", &[])?;
    let words = ["No space left on device", "exited with error 1", "err=28"];
    let lost: Vec<&&str> = words.iter().filter(|word| !said.all().contains(**word)).collect();
    wanted(lost.is_empty(), format!("no {lost:?} in {}", said.all()))?;
    wanted(said.code() == 1, format!("status {}", said.code()))
}

/// The client's jobs end with it, it reports what there was, and the server serves on.
fn interrupted(client: &Fio, stand: &Stand) -> Outcome {
    let job = "[a]\nioengine=null\nrw=read\nsize=1t\nruntime=600\ntime_based\nrate_iops=1000\n";
    let mut running = Program::new(stand.command(client, job, &["--eta=always"])).launch()?;
    // The original says so only when its line comes.
    wait::until("a job on the server", || running.out().contains("Jobs: 1") || !running.is_there())?;
    running.signal(libc::SIGINT);
    let said = running.outcome()?;
    wanted(said.out.contains("a: (groupid=0, jobs=1): err= 0"), format!("no report in {}", said.all()))?;
    let again = stand.run(client, JOBS, &["--output-format=json"])?;
    wanted(again.code() == 0, format!("afterwards: status {}: {}", again.code(), again.all()))
}

/// A server that is ended sends what its jobs did until then.
fn server_ends(client: &Fio, stand: &Stand) -> Outcome {
    if !stand.is_ours {
        return Err(testbed::Skip::new("the original's server dies of an assertion").into());
    }
    let job = "[a]\nioengine=null\nrw=read\nsize=1t\nruntime=600\ntime_based\nrate_iops=1000\n";
    let mut running = Program::new(stand.command(client, job, &["--eta=always"])).launch()?;
    wait::until("a job on the server", || running.out().contains("Jobs: 1") || !running.is_there())?;
    stand.server.signal(libc::SIGTERM);
    let said = running.outcome()?;
    wanted(said.out.contains("a: (groupid=0, jobs=1): err= 0"), format!("no report in {}", said.all()))
}

/// A port at which nobody listens, and an address that is none.
fn nobody() -> Outcome {
    let fio = Fio::candidate()?;
    let sandbox = Sandbox::new();
    sandbox.put("job.fio", JOBS.as_bytes());
    let place = format!("--client=127.0.0.1,{}", free_port()?);
    let said = fio.run(&sandbox, [place.as_str(), "--remote-config=job.fio"])?;
    said.expect(1, &["failed to connect to 127.0.0.1:"]);
    // Nothing is taken from who has the port already.
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let place = format!("--server=127.0.0.1,{}", taken.local_addr()?.port());
    fio.run(&sandbox, [place.as_str()])?.expect(1, &["Address already in use"]);
    fio.run(&sandbox, ["--daemonize=pid", "--name=x"])?.expect(1, &["only a server goes to the background"]);
    fio.run(&sandbox, ["--server=127.0.0.1,none"])?.expect(1, &["`none` is no port", "hint:"]);
    Ok(())
}
