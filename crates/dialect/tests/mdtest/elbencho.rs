//! elbencho: command lines become the plans, and records the texts and files, that `golden/elbencho` holds; the texts have the
//! shape of what the real one printed.

use iodyno_dialect::{DIALECTS, Request, Run, elbencho};
use iodyno_model::{
    Action, ErrorCount, JobRecord, Line, PhaseRecord, SeriesRow, Step, Tally, Verb, WorkerRecord, Workload,
};

use super::texts::reported;
use super::world::World;
use super::{golden, golden_answers, told_text};

fn answer(line: &str) -> Request {
    let words: Vec<String> = line.split(' ').skip(1).map(String::from).collect();
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "elbencho").unwrap();
    (dialect.lower)(&words, &mut World { also: Vec::new() }).unwrap_or_else(|wrong| panic!("{}", wrong[0]))
}

fn told(line: &str) -> String {
    match answer(line) {
        Request::Run(run) => {
            let notes: String = run.messages.iter().map(|note| format!("{note}\n")).collect();
            notes + &iodyno_report::plan::print(&run.plan)
        }
        Request::Print { out, status } => format!("status {status}, on standard output:\n{out}"),
        Request::Refuse { err, status } => format!("status {status}, on standard error:\n{err}"),
        Request::Hosts(there) => {
            let hosts = there.hosts.iter().map(|host| format!("{}:{}", host.name, host.slots));
            format!("sent to {}\n", hosts.collect::<Vec<_>>().join(" "))
        }
        _ => "neither run nor printed\n".into(),
    }
}

#[test]
fn golden_plans_of_elbencho() {
    golden_answers("golden/elbencho/plans.txt", told);
}

#[test]
fn golden_documents_of_elbencho() {
    golden("docs/elbencho.md", &elbencho::options::document());
    golden("golden/elbencho/help.txt", &elbencho::options::help(|name| name == "help-all").unwrap());
}

/// Every operation of a script by its label, as often as it is done by one thread.
fn count(steps: &[Step], times: u64, lines: &mut Vec<Line>) {
    for step in steps {
        let times = times * step.repeat.max(1);
        let (verb, bytes) = match &step.action {
            Action::Do(operation) => {
                let moved = operation.verb.moves_data() || operation.item_data.is_some();
                (operation.verb, if moved { operation.size.most_bytes().unwrap_or(0) } else { 0 })
            }
            Action::Block(steps) => {
                count(steps, times, lines);
                (Verb::Wait, 0)
            }
            Action::Call(_) => continue,
        };
        add(lines, &step.label, verb, times, bytes);
    }
}

fn add(lines: &mut Vec<Line>, label: &str, verb: Verb, times: u64, bytes: u64) {
    if !lines.iter().any(|line| line.label == label && line.verb == verb) {
        lines.push(Line::empty(label, verb));
    }
    let line = lines.iter_mut().find(|line| line.label == label && line.verb == verb).unwrap();
    line.operations += times;
    line.bytes += times * bytes;
    (0..times.min(100))
        .for_each(|number| line.latency.add(4000 * (verb as u64 % 5 + 1) + number * number * 500));
}

/// A phase of two threads, of which the first was done when two thirds of all was.
fn phase(run: &Run, index: usize) -> PhaseRecord {
    let plan = &run.plan.phases[index];
    let jobs = plan.jobs.iter().map(|job| {
        let mut lines = Vec::new();
        match &job.workload {
            Workload::Script(script) => count(&script.steps, u64::from(job.workers), &mut lines),
            Workload::Pattern(pattern) => {
                for share in &pattern.mix.shares {
                    let verb = share.verb;
                    add(&mut lines, verb.name(), verb, 640, 1 << 16);
                }
            }
            _ => {}
        }
        let worker = |number: u32| WorkerRecord {
            index: number,
            ended_ns: 54_713_000 + index as u64 * 1_500_000_000 - u64::from(number) * 10_000_000,
            ..WorkerRecord::default()
        };
        let row = |part: u64| SeriesRow {
            reads: part,
            read_bytes: part,
            writes: part,
            write_bytes: part,
            others: part,
            ..SeriesRow::default()
        };
        let mut tally = Tally { lines, ..Tally::default() };
        tally.series.interval_ns = 44_713_000 + index as u64 * 1_500_000_000;
        tally.series.rows = vec![row(2), row(1)];
        JobRecord {
            name: job.name.clone(),
            workers: (0..job.workers).map(worker).collect(),
            tally,
            began_unix_ns: 1_795_287_492_879_000_000,
            ..JobRecord::default()
        }
    });
    PhaseRecord {
        name: plan.name.clone(),
        index,
        repetition: plan.repetition,
        elapsed_ns: 55_000_000,
        jobs: jobs.collect(),
        ..PhaseRecord::default()
    }
}

