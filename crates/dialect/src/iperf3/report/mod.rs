//! Where a report goes and what stands before its lines: text with a title and the time, or JSON whole or as a stream; and the
//! report of one test, as both sides make it.

use iodyno_model::conversation::Action;

use super::command::Command;

use super::json::CJSON;
use super::meter::Interval;
use super::strftime;
use super::test::TestRun;

use crate::json_tree::JsonTree;

pub mod document;
pub mod text;

use document::Document;
use text::TextStyle;

/// How a side speaks.
#[derive(Clone, Debug, Default)]
pub struct OutputStyle {
    /// One document.
    pub json: bool,
    /// An object a line.
    pub stream: bool,
    /// The document after the stream.
    pub full: bool,
    title: Option<String>,
    timestamps: Option<String>,
    east_s: i64,
    /// Errors go where the report goes: it is a file.
    logged: bool,
}

impl OutputStyle {
    /// As the command line wants it.
    pub fn new(command: &Command, east_s: i64) -> OutputStyle {
        OutputStyle {
            json: command.json,
            stream: command.json_stream,
            full: command.json_full,
            title: command.title.clone(),
            timestamps: command.timestamps.clone(),
            east_s,
            logged: command.log_file.is_some(),
        }
    }

    /// Text, where it is text that is wanted.
    pub fn text(&self, text: &str, unix_ns: u64) -> Vec<Action> {
        if self.json || text.is_empty() {
            return Vec::new();
        }
        vec![Action::Print(self.prefixed(text, unix_ns))]
    }

    fn prefixed(&self, text: &str, unix_ns: u64) -> String {
        let mut before = String::new();
        if let Some(format) = &self.timestamps {
            before.push_str(&strftime::strftime(format, unix_ns, self.east_s));
        }
        if let Some(title) = &self.title {
            before.push_str(&format!("{title}:  "));
        }
        if before.is_empty() {
            return text.to_string();
        }
        text.split_inclusive('\n').map(|line| format!("{before}{line}")).collect()
    }

    /// A line of a stream of JSON, where that is wanted.
    pub fn event(&self, name: &str, data: &JsonTree) -> Vec<Action> {
        if !self.stream {
            return Vec::new();
        }
        let event = JsonTree::object([("event", name.into()), ("data", data.clone())]);
        vec![Action::Print(event.line(&CJSON) + "\n")]
    }

    /// The document, where it is wanted.
    pub fn document(&self, document: &JsonTree) -> Vec<Action> {
        match self.json && (!self.stream || self.full) {
            true => vec![Action::Print(document.print(&CJSON) + "\n")],
            false => Vec::new(),
        }
    }

    /// What went wrong, as text.
    pub fn complain(&self, text: &str) -> Vec<Action> {
        let line = format!("iperf3: {text}\n");
        vec![if self.logged { Action::Print(line) } else { Action::Complain(line) }]
    }
}

/// The report of a test, in both forms.
#[derive(Clone, Debug)]
pub struct Report {
    pub output: OutputStyle,
    pub style: TextStyle,
    pub document: Document,
    is_first_interval: bool,
}

impl Report {
    /// One that has no line yet; `system` is what is known of the machine.
    pub fn new(output: OutputStyle, style: TextStyle, system: String) -> Report {
        let document = Document { system, ..Document::default() };
        Report { output, style, document, is_first_interval: true }
    }

    /// How the test began.
    pub fn start(&mut self, test: &TestRun) -> Vec<Action> {
        let start = document::start(test, &self.document.system);
        let actions = self.output.event("start", &start);
        self.document.start = Some(start);
        actions
    }

    /// An interval: its lines, and its event.
    pub fn interval(&mut self, test: &TestRun, interval: &Interval) -> (String, Vec<Action>) {
        let is_first = std::mem::replace(&mut self.is_first_interval, false);
        let json = document::interval(test, interval);
        let actions = self.output.event("interval", &json);
        if self.output.json {
            self.document.intervals.push(json);
        }
        (text::interval(test, interval, is_first, self.style), actions)
    }

    /// What does not end as it should: an event of `why`; the document with the error, or a message.
    pub fn error(&mut self, why: &str, error: &str, message: &str) -> Vec<Action> {
        let mut actions = self.output.event("error", &why.into());
        if self.output.json {
            self.document.more.push(("error".into(), error.into()));
            actions.extend(self.print());
        } else {
            actions.extend(self.output.complain(message));
        }
        actions
    }

    /// The document, where it is wanted.
    pub fn print(&self) -> Vec<Action> {
        self.output.document(&self.document.json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_title_and_time() {
        let command =
            Command { title: Some("t".into()), timestamps: Some("%s ".into()), ..Command::default() };
        let voice = OutputStyle::new(&command, 0);
        let said = format!("{:?}", voice.text("a\n\nb\n", 5_000_000_000));
        assert_eq!(said, "[Print(\"5 t:  a\\n5 t:  \\n5 t:  b\\n\")]");
        assert!(OutputStyle { json: true, ..OutputStyle::default() }.text("a", 0).is_empty());
    }
}
