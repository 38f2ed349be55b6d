//! Which files a job works on, and what their names are.
//!
//! Names are templates: the number of a clone is filled in by the engine room. It refuses to open anything: what is
//! there is asked of the loader.

use iodyno_model::Origin;

use super::direction::Direction;
use super::option_reader::OptionReader;
use crate::{Loader, PathFacts, PathKind};

/// A file of a job.
#[derive(Clone, Debug)]
pub struct TargetFile {
    /// Its name, a template over the clone's number.
    pub path: String,
    /// Whether every clone has its own.
    pub own: bool,
    /// `-`: standard input (`false`) or output.
    pub stream: Option<bool>,
    /// What is there now; of a template, the first clone's.
    pub facts: Option<PathFacts>,
    /// How long an earlier job makes it.
    pub made_bytes: u64,
    /// Where it was named.
    pub origin: Origin,
}

impl TargetFile {
    /// A file of no name of its own.
    pub fn alone(ask: &OptionReader<'_>) -> Self {
        TargetFile {
            path: String::new(),
            own: true,
            stream: None,
            facts: None,
            made_bytes: 0,
            origin: ask.settings.origin.clone(),
        }
    }

    /// What kind of thing it is or will be.
    pub fn kind(&self) -> PathKind {
        match (&self.facts, self.stream) {
            (_, Some(_)) => PathKind::Pipe,
            (Some(facts), _) => facts.kind,
            (None, _) => PathKind::File,
        }
    }

    /// How long it is, where it is there and has a length.
    pub fn bytes(&self) -> u64 {
        match self.kind() {
            PathKind::File | PathKind::BlockDevice => {
                self.facts.as_ref().map_or(0, |facts| facts.bytes).max(self.made_bytes)
            }
            _ => 0,
        }
    }

    /// Whether it is, or will be, a plain file.
    pub fn is_file(&self) -> bool {
        self.kind() == PathKind::File
    }
}

/// A job's files as sets: the directory and the template of the names of each, and how many there are; one set for those
/// whose names are computed, and one for each that is named.
pub fn sets(ask: &mut OptionReader<'_>, clones: u32) -> Vec<(String, String, u64)> {
    let directories = ask.text("directory").map(split_names).unwrap_or_default();
    let Some(text) = ask.text("filename") else {
        let root = directory_template(&directories, clones).unwrap_or_else(|| ".".into());
        let format = ask.text("filename_format").unwrap_or(FORMAT);
        let count = ask.whole("nrfiles").unwrap_or(1).max(1) as u64;
        return vec![(root, filled_in(format, ask.section(), "{item}"), count)];
    };
    if clones > 1 {
        let word = ask.word("ioengine").unwrap_or_default();
        ask.refuse(
            "filename",
            format!("{clones} clones cannot all work on the same names with engine `{word}`"),
            "leave filename out: each clone has names of its own then",
        );
    }
    let one = |name: &String| {
        let path = joined(directories.first(), name);
        match path.rsplit_once('/') {
            Some(("", name)) => ("/".into(), name.into(), 1),
            Some((directory, name)) => (directory.into(), name.into(), 1),
            None => (".".into(), path, 1),
        }
    };
    split_names(text).iter().map(one).collect()
}

/// How files are called where nothing is said.
const FORMAT: &str = "$jobname.$jobnum.$filenum";

fn filled_in(format: &str, job: &str, number: &str) -> String {
    format
        .replace("$jobname", job)
        .replace("$jobnum", "{worker}")
        .replace("$filenum", number)
        .replace("$clientuid", "localhost")
}

/// The files of a job, in order.
pub fn files(
    ask: &mut OptionReader<'_>,
    direction: &Direction,
    clones: u32,
    loader: &mut dyn Loader,
) -> Vec<TargetFile> {
    let directories = ask.text("directory").map(split_names).unwrap_or_default();
    match ask.text("filename") {
        Some(text) => {
            let names = split_names(text);
            // Explicit names are shared by the clones, and lie in the first directory.
            let names = names.iter().map(|name| (joined(directories.first(), name), false));
            let origin = ask.origin("filename").clone();
            names.map(|(path, own)| named(path, own, direction, &origin, loader)).collect()
        }
        None => generated(ask, direction, &directories, clones, loader),
    }
}

