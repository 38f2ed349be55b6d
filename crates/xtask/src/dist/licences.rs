//! The licences of what the program is linked with, as a text that goes with every package.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::bill::{Bill, Component};
use super::external::{files, read, write};
use super::{Made, Release};

/// The name of the file in packages.
pub const NAME: &str = "THIRD-PARTY-LICENSES.txt";
/// What the names of licence files begin with.
const BEGINNINGS: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// What is no crate of a registry but lies in the program all the same: name, licence, and the file with its text here.
const OTHERS: [(&str, &str, Option<&str>); 4] = [
    ("Apache ECharts 5.5.1 (in HTML reports)", "Apache-2.0", Some("crates/report/assets/echarts-LICENSE")),
    ("Apache ECharts 5.5.1: notice", "Apache-2.0", Some("crates/report/assets/echarts-NOTICE")),
    ("The standard library of Rust", "MIT OR Apache-2.0", None),
    ("SQLite (in libsqlite3-sys)", "public domain (blessing)", None),
];

/// The file, in `dist/`.
///
/// # Errors
/// It cannot be written.
pub fn make(release: &Release, bill: &Bill) -> Made {
    let path = release.into.join(NAME);
    write(&path, text(release, bill)?.as_bytes())?;
    Ok(path)
}

/// The whole text: what there is, then each licence once with all that are under it.
///
/// # Errors
/// A file that cannot be read.
pub fn text(release: &Release, bill: &Bill) -> Result<String, String> {
    let mut out = format!(
        "iodyno {} is linked with the following. Each licence stands once, with all that come under it.\n\n",
        release.version
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, licence, file) in OTHERS {
        let _ = writeln!(out, "{name}: {licence}");
        if let Some(file) = file {
            texts.entry(tidied(&read(&release.root.join(file))?)).or_default().push(name.to_string());
        }
    }
    for component in &bill.components {
        let name = format!("{} {}", component.name, component.version);
        let _ = writeln!(out, "{name}: {}", component.licence);
        for text in of(component)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|one, other| one.1.cmp(&other.1).then_with(|| one.0.cmp(&other.0)));
    for (text, names) in texts {
        let _ = write!(out, "\n{}\n{}\n\n{text}", "=".repeat(100), names.join(", "));
    }
    Ok(out)
}

/// The licence files of a crate.
fn of(component: &Component) -> Result<Vec<String>, String> {
    let named = |name: &&String| {
        let name = name.to_lowercase();
        BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && !name.ends_with(".rs")
    };
    let read = |name: &String| text_of(&component.folder.join(name));
    files(&component.folder)?.iter().filter(named).map(read).collect()
}

fn text_of(path: &Path) -> Result<String, String> {
    let bytes = super::external::read_bytes(path)?;
    Ok(tidied(&String::from_utf8_lossy(&bytes)))
}

/// Without blanks at the ends of lines, so that copies that differ in nothing else are one.
fn tidied(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_differ_in_blanks_are_one_text() {
        assert_eq!(tidied("\nMIT  \r\nPermission\n\n"), tidied("MIT\nPermission"));
    }
}