fn printed(line: &str, change: impl Fn(&mut PhaseRecord)) -> String {
    let Request::Run(mut run) = answer(line) else { panic!("{line}: not run: {}", told(line)) };
    let written = reported(&mut run, &[], |run, index| {
        let mut phase = phase(run, index);
        change(&mut phase);
        phase
    });
    told_text(line, written, "")
}

#[test]
fn golden_texts_of_elbencho() {
    let failed = |phase: &mut PhaseRecord| {
        if phase.name == "READ" {
            let error = ErrorCount { verb: Verb::Open, errno: 2, count: 1, first_offset: 0, first_target: 0 };
            phase.jobs[0].tally.errors = vec![error];
            phase.jobs[0].workers[0].failure = Some("open dir/r0/d0/r0-f0: no such file or directory".into());
        }
    };
    let nothing = |_: &mut PhaseRecord| ();
    let text = [
        printed("elbencho -w -r -d -F -D --stat -t 2 -n 1 -N 2000 -s 4k -b 4k --lat --latpercent --latpercent9s 2 --lathisto --cpu \
             --csvfile c --jsonfile j --resfile r dir", nothing),
        printed("elbencho -w -r -F -t 2 -s 64m --allelapsed --lat big1", nothing),
        printed("elbencho -w -t 2 -n 2 -N 5 -s 10k -b 4k --rwmixpct 30 --dirstats --label a,b --csvfile c --jsonfile j --lat dir", nothing),
        printed("elbencho -w -t 2 --rwmixthr 1 -n 2 -N 5 -s 8k -b 4k --base10 --lat dir", nothing),
        printed("elbencho -w --sync -t 2 -s 64m -i 2 --nocsvlabels --csvfile c big1", nothing),
        printed("elbencho -r -F -t 2 -N 5 dir", failed),
        printed("elbencho -d -F -t 2 -n 0 -N 5 --no0usecerr dir", |phase| {
            phase.jobs.iter_mut().flat_map(|job| &mut job.workers).for_each(|worker| worker.ended_ns = 0);
        }),
    ]
    .concat();
    golden("golden/elbencho/texts.txt", &text);
}

/// Every number is one letter, and blanks before it count for nothing: a wide number is as good as a narrow one.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for line in text.lines() {
        let mut line: String =
            line.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
        for (long, short) in
            [("00", "0"), ("0.0", "0"), (" 0", "0"), ("0us", "0T"), ("0ms", "0T"), ("0s", "0T")]
        {
            while line.contains(long) {
                line = line.replace(long, short);
            }
        }
        masked += &(line + "\n");
    }
    masked
}

/// What the real one (3.1-10) printed of `-w -r -d -F -D --stat -t 2 -n 1 -N 2000 -s 4k -b 4k --lat --cpu`.
const REAL: &str = "\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
MKDIRS      Elapsed time     :         0ms         0ms
            Dirs/s           :       14705       14492
            Dirs total       :           2           2
            CPU util %       :           0           0
            Dirs latency     : [ min=4us avg=5us max=6us ]
---
WRITE       Elapsed time     :        44ms        54ms
            Files/s          :       89017       73111
            Throughput MiB/s :         347         285
            Total MiB        :          15          15
            Files total      :        4000        4000
            CPU util %       :         100         100
            Files latency    : [ min=4us avg=24us max=16.1ms ]
            IO latency       : [ min=2us avg=18us max=16.1ms ]
---
STAT        Elapsed time     :         2ms         2ms
            Files/s          :     1713062     1710132
            Files total      :        4000        4000
            CPU util %       :           0         100
            Files latency    : [ min=0us avg=0us max=30us ]
---
READ        Elapsed time     :        18ms        29ms
            Files/s          :      180002      134566
            Throughput MiB/s :         703         525
            Total MiB        :          12          15
            Files total      :        3253        4000
            CPU util %       :         100         100
            Files latency    : [ min=1us avg=9us max=16.0ms ]
            IO latency       : [ min=0us avg=3us max=12.4ms ]
---
RMFILES     Elapsed time     :         8ms        27ms
            Files/s          :      380159      143833
            Files total      :        3150        4000
            CPU util %       :         100         100
            Files latency    : [ min=1us avg=6us max=16.0ms ]
---
RMDIRS      Elapsed time     :         0ms         8ms
            Dirs/s           :        7299         247
            Dirs total       :           1           2
            CPU util %       :           0         100
            Dirs latency     : [ min=11us avg=13us max=15us ]
---
";

/// The same of `-w -r -F -t 2 -s 256m -b 1m --lat` on one file.
const REAL_SHARED: &str = "\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
WRITE       Elapsed time     :       367ms       372ms
            IOPS             :         675         686
            Throughput MiB/s :         675         686
            Total MiB        :         248         256
            IO latency       : [ min=458us avg=2.88ms max=35.5ms ]