fn generated(
    ask: &mut OptionReader<'_>,
    direction: &Direction,
    directories: &[String],
    clones: u32,
    loader: &mut dyn Loader,
) -> Vec<TargetFile> {
    let origin = match ask.has("directory") {
        true => ask.origin("directory").clone(),
        false => ask.settings.origin.clone(),
    };
    let mut count = ask.whole("nrfiles").unwrap_or(1).max(1) as u64;
    if count > MOST_FILES {
        let message = format!("{count} files in one job are more than can be open at the same time");
        ask.refuse("nrfiles", message, format!("at most {MOST_FILES}"));
        count = 1;
    }
    if count == 1 && is_other_than_file(ask.section(), loader) {
        let path = joined(directories.first(), ask.section());
        return vec![named(path, false, direction, &origin, loader)];
    }
    let format = ask.text("filename_format").unwrap_or(FORMAT);
    let directory = directory_template(directories, clones);
    // What is there matters only where nothing says how long files are.
    let looks = !ask.has("size") && !ask.has("filesize");
    let file = |number: u64| {
        let name = filled_in(format, ask.section(), &number.to_string());
        let own = clones > 1 && (name.contains("{worker}") || directories.len() > 1);
        let path = joined(directory.as_ref(), &name);
        match looks {
            true => named(path, own, direction, &origin, loader),
            false => {
                TargetFile { path, own, stream: None, facts: None, made_bytes: 0, origin: origin.clone() }
            }
        }
    };
    (0..count).map(file).collect()
}

/// The most files that a job may have: each is open, and has a place in the plan.
const MOST_FILES: u64 = 1 << 17;

/// A section that is named like a device works on it.
fn is_other_than_file(path: &str, loader: &dyn Loader) -> bool {
    loader.look(path).is_some_and(|facts| !matches!(facts.kind, PathKind::File | PathKind::Directory))
}

/// Several directories are dealt to the clones in turn.
fn directory_template(directories: &[String], clones: u32) -> Option<String> {
    match directories {
        [] => None,
        [only] => Some(only.clone()),
        [first, ..] if clones == 1 => Some(first.clone()),
        many => Some(format!("{{worker:{}}}", many.join("|"))),
    }
}

fn joined(directory: Option<&String>, name: &str) -> String {
    match directory {
        Some(directory) if name != "-" => format!("{}/{name}", directory.trim_end_matches('/')),
        _ => name.into(),
    }
}

fn named(
    path: String,
    own: bool,
    direction: &Direction,
    origin: &Origin,
    loader: &mut dyn Loader,
) -> TargetFile {
    let stream = (path == "-").then_some(direction.changes() && !direction.reads);
    let facts = if stream.is_some() { None } else { loader.look(&first(&path)) };
    TargetFile { path, own, stream, facts, made_bytes: 0, origin: origin.clone() }
}

/// The first clone's name.
pub fn first(template: &str) -> String {
    of_clone(template, 0)
}

/// The name that a clone's file has, from 0.
pub fn of_clone(template: &str, clone: u32) -> String {
    let template = match (template.find("{worker:"), template.find('}')) {
        (Some(start), Some(end)) if start < end => {
            let list: Vec<&str> = template[start + "{worker:".len()..end].split('|').collect();
            let directory = list[clone as usize % list.len()];
            format!("{}{directory}{}", &template[..start], &template[end + 1..])
        }
        _ => template.into(),
    };
    template.replace("{worker}", &clone.to_string())
}

/// Names with colons between them; a colon behind a backslash belongs to the name.
pub fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&':') => {
                letters.next();
                names.last_mut().expect("never empty").push(':');
            }
            ':' => names.push(String::new()),
            letter => names.last_mut().expect("never empty").push(letter),
        }
    }
    names.retain(|name| !name.trim().is_empty());
    names.into_iter().map(|name| name.trim().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_bare_colons() {
        assert_eq!(split_names("/dev/sda:/dev/sdb"), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(split_names(r"/dev/dsk/foo@3,0\:c"), ["/dev/dsk/foo@3,0:c"]);
        assert_eq!(split_names("a::b:"), ["a", "b"]);
    }

    #[test]
    fn the_first_clone_of_several_directories_lies_in_the_first() {
        assert_eq!(first("{worker:/a|/b}/j.{worker}.0"), "/a/j.0.0");
        assert_eq!(of_clone("{worker:/a|/b}/j.{worker}.0", 3), "/b/j.3.0");
        assert_eq!(directory_template(&["a".into(), "b".into()], 3).as_deref(), Some("{worker:a|b}"));
    }
}
