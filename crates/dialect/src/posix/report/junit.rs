//! JUnit's XML: a suite for each group, a test case for each case.
//!
//! What JUnit has no word for is a skip with its reason: not applicable, and failures that the profile expects.

use std::io;

use iodyno_model::Case;
use iodyno_report::checks::printable;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::super::exercise::ExerciseResult;
use super::super::judge::{CaseResult, CheckOutcome, JudgedCheck};
use super::super::settings::CheckedDirectory;
use super::summary::groups;
use super::{DirectoryResults, SuiteResults};

type Xml = Writer<Vec<u8>>;

/// The report.
///
/// # Errors
/// When it cannot be written.
pub fn xml(results: &SuiteResults) -> io::Result<Vec<u8>> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let sides: Vec<_> = results.sides().collect();
    let time = seconds(sides.iter().map(|(_, answer)| answer.elapsed_ns).sum());
    let is_store = sides.iter().any(|(side, _)| side.command.is_some());
    xml.create_element("testsuites")
        .with_attribute(("name", if is_store { "iodyno s3check" } else { "iodyno posix" }))
        .with_attribute(("time", time.as_str()))
        .write_inner_content(|xml| {
            let cases = &results.setup.suite.cases;
            sides.iter().try_for_each(|(side, answer)| suites(xml, cases, side, answer))?;
            results.exercises.iter().try_for_each(|exercise| exercised(xml, exercise))
        })?;
    let mut bytes = xml.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

fn suites(
    xml: &mut Xml,
    cases: &[Case],
    side: &CheckedDirectory,
    answer: &DirectoryResults,
) -> io::Result<()> {
    groups(cases).into_iter().try_for_each(|group| {
        let members: Vec<_> =
            cases.iter().zip(&answer.judgement.cases).filter(|(case, _)| case.group == group).collect();
        let count = |pick: fn(&CaseResult) -> bool| members.iter().filter(|(_, result)| pick(result)).count();
        let counts = [members.len(), count(failed) - count(is_late), count(is_late), count(left_out)];
        let elapsed_ns = members.iter().filter_map(|(_, result)| result.elapsed_ns).sum();
        suite(xml, &printable(group), Some(&printable(&side.folder)), counts, elapsed_ns, |xml| {
            members.iter().try_for_each(|(case, result)| test(xml, case, result, side))
        })
    })
}

/// A suite with how many tests it has, how many of them failed, ran out of time, and were left out.
fn suite(
    xml: &mut Xml,
    name: &str,
    package: Option<&str>,
    counts: [usize; 4],
    elapsed_ns: u64,
    inner: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let [tests, failures, errors, skipped] = counts.map(|count| count.to_string());
    xml.create_element("testsuite")
        .with_attribute(("name", name))
        .with_attributes(package.map(|package| ("package", package)))
        .with_attribute(("tests", tests.as_str()))
        .with_attribute(("failures", failures.as_str()))
        .with_attribute(("errors", errors.as_str()))
        .with_attribute(("skipped", skipped.as_str()))
        .with_attribute(("time", seconds(elapsed_ns).as_str()))
        .write_inner_content(inner)
        .map(|_| ())
}

/// An exercise is a suite of one test.
fn exercised(xml: &mut Xml, exercise: &ExerciseResult) -> io::Result<()> {
    let counts = [1, usize::from(!exercise.is_good()), 0, 0];
    suite(xml, &exercise.name, None, counts, exercise.elapsed_ns, |xml| {
        let test = xml
            .create_element("testcase")
            .with_attribute(("classname", exercise.name.as_str()))
            .with_attribute(("name", exercise.sentence()))
            .with_attribute(("time", seconds(exercise.elapsed_ns).as_str()));
        if exercise.is_good() {
            return test.write_empty().map(|_| ());
        }
        let failure = |xml: &mut Xml| {
            xml.create_element("failure")
                .with_attribute(("message", exercise.sentence()))
                .write_text_content(BytesText::new(&printable(&exercise.complaint().join("\n"))))
                .map(|_| ())
        };
        test.write_inner_content(failure).map(|_| ())
    })
}

