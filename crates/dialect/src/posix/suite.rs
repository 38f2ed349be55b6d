//! The files of the conformance suite that the program carries, and those of a directory that is named instead.
//!
//! Knows no rule: only names and texts. Which files there are is found out when the program is built.

use iodyno_model::{Diagnostic, Origin};

use crate::Loader;

include!(concat!(env!("OUT_DIR"), "/suite.rs"));

/// A file of rules: what messages call it, and its text.
pub type File = (String, String);

/// A suite that the program carries.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInSuite {
    /// Its directory below `suites`.
    pub name: &'static str,
    rules: &'static [(&'static str, &'static str)],
    profiles: &'static [(&'static str, &'static str)],
}

impl BuiltInSuite {
    /// Its files of rules.
    pub fn rules(&self) -> Vec<File> {
        let file = |(name, text): &(&str, &str)| (format!("suites/{}/{name}", self.name), (*text).into());
        self.rules.iter().map(file).collect()
    }

    /// Its profiles.
    pub fn profiles(&self) -> Vec<File> {
        let file =
            |(name, text): &(&str, &str)| (format!("suites/{}/profiles/{name}", self.name), (*text).into());
        self.profiles.iter().map(file).collect()
    }
}

/// All files of rules in a directory, in the order of their names.
///
/// # Errors
/// The directory, or one of the files, cannot be read.
pub fn in_folder(folder: &str, loader: &mut dyn Loader) -> Result<Vec<File>, Vec<Diagnostic>> {
    let wrong = |path: &str, reason: String| {
        Diagnostic::error(&Origin::argument(path), format!("cannot be read: {reason}"))
            .hint("--rules takes a directory of rules, e.g. a copy of suites/posix")
    };
    let names = loader.list(folder).map_err(|reason| vec![wrong(folder, reason)])?;
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for name in names.iter().filter(|name| name.ends_with(".toml")) {
        let path = format!("{}/{name}", folder.trim_end_matches('/'));
        match file(&path, loader) {
            Ok(text) => files.push((path, text)),
            Err(reason) => problems.push(wrong(&path, reason)),
        }
    }
    if files.is_empty() && problems.is_empty() {
        problems.push(wrong(folder, "it holds no file whose name ends in .toml".into()));
    }
    if problems.is_empty() { Ok(files) } else { Err(problems) }
}

/// The text of one file.
///
/// # Errors
/// Why it cannot be read.
pub fn file(path: &str, loader: &mut dyn Loader) -> Result<String, String> {
    String::from_utf8(loader.read(path)?)
        .map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_suite_is_carried() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites");
        let folders = [POSIX, S3].map(|suite| {
            let folder = format!("{root}/{}", suite.name);
            [(folder.clone(), suite.rules), (format!("{folder}/profiles"), suite.profiles)]
        });
        for (folder, carried) in folders.into_iter().flatten() {
            let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
            names.retain(|name| name.ends_with(".toml"));
            names.sort();
            assert_eq!(names, carried.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        }
    }
}
