//! Scripts to plans, mistakes to messages, records to the report's lines.

use iodyno_model::{
    Action, Event, Item, JobRecord, Machine, Offset, PhaseRecord, Pick, Ranks, RunStart, SharedKind, Size,
    Stop, TargetKind, Verb, When, Workload, WorldFacts,
};
use iodyno_report::{NoFiles, Output, Reporter};

use super::*;

/// Holds one script, and how many clients there are.
struct World(String, u32);

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "x.f" => Ok(self.0.clone().into_bytes()),
            "part.f" => Ok(b"set $nfiles=7\n".to_vec()),
            _ => Err("no such file or directory".into()),
        }
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is read here".into())
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "SCRATCH").then(|| "/scratch".into())
    }
    fn machine(&self) -> Machine {
        Machine::default()
    }
    fn look(&self, _path: &str) -> Option<crate::PathFacts> {
        None
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
    fn world(&self) -> WorldFacts {
        let hosts = (0..self.1).map(|number| format!("h{number}")).collect();
        WorldFacts { hosts, nodes: (0..self.1).collect(), ..WorldFacts::default() }
    }
}

fn asked_of(clients: u32, script: &str, arguments: &[&str]) -> Result<Request, Vec<Diagnostic>> {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    request(&arguments, &mut World(script.into(), clients))
}

fn asked(script: &str, arguments: &[&str]) -> Result<Request, Vec<Diagnostic>> {
    asked_of(1, script, arguments)
}

fn run(script: &str) -> Box<Run> {
    run_of(1, script)
}

fn run_of(clients: u32, script: &str) -> Box<Run> {
    match asked_of(clients, script, &["-f", "x.f"]) {
        Ok(Request::Run(run)) => run,
        Ok(Request::Refuse { err, .. }) => panic!("{err}"),
        Ok(_) => panic!("no run"),
        Err(wrong) => panic!("{wrong:#?}"),
    }
}

fn wrong(script: &str) -> Vec<String> {
    wrong_of(1, script)
}

fn wrong_of(clients: u32, script: &str) -> Vec<String> {
    match asked_of(clients, script, &["-f", "x.f"]) {
        Ok(Request::Refuse { err, status: 1 }) => {
            let told = err.lines().filter_map(|line| line.strip_prefix("error: "));
            told.map(String::from).collect()
        }
        Ok(_) => panic!("nothing is wrong"),
        Err(wrong) => panic!("told without their places: {wrong:#?}"),
    }
}

/// A script with one thread that does this to a set.
fn thread(flowops: &str) -> String {
    format!(
        "define fileset name=set,path=/d,entries=100,dirwidth=20,prealloc=80,size=4k\n\
         define process name=p {{ thread name=t,instances=3 {{ {flowops} }} }}\nrun 5\n"
    )
}

fn steps(run: &Run) -> Vec<(String, Option<Verb>)> {
    let Workload::Script(script) = &run.plan.phases[0].jobs[0].workload else { panic!("no script") };
    let verb = |step: &iodyno_model::Step| match &step.action {
        Action::Do(operation) => Some(operation.verb),
        _ => None,
    };
    script.steps.iter().map(|step| (step.label.clone(), verb(step))).collect()
}

#[test]
fn every_personality_becomes_a_plan() {
    for (name, text) in library::LIBRARY {
        let run = run(text);
        assert!(run.plan.phases.len() == 1 && !run.plan.phases[0].jobs.is_empty(), "{name}");
        assert!(text.lines().next().unwrap().starts_with("# "), "{name}: it says what it models");
        let asked = asked("", &["-f", name, "-D", "runtime=3"]);
        let Ok(Request::Run(run)) = asked else { panic!("{name}: not found by its name") };
        assert_eq!(run.plan.phases[0].jobs[0].limit.time_ns, Some(3_000_000_000), "{name}");
    }
}

#[test]
fn a_slot_that_nobody_opened_is_opened_by_a_step_of_its_own() {
    let run_of = |flowops: &str| steps(&run(&thread(flowops)));
    let step = |name: &str, verb| (name.to_string(), Some(verb));
    assert_eq!(
        run_of("flowop readwholefile name=r,filesetname=set flowop closefile name=c"),
        [step("r.open", Verb::Open), step("r", Verb::Read), step("c", Verb::Close)]
    );
    let held = run(&thread("flowop read name=r,filesetname=set,iosize=1k,random"));
    assert_eq!(steps(&held), [step("r.open", Verb::Open), step("r", Verb::Read)]);
    let Workload::Script(script) = &held.plan.phases[0].jobs[0].workload else { panic!() };
    let Action::Do(open) = &script.steps[0].action else { panic!() };
    assert!(open.arguments.iter().any(|(name, _)| name == "once"), "it stays open");
    let explicit = run_of("flowop openfile name=o,filesetname=set,fd=1 flowop read name=r,iosize=1k,fd=1");
    assert_eq!(explicit, [step("o", Verb::Open), step("r", Verb::Read)]);
}

