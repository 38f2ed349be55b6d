//! YAML as a tree of values that know their lines.
//!
//! Anchors and aliases are resolved. It refuses several documents, keys that are no plain words, and a tree that is deeper or
//! larger than any configuration.

use std::collections::BTreeMap;

use iodyno_model::{Diagnostic, Origin};
use saphyr_parser::{Event, Parser, ScalarStyle};

/// Levels and values that a tree may have: what a parser of hostile input needs.
const LEVELS_MOST: usize = 32;
const VALUES_MOST: usize = 100_000;

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    pub origin: Origin,
    pub value: YamlValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue {
    /// Nothing, or `null`.
    Null,
    /// A number, a word, a text: what it means its reader says.
    Text(String),
    List(Vec<YamlNode>),
    /// Keys in their order.
    Map(Vec<(String, YamlNode)>),
}

impl YamlNode {
    pub fn map(origin: &Origin) -> YamlNode {
        YamlNode { origin: origin.clone(), value: YamlValue::Map(Vec::new()) }
    }

    /// A plain value as a file or a command line has it.
    pub fn plain(text: &str, origin: &Origin) -> YamlNode {
        let value = match text {
            "" | "~" | "null" | "Null" | "NULL" => YamlValue::Null,
            _ => YamlValue::Text(text.into()),
        };
        YamlNode { origin: origin.clone(), value }
    }

    /// The fields of a map; none: it is no map.
    pub fn fields(&self) -> &[(String, YamlNode)] {
        match &self.value {
            YamlValue::Map(fields) => fields,
            _ => &[],
        }
    }

    pub fn get(&self, name: &str) -> Option<&YamlNode> {
        self.fields().iter().find(|(known, _)| known == name).map(|(_, node)| node)
    }

    /// What lies at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&YamlNode> {
        path.iter().try_fold(self, |node, name| node.get(name))
    }

    /// Puts a value at a path; what is no map on the way becomes one.
    pub fn put(&mut self, path: &[&str], node: YamlNode) {
        let Some((name, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if !matches!(self.value, YamlValue::Map(_)) {
            self.value = YamlValue::Map(Vec::new());
        }
        let YamlValue::Map(fields) = &mut self.value else { return };
        let index = fields.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            fields.push(((*name).into(), YamlNode::map(&node.origin)));
            fields.len() - 1
        });
        fields[index].1.put(rest, node);
    }

    /// Takes away what lies at a path; whether there was something.
    pub fn remove(&mut self, path: &[&str]) -> bool {
        let Some((name, rest)) = path.split_first() else { return false };
        let YamlValue::Map(fields) = &mut self.value else { return false };
        let Some(index) = fields.iter().position(|(known, _)| known == name) else { return false };
        if rest.is_empty() {
            fields.remove(index);
            return true;
        }
        fields[index].1.remove(rest)
    }

    /// The tree as YAML again, indented.
    pub fn print(&self, level: usize, text: &mut String) {
        let pad = "  ".repeat(level);
        match &self.value {
            YamlValue::Null => *text += " null\n",
            YamlValue::Text(value) => *text += &format!(" {value}\n"),
            YamlValue::List(nodes) => {
                *text += "\n";
                for node in nodes {
                    *text += &format!("{pad}-");
                    node.print(level + 1, text);
                }
            }
            YamlValue::Map(fields) => {
                *text += if level == 0 { "" } else { "\n" };
                for (name, node) in fields {
                    *text += &format!("{pad}{name}:");
                    node.print(level + 1, text);
                }
            }
        }
    }
}

/// Parses one document.
///
/// # Errors
/// The first thing that is wrong with it, with its line.
pub fn parse(text: &str, path: &str) -> Result<YamlNode, Diagnostic> {
    let mut tree =
        YamlReader { path, parser: Parser::new_from_str(text), anchors: BTreeMap::new(), values: 0 };
    let mut root = None;
    loop {
        let (event, line) = tree.next()?;
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            _ if root.is_some() => {
                return Err(tree.wrong(line, "a second document", "a configuration is one document"));
            }
            event => root = Some(tree.node(event, line, 0)?),
        }
    }
    Ok(root.unwrap_or_else(|| YamlNode::map(&Origin::file(path, 1))))
}

struct YamlReader<'a> {
    path: &'a str,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    anchors: BTreeMap<usize, YamlNode>,
    /// How many there are by now, those of aliases too.
    values: usize,
}

impl<'a> YamlReader<'a> {
    fn wrong(&self, line: u32, message: impl Into<String>, hint: &str) -> Diagnostic {
        Diagnostic::error(&Origin::file(self.path, line), message).hint(hint)
    }

    fn next(&mut self) -> Result<(Event<'a>, u32), Diagnostic> {
        match self.parser.next_event() {
            None => Ok((Event::StreamEnd, 1)),
            Some(Ok((event, span))) => Ok((event, span.start.line() as u32)),
            Some(Err(error)) => {
                let line = error.marker().line() as u32;
                let hint = "YAML is `key: value`, and what belongs together is indented alike, by blanks";
                Err(self.wrong(line, format!("no YAML: {}", error.info()), hint))
            }
        }
    }

