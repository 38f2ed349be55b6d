//! What did not pass, by cause: many rules break for one thing that a file system does or leaves undone.
//!
//! A cause is how a call ended against how it was to end, or which attribute came out wrong after which call: `chown fails:
//! EPERM`, `ENOTEMPTY is due, EBUSY comes: rmdir`, `ctime is not later: after unlink`. What the set-up of a round needed and
//! did not get is the same cause as where it was checked. Calls that do one thing under several names (`fchmodat`, `lchmod`)
//! are one; what goes wrong with many calls alike is one cause too, for then it is none of theirs. It refuses to guess why.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use iodyno_model::{Action, Case, Outcome, Verdict};

use super::super::judge::Judgement;
use super::super::settings::CheckedDirectory;
use super::super::show;
use super::{SuiteResults, failures};

/// What goes wrong alike with more calls than this is no matter of any of them.
const MOST_CALLS: usize = 3;

/// Calls that are named, before the rest is only counted.
const MOST_NAMES: usize = 6;

/// Calls that only look.
const LOOKS: &str = "\
    stat statx statvfs access read readlink get getxattr listxattr getacl getflags entries dirents \
    readdir census pathconf lseek sum zeros tick opendir close closedir getlk";

/// How something goes wrong, and with which call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    /// What is the matter.
    what: String,
    /// The call, by what it does.
    call: String,
}

/// Checks of one rule that failed in one way.
struct Member<'a> {
    case: &'a Case,
    verdict: &'a Verdict,
    places: usize,
}

/// A cause, and what it broke.
pub struct Cause<'a> {
    /// What is the matter.
    pub what: String,
    /// With which calls, and in how many rules each.
    pub calls: Vec<(String, usize)>,
    /// The rules that break for it.
    pub rules: Vec<&'a str>,
    /// Checks that failed, or could not be made.
    pub checks: usize,
    pub example: (&'a Case, &'a Verdict),
}

/// The causes of what is told, those that break most rules first.
pub fn causes<'a>(broken: &[failures::BrokenRule<'a>]) -> Vec<Cause<'a>> {
    let mut patterns: BTreeMap<Pattern, Vec<Member<'a>>> = BTreeMap::new();
    for way in broken.iter().flat_map(|rule| &rule.ways) {
        let member = Member { case: way.case, verdict: way.verdict, places: way.places.len() };
        patterns.entry(pattern(way.case, way.verdict)).or_default().push(member);
    }
    let mut by_what: BTreeMap<String, Vec<(String, Vec<Member<'a>>)>> = BTreeMap::new();
    for (Pattern { what, call }, members) in patterns {
        by_what.entry(what).or_default().push((call, members));
    }
    let mut all = Vec::new();
    for (what, calls) in by_what {
        match calls.len() > MOST_CALLS {
            true => all.extend(cause(&what, calls)),
            false => all.extend(calls.into_iter().filter_map(|call| cause(&what, vec![call]))),
        }
    }
    all.sort_by_key(|cause| Reverse((cause.rules.len(), cause.checks)));
    all
}

/// One cause of what failed alike.
fn cause<'a>(what: &str, calls: Vec<(String, Vec<Member<'a>>)>) -> Option<Cause<'a>> {
    let rules = |members: &[Member<'a>]| members.iter().map(|member| member.case.rule.as_str()).collect();
    let mut named: Vec<(String, usize)> = Vec::new();
    let (mut broken, mut checks, mut shortest) = (BTreeSet::new(), 0, None);
    for (call, members) in &calls {
        let of_call: BTreeSet<&'a str> = rules(members);
        named.push((call.clone(), of_call.len()));
        broken.extend(of_call);
        for member in members {
            checks += member.places;
            let steps = member.verdict.step;
            if shortest.is_none_or(|(least, _)| steps < least) {
                shortest = Some((steps, (member.case, member.verdict)));
            }
        }
    }
    named.sort_by_key(|(_, rules)| Reverse(*rules));
    let rules = broken.into_iter().collect();
    shortest.map(|(_, example)| Cause { what: what.into(), calls: named, rules, checks, example })
}

