//! Templates of names: what `{worker}`, `{rank}` and the like stand for, and how the items of a set are named for a worker.

use iodyno_model::Items;

use super::drawn::DrawnTree;
use super::{Names, Piece};

/// Who owns a worker's data, and where that one is: what names of targets refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its number within the job, counted over all ranks.
    pub worker: u32,
    pub rank: u32,
    /// That rank's machine.
    pub node: u32,
}

/// Who asks for a name: what templates may refer to.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The job's name.
    pub job: &'a str,
    /// Whose data it is: the worker, its rank and node.
    pub owner: Owner,
    /// How many workers the job has on all ranks together.
    pub all: u32,
    /// Which repetition of the phase.
    pub repetition: u32,
}

impl<'a> Asker<'a> {
    /// For the first worker of a job, where one stands for all.
    pub fn first(job: &'a str, repetition: u32) -> Self {
        Asker { job, owner: Owner::default(), all: 1, repetition }
    }
}

/// The name a template gives to one worker. `{worker:08}` has at least eight digits, `{worker:A|B}` deals the words in
/// turn, and so with every number; `{worker:+3}` is its number plus three; `{worker+3}` is the worker three further, and
/// after the last comes the first; what is in braces and means nothing here stays as it is.
pub fn resolve(template: &str, asker: Asker<'_>) -> String {
    let (mut name, mut rest) = (String::with_capacity(template.len() + 16), template);
    while let Some((before, after)) = rest.split_once('{') {
        name.push_str(before);
        let meant = after.split_once('}').and_then(|(word, after)| Some((value(word, asker)?, after)));
        match meant {
            Some((value, after)) => {
                name.push_str(&value);
                rest = after;
            }
            None => {
                name.push('{');
                rest = after;
            }
        }
    }
    name + rest
}

/// What a word in braces stands for.
fn value(word: &str, asker: Asker<'_>) -> Option<String> {
    let (what, form) = word.split_once(':').unwrap_or((word, ""));
    if let Some(further) = what.strip_prefix("worker+") {
        let worker = u64::from(asker.owner.worker) + u64::from(further.parse::<u32>().ok()?);
        return form.is_empty().then(|| (worker % u64::from(asker.all.max(1))).to_string());
    }
    let number = match what {
        "job" if form.is_empty() => return Some(asker.job.into()),
        "worker" => asker.owner.worker,
        "rank" => asker.owner.rank,
        "node" => asker.owner.node,
        "repetition" => asker.repetition,
        _ => return None,
    };
    let padded = form.len() > 1 && form.starts_with('0') && form.bytes().all(|byte| byte.is_ascii_digit());
    let width = if padded { form.parse().unwrap_or(0) } else { 0 };
    if let Some(plus) = form.strip_prefix('+') {
        return Some((u64::from(number) + u64::from(plus.parse::<u32>().ok()?)).to_string());
    }
    Some(match form {
        "" => number.to_string(),
        _ if padded => format!("{number:0width$}"),
        words => words.split('|').nth(number as usize % words.split('|').count()).unwrap_or("").into(),
    })
}

/// Whether a template gives a name of their own to each worker, rank or node.
pub fn tells_apart(template: &str) -> bool {
    ["{worker", "{rank", "{node"].iter().any(|word| template.contains(word))
}

/// Whether a template gives a name of its own to each worker.
pub fn is_own(template: &str) -> bool {
    ["{worker}", "{worker:0", "{worker:+", "{worker+"].iter().any(|word| template.contains(word))
}

/// The root directory of a set, for one worker.
pub fn set_root(root: &str, items: &Items, asker: Asker<'_>) -> String {
    let root = resolve(root, asker);
    if items.own { format!("{root}/w{}", asker.owner.worker) } else { root }
}

/// A path's directory and its last part.
pub fn split(path: &str) -> (&str, &str) {
    let path = path.trim_end_matches('/');
    match path.rsplit_once('/') {
        Some(("", own)) => ("/", own),
        Some((above, own)) => (above, own),
        None => (".", path),
    }
}

