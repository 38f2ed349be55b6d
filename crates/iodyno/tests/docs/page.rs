//! A page's commands: its blocks of `sh`, what the page says about them, and the lines that it shows as their output.
//!
//! | in a block | means |
//! |---|---|
//! | `# not run here: REASON`, on a line of its own | nothing below it in the block is run |
//! | `… # not run here: REASON` | this command is not run |
//! | `… # tests add: WORDS` | the tests run it with these words besides |
//! | `… # exit status N` | it ends so |
//!
//! On a page that newcomers see first the same is said in a comment right above the block, which Markdown does not show:
//! `<!-- command 1: not run here: REASON -->` is of the first command in the block. What reads well beside it says the reason to
//! people.
//!
//! A block of `text` right below shows lines of the output: figures and units may differ, `…` stands for anything. The page on
//! findings has its commands in lines that are moved in by four blanks.

use std::ops::Range;

/// A command of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its line in the page, from 1 on.
    pub line: usize,
    /// What is run: the command of the page, and what the tests add.
    pub text: String,
    /// The exit status that it must have.
    pub status: u8,
    /// Why it is not run.
    pub not_run: Option<String>,
}

/// Commands that are run one after the other, and what they print.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub statements: Vec<Statement>,
    /// Lines that the page shows; empty: none.
    pub shown: Vec<String>,
}

/// The first line of the page on findings.
const FINDINGS: &str = "# How storage numbers lie";
/// The words that begin a command in a line that is moved in.
const COMMANDS: [&str; 8] = ["iodyno ", "rm ", "mkdir ", "truncate ", "printf ", "sync", "for ", "taskset "];

/// The blocks of a page, in their order.
pub fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let is_on_findings = lines.first() == Some(&FINDINGS);
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if let Some((language, inside)) = fence(&lines, at) {
            at = inside.end + 1;
            if language != "sh" {
                continue;
            }
            let above = notes(&lines[..inside.start - 1]);
            let mut block = Block { statements: statements(&lines, inside, &above), shown: Vec::new() };
            let next =
                at + lines[at.min(lines.len())..].iter().take_while(|line| line.trim().is_empty()).count();
            if let Some(("text", inside)) = fence(&lines, next) {
                at = inside.end + 1;
                block.shown = lines[inside].iter().map(ToString::to_string).collect();
            }
            blocks.push(block);
            continue;
        }
        let moved_in = lines[at..].iter().take_while(|line| is_on_findings && is_command(line)).count();
        if moved_in > 0 && (at == 0 || lines[at - 1].trim().is_empty()) {
            let statements = statements(&lines, at..at + moved_in, &[]);
            blocks.push(Block { statements, shown: Vec::new() });
        }
        at += moved_in.max(1);
    }
    blocks
}

/// Whether a line that is moved in is a command, and no picture.
fn is_command(line: &str) -> bool {
    line.strip_prefix("    ").is_some_and(|line| COMMANDS.iter().any(|word| line.starts_with(word)))
}

/// The language of a fenced block that begins at a line, and the lines in it.
fn fence<'a>(lines: &[&'a str], at: usize) -> Option<(&'a str, Range<usize>)> {
    let language = lines.get(at)?.strip_prefix("```")?.trim();
    let length = lines[at + 1..].iter().position(|line| line.starts_with("```"))?;
    Some((language, at + 1..at + 1 + length))
}

/// The languages of all fenced blocks of a page, each with its line.
pub fn languages(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < lines.len() {
        match fence(&lines, at) {
            Some((language, inside)) => {
                found.push((at + 1, language.to_string()));
                at = inside.end + 1;
            }
            None => at += 1,
        }
    }
    found
}

/// What comments right above a block say of its commands: the number of the command, from 1 on, and the words.
fn notes<'a>(above: &[&'a str]) -> Vec<(usize, &'a str)> {
    let comments =
        above.iter().rev().map_while(|line| line.strip_prefix("<!-- command ")?.strip_suffix(" -->"));
    comments
        .filter_map(|comment| {
            let (number, said) = comment.split_once(": ")?;
            Some((number.parse().ok()?, said))
        })
        .collect()
}

