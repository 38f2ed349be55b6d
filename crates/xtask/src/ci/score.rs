//! Counting: what passed, failed and was skipped, and the reasons of every skip.
//!
//! Reads the lines of libtest and of libtest-mimic, whose summaries look alike. It refuses to count a test that said
//! it skipped as one that passed.

use std::time::Duration;

/// The counts of a run, or of a part of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Tests and steps that did what they should.
    pub passed: u64,
    /// Tests and steps that did not.
    pub failed: u64,
    /// Tests and steps that could not be tried here.
    pub skipped: u64,
    /// `name: reason` of the skips whose reason is known.
    pub skips: Vec<String>,
    /// The names of tests that failed, each with the program it is in.
    pub failures: Vec<String>,
    /// The first lines of what each of them said, under `program: name`.
    pub complaints: Vec<(String, Vec<String>)>,
    /// How long each test program took.
    pub times: Vec<(String, Duration)>,
}

/// Lines of a failed test's words that are shown, and characters of each.
const SHOWN: (usize, usize) = (12, 400);

impl Score {
    /// Counts one skip.
    pub fn skip(&mut self, name: &str, reason: &str) {
        self.skipped += 1;
        self.skips.push(format!("{name}: {reason}"));
    }

    /// Adds the counts of a part.
    pub fn add(&mut self, part: Self) {
        self.passed += part.passed;
        self.failed += part.failed;
        self.skipped += part.skipped;
        self.skips.extend(part.skips);
        self.failures.extend(part.failures);
        self.complaints.extend(part.complaints);
        self.times.extend(part.times);
    }

    /// The test programs that took the longest, the longest first.
    pub fn slowest(&self, count: usize) -> Vec<(String, Duration)> {
        let mut all = self.times.clone();
        all.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        all.truncate(count);
        all
    }

    /// The line that those who read a run's end look for.
    pub fn closing_line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Sums every summary in the output of `cargo test`, with the reasons that stand before each. A test that was skipped
/// without a word of why is named all the same.
pub fn read_tests(lines: &[String]) -> Score {
    let mut reader = Reader::default();
    lines.iter().for_each(|line| reader.hear(line));
    reader.all.skips.extend(reader.reasons);
    reader.all
}

/// What was heard so far, and who speaks.
#[derive(Default)]
struct Reader<'a> {
    all: Score,
    program: &'a str,
    /// Of this program: why tests were skipped, and which were.
    reasons: Vec<String>,
    ignored: Vec<&'a str>,
    /// The test whose words follow, as the harness gives them back; and whether it failed.
    speaker: Option<&'a str>,
    failures: bool,
}

impl<'a> Reader<'a> {
    fn hear(&mut self, line: &'a str) {
        self.program = running(line).unwrap_or(self.program);
        self.failures = (self.failures || line == "failures:") && line != "successes:";
        if let Some(name) = heading(line) {
            self.all.complaints.push((format!("{}: {name}", self.program), Vec::new()));
            self.speaker = Some(name);
        } else if is_end(line) {
            self.speaker = None;
        } else if self.speaker.is_some() {
            let said = self.all.complaints.last_mut().map(|(_, said)| said);
            said.into_iter().for_each(|said| listen(said, line));
        }
        self.all.failures.extend(failed_test(line).map(|name| format!("{}: {name}", self.program)));
        self.ignored.extend(ignored_test(line));
        // What a failed test says of skipping does not matter any more.
        let reason = skip_reason(line, self.speaker).filter(|_| !(self.failures && self.speaker.is_some()));
        self.reasons.extend(reason.filter(|reason| !self.reasons.contains(reason)));
        if let Some(counts) = summary(line) {
            self.all.times.extend(lasted(line).map(|took| (self.program.to_string(), took)));
            self.sum(counts);
        }
    }

    /// A program has ended.
    fn sum(&mut self, (passed, failed, ignored): (u64, u64, u64)) {
        let mut skips = std::mem::take(&mut self.reasons);
        let silent = |name: &&str| !skips.iter().any(|reason| is_of(reason, name));
        let silent: Vec<&str> = std::mem::take(&mut self.ignored).into_iter().filter(silent).collect();
        // A test that prints its skip but returns as if it had passed is a skip all the same.
        let told = skips.len() + silent.len();
        let disguised = (told as u64).saturating_sub(ignored).min(passed);
        skips.extend(silent.iter().map(|name| format!("{name}: {} gave no reason", self.program)));
        let skipped = ignored + disguised;
        self.all.add(Score { passed: passed - disguised, failed, skipped, skips, ..Score::default() });
        (self.speaker, self.failures) = (None, false);
    }
}

