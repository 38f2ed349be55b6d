//! fio's live line and its records so far, of a simulated device: what a terminal and a log see of a run, at the times of
//! its own clock.

use iodyno_dialect::Request;
use iodyno_engine::{Options, run};
use iodyno_model::{Event, PhaseRecord, Setting};
use iodyno_report::{FilesInMemory, Output};

use crate::stage::{Nothing, compare, dialect};

/// When it began, by the wall clock: the only thing that is not simulated.
const BEGAN_UNIX_NS: u64 = 1_795_287_537_000_000_000;

/// What fio prints of a job whose engine is a simulated device, and the files that it writes.
fn printed(arguments: &str, service: &str) -> String {
    let words: Vec<String> = arguments.split_whitespace().map(String::from).collect();
    let Ok(Request::Run(mut asked)) = (dialect("fio").lower)(&words, &mut Nothing::at("10.0.0.1")) else {
        panic!("fio does not take `{arguments}`");
    };
    for job in asked.plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        job.engine = "sim".into();
        job.settings = vec![Setting::new("service", service)];
    }
    let options = Options {
        live_ns: asked.live_ns,
        interim_ns: asked.interim_ns,
        witness: false,
        ..Options::default()
    };
    let (mut out, mut err, mut files) = (Vec::new(), Vec::new(), FilesInMemory::default());
    let reporter = asked.reporter.as_mut();
    let mut tell = |event: &Event| {
        let event = at_its_time(event.clone());
        let mut output = Output { out: &mut out, err: &mut err, files: &mut files };
        reporter.event(&event, &mut output).expect("everything is in memory");
    };
    run(&asked.plan, &options, &mut tell).expect("the simulated device runs");
    let mut text = format!("$ fio {arguments}\n{}", String::from_utf8_lossy(&out).replace('\r', "<CR>\n"));
    for (name, bytes) in files.0 {
        text += &format!("# {name}\n{}", String::from_utf8_lossy(&bytes));
    }
    text + &String::from_utf8_lossy(&err)
}

/// An event as if it had been told at the time that it tells of.
fn at_its_time(mut event: Event) -> Event {
    match &mut event {
        Event::Started(started) => started.at_unix_ns = BEGAN_UNIX_NS,
        Event::Interim(phase) | Event::PhaseEnded(phase) => stand_still(phase),
        Event::Ended(record) => record.phases.iter_mut().for_each(stand_still),
        _ => {}
    }
    event
}

/// What the machine had to do with it, and when, is left out.
fn stand_still(phase: &mut PhaseRecord) {
    phase.jobs.iter_mut().for_each(|job| job.began_unix_ns = BEGAN_UNIX_NS);
    for worker in phase.jobs.iter_mut().flat_map(|job| &mut job.workers) {
        (worker.pid, worker.user_ns, worker.system_ns) = (4711, 0, 0);
        (worker.switches, worker.faults) = ((0, 0), (0, 0));
    }
}

const JOB: &str = "--name=j --ioengine=null --size=1g --rw=randread --bs=4k --time_based --runtime=6";

#[test]
fn the_live_line() {
    let text = printed(&format!("{JOB} --eta=always"), "100us");
    compare("fio-eta", &text);
    // Ten thousand a second of 4 KiB, at each second.
    assert!(text.contains("[r=39.1MiB/s][r=10.0k IOPS]"), "{text}");
}

#[test]
fn records_so_far() {
    compare("fio-status-interval", &printed(&format!("{JOB} --status-interval=2"), "100us"));
}

#[test]
fn logs_of_windows() {
    let logs = "--write_bw_log=j --write_iops_log=j --write_lat_log=j --log_avg_msec=500";
    compare("fio-logs", &printed(&format!("{JOB} {logs}"), "sequence:100us,300us"));
}
