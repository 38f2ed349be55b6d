//! mdtest: items of a set, each operation by another rank than the one that created, in random order.

use iodyno_model::{
    Action, Item, Items, Job, Limit, Operation, Place, Ranks, Script, Size, Step, TargetKind, Verb,
    WorkerKind, Workload,
};

use super::{golden, phase, plan, target};

const WORDS: &str = "mdtest -d out -n 1000 -b 2 -z 1 -L -F -w 3901 -e 3901 -R 5 -N 1 -C -T -E -r";

fn job(name: &str, steps: Vec<Step>) -> Job {
    let script = Script { actors: Vec::new(), steps };
    Job { kind: WorkerKind::Processes, ..Job::new(name, "psync", vec![0], Workload::Script(script)) }
}

/// One step of a phase, done for each of the thousand items of a rank.
fn each(label: &str, parts: Vec<Operation>) -> Vec<Step> {
    let mut steps: Vec<_> = parts.into_iter().map(|part| part.clone().step(part.verb.name())).collect();
    let step = match steps.len() {
        1 => Step { label: label.into(), ..steps.remove(0) },
        _ => {
            Step { label: label.into(), action: Action::Block(steps), repeat: 1, origin: Default::default() }
        }
    };
    vec![Step { repeat: 1000, ..step }]
}

fn on(verb: Verb, item: Item) -> Operation {
    Operation { item, handle: Some(1), ..Operation::on(verb, 0) }
}

fn held(verb: Verb) -> Operation {
    on(verb, Item::Held)
}

fn bytes(operation: Operation) -> Operation {
    Operation { size: Size::Fixed(3901), ..operation }
}

#[test]
fn golden_random_order_and_shifted_ranks() {
    let by_name = |verb, item| Operation { item, ..Operation::on(verb, 0) };
    let create = each(
        "File creation",
        vec![on(Verb::Create, Item::Each), bytes(held(Verb::Write)), held(Verb::Close)],
    );
    let read =
        each("File read", vec![on(Verb::Open, Item::Shuffled), bytes(held(Verb::Read)), held(Verb::Close)]);
    let tree =
        |name, verb| Job { ranks: Ranks::Only(0), ..job(name, vec![by_name(verb, Item::Whole).step(name)]) };
    let shifted = |by, steps| Job { place: Place::ShiftRanks(by), seed: Some(5), ..job("rank", steps) };
    let phases = vec![
        phase("Tree creation", vec![tree("Tree creation", Verb::Mkdir)]),
        phase("File creation", vec![Job { limit: Limit::default(), ..job("rank", create) }]),
        phase("File stat", vec![shifted(1, each("File stat", vec![by_name(Verb::Stat, Item::Shuffled)]))]),
        phase("File read", vec![shifted(2, read)]),
        phase(
            "File removal",
            vec![shifted(3, each("File removal", vec![by_name(Verb::Unlink, Item::Each)]))],
        ),
        phase("Tree removal", vec![tree("Tree removal", Verb::Rmdir)]),
    ];
    let items = Items {
        count: 1000,
        name: "file.mdtest.{rank}.{item}".into(),
        directory: "mdtest_tree.{item}".into(),
        depth: 1,
        branch: 2,
        leaves_only: true,
        present_percent: 0.0,
        ..Items::default()
    };
    let root = "out/test-dir.{repetition}-0";
    let targets = vec![target(root, TargetKind::FileSet { root: root.into(), items })];
    golden("mdtest-R-N", WORDS, &plan("out", 5, targets, phases));
}