    fn node(&mut self, event: Event<'a>, line: u32, level: usize) -> Result<YamlNode, Diagnostic> {
        self.values += 1;
        if level > LEVELS_MOST || self.values > VALUES_MOST {
            return Err(self.wrong(line, "too deep or too large", "no configuration has so many values"));
        }
        let origin = Origin::file(self.path, line);
        let (node, anchor) = match event {
            Event::Scalar(text, ScalarStyle::Plain, anchor, _) => (YamlNode::plain(&text, &origin), anchor),
            Event::Scalar(text, _, anchor, _) => {
                (YamlNode { origin, value: YamlValue::Text(text.into_owned()) }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                (YamlNode { origin, value: YamlValue::List(self.list(level)?) }, anchor)
            }
            Event::MappingStart(anchor, _) => {
                (YamlNode { origin, value: YamlValue::Map(self.fields(level)?) }, anchor)
            }
            Event::Alias(anchor) => (self.alias(anchor, line)?, 0),
            _ => return Err(self.wrong(line, "no value", "a key is followed by its value")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, line: u32) -> Result<YamlNode, Diagnostic> {
        let node = self.anchors.get(&anchor).cloned();
        let node =
            node.ok_or_else(|| self.wrong(line, "no such anchor", "an anchor stands before its alias"))?;
        self.values += size(&node);
        Ok(node)
    }

    fn list(&mut self, level: usize) -> Result<Vec<YamlNode>, Diagnostic> {
        let mut nodes = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(nodes),
                (event, line) => nodes.push(self.node(event, line, level + 1)?),
            }
        }
    }

    fn fields(&mut self, level: usize) -> Result<Vec<(String, YamlNode)>, Diagnostic> {
        let mut fields: Vec<(String, YamlNode)> = Vec::new();
        loop {
            let (name, line) = match self.next()? {
                (Event::MappingEnd | Event::StreamEnd, _) => return Ok(fields),
                (Event::Scalar(name, ..), line) => (name.into_owned(), line),
                (_, line) => return Err(self.wrong(line, "a key that is no word", "a key is a word")),
            };
            if let Some((_, other)) = fields.iter().find(|(known, _)| *known == name) {
                let message = format!("`{name}` is said twice, first at {}", other.origin);
                return Err(self.wrong(line, message, "leave one of them out"));
            }
            let (event, at) = self.next()?;
            // A value that is left out has its place behind the key.
            let at = if matches!(event, Event::Scalar(..)) { line.max(at.min(line)) } else { line };
            let node = self.node(event, at, level + 1)?;
            fields.push((name, node));
        }
    }
}

/// Values of a tree.
fn size(node: &YamlNode) -> usize {
    1 + match &node.value {
        YamlValue::Map(fields) => fields.iter().map(|(_, node)| size(node)).sum(),
        YamlValue::List(nodes) => nodes.iter().map(size).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines() {
        let tree = parse("a: 1\nb:\n  c: 'x y'\n  d: [1, 2]\ne:\n", "f.yaml").unwrap();
        let at = |path: &[&str]| tree.at(path).map(|node| (node.origin.to_string(), node.value.clone()));
        assert_eq!(at(&["a"]), Some(("f.yaml:1".into(), YamlValue::Text("1".into()))));
        assert_eq!(at(&["b", "c"]), Some(("f.yaml:3".into(), YamlValue::Text("x y".into()))));
        assert_eq!(at(&["e"]), Some(("f.yaml:5".into(), YamlValue::Null)));
        let Some((_, YamlValue::List(list))) = at(&["b", "d"]) else { panic!("a list") };
        assert_eq!(list.len(), 2);
    }

    #[test]
    fn anchors_are_resolved_and_a_bomb_of_them_is_refused() {
        let tree = parse("a: &x {b: 1}\nc: *x\n", "f").unwrap();
        assert!(tree.at(&["c", "b"]).is_some());
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
        for level in 1..9 {
            let before = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb += &format!("a{level}: &a{level} [{before}]\n");
        }
        assert!(parse(&bomb, "f").unwrap_err().message.contains("too large"));
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_line() {
        for (text, place, words) in [
            ("a: 1\nb: [1\n", "f:", "no YAML"),
            ("a: 1\na: 2\n", "f:2", "said twice, first at f:1"),
            ("a: 1\n---\nb: 2\n", "f:3", "second document"),
            ("? [a]\n: b\n", "f:1", "no word"),
            ("a: *x\n", "f:1", "no YAML"),
        ] {
            let wrong = parse(text, "f").unwrap_err().to_string();
            assert!(wrong.contains(place) && wrong.contains(words), "{text}: {wrong}");
        }
    }

    #[test]
    fn values_are_put_and_removed_by_their_paths() {
        let mut tree = parse("a: {b: 1}\n", "f").unwrap();
        let origin = Origin::argument("x");
        tree.put(&["a", "c", "d"], YamlNode::plain("2", &origin));
        assert!(tree.remove(&["a", "b"]) && !tree.remove(&["a", "z"]));
        let mut text = String::new();
        tree.print(0, &mut text);
        assert_eq!(text, "a:\n  c:\n    d: 2\n");
    }
}
