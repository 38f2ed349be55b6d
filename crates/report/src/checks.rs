//! Lists of checks that passed, failed or were left out, as TAP and as JUnit: for commands that judge and are no dialects.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

/// What a command checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckList {
    /// The command: `iodyno powerfail`.
    pub name: String,
    /// What was checked, a line each.
    pub facts: Vec<String>,
    pub checks: Vec<ListedCheck>,
}

/// One line of TAP, one test case of JUnit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCheck {
    pub group: String,
    pub name: String,
    pub elapsed_ns: u64,
    pub end: CheckEnd,
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckEnd {
    Passed,
    /// In one word, and in full.
    Failed {
        kind: String,
        text: String,
    },
    /// Why.
    Skipped(String),
}

type Xml = Writer<Vec<u8>>;

impl CheckList {
    /// As TAP version 13.
    pub fn tap(&self) -> String {
        let mut text = format!("TAP version 13\n1..{}\n", self.checks.len());
        for fact in &self.facts {
            text.push_str(&format!("# {}\n", one_line(fact)));
        }
        for (number, check) in (1..).zip(&self.checks) {
            // A number sign would begin a directive.
            let name = one_line(&format!("{}: {}", check.group, check.name)).replace('#', "\\#");
            match &check.end {
                CheckEnd::Passed => text.push_str(&format!("ok {number} - {name}\n")),
                CheckEnd::Skipped(why) => {
                    text.push_str(&format!("ok {number} - {name} # SKIP {}\n", one_line(why)));
                }
                CheckEnd::Failed { text: why, .. } => {
                    text.push_str(&format!("not ok {number} - {name}\n"));
                    why.lines().for_each(|line| text.push_str(&format!("# {}\n", one_line(line))));
                }
            }
        }
        text
    }

    /// As JUnit's XML: a suite for each group.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn junit(&self) -> io::Result<Vec<u8>> {
        let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let mut groups: Vec<&str> = Vec::new();
        for check in &self.checks {
            if !groups.contains(&check.group.as_str()) {
                groups.push(&check.group);
            }
        }
        xml.create_element("testsuites")
            .with_attribute(("name", printable(&self.name).as_str()))
            .with_attribute(("time", seconds(self.checks.iter()).as_str()))
            .write_inner_content(|xml| groups.iter().try_for_each(|group| self.suite(xml, group)))?;
        let mut bytes = xml.into_inner();
        bytes.push(b'\n');
        Ok(bytes)
    }

    fn suite(&self, xml: &mut Xml, group: &str) -> io::Result<()> {
        let members: Vec<&ListedCheck> = self.checks.iter().filter(|check| check.group == group).collect();
        let count =
            |pick: fn(&CheckEnd) -> bool| members.iter().filter(|check| pick(&check.end)).count().to_string();
        xml.create_element("testsuite")
            .with_attribute(("name", printable(group).as_str()))
            .with_attribute(("tests", members.len().to_string().as_str()))
            .with_attribute(("failures", count(|end| matches!(end, CheckEnd::Failed { .. })).as_str()))
            .with_attribute(("errors", "0"))
            .with_attribute(("skipped", count(|end| matches!(end, CheckEnd::Skipped(_))).as_str()))
            .with_attribute(("time", seconds(members.iter().copied()).as_str()))
            .write_inner_content(|xml| members.iter().try_for_each(|check| test(xml, check)))
            .map(drop)
    }
}

fn test(xml: &mut Xml, check: &ListedCheck) -> io::Result<()> {
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", printable(&check.group).as_str()))
        .with_attribute(("name", printable(&check.name).as_str()))
        .with_attribute(("time", seconds(std::iter::once(check)).as_str()));
    let done = match &check.end {
        CheckEnd::Passed => element.write_empty(),
        CheckEnd::Skipped(why) => element.write_inner_content(|xml| {
            xml.create_element("skipped")
                .with_attribute(("message", printable(why).as_str()))
                .write_empty()?;
            Ok(())
        }),
        CheckEnd::Failed { kind, text } => element.write_inner_content(|xml| {
            let first = text.lines().next().unwrap_or_default();
            xml.create_element("failure")
                .with_attribute(("message", printable(first).as_str()))
                .with_attribute(("type", printable(kind).as_str()))
                .write_text_content(BytesText::new(&printable(text)))?;
            Ok(())
        }),
    };
    done.map(drop)
}

fn seconds<'a>(checks: impl Iterator<Item = &'a ListedCheck>) -> String {
    format!("{:.3}", checks.map(|check| check.elapsed_ns).sum::<u64>() as f64 / 1e9)
}

fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A text that XML 1.0 can hold: what it has no characters for, names and data of files among it, shows as U+FFFD.
pub fn printable(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
            char::REPLACEMENT_CHARACTER
        }
        letter => letter,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> CheckList {
        let check =
            |name: &str, end| ListedCheck { group: "g".into(), name: name.into(), elapsed_ns: 0, end };
        let failed = CheckEnd::Failed { kind: "lost".into(), text: "one <b>\ntwo \u{1}".into() };
        let checks = vec![
            check("a", CheckEnd::Passed),
            check("b #1", failed),
            check("c", CheckEnd::Skipped("not here".into())),
        ];
        CheckList { name: "iodyno test".into(), facts: vec!["a fact".into()], checks }
    }

    #[test]
    fn tap_has_a_line_for_each_check() {
        let want = "TAP version 13\n1..3\n# a fact\nok 1 - g: a\nnot ok 2 - g: b \\#1\n# one <b>\n# two  \nok 3 - g: c # SKIP not here\n";
        assert_eq!(list().tap(), want);
    }

    #[test]
    fn junit_counts_and_escapes() {
        let text = String::from_utf8(list().junit().unwrap()).unwrap();
        assert!(text.contains(r#"tests="3" failures="1" errors="0" skipped="1""#), "{text}");
        assert!(text.contains("one &lt;b&gt;\ntwo \u{fffd}"), "{text}");
    }
}
