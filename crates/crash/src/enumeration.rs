//! All short workloads over two directories with two files each: every operation, with every persistence point after it, in every
//! order. A bounded space of such workloads found most of the known crash bugs of file systems (Mohan et al., OSDI 2018).

use crate::oracle::ModelTree;
use crate::script::{StepOperation, WrittenWorkload, nearest, parse_step};
use crate::stamp::split_mix;

/// What is there before the first step: of each directory's two files one, and a file that is two.
const PREPARE: &[&str] = &[
    "mkdir a",
    "mkdir b",
    "create a/x",
    "append a/x 16k",
    "setxattr a/x user.old",
    "create b/y",
    "append b/y 8k",
];

/// An operation of the space: what it needs to find, its steps, and the file or directory that its persistence points are for.
struct EnumeratedOperation {
    /// Regular files that must be there, and names that must be free.
    present: &'static [&'static str],
    absent: &'static [&'static str],
    steps: &'static [&'static str],
    target: SyncTarget,
}

#[derive(Clone, Copy)]
enum SyncTarget {
    File(&'static str),
    /// A name that is gone, a link or a directory: what can be synced is the directory that it is or was in.
    Entry(&'static str),
    Directory(&'static str),
}

const fn on_file(
    steps: &'static [&'static str],
    present: &'static [&'static str],
    absent: &'static [&'static str],
    target: &'static str,
) -> EnumeratedOperation {
    EnumeratedOperation { present, absent, steps, target: SyncTarget::File(target) }
}

const OPERATIONS: &[EnumeratedOperation] = &[
    on_file(&["create a/y"], &[], &["a/y"], "a/y"),
    on_file(&["create b/x"], &[], &["b/x"], "b/x"),
    on_file(&["append a/x 4k"], &["a/x"], &[], "a/x"),
    on_file(&["append b/y 700"], &["b/y"], &[], "b/y"),
    on_file(&["overwrite a/x 4k 8k"], &["a/x"], &[], "a/x"),
    on_file(&["overwrite b/y 0 512"], &["b/y"], &[], "b/y"),
    on_file(&["append a/x 4k sync"], &["a/x"], &[], "a/x"),
    on_file(&["append a/x 4k dsync"], &["a/x"], &[], "a/x"),
    on_file(&["overwrite a/x 0 4k rwf-dsync"], &["a/x"], &[], "a/x"),
    on_file(&["truncate a/x 16k", "overwrite a/x 4k 4k direct"], &["a/x"], &[], "a/x"),
    on_file(&["truncate b/y 8k", "mmap-write b/y 0 4k"], &["b/y"], &[], "b/y"),
    on_file(&["fallocate a/x extend 8k 32k"], &["a/x"], &[], "a/x"),
    on_file(&["fallocate a/x keep-size 8k 32k"], &["a/x"], &[], "a/x"),
    on_file(&["fallocate a/x punch 4k 4k"], &["a/x"], &[], "a/x"),
    on_file(&["fallocate a/x zero 4k 16k"], &["a/x"], &[], "a/x"),
    on_file(&["truncate a/x 16k", "fallocate a/x collapse 4k 4k"], &["a/x"], &[], "a/x"),
    on_file(&["truncate a/x 16k", "fallocate a/x insert 4k 4k"], &["a/x"], &[], "a/x"),
    on_file(&["truncate a/x 3000"], &["a/x"], &[], "a/x"),
    on_file(&["truncate b/y 20k"], &["b/y"], &[], "b/y"),
    on_file(&["truncate b/y 0"], &["b/y"], &[], "b/y"),
    on_file(&["link a/x a/y"], &["a/x"], &["a/y"], "a/x"),
    on_file(&["link a/x b/x"], &["a/x"], &["b/x"], "b/x"),
    on_file(&["rename a/x a/y"], &["a/x"], &["a/y"], "a/y"),
    on_file(&["rename a/x b/x"], &["a/x"], &["b/x"], "b/x"),
    on_file(&["rename a/x b/y"], &["a/x", "b/y"], &[], "b/y"),
    on_file(&["rename b/y a/x"], &["b/y", "a/x"], &[], "a/x"),
    on_file(&["rename-noreplace b/y b/x"], &["b/y"], &["b/x"], "b/x"),
    on_file(&["exchange a/x b/y"], &["a/x", "b/y"], &[], "b/y"),
    on_file(&["setxattr a/x user.new"], &["a/x"], &[], "a/x"),
    on_file(&["setxattr b/y user.old", "removexattr b/y user.old"], &["b/y"], &[], "b/y"),
    on_file(&["chmod a/x 0640"], &["a/x"], &[], "a/x"),
    on_file(&["tmpfile @t a", "append @t 8k", "link @t a/y"], &[], &["a/y"], "a/y"),
    on_file(&["truncate b/y 0", "clone a/x b/y"], &["a/x", "b/y"], &[], "b/y"),
    EnumeratedOperation {
        present: &["a/x"],
        absent: &[],
        steps: &["unlink a/x"],
        target: SyncTarget::Entry("a/x"),
    },
    EnumeratedOperation {
        present: &["b/y"],
        absent: &[],
        steps: &["unlink b/y"],
        target: SyncTarget::Entry("b/y"),
    },
    EnumeratedOperation {
        present: &[],
        absent: &["a/y"],
        steps: &["symlink x a/y"],
        target: SyncTarget::Entry("a/y"),
    },
    EnumeratedOperation {
        present: &[],
        absent: &["a/d"],
        steps: &["mkdir a/d"],
        target: SyncTarget::Directory("a/d"),
    },
    EnumeratedOperation {
        present: &[],
        absent: &["a/d"],
        steps: &["mkdir a/d", "rmdir a/d"],
        target: SyncTarget::Entry("a/d"),
    },
    EnumeratedOperation {
        present: &[],
        absent: &["b/d"],
        steps: &["mkdir b/d", "rename b/d a/d2", "rename a/d2 b/d"],
        target: SyncTarget::Directory("b/d"),
    },
];

