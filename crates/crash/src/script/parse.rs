//! A step's line into its operation.

use crate::oracle::LARGEST_FILE;

use super::operation::{FORMS, FallocateMode, OpenDurability, RenameMode, StepOperation};

/// The operation of a line such as `append a/x 8k`.
///
/// # Errors
/// What is wrong with it, and a hint on a line of its own.
pub fn parse_step(line: &str) -> Result<StepOperation, String> {
    let mut words = line.split_whitespace();
    let word = words.next().ok_or("an empty step\n hint: write an operation, as in \"fsync a/x\"")?;
    let form = FORMS.iter().find(|(name, _)| *name == word).ok_or_else(|| unknown(word))?.1;
    let mut arguments = Arguments { word, form, words: words.collect(), next: 0 };
    let operation = operation_of(&mut arguments)?;
    match arguments.words.get(arguments.next) {
        None => Ok(operation),
        Some(word) => Err(format!("`{word}` is too much\n hint: {}", arguments.usage())),
    }
}

/// The known name that is meant, if one is near.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|known| (strsim::damerau_levenshtein(known, name), known)).min();
    near.filter(|(distance, _)| *distance <= 3).map(|(_, known)| known)
}

fn unknown(word: &str) -> String {
    let hint = match nearest(word, FORMS.iter().map(|(name, _)| *name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("operations: {}", FORMS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")),
    };
    format!("no operation `{word}`\n hint: {hint}")
}

struct Arguments<'a> {
    word: &'a str,
    form: &'a str,
    words: Vec<&'a str>,
    next: usize,
}

impl Arguments<'_> {
    fn usage(&self) -> String {
        format!("{} {}", self.word, self.form).trim_end().to_string()
    }

    fn text(&mut self) -> Result<String, String> {
        let word = self
            .words
            .get(self.next)
            .ok_or_else(|| format!("`{}` needs more\n hint: {}", self.word, self.usage()))?;
        self.next += 1;
        Ok(word.to_string())
    }

    /// A path or a handle.
    fn file(&mut self) -> Result<String, String> {
        let path = self.text()?;
        let is_handle = path.strip_prefix('@').is_some_and(|name| !name.is_empty() && !name.contains('/'));
        if is_handle { Ok(path) } else { checked(path) }
    }

    fn path(&mut self) -> Result<String, String> {
        checked(self.text()?)
    }

    /// A directory's path; `.` is the directory under test.
    fn directory(&mut self) -> Result<String, String> {
        let path = self.text()?;
        if path == "." { Ok(path) } else { checked(path) }
    }

    fn bytes(&mut self) -> Result<u64, String> {
        let text = self.text()?;
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1 << 10),
            None => text.strip_suffix(['m', 'M']).map_or((text.as_str(), 1), |digits| (digits, 1 << 20)),
        };
        let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        match bytes {
            Some(bytes) if bytes <= LARGEST_FILE => Ok(bytes),
            Some(_) => {
                Err(format!("{text} is over 16m\n hint: each state is read as a whole, so files stay small"))
            }
            None => {
                Err(format!("`{text}` is no number of bytes\n hint: write 4096, 4k or 1m; {}", self.usage()))
            }
        }
    }

    /// A number of bytes that something can be done to.
    fn length(&mut self) -> Result<u64, String> {
        match self.bytes()? {
            0 => Err(format!("nothing happens to 0 bytes\n hint: {}", self.usage())),
            bytes => Ok(bytes),
        }
    }

    fn one_of<T: Copy>(&mut self, words: &[(&str, T)]) -> Result<T, String> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("`{text}` is none of {}\n hint: {}", known(), self.usage()))
    }

    fn durability(&mut self) -> Result<OpenDurability, String> {
        if self.next == self.words.len() {
            return Ok(OpenDurability::None);
        }
        self.one_of(OpenDurability::WORDS)
    }

    fn xattr(&mut self) -> Result<String, String> {
        let name = self.text()?;
        if name.len() > "user.".len() && name.starts_with("user.") && name.len() <= 255 {
            return Ok(name);
        }
        Err(format!("`{name}` is no extended attribute of users\n hint: write user.NAME"))
    }

    fn mode(&mut self) -> Result<u32, String> {
        let text = self.text()?;
        match u32::from_str_radix(&text, 8) {
            Ok(mode) if mode <= 0o7777 => Ok(mode),
            _ => Err(format!("`{text}` is no mode\n hint: write octal digits, as in 0640")),
        }
    }
}