---
READ        Elapsed time     :       125ms       134ms
            IOPS             :        1957        1905
            Throughput MiB/s :        1957        1905
            Total MiB        :         245         256
            IO latency       : [ min=197us avg=967us max=20.3ms ]
---
RMFILES     Elapsed time     :         0ms         0ms
            Files/s          :        7812        8032
            Files total      :           1           2
---
";

#[test]
fn texts_are_the_originals_but_for_numbers() {
    let line = "elbencho -w -r -d -F -D --stat -t 2 -n 1 -N 2000 -s 4k -b 4k --lat --cpu dir";
    let text = printed(line, |_| ());
    assert_eq!(masked(text.split_once('\n').unwrap().1.trim_end()), masked(REAL.trim_end()), "{text}");
    let text = printed("elbencho -w -r -F -t 2 -s 64m --lat big1", |_| ());
    let ours = text
        .split_once('\n')
        .unwrap()
        .1
        .replace("            Files latency    : [ min=12us avg=12us max=12us ]\n", "");
    assert_eq!(masked(ours.trim_end()), masked(REAL_SHARED.trim_end()), "{text}");
}

/// The real one's heading of CSV.
const REAL_CSV: &str = "\
ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,\
random aligned,IO depth,shared paths,truncate,operation,time ms [first],time ms [last],\
entries/s [first],entries/s [last],IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],\
CPU% [first],CPU% [last],entries [first],entries [last],MiB [first],MiB [last],Ent lat us [min],\
Ent lat us [avg],Ent lat us [max],IO lat us [min],IO lat us [avg],IO lat us [max],\
rwmix read entries/s [first],rwmix read entries/s [last],rwmix read IOPS [first],\
rwmix read IOPS [last],rwmix read MiB/s [first],rwmix read MiB/s [last],\
rwmix read entries [first],rwmix read entries [last],rwmix read MiB [first],\
rwmix read MiB [last],rwmix read Ent lat us [min],rwmix read Ent lat us [avg],\
rwmix read Ent lat us [max],rwmix read IO lat us [min],rwmix read IO lat us [avg],\
rwmix read IO lat us [max],version,command\n";

#[test]
fn columns_of_csv_are_the_originals() {
    let text = printed("elbencho -w -t 2 -N 10 -s 4k -b 4k --csvfile c dir", |_| ());
    let (_, csv) = text.split_once("in c:\n").unwrap();
    assert!(csv.starts_with(REAL_CSV), "{csv}");
    let row = csv.lines().nth(1).unwrap();
    assert_eq!(row.split(',').count(), REAL_CSV.split(',').count(), "{row}");
    assert!(row.starts_with("2026-11-21T"), "{row}");
    assert!(row.contains(",,dir,1,1,2,1,10,4096,4096,0,0,,1,,0,WRITE,"), "{row}");
}

const WORDS: [&str; 30] = [
    "-b",
    "-b4k",
    "-s",
    "9223372036854775807",
    "-1",
    "-N",
    "1g",
    "-F",
    "-d",
    "-w",
    "-r",
    "--rand",
    "--backward",
    "--strided",
    "--rwmixpct",
    "100",
    "--hosts",
    "a[1-3]",
    "[",
    "--verify",
    "--",
    "-",
    "=",
    "--infloop",
    "-i",
    "-ä",
    "--timelimit=1",
    "--iodepth",
    "big1",
    "dir",
];

/// Thousands of mangled command lines are answered, and none panics.
#[test]
fn mangled_command_lines_are_answered() {
    let mut state = 7_u64;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most.max(1)
    };
    let lines = [
        "elbencho -d -w --stat -r -F -D -t 3 -n 2 -N 4 -s 10k -b 4k dir a",
        "elbencho -w -r -t 2 -s 64m --rand --direct big1 big2",
        "elbencho -c options",
        "elbencho --s3endpoints http://h:1 -w -r -n 2 -N 3 bucket",
    ];
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "elbencho").unwrap();
    for round in 0..4000 {
        let mut words: Vec<String> =
            lines[round % lines.len()].split(' ').skip(1).map(String::from).collect();
        for _ in 0..=below(3) {
            let (at, new) = (below(words.len() + 1), WORDS[below(WORDS.len())].to_string());
            match below(3) {
                0 if at < words.len() => words[at] = new,
                1 if at < words.len() => drop(words.remove(at)),
                _ => words.insert(at, new),
            }
        }
        match (dialect.lower)(&words, &mut World { also: Vec::new() }) {
            Ok(Request::Refuse { err, status }) => {
                assert!(status != 0 && err.starts_with("error: "), "{words:?}: {err}");
            }
            Ok(_) => {}
            Err(wrong) => panic!("{words:?}: {}", wrong[0]),
        }
    }
}