#[test]
fn composites_have_variables_of_their_own() {
    let script = "define fileset name=set,path=${SCRATCH},entries=$nfiles,dirwidth=20\ninclude part.f\n\
        define flowop name=both,$set,$size=1k {\n flowop createfile name=c,filesetname=$set,fd=1\n\
         flowop append name=x\n}\n";
    assert_eq!(wrong(script), ["x.f:1: a script without a process"]);
    let script = script.replace("flowop append name=x\n", " flowop appendfile name=a,fd=1,iosize=$size\n")
        + "define process name=p { thread name=t { flowop both name=two,$set=set,$size=2k*2,iters=3 } }\nrun 1\n";
    let run = run(&script);
    let Workload::Script(script) = &run.plan.phases[0].jobs[0].workload else { panic!() };
    assert_eq!((script.steps[0].label.as_str(), script.steps[0].repeat), ("two", 3));
    let Action::Block(inner) = &script.steps[0].action else { panic!("no block") };
    let Action::Do(append) = &inner[1].action else { panic!() };
    assert_eq!(
        (inner[1].label.as_str(), &append.size, &append.offset),
        ("two.a", &Size::Fixed(4096), &Offset::End)
    );
    let TargetKind::FileSet { root, items } = &run.plan.targets[0].kind else { panic!() };
    assert_eq!((root.as_str(), items.count), ("/scratch/set", 7), "set later, used later");
}

#[test]
fn limits_semaphores_and_ends_are_shared() {
    let script = "eventgen rate=100\nset mode quit firstdone\n".to_string()
        + &thread(
            "flowop deletefile name=d,filesetname=set flowop opslimit name=l \
             flowop semblock name=s,value=10,highwater=90 flowop sempost name=q,target=s,value=2,blocking \
             flowop finishoncount name=f,value=500,target=d",
        );
    let run = run(&script);
    let phase = &run.plan.phases[0];
    let kinds: Vec<_> = phase.shared.iter().map(|shared| (shared.name.as_str(), &shared.kind)).collect();
    assert_eq!(kinds[0], ("events", &SharedKind::Tokens { per_second: 100.0, queue_s: 5.0 }));
    assert_eq!(kinds[1], ("operations of d", &SharedKind::Done { of: vec!["d".into()], bytes: false }));
    assert_eq!(kinds[2], ("s", &SharedKind::Semaphore { initial: 0, most: 101, waiters: 3 }));
    assert_eq!((phase.stop.clone(), phase.jobs[0].workers), (Stop::FirstDone, 3));
    let Workload::Script(script) = &phase.jobs[0].workload else { panic!() };
    let Action::Do(delete) = &script.steps[0].action else { panic!() };
    assert!(matches!(delete.item, Item::Existing(_)) && delete.arguments[0].0 == "empty");
}

#[test]
fn twenty_mistakes_are_twenty_messages() {
    let lines = [
        "set $x",
        "defin x",
        "define fileset name=a",
        "define fileset name=b,path=/d,dirwidth=2,entires=5",
        "eventgen reit=5",
        "set $y=$nowhere",
        "run abc",
    ];
    let mut script: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let flowops = [
        "raed name=r",
        "read name=r,filesetname=none,iosize=1k",
        "read name=r,filesetname=good",
        "print name=w",
        "read name=r,filesetname=good,iosize=zzz",
        "read name=r,filesetname=good,iosize=$no",
        "sempost name=q",
        "wakeup name=w,target=nobody",
        "removedir name=l,filesetname=good",
        "closefile name=c,fd=7",
        "read name=r,filesetname=good,iosize=1k,indexed",
        "fsync name=s,fd=9",
        "read name=r,filesetname=good,iosize=1k,raandom",
    ];
    script +=
        "define fileset name=good,path=/d,dirwidth=2,entries=5\ndefine process name=p {\nthread name=t {\n";
    flowops.iter().for_each(|flowop| script += &format!("flowop {flowop}\n"));
    script += "}\n}\nrun 5\n";
    let found = wrong(&script);
    for number in (1..=7).chain(11..=23) {
        let place = format!("x.f:{number}:");
        assert!(found.iter().any(|wrong| wrong.starts_with(&place)), "line {number}: {found:#?}");
    }
    assert_eq!(found.len(), 20, "{found:#?}");
}

#[test]
fn what_is_slept_between_creating_and_shutting_down_is_a_run() {
    let head = thread("flowop statfile name=s,filesetname=set").replace("run 5\n", "");
    let script = head.clone()
        + "create filesets\ncreate processes\nsleep 3\nstats clear\nsleep 10\nstats snap\nsleep 20\nstats snap\n\
           stats directory /out\nstats dump x.txt\nstats command \"vmstat 1\"\nshutdown processes\nsleep 7\nrun 5\nquit\n";
    let run = run(&script);
    let limits: Vec<_> = run.plan.phases.iter().map(|phase| &phase.jobs[0].limit).collect();
    assert_eq!((limits[0].ramp_ns, limits[0].time_ns), (3_000_000_000, Some(30_000_000_000)));
    assert_eq!((limits[1].ramp_ns, limits[1].time_ns), (0, Some(5_000_000_000)));
    assert_eq!(run.plan.phases[1].pause_ns, 7_000_000_000, "nothing runs then: it is a pause");
    assert_eq!(run.interim_ns, 1_000_000_000, "what 3, 13 and 33 s have in common");
    let beside = &run.plan.phases[0].errands[0];
    assert_eq!((beside.when, beside.command.as_str()), (When::Beside, "vmstat 1"));
    // Counts that begin anew after a report are another run; what is created and never slept on runs nothing.
    let script =
        head.clone() + "create processes\nsleep 1\nstats snap\nstats clear\nsleep 2\nstats snap\nquit\n";
    assert_eq!(self::run(&script).plan.phases.len(), 2);
    assert_eq!(self::run(&(head + "create processes\nrun 5\n")).plan.phases.len(), 1);
}

