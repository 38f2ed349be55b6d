//! Real clients of fio, unmodified: what they make of the original's output, they must make of ours.
//!
//! The scripts of Debian's fio package and PyPI's fio-plot are run as they are; wrappers that cannot be installed here
//! are re-stated in `reading`. Each check passes with the original first: one that fails there proves nothing. What
//! cannot be had (no network, no gnuplot) is counted as skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use testbed::{Case, Need, Outcome, Skip};

use crate::differences::{Known, Mismatch};
use crate::output::Output;
use crate::program::{Fio, Program, ProgramOutput, Sandbox};
use crate::{pairs, reading};

/// Where Debian puts the scripts that are not on the path.
const SCRIPTS: &str = "/usr/share/doc/fio";

/// Why a check could not be made, or what it found.
enum Trouble {
    Lacking(Skip),
    Found(String),
}

impl From<Skip> for Trouble {
    fn from(skip: Skip) -> Trouble {
        Trouble::Lacking(skip)
    }
}

impl From<&str> for Trouble {
    fn from(said: &str) -> Trouble {
        Trouble::Found(said.to_string())
    }
}

impl From<String> for Trouble {
    fn from(said: String) -> Trouble {
        Trouble::Found(said)
    }
}

type Check = fn(&Fio) -> Result<(), Trouble>;

