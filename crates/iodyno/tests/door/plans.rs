//! `iodyno plan` and `iodyno run`: what goes wrong while a plan runs, and what must come out the same again.

use std::path::Path;

use testbed::fuse::{Config, Device, Fault, Pick, RequestKind};
use testbed::sandbox::FullDisk;
use testbed::{Case, Need, Outcome, wait};

use crate::program::{Program, ProgramOutput, Running, fingerprint, iodyno, names, plan, run, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("every example is explained", &[], examples),
        Case::new("every tool's command line is explained, and nothing is done", &[], tools),
        Case::new("a file that has a tool's name is named with its directory", &[], file_like_a_tool),
        Case::new(
            "EIO is tallied with its first offset, by threads and processes",
            &[Need::Fuse],
            input_output_error,
        ),
        Case::new(
            "EIO through io_uring is tallied alike",
            &[Need::Fuse, Need::IoUring],
            error_through_io_uring,
        ),
        Case::new("short transfers are counted", &[Need::Fuse], short),
        Case::new("ENOSPC in the middle of a job is told once", &[Need::Mount], no_space),
        Case::new("a layout that does not fit is told and taken back", &[Need::Mount], no_space_for_layout),
        Case::new("a killed worker is reported, not waited for", &[], killed),
        Case::new("a killed conductor leaves no worker behind", &[], orphans),
        Case::new("Ctrl-C of a terminal stops processes and removes files", &[], interrupted),
        Case::new("a worker that waits for a pipe hears the first Ctrl-C", &[], silent_pipe),
        Case::new("a sweep is one table", &[], sweep),
        Case::new("the same seed gives the same data", &[], || same_seed("psync", 1)),
        Case::new("the same seed gives the same data through io_uring", &[Need::IoUring], || {
            same_seed("io_uring", 8)
        }),
        Case::new("nobody watches where that was declined", &[], unwatched),
        Case::new("a plan on standard input", &[], standard_input),
        Case::new("nothing is run when anything is wrong", &[], all_or_nothing),
    ]
}

fn unwatched() -> Outcome {
    let home = scratch();
    let text = "[target.f]\nfile = \"f\"\nsize = \"64KiB\"\nprepare = \"filled\"\n[[phase]]\n[[phase.job]]\non = \"f\"\ndo = \"write\"\n";
    let sightings = |name: &str, words: &[&str]| {
        run(home.path(), text, &[&["--json", name], words].concat()).expect(0, &[]);
        let json = std::fs::read(home.path().join(name)).expect("its record");
        let document: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        document["phases"][0]["sightings"].as_array().map_or(0, Vec::len)
    };
    let (watched, unwatched) =
        (sightings("with.json", &[]), sightings("without.json", &["--witness", "off"]));
    assert!(watched > 3 && unwatched == 0, "{watched} and {unwatched}");
    run(home.path(), text, &["--witness", "on"]).refused(&["--witness"]);
    Ok(())
}

fn examples() -> Outcome {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    let examples: Vec<_> = names(folder).into_iter().filter(|name| name.ends_with(".toml")).collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for name in examples {
        for expand in [&[][..], &["--expand"]] {
            let mut command = iodyno(["plan"]);
            let said = told({
                command.arg(folder.join(&name)).args(expand);
                command
            });
            said.expect(0, &["phase 1", "What it does", "How much"]);
            assert!(said.err.is_empty(), "{name}: {said}");
        }
    }
    Ok(())
}