#[test]
fn a_personality_that_is_loaded_is_run_by_what_loads_it() {
    let of = |script: &str| {
        let run = run(script);
        run.plan
            .phases
            .iter()
            .map(|phase| phase.jobs[0].limit.time_ns.unwrap() / 1_000_000_000)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("load varmail\nset $nfiles=10\nrun 3\n"), [3]);
    assert_eq!(of("load varmail\ncreate processes\nsleep 4\nstats snap\n"), [4]);
    assert_eq!(of("load varmail\n"), [60]);
}

#[test]
fn the_same_is_written_in_many_hands() {
    let of = |fileset: &str, flowop: &str| {
        let script =
            format!("set $n=7\n{fileset}\ndefine process name=p {{ thread name=t {{ {flowop} }} }}\nrun 5\n");
        let run = run(&script);
        let TargetKind::FileSet { root, items } = run.plan.targets[0].kind.clone() else { panic!("no set") };
        (root, items.count, items.present_percent, items.size, steps(&run))
    };
    let plain = of(
        "define fileset name=set7,path=/d,entries=100,dirwidth=20,prealloc=100,size=4096",
        "flowop statfile name=s,filesetname=set7",
    );
    for (fileset, flowop) in [
        (
            "DEFINE Fileset Name = \"set$n\" ,\tPath=/d,\r\n Entries=\n 100,dirwidth=20,prealloc=TRUE,size=4K,",
            "FlowOp StatFile name=s,filesetname=set$n,",
        ),
        (
            "define filesets name=set${n},path=\"/$word\",entries=10*10,dirwidth=20,prealloc,\\\n size=4k",
            "flowop statfile filesetname=\"set$(n)\",name=s",
        ),
    ] {
        assert_eq!(of(&format!("set $word=d\n{fileset}"), flowop), plain, "{fileset}");
    }
}

#[test]
fn a_mistake_hides_no_other_and_brings_none_along() {
    let lines = |script: &str| {
        let wrong = wrong(script);
        wrong.iter().map(|wrong| wrong.split(':').nth(1).unwrap().parse().unwrap()).collect::<Vec<u32>>()
    };
    // A value that is missing at the end of a line costs that line alone, and so does a sum without its end.
    let flowops = "\nflowop read name=a,filesetname=set,iosize=\nflowop write name=b,filesetname=set,iosize=4k,dsynk\n\
                   flowop\nflowop read name=c,filesetname=sett,iosize=4k\nflowop iopslimit name=l,target=nobody\n";
    assert_eq!(lines(&thread(flowops)), [3, 4, 5, 6, 7]);
    assert_eq!(lines("set $b=3*\nset $c=1/0\nset =5\nsleep\nstats\nshutdown now\n")[..], [1, 2, 3, 4, 5, 6]);
    // A brace that is missing is told where it is missed, and what follows is read.
    let text = "define process name=p {\n thread name=t {\n  flowop statfile name=s,filesetname=x\n }\n\
                define process name=q {\n thread name=t {\n  flowop statfile name=s,filesetname=y\n }\n}\nrnu 5\n";
    assert_eq!(lines(text), [5, 7, 10]);
}

#[test]
fn the_report_is_laid_out_as_the_original_s() {
    let view = view::ReportContext {
        parts: vec![view::RunReport {
            lines: vec!["Varmail personality".into()],
            processes: vec![("filereader".into(), 1)],
            rows: vec![
                view::BreakdownRow {
                    label: "readfile4".into(),
                    class: flowops::FlowopClass::Read,
                    inner: vec![],
                    value: None,
                },
                view::BreakdownRow {
                    label: "limit".into(),
                    class: flowops::FlowopClass::Control,
                    inner: vec![],
                    value: None,
                },
            ],
            ..view::RunReport::default()
        }],
        ..view::ReportContext::default()
    };
    let mut reporter = TextReporter::new(view);
    let mut job = JobRecord { began_unix_ns: 1_143_000_000, ..JobRecord::default() };
    let line = job.tally.line_mut("readfile4", Verb::Read);
    (line.operations, line.bytes) = (2, 10 << 20);
    line.latency.add(1_000);
    line.latency.add(33_000);
    let (name, elapsed_ns) = ("run 1".into(), 5_000_000_000);
    let phase = PhaseRecord { name, jobs: vec![job], elapsed_ns, ..PhaseRecord::default() };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let started = RunStart { at_unix_ns: 1_000_000_000, ..RunStart::default() };
    for event in [Event::Started(Box::new(started)), Event::PhaseEnded(Box::new(phase))] {
        let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
        reporter.event(&event, &mut output).unwrap();
    }
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "Filebench Version 1.5-alpha3\n\
         0.000: Varmail personality\n\
         0.000: Starting 1 filereader instances\n\
         0.143: Running...\n\
         5.143: Run took 5 seconds...\n\
         5.143: Per-Operation Breakdown\n\
         limit                0ops        0ops/s   0.0mb/s    0.000ms/op [0.000ms - 0.000ms]\n\
         readfile4            2ops        0ops/s   2.0mb/s    0.017ms/op [0.001ms - 0.033ms]\n\
         5.143: IO Summary:     2 ops 0.400 ops/s 0/0 rd/wr   2.0mb/s 0.017ms/op\n\
         5.143: Shutting down processes\n"
    );
}