pub fn cases() -> Vec<Case> {
    let checks: &[(&str, &'static [Need], Check)] = &[
        ("client_kubestr_schema", &[], kubestr),
        ("client_yabs_columns", &[], yabs),
        ("client_tkperf_columns", &[], tkperf),
        ("client_phoronix_text", &[], phoronix),
        ("client_disk_mark_json", &[], disk_mark),
        ("client_jsonplus_clat2csv", &[Need::Tool("fio_jsonplus_clat2csv")], clat2csv),
        ("client_fiologparser", &[Need::Tool("python3")], fiologparser),
        ("client_fiologparser_hist", &[Need::Tool("python3")], fiologparser_hist),
        ("client_histo_log_pctiles", &[Need::Tool("python3")], histo_log_pctiles),
        ("client_generate_plots", &[Need::Tool("gnuplot"), Need::Tool("fio_generate_plots")], generate_plots),
        ("client_verify_state", &[Need::Tool("fio-verify-state")], verify_state),
        ("client_bench_fio_and_plots", &[Need::Tool("python3")], bench_fio),
    ];
    checks
        .iter()
        .map(|(name, needs, check)| Case::new(*name, needs, move || both(name, *check)).against())
        .collect()
}

/// The original first, then ours.
fn both(name: &str, check: Check) -> Outcome {
    let (reference, candidate) = (Fio::reference()?, Fio::candidate()?);
    match check(&reference) {
        Ok(()) => {}
        Err(Trouble::Lacking(skip)) => return Err(skip.into()),
        Err(Trouble::Found(said)) => return Err(format!("with the original: {said}").into()),
    }
    let wrong = match check(&candidate) {
        Ok(()) => Vec::new(),
        Err(Trouble::Lacking(skip)) => return Err(skip.into()),
        Err(Trouble::Found(said)) => vec![Mismatch::new("client", said)],
    };
    let known = Known::read();
    let (left, _) = known.forgive(name, wrong);
    pairs::end(&known, name, &left)
}

fn run(fio: &Fio, sandbox: &Sandbox, line: &str) -> Result<ProgramOutput, String> {
    let said = fio.run(sandbox, line.split_ascii_whitespace())?;
    if said.code() == 0 {
        Ok(said)
    } else {
        Err(format!("`fio {line}` ends with {}: {}", said.code(), said.err))
    }
}

/// Runs a script in the sandbox; its output, when it succeeds.
fn script(sandbox: &Sandbox, program: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(words).current_dir(sandbox.path());
    let said = Program::new(command).outcome()?;
    if said.code() == 0 {
        return Ok(said.out);
    }
    let last = said.err.trim().lines().last().unwrap_or_default().to_string();
    Err(format!("{} {}: status {}: {last}", program.display(), words.join(" "), said.code()))
}

fn wanted(holds: bool, said: impl Into<String>) -> Result<(), Trouble> {
    if holds { Ok(()) } else { Err(Trouble::Found(said.into())) }
}

/// One of Debian's compressed scripts, put into the sandbox.
fn unpack(sandbox: &Sandbox, name: &str) -> Result<PathBuf, Skip> {
    let packed = Path::new(SCRIPTS).join(format!("{name}.gz"));
    match Program::of("gzip", ["-dc".as_ref(), packed.as_os_str()]).outcome() {
        Ok(said) if said.code() == 0 => {
            sandbox.put(name, said.out.as_bytes());
            Ok(sandbox.path().join(name))
        }
        _ => Err(Skip::new(format!("{} is not installed", packed.display()))),
    }
}

fn kubestr(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = Sandbox::new();
    let job = "[global]\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ngtod_reduce=1\n[job1]\nname=read_iops\nbs=4K\n\
               iodepth=8\nsize=1M\nreadwrite=randread\nramp_time=0s\nruntime=5s\n";
    sandbox.put("kubestr.fio", job.as_bytes());
    let said = run(fio, &sandbox, "--directory . kubestr.fio --output-format=json")?;
    let first = said.out.lines().next().unwrap_or_default().to_string();
    wanted(first == "{", format!("its output begins with `{first}`, not with a document"))?;
    let wrong = reading::kubestr(&Output::read(&said.out).document()?);
    wanted(wrong.is_empty(), wrong.join("; "))
}

fn yabs(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = Sandbox::new();
    let line = "--name=rand_rw_4k --ioengine=libaio --rw=randrw --rwmixread=50 --bs=4k --iodepth=16 --numjobs=2 \
                --size=4m --runtime=30 --gtod_reduce=1 --direct=1 --filename=test.fio --group_reporting --minimal";
    let said = run(fio, &sandbox, line)?;
    let columns =
        reading::yabs(&said.out, "rand_rw_4k").ok_or("no line with the job's name and its columns")?;
    wanted(columns.iter().all(|value| *value > 0.0), format!("bandwidths and IOPS {columns:?}"))?;
    let block = |bandwidth: f64, rate: f64| (bandwidth / rate - 4.0).abs() < 0.2;
    let consistent = block(columns[0], columns[1]) && block(columns[2], columns[3]);
    wanted(consistent, format!("bandwidth is not 4 KiB times IOPS: {columns:?}"))
}

fn tkperf(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = Sandbox::new();
    let line = "--minimal --numjobs=1 --group_reporting --norandommap --ioengine=libaio --iodepth=4 --direct=1 \
                --name=round --filename=tk --bs=8k --rw=randrw --rwmixread=65 --size=4m";
    let said = run(fio, &sandbox, line)?;
    let columns = said.out.lines().find_map(reading::tkperf).ok_or("no line with its columns")?;
    let [read_bw, read_iops, read_max, read_mean, write_bw, write_iops, write_max, write_mean] = columns;
    wanted(
        read_iops > write_iops && write_iops > 0.0,
        format!("IOPS {read_iops} and {write_iops} of 65 and 35 %"),
    )?;
    wanted((read_bw / read_iops - 8.0).abs() < 0.4, format!("reads: {read_bw} KiB/s at {read_iops} IOPS"))?;
    wanted(
        (write_bw / write_iops - 8.0).abs() < 0.4,
        format!("writes: {write_bw} KiB/s at {write_iops} IOPS"),
    )?;
    wanted(
        read_max >= read_mean && write_max >= write_mean && read_mean > 0.0,
        format!("latencies {columns:?}"),
    )
}

fn phoronix(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = Sandbox::new();
    let job = "[global]\nrw=randread\nioengine=libaio\niodepth=16\nsize=2m\ndirect=1\nstartdelay=0\nramp_time=0\n\
               runtime=5\ndisk_util=0\nclat_percentiles=0\ndisable_lat=1\ndisable_clat=1\ndisable_slat=1\n\
               filename=fiofile\n[test]\nname=test\nbs=4k\nstonewall\n";
    sandbox.put("test.fio", job.as_bytes());
    let said = run(fio, &sandbox, "test.fio")?;
    let (bandwidth, rate) = reading::phoronix(&said.out).ok_or("no `bw=` with a unit, or no `IOPS=`")?;
    // Three figures are printed, so three hold.
    wanted((bandwidth / rate - 4.0).abs() < 0.2, format!("{bandwidth} KiB/s at {rate} IOPS of 4 KiB"))
}

fn disk_mark(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = Sandbox::new();
    let version = run(fio, &sandbox, "--version")?.out;
    wanted(version.starts_with("fio-"), format!("--version says `{}`", version.trim()))?;
    let line = "--output-format=json --ioengine=libaio --direct=1 --randrepeat=0 --refill_buffers --end_fsync=1 \
                --rwmixread=70 --filename=mark --name=mark --size=4m --bs=64k --rw=write --iodepth=8 --numjobs=2 \
                --group_reporting";
    let document = Output::read(&run(fio, &sandbox, line)?.out).document()?;
    let figures = reading::disk_mark(&document, "write").ok_or("an error, or a key is missing")?;
    wanted(figures.iter().all(|figure| *figure > 0.0), format!("bandwidth, IOPS, latency {figures:?}"))
}

fn clat2csv(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = Sandbox::new();
    let line = "--output=out.json --output-format=json+ --ioengine=null --bs=4k --size=16m --slat_percentiles=1 \
                --clat_percentiles=1 --lat_percentiles=1 --name=one --rw=randrw --name=two --rw=read";
    run(fio, &sandbox, line)?;
    script(&sandbox, Path::new("fio_jsonplus_clat2csv"), &["out.json", "out.csv"])?;
    for (name, least) in [("out_job0.csv", 5), ("out_job1.csv", 5)] {
        let text =
            std::fs::read_to_string(sandbox.path().join(name)).map_err(|error| format!("{name}: {error}"))?;
        wanted(text.lines().count() >= least, format!("{name}: only {} lines", text.lines().count()))?;
    }
    let text = std::fs::read_to_string(sandbox.path().join("out_job1.csv")).unwrap_or_default();
    // The column of cumulated reads ends with all of them: 16 MiB in blocks of 4 KiB.
    wanted(text.contains(", 4096, "), "the bins of the reads do not add up to 4096")
}

/// Logs of one second, of every kind.
fn logs(fio: &Fio) -> Result<Sandbox, String> {
    let sandbox = Sandbox::new();
    let line = "--name=h --size=64k --bs=4k --runtime=2 --time_based --rw=randread --write_hist_log=h \
                --log_hist_msec=200 --write_bw_log=h --write_lat_log=h --write_iops_log=h --log_avg_msec=100 \
                --ioengine=libaio --iodepth=2";
    run(fio, &sandbox, line)?;
    Ok(sandbox)
}

/// Debian's copy knows logs of four columns, and fio 3.33 writes five: it must fail on both alike. Cut to four columns,
/// it must read both.
fn fiologparser(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = logs(fio)?;
    let parser = unpack(&sandbox, "fiologparser.py")?.display().to_string();
    let python = Path::new("python3");
    let whole = script(&sandbox, python, &[&parser, "-i", "500", "h_bw.1.log"]);
    wanted(whole.is_err(), "it reads a log of five columns, which it cannot")?;
    let text =
        std::fs::read_to_string(sandbox.path().join("h_bw.1.log")).map_err(|error| error.to_string())?;
    let cut: String =
        text.lines().map(|line| line.split(", ").take(4).collect::<Vec<_>>().join(", ") + "\n").collect();
    sandbox.put("four.log", cut.as_bytes());
    let said = script(&sandbox, python, &[&parser, "-i", "500", "-s", "four.log"])?;
    let values = said.lines().filter_map(|line| line.split(", ").nth(1)?.trim().parse::<f64>().ok());
    let count = values.filter(|value| *value > 0.0).count();
    wanted((3..=6).contains(&count), format!("two seconds in halves, and it found {count}: {said}"))
}

fn fiologparser_hist(fio: &Fio) -> Result<(), Trouble> {
    let python = environment()?.join("bin/python");
    let sandbox = logs(fio)?;
    let parser = unpack(&sandbox, "fiologparser_hist.py")?.display().to_string();
    let said = script(&sandbox, &python, &[&parser, "h_clat_hist.1.log"])?;
    let rows =
        said.lines().filter(|line| line.split(", ").count() == 9 && !line.starts_with("end-time")).count();
    wanted(rows >= 1, format!("no intervals in: {said}"))
}

fn histo_log_pctiles(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = logs(fio)?;
    let parser = unpack(&sandbox, "fio-histo-log-pctiles.py")?.display().to_string();
    let said = script(&sandbox, Path::new("python3"), &[&parser, "h_clat_hist.1.log"])?;
    wanted(said.contains("buckets per interval = 1856"), format!("not 1856 bins: {said}"))?;
    let rows = said.lines().filter_map(|line| line.split(',').nth(1)?.trim().parse::<u64>().ok());
    let samples: u64 = rows.sum();
    wanted(samples > 0, format!("no samples in: {said}"))
}

fn generate_plots(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = logs(fio)?;
    script(&sandbox, Path::new("fio_generate_plots"), &["title"])?;
    for kind in ["bw", "iops", "lat", "clat"] {
        let name = format!("title-{kind}.svg");
        let text = std::fs::read_to_string(sandbox.path().join(&name))
            .map_err(|error| format!("{name}: {error}"))?;
        wanted(text.contains("</svg>") && text.contains("<path"), format!("{name} has no curve"))?;
    }
    Ok(())
}

fn verify_state(fio: &Fio) -> Result<(), Trouble> {
    let sandbox = Sandbox::new();
    let line =
        "--name=vs --size=256k --bs=4k --rw=randwrite --verify=crc32c --verify_state_save=1 --number_ios=20";
    run(fio, &sandbox, line)?;
    let said = script(&sandbox, Path::new("fio-verify-state"), &["local-vs-0-verify.state"])?;
    for fact in ["Version:\t0x3", "Name:\t\tvs", "Number IOs:\t20", "Depth:\t\t1"] {
        wanted(said.contains(fact), format!("`{fact}` is not in: {said}"))?;
    }
    Ok(())
}

/// bench-fio runs a small matrix, and fio-plot draws every kind of plot from what it left.
fn bench_fio(fio: &Fio) -> Result<(), Trouble> {
    let bin = environment()?.join("bin");
    let sandbox = Sandbox::new();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", fio.link_into(sandbox.path()).display());
    let step = |program: &str, line: &str| {
        let mut command = Command::new(bin.join(program));
        command.args(line.split_ascii_whitespace()).current_dir(sandbox.path()).env("PATH", &path);
        command.env("MPLCONFIGDIR", sandbox.path()).env("MPLBACKEND", "Agg");
        let said = Program::new(command).outcome()?;
        let fault = said.out.contains("An error occurred") || said.code() != 0;
        if fault { Err(format!("{program} {line}: {}{}", said.out, said.err)) } else { Ok(said.out) }
    };
    // bench-fio names its job file in /tmp after the target: the name must be nobody else's.
    let target = format!("iodyno-{}-{}", std::process::id(), sandbox.path().display().to_string().len());
    let target = format!("{target}{}", sandbox.path().file_name().unwrap_or_default().to_string_lossy());
    sandbox.put(&target, &vec![1; 4 << 20]);
    let size = "--size 4M --runtime 1 --loginterval 200 --iodepth 1 4 --numjobs 1 2 --quiet";
    let benched =
        step("bench-fio", &format!("--target {target} --type file --mode randread --output out {size}"));
    let _ = std::fs::remove_file(format!("/tmp/{target}-tmpjobfile.fio"));
    benched?;
    let folder = format!("out/{target}/4k");
    let plots = [("-l", "-n 1 --show-cpu"), ("-N", "-d 4"), ("-H", "-d 1 -n 1"), ("-L", "-t iops")];
    for (kind, more) in plots {
        let picture = format!("plot{kind}.png");
        step("fio-plot", &format!("-i {folder} -T title -r randread {kind} {more} -o {picture}"))?;
        let bytes = std::fs::metadata(sandbox.path().join(&picture)).map_or(0, |about| about.len());
        wanted(bytes > 5000, format!("{picture} of {bytes} bytes is no picture"))?;
    }
    Ok(())
}

/// A virtual environment with what PyPI has, made once and kept with the build.
fn environment() -> Result<&'static Path, Skip> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-clients");
        if home.join("complete").is_file() {
            return Ok(home);
        }
        let steps = [
            ("python3".into(), vec!["-m", "venv", "--clear", home.to_str().unwrap_or_default()]),
            (
                home.join("bin/pip"),
                vec!["install", "--quiet", "--disable-pip-version-check", "fio-plot", "pandas"],
            ),
        ];
        for (program, words) in steps {
            let mut command = Command::new(program);
            command.args(words);
            let said = Program::new(command).outcome()?;
            if said.code() != 0 {
                let last = said.err.trim().lines().last().unwrap_or("no reason given").to_string();
                return Err(format!("fio-plot cannot be installed from PyPI: {last}"));
            }
        }
        std::fs::write(home.join("complete"), "").map_err(|error| error.to_string())?;
        Ok(home)
    });
    made.as_deref().map_err(|reason| Skip::new(reason.clone()))
}
