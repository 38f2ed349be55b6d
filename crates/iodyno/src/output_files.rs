//! The files a reporter writes beside its report, by the names the user chose for them.
//!
//! A drop-in's logs and its `--output` are emptied as the original empties them: the user named them by that very
//! option. It refuses to open what nobody asked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use iodyno_report::Files;

/// Open files by name.
#[derive(Default)]
pub struct OutputFiles {
    open: BTreeMap<String, OutputFile>,
    /// Names that were written to and closed: asked for again, they go on.
    closed: Vec<String>,
}

/// A file that knows whether all that was written to it is in it.
struct OutputFile {
    file: BufWriter<File>,
    failure: Option<io::Error>,
}

impl OutputFile {
    fn noted<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &written {
            // The writer has the error itself, which cannot be copied.
            let same = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.failure.get_or_insert(same);
        }
        written
    }
}

impl From<BufWriter<File>> for OutputFile {
    fn from(file: BufWriter<File>) -> OutputFile {
        OutputFile { file, failure: None }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.noted(flushed)
    }
}

impl OutputFiles {
    /// Takes a file that is open already.
    pub fn put(&mut self, path: &str, file: BufWriter<File>) {
        self.open.insert(path.into(), file.into());
    }

    /// Writes out what is left of all of them; the files that are not whole, by name.
    pub fn flush(&mut self) -> Vec<(String, io::Error)> {
        let flushed = self.open.iter_mut().filter_map(|(path, file)| {
            let flushed = file.flush();
            let error = flushed.err().or_else(|| file.failure.take())?;
            Some((path.clone(), error))
        });
        flushed.collect()
    }
}

impl OutputFiles {
    fn opened(&mut self, path: &str, open: impl Fn(&str) -> io::Result<File>) -> io::Result<&mut dyn Write> {
        if !self.open.contains_key(path) {
            let file = match self.closed.iter().any(|closed| closed == path) {
                true => appended(path),
                false => open(path),
            };
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
            let file = BufWriter::with_capacity(1 << 16, file.map_err(named)?);
            self.open.insert(path.to_string(), file.into());
        }
        Ok(self.open.get_mut(path).ok_or(io::ErrorKind::NotFound)?)
    }
}

fn appended(path: &str) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

impl Files for OutputFiles {
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        self.opened(path, |path| File::create(path))
    }

    fn append(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        self.opened(path, appended)
    }

    fn folder(&mut self, path: &str) -> io::Result<()> {
        std::fs::create_dir_all(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    }

    fn close(&mut self, path: &str) -> io::Result<()> {
        let Some(mut file) = self.open.remove(path) else { return Ok(()) };
        self.closed.push(path.to_string());
        file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_emptied_once_and_goes_on_after_it_was_closed() {
        let folder = std::env::temp_dir().join(format!("iodyno-shelf-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.log");
        std::fs::write(&path, "old").unwrap();
        let name = path.to_str().unwrap();
        let mut shelf = OutputFiles::default();
        shelf.file(name).unwrap().write_all(b"one ").unwrap();
        shelf.close(name).unwrap();
        shelf.file(name).unwrap().write_all(b"two").unwrap();
        assert!(shelf.flush().is_empty());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one two");
        assert!(shelf.file("/nowhere/at/all").is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