#[test]
fn a_report_that_is_missed_is_made_late_and_says_so() {
    let part = view::RunReport {
        rows: vec![view::BreakdownRow {
            label: "look".into(),
            class: flowops::FlowopClass::Io,
            inner: vec![],
            value: None,
        }],
        snaps: vec![0.3, 0.6, 0.9],
        time_s: 0.9,
        ..view::RunReport::default()
    };
    let phase = |tenths: u64| {
        let mut job = JobRecord { began_unix_ns: 1, ..JobRecord::default() };
        job.tally.line_mut("look", Verb::Stat).operations = tenths;
        let (name, elapsed_ns) = ("run 1".into(), tenths * 100_000_000);
        Box::new(PhaseRecord { name, jobs: vec![job], elapsed_ns, ..PhaseRecord::default() })
    };
    let told = |heard: &[u64], end: u64| {
        let mut reporter = TextReporter::new(view::ReportContext {
            parts: vec![part.clone()],
            ..view::ReportContext::default()
        });
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let events = heard.iter().map(|tenths| Event::Interim(phase(*tenths)));
        for event in events.chain([Event::PhaseEnded(phase(end))]) {
            let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
            reporter.event(&event, &mut output).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        (text.matches("IO Summary: ").count(), text.matches("WARNING! the report after 0.").count())
    };
    assert_eq!(told(&[3, 6], 9), (3, 0));
    assert_eq!(told(&[6], 9), (3, 1), "two at once");
    assert_eq!(told(&[], 9), (3, 2), "all at the end");
    assert_eq!(told(&[3], 9), (3, 1));
    // One that was interrupted did not come so far.
    assert_eq!(told(&[3], 4), (2, 0));
}

/// What the report says before the first run.
fn head(run: &mut Run) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
    run.reporter.event(&Event::Started(Box::default()), &mut output).unwrap();
    String::from_utf8(out).unwrap()
}

/// Two sets, of which one is left as it is.
const CLIENTS: &str = "define fileset name=mail,path=/d,entries=100,dirwidth=20,prealloc=80\n\
    define fileset name=web,path=/d,entries=10,dirwidth=20,prealloc,readonly\n\
    eventgen rate=50\n\
    define process name=p,instances=2 { thread name=t {\n\
     flowop deletefile name=d,filesetname=mail\n\
     flowop statfile name=s,filesetname=web\n\
     flowop eventlimit name=e\n\
     flowop sempost name=q,target=sem\n\
     flowop semblock name=sem,value=1\n\
    } }\n";

#[test]
fn clients_that_do_the_same_are_one_job_on_every_rank() {
    let mut run = run_of(3, &format!("{CLIENTS}run 5\n"));
    let roots: Vec<_> = run.plan.targets.iter().filter_map(|target| target.path()).collect();
    assert_eq!(roots, ["/d/client{rank}/mail", "/d/web"], "only what nobody changes is everybody's");
    let phase = &run.plan.phases[0];
    assert_eq!((phase.jobs.len(), phase.jobs[0].ranks, phase.jobs[0].workers), (1, Ranks::All, 2));
    assert!(phase.shared.len() == 2 && phase.shared.iter().all(|shared| shared.each_rank), "{phase:#?}");
    let told = head(&mut run);
    for line in [
        "3 clients: client0 on h0, client1 on h1, client2 on h2",
        "mail: each client has its own, /d/client0/mail to /d/client2/mail",
        "web: all clients share /d/web",
        "Starting 6 p instances",
    ] {
        assert_eq!(told.matches(line).count(), 1, "{line}: {told}");
    }
    assert_eq!(told.matches("mail populated").count(), 1, "{told}");
    let changed = CLIENTS.replace("statfile", "deletefile");
    let run = run_of(2, &format!("{changed}run 5\n"));
    assert_eq!(run.plan.targets[1].path(), Some("/d/client{rank}/web"), "somebody changes it after all");
    let alone = run_of(1, &format!("{CLIENTS}run 5\n"));
    assert_eq!(alone.plan.targets[0].path(), Some("/d/mail"));
    assert!(alone.plan.phases[0].shared.iter().all(|shared| !shared.each_rank));
}

