//! The files of a package as they lie on a system, once for all kinds of packages; a kind says where it differs.

use std::path::{Path, PathBuf};

use super::Release;
use super::bill::Bill;
use super::external::{empty_folder, lines_of, read_bytes, write};
use super::launchers::Texts;
use super::licences;
use super::program::ProgramFile;

/// What an entry is.
pub enum InstalledEntry {
    File { bytes: Vec<u8>, is_program: bool },
    Link(String),
}

/// Files below `/usr`, with paths relative to it, in order.
pub struct Contents {
    pub entries: Vec<(String, InstalledEntry)>,
}

/// Where links of the tools' names lie: in no folder of a PATH, so that nothing is hidden until somebody asks for it.
pub const TOOLS: &str = "lib/iodyno/tools";
/// Where each shell looks for completions of packages.
const BASH: &str = "share/bash-completion/completions/iodyno";
const FISH: &str = "share/fish/vendor_completions.d/iodyno.fish";
/// Debian's folder; others have `site-functions`.
pub const ZSH_DEBIAN: &str = "share/zsh/vendor-completions/_iodyno";
pub const ZSH: &str = "share/zsh/site-functions/_iodyno";
pub const DOCUMENTS: &str = "share/doc/iodyno";

impl Contents {
    /// Gathers them.
    ///
    /// # Errors
    /// A file that is missing from the source.
    pub fn of(
        release: &Release,
        program: &ProgramFile,
        texts: &Texts,
        bill: &Bill,
    ) -> Result<Contents, String> {
        let file = |path: String, bytes: &[u8]| {
            (path, InstalledEntry::File { bytes: bytes.to_vec(), is_program: false })
        };
        let mut entries = vec![
            (
                "bin/iodyno".to_string(),
                InstalledEntry::File { bytes: program.bytes.clone(), is_program: true },
            ),
            file(BASH.into(), &texts.bash),
            file(FISH.into(), &texts.fish),
            file(ZSH.into(), &texts.zsh),
        ];
        entries.extend(texts.pages.iter().map(|(name, page)| file(format!("share/man/man1/{name}"), page)));
        for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            entries.push(file(format!("{DOCUMENTS}/{name}"), &read_bytes(&release.root.join(name))?));
        }
        entries
            .push(file(format!("{DOCUMENTS}/{}", licences::NAME), licences::text(release, bill)?.as_bytes()));
        let link =
            |tool: &String| (format!("{TOOLS}/{tool}"), InstalledEntry::Link("../../../bin/iodyno".into()));
        entries.extend(texts.tools.iter().map(link));
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Contents { entries })
    }

    /// Lays them out below a folder, each where `place` says; none: left out. Manual pages are packed.
    ///
    /// # Errors
    /// The path and the reason.
    pub fn lay_out(
        &self,
        release: &Release,
        folder: &Path,
        place: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), String> {
        empty_folder(folder)?;
        for (path, entry) in &self.entries {
            let Some(path) = place(path).map(|path| folder.join(path)) else { continue };
            match entry {
                InstalledEntry::File { bytes, is_program } => {
                    write(&path, bytes)?;
                    permit(&path, if *is_program { 0o755 } else { 0o644 })?;
                }
                InstalledEntry::Link(target) => link(target, &path)?,
            }
        }
        pack_pages(folder)?;
        set_times(release, folder)
    }
}

fn link(target: &str, path: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(cannot)?;
    std::os::unix::fs::symlink(target, path).map_err(cannot)
}

/// Sets the mode of a file, whatever the mask of this process.
///
/// # Errors
/// The path and the reason.
pub fn permit(path: &Path, mode: u32) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).map_err(|error| format!("{}: {error}", path.display()))
}

/// gzip without names and times, as Debian's policy and rpm's tools have it.
fn pack_pages(folder: &Path) -> Result<(), String> {
    let mut pages = Vec::new();
    for manual in ["share/man/man1", "usr/share/man/man1"].map(|path| folder.join(path)) {
        if manual.is_dir() {
            let names = super::external::files(&manual)?;
            pages.extend(names.iter().map(|name| manual.join(name).display().to_string()));
        }
    }
    if pages.is_empty() {
        return Ok(());
    }
    let mut words = vec!["-n", "-9", "-f", "--"];
    words.extend(pages.iter().map(String::as_str));
    lines_of("gzip", &words, folder).map(|_| ())
}

/// Gives everything below a folder the time of the commit, and folders the usual mode.
///
/// # Errors
/// What find or touch said.
pub fn set_times(release: &Release, folder: &Path) -> Result<(), String> {
    let at = format!("@{}", release.epoch);
    lines_of("find", &[".", "-type", "d", "-exec", "chmod", "755", "{}", "+"], folder)?;
    lines_of("find", &[".", "-exec", "touch", "-h", "-d", &at, "{}", "+"], folder).map(|_| ())
}

/// The folder where a kind of package is laid out.
pub fn stage(release: &Release, program: &ProgramFile, kind: &str) -> PathBuf {
    release.scratch.join(format!("stage-{}-{kind}", program.processor))
}
