//! `cargo xtask docs`: the book as pages with a search, in `target/book`.
//!
//! The pages are plain Markdown and read well without; the program that makes pages of them (mdBook) is installed into
//! `target/mdbook` when this is asked for, never into the user's own folders. It refuses to build a book whose contents name a
//! page that is not there: mdBook would make an empty one.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// The version that is known to build the book.
const VERSION: &str = "0.4.52";
/// It compiles two hundred crates.
const INSTALL_LIMIT: Duration = Duration::from_secs(40 * 60);
const BUILD_LIMIT: Duration = Duration::from_secs(5 * 60);
const CONTENTS: &str = "docs/SUMMARY.md";

/// Builds the book; true when that went well.
///
/// # Errors
/// What cannot be had.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    if let Some(word) = arguments.first() {
        return Err(format!("docs: `{word}`: it takes no words"));
    }
    let contents = root.join(CONTENTS);
    let text = fs::read_to_string(&contents).map_err(|error| format!("{CONTENTS}: {error}"))?;
    let gone: Vec<&str> = pages(&text).filter(|page| !root.join("docs").join(page).is_file()).collect();
    if !gone.is_empty() {
        return Err(format!("{CONTENTS}: there is no docs/{}", gone.join(", docs/")));
    }
    let folder = root.join("target/mdbook");
    let program = folder.join("bin/mdbook");
    if !program.is_file() {
        println!("installing mdbook {VERSION} into target/mdbook: some minutes, once");
        let mut install = shell::cargo();
        install.args(["install", "mdbook", "--version", VERSION, "--locked", "--no-default-features"]);
        install
            .args(["--features", "search", "--root"])
            .arg(&folder)
            .env("CARGO_TARGET_DIR", folder.join("build"));
        let installed = shell::run(install, Some(&folder.join("install.log")), INSTALL_LIMIT)?;
        if !installed.success {
            return Err(format!(
                "mdbook cannot be had: target/mdbook/install.log: {}",
                installed.last_words()
            ));
        }
        // Its build takes more room than the tree.
        let _ = fs::remove_dir_all(folder.join("build"));
    }
    let mut build = Command::new(&program);
    build.arg("build").current_dir(root);
    let built = shell::run(build, Some(&folder.join("build.log")), BUILD_LIMIT)?;
    if !built.success {
        return Err(format!("the book does not build: target/mdbook/build.log: {}", built.last_words()));
    }
    println!("the book: {}", root.join("target/book/index.html").display());
    Ok(true)
}

/// The pages that the contents name.
fn pages(contents: &str) -> impl Iterator<Item = &str> {
    contents.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(page, _)| page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_refused_and_contents_are_read() {
        assert!(chore(Path::new("."), &["--open".into()]).unwrap_err().contains("--open"));
        assert!(chore(Path::new("/nowhere"), &[]).unwrap_err().contains(CONTENTS));
        assert_eq!(pages("# C\n\n- [A](a.md)\n- [B](b.md)\n").collect::<Vec<_>>(), ["a.md", "b.md"]);
    }
}