/// How a check went wrong.
fn pattern(case: &Case, verdict: &Verdict) -> Pattern {
    let call = family(&verdict.call);
    let of = |what: String, call: String| Pattern { what, call };
    if death(verdict).is_some() || lost_its_server(verdict) {
        return of("the file system died".into(), String::new());
    }
    if let Outcome::TimedOut(why) = &verdict.outcome {
        return of("timed out".into(), family(timed_out_at(why).unwrap_or(&verdict.call)));
    }
    if let Outcome::CouldNotRun(why) = &verdict.outcome {
        return match ended(why) {
            Some((call, left)) if left.starts_with("success, and left ") => of(
                format!("it succeeds and does nothing ({})", left.trim_start_matches("success, and ")),
                family(call),
            ),
            Some((call, error)) if is_error(error) => of(must_succeed(error), family(call)),
            Some((call, _)) => of(ELSE.into(), family(call)),
            None => of(why.clone(), call),
        };
    }
    let (expected, got) = (verdict.expected.as_str(), verdict.got.as_str());
    let attribute = expected.split(' ').next().unwrap_or_default();
    match got {
        _ if expected == "an end" => of(got.into(), call),
        "success" => of(format!("{expected} is due, and it succeeds"), call),
        error if is_error(error) && expected.split(" or ").all(is_error) => {
            of(format!("{expected} is due, and {error} comes"), call)
        }
        error if is_error(error) => of(must_succeed(error), call),
        text if text.starts_with("the ") => of(ELSE.into(), call),
        _ if got.split(' ').next() == Some(attribute) => {
            let which = match expected.split(' ').nth(1) {
                Some("<" | ">" | "≤" | "≥" | "≠" | "<=" | ">=" | "!=") => {
                    expected.split(' ').nth(1).unwrap_or_default()
                }
                _ => "=",
            };
            let after = changed_by(case, verdict).unwrap_or(call);
            of(format!("{attribute} is {}", wrong(which)), format!("after {after}"))
        }
        number if number.parse::<f64>().is_ok() => of(ELSE.into(), call),
        _ => of(got.into(), call),
    }
}

const ELSE: &str = "it answers something else";

fn must_succeed(error: &str) -> String {
    format!("it must succeed, and {error} comes")
}

/// The call that a round's set-up ended with, and how: of `` `open f O_RDWR 0` came back with EACCES ``.
fn ended(why: &str) -> Option<(&str, &str)> {
    let told = why.strip_prefix('`').and_then(|why| why.split_once("` came back with "));
    told.or_else(|| why.rsplit_once(": "))
}

/// How the file system died, if that is what became of a check: the case that found it, and those beside it.
pub fn death(verdict: &Verdict) -> Option<&str> {
    let why = match &verdict.outcome {
        Outcome::CouldNotRun(why) => why,
        _ => &verdict.got,
    };
    let is_it =
        why.starts_with("the file system is gone") || why.starts_with("the file system does not answer");
    is_it.then(|| why.split(", at `").next().unwrap_or(why))
}

/// Whether a call got an error that only a file system gives whose server is gone (fuse: `ENOTCONN`, and `ECONNABORTED`
/// of what was in flight).
fn lost_its_server(verdict: &Verdict) -> bool {
    const ERRORS: [&str; 4] = [
        "ENOTCONN",
        "ECONNABORTED",
        "Transport endpoint is not connected",
        "Software caused connection abort",
    ];
    let got = match &verdict.outcome {
        Outcome::CouldNotRun(why) => why,
        _ => &verdict.got,
    };
    ERRORS.iter().any(|error| got.ends_with(error)) && !verdict.expected.contains("ENOTCONN")
}

/// The call that a case stood at when its time was up: of `took longer than 30s, at `open f O_RDWR 0` (round)`.
fn timed_out_at(why: &str) -> Option<&str> {
    why.split_once(", at `")?.1.split('`').next()
}

/// What a relation that does not hold means.
fn wrong(relation: &str) -> &'static str {
    match relation {
        ">" => "not later or larger",
        "<" => "not earlier or smaller",
        "≠" | "!=" => "unchanged",
        "≤" | "<=" => "too large",
        "≥" | ">=" => "too small",
        _ => "another",
    }
}