/// How the items of a set are named, for one worker.
pub fn names(items: &Items, asker: Asker<'_>) -> Names {
    let name = resolve(&items.name, asker);
    let NumberedName { prefix, form, suffix } = numbered(&name);
    let names = Names {
        prefix: prefix.into(),
        suffix: suffix.into(),
        first: form.first,
        times: form.times,
        digits: form.digits,
        wraps: form.wraps,
        first_name: resolve(&items.first_name, asker),
        unnumbered: items.count == 1 && !name.contains("{item"),
        directory: Piece::parse(&resolve(&items.directory, asker)),
        depth: items.depth,
        branch: u64::from(items.branch),
        leaves_only: items.leaves_only,
        per_directory: items.per_directory,
        tree: items.tree.as_ref().map(|tree| DrawnTree::of(tree, items.count)),
        count: items.count,
        item_bytes: items.size.most_bytes().map_or(0, |bytes| items.file_bytes(bytes)),
        marked: items.marked.map(|marks| {
            let owner = u64::from(asker.owner.worker) + u64::from(marks.owner_further);
            ((owner % u64::from(asker.all.max(1))) as u32, marks)
        }),
        ..Names::default()
    };
    names.spelled(&name)
}

/// A name's text around its number.
struct NumberedName<'a> {
    prefix: &'a str,
    form: NumberForm,
    suffix: &'a str,
}

/// How a number stands in a name, by what follows its word in the braces: nothing, `+100`, which counts from there, `*4096` or
/// `*4096+1`, which counts in such steps, or `%100`, which begins again after so many; and behind it `:03` for at least three
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberForm {
    pub times: u64,
    pub first: u64,
    /// 0: it never begins again.
    pub wraps: u64,
    pub digits: u8,
}

impl NumberForm {
    const PLAIN: NumberForm = NumberForm { times: 1, first: 0, wraps: 0, digits: 0 };

    pub fn parse(text: &str) -> Option<NumberForm> {
        let (formula, digits) = match text.split_once(':') {
            Some((formula, digits)) => (formula, least_digits(digits)?),
            None => (text, 0),
        };
        let (sign, number) = formula.split_at_checked(1).unwrap_or(("", ""));
        let plain = NumberForm { digits, ..NumberForm::PLAIN };
        Some(match sign {
            "" => plain,
            "+" => NumberForm { first: number.parse().ok()?, ..plain },
            "*" => {
                let (times, first) = number.split_once('+').unwrap_or((number, "0"));
                let times = times.parse().ok().filter(|times| *times > 0)?;
                NumberForm { times, first: first.parse().ok()?, ..plain }
            }
            "%" => NumberForm { wraps: number.parse().ok().filter(|wraps| *wraps > 0)?, ..plain },
            _ => return None,
        })
    }

    pub fn of(self, number: u64) -> u64 {
        let number = if self.wraps > 0 { number % self.wraps } else { number };
        number.wrapping_mul(self.times).wrapping_add(self.first)
    }
}

/// What a template says of an item's number.
fn numbered(name: &str) -> NumberedName<'_> {
    let place = || {
        let start = name.find("{item")?;
        let length = name[start..].find('}')?;
        let form = NumberForm::parse(&name[start + 5..start + length])?;
        Some(NumberedName { prefix: &name[..start], form, suffix: &name[start + length + 1..] })
    };
    place().unwrap_or(NumberedName { prefix: name, form: NumberForm::PLAIN, suffix: "" })
}

/// The least number of digits that `08` asks for.
pub(super) fn least_digits(form: &str) -> Option<u8> {
    let digits =
        form.strip_prefix('0').filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    digits.parse().ok().filter(|digits| *digits <= DIGITS_MOST)
}

/// Digits that a name's number may be filled up to.
const DIGITS_MOST: u8 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_name_the_owner() {
        let owner = Owner { worker: 13, rank: 3, node: 1 };
        let asker = Asker { job: "j", owner, all: 16, repetition: 2 };
        for (template, name) in [
            ("plain", "plain"),
            ("{job}.{worker}.{rank}.{node}.{repetition}", "j.13.3.1.2"),
            ("f.{worker:08}", "f.00000013"),
            ("f.{worker:01}", "f.13"),
            ("f.{worker:+5}", "f.18"),
            ("{worker:a|b|c}/x.{worker:04}", "b/x.0013"),
            ("{rank:03}/{node:x|y}", "003/y"),
            ("{worker:a}", "a"),
            ("{item}/{child} {worker", "{item}/{child} {worker"),
            ("{}{{worker}}", "{}{13}"),
        ] {
            assert_eq!(resolve(template, asker), name, "{template}");
        }
    }
}