fn failed(result: &CaseResult) -> bool {
    result.is_bad() || result.elapsed_ns.is_none()
}

/// Whether all that speaks against it is that its time was up: JUnit's word for that is an error.
fn is_late(result: &CaseResult) -> bool {
    failed(result) && result.counts.timed_out > 0 && result.counts.fail == 0
}

fn left_out(result: &CaseResult) -> bool {
    !failed(result) && (result.counts.expected_fail > 0 || result.untried().is_some())
}

fn test(xml: &mut Xml, case: &Case, result: &CaseResult, side: &CheckedDirectory) -> io::Result<()> {
    let time = seconds(result.elapsed_ns.unwrap_or_default());
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", printable(&case.group).as_str()))
        .with_attribute(("name", printable(&case.name).as_str()))
        .with_attribute(("time", time.as_str()));
    if failed(result) {
        return element.write_inner_content(|xml| failure(xml, case, result)).map(|_| ());
    }
    if left_out(result) {
        let why = match result.reason(side.profile.as_ref()) {
            Some(reason) => format!("expected failure: {reason}"),
            None => result.untried().unwrap_or_default().to_string(),
        };
        let skipped = |xml: &mut Xml| {
            xml.create_element("skipped")
                .with_attribute(("message", printable(&why).as_str()))
                .write_empty()
                .map(|_| ())
        };
        return element.write_inner_content(skipped).map(|_| ());
    }
    element.write_empty().map(|_| ())
}

fn failure(xml: &mut Xml, case: &Case, result: &CaseResult) -> io::Result<()> {
    let bad = |judged: &&JudgedCheck| {
        matches!(judged.kind, CheckOutcome::Fail | CheckOutcome::CouldNotRun | CheckOutcome::TimedOut)
    };
    let mut text = format!("{}\n{}\n", case.text, case.source);
    for judged in result.judged.iter().filter(bad) {
        let verdict = &judged.verdict;
        let (round, call, expected) = (&verdict.round, &verdict.call, &verdict.expected);
        text.push_str(&format!("{round}: {call}: expected {expected}, got {}\n", judged.came()));
    }
    let (element, kind) = match is_late(result) {
        true => ("error", "timed out"),
        false => ("failure", result.broken.as_deref().unwrap_or("failed")),
    };
    xml.create_element(element)
        .with_attribute(("message", printable(&case.text).as_str()))
        .with_attribute(("type", printable(kind).as_str()))
        .write_text_content(BytesText::new(&printable(&text)))
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use quick_xml::events::Event;

    use super::*;

    #[test]
    fn any_byte_makes_valid_xml() {
        let odd: String = (0..=0xffff).filter_map(char::from_u32).collect();
        let verdict = iodyno_model::Verdict { call: odd.clone(), got: odd.clone(), ..Default::default() };
        let judged = JudgedCheck { verdict, kind: CheckOutcome::Fail, entry: None };
        let result = CaseResult { judged: vec![judged], broken: Some(odd.clone()), ..CaseResult::default() };
        let case = Case { name: odd.clone(), group: odd.clone(), text: odd.clone(), ..Case::default() };
        let side = CheckedDirectory { folder: odd, ..CheckedDirectory::default() };
        let answer = DirectoryResults {
            judgement: super::super::super::judge::Judgement { cases: vec![result], ..Default::default() },
            ..DirectoryResults::default()
        };
        let mut xml = Writer::new(Vec::new());
        suites(&mut xml, &[case], &side, &answer).unwrap();
        let text = String::from_utf8(xml.into_inner()).unwrap();
        let allowed = |letter: char| matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert_eq!(text.chars().find(|letter| !allowed(*letter)), None);
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut tests = 0;
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => break,
                Event::Start(start) if start.name().as_ref() == b"testcase" => tests += 1,
                _ => {}
            }
        }
        assert_eq!(tests, 1);
    }
}
