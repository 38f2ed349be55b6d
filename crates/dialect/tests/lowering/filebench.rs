//! filebench: a mail server with event tokens, named flowops, a composite and a random append.

use iodyno_model::{
    Action, Item, Items, Job, Limit, Offset, Operation, Per, Phase, Pick, Script, SharedKind, SharedObject,
    SharedUse, Size, Step, Stop, TargetKind, Tree, Verb, Workload,
};

use super::{golden, phase, plan, target};

const WORDS: &str = "
set mode quit firstdone
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
define fileset name=mail,path=/data,entries=1000,dirwidth=20,size=$filesize,prealloc=80
eventgen rate=200
define flowop name=deliver {
  flowop createfile name=create,filesetname=mail,fd=1
  flowop appendfilerand name=append,iosize=16k,fd=1
  flowop fsync name=sync,fd=1
  flowop closefile name=close,fd=1
}
define process name=server {
  thread name=mailer,memsize=10m,instances=16 {
    flowop eventlimit name=pace
    flowop deletefile name=delete,filesetname=mail
    flowop deliver name=deliver,iters=2
    flowop openfile name=open,filesetname=mail,fd=1
    flowop readwholefile name=read,fd=1,iosize=1m
    flowop closefile name=close,fd=1
    flowop bwlimit name=throttle,target=read
    flowop delay name=user,value=1
    flowop finishonbytes name=enough,value=1g,target=read
  }
}
run 60
";

fn next(pick: fn(Pick) -> Item) -> Item {
    pick(Pick::Sequential)
}

fn slot(verb: Verb, item: Item) -> Operation {
    Operation { item, handle: Some(1), ..Operation::on(verb, 0) }
}

fn held(verb: Verb) -> Operation {
    slot(verb, Item::Held)
}

fn deliver() -> Step {
    let append = Operation {
        offset: Offset::End,
        size: Size::Uniform { least_bytes: 0, most_bytes: 16 << 10, step_bytes: 1 },
        ..held(Verb::Write)
    };
    let steps = vec![
        slot(Verb::Create, next(Item::Missing)).step("create"),
        append.step("append"),
        held(Verb::Fsync).step("sync"),
        held(Verb::Close).step("close"),
    ];
    Step { label: "deliver".into(), action: Action::Block(steps), repeat: 2, origin: Default::default() }
}

/// One token of the generator for each MiB that `read` moved since the last time.
fn throttle() -> Operation {
    let used = SharedUse { per: Per::Bytes(1 << 20), of: Some("read".into()), ..SharedUse::new("events", 1) };
    Operation { shared: Some(used), ..Operation::control(Verb::Wait) }
}

#[test]
fn golden_a_mail_server() {
    let counted = SharedUse { per: Per::Bytes(1), ..SharedUse::new("read bytes", 1) };
    let read =
        Operation { size: Size::Fixed(1 << 20), whole: true, shared: Some(counted), ..held(Verb::Read) };
    let with = |verb, used| Operation { shared: Some(used), ..Operation::control(verb) };
    let steps = vec![
        with(Verb::Wait, SharedUse::new("events", 1)).step("pace"),
        Operation { item: next(Item::Existing), ..Operation::on(Verb::Unlink, 0) }.step("delete"),
        deliver(),
        slot(Verb::Open, next(Item::Existing)).step("open"),
        read.step("read"),
        held(Verb::Close).step("close"),
        throttle().step("throttle"),
        Operation { time_ns: 1_000_000_000, ..Operation::control(Verb::Think) }.step("user"),
        with(Verb::Finish, SharedUse::new("read bytes", 1 << 30)).step("enough"),
    ];
    let mailer = Job {
        workers: 16,
        limit: Limit { time_ns: Some(60_000_000_000), ..Limit::default() },
        ..Job::new("mailer", "psync", vec![0], Workload::Script(Script { actors: vec![], steps }))
    };
    let gamma = |mean_bytes| Size::Gamma { mean_bytes, shape: 1.5 };
    let items = Items {
        count: 1000,
        name: "{item}".into(),
        size: Size::Gamma { mean_bytes: 16384.0, shape: 1.5 },
        tree: Some(Box::new(Tree { depths: gamma(2.306), widths: gamma(20.0), seed: 1 })),
        present_percent: 80.0,
        ..Items::default()
    };
    let run = Phase {
        shared: vec![
            SharedObject::new("events", SharedKind::Tokens { per_second: 200.0, queue_s: 5.0 }),
            SharedObject::new("read bytes", SharedKind::Counter),
        ],
        stop: Stop::FirstDone,
        ..phase("run", vec![mailer])
    };
    let targets = vec![target("mail", TargetKind::FileSet { root: "/data/mail".into(), items })];
    golden("filebench-mail", WORDS, &plan("mail.f", 1, targets, vec![run]));
}
