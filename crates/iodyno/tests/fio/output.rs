//! fio's standard output taken apart: normal text, terse lines and JSON documents, which may all come in one run.
//!
//! It goes by the first characters of a line alone, as the scripts of the field do, and keeps the order in which the
//! kinds appeared.

use serde_json::Value;

/// What a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text for people.
    Normal,
    /// `3;fio-3.33;…`
    Terse,
    /// From `{` to `}`.
    Json,
}

/// One run's standard output, by kind.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Lines for people, without those of the other kinds.
    pub normal: Vec<String>,
    /// One line a job or group.
    pub terse: Vec<String>,
    /// Whole documents, as lines.
    pub json: Vec<Vec<String>>,
    /// The kinds in the order they came, each once per stretch.
    pub order: Vec<Kind>,
}

impl Output {
    /// Takes a run's standard output apart.
    pub fn read(text: &str) -> Output {
        let mut output = Output::default();
        let mut open = false;
        for line in text.lines() {
            let kind = if open || line == "{" { Kind::Json } else { kind_of(line) };
            if output.order.last() != Some(&kind) {
                output.order.push(kind);
            }
            match kind {
                Kind::Normal => output.normal.push(line.to_string()),
                Kind::Terse => output.terse.push(line.to_string()),
                Kind::Json => {
                    if !open {
                        output.json.push(Vec::new());
                    }
                    if let Some(document) = output.json.last_mut() {
                        document.push(line.to_string());
                    }
                    open = line != "}";
                }
            }
        }
        output
    }

    /// The last document: with a status interval there are several.
    ///
    /// # Errors
    /// A sentence, when there is none or it is not JSON.
    pub fn document(&self) -> Result<Value, String> {
        let lines = self.json.last().ok_or("no JSON document on standard output")?;
        serde_json::from_str(&lines.join("\n")).map_err(|error| format!("its JSON cannot be read: {error}"))
    }
}

fn kind_of(line: &str) -> Kind {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && line[digits..].starts_with(";fio-") { Kind::Terse } else { Kind::Normal }
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![("output_kinds_are_told_apart", kinds_are_told_apart)]
}

fn kinds_are_told_apart() {
    let text = "a: (g=0)\nfio-3.33\n3;fio-3.33;a;0\n{\n  \"jobs\" : [\n  ]\n}\n\na: (groupid=0)\n";
    let output = Output::read(text);
    assert_eq!(output.order, [Kind::Normal, Kind::Terse, Kind::Json, Kind::Normal]);
    assert_eq!((output.normal.len(), output.terse.len(), output.json.len()), (4, 1, 1));
    assert!(output.document().expect("a document")["jobs"].is_array());
    assert!(Output::read("x\n").document().is_err());
}