fn tools() -> Outcome {
    let home = scratch();
    std::fs::write(
        home.path().join("job.fio"),
        "[a]\nrw=randread\nbs=4k\nsize=1g\nruntime=10\ntime_based\n",
    )?;
    std::fs::write(home.path().join("a"), vec![7; 4 << 20])?;
    let script = "define fileset name=f,path=.,entries=3,size=4k,dirwidth=10\ndefine process name=p\n{ thread name=t { \
                  flowop readwholefile name=r,filesetname=f } }\nrun 1\n";
    std::fs::write(home.path().join("w.f"), script)?;
    let ior = "ior -N 4 -t 1m -b 4m -s 3 -r -w -o x";
    let lines: &[(&str, &[&str])] = &[
        ("fio job.fio", &["uniform, no repeat", "will come from the page cache", "add direct=1"]),
        ("fio --name=w --rw=write --size=1m --zero_buffers", &["writes zeros", "refill_buffers"]),
        (
            &format!("{ior} -C"),
            &[
                "x, shared by 4 tasks: 3 segments of 4 blocks of 4 MiB = 48 MiB",
                "segment 2 │task 0 ····│",
                "each block: 4 transfers of 1 MiB, in order",
                "0←1, 1←2, 2←3, 3←0",
                "add -e",
            ],
        ),
        (
            &format!("{ior} -F"),
            &["one for each of 4 tasks: 3 blocks of 4 MiB = 12 MiB each", "each task reads its own data"],
        ),
        (&format!("{ior} -Z -X 5"), &["(task←owner): 0←"]),
        ("mdtest -n 10 -d t", &["phase 1", "What it changes"]),
        ("iozone -s 64k -r 4k -i 0 -f z", &["phase 1", "z"]),
        ("dd if=a of=b", &["phase 1", "Creates b", "reads of a (4 MiB) will come from the page cache"]),
        ("hdparm -t a", &["phase 1"]),
        ("iostat 1 2", &["only watches"]),
        ("filebench -f w.f", &["phase 1", "a script of"]),
        ("iperf3 -c 127.0.0.1", &["iperf3"]),
        ("netserver", &["agreed with its peers"]),
        ("age . --to 50%", &["It ages . until it is 50 % full"]),
        ("measure .", &["SEQ1M Q8T1 read", "What it changes"]),
    ];
    let before = names(home.path());
    for (line, words) in lines {
        let mut command = iodyno(["plan"]);
        command.args(line.split(' ')).current_dir(home.path()).env("COLUMNS", "100");
        let said = told(command);
        let words: Vec<&str> = words.to_vec();
        said.expect(0, &words);
        assert_eq!(names(home.path()), before, "{line}");
    }
    let mut command = iodyno(["plan", "fio", "--rw=nonsense", "--name=x"]);
    command.current_dir(home.path());
    told(command).expect(1, &["nonsense"]);
    Ok(())
}

fn file_like_a_tool() -> Outcome {
    let home = scratch();
    let text = "[target.a]\nfile = \"a\"\nsize = \"1MiB\"\nprepare = \"filled\"\n[[phase]]\n[[phase.job]]\non = \"a\"\n\
                do = \"read\"\n";
    std::fs::write(home.path().join("fio"), text)?;
    let explained = |word: &str| {
        let mut command = iodyno(["plan", word]);
        command.current_dir(home.path());
        told(command)
    };
    explained("./fio").expect(0, &["phase 1", "What it does"]);
    assert_ne!(explained("fio").status.code(), Some(0), "fio without a job");
    Ok(())
}

fn reads(device: &Device, engine: &str, more: &str) -> ProgramOutput {
    let home = scratch();
    let path = device.path().display();
    let text = format!(
        "[target.d]\nfile = \"{path}\"\ndirect = true\n[[phase]]\n[[phase.job]]\nname = \"reader\"\non = \"d\"\ndo = \"read\"\n\
         engine = \"{engine}\"\nuntil = {{ operations = 10 }}\n{more}\n"
    );
    run(home.path(), &text, &[])
}

fn failing(nth: u64) -> Result<Device, testbed::Skip> {
    Device::mount(Config::faulty(vec![Fault::Error {
        on: RequestKind::Read,
        pick: Pick::Nth(nth),
        errno: libc::EIO,
    }]))
}

fn input_output_error() -> Outcome {
    let device = failing(3)?;
    for processes in [false, true] {
        device.reset();
        let kind = format!("processes = {processes}\nerrors = \"continue\"");
        reads(&device, "psync", &kind)
            .expect(1, &["EIO, input/output error", "read", "first at offset 8,192", "[20]"]);
        assert_eq!(device.counts().reads, 10, "it went on, as it was told to");
        device.reset();
        reads(&device, "psync", &format!("processes = {processes}"))
            .expect(1, &["EIO", "first at offset 8,192"]);
        assert_eq!(device.counts().reads, 3, "the first error stops it");
    }
    Ok(())
}

fn error_through_io_uring() -> Outcome {
    let device = failing(2)?;
    reads(&device, "io_uring", "errors = \"continue\"").expect(1, &["EIO", "read", "first at offset 4,096"]);
    Ok(())
}

fn short() -> Outcome {
    let fault = Fault::Short { on: RequestKind::Read, pick: Pick::Nth(2), bytes: 512 };
    let device = Device::mount(Config::faulty(vec![fault]))?;
    let home = scratch();
    let json = home.path().join("r.json");
    let text = format!(
        "[target.d]\nfile = \"{}\"\ndirect = true\n[[phase]]\n[[phase.job]]\non = \"d\"\ndo = \"read\"\n\
         until = {{ operations = 10 }}\n",
        device.path().display()
    );
    run(home.path(), &text, &["--json", &json.display().to_string()]);
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(json)?)?;
    let text = record.to_string();
    assert!(text.contains("\"short\":1"), "{record:#}");
    Ok(())
}

