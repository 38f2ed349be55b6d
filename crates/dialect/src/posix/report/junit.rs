//! JUnit's XML: a suite for each group, a test case for each case.
//!
//! What JUnit has no word for is a skip with its reason: not applicable, and failures that the profile expects.

use std::io;

use iodyno_model::{Case, Outcome};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::super::exercise::Exercised;
use super::super::judge::{CaseResult, Judged, Kind};
use super::super::plan::Side;
use super::{Answer, Results};

type Xml = Writer<Vec<u8>>;

/// The report.
///
/// # Errors
/// When it cannot be written.
pub fn xml(results: &Results) -> io::Result<Vec<u8>> {
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

fn suites(xml: &mut Xml, cases: &[Case], side: &Side, answer: &Answer) -> io::Result<()> {
    let mut groups: Vec<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    groups.iter().try_for_each(|group| {
        let members: Vec<_> =
            cases.iter().zip(&answer.judgement.cases).filter(|(case, _)| case.group == *group).collect();
        let count = |pick: &dyn Fn(&CaseResult) -> bool| {
            members.iter().filter(|(_, result)| pick(result)).count().to_string()
        };
        let (failures, skipped) = (count(&failed), count(&left_out));
        let time = seconds(members.iter().filter_map(|(_, result)| result.elapsed_ns).sum());
        let tests = members.len().to_string();
        xml.create_element("testsuite")
            .with_attribute(("name", *group))
            .with_attribute(("package", side.folder.as_str()))
            .with_attribute(("tests", tests.as_str()))
            .with_attribute(("failures", failures.as_str()))
            .with_attribute(("errors", "0"))
            .with_attribute(("skipped", skipped.as_str()))
            .with_attribute(("time", time.as_str()))
            .write_inner_content(|xml| {
                members.iter().try_for_each(|(case, result)| test(xml, case, result, side))
            })
            .map(|_| ())
    })
}

/// An exercise is a suite of one test.
fn exercised(xml: &mut Xml, exercise: &Exercised) -> io::Result<()> {
    let (time, failures) = (seconds(exercise.elapsed_ns), if exercise.is_good() { "0" } else { "1" });
    let complaint = exercise.complaint().join("\n");
    xml.create_element("testsuite")
        .with_attribute(("name", exercise.name.as_str()))
        .with_attribute(("tests", "1"))
        .with_attribute(("failures", failures))
        .with_attribute(("errors", "0"))
        .with_attribute(("skipped", "0"))
        .with_attribute(("time", time.as_str()))
        .write_inner_content(|xml| {
            let test = xml
                .create_element("testcase")
                .with_attribute(("classname", exercise.name.as_str()))
                .with_attribute(("name", exercise.sentence()))
                .with_attribute(("time", time.as_str()));
            if exercise.is_good() {
                return test.write_empty().map(|_| ());
            }
            let failure = |xml: &mut Xml| {
                xml.create_element("failure")
                    .with_attribute(("message", exercise.sentence()))
                    .write_text_content(BytesText::new(&complaint))
                    .map(|_| ())
            };
            test.write_inner_content(failure).map(|_| ())
        })
        .map(|_| ())
}

fn failed(result: &CaseResult) -> bool {
    result.is_bad() || result.elapsed_ns.is_none()
}

fn left_out(result: &CaseResult) -> bool {
    !failed(result) && (result.counts.expected_fail > 0 || result.untried().is_some())
}

fn test(xml: &mut Xml, case: &Case, result: &CaseResult, side: &Side) -> io::Result<()> {
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
        let entry = result.judged.iter().find_map(|judged| judged.entry);
        let reason = entry.and_then(|entry| Some(side.profile.as_ref()?.expected.get(entry)?.reason.clone()));
        let why = match reason {
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
    let bad = |judged: &&Judged| matches!(judged.kind, Kind::Fail | Kind::CouldNotRun);
    let mut text = format!("{}\n{}\n", case.text, case.source);
    for judged in result.judged.iter().filter(bad) {
        let verdict = &judged.verdict;
        let got = match &verdict.outcome {
            Outcome::CouldNotRun(why) => format!("could not run: {why}"),
            _ => verdict.got.clone(),
        };
        text.push_str(&format!(
            "{}: {}: expected {}, got {got}\n",
            verdict.round, verdict.call, verdict.expected
        ));
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
