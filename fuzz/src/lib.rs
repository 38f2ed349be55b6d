//! What reads text or bytes from outside, as functions of bytes: one [`Target`] for each parser.
//!
//! A target's input is what a user and his world might give: the first line are the arguments, all that follows is what
//! every file holds, what standard input says, and what a peer sends. Whatever it is, the answer is a plan, words or errors,
//! soon and without a panic. Nothing is run, and no file is touched.

mod peer;
mod seeds;
mod trace;
mod traces;
mod world;

use iodyno_dialect::{DIALECTS, Request, native};
use iodyno_model::Plan;
use iodyno_report::Reporter;

pub use seeds::{Seed, seeds};
use world::World;

/// A parser.
pub struct Target {
    /// Its name: a dialect's, or what is read.
    pub name: &'static str,
    /// Feeds it.
    pub feed: fn(&str, &[u8]),
    /// How many times as long as the others it takes for an input.
    pub cost: u64,
}

/// Every parser there is.
pub fn targets() -> impl Iterator<Item = Target> {
    let dialects = DIALECTS.iter().map(|dialect| Target {
        // No program that cargo builds has such a sign in its name.
        name: dialect.name.trim_end_matches('+'),
        feed: lower,
        // Rules are expanded to thousands of cases.
        cost: match dialect.name {
            // All their rules are read each time.
            "posix" => 100,
            "s3check" => 30,
            // A short command line is hundreds of phases.
            "iozone" | "filebench" | "bonnie++" => 8,
            // A few words are millions of draws.
            "postmark" => 30,
            _ => 1,
        },
    });
    let importers = traces::TARGETS.iter().map(|(name, _)| Target { name, feed: traces::feed, cost: 1 });
    dialects.chain(importers).chain([
        Target { name: "run", feed: |_, input| plan_file(input), cost: 1 },
        Target { name: "conversations", feed: |_, input| conversations(input), cost: 1 },
        Target { name: "import", feed: |_, input| import(input), cost: 1 },
        Target { name: "iot", feed: |_, input| trace::iot(input), cost: 1 },
        Target { name: "crash", feed: |_, input| crash_suite(input), cost: 20 },
        Target { name: "audit", feed: |_, input| audit(input), cost: 4 },
        Target { name: "dump", feed: |_, input| trace::dump(input), cost: 1 },
    ])
}

/// A file of recorded conversations.
fn conversations(input: &[u8]) {
    let read = iodyno_dialect::conversations::parse(&String::from_utf8_lossy(input), "mine.jsonl", 512);
    if let Err(wrong) = read {
        let wrong = wrong.to_string();
        assert!(wrong.contains("mine.jsonl:") && wrong.contains("\n hint: "), "{wrong}");
    }
}

/// A file of workloads: each of its steps is tried on the model.
fn crash_suite(input: &[u8]) {
    match iodyno_crash::script::read_suite("mine.toml", &String::from_utf8_lossy(input)) {
        Ok(_) => {}
        Err(error) => assert!(error.starts_with("mine.toml:") && error.contains("\n hint: "), "{error}"),
    }
}

/// Feeds the target of that name.
///
/// # Panics
/// There is none; or it has the defect that is sought.
pub fn feed(name: &str, input: &[u8]) {
    let target = targets().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no parser is called {name}")).feed)(name, input);
}

/// Lowers a command line and its files, as the door does.
fn lower(name: &str, input: &[u8]) {
    let (arguments, mut world) = World::of(input);
    let Some(dialect) = DIALECTS.iter().find(|dialect| dialect.name.trim_end_matches('+') == name) else {
        return;
    };
    if let Ok(request) = (dialect.lower)(&arguments, &mut world) {
        take(request, world.rest());
    }
}

/// What becomes of a request before anything is run.
fn take(request: Request, rest: &[u8]) {
    match request {
        Request::Run(run) => look(&run.plan),
        Request::Converse(converse) => peer::talk(converse.conversation, rest),
        Request::Repeat(mut repeat) => peer::talk((repeat.make)().conversation, rest),
        Request::Abroad(abroad) => {
            peer::talk((abroad.then)(&vec![5201; abroad.hosts.len()]).conversation, rest)
        }
        _ => {}
    }
}

/// A plan is printed and checked.
fn look(plan: &Plan) {
    iodyno_report::plan::print(plan);
    iodyno_engine::register(iodyno_conformance::ENGINES);
    let _ = iodyno_engine::check::check(plan);
}

/// A native plan, and what is said of it.
fn plan_file(input: &[u8]) {
    let (mut arguments, mut world) = World::of(input);
    arguments.insert(0, "plan.toml".into());
    let _ = native::plan(&arguments, &mut world);
    let maker = |_: &native::Manner| -> Box<dyn Reporter> { Box::new(Mute) };
    if let Ok(request) = native::run(&arguments, &mut world, &maker) {
        take(request, &[]);
    }
}

/// Pasted output and command lines of other tools: it is audited and told both ways, or refused with a hint.
fn audit(input: &[u8]) {
    let (_, mut world) = World::of(input);
    let text = String::from_utf8_lossy(world.rest()).into_owned();
    match iodyno_dialect::audit::audit("pasted", &text, Default::default(), &mut world) {
        Ok(audits) => {
            let columns = 80;
            assert!(!iodyno_dialect::audit::text(&audits, columns).is_empty());
            assert!(iodyno_dialect::audit::json(&audits).starts_with('{'));
        }
        Err(wrong) => assert!(wrong.hint.is_some(), "{wrong}"),
    }
}

/// A result of ours or of another tool.
fn import(input: &[u8]) {
    let (_, world) = World::of(input);
    let _ = iodyno_history::import::read("result.json", world.rest(), iodyno_dialect::import::READERS);
}

/// A reporter that is never asked.
struct Mute;

impl Reporter for Mute {
    fn event(
        &mut self,
        _event: &iodyno_model::Event,
        _output: &mut iodyno_report::Output<'_>,
    ) -> std::io::Result<()> {
        Ok(())
    }
}