/// The last call before a check that changes something.
fn changed_by(case: &Case, verdict: &Verdict) -> Option<String> {
    let Action::Block(steps) = &show::round_named(case, &verdict.round)?.action else { return None };
    let before = steps.iter().take(verdict.step as usize + 1).rev();
    let calls = before.filter_map(|step| match &step.action {
        Action::Call(call) => Some(family(&call.name)),
        _ => None,
    });
    calls.into_iter().find(|call| LOOKS.split(' ').all(|looks| looks != call))
}

fn is_error(word: &str) -> bool {
    let is_name = |word: &str| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    word.len() > 2 && word.starts_with('E') && is_name(word)
}

/// What a call does, whatever names it: `owner: fchmodat AT_FDCWD f 0644 0` is `chmod`.
fn family(call: &str) -> String {
    // Who makes it stands before it.
    let call = call.split_once(": ").map_or(call, |(_, call)| call);
    let name = call.split(' ').next().unwrap_or_default();
    let at = name.strip_suffix("at2").or_else(|| name.strip_suffix("at")).unwrap_or(name);
    let name = if ["fst", "st", "lst", "fcre"].contains(&at) { name } else { at };
    const PLAIN: &str = "chmod chown stat truncate setxattr getxattr listxattr removexattr pathconf";
    let bare = name.trim_start_matches(['f', 'l']);
    match name {
        "fstatat" => "stat".into(),
        "pread" | "readv" | "preadv2" => "read".into(),
        "pwrite" | "writev" | "pwritev2" => "write".into(),
        "futimens" | "utimens" => "utimens".into(),
        "renameat2" | "rename" => "rename".into(),
        _ if PLAIN.split(' ').any(|plain| plain == bare) => bare.into(),
        name => name.into(),
    }
}

/// The causes in the order of what they break, each with an example and how to see it again.
pub fn text(results: &SuiteResults, side: &CheckedDirectory, judgement: &Judgement) -> String {
    let cases = &results.setup.suite.cases;
    let broken = failures::of_kind(cases, judgement, results.bad_kinds());
    let causes = causes(&broken);
    if causes.is_empty() {
        return String::new();
    }
    let rules = if broken.len() == 1 { "rule is" } else { "rules are" };
    let count = if causes.len() == 1 { "cause" } else { "causes" };
    let mut text = format!("\n{} {rules} broken, of {} {count}\n", broken.len(), causes.len());
    for cause in &causes {
        one(&mut text, cause, side);
    }
    let _ = writeln!(text, "\n--details tells each rule, its steps and its rounds");
    text
}

