//! Job files: sections, comments, `include`, `${VARIABLE}` and the keywords `$ncpus`, `$pagesize` and `$mb_memory`.
//!
//! Reads what people have had lying about for ten years: CRLF, a byte order mark, no newline at the end, blanks around
//! names. It refuses options outside of a section and files that include themselves.

use iodyno_model::{Diagnostic, Origin};

use super::number;
use super::section::{OptionLine, Section};
use crate::{Loader, text_file};

/// How deep files may include each other.
const DEEPEST: usize = 16;

/// How many files may be included: two that are each included twice, and so on, are more than anyone wrote.
const MOST_FILES: usize = 10_000;

/// Reads one job file (`-`: standard input) and what it includes, adding its sections to those that were read before.
pub fn read(path: &str, loader: &mut dyn Loader, sections: &mut Vec<Section>) -> Vec<Diagnostic> {
    let mut reader =
        JobFileReader { loader, sections, problems: Vec::new(), inside: false, open: Vec::new(), read: 0 };
    reader.file(path, &Origin::argument(path));
    reader.problems
}

/// Reads the text of a job file that a client sent, and what it includes on this machine.
pub fn read_text(text: &str, loader: &mut dyn Loader, sections: &mut Vec<Section>) -> Vec<Diagnostic> {
    let mut reader =
        JobFileReader { loader, sections, problems: Vec::new(), inside: false, open: Vec::new(), read: 1 };
    reader.text("job file", text);
    reader.problems
}

struct JobFileReader<'a> {
    loader: &'a mut dyn Loader,
    sections: &'a mut Vec<Section>,
    problems: Vec<Diagnostic>,
    /// Whether a section has begun in this file.
    inside: bool,
    /// The files that are being read, each included by the one before.
    open: Vec<String>,
    read: usize,
}

impl JobFileReader<'_> {
    fn file(&mut self, path: &str, from: &Origin) {
        self.read += 1;
        let read = match path {
            "-" => self.loader.standard_input(),
            path => self.loader.read(path),
        };
        match read {
            Ok(bytes) => match text_file::text(&bytes) {
                Ok(text) => {
                    self.open.push(path.to_string());
                    self.text(path, &text);
                    self.open.pop();
                }
                Err(why) => {
                    let problem = Diagnostic::error(from, format!("unable to read '{path}' job file: {why}"));
                    self.problems.push(problem.hint("a job file has lines of text: [job], then KEY=VALUE"));
                }
            },
            Err(why) => {
                let problem = format!("unable to open '{path}' job file: {why}");
                self.problems.push(Diagnostic::error(from, problem));
            }
        }
    }

    fn text(&mut self, path: &str, text: &str) {
        let shown = if path == "-" { "stdin" } else { path };
        let place = Origin::file(shown, 0);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1u32..).zip(text.split('\n')) {
            let line = bared(line);
            if line.is_empty() {
                continue;
            }
            let origin = match &place {
                Origin::File { path, .. } => Origin::File { path: path.clone(), line: number },
                other => other.clone(),
            };
            self.line(path, line, origin);
        }
    }

    fn line(&mut self, path: &str, line: &str, origin: Origin) {
        if let Some(rest) = line.strip_prefix('[') {
            return self.heading(rest, origin);
        }
        if let Some(wanted) = included(line) {
            return self.include(path, wanted, &origin);
        }
        let (name, text) = match line.split_once('=') {
            Some((name, text)) => (name.trim_end(), Some(text.trim())),
            None => (line, None),
        };
        let line = OptionLine {
            name: name.to_string(),
            text: text.map(|text| substituted(text, self.loader)),
            origin: origin.clone(),
        };
        match self.sections.last_mut().filter(|_| self.inside) {
            Some(section) => section.lines.push(line),
            None => self.problems.push(
                Diagnostic::error(&origin, format!("option `{name}` stands outside of a section"))
                    .hint("begin with [global] or with a job's name: [job1]"),
            ),
        }
    }

    fn heading(&mut self, rest: &str, origin: Origin) {
        let Some((name, behind)) = rest.rsplit_once(']') else {
            let problem = format!("`[{rest}` has no closing bracket");
            return self.problems.push(Diagnostic::error(&origin, problem).hint(format!("write [{rest}]")));
        };
        if !behind.trim().is_empty() {
            let problem = format!("`{}` stands behind the section's name", behind.trim());
            self.problems.push(Diagnostic::error(&origin, problem).hint("give it a line of its own"));
        }
        self.inside = true;
        self.sections.push(Section::new(name, origin));
    }

    /// Another file's lines in this place. What is not found from here is looked for beside the file that names it.
    fn include(&mut self, path: &str, wanted: &str, origin: &Origin) {
        let beside = path.rsplit_once('/').map(|(folder, _)| format!("{folder}/{wanted}"));
        let found = match beside {
            Some(beside) if self.loader.look(wanted).is_none() && self.loader.look(&beside).is_some() => {
                beside
            }
            _ => wanted.to_string(),
        };
        if self.open.contains(&found) {
            let problem = Diagnostic::error(origin, format!("`{wanted}` includes itself"));
            return self.problems.push(problem.hint(self.open.join(" includes ")));
        }
        if self.open.len() >= DEEPEST || self.read >= MOST_FILES {
            let problem = format!("`{wanted}`: too many files include each other");
            return self
                .problems
                .push(Diagnostic::error(origin, problem).hint(format!("{DEEPEST} deep is the most")));
        }
        self.file(&found, origin);
    }
}