impl SyncTarget {
    /// The persistence points, none among them.
    fn points(self) -> Vec<Option<String>> {
        let parent = |path: &str| path.rsplit_once('/').map_or(".", |(parent, _)| parent).to_string();
        let own: Vec<String> = match self {
            SyncTarget::File(path) => vec![
                format!("fsync {path}"),
                format!("fdatasync {path}"),
                format!("fsync-dir {}", parent(path)),
                format!("msync {path} 0 4k"),
                format!("sync-file-range {path} 0 16k"),
            ],
            SyncTarget::Entry(path) => vec![format!("fsync-dir {}", parent(path))],
            SyncTarget::Directory(path) => {
                vec![format!("fsync-dir {path}"), format!("fsync-dir {}", parent(path))]
            }
        };
        [None].into_iter().chain(own.into_iter().chain(["sync".into(), "syncfs".into()]).map(Some)).collect()
    }
}

/// Workloads that are held in memory together: all of two operations.
const MOST_AT_ONCE: u64 = 100_000;

/// An operation by its number, with its persistence point.
type EnumeratedElement = (usize, Option<String>);

/// All workloads of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enumeration {
    /// Operations in a workload, 1 to 3.
    length: u32,
}

impl Enumeration {
    /// # Errors
    /// The length is none of 1 to 3.
    pub fn new(length: u32) -> Result<Enumeration, String> {
        match length {
            1..=3 => Ok(Enumeration { length }),
            _ => Err(format!(
                "no workloads of length {length}\n hint: 1, 2 or 3 operations; 3 are {} workloads",
                Enumeration { length: 3 }.count()
            )),
        }
    }

    /// Operations with their persistence points.
    fn elements() -> Vec<EnumeratedElement> {
        let points = |(number, operation): (usize, &EnumeratedOperation)| {
            operation.target.points().into_iter().map(move |point| (number, point))
        };
        OPERATIONS.iter().enumerate().flat_map(points).collect()
    }

    /// How many there are.
    pub fn count(self) -> u64 {
        self.count_of(&Enumeration::elements())
    }

    fn count_of(self, elements: &[EnumeratedElement]) -> u64 {
        (elements.len() as u64).pow(self.length)
    }

    /// The workload of a number below [`Enumeration::count`].
    ///
    /// # Errors
    /// There is none of this number.
    pub fn workload(self, number: u64) -> Result<WrittenWorkload, String> {
        self.workload_of(number, &Enumeration::elements())
    }

    fn workload_of(self, number: u64, elements: &[EnumeratedElement]) -> Result<WrittenWorkload, String> {
        let all = self.count_of(elements);
        if number >= all {
            return Err(format!(
                "no workload {number} of length {}\n hint: numbers 0 to {}",
                self.length,
                all - 1
            ));
        }
        let mut rest = number;
        let mut chosen = Vec::new();
        for _ in 0..self.length {
            chosen.push(&elements[(rest % elements.len() as u64) as usize]);
            rest /= elements.len() as u64;
        }
        let mut model = ModelTree::default();
        let mut prepare = Vec::new();
        PREPARE.iter().try_for_each(|line| append(line, &mut model, &mut prepare))?;
        model.keep_prepared();
        let mut steps = Vec::new();
        for (operation, point) in chosen {
            OPERATIONS[*operation].append(point.as_deref(), &mut model, &mut steps)?;
        }
        let name = format!("enumerated:{}:{number}", self.length);
        let about = steps.iter().map(StepOperation::to_string).collect::<Vec<_>>().join("; ");
        Ok(WrittenWorkload { name, about, wrong: None, prepare, steps })
    }

    /// Different workloads, the same for the same seed; all of them, in order, if there are no more.
    ///
    /// # Errors
    /// As [`Enumeration::workload`].
    pub fn sample(self, count: u64, seed: u64) -> Result<Vec<WrittenWorkload>, String> {
        let elements = Enumeration::elements();
        let all = self.count_of(&elements);
        if count >= all {
            return (0..all).map(|number| self.workload_of(number, &elements)).collect();
        }
        let mut state = seed;
        let mut chosen = std::collections::BTreeSet::new();
        while (chosen.len() as u64) < count {
            chosen.insert(split_mix(&mut state) % all);
        }
        chosen.into_iter().map(|number| self.workload_of(number, &elements)).collect()
    }

