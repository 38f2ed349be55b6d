//! JUnit's XML: a suite for each group, a test case for each case.
//!
//! What JUnit has no word for is a skip with its reason: not applicable, and failures that the profile expects.

use std::io;

use iodyno_model::Case;
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
    xml.create_element("testsuites")
        .with_attribute(("name", "iodyno posix"))
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
        let counts = [members.len(), count(failed), count(left_out)];
        let elapsed_ns = members.iter().filter_map(|(_, result)| result.elapsed_ns).sum();
        suite(xml, group, Some(&side.folder), counts, elapsed_ns, |xml| {
            members.iter().try_for_each(|(case, result)| test(xml, case, result, side))
        })
    })
}

/// A suite with how many tests it has, how many of them failed, and how many were left out.
fn suite(
    xml: &mut Xml,
    name: &str,
    package: Option<&str>,
    counts: [usize; 3],
    elapsed_ns: u64,
    inner: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let [tests, failures, skipped] = counts.map(|count| count.to_string());
    xml.create_element("testsuite")
        .with_attribute(("name", name))
        .with_attributes(package.map(|package| ("package", package)))
        .with_attribute(("tests", tests.as_str()))
        .with_attribute(("failures", failures.as_str()))
        .with_attribute(("errors", "0"))
        .with_attribute(("skipped", skipped.as_str()))
        .with_attribute(("time", seconds(elapsed_ns).as_str()))
        .write_inner_content(inner)
        .map(|_| ())
}

/// An exercise is a suite of one test.
fn exercised(xml: &mut Xml, exercise: &ExerciseResult) -> io::Result<()> {
    let counts = [1, usize::from(!exercise.is_good()), 0];
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
                .write_text_content(BytesText::new(&exercise.complaint().join("\n")))
                .map(|_| ())
        };
        test.write_inner_content(failure).map(|_| ())
    })
}

fn failed(result: &CaseResult) -> bool {
    result.is_bad() || result.elapsed_ns.is_none()
}

fn left_out(result: &CaseResult) -> bool {
    !failed(result) && (result.counts.expected_fail > 0 || result.untried().is_some())
}

fn test(xml: &mut Xml, case: &Case, result: &CaseResult, side: &CheckedDirectory) -> io::Result<()> {
    let time = seconds(result.elapsed_ns.unwrap_or_default());
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", case.group.as_str()))
        .with_attribute(("name", case.name.as_str()))
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
            xml.create_element("skipped").with_attribute(("message", why.as_str())).write_empty().map(|_| ())
        };
        return element.write_inner_content(skipped).map(|_| ());
    }
    element.write_empty().map(|_| ())
}

fn failure(xml: &mut Xml, case: &Case, result: &CaseResult) -> io::Result<()> {
    let bad = |judged: &&JudgedCheck| matches!(judged.kind, CheckOutcome::Fail | CheckOutcome::CouldNotRun);
    let mut text = format!("{}\n{}\n", case.text, case.source);
    for judged in result.judged.iter().filter(bad) {
        let verdict = &judged.verdict;
        let (round, call, expected) = (&verdict.round, &verdict.call, &verdict.expected);
        text.push_str(&format!("{round}: {call}: expected {expected}, got {}\n", judged.came()));
    }
    let kind = result.broken.as_deref().unwrap_or("failed");
    // XML has no other control characters.
    let printable = |text: &str| {
        text.chars().filter(|letter| !letter.is_control() || *letter == '\n').collect::<String>()
    };
    xml.create_element("failure")
        .with_attribute(("message", printable(&case.text).as_str()))
        .with_attribute(("type", kind))
        .write_text_content(BytesText::new(&printable(&text)))
        .map(|_| ())
}
