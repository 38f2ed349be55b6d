//! The tests of many files: made, looked at and deleted, in order and at random.

use iodyno_model::{
    Action, Content, Item, ItemData, Items, Job, Limit, Open, Operation, Origin, Payload, Prepare, Refresh,
    Size, Step, Target, TargetKind, Verb,
};

use super::{BonniePlan, TIMED};
use crate::bonnie::settings::{FILES, FileContent};
use crate::bonnie::view::{BonniePhase, TestName};

/// The letters and digits of a name beside its number, at most.
const LETTERS: u64 = 12;

/// All tests of files.
pub fn lower(lowering: &mut BonniePlan<'_>, run: u32) {
    for at_random in [false, true] {
        let set = set(lowering, at_random);
        let tests = Tests { at_random, count: lowering.settings.kfiles * FILES, set };
        tests.lower(lowering, run);
    }
}

/// The files of one order.
struct Tests {
    at_random: bool,
    count: u64,
    set: usize,
}

impl Tests {
    fn lower(&self, lowering: &mut BonniePlan<'_>, run: u32) {
        let [create, read, delete] = match self.at_random {
            false => [TestName::CreateInOrder, TestName::ReadInOrder, TestName::DeleteInOrder],
            true => [TestName::CreateAtRandom, TestName::ReadAtRandom, TestName::DeleteAtRandom],
        };
        let tree = |verb| vec![Operation { item: Item::Whole, ..Operation::on(verb, 0) }.step("directories")];
        let job = self.job(lowering, tree(Verb::Mkdir));
        lowering.aside("make the directory", run, job);
        let job = self.job(lowering, self.creating(lowering));
        lowering.test(create, run, vec![job]);
        let job = self.job(lowering, vec![self.each(self.reading(lowering))]);
        lowering.test(read, run, vec![job]);
        let job = self.job(lowering, vec![self.each(self.deleting(lowering))]);
        let part = BonniePhase { run, test: Some(delete), begins: true, ends: false, is_last: false };
        lowering.add(delete.word(), part, None, vec![job]);
        let steps = tree(Verb::Rmdir).into_iter().chain([Operation::on(Verb::Syncfs, 0).step("sync")]);
        let job = self.job(lowering, steps.collect());
        let part = BonniePhase { begins: false, ends: true, ..part };
        lowering.add("delete the directory", part, None, vec![job]);
    }

    fn job(&self, lowering: &BonniePlan<'_>, steps: Vec<Step>) -> Job {
        let mut job = lowering.job("files", self.set, steps);
        job.limit = Limit { passes: Some(1), ..Limit::default() };
        job.payload = Payload { content: Content::Zero, refresh: Refresh::Once, ..Payload::default() };
        job
    }

    /// Steps for each of the files, timed as one where they are several.
    fn each(&self, steps: Vec<Step>) -> Step {
        times(self.count, timed(steps))
    }

    /// The next item of a test that goes through all of them once.
    fn next(&self) -> Item {
        if self.at_random { Item::Shuffled } else { Item::Listed }
    }

    fn creating(&self, lowering: &BonniePlan<'_>) -> Vec<Step> {
        let sync = || lowering.settings.sync.then(|| Operation::on(Verb::Fsync, 0).step("directory sync"));
        let link = |verb, item, other| {
            let operation = Operation { item, other: Some((0, other)), ..Operation::on(verb, 0) };
            timed([operation.step("link")].into_iter().chain(sync()).collect())
        };
        let (first, following) = (|| Item::Index(0), || Item::Oldest { first: 1, after: None });
        let one = |item| timed(self.file(lowering, item, true).into_iter().chain(sync()).collect());
        let mut steps = match lowering.settings.content {
            FileContent::Sized { .. } => vec![times(self.count, one(Item::Each))],
            FileContent::HardLinks => {
                vec![one(first()), times(self.count - 1, link(Verb::Link, first(), following()))]
            }
            FileContent::SymbolicLinks => {
                vec![one(first()), times(self.count - 1, link(Verb::Symlink, following(), first()))]
            }
        };
        steps.push(Operation::on(Verb::Syncfs, 0).step("sync"));
        steps
    }

