//! This program once more as a recorder: it waits for all of its children, and signals are meant for it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode};

use iodyno_recorder::sink::MemorySink;
use iodyno_recorder::{CallSource, mounted, program};
use iodyno_trace::{FileKind, MemorySource, Tables, TraceRecord};
use testbed::program::{Program, Running};

/// Asks this program to record its arguments into this file.
pub const OUT: &str = "IODYNO_TEST_RECORD";

/// Says by what; without it by the best.
pub const SOURCE: &str = "IODYNO_TEST_CALLS";

/// Asks for a recording through a file system over this directory instead.
pub const COVERED: &str = "IODYNO_TEST_COVERED";

/// All ways in which calls are learnt of; tracepoints only where they can be had.
pub const SOURCES: [(&str, CallSource); 3] =
    [("best", CallSource::Best), ("tracepoints", CallSource::Tracepoints), ("ptrace", CallSource::Ptrace)];

/// A record as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    pub verb: String,
    pub file: String,
    pub other: String,
    pub offset: u64,
    pub bytes: u64,
    pub result: Option<i64>,
    pub flags: u32,
    pub thread: u32,
    pub process: u32,
    /// What the file had when it was met.
    pub size: Option<u64>,
    pub is_file: bool,
}

/// All records of a trace.
pub fn operations(tables: &Tables, records: &[TraceRecord]) -> Vec<Operation> {
    let operation = |record: &TraceRecord| {
        let (file, thread) = (&tables.files[record.file as usize], &tables.threads[record.thread as usize]);
        Operation {
            verb: record.verb.name().to_string(),
            file: file.name.clone(),
            other: record.other.map_or(String::new(), |other| tables.files[other as usize].name.clone()),
            offset: record.offset,
            bytes: record.bytes,
            result: record.result,
            flags: record.flags.0,
            thread: thread.thread,
            process: thread.process,
            size: file.bytes,
            is_file: file.kind == FileKind::File,
        }
    };
    records.iter().map(operation).collect()
}

/// Records the arguments; writes an operation in a line, between tabs, and what the recording came to.
pub fn record(out: &OsStr) -> ExitCode {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let word = std::env::var(SOURCE).unwrap_or_default();
    let source =
        SOURCES.iter().find(|(name, _)| *name == word).map_or(CallSource::Best, |(_, source)| *source);
    let mut sink = MemorySink::default();
    let clock = testbed::fuse::now_ns;
    let recorded = match std::env::var_os(COVERED) {
        Some(directory) => mounted::record(Path::new(&directory), &command, clock, &mut sink),
        None => program::record(&command, source, clock, &mut sink),
    };
    let recorded = match recorded {
        Ok(recorded) => recorded,
        Err(error) => {
            eprintln!("{error}; {}", error.hint.as_deref().unwrap_or_default());
            return ExitCode::from(99);
        }
    };
    let number = |value: Option<i64>| value.map_or("?".to_string(), |value| value.to_string());
    let mut text = String::new();
    for operation in operations(&sink.tables, &sink.records) {
        let Operation { verb, file, other, offset, bytes, result, flags, thread, process, size, is_file } =
            operation;
        let (result, size) = (number(result), number(size.map(|size| size as i64)));
        text += &format!(
            "{verb}\t{file}\t{other}\t{offset}\t{bytes}\t{result}\t{flags}\t{thread}\t{process}\t{size}\t{is_file}\n"
        );
    }
    text += &format!("stops\t{}\t{}\n", recorded.entries, recorded.exits);
    recorded.header.notes.iter().for_each(|note| text += &format!("note\t{note}\n"));
    std::fs::write(out, text).expect("the records are written");
    ExitCode::from(recorded.end.status())
}

/// What a recording gave.
#[derive(Debug, Default)]
pub struct Recording {
    pub operations: Vec<Operation>,
    pub entries: u64,
    pub exits: u64,
    pub notes: Vec<String>,
}

impl Recording {
    /// What the child wrote.
    pub fn read(path: &Path) -> Recording {
        let mut recording = Recording::default();
        for line in std::fs::read_to_string(path).expect("the records are there").lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| words[at].parse::<u64>().expect("a number");
            match words[0] {
                "stops" => (recording.entries, recording.exits) = (number(1), number(2)),
                "note" => recording.notes.push(words[1].to_string()),
                _ => recording.operations.push(Operation {
                    verb: words[0].into(),
                    file: words[1].into(),
                    other: words[2].into(),
                    offset: number(3),
                    bytes: number(4),
                    result: words[5].parse().ok(),
                    flags: number(6) as u32,
                    thread: number(7) as u32,
                    process: number(8) as u32,
                    size: words[9].parse().ok(),
                    is_file: words[10] == "true",
                }),
            }
        }
        recording
    }

    /// The operations on files in a directory.
    pub fn within(&self, directory: &Path) -> Vec<&Operation> {
        let prefix = format!("{}/", directory.display());
        self.operations.iter().filter(|operation| operation.file.starts_with(&prefix)).collect()
    }
}

/// A recorder as a process, in a directory.
pub fn recorder(directory: &Path, out: &Path, command: &[&str]) -> Command {
    let mut recorder = Command::new(std::env::current_exe().expect("this program has a path"));
    recorder.args(command).env(OUT, out).current_dir(directory);
    recorder
}

/// Records a command that ends well.
pub fn recorded(directory: &Path, command: &[&str]) -> Recording {
    recorded_by("best", directory, command)
}

/// The same by one of [`SOURCES`].
pub fn recorded_by(source: &str, directory: &Path, command: &[&str]) -> Recording {
    let out = tempfile::NamedTempFile::new().expect("a file for the records");
    let mut recorder = recorder(directory, out.path(), command);
    recorder.env(SOURCE, source);
    Program::new(recorder).run().expect(0, &[]);
    Recording::read(out.path())
}

/// A recorder that runs.
pub fn running(directory: &Path, out: &Path, command: &[&str]) -> Running {
    Program::new(recorder(directory, out, command)).start()
}

/// The same command under strace, and its text imported.
pub fn straced(directory: &Path, command: &[&str]) -> Vec<Operation> {
    let text = tempfile::NamedTempFile::new().expect("a file for strace");
    let mut strace = Command::new("strace");
    strace.args([
        "-f",
        "--seccomp-bpf",
        "-ttt",
        "-T",
        "-y",
        "-s",
        "16",
        "-e",
        "trace=%file,%desc,%process",
        "-o",
    ]);
    strace.arg(text.path()).args(command).current_dir(directory);
    Program::new(strace).run().expect(0, &[]);
    let read = Box::new(std::fs::File::open(text.path()).expect("strace wrote its text"));
    let mut source = iodyno_trace::import::strace::StraceSource::new("strace".into(), read);
    let trace = MemorySource::of(&mut source).expect("strace is understood");
    operations(&trace.tables, &trace.records)
}