/// A file on a disk with room for 2 MiB, of which `size` is wanted.
fn written(disk: &FullDisk, target: &str) -> (tempfile::TempDir, ProgramOutput) {
    let home = scratch();
    let file = disk.path().join("data");
    let text = format!(
        "[target.d]\nfile = \"{}\"\nsize = \"8MiB\"\nremove = true\n{target}\n[[phase]]\n[[phase.job]]\non = \"d\"\n\
         do = \"write\"\nblock = \"64KiB\"\n",
        file.display()
    );
    let told = run(home.path(), &text, &[]);
    (home, told)
}

fn no_space() -> Outcome {
    let disk = FullDisk::tmpfs(2 << 20)?;
    let (_home, told) = written(&disk, "create = true");
    told.expect(1, &["write failed once: ENOSPC, no space left; first at offset 2,097,152"]);
    assert_eq!(names(disk.path()), ["ballast"], "{told}");
    Ok(())
}

fn no_space_for_layout() -> Outcome {
    let disk = FullDisk::tmpfs(2 << 20)?;
    let (_home, told) = written(&disk, "prepare = \"filled\"");
    told.expect(1, &["No space left on device", "choose a smaller size"]).one_error();
    assert_eq!(names(disk.path()), ["ballast"], "{told}");
    Ok(())
}

/// Four processes that would work for an hour on a target that is not there: one that goes on to its end is never seen
/// to end.
fn processes() -> String {
    "[target.n]\nnothing = \"1TiB\"\n[[phase]]\n[[phase.job]]\nname = \"crowd\"\non = \"n\"\nengine = \"null\"\n\
     do = \"read\"\nworkers = 4\nprocesses = true\nuntil = { time = \"1h\" }\n"
        .into()
}

fn start(home: &Path, text: &str) -> Running {
    let mut command = iodyno(["run", "--quiet"]);
    command.arg(plan(home, text)).current_dir(home);
    Running::start(command)
}

fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn kill(pid: i32, signal: i32) {
    // SAFETY: the process is one that this test started.
    unsafe { libc::kill(pid, signal) };
}

/// Ticks of a processor that a process has used. Source: proc(5), fields 14 and 15 of `stat`.
fn ticks(pid: i32) -> u64 {
    ticks_of(&pid.to_string())
}

/// The same of a thread, by its place below `/proc`.
fn ticks_of(task: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{task}/stat")).unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

fn killed() -> Outcome {
    let home = scratch();
    let mut running = start(home.path(), &processes());
    let pid = running.pid();
    running.until("four workers at work", || {
        let workers = children(pid);
        workers.len() == 4 && workers.iter().all(|worker| ticks(*worker) > 0)
    });
    kill(children(pid)[1], libc::SIGKILL);
    // The others are stopped: they would go on for an hour.
    running.end().expect(1, &["killed by signal 9", "crowd, worker 1"]).expect(1, &["[20]"]);
    Ok(())
}

fn orphans() -> Outcome {
    let home = scratch();
    let mut running = start(home.path(), &processes());
    let pid = running.pid();
    let mut workers = Vec::new();
    running.until("four workers", || {
        workers = children(pid);
        workers.len() == 4
    });
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code(), 137);
    let lives = |pid: &i32| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
    };
    Ok(wait::until("the end of workers that lost their conductor", || !workers.iter().any(lives))?)
}

fn interrupted() -> Outcome {
    for processes in [true, false] {
        let home = scratch();
        let text = format!(
            "[target.d]\nfile = \"data-{{worker}}\"\nsize = \"1MiB\"\nprepare = \"filled\"\nremove = true\n\
             [target.s]\nfiles = \"set\"\ncount = 10\nprepare = \"filled\"\nremove = true\n\
             [[phase]]\n[[phase.job]]\nname = \"a\"\non = \"d\"\ndo = \"read\"\nworkers = 3\n\
             processes = {processes}\nuntil = {{ time = \"1h\" }}\n[[phase.job]]\nname = \"b\"\non = \"s\"\n\
             do = \"stat\"\nuntil = {{ time = \"1h\" }}\n"
        );
        let mut running = start(home.path(), &text);
        let pid = running.pid();
        running.until("four workers at work", || {
            workers(pid, processes).iter().filter(|used| **used > 0).count() >= 4
        });
        // A terminal tells everybody in the foreground.
        running.signal_all(libc::SIGINT);
        let told = running.end();
        told.expect(130, &["signal 2"]);
        assert_eq!(names(home.path()), ["plan.toml"], "{told}");
    }
    Ok(())
}

/// Ticks of a processor that each worker has used: the threads of a process without the first, or its children and the
/// one job that is no crowd.
fn workers(pid: i32, processes: bool) -> Vec<u64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = threads.filter_map(|thread| thread.file_name().to_string_lossy().parse::<i32>().ok());
    let threads =
        threads.filter(|thread| *thread != pid).map(|thread| ticks_of(&format!("{pid}/task/{thread}")));
    let children = children(pid).into_iter().filter(|_| processes).map(ticks);
    threads.chain(children).collect()
}

