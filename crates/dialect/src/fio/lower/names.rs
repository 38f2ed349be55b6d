//! Which files a job works on, and what their names are.
//!
//! Names are templates: the number of a clone is filled in by the engine room. It refuses to open anything: what is
//! there is asked of the loader.

use iodyno_model::Origin;

use super::ask::Ask;
use super::direction::Direction;
use crate::{Loader, PathFacts, PathKind};

/// A file of a job.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name, a template over the clone's number.
    pub path: String,
    /// Whether every clone has its own.
    pub own: bool,
    /// `-`: standard input (`false`) or output.
    pub stream: Option<bool>,
    /// What is there now; of a template, the first clone's.
    pub facts: Option<PathFacts>,
    /// Where it was named.
    pub origin: Origin,
}

impl Named {
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
            PathKind::File | PathKind::BlockDevice => self.facts.as_ref().map_or(0, |facts| facts.bytes),
            _ => 0,
        }
    }

    /// Whether it is, or will be, a plain file.
    pub fn is_file(&self) -> bool {
        self.kind() == PathKind::File
    }
}

/// The files of a job, in order.
pub fn files(ask: &mut Ask<'_>, direction: &Direction, clones: u32, loader: &mut dyn Loader) -> Vec<Named> {
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
    ask: &mut Ask<'_>,
    direction: &Direction,
    directories: &[String],
    clones: u32,
    loader: &mut dyn Loader,
) -> Vec<Named> {
    let origin = match ask.has("directory") {
        true => ask.origin("directory").clone(),
        false => ask.settings.origin.clone(),
    };
    let count = ask.whole("nrfiles").unwrap_or(1).max(1) as u64;
    if count == 1 && is_other_than_file(ask.job(), loader) {
        let path = joined(directories.first(), ask.job());
        return vec![named(path, false, direction, &origin, loader)];
    }
    let format = ask.text("filename_format").unwrap_or("$jobname.$jobnum.$filenum");
    let directory = directory_template(directories, clones);
    (0..count)
        .map(|file| {
            let name = format
                .replace("$jobname", ask.job())
                .replace("$jobnum", "{worker}")
                .replace("$filenum", &file.to_string())
                .replace("$clientuid", "localhost");
            let own = clones > 1 && (name.contains("{worker}") || directories.len() > 1);
            named(joined(directory.as_ref(), &name), own, direction, &origin, loader)
        })
        .collect()
}

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

fn named(path: String, own: bool, direction: &Direction, origin: &Origin, loader: &mut dyn Loader) -> Named {
    let stream = (path == "-").then_some(direction.changes() && !direction.reads);
    let facts = if stream.is_some() { None } else { loader.look(&first(&path)) };
    Named { path, own, stream, facts, origin: origin.clone() }
}

/// The first clone's name.
fn first(template: &str) -> String {
    let template = match (template.find("{worker:"), template.find('}')) {
        (Some(start), Some(end)) if start < end => {
            let list = &template[start + "{worker:".len()..end];
            let first = list.split('|').next().unwrap_or_default();
            format!("{}{first}{}", &template[..start], &template[end + 1..])
        }
        _ => template.into(),
    };
    template.replace("{worker}", "0")
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
        assert_eq!(directory_template(&["a".into(), "b".into()], 3).as_deref(), Some("{worker:a|b}"));
    }
}