/// Whether a reason is that of a test.
fn is_of(reason: &str, test: &str) -> bool {
    reason.strip_prefix(test).is_some_and(|rest| rest.starts_with(": "))
}

/// The source of the test program that runs from here on: `     Running tests/door.rs (target/…)`.
fn running(line: &str) -> Option<&str> {
    let told = line.trim_start();
    let rest = told.strip_prefix("Running ").or_else(|| told.strip_prefix("Doc-tests "))?;
    Some(rest.split(" (").next().unwrap_or(rest))
}

/// The name in `---- NAME ----` or `---- NAME stdout ----`, before what a failed test said.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

/// Whether nothing that follows is a failed test's any more.
fn is_end(line: &str) -> bool {
    line == "failures:" || line == "successes:" || line.starts_with("test result: ")
}

/// Takes down a line that says something: a backtrace says where only the debugger looks.
fn listen(said: &mut Vec<String>, line: &str) {
    let first = line.trim_start();
    let frame = first.starts_with("at ") || first.split(':').next().is_some_and(|n| n.parse::<u32>().is_ok());
    if said.len() < SHOWN.0 && !first.is_empty() && !frame && !is_end(line) {
        said.push(line.chars().take(SHOWN.1).collect());
    }
}

/// The name in `test NAME ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix("test ")?.strip_suffix(" ... FAILED")?.trim())
}

/// The name in `test NAME ... ignored`, whatever follows.
fn ignored_test(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix("test ")?.split_once(" ... ignored")?.0.trim())
}

/// The reason in `skipped: NAME: reason`, in libtest's `test NAME ... ignored, reason`, or in libtest-mimic's
/// `test NAME ... ignored (reason)`. What a test says for itself, the harness gives back under its name. A line of one
/// test may come while the harness has begun one of another.
fn skip_reason(line: &str, speaker: Option<&str>) -> Option<String> {
    let line = line.trim();
    let (test, rest) = match line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
        Some((name, rest)) => (Some(name.trim()), rest),
        None => (None, line),
    };
    if let Some(reason) = rest.strip_prefix("skipped: ") {
        return Some(speaker.map_or(reason.to_string(), |speaker| format!("{speaker}: {reason}")));
    }
    let reason = rest.strip_prefix("ignored")?;
    let within = |text: &'_ str| text.strip_suffix(')').unwrap_or(text).to_string();
    let reason = reason.strip_prefix(", ").map(String::from).or(reason.strip_prefix(" (").map(within))?;
    Some(format!("{}: {reason}", test?))
}

/// `(passed, failed, ignored)` of a `test result:` line.
fn summary(line: &str) -> Option<(u64, u64, u64)> {
    let counts = line.trim().strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |word: &str| {
        let field = counts.split(';').find_map(|field| field.trim().strip_suffix(word))?;
        field.trim().parse::<u64>().ok()
    };
    Some((count("passed")?, count("failed")?, count("ignored")?))
}

