//! POSIX rules: two actors and a sticky directory.

use iodyno_model::{
    Action, Actor, Call, Case, Cases, Expect, Items, Job, Origin, Script, Step, TargetKind, Workload,
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

fn step(words: &str, actor: Option<usize>, expect: Expect) -> Step {
    let mut words = words.split(' ').map(String::from);
    let name = words.next().unwrap();
    let call = Call { name, arguments: words.collect(), actor, expect: vec![expect], ..Call::default() };
    Step { label: String::new(), action: Action::Call(Box::new(call)), repeat: 1, origin: Origin::Default }
}

#[test]
fn golden_only_the_owner_may_unlink_from_a_sticky_directory() {
    let refused = Expect::Fails(vec!["EACCES".into(), "EPERM".into()]);
    let kept = Expect::Attribute { name: "uid".into(), relation: "=".into(), value: "65534".into() };
    let steps = vec![
        step("mkdir d0 0777", None, Expect::Succeeds),
        step("chmod d0 01777", None, Expect::Succeeds),
        step("create d0/f 0644", Some(0), Expect::Succeeds),
        step("unlink d0/f", Some(1), refused),
        step("lstat d0/f", None, kept),
        step("unlink d0/f", Some(0), Expect::Succeeds),
    ];
    let script = Script { actors: vec![actor("owner", 65534), actor("other", 65533)], steps };
    let text = "only the owner of a file or of its sticky directory may remove it";
    let case = Case { name: "unlink/sticky".into(), text: text.into(), script, ..Case::default() };
    let cases = Cases { cases: vec![case], ..Cases::default() };
    let job = Job::new("unlink/sticky", "cases", vec![0], Workload::Cases(cases.into()));
    let items = Items { count: 0, ..Items::default() };
    let targets = vec![target("sandbox", TargetKind::FileSet { root: "sandbox".into(), items })];
    let plan = Plan {
        intent: Intent::Correctness,
        ..plan("unlink", 1, targets, vec![phase("unlink/sticky", vec![job])])
    };
    golden("posix-sticky", WORDS, &plan);
}