    /// The workload of a name such as `enumerated:2:417`; `None`: it is no such name.
    ///
    /// # Errors
    /// There is none of this length and number.
    pub fn named(name: &str) -> Option<Result<WrittenWorkload, String>> {
        let (length, number) = name.strip_prefix("enumerated:")?.split_once(':')?;
        let (length, number) = (length.parse().ok()?, number.parse().ok()?);
        Some(Enumeration::new(length).and_then(|enumeration| enumeration.workload(number)))
    }
}

/// The workloads that a name stands for: a known one; `written`, all known ones that keep what they promise;
/// `enumerated:2:417`; `seq-2`, all of two operations; `seq-2:50`, as many of them, drawn by the seed.
///
/// # Errors
/// It stands for none, with a hint.
pub fn select_workloads(
    name: &str,
    known: &[WrittenWorkload],
    seed: u64,
) -> Result<Vec<WrittenWorkload>, String> {
    if let Some(found) = known.iter().find(|workload| workload.name == name) {
        return Ok(vec![found.clone()]);
    }
    if name == "written" {
        return Ok(known.iter().filter(|workload| workload.wrong.is_none()).cloned().collect());
    }
    if let Some(found) = Enumeration::named(name) {
        return found.map(|workload| vec![workload]);
    }
    if let Some(rest) = name.strip_prefix("seq-") {
        let (length, count) =
            rest.split_once(':').map_or((rest, None), |(length, count)| (length, Some(count)));
        let number = |text: &str| text.parse::<u32>().ok();
        let wanted = number(length).zip(count.map_or(Some(None), |count| number(count).map(Some)));
        let hint =
            "seq-1, seq-2 or seq-3 are all workloads of so many operations, seq-2:50 is a sample of 50";
        let (length, count) =
            wanted.ok_or_else(|| format!("there are no workloads {name}\n hint: {hint}"))?;
        let enumeration = Enumeration::new(length)?;
        let count = count.map_or(enumeration.count(), u64::from);
        if count.min(enumeration.count()) > MOST_AT_ONCE {
            let hint = format!(
                "take a sample, seq-{length}:{MOST_AT_ONCE} at most, and another --seed for the next one"
            );
            return Err(format!("{name} are {count} workloads\n hint: {hint}"));
        }
        return enumeration.sample(count, seed);
    }
    let hint = match nearest(name, known.iter().map(|workload| workload.name.as_str())) {
        Some(near) => format!("did you mean {near}?"),
        None => "`iodyno crash --list` prints those that there are".into(),
    };
    Err(format!("there is no workload {name}\n hint: {hint}"))
}

fn append(line: &str, model: &mut ModelTree, steps: &mut Vec<StepOperation>) -> Result<(), String> {
    let step = parse_step(line)?;
    model.apply(&step)?;
    steps.push(step);
    Ok(())
}

impl EnumeratedOperation {
    /// Its steps and its persistence point, after those that make what it needs.
    fn append(
        &self,
        point: Option<&str>,
        model: &mut ModelTree,
        steps: &mut Vec<StepOperation>,
    ) -> Result<(), String> {
        for path in self.absent {
            clear(path, model, steps)?;
        }
        for path in self.present {
            let kind = model.lookup(path).map(|number| model.entries_of(number).is_some());
            if kind.is_none() {
                append(&format!("create {path}"), model, steps)?;
            }
            let size = model.lookup(path).map_or(0, |number| model.inode(number).size.current);
            if size == 0 {
                append(&format!("append {path} 16k"), model, steps)?;
            }
        }
        if let [one, other] = self.present
            && model.lookup(one) == model.lookup(other)
        {
            append(&format!("unlink {other}"), model, steps)?;
            append(&format!("create {other}"), model, steps)?;
        }
        self.steps.iter().try_for_each(|line| append(line, model, steps))?;
        let Some(point) = point else { return Ok(()) };
        if let (Some(_), SyncTarget::File(path)) = (point.strip_prefix("msync"), self.target) {
            // An empty file has nothing to map.
            let size = model.lookup(path).map_or(0, |number| model.inode(number).size.current);
            if size < 4096 {
                append(&format!("truncate {path} 4k"), model, steps)?;
            }
        }
        append(point, model, steps)
    }
}

/// The name is free afterwards.
fn clear(path: &str, model: &mut ModelTree, steps: &mut Vec<StepOperation>) -> Result<(), String> {
    let Some(number) = model.lookup(path) else { return Ok(()) };
    let word = if model.entries_of(number).is_some() { "rmdir" } else { "unlink" };
    append(&format!("{word} {path}"), model, steps)
}

#[cfg(test)]
mod tests;