#[test]
fn a_client_may_do_something_of_its_own() {
    let script = CLIENTS.replace("path=/d,entries=100", "path=\"/d/of$clientid\",entries=100*$nclients")
        + "system \"mkdir /d/$clienthost\"\nsystem \"sync\"\nrun 5\necho \"I am $clientid\"\n";
    let same = run_of(2, &script);
    let roots: Vec<_> = same.plan.targets.iter().filter_map(|target| target.path()).collect();
    assert_eq!(roots, ["{rank:/d/of0/mail|/d/of1/mail}", "/d/web"]);
    assert_eq!(same.plan.phases[0].jobs.len(), 1, "they differ by their paths alone");
    let errands: Vec<_> = same.plan.phases[0].errands.iter().map(|one| (one.rank, &*one.command)).collect();
    assert_eq!(errands, [(Some(0), "mkdir /d/h0"), (Some(1), "mkdir /d/h1"), (None, "sync")]);
    let other = run_of(2, &script.replace("rate=50", "rate=50*$clientid+1"));
    let phase = &other.plan.phases[0];
    let jobs: Vec<_> = phase.jobs.iter().map(|job| (job.name.as_str(), job.ranks)).collect();
    assert_eq!(jobs, [("client0.p.t", Ranks::Only(0)), ("client1.p.t", Ranks::Only(1))]);
    let shared: Vec<_> = phase.shared.iter().map(|shared| shared.name.as_str()).collect();
    assert_eq!(shared, ["client0.events", "client0.sem", "client1.events", "client1.sem"]);
    let Workload::Script(script) = &phase.jobs[1].workload else { panic!("no script") };
    let used = script.steps.iter().filter_map(|step| match &step.action {
        Action::Do(operation) => operation.shared.as_ref().map(|shared| shared.name.as_str()),
        _ => None,
    });
    assert_eq!(used.collect::<Vec<_>>(), ["client1.events", "client1.sem", "client1.sem"]);
}

#[test]
fn clients_meet_where_the_script_says() {
    let script = format!(
        "enable multi master=h0,client=\"c$clientid\"\nsystem \"a\"\ndomultisync value=1\nsystem \"b\"\n\
         create files\nsystem \"c\"\n{CLIENTS}domultisync value=2\nrun 5\n"
    );
    let mut run = run_of(2, &script);
    let errands = run.plan.phases[0].errands.iter();
    let errands: Vec<_> = errands.map(|one| (one.when, &*one.command, one.meets)).collect();
    let before = When::BeforeLayout;
    assert_eq!(errands, [(before, "a", false), (before, "b", true), (When::BeforeStart, "c", false)]);
    assert!(run.messages.is_empty(), "{:?}", run.messages);
    let told = head(&mut run);
    assert!(told.contains("2 clients: c0 on h0, c1 on h1\n"), "{told}");
    assert!(told.contains("Sync point 1: all 2 clients") && told.contains("Sync point 2: all 2"), "{told}");
    let run = run_of(3, &script.replace("h0,client=\"c$clientid\"", "h2,client=c"));
    let notes: Vec<_> = run.messages.iter().map(|note| note.to_string()).collect();
    assert!(notes.len() == 2 && notes[0].contains("client=c names all 3 clients"), "{notes:?}");
    assert!(notes[1].contains("the first client is on h0") && notes[1].contains("with h2"), "{notes:?}");
    // One alone runs as it is, and says so: in the report, and beside it once.
    let mut run = run_of(1, &script);
    assert_eq!(run.messages.len(), 1, "{:?}", run.messages);
    assert!(run.messages[0].to_string().contains("mpirun -n 3"), "{:?}", run.messages);
    assert!(head(&mut run).contains("Client c0 of master h0: it is the only one here\n"));
    assert_eq!(
        wrong_of(2, &format!("domultisync value=$clientid\n{CLIENTS}run 5\n")),
        ["x.f:1: domultisync: client 0 and client 1 do not meet at the same points"]
    );
    assert_eq!(
        wrong(&format!(
            "enable multi client=c\ndomultisync valu=1\nenable multi master,client=x\n{CLIENTS}run 5\n"
        )),
        [
            "x.f:1: enable multi without master=",
            "x.f:2: domultisync has no `valu`",
            "x.f:2: domultisync without value=",
            "x.f:3: enable multi without master=",
        ]
    );
}

#[test]
fn what_is_wrong_on_all_clients_is_told_once() {
    let script = format!("set $x\n{CLIENTS}run abc\n");
    assert_eq!(wrong_of(5, &script).len(), 2, "{:?}", wrong_of(5, &script));
    let later = format!("{CLIENTS}run 10/(1-$clientid)\n");
    assert_eq!(wrong_of(3, &later), ["x.f:11: client 1: 10 / 0"]);
}

#[test]
fn what_is_picked_may_be_popular() {
    let picked = |flowop: &str| {
        let run = run(&thread(flowop));
        let Workload::Script(script) = &run.plan.phases[0].jobs[0].workload else { panic!("no script") };
        let Action::Do(operation) = &script.steps[0].action else { panic!("no operation") };
        operation.item.clone()
    };
    assert_eq!(picked("flowop statfile name=s,filesetname=set"), Item::Existing(Pick::Uniform));
    let zipf = Pick::Zipf { theta: 0.9, center: None };
    assert_eq!(picked("flowop statfile name=s,filesetname=set,skew=0.9"), Item::Existing(zipf));
    for skew in ["skew=0", "skew=1", "skew=11", "skew=0.9,opennext", "skew=0.9,indexed=3", "skew=much"] {
        let told = wrong(&thread(&format!("flowop openfile name=o,filesetname=set,{skew}")));
        assert_eq!(told.len(), 1, "{skew}: {told:?}");
    }
}