/// The time at the end of a summary.
fn lasted(line: &str) -> Option<Duration> {
    let seconds = line.split("finished in ").nth(1)?.trim().strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_string).collect()
    }

    #[test]
    fn sums_libtest_and_mimic() {
        let score = read_tests(&lines(
            "     Running unittests src/lib.rs (target/debug/deps/iodyno_model-1)\n\
             test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
             test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s\n\
             test result: ok. 0 passed; 0 failed; 4 ignored; 0 measured; 0 filtered out",
        ));
        assert_eq!(score.closing_line(), "15 passed, 2 failed, 5 skipped");
    }

    #[test]
    fn reasons_are_kept_and_not_counted_twice() {
        let score = read_tests(&lines(
            "skipped: xfs: mkfs.xfs is not installed\n\
             test xfs ... ignored\n\
             test later ... ignored, needs a kernel of 2030\n\
             test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ));
        assert_eq!(score.closing_line(), "5 passed, 0 failed, 2 skipped");
        assert_eq!(score.skips, ["xfs: mkfs.xfs is not installed", "later: needs a kernel of 2030"]);
    }

    #[test]
    fn a_skip_has_its_reason_however_the_harness_tells_it() {
        let score = read_tests(&lines(
            "skipped: fuse: no /dev/fuse\n\
             test fuse    ... ignored (no /dev/fuse)\n\
             test slow    ... skipped: busy: it was, 3 times\n\
             ok\n\
             test busy    ... ignored (it was, 3 times)\n\
             test page    ... ignored (no browser (of any kind))\n\
             test result: ok. 1 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ));
        assert_eq!(score.closing_line(), "1 passed, 0 failed, 3 skipped");
        assert_eq!(
            score.skips,
            ["fuse: no /dev/fuse", "busy: it was, 3 times", "page: no browser (of any kind)"]
        );
    }

    #[test]
    fn who_gives_no_reason_is_named() {
        let score = read_tests(&lines(
            "     Running tests/net.rs (target/debug/deps/net-1)\n\
             skipped: vsock: not here\n\
             test net: vsock   ... ignored\n\
             test net: vsock 2 ... ignored\n\
             test tcp          ... ok\n\
             test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out",
        ));
        assert_eq!(score.skips[1], "net: vsock: tests/net.rs gave no reason");
        assert_eq!(score.skips.len(), 3);
    }

    #[test]
    fn what_a_test_says_that_passed_is_heard_and_what_a_failed_one_says_is_not() {
        let score = read_tests(&lines(
            "test cache::warm ... ok\ntest cache::cold ... ok\ntest cache::lost ... FAILED\n\n\
             successes:\n\n---- cache::warm stdout ----\nskipped: files lie in memory here\n\n\
             successes:\n    cache::cold\n    cache::warm\n\n\
             failures:\n\n---- cache::lost stdout ----\nskipped: this too\n\nfailures:\n    cache::lost\n\n\
             test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        ));
        assert_eq!(score.closing_line(), "1 passed, 1 failed, 1 skipped");
        assert_eq!(score.skips, ["cache::warm: files lie in memory here"]);
    }

    #[test]
    fn a_skip_disguised_as_a_pass_is_a_skip() {
        let score = read_tests(&lines(
            "skipped: fuse: no /dev/fuse\nskipped: fuse: no /dev/fuse\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ));
        assert_eq!(score.closing_line(), "1 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn failed_tests_are_named_with_their_program() {
        let score = read_tests(&lines(
            "     Running tests/door.rs (target/debug/deps/door-1)\ntest a ... ok\ntest b::c ... FAILED\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        ));
        assert_eq!(score.failures, ["tests/door.rs: b::c"]);
    }

    #[test]
    fn what_failed_tests_said_is_kept_without_the_backtrace() {
        let score = read_tests(&lines(
            "     Running tests/door.rs (target/debug/deps/door-1)\n\
             ---- a::b stdout ----\nthread panicked at x.rs:3:4:\nassertion failed\nstack backtrace:\n\
             \x20  0: rust_begin\n             at /rustc/x.rs:1\n\n---- c ----\ntest panicked: no\n\n\
             failures:\n    a::b\n    c\n",
        ));
        let said = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let first = said(&["thread panicked at x.rs:3:4:", "assertion failed", "stack backtrace:"]);
        let expected = [("tests/door.rs: a::b", first), ("tests/door.rs: c", said(&["test panicked: no"]))];
        assert_eq!(score.complaints, expected.map(|(name, said)| (name.to_string(), said)));
    }

    #[test]
    fn the_slowest_programs_come_first() {
        let result =
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in";
        let said = ["     Running tests/a.rs (t/a-1)", "0.50s", "     Running tests/b.rs (t/b-1)", "61.25s"];
        let said =
            said.map(|line| if line.ends_with('s') { format!("{result} {line}") } else { line.into() });
        assert_eq!(read_tests(&said).slowest(1), [("tests/b.rs".to_string(), Duration::from_millis(61_250))]);
    }

    #[test]
    fn prose_is_no_summary() {
        assert_eq!(read_tests(&lines("test result: pending\nok. 3 passed; 0 failed")), Score::default());
    }
}