fn one(text: &mut String, cause: &Cause<'_>, side: &CheckedDirectory) {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let of = |(call, rules): &(String, usize)| match cause.calls.len() {
        1 => call.clone(),
        _ => format!("{call} ({rules})"),
    };
    let mut calls: Vec<String> = cause.calls.iter().take(MOST_NAMES).map(of).collect();
    calls.extend((cause.calls.len() > MOST_NAMES).then(|| "…".to_string()));
    let (case, verdict) = cause.example;
    let counts = format!("{}, {}", plural(cause.rules.len(), "rule"), plural(cause.checks, "round"));
    let calls = calls.join(", ");
    let at = if calls.is_empty() { calls } else { format!("{calls}: ") };
    let _ = writeln!(text, "  {at}{}  ({counts})", cause.what);
    let came = match &verdict.outcome {
        Outcome::CouldNotRun(why) => format!("could not run: {why}"),
        Outcome::TimedOut(why) => format!("timed out: {why}"),
        _ => format!("expected {}, got {}", verdict.expected, verdict.got),
    };
    let call = if verdict.call.is_empty() { String::new() } else { format!("{}: ", verdict.call) };
    let _ = writeln!(text, "    {call}{came}");
    let _ = match failures::again(case, side) {
        Some(again) => writeln!(text, "    {again} --details"),
        None => writeln!(text, "    in {}", case.name),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_call_are_one() {
        for (call, name) in [
            ("owner: fchmodat AT_FDCWD f 0644 0", "chmod"),
            ("lchown f 1 1", "chown"),
            ("openat d f O_RDWR", "open"),
            ("mkdirat d n 0755", "mkdir"),
            ("renameat2 AT_FDCWD a AT_FDCWD b 0", "rename"),
            ("lstat f", "stat"),
            ("fstatat AT_FDCWD f 0", "stat"),
            ("futimens h 0 0 0 0", "utimens"),
            ("link a b", "link"),
            ("fallocate h 0 0 1", "fallocate"),
            ("getxattr f user.a", "getxattr"),
        ] {
            assert_eq!(family(call), name, "{call}");
        }
    }

    fn verdict(call: &str, expected: &str, got: &str) -> Verdict {
        let [call, expected, got] = [call, expected, got].map(String::from);
        Verdict { call, expected, got, ..Verdict::default() }
    }

    #[test]
    fn what_is_the_matter_is_told_in_the_terms_of_calls() {
        let told = |verdict: &Verdict| {
            let Pattern { what, call } = pattern(&Case::default(), verdict);
            format!("{call}: {what}")
        };
        let set_up = |why: &str| Verdict {
            outcome: Outcome::CouldNotRun(why.into()),
            ..verdict("lstat l", "type symlink", "")
        };
        for (found, text) in [
            (verdict("symlink a l", "success", "EPERM"), "symlink: it must succeed, and EPERM comes"),
            (set_up("`symlink a l` came back with EPERM"), "symlink: it must succeed, and EPERM comes"),
            (set_up("symlink a l: EPERM"), "symlink: it must succeed, and EPERM comes"),
            (
                set_up("`chmod d 01777` came back with success, and left mode 0777"),
                "chmod: it succeeds and does nothing (left mode 0777)",
            ),
            (
                set_up("the file system is gone: ENOTCONN; it went while a/b ran, beside c/d, at `lstat f`"),
                ": the file system died",
            ),
            (set_up("mkdir 6: Transport endpoint is not connected"), ": the file system died"),
            (verdict("read h 10", "success", "ECONNABORTED"), ": the file system died"),
            (
                verdict("read h 10", "ENOTCONN", "ECONNABORTED"),
                "read: ENOTCONN is due, and ECONNABORTED comes",
            ),
            (
                Verdict {
                    outcome: Outcome::TimedOut(
                        "took longer than 30s, at `p1: open f O_RDWR 0` (who=p1)".into(),
                    ),
                    ..verdict("lstat f", "success", "")
                },
                "open: timed out",
            ),
            (
                verdict("rmdir d", "ENOTEMPTY or EEXIST", "EBUSY"),
                "rmdir: ENOTEMPTY or EEXIST is due, and EBUSY comes",
            ),
            (verdict("owner: mkdir d/n 0755", "EACCES", "success"), "mkdir: EACCES is due, and it succeeds"),
            (verdict("lstat f", "ctime > 1.5", "ctime 1.5"), "after stat: ctime is not later or larger"),
            (
                verdict("readlink l", "the text \"a\"", "the text \"b\""),
                "readlink: it answers something else",
            ),
            (verdict("open f O_RDWR", "an end", "took longer than 30 s"), "open: took longer than 30 s"),
            (verdict("lstat d nlink", "3", "1"), "stat: it answers something else"),
        ] {
            assert_eq!(told(&found), text);
        }
    }

    /// A rule whose only check came out so.
    fn broken<'a>(case: &'a Case, verdict: &'a Verdict) -> failures::BrokenRule<'a> {
        let way = failures::Way { verdict, case, entry: None, places: vec!["its only round".into()] };
        failures::BrokenRule { case, ways: vec![way] }
    }

    #[test]
    fn what_goes_wrong_with_many_calls_is_one_cause_and_with_few_one_each() {
        let calls = ["open f O_RDWR", "mkdir d 0755", "unlink f", "rename a b", "link a b"];
        let cases: Vec<Case> = calls
            .iter()
            .map(|call| Case { rule: format!("{}/denied", family(call)), ..Case::default() })
            .collect();
        let verdicts: Vec<Verdict> = calls.iter().map(|call| verdict(call, "EACCES", "success")).collect();
        let rules: Vec<_> =
            cases.iter().zip(&verdicts).map(|(case, verdict)| broken(case, verdict)).collect();
        let many = causes(&rules);
        assert_eq!((many.len(), many[0].rules.len(), many[0].calls.len()), (1, 5, 5));
        let few = causes(&rules[..3]);
        assert_eq!(few.len(), 3);
    }
}
