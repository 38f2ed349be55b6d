//! POSIX rules: two actors and a sticky directory.

use iodyno_model::{
    Actor, Expect, Item, Items, Job, Operation, Script, TargetKind, Verb, WorkerKind, Workload,
};
use iodyno_model::{Intent, Plan};

use super::{golden, phase, plan, target};

const WORDS: &str = "
expect 0 mkdir d0 0777
expect 0 chmod d0 01777
expect 0 -u 65534 -g 65534 create d0/f 0644
expect EACCES|EPERM -u 65533 -g 65533 unlink d0/f
expect 65534 lstat d0/f uid
expect 0 -u 65534 -g 65534 unlink d0/f
";

fn actor(name: &str, id: u32) -> Actor {
    Actor { name: name.into(), uid: id, gid: id, groups: vec![], umask: 0 }
}

fn on(verb: Verb, name: &str, expect: Vec<Expect>) -> Operation {
    Operation { item: Item::Named(name.into()), expect, ..Operation::on(verb, 0) }
}

fn by(actor: usize, operation: Operation) -> Operation {
    Operation { actor: Some(actor), ..operation }
}

fn with(name: &str, value: &str, operation: Operation) -> Operation {
    Operation { arguments: vec![(name.into(), value.into())], ..operation }
}

#[test]
fn golden_only_the_owner_may_unlink_from_a_sticky_directory() {
    let good = || vec![Expect::Succeeds];
    let refused = vec![Expect::Fails(vec!["EACCES".into(), "EPERM".into()])];
    let kept = vec![
        Expect::Succeeds,
        Expect::Attribute { name: "uid".into(), relation: "=".into(), value: "65534".into() },
    ];
    let steps = vec![
        with("mode", "0777", on(Verb::Mkdir, "d0", good())).step("make the directory"),
        with("mode", "01777", on(Verb::Chmod, "d0", good())).step("make it sticky"),
        with("mode", "0644", by(0, on(Verb::Create, "d0/f", good()))).step("the owner makes a file"),
        by(1, on(Verb::Unlink, "d0/f", refused)).step("the other may not remove it"),
        on(Verb::Lstat, "d0/f", kept).step("it is still there"),
        by(0, on(Verb::Unlink, "d0/f", good())).step("the owner may"),
    ];
    let script = Script { actors: vec![actor("owner", 65534), actor("other", 65533)], steps };
    let job = Job {
        kind: WorkerKind::Processes,
        ..Job::new("unlink/sticky", "psync", vec![0], Workload::Script(script))
    };
    let items = Items { count: 0, ..Items::default() };
    let targets = vec![target("sandbox", TargetKind::FileSet { root: "sandbox".into(), items })];
    let plan = Plan {
        intent: Intent::Correctness,
        ..plan("unlink", 1, targets, vec![phase("unlink/sticky", vec![job])])
    };
    golden("posix-sticky", WORDS, &plan);
}