    fn reading(&self, lowering: &BonniePlan<'_>) -> Vec<Step> {
        let mut steps = vec![Operation { item: self.next(), ..Operation::on(Verb::Stat, 0) }.step("stat")];
        if matches!(lowering.settings.content, FileContent::Sized { most: 1.., .. }) {
            steps.extend(self.file(lowering, Item::Last { further: 0 }, false));
        }
        steps
    }

    fn deleting(&self, lowering: &BonniePlan<'_>) -> Vec<Step> {
        let mut steps =
            vec![Operation { item: self.next(), ..Operation::on(Verb::Unlink, 0) }.step("unlink")];
        steps.extend(lowering.settings.sync.then(|| Operation::on(Verb::Fsync, 0).step("directory sync")));
        steps
    }

    /// A file that is made or opened, written or read chunk by chunk, and closed.
    fn file(&self, lowering: &BonniePlan<'_>, item: Item, makes: bool) -> Vec<Step> {
        let settings = lowering.settings;
        let (opening, moving) = if makes { (Verb::Create, Verb::Write) } else { (Verb::Open, Verb::Read) };
        let (open, word) = (Operation { item, ..Operation::on(opening, 0) }, opening.name());
        let sync = makes && settings.sync;
        match settings.content {
            // One call moves all of it.
            FileContent::Sized { most, .. } if most <= settings.file_chunk => {
                let item_data = Some(ItemData { sync, ..ItemData::default() });
                vec![Operation { item_data, size: size(settings.content), ..open }.step(word)]
            }
            FileContent::Sized { .. } => {
                let held = |verb| Operation { handle: Some(0), item: Item::Held, ..Operation::on(verb, 0) };
                let arguments = vec![("like".to_string(), "0".to_string())];
                let chunk = Size::Fixed(settings.file_chunk);
                let data = Operation { size: chunk, whole: true, arguments, ..held(moving) };
                let mut steps =
                    vec![Operation { handle: Some(0), ..open }.step(word), data.step(moving.name())];
                steps.extend(sync.then(|| held(Verb::Fsync).step("sync file")));
                steps.push(held(Verb::Close).step("close"));
                steps
            }
            FileContent::HardLinks | FileContent::SymbolicLinks => {
                let item_data = Some(ItemData { sync, ..ItemData::default() });
                vec![Operation { item_data, size: Size::Fixed(0), ..open }.step(word)]
            }
        }
    }
}

fn size(content: FileContent) -> Size {
    match content {
        FileContent::Sized { least, most } if least < most => {
            Size::Uniform { least_bytes: least, most_bytes: most, step_bytes: 1 }
        }
        FileContent::Sized { most, .. } => Size::Fixed(most),
        FileContent::HardLinks | FileContent::SymbolicLinks => Size::Fixed(0),
    }
}

fn times(repeat: u64, step: Step) -> Step {
    Step { repeat, ..step }
}

/// One step by that name, or several timed as one.
fn timed(mut steps: Vec<Step>) -> Step {
    let origin = Origin::Default;
    match steps.len() {
        1 => Step { label: TIMED.into(), ..steps.remove(0) },
        _ => Step { label: TIMED.into(), action: Action::Block(steps), repeat: 1, origin },
    }
}

/// The files: named by a number and letters, in one directory or in several.
fn set(lowering: &mut BonniePlan<'_>, at_random: bool) -> usize {
    let settings = lowering.settings;
    let letters = format!("{{letters:{LETTERS}:{}}}", settings.seed.wrapping_add(u64::from(at_random)));
    let name = if at_random { format!("{letters}{{item:010x}}") } else { format!("{{item:010x}}{letters}") };
    let count = settings.kfiles * FILES;
    let several = settings.directories > 1;
    let items = Items {
        count,
        name,
        size: size(settings.content),
        depth: u32::from(several),
        branch: settings.directories as u32,
        directory: "{child:05}".into(),
        leaves_only: several,
        per_directory: if several { count / settings.directories + 1 } else { 0 },
        ..Items::default()
    };
    let root = lowering.path(&settings.name);
    lowering.target(Target {
        name: if at_random { format!("{root} at random") } else { root.clone() },
        kind: TargetKind::FileSet { root, items },
        open: Open { directory: true, permissions: Some(0o600), ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: true,
        origin: Origin::Default,
    })
}
