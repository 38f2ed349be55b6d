//! A job file of ours and what its first lines say: what it proves, what must hold, what it needs.
//!
//! The lines are comments to both programs, so the file runs as it is with any fio:
//!
//! ```text
//! ; proves: a sequential writer walks its file from the first byte to the last
//! ; holds: counts offsets text
//! ; needs: loop                     (a loop device, named ${DEV})
//! ; with: --output-format=json+     (arguments before the file; otherwise normal, terse and json at once)
//! ; first: other.part               (a file that the same program runs before, in the same directory)
//! ; put: name                       (a file beside the job file, copied into the directory)
//! ; spoil: name 4096                (then this byte of this file is turned over)
//! ; ends: badly                     (the exit status is not 0)
//! ; lasts: 990                      (ms that each job takes at least, for `runtime`)
//! ```
//!
//! It refuses a word that it does not know, so that no comparison is lost to a slip of the pen.

use std::path::{Path, PathBuf};

/// A comparison beyond those that every job goes through (status, streams, JSON, files left behind).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// I/Os and bytes of every direction.
    Counts,
    /// I/Os and bytes of all directions together.
    Total,
    /// The same offsets and lengths in the same order, from `*.iolog`.
    Offsets,
    /// The same blocks, in any order.
    Set,
    /// Offsets of one distribution: two-sample Kolmogorov-Smirnov.
    Distribution,
    /// Blocks are as unequally popular, whichever they are: the same test on ranks.
    Popularity,
    /// Lengths of one distribution: chi-squared.
    Sizes,
    /// Directions in the same proportion: chi-squared.
    Mix,
    /// Normal text and terse lines, with numbers masked.
    Text,
    /// What lies in the files left behind, byte for byte.
    Content,
    /// `*.log`: as many lines, of the same columns.
    Logs,
    /// `*.log`: the same columns; how many lines is a matter of time.
    Columns,
    /// A job bounded by time or by a pace took no less than that, and no more than ten times as long, by its own report:
    /// how much later it ended than it could have is the machine's doing.
    Runtime,
    /// How many were in flight when each was handed over, and how many were handed over together: the same shares.
    Depths,
    /// Each program verifies what the other wrote.
    Cross,
}

const WORDS: &[(&str, Holds)] = &[
    ("counts", Holds::Counts),
    ("total", Holds::Total),
    ("offsets", Holds::Offsets),
    ("set", Holds::Set),
    ("distribution", Holds::Distribution),
    ("popularity", Holds::Popularity),
    ("sizes", Holds::Sizes),
    ("mix", Holds::Mix),
    ("text", Holds::Text),
    ("content", Holds::Content),
    ("logs", Holds::Logs),
    ("columns", Holds::Columns),
    ("runtime", Holds::Runtime),
    ("depths", Holds::Depths),
    ("cross", Holds::Cross),
];

/// A job file with what its head says.
#[derive(Debug, Clone, Default)]
pub struct JobFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The file's name without its ending.
    pub name: String,
    /// One sentence.
    pub proves: String,
    /// The comparisons beyond the usual ones.
    pub holds: Vec<Holds>,
    /// A loop device, `root`, or the name of a program.
    pub needs: Vec<String>,
    /// Arguments before the file.
    pub with: Vec<String>,
    /// Runs before, in the same directory.
    pub first: Option<String>,
    /// Files that are copied into the directory.
    pub put: Vec<String>,
    /// The byte of a file that is turned over before the job runs.
    pub spoil: Option<(String, u64)>,
    /// Whether the reference ends with a status other than 0.
    pub ends_badly: bool,
    /// How long each of its jobs lasts at least, ms; 0: whatever.
    pub least_ms: u64,
}

impl JobFile {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// A sentence with the file's name: unreadable, without its two lines, or with a word that is not known.
    pub fn read(path: &Path) -> Result<JobFile, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut job = JobFile { path: path.to_path_buf(), name, ..JobFile::default() };
        job.head(&text).map_err(|what| format!("{}: {what}", path.display()))?;
        Ok(job)
    }

    fn head(&mut self, text: &str) -> Result<(), String> {
        for line in text.lines().map_while(|line| line.strip_prefix("; ")) {
            let (key, value) = line.split_once(": ").ok_or(format!("`{line}`: expected `key: value`"))?;
            self.say(key, value.trim())?;
        }
        if self.proves.is_empty() || self.holds.is_empty() {
            return Err("its head must say `proves` and `holds`".into());
        }
        if self.holds(Holds::Runtime) != (self.least_ms > 0) {
            return Err("`holds: runtime` and `lasts` belong together".into());
        }
        Ok(())
    }

    fn say(&mut self, key: &str, value: &str) -> Result<(), String> {
        let words = || value.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        match key {
            "proves" => self.proves = value.to_string(),
            "holds" => self.holds = words().iter().map(|word| comparison(word)).collect::<Result<_, _>>()?,
            "needs" => self.needs = words(),
            "with" => self.with = words(),
            "put" => self.put = words(),
            "first" => self.first = Some(value.to_string()),
            "ends" if value == "badly" => self.ends_badly = true,
            "lasts" => self.least_ms = value.parse().map_err(|_| "lasts: expected milliseconds")?,
            "spoil" => {
                let (file, offset) = value.rsplit_once(' ').ok_or("spoil: expected a file and an offset")?;
                self.spoil =
                    Some((file.to_string(), offset.parse().map_err(|_| "spoil: expected an offset")?));
            }
            other => return Err(format!("`{other}` is not a word of a job's head")),
        }
        Ok(())
    }

    /// Whether a comparison is asked for.
    pub fn holds(&self, what: Holds) -> bool {
        self.holds.contains(&what)
    }
}

fn comparison(word: &str) -> Result<Holds, String> {
    let found = WORDS.iter().find(|(name, _)| *name == word);
    found.map(|(_, holds)| *holds).ok_or(format!("`{word}` is no comparison"))
}

/// All job files of a folder, in order of their names.
///
/// # Errors
/// The first file whose head is wrong.
pub fn all(folder: &Path) -> Result<Vec<JobFile>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "fio"));
    paths.sort();
    paths.iter().map(|path| JobFile::read(path)).collect()
}
