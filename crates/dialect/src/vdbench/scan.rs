//! Parameter files as text: comments, continued lines, quotes, included files, variables, lines for each host.
//!
//! ```text
//!   * comment              also # and /; a line ends at its first blank
//!   sd=sd1,lun=/x,         a comma at the end continues the line
//!      threads=(1-64,d)    values in parentheses; 1, 2, 4 … 64
//! ```
//! It refuses what the original reads without a word: a keyword without a value, parentheses and quotes left open, and
//! variables that nobody set.

use std::collections::VecDeque;

use iodyno_model::{Diagnostic, Origin};

use crate::Loader;

/// One `keyword=value` with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub keyword: String,
    /// At least one.
    pub values: Vec<String>,
    pub origin: Origin,
    /// Whether a line begins with it.
    pub leads: bool,
}

/// One line of a parameter file, as it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterLine {
    pub text: String,
    pub origin: Origin,
}

/// What files and the command line say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScannedFiles {
    pub parameters: Vec<Parameter>,
    /// Everything that was read, for the copy among the results.
    pub lines: Vec<String>,
}

/// Lines that one file or command may come to.
const LINES_MOST: usize = 100_000;
/// Hosts that a line is repeated for.
const HOSTS_MOST: usize = 4096;

/// Reads the files, in their order; `variables` are `name=value` of the command line, `extra` is put behind each run.
///
/// # Errors
/// Everything that is wrong with their form.
pub fn read(
    files: &[String],
    variables: &[(String, String)],
    extra: &str,
    loader: &mut dyn Loader,
) -> Result<ScannedFiles, Vec<Diagnostic>> {
    let mut scanner = Scanner { variables, loader, lines: Vec::new(), copy: Vec::new(), wrong: Vec::new() };
    for path in files {
        scanner.file(path, None);
    }
    let lines = scanner.for_each_host();
    let mut scanned = ScannedFiles { parameters: Vec::new(), lines: std::mem::take(&mut scanner.copy) };
    let mut queue: VecDeque<ParameterLine> = lines.into();
    while let Some(line) = queue.pop_front() {
        let joined = joined(line, &mut queue, extra);
        match joined.and_then(|line| parameters(&line)) {
            Ok(parameters) => scanned.parameters.extend(parameters),
            Err(wrong) => scanner.wrong.push(wrong),
        }
    }
    match scanner.wrong.is_empty() {
        true => Ok(scanned),
        false => Err(scanner.wrong),
    }
}

/// The same of a text that no file holds.
///
/// # Errors
/// Everything that is wrong with its form.
pub fn read_text(text: &str, extra: &str) -> Result<ScannedFiles, Vec<Diagnostic>> {
    let line = |text: &str| ParameterLine { text: text.into(), origin: Origin::argument("-t") };
    let mut queue: VecDeque<ParameterLine> = text.lines().map(line).collect();
    let mut scanned =
        ScannedFiles { parameters: Vec::new(), lines: text.lines().map(String::from).collect() };
    while let Some(line) = queue.pop_front() {
        let line = joined(line, &mut queue, extra).map_err(|wrong| vec![wrong])?;
        scanned.parameters.extend(parameters(&line).map_err(|wrong| vec![wrong])?);
    }
    Ok(scanned)
}

struct Scanner<'a> {
    variables: &'a [(String, String)],
    loader: &'a mut dyn Loader,
    lines: Vec<ParameterLine>,
    copy: Vec<String>,
    wrong: Vec<Diagnostic>,
}

