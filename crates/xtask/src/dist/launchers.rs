//! What the program writes about itself: manual pages, completions, and the names that it answers to.
//!
//! One program writes them for all packages of a release: a program of another processor says the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Release;
use super::external::{empty_folder, files, lines, read_bytes};
use super::program::ProgramFile;

/// Texts and names for packages.
pub struct Texts {
    /// Name and content of every manual page, `iodyno-fio.1` and its like.
    pub pages: Vec<(String, Vec<u8>)>,
    pub bash: Vec<u8>,
    pub zsh: Vec<u8>,
    pub fish: Vec<u8>,
    /// Tools whose names it answers to.
    pub tools: Vec<String>,
}

/// Asks a program that runs here.
///
/// # Errors
/// None does, or it is of another version.
pub fn texts(release: &Release, programs: &[ProgramFile]) -> Result<Texts, String> {
    let program = speaker(release, programs)?;
    let ask = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).env("IODYNO_HISTORY", "off").env("COLUMNS", "100");
        lines(command)
    };
    let script =
        |shell: &str| Ok::<_, String>((ask(&["completions", shell])?.join("\n") + "\n").into_bytes());
    let manual = release.scratch.join("manual");
    empty_folder(&manual)?;
    ask(&["man", "--all", &manual.display().to_string()])?;
    let page = |name: String| Ok((name.clone(), read_bytes(&manual.join(&name))?));
    let pages = files(&manual)?.into_iter().map(page).collect::<Result<_, String>>()?;
    let links = release.scratch.join("links");
    empty_folder(&links)?;
    ask(&["links", &links.display().to_string()])?;
    Ok(Texts {
        pages,
        bash: script("bash")?,
        zsh: script("zsh")?,
        fish: script("fish")?,
        tools: names(&links)?,
    })
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// A program that runs here and has the version of the release.
fn speaker(release: &Release, programs: &[ProgramFile]) -> Result<PathBuf, String> {
    let built = release.root.join("target/debug/iodyno");
    let candidates = programs.iter().map(|program| &program.path).chain([&built]);
    let expected = format!("iodyno {}", release.version);
    let mut said = Vec::new();
    for path in candidates {
        let mut command = Command::new(path);
        command.arg("--version");
        match lines(command) {
            Ok(lines) if lines.first() == Some(&expected) => return Ok(path.clone()),
            Ok(lines) => said.push(format!("{}: {}", path.display(), lines.join(" "))),
            Err(why) => said.push(format!("{}: {why}", path.display())),
        }
    }
    Err(format!(
        "no program of {expected} runs here to write its manual pages\n    {}\n hint: cargo build",
        said.join("\n    ")
    ))
}