/// A line without blanks around it and without its comment. As in fio, `;` and `#` begin one anywhere.
fn bared(line: &str) -> &str {
    let end = line.find([';', '#']).unwrap_or(line.len());
    line[..end].trim()
}

fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

/// With the values of variables and keywords in their places. A variable that is not set is empty.
fn substituted(text: &str, loader: &dyn Loader) -> String {
    if !text.contains('$') {
        return text.to_string();
    }
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else { break };
        done += before;
        done += &loader.variable(name).unwrap_or_default();
        rest = after;
    }
    done += rest;
    keywords(&done, loader)
}

/// Replaces keywords by numbers, and evaluates an expression with them: `$ncpus*2`.
fn keywords(text: &str, loader: &dyn Loader) -> String {
    const NAMES: [&str; 3] = ["$pagesize", "$mb_memory", "$ncpus"];
    if !NAMES.iter().any(|name| text.contains(name)) {
        return text.to_string();
    }
    let machine = loader.machine();
    let values = [loader.page_bytes(), machine.memory_bytes >> 20, u64::from(machine.cpus)];
    let mut text = text.to_string();
    for (name, value) in NAMES.iter().zip(values) {
        text = text.replace(name, &value.to_string());
    }
    number::evaluate(&text).map_or(text, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::testing::Shelf;
    use super::*;

    fn sections(files: &[(&str, &str)]) -> (Vec<Section>, Vec<String>) {
        let mut sections = Vec::new();
        let problems = read(files[0].0, &mut Shelf::of(files), &mut sections);
        (sections, problems.iter().map(Diagnostic::to_string).collect())
    }

    fn shown(text: &str) -> Vec<String> {
        let (sections, problems) = sections(&[("j.fio", text)]);
        assert_eq!(problems, Vec::<String>::new());
        let line = |line: &OptionLine| match &line.text {
            Some(text) => format!("{}={text}@{}", line.name, line.origin),
            None => format!("{}@{}", line.name, line.origin),
        };
        sections
            .iter()
            .flat_map(|section| {
                [format!("[{}]", section.name)].into_iter().chain(section.lines.iter().map(line))
            })
            .collect()
    }

    #[test]
    fn sections_comments_and_blanks_are_read_as_fio_reads_them() {
        let text = "\u{feff}; head\r\n[global]  # x\r\n\trw = read \r\nbs=4k ; four\r\n\r\n  #c\r\n[a b]\r\nthread\r\nsize=1m";
        assert_eq!(
            shown(text),
            ["[global]", "rw=read@j.fio:3", "bs=4k@j.fio:4", "[a b]", "thread@j.fio:8", "size=1m@j.fio:9"]
        );
        assert_eq!(shown("[x=y]\nfilename=a=b\n"), ["[x=y]", "filename=a=b@j.fio:2"]);
        assert_eq!(shown(""), Vec::<String>::new());
    }

    #[test]
    fn variables_and_keywords_are_put_in_place() {
        // The shelf has HOME=/people/ada, two processors, 4096 MiB and pages of 4096 bytes.
        assert_eq!(
            shown(
                "[a]\nfilename=${HOME}/f${NOPE}\nnumjobs=$ncpus\nsize=$mb_memory*3/4\nbs=$pagesize\ndirectory=$x"
            ),
            [
                "[a]",
                "filename=/people/ada/f@j.fio:2",
                "numjobs=2@j.fio:3",
                "size=3072@j.fio:4",
                "bs=4096@j.fio:5",
                "directory=$x@j.fio:6"
            ]
        );
        assert_eq!(shown("[a]\nsize=${open\n"), ["[a]", "size=${open@j.fio:2"]);
    }

    #[test]
    fn included_lines_stand_where_they_are_included() {
        let files =
            [("d/a.fio", "[x]\nrw=read\ninclude b.fio\nbs=1k"), ("d/b.fio", "rw=write\n[y]\nsize=1m\n")];
        let (found, problems) = sections(&files);
        assert_eq!(problems, Vec::<String>::new());
        let names: Vec<_> =
            found.iter().map(|section| (section.name.as_str(), section.lines.len())).collect();
        assert_eq!(names, [("x", 2), ("y", 2)]);
        assert_eq!(found[0].lines[1].origin.to_string(), "d/b.fio:1");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let (_, problems) = sections(&[("j.fio", "bs=4k\n[open\n[a] b\ninclude no.fio\n")]);
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(problems[0].starts_with("error: j.fio:1: option `bs` stands outside"));
        let (_, problems) = sections(&[("j.fio", "[a]\ninclude j.fio\n")]);
        assert!(problems[0].contains("`j.fio` includes itself"), "{problems:?}");
    }
}