impl Scanner<'_> {
    fn source(&mut self, path: &str, from: Option<&Origin>) -> Option<String> {
        let bytes = if path == "-" { self.loader.standard_input() } else { self.loader.read(path) };
        match bytes.and_then(|bytes| crate::text_file::text(&bytes)) {
            Ok(text) => Some(text),
            Err(reason) => {
                let origin = from.cloned().unwrap_or_else(|| Origin::argument(path));
                let what = if from.is_some() { format!("include={path}: {reason}") } else { reason };
                self.wrong
                    .push(Diagnostic::error(&origin, what).hint("a parameter file: iodyno vdbench -f FILE"));
                None
            }
        }
    }

    fn file(&mut self, path: &str, from: Option<&Origin>) {
        let Some(text) = self.source(path, from) else { return };
        self.copy.push(format!("* {path}"));
        for (number, line) in text.lines().enumerate() {
            let origin = Origin::file(path, number as u32 + 1);
            let substituted = self.substituted(line, &origin);
            self.copy.push(substituted.clone());
            let line = substituted.trim();
            if line.starts_with("eof") {
                break;
            }
            if line.is_empty() || line.starts_with(['/', '#', '*']) {
                continue;
            }
            match line.strip_prefix("include=") {
                Some(_) if from.is_some() => {
                    let wrong = Diagnostic::error(&origin, "an included file includes another one");
                    self.wrong.push(wrong.hint("name both in the file that is given with -f"));
                }
                Some(name) => self.include(name.trim(), path, &origin),
                None if self.lines.len() >= LINES_MOST => {
                    self.wrong.push(Diagnostic::error(&origin, "too many lines").hint("split the file"));
                    return;
                }
                None => self.lines.push(ParameterLine { text: line.into(), origin }),
            }
        }
    }

    /// A name without a folder lies beside the file that includes it, or else in the current directory.
    fn include(&mut self, name: &str, parent: &str, origin: &Origin) {
        let beside = match parent.rsplit_once('/') {
            Some((folder, _)) if !name.contains('/') => format!("{folder}/{name}"),
            _ => name.to_string(),
        };
        let path = if beside != name && self.loader.look(&beside).is_none() { name } else { &beside };
        let path = path.to_string();
        self.file(&path, Some(origin));
    }

    /// The line with the values of its variables; `$host` and `#host` are left for later.
    fn substituted(&mut self, line: &str, origin: &Origin) -> String {
        let is_comment = line.trim_start().starts_with(['/', '#', '*']);
        let (mut text, mut rest) = (String::new(), line);
        while let Some(at) = rest.find('$').filter(|_| !is_comment) {
            text += &rest[..at];
            let after = &rest[at + 1..];
            let known = self.variables.iter().filter(|(name, _)| after.starts_with(name.as_str()));
            match known.max_by_key(|(name, _)| name.len()) {
                Some((name, value)) => {
                    text += value;
                    rest = &after[name.len()..];
                }
                None => {
                    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
                    if &after[..end] != "host" {
                        let message = format!("`${}` has no value", &after[..end]);
                        let hint = format!("set it behind the files: -f FILE {}=VALUE", &after[..end].trim());
                        self.wrong.push(Diagnostic::error(origin, message).hint(hint));
                    }
                    text += "$";
                    text += &after[..end];
                    rest = &after[end..];
                }
            }
        }
        text + rest
    }

    /// A line that names `$host` or `#host` is there once for each host that `hd=` defines: its name, and its number.
    fn for_each_host(&mut self) -> Vec<ParameterLine> {
        let host = |line: &ParameterLine| {
            let (first, _) = line.text.split_once(',').unwrap_or((&line.text, ""));
            let (keyword, name) = first.split_once('=')?;
            (keyword == "hd" && name != "default").then(|| name.trim().to_string())
        };
        let hosts: Vec<String> = self.lines.iter().filter_map(host).take(HOSTS_MOST).collect();
        let mut all = Vec::new();
        for line in std::mem::take(&mut self.lines) {
            let repeats = line.text.contains("$host") || line.text.contains("#host");
            if !repeats || hosts.is_empty() {
                all.push(line);
                continue;
            }
            all.extend(hosts.iter().enumerate().map(|(number, host)| ParameterLine {
                text: line.text.replace("$host", host).replace("#host", &number.to_string()),
                origin: line.origin.clone(),
            }));
            if all.len() > LINES_MOST {
                let wrong = Diagnostic::error(&line.origin, "too many lines for too many hosts");
                self.wrong.push(wrong.hint("define fewer hosts with hd="));
                break;
            }
        }
        all
    }
}

/// Blanks, commas, equal signs and parentheses inside quotes, while a line is taken apart.
const HIDDEN: [(char, char); 5] =
    [(' ', '\u{1}'), (',', '\u{2}'), ('=', '\u{3}'), ('(', '\u{4}'), (')', '\u{5}')];

/// The line without its quotes and without what follows its first blank.
fn bare(line: &ParameterLine) -> Result<String, Diagnostic> {
    let (mut text, mut quoted) = (String::new(), false);
    for letter in line.text.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' | '\t' if !quoted => break,
            _ if quoted => {
                let hidden = HIDDEN.iter().find(|(plain, _)| *plain == letter);
                text.push(hidden.map_or(letter, |(_, hidden)| *hidden));
            }
            _ => text.push(letter),
        }
    }
    match quoted {
        true => Err(Diagnostic::error(&line.origin, "a quotation mark is left open").hint("close it: \"…\"")),
        false => Ok(text),
    }
}

/// A line with those that continue it, and with what the command line adds to a run.
fn joined(
    line: ParameterLine,
    rest: &mut VecDeque<ParameterLine>,
    extra: &str,
) -> Result<ParameterLine, Diagnostic> {
    let mut text = bare(&line)?;
    if !extra.is_empty() && text.starts_with("rd=") && !text.ends_with(',') {
        text = format!("{text},{extra}");
    }
    while text.ends_with(',') {
        let Some(next) = rest.pop_front() else { break };
        text += &bare(&next)?;
    }
    Ok(ParameterLine { text, ..line })
}

/// The parameters of a line.
fn parameters(line: &ParameterLine) -> Result<Vec<Parameter>, Diagnostic> {
    let wrong = |message: String, hint: &str| Diagnostic::error(&line.origin, message).hint(hint);
    let (mut parts, mut depth, mut part) = (Vec::new(), 0_u32, String::new());
    for letter in line.text.chars() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return Err(wrong("`)` without `(`".into(), "values are written (a,b,c)")),
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(letter);
    }
    if depth > 0 {
        return Err(wrong("`(` without `)`".into(), "values are written (a,b,c) and end on their line"));
    }
    parts.push(part);
    let mut parameters = Vec::new();
    for (index, part) in parts.iter().filter(|part| !part.is_empty()).enumerate() {
        let Some((keyword, value)) = part.split_once('=') else {
            let hint = "a parameter is keyword=value; several values are written (a,b)";
            return Err(wrong(format!("`{}` is no parameter", shown(part)), hint));
        };
        let inner = value.strip_prefix('(').and_then(|value| value.strip_suffix(')')).unwrap_or(value);
        let values: Vec<String> = inner.split(',').filter(|value| !value.is_empty()).map(shown).collect();
        if values.is_empty() || keyword.is_empty() {
            return Err(wrong(format!("`{}` has no value", shown(part)), "a parameter is keyword=value"));
        }
        let keyword = keyword.to_lowercase();
        parameters.push(Parameter { keyword, values, origin: line.origin.clone(), leads: index == 0 });
    }
    Ok(parameters)
}

/// The text with what quotes hid.
fn shown(text: &str) -> String {
    let plain = |letter: char| {
        HIDDEN.iter().find(|(_, hidden)| *hidden == letter).map_or(letter, |(plain, _)| *plain)
    };
    text.chars().map(plain).collect()
}