/// A pipe that is open and never written to: a read of it would never end by itself.
fn silent_pipe() -> Outcome {
    for processes in [false, true] {
        let home = scratch();
        let text = format!(
            "[target.d]\ndescriptor = 0\n[[phase]]\n[[phase.job]]\non = \"d\"\ndo = \"read\"\npick = \"stream\"\n\
             processes = {processes}\nuntil = {{ time = \"1h\" }}\n"
        );
        let mut run = iodyno(["run", "--quiet"]);
        run.arg(plan(home.path(), &text));
        let mut dd = iodyno(["dd", "of=/dev/null"]);
        dd.env("IODYNO_FINDINGS", "0");
        for (command, words) in [(run, &["signal 2"][..]), (dd, &["0+0 records in", "0 bytes"])] {
            stopped_while_it_reads(command, words)?;
        }
    }
    Ok(())
}

fn stopped_while_it_reads(command: std::process::Command, words: &[&str]) -> Outcome {
    let (silence, _writer) = std::io::pipe()?;
    let mut running = Program::new(command).input(silence).start();
    let pid = running.pid();
    let waits = |task: i32| {
        let place = std::fs::read_to_string(format!("/proc/{task}/wchan"));
        place.is_ok_and(|place| place.contains("pipe_read"))
    };
    running.until("a read that waits", || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let threads = threads.filter_map(|thread| thread.file_name().to_string_lossy().parse().ok());
        threads.chain(children(pid)).any(waits)
    });
    running.signal(libc::SIGINT);
    // It does not wait for the pipe, which says nothing for as long as this test lives.
    let told = running.end();
    told.expect(130, words);
    assert!(!format!("{told}").contains("nterrupted"), "the end is no error\n{told}");
    Ok(())
}

fn sweep() -> Outcome {
    let home = scratch();
    let text = "[target.n]\nnothing = \"1TiB\"\n[[phase]]\nname = \"reads\"\n[[phase.job]]\non = \"n\"\nengine = \"null\"\n\
                do = \"read\"\nuntil = { operations = 10000 }\n[[sweep]]\ndepth = [1, 4, 16]\n";
    let told = run(home.path(), text, &[]);
    told.expect(0, &["depth"]);
    let starts = |row: &&str| ["1 ", "4 ", "16 "].iter().any(|depth| row.trim_start().starts_with(depth));
    let heads = told
        .out
        .lines()
        .filter(|line| line.trim_start().starts_with("depth") && line.contains("IOPS"))
        .count();
    assert_eq!((heads, told.out.lines().filter(starts).count()), (1, 3), "{told}");
    Ok(())
}

fn same_seed(engine: &str, depth: u32) -> Outcome {
    let written = |more: &[&str]| {
        let home = scratch();
        let text = format!(
            "seed = 7\n[target.d]\nfile = \"data\"\nsize = \"4MiB\"\ncreate = true\n[[phase]]\n[[phase.job]]\non = \"d\"\n\
             engine = \"{engine}\"\ndepth = {depth}\ndo = \"write\"\npick = \"random\"\nblock = \"4KiB\"\n"
        );
        run(home.path(), &text, more).expect(0, &["4 MiB"]);
        let data = home.path().join("data");
        assert_eq!(data.metadata().expect("what was written").len(), 4 << 20);
        fingerprint(&data)
    };
    let first = written(&[]);
    assert_eq!(written(&[]), first);
    assert_ne!(written(&["--seed", "8"]), first);
    Ok(())
}

fn standard_input() -> Outcome {
    let home = scratch();
    let path = plan(
        home.path(),
        "[target.n]\nnothing = \"1GiB\"\n[[phase]]\n[[phase.job]]\non = \"n\"\nengine = \"null\"\n\
                                  do = \"read\"\nuntil = { operations = 5 }\n",
    );
    Program::new(iodyno(["run", "-"])).input(std::fs::File::open(path)?).run().expect(0, &["null"]);
    told(iodyno(["run", "-"])).refused(&["standard input"]);
    Ok(())
}

fn all_or_nothing() -> Outcome {
    let home = scratch();
    let text = "[target.d]\nfile = \"made\"\nsize = \"1MiB\"\nprepare = \"filled\"\n[[phase]]\n[[phase.job]]\non = \"d\"\n\
                do = \"read\"\n[[phase]]\n[[phase.job]]\non = \"d\"\nengine = \"warp\"\ndo = \"read\"\n";
    let told = run(home.path(), text, &["--json", "r.json"]);
    told.expect(2, &["no engine `warp`"]).one_error();
    assert_eq!(names(home.path()), ["plan.toml"]);
    Ok(())
}
