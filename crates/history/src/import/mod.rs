//! What was measured elsewhere, as runs of the history: other tools' JSON, as their dialects read it, and our own.

mod own;

use iodyno_model::{Diagnostic, Origin, Record, RunStart};
use serde_json::Value;

use crate::entry::Opening;

/// A tool's name, and the reader of its JSON: the runs with their command lines, where the tool wrote them down; none: the
/// document is not its. The dialects bring them.
pub type Importer =
    (&'static str, fn(&Value) -> Option<Result<Vec<(Vec<String>, RunStart, Record)>, String>>);

/// A run to put into the history.
pub type Imported = (Opening, RunStart, Record);

/// The runs in a file of another tool, of which each test may be one.
///
/// # Errors
/// What is wrong with it, by the file's name.
pub fn read(path: &str, bytes: &[u8], importers: &[Importer]) -> Result<Vec<Imported>, Diagnostic> {
    let wrong = |message: &str| {
        Diagnostic::error(&Origin::argument(path), message)
            .hint("fio --output-format=json+, ior -O summaryFormat=JSON and iperf3 --json write such files, and so does --json of iodyno")
    };
    let documents = documents(bytes).map_err(|error| wrong(&error))?;
    let mut runs = Vec::new();
    for document in &documents {
        if let Some(own) = own::read(document, path) {
            runs.push(own.map_err(|error| wrong(&format!("as our own JSON: {error}")))?);
            continue;
        }
        let known = importers.iter().find_map(|(tool, read)| Some((*tool, read(document)?)));
        let (tool, found) =
            known.ok_or_else(|| wrong("it is JSON, but neither fio's nor IOR's nor iperf3's nor ours"))?;
        let found = found.map_err(|error| wrong(&format!("as {tool}'s JSON: {error}")))?;
        runs.extend(
            found
                .into_iter()
                .map(|(words, started, record)| (opening(tool, words, path, &started), started, record)),
        );
    }
    Ok(runs)
}

/// The documents of a file: tools write warnings before them, and one after the other.
fn documents(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let text = String::from_utf8_lossy(bytes);
    let starts = std::iter::once(text.trim_start().starts_with('{').then_some(0)).flatten();
    let lines = text.match_indices("\n{").map(|(at, _)| at + 1);
    let Some(start) = starts.chain(lines).next() else { return Err("there is no JSON in it".into()) };
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>() {
        match document {
            Ok(document) => documents.push(document),
            // What follows a whole document is talk.
            Err(_) if !documents.is_empty() => break,
            Err(error) => return Err(format!("it is no JSON: {error}")),
        }
    }
    Ok(documents)
}

fn opening(tool: &str, mut words: Vec<String>, path: &str, started: &RunStart) -> Opening {
    if words.is_empty() {
        words = vec!["import".into(), path.into()];
    }
    Opening { tool: tool.into(), words, plan: started.plan.clone(), ..Opening::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool whose document says what it is called.
    const IMPORTERS: &[Importer] = &[("tool", |document| {
        let name = document.get("tool")?.as_str()?.to_string();
        let words = document.get("words").map(|words| vec![words.to_string()]).unwrap_or_default();
        let named = Record { name, ..Record::default() };
        Some(if named.name.is_empty() {
            Err("no name".into())
        } else {
            Ok(vec![(words, RunStart::default(), named)])
        })
    })];

    fn imported(text: &str) -> Result<Vec<Imported>, Diagnostic> {
        read("f.json", text.as_bytes(), IMPORTERS)
    }

    #[test]
    fn documents_follow_warnings_and_each_other() {
        let runs = imported("a warning\n{\"tool\": \"x\"}\n{\"tool\": \"y\", \"words\": 7}\ntalk").unwrap();
        let [(first, _, x), (second, _, y)] = runs.as_slice() else { panic!("two runs") };
        assert_eq!((first.tool.as_str(), first.words.join(" ")), ("tool", "import f.json".into()));
        assert_eq!((x.name.as_str(), y.name.as_str(), second.words.join(" ")), ("x", "y", "7".into()));
        assert!(imported("{\"tool\": \"\"}").unwrap_err().message.contains("as tool's JSON: no name"));
    }

    #[test]
    fn another_version_of_ours_is_refused() {
        let wrong = |text: &str| imported(text).unwrap_err().message;
        assert!(wrong(r#"{ "schema": "iodyno.record/2" }"#).contains("iodyno.record/2"));
        assert!(wrong(r#"{ "schema": "iodyno.record/1", "name": "x" }"#).contains("missing field"));
        assert!(wrong(r#"{ "schema": "other" }"#).contains("neither"));
    }

    #[test]
    fn what_is_nobodys_is_refused() {
        for text in ["", "no JSON", "{", "{}", "[1]", r#"{ "jobs": 7 }"#] {
            assert!(imported(text).is_err(), "{text}");
        }
    }
}