#[test]
fn what_fails_is_told_beside_the_report() {
    let mut run = run(&thread("flowop statfile name=s,filesetname=set"));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
    let failed = Diagnostic::error(&Origin::file("x.f", 1), "/d/set: it exists already").hint("name another");
    run.reporter.event(&Event::Message(failed), &mut output).unwrap();
    let told = String::from_utf8(err).unwrap();
    assert_eq!(told, "error: x.f:1: /d/set: it exists already\n hint: name another\n");
}

#[test]
fn files_are_made_with_the_mode_that_is_said() {
    let of =
        |mode: &str, flowop: &str| thread(flowop).replace("size=4k", &format!("size=4k,createmode={mode}"));
    let stat = "flowop statfile name=s,filesetname=set";
    for (said, bits) in [("644", 0o644), ("0600", 0o600), ("\"0755\"", 0o755), ("0", 0)] {
        assert_eq!(run(&of(said, stat)).plan.targets[0].open.permissions, Some(bits), "{said}");
    }
    assert_eq!(run(&thread(stat)).plan.targets[0].open.permissions, None);
    let variable = format!("set $mode=0640\n{}", of("$mode", stat));
    assert_eq!(run(&variable).plan.targets[0].open.permissions, Some(0o640));
    for nonsense in ["689", "rw", "17777", "-1"] {
        let told = wrong(&of(nonsense, stat));
        assert!(told.len() == 1 && told[0].contains("octal digits are expected"), "{nonsense}: {told:?}");
    }
    let made = run(&of("640", "flowop createfile name=c,filesetname=set,fd=1,createmode=600"));
    assert_eq!(made.plan.targets[0].open.permissions, Some(0o640));
    let Workload::Script(script) = &made.plan.phases[0].jobs[0].workload else { panic!() };
    let Action::Do(create) = &script.steps[0].action else { panic!() };
    assert!(create.arguments.contains(&("mode".into(), "600".into())), "{create:?}");
    for other in ["statfile name=s,filesetname=set", "delay name=d,value=1"] {
        let told = wrong(&thread(&format!("flowop {other},createmode=600")));
        assert!(told.len() == 1 && told[0].contains("makes no file"), "{told:?}");
    }
}

#[test]
fn sets_that_are_not_to_be_cached_begin_cold() {
    let cold = |cached: &str| {
        let script = thread("flowop readwholefile name=r,filesetname=set flowop closefile name=c")
            .replace("size=4k", &format!("size=4k{cached}"));
        run(&script).plan.targets.iter().any(|target| target.open.invalidate)
    };
    assert!(cold(",cached=false") && !cold(",cached") && !cold(""));
}

#[test]
fn a_mistake_is_told_without_its_consequences() {
    let told = |flowops: &str| wrong(&thread(flowops));
    let unknown = "flowop openfle name=o,filesetname=set,fd=1 flowop readwholefile name=r,fd=1";
    assert_eq!(told(unknown), ["x.f:2: no flowop `openfle`"]);
    let nowhere = "flowop openfile name=o,filesetname=sett,fd=1 flowop readwholefile name=r,fd=1";
    assert_eq!(told(nowhere), ["x.f:2: no file or fileset `sett`"]);
    assert_eq!(told("flowop closefile name=c,fd=banana"), ["x.f:2: fd=banana: a number is expected"]);
    let pathless = thread("flowop statfile name=s,filesetname=set").replace("path=/d,", "");
    assert_eq!(wrong(&pathless), ["x.f:1: a fileset without path="]);
    let rest = thread("flowop statfile name=s,filesetname=set")
        .replace("run 5", "eventgen rat=5\nenable lathst\neventgen rate=5,x=1\nrun 5");
    let rate = |line: u32, name: &str| format!("x.f:{line}: `{name}` where rate= is expected");
    assert_eq!(
        wrong(&rest),
        [rate(3, "rat"), "x.f:4: `lathst` where lathist or multi is expected".into(), rate(5, "x")]
    );
}

#[test]
fn pauses_last_as_long_as_a_variable_draws() {
    let script = "set $turns = randvar(type=uniform, min=30, mean=60)\n".to_string()
        + &thread(
            "flowop hog name=h,value=$turns flowop delay name=d,value=0.5 flowop hog name=fixed,value=300",
        );
    let run = run(&script);
    let Workload::Script(script) = &run.plan.phases[0].jobs[0].workload else { panic!() };
    let pause = |step: &iodyno_model::Step| match &step.action {
        Action::Do(operation) => (operation.time_ns, operation.drawn.clone()),
        _ => panic!("no operation"),
    };
    let all: Vec<_> = script.steps.iter().map(pause).collect();
    let drawn = (Size::Uniform { least_bytes: 30, most_bytes: 90, step_bytes: 1 }, 1.0 / 3.0);
    assert_eq!(all, [(0, Some(drawn)), (500_000_000, None), (100, None)]);
    assert_eq!(wrong(&thread("flowop hog name=h,value=often")), ["x.f:2: value=often: a number is expected"]);
}