/// The commands in these lines: one a line, unless it ends in a backslash or has a here-document.
fn statements(lines: &[&str], inside: Range<usize>, above: &[(usize, &str)]) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut not_run: Option<String> = None;
    let mut at = inside.start;
    while at < inside.end {
        let line = lines[at].trim();
        let first = at;
        at += 1;
        if line.is_empty() || line.starts_with('#') {
            if let Some(reason) = line.strip_prefix("# not run here: ") {
                not_run = Some(reason.to_string());
            }
            continue;
        }
        let mut text = lines[first].strip_prefix("    ").unwrap_or(lines[first]).to_string();
        while text.ends_with('\\') && at < inside.end {
            text = format!("{}{}", text.trim_end_matches('\\'), lines[at].trim());
            at += 1;
        }
        let (command, said) = comment(&text);
        let noted = above.iter().find(|(number, _)| *number == found.len() + 1);
        let said = noted.map_or(said, |(_, said)| said);
        let mut text = command.trim_end().to_string();
        let mut statement =
            Statement { line: first + 1, text: String::new(), status: 0, not_run: not_run.clone() };
        if let Some(words) = said.strip_prefix("tests add: ") {
            text = format!("{text} {words}");
        } else if let Some(reason) = said.strip_prefix("not run here: ") {
            statement.not_run = Some(reason.to_string());
        } else if let Some(status) = said.strip_prefix("exit status ") {
            let number: String = status.chars().take_while(char::is_ascii_digit).collect();
            statement.status = number.parse().unwrap_or(0);
        }
        if let Some((_, word)) = text.clone().split_once("<<") {
            let end = word.split_whitespace().next().unwrap_or("").trim_matches(['\'', '"', '-']).to_string();
            while at < inside.end {
                text.push('\n');
                text.push_str(lines[at]);
                at += 1;
                if lines[at - 1] == end {
                    break;
                }
            }
        }
        statement.text = text;
        found.push(statement);
    }
    found
}

/// A command, and the comment behind it.
fn comment(line: &str) -> (&str, &str) {
    let known = ["tests add: ", "not run here: ", "exit status "];
    for word in known {
        if let Some((command, rest)) = line.rsplit_once(&format!("# {word}")) {
            return (command, &line[line.len() - rest.len() - word.len()..]);
        }
    }
    (line, "")
}

/// A line with a mark in the place of all that may differ from run to run: figures, their units, and lengths of bars.
pub fn masked(line: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|letter: char| "[]<>(),;:".contains(letter));
        let is_figure = bare.is_empty()
            || bare.starts_with(|letter: char| letter.is_ascii_digit())
            || bare.chars().all(|letter| "–-+█▏▎▍▌▋▊▉│".contains(letter))
            || [
                "ns", "µs", "ms", "s", "%", "GB/s", "MB/s", "k/s", "M/s", "/s", "GiB", "MiB", "KiB", "k", "M",
            ]
            .contains(&bare);
        match is_figure {
            true if words.last() == Some(&"#") => {}
            true => words.push("#"),
            false => words.push(word),
        }
    }
    words.join(" ")
}

/// The first line that a page shows and the output does not have, in this order.
pub fn missing<'a>(shown: &'a [String], output: &str) -> Option<&'a str> {
    let mut rest = output.lines().map(masked);
    shown.iter().map(String::as_str).filter(|line| !["", "…"].contains(&line.trim())).find(|line| {
        let wanted = masked(line);
        !rest.any(|have| fits(&wanted, &have))
    })
}

/// Whether a line is as wanted; `…` stands for anything.
fn fits(wanted: &str, have: &str) -> bool {
    let parts: Vec<&str> = wanted.split('…').map(str::trim).collect();
    if parts.len() == 1 {
        return wanted == have;
    }
    let mut rest = have;
    parts.iter().enumerate().all(|(index, part)| match rest.find(part) {
        Some(at) if index > 0 || at == 0 => {
            rest = &rest[at + part.len()..];
            index + 1 < parts.len() || part.is_empty() || rest.is_empty()
        }
        _ => false,
    })
}