/// A path below the directory under test.
fn checked(path: String) -> Result<String, String> {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.starts_with('@');
    if path.split('/').all(is_plain) {
        return Ok(path);
    }
    Err(format!("`{path}` is no path below the directory under test\n hint: write it as in a/x"))
}

fn operation_of(given: &mut Arguments) -> Result<StepOperation, String> {
    use StepOperation as S;
    Ok(match given.word {
        "create" => S::Create { path: given.path()? },
        "mkdir" => S::Mkdir { path: given.path()? },
        "rmdir" => S::Rmdir { path: given.path()? },
        "append" => {
            S::Append { path: given.file()?, length: given.length()?, durability: given.durability()? }
        }
        "overwrite" => S::Overwrite {
            path: given.file()?,
            offset: given.bytes()?,
            length: given.length()?,
            durability: given.durability()?,
        },
        "mmap-write" => S::MmapWrite { path: given.file()?, offset: given.bytes()?, length: given.length()? },
        "fallocate" => S::Fallocate {
            path: given.file()?,
            mode: given.one_of(FallocateMode::WORDS)?,
            offset: given.bytes()?,
            length: given.length()?,
        },
        "truncate" => S::Truncate { path: given.file()?, size: given.bytes()? },
        "link" => S::Link { from: given.file()?, to: given.path()? },
        "symlink" => S::Symlink { target: given.text()?, path: given.path()? },
        "unlink" => S::Unlink { path: given.path()? },
        "rename" => rename(given, RenameMode::Replace)?,
        "rename-noreplace" => rename(given, RenameMode::NoReplace)?,
        "exchange" => rename(given, RenameMode::Exchange)?,
        "setxattr" => S::SetXattr { path: given.file()?, name: given.xattr()? },
        "removexattr" => S::RemoveXattr { path: given.file()?, name: given.xattr()? },
        "chmod" => S::Chmod { path: given.file()?, mode: given.mode()? },
        "tmpfile" => tmpfile(given)?,
        "clone" => S::Clone { from: given.file()?, to: given.path()? },
        "fsync" => S::Fsync { path: given.file()? },
        "fdatasync" => S::Fdatasync { path: given.file()? },
        "fsync-dir" => S::FsyncDirectory { path: given.directory()? },
        "msync" => S::Msync { path: given.file()?, offset: given.bytes()?, length: given.length()? },
        "sync-file-range" => {
            S::SyncFileRange { path: given.file()?, offset: given.bytes()?, length: given.length()? }
        }
        "sync" => S::Sync,
        "syncfs" => S::Syncfs,
        "promise" => S::Promise { path: given.path()? },
        "promise-pages" => S::PromisePages { path: given.path()? },
        word => return Err(unknown(word)),
    })
}

fn rename(given: &mut Arguments, mode: RenameMode) -> Result<StepOperation, String> {
    Ok(StepOperation::Rename { from: given.path()?, to: given.path()?, mode })
}

fn tmpfile(given: &mut Arguments) -> Result<StepOperation, String> {
    let handle = given.file()?;
    if !handle.starts_with('@') {
        return Err(format!(
            "`{handle}` is a path, and a file without a name is called @NAME\n hint: {}",
            given.usage()
        ));
    }
    Ok(StepOperation::Tmpfile { handle, directory: given.directory()? })
}