#[test]
fn a_script_that_is_not_there_is_named_once() {
    let Ok(Request::Refuse { err, status: 1 }) = asked("", &["-f", "varmial.f"]) else { panic!() };
    assert_eq!(err.matches("varmial.f").count(), 1, "{err}");
    assert!(err.contains("personality varmail"), "{err}");
}

#[test]
fn semaphores_take_what_a_variable_draws() {
    let script = "set $n=randvar(type=uniform,min=2,mean=5)\nset $g=randvar(type=gamma,mean=40)\n\
         define process name=p {\n\
         thread name=a { flowop semblock name=room,value=$n,highwater=10 }\n\
         thread name=b { flowop sempost name=give,value=$g,target=room,blocking\n\
                         flowop sempost name=more,value=3,target=room }\n}\nrun 5\n";
    let run = run(script);
    let phase = &run.plan.phases[0];
    let operations = |job: usize| -> Vec<iodyno_model::Operation> {
        let Workload::Script(script) = &phase.jobs[job].workload else { panic!() };
        let of = |step: &iodyno_model::Step| match &step.action {
            Action::Do(operation) => (**operation).clone(),
            _ => panic!("no operation"),
        };
        script.steps.iter().map(of).collect()
    };
    let (wait, posts) = (operations(0), operations(1));
    let Some((Size::Uniform { least_bytes: 2, most_bytes: 8, .. }, _)) = wait[0].drawn else {
        panic!("{:?}", wait[0].drawn)
    };
    let (size, _) = posts[0].drawn.as_ref().unwrap();
    let most = size.most_bytes().expect("what is posted has a bound");
    assert!((100..400).contains(&most) && posts[0].arguments.is_empty(), "{most}");
    assert_eq!(posts[1].arguments, [("bounded".into(), "false".into())]);
    assert_eq!(posts[1].shared.as_ref().unwrap().amount, 3);
    // What is waited for, the high water, and room for a post while somebody waits.
    let SharedKind::Semaphore { most: room, .. } = phase.shared[0].kind else { panic!() };
    assert_eq!(room, 8 + 10 + most - 1);
}

/// Two threads: one that does this, and one that reads, writes and looks.
fn two_threads(flowops: &str) -> String {
    format!(
        "eventgen rate=100\n\
         define fileset name=set,path=/d,entries=100,dirwidth=20,prealloc,size=4k\n\
         define flowop name=both {{\n flowop read name=inner,filesetname=set,iosize=1k\n }}\n\
         define process name=p {{\n thread name=a {{ {flowops} }}\n thread name=b,instances=3 {{\n\
         flowop read name=get,filesetname=set,iosize=1k\n flowop statfile name=look,filesetname=set\n\
         flowop both name=pair\n flowop block name=bell\n }} }}\nrun 5\n"
    )
}

#[test]
fn a_target_is_any_flowop_of_the_script() {
    let shared = |flowops: &str| {
        let run = run(&two_threads(flowops));
        let of = |shared: &iodyno_model::SharedObject| match &shared.kind {
            SharedKind::Done { of, bytes } => Some((of.join(" "), *bytes)),
            _ => None,
        };
        run.plan.phases[0].shared.iter().filter_map(of).collect::<Vec<_>>()
    };
    for (flowop, count) in [
        ("finishoncount name=f,value=9,target=get", ("get", false)),
        ("finishonbytes name=f,value=9k,target=get", ("get", true)),
        ("finishoncount name=f,value=9,target=look", ("look", false)),
        ("finishoncount name=f,value=9,target=pair", ("pair", false)),
        ("finishonbytes name=f,value=9k,target=inner", ("pair.inner", true)),
        ("iopslimit name=f,target=get", ("get", false)),
        ("opslimit name=f,target=pair", ("pair", false)),
        ("bwlimit name=f,target=inner", ("pair.inner", true)),
    ] {
        assert_eq!(shared(&format!("flowop {flowop}")), [(count.0.to_string(), count.1)], "{flowop}");
    }
    // What the thread has itself goes first, and needs no count of all.
    let own = "flowop write name=get,filesetname=set,iosize=1k\n flowop bwlimit name=f,target=get";
    assert_eq!(shared(own), []);
    for (flowop, told) in [
        ("finishoncount name=f,value=9,target=gte", "target=gte: the script has no flowop of that name"),
        ("finishonbytes name=f,value=9,target=look", "target=look moves no data itself"),
        ("finishonbytes name=f,value=9,target=pair", "target=pair moves no data itself"),
        ("iopslimit name=f,target=look", "target=look moves no data itself"),
        ("sempost name=f,value=1,target=bell", "target=bell: a block is woken, not posted to"),
        ("wakeup name=f,target=get", "target=get: no flowop of that name waits"),
    ] {
        let wrong = wrong(&two_threads(&format!("flowop {flowop}")));
        assert!(wrong.len() == 1 && wrong[0].contains(told), "{flowop}: {wrong:?}");
    }
}

