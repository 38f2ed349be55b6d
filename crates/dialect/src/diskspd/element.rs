//! Elements of XML: a tree that is read with the lines of its source, or made and printed.

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::Event;

/// An element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    pub name: String,
    pub text: String,
    pub attributes: Vec<(&'static str, String)>,
    pub children: Vec<Element>,
    /// Where it was read, from 1 on.
    pub line: u32,
}

/// Elements in each other; more are no profile.
const MOST_DEPTH: usize = 32;

impl Element {
    pub fn new(name: &str, children: Vec<Element>) -> Element {
        Element { name: name.into(), children, ..Element::default() }
    }

    /// An element with nothing but text in it.
    pub fn leaf(name: &str, text: impl ToString) -> Element {
        Element { name: name.into(), text: text.to_string(), ..Element::default() }
    }

    pub fn with(self, name: &'static str, value: impl ToString) -> Element {
        let mut attributes = self.attributes;
        attributes.push((name, value.to_string()));
        Element { attributes, ..self }
    }

    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Its lines, two blanks to the right for each element around it.
    pub fn print(&self, indent: usize, out: &mut String) {
        let attributes: String =
            self.attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", printable(value))).collect();
        let name = &self.name;
        out.push_str(&format!("{:indent$}<{name}{attributes}", ""));
        match (self.children.is_empty(), self.text.is_empty()) {
            (true, true) if !self.attributes.is_empty() => out.push_str("/>\n"),
            (true, _) => out.push_str(&format!(">{}</{name}>\n", printable(&self.text))),
            (false, _) => {
                out.push_str(">\n");
                self.children.iter().for_each(|child| child.print(indent + 2, out));
                out.push_str(&format!("{:indent$}</{name}>\n", ""));
            }
        }
    }

    /// Reads a document of one element.
    ///
    /// # Errors
    /// The line, and what is wrong there.
    pub fn read(text: &str) -> Result<Element, (u32, String)> {
        let mut reader = Reader::from_str(text);
        let mut open = vec![Element::default()];
        let (mut line, mut counted) = (1, 0);
        loop {
            let position = text.len().min(reader.buffer_position() as usize);
            line += text.as_bytes()[counted..position].iter().filter(|byte| **byte == b'\n').count() as u32;
            counted = position;
            let wrong = |message: String| (line, message);
            match reader.read_event().map_err(|error| wrong(format!("no XML: {error}")))? {
                Event::Start(start) => {
                    let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
                    open.push(Element { name, line, ..Element::default() });
                    if open.len() > MOST_DEPTH {
                        return Err(wrong("elements lie too deep in each other".into()));
                    }
                }
                Event::Empty(start) => {
                    let name = String::from_utf8_lossy(start.name().as_ref()).into_owned();
                    last(&mut open).children.push(Element { name, line, ..Element::default() });
                }
                Event::End(_) => {
                    let done = open.pop().unwrap_or_default();
                    let done = Element { text: done.text.trim().into(), ..done };
                    last(&mut open).children.push(done);
                }
                Event::Text(part) => {
                    let part = part.decode().map_err(|error| wrong(error.to_string()))?;
                    last(&mut open).text.push_str(&part);
                }
                Event::GeneralRef(reference) => {
                    let name = reference.decode().map_err(|error| wrong(error.to_string()))?;
                    let letter =
                        quick_xml::escape::unescape(&format!("&{name};")).map(|text| text.into_owned());
                    last(&mut open).text.push_str(&letter.map_err(|error| wrong(error.to_string()))?);
                }
                Event::CData(part) => last(&mut open).text.push_str(&String::from_utf8_lossy(&part)),
                Event::Eof => break,
                _ => {}
            }
        }
        let mut all = open.pop().filter(|_| open.is_empty()).map(|root| root.children).unwrap_or_default();
        match (all.pop(), all.is_empty()) {
            (Some(root), true) => Ok(root),
            _ => Err((1, "one element was expected, with all others in it".into())),
        }
    }
}

fn last(open: &mut [Element]) -> &mut Element {
    open.last_mut().expect("the document itself is always open")
}

/// What XML takes of a text; what it does not is replaced.
fn printable(text: &str) -> String {
    let fits = |letter: char| !letter.is_control() || letter == '\t';
    escape(text.replace(|letter| !fits(letter), "\u{FFFD}")).into_owned()
}
