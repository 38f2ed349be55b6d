//! Where commands write: a new file, or standard output.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::Args;
use iodyno_engine::signal;
use iodyno_model::{Diagnostic, Origin};
use iodyno_trace::TraceError;
use iodyno_trace::format::{CutBack, KeptTrace, TraceTotals};

use super::Answer;
use super::input;
use crate::loader::plain;
use crate::session::say;
use crate::sink::unwritable;
use crate::terminal;

#[derive(Args, Clone)]
pub struct OutputArgs {
    /// Write to this file, which must not exist; -: standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub output: String,
    /// Replace the file
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// What Ctrl-C does to a file that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// It ends early, and is whole: a recording, an import.
    Ends,
    /// It is removed: a part of a result is none.
    Removes,
}

/// An output that is whole or not there: a file that failed is removed.
pub struct Output {
    write: BufWriter<Box<dyn Write>>,
    /// The regular file that is made, which can be cut.
    file: Option<File>,
    path: String,
    interruption: Interruption,
    /// What is removed if it fails.
    made: Option<PathBuf>,
    /// Where it goes at the end.
    replaces: Option<PathBuf>,
    /// Why it could not be written.
    failure: Option<io::Error>,
}

impl Output {
    /// # Errors
    /// A file that exists, without `--force`; a place that cannot be written to.
    pub fn open(words: &OutputArgs) -> Result<Output, Diagnostic> {
        Output::open_until(words, Interruption::Removes)
    }

    /// The same with what Ctrl-C does.
    ///
    /// # Errors
    /// Those of [`open`](Output::open).
    pub fn open_until(words: &OutputArgs, interruption: Interruption) -> Result<Output, Diagnostic> {
        let path = words.output.clone();
        if path != "-" && interruption == Interruption::Removes {
            // Before there is a file that would stay.
            signal::install();
        }
        let mut made_file = None;
        let (to, made, replaces): (Box<dyn Write>, _, _) = match path.as_str() {
            "-" => (Box::new(terminal::out()), None, None),
            name => {
                let (file, made, replaces) = file(name, words.force).map_err(|error| {
                    let wrong = unwritable(name, &error);
                    match error.kind() {
                        io::ErrorKind::AlreadyExists => {
                            wrong.hint("name a file that does not exist yet, or say --force")
                        }
                        _ => wrong,
                    }
                })?;
                made_file = made.as_ref().and_then(|_| file.try_clone().ok());
                (Box::new(file), made, replaces)
            }
        };
        Ok(Output {
            write: BufWriter::with_capacity(1 << 18, to),
            file: made_file,
            path,
            interruption,
            made,
            replaces,
            failure: None,
        })
    }

    /// For bytes that are no text: a terminal gets none.
    ///
    /// # Errors
    /// Those of [`open`](Output::open).
    pub fn open_binary(words: &OutputArgs, interruption: Interruption) -> Result<Output, Diagnostic> {
        if words.output == "-" && io::stdout().is_terminal() {
            return Err(Diagnostic::error(
                &Origin::argument("--output"),
                "a trace is no text for a terminal",
            )
            .hint("name a file with -o FILE, or print it as text: iodyno trace dump"));
        }
        Output::open_until(words, interruption)
    }

    /// Ends what was written, or removes it; the exit status. `source`: what was read. Once interrupted it ends the
    /// program, where that removes the file.
    ///
    /// # Errors
    /// What was wrong, of either side.
    pub fn finish(mut self, written: Result<(), TraceError>, source: &str) -> Answer {
        if let (1.., signal) = signal::interruptions()
            && self.interruption == Interruption::Removes
        {
            let name = self.name();
            drop(self);
            say(format_args!("interrupted: {name} was not written"));
            // A shell's loop ends when its command is interrupted, because it dies of the signal.
            signal::die_of(signal);
            return Ok(1);
        }
        if self.failure.is_none() && written.is_ok() {
            let moved = self.write.flush().and_then(|()| match (&self.made, &self.replaces) {
                (Some(made), Some(place)) => std::fs::rename(made, place),
                _ => Ok(()),
            });
            self.failure = moved.err();
        }
        match (self.failure.take(), written) {
            // A reader that has seen enough (`head`) is no error.
            (Some(error), _) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            (Some(error), _) => {
                let wrong = Diagnostic::error(&Origin::argument(&self.name()), plain(&error));
                Err(wrong.hint("make room where it goes, or send it elsewhere"))
            }
            (None, Err(error)) => Err(input::wrong(source, &error)),
            (None, Ok(())) => {
                self.made = None;
                Ok(0)
            }
        }
    }

    /// Ends a recording or an import; its totals. One that could not be written to its end is kept as far as it is whole,
    /// unless it would take the place of another file.
    ///
    /// # Errors
    /// Why it could not be written to its end.
    pub fn finish_kept(mut self, kept: KeptTrace) -> Result<TraceTotals, Diagnostic> {
        let (reason, records) = match kept {
            KeptTrace::Whole(totals) => {
                let path = self.path.clone();
                return self.finish(Ok(()), &path).map(|_| totals);
            }
            KeptTrace::Short { reason, records, .. } => (reason, records),
        };
        let wrong = Diagnostic::error(&Origin::argument(&self.name()), reason.message);
        Err(match self.replaces.is_none() && records > 0 {
            true => {
                self.made = None;
                wrong.hint(format!(
                    "the first {records} records are kept and readable; make room for the others"
                ))
            }
            false => wrong.hint("make room where it goes, or send it elsewhere"),
        })
    }

    /// Keeps the reason of a failure: those who write may tell it as one of what they read.
    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| match error.kind() {
            // It is tried again.
            io::ErrorKind::Interrupted => error,
            kind => {
                self.failure = Some(io::Error::new(kind, plain(&error)));
                io::Error::new(kind, plain(&error))
            }
        })
    }

    fn name(&self) -> String {
        if self.path == "-" { "standard output".into() } else { self.path.clone() }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.write.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.write.flush();
        self.noted(flushed)
    }
}

impl CutBack for Output {
    fn cut_back(&mut self, bytes: u64) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotSeekable.into()) };
        // What the buffer still holds was never whole.
        let rest = BufWriter::new(Box::new(io::sink()) as Box<dyn Write>);
        let (to, _) = std::mem::replace(&mut self.write, rest).into_parts();
        self.write = BufWriter::with_capacity(1 << 18, to);
        file.set_len(bytes)?;
        // Both handles share their place.
        file.seek(SeekFrom::Start(bytes))?;
        self.failure = None;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(made) = &self.made {
            // Why it failed is told; that this could not be removed says nothing more.
            let _ = std::fs::remove_file(made);
        }
    }
}

/// A new file with the path to remove if it fails; what takes the place of another is written beside it.
fn file(name: &str, force: bool) -> io::Result<(File, Option<PathBuf>, Option<PathBuf>)> {
    let path = Path::new(name);
    let kind = std::fs::metadata(path).map(|facts| facts.file_type());
    if kind.is_ok_and(|kind| kind.is_char_device() || kind.is_fifo()) {
        return Ok((OpenOptions::new().write(true).open(path)?, None, None));
    }
    let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    if !force || !path.exists() {
        return Ok((create(path)?, Some(path.into()), None));
    }
    if !path.is_file() {
        return Err(io::Error::other("it is no file, and is not replaced"));
    }
    let mut beside = std::ffi::OsString::from(".");
    beside.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    beside.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(beside);
    Ok((create(&beside)?, Some(beside), Some(path.into())))
}