#[test]
fn what_is_printed_is_told_as_it_happens() {
    use iodyno_model::Said;
    let mut run = run(&thread("flowop print name=here,value=\"half way\""));
    let Workload::Script(script) = &run.plan.phases[0].jobs[0].workload else { panic!() };
    let Action::Do(print) = &script.steps[0].action else { panic!() };
    assert_eq!(print.arguments, [("says".into(), "half way".into())]);
    head(&mut run);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
    for (at_unix_ns, times) in [(7_100_000_000, 1), (8_200_000_000, 900)] {
        let (phase, label, text) = ("run 1".into(), "here".into(), "half way".into());
        let said = Said { phase, label, text, times, rank: 0, began_unix_ns: 7_000_000_000, at_unix_ns };
        run.reporter.event(&Event::Said(Box::new(said)), &mut output).unwrap();
    }
    let told = String::from_utf8(out).unwrap();
    let texts: Vec<&str> = told.lines().map(|line| line.split_once(": ").unwrap().1).collect();
    assert_eq!(texts, ["Running...", "here: half way", "here: half way (900 times)"], "{told}");
}

#[test]
fn what_is_quit_before_a_run_only_says() {
    let processes = thread("flowop statfile name=s,filesetname=set").replace("run 5", "");
    for script in ["echo hello\nquit\nrun 5\n".to_string(), processes + "echo hello\nquit\n"] {
        let Ok(Request::Print { out, status: 0 }) = asked(&script, &["-f", "x.f"]) else {
            panic!("{script}")
        };
        assert_eq!(out, "0.000: hello\n");
    }
}

#[test]
fn a_semicolon_may_end_a_line() {
    let script = thread("flowop statfile name=s,filesetname=set;").replace("\n", ";\n") + ";";
    assert_eq!(run(&script).plan.phases[0].jobs[0].workers, 3);
    let random = "set $n=cvar(type=cvar-normal,parameters=mean:900;sigma:30);\n".to_string()
        + &thread("flowop read name=r,filesetname=set,iosize=$n");
    assert_eq!(run(&random).plan.phases.len(), 1);
}

#[test]
fn a_composite_in_another_is_named_once() {
    let script = "define flowop name=in { flowop statfile name=s,filesetname=set }\n\
                  define flowop name=out { flowop in name=b }\n"
        .to_string()
        + &thread("flowop out name=a");
    let run = run(&script);
    let Workload::Script(script) = &run.plan.phases[0].jobs[0].workload else { panic!() };
    let Action::Block(inner) = &script.steps[0].action else { panic!() };
    let Action::Block(innermost) = &inner[0].action else { panic!() };
    assert_eq!(innermost[0].label, "a.b.s");
}

/// How often a composite runs is the caller's to say, in the caller's variables.
#[test]
fn a_composite_is_repeated_by_the_variables_of_its_caller() {
    let script = "define flowop name=in,$n=7,iters=$n { flowop statfile name=s,filesetname=set }\n\
                  define flowop name=out,$times=2 {\n flowop in name=b,iters=$times\n flowop in name=c,$n=$times\n \
                  flowop in name=d\n}\n"
        .to_string()
        + &thread("flowop out name=a,$times=3");
    let run = run(&script);
    let Workload::Script(script) = &run.plan.phases[0].jobs[0].workload else { panic!() };
    let Action::Block(inner) = &script.steps[0].action else { panic!() };
    let repeats: Vec<_> = inner.iter().map(|step| (step.label.as_str(), step.repeat)).collect();
    assert_eq!(repeats, [("a.b", 3), ("a.c", 3), ("a.d", 7)]);
}

#[test]
fn a_set_without_leaf_directories_is_listed_where_its_files_lie() {
    let run = run(&thread("flowop listdir name=l,filesetname=set\n flowop statdir name=s,filesetname=set"));
    assert_eq!(steps(&run), [("l".into(), Some(Verb::Readdir)), ("s".into(), Some(Verb::Readdir))]);
    let TargetKind::FileSet { items, .. } = &run.plan.targets[0].kind else { panic!("no set") };
    assert!(!items.directories && items.count == 100);
    assert!(wrong(&thread("flowop makedir name=m,filesetname=set"))[0].contains("no leafdirs"));
}

#[test]
fn a_preallocated_file_may_be_empty() {
    for size in ["size=0,prealloc", "size=0,prealloc,reuse", "prealloc,size=0"] {
        let script = format!("define file name=set,path=/d,{size}\n")
            + "define process name=p { thread name=t { flowop write name=w,filename=set,iosize=4k } }\nrun 1\n";
        let run = run(&script);
        let target = &run.plan.targets[0];
        assert!(target.open.create && target.prepare == iodyno_model::Prepare::Empty, "{size}: {target:?}");
    }
}

#[test]
fn numbers_that_cannot_be_are_told_as_such() {
    let of = |size: &str| {
        let told = wrong(&thread("flowop statfile name=s,filesetname=set").replace("size=4k", size));
        assert_eq!(told.len(), 1, "{told:?}");
        told[0].clone()
    };
    assert!(of("size=99999999999999999999").ends_with("more than any file system holds"));
    assert!(of("size=-4k").ends_with("less than nothing"));
    assert!(of("size=much").ends_with("a number is expected"));
}

#[test]
fn a_set_that_no_variable_names_is_one_mistake() {
    let told = wrong(&thread(
        "flowop openfile name=o,filesetname=$nowhere,fd=1\n flowop read name=r,fd=1,iosize=1k\n \
         flowop closefile name=c,fd=1",
    ));
    assert!(told.len() == 1 && told[0].contains("$nowhere"), "{told:?}");
}
