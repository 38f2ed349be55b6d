//! A pasted text, cut into commands with what they printed.
//!
//! A command line is one whose first word, behind a prompt and launchers, is a tool's name. Refuses to guess from prose.

use super::{TOOLS, Told};

/// A command with its output, or one of them alone.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    pub tool: &'static str,
    /// The command's words behind its name.
    pub words: Vec<String>,
    /// What stood before the name.
    pub launcher: Vec<String>,
    pub is_command: bool,
    pub lines: Vec<String>,
}

/// Programs that start others, and what may stand before a tool's name.
const LAUNCHERS: &[&str] = &[
    "sudo",
    "time",
    "nice",
    "ionice",
    "numactl",
    "taskset",
    "env",
    "stdbuf",
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "srun",
    "flux",
    "aprun",
    "jsrun",
    "iodyno",
    "chrt",
    "timeout",
    "strace",
];

/// The commands and results of a text, in its order.
pub fn pieces(text: &str) -> Vec<Piece> {
    if is_job_file(text) {
        let lines = text.lines().map(String::from).collect();
        return vec![Piece { tool: "fio", lines, ..Piece::default() }];
    }
    let mut pieces: Vec<Piece> = Vec::new();
    // Progress is written over with carriage returns.
    let joined = text.replace("\\\n", " ").replace('\r', "\n");
    for line in joined.lines() {
        if let Some(piece) = command(line) {
            pieces.push(piece);
            continue;
        }
        let begins = signature(line)
            .filter(|tool| pieces.last().is_none_or(|last| last.tool != *tool || is_anew(tool, line, last)));
        match (begins, pieces.last_mut()) {
            (Some(tool), _) => pieces.push(Piece { tool, lines: vec![line.into()], ..Piece::default() }),
            (None, Some(last)) => last.lines.push(line.into()),
            (None, None) => {}
        }
    }
    pieces
}

/// Whether a line begins another result of the same tool.
fn is_anew(tool: &str, line: &str, last: &Piece) -> bool {
    let begins = match tool {
        "dd" => line.contains(" copied, "),
        "ior" => line.starts_with("IOR-"),
        "mdtest" => line.starts_with("mdtest-"),
        "iozone" => line.contains("Iozone: Performance Test"),
        "iperf3" => line.starts_with("Connecting to host"),
        _ => false,
    };
    begins && last.lines.iter().any(|line| signature(line) == Some(last.tool))
}

/// The tool that prints such a line.
fn signature(line: &str) -> Option<&'static str> {
    let has = |word: &str| line.contains(word);
    let is = |tool: &'static str| Some(tool);
    match line {
        _ if has("\"fio version\"")
            || (has("rw=") && has("ioengine=") && has(": (g="))
            || (has("IOPS=") && has("BW=")) =>
        {
            is("fio")
        }
        _ if line.starts_with("IOR-") || has("bw(MiB/s)") || line.starts_with("Operation   Max(MiB)") => {
            is("ior")
        }
        _ if line.starts_with("mdtest-") || line.starts_with("SUMMARY rate") => is("mdtest"),
        _ if has(" copied, ") && has("bytes") => is("dd"),
        _ if has("bytes transferred in ") && has(" secs ") => is("dd"),
        _ if line.trim_start().starts_with("Timing ") && has(" reads:") => is("hdparm"),
        _ if has("Iozone: Performance Test") || has("Children see throughput for") => is("iozone"),
        _ if line.trim_start().starts_with("kB  reclen") || line.trim_start().starts_with("KB  reclen") => {
            is("iozone")
        }
        _ if has("bits/sec") && has(" sec ") && line.trim_start().starts_with('[') => is("iperf3"),
        _ if line.starts_with("Connecting to host ") => is("iperf3"),
        _ if has("\"sum_sent\"") || has("\"test_start\"") => is("iperf3"),
        _ => None,
    }
}

/// Whether all of a text is a job file of fio.
fn is_job_file(text: &str) -> bool {
    let has_section = text.lines().any(|line| {
        let line = line.trim();
        line.starts_with('[') && line.ends_with(']') && !line.contains(' ')
    });
    let options = ["rw=", "readwrite=", "ioengine=", "filename=", "directory=", "bs=", "iodepth="];
    let has_option =
        text.lines().any(|line| options.iter().any(|option| line.trim_start().starts_with(option)));
    has_section
        && has_option
        && !text.lines().any(|line| command(line).is_some() || signature(line).is_some())
}

/// The command of a line, where it is one.
fn command(line: &str) -> Option<Piece> {
    let words = words(prompted(line))?;
    let is_setting = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        })
    };
    let start = words.iter().take_while(|word| is_setting(word)).count();
    let first = base(words.get(start)?);
    let at = match tool_of(first) {
        Some(_) => start,
        None if LAUNCHERS.contains(&first) => {
            start + 1 + words[start + 1..].iter().position(|word| tool_of(base(word)).is_some())?
        }
        None => return None,
    };
    let tool = tool_of(base(&words[at]))?;
    let ends = |word: &&String| ["|", "2>&1", "&&", ";", ">", ">>", "2>", "&"].contains(&word.as_str());
    let rest: Vec<String> = words[at + 1..].iter().take_while(|word| !ends(word)).cloned().collect();
    // `dd copies …` and `iozone test complete.` are prose: a command has options or operands, or nothing more.
    let is_option = |word: &String| {
        let is_file = word.contains('.') && !word.ends_with('.');
        word.starts_with('-') || word.contains('=') || word.contains('/') || is_file
    };
    let has_options = rest.iter().any(is_option);
    (has_options || rest.is_empty() && at == 0 && words.len() == 1).then(|| Piece {
        tool,
        words: rest,
        launcher: words[..at].iter().filter(|word| base(word) != "iodyno").cloned().collect(),
        is_command: true,
        lines: Vec::new(),
    })
}

/// A line without the shell's prompt.
fn prompted(line: &str) -> &str {
    let line = line.trim();
    let starts = ["$ ", "# ", "> ", "% ", "+ "];
    if let Some(rest) = starts.iter().find_map(|start| line.strip_prefix(start)) {
        return rest.trim_start();
    }
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_host = first.contains('@') || first.starts_with('[');
    let end = ["$ ", "# ", "% "].iter().filter_map(|end| Some(line.find(end)? + end.len())).min();
    end.filter(|_| is_host).map_or(line, |end| line[end..].trim_start())
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn tool_of(name: &str) -> Option<&'static str> {
    let name = if name == "IOR" { "ior" } else { name };
    TOOLS.iter().copied().find(|tool| *tool == name)
}

/// The words of a shell's line; nothing where a quote is left open.
pub fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A command as a line for a shell.
pub fn line(told: &Told) -> String {
    let launcher = told.launcher.iter().map(String::as_str);
    let all = launcher.chain([told.tool]).chain(told.words.iter().map(String::as_str));
    all.map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it for one.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,+@%{}*[]".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
