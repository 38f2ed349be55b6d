//! The README and the book as a reader takes them: every command is run, or says why not; what is shown is what is printed.
//!
//! `docs/SUMMARY.md` lists the pages. The README and the first steps run in every test run; of the other pages continuous
//! integration takes a sample, and `cargo xtask against docs` runs all. Speeds are not judged. The pages that say what an option
//! means (one a tool) show forms of commands in blocks without a language; these are not run.

mod page;
mod sandbox;

use std::path::{Path, PathBuf};

use page::{Block, blocks, languages};
use sandbox::Sandbox;
use testbed::{Case, Outcome};

/// Pages whose blocks all name their language, so that no command escapes.
const WRITTEN: [&str; 10] = [
    "README.md",
    "docs/first-ten-minutes.md",
    "docs/recipes.md",
    "docs/tools.md",
    "docs/accuracy.md",
    "docs/comparison.md",
    "docs/book.md",
    "docs/commands.md",
    "docs/tui.md",
    "docs/watch.md",
];
/// Run in every run of the tests.
const ALWAYS: [&str; 2] = ["README.md", "docs/first-ten-minutes.md"];

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(page: &str) -> String {
    std::fs::read_to_string(tree().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The pages with commands: those of the README and of the table of contents.
fn pages() -> Vec<String> {
    let contents = text("docs/SUMMARY.md");
    let links = contents.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let mut pages = vec!["README.md".to_string()];
    pages.extend(links.map(|(link, _)| format!("docs/{link}")).filter(|page| !page.contains("..")));
    pages
}

fn is_run(block: &Block) -> bool {
    block.statements.iter().any(|statement| statement.not_run.is_none())
}

/// The commands of a page, in one directory.
fn page_runs(page: &str, keep: impl Fn(usize) -> bool) -> Outcome {
    let sandbox = Sandbox::new(tree())?;
    let all = blocks(&text(page));
    let chosen = all.iter().enumerate().filter(|(index, _)| keep(*index)).map(|(_, block)| block);
    let wrong: Vec<String> = chosen.filter_map(|block| sandbox.run(page, block).err()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Every block says what it is, and a text that is shown belongs to commands.
fn blocks_name_their_language() -> Outcome {
    for page in WRITTEN {
        for (line, language) in languages(&text(page)) {
            assert!(!language.is_empty(), "{page}:{line}: a block without a language: is it run?");
        }
    }
    Ok(())
}

/// The table of contents has every page once, and only pages that exist.
fn contents_are_whole() -> Outcome {
    let pages = pages();
    for entry in std::fs::read_dir(tree().join("docs"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != "SUMMARY.md" {
            let count = pages.iter().filter(|page| **page == format!("docs/{name}")).count();
            assert_eq!(count, 1, "docs/{name} stands in docs/SUMMARY.md {count} times");
        }
    }
    pages.iter().for_each(|page| drop(text(page)));
    Ok(())
}

/// The first screen of the README has the two commands.
fn first_screen_has_the_two_commands() -> Outcome {
    let readme = text("README.md");
    let screen: Vec<&str> = readme.lines().take(24).collect();
    for command in ["cargo run --release -- measure .", "cargo xtask ci"] {
        assert!(
            screen.iter().any(|line| line.contains(command)),
            "README.md: `{command}` is not on the first screen"
        );
    }
    Ok(())
}

/// What the pages' notation means.
fn the_notation_is_read() -> Outcome {
    let page = "# How storage numbers lie\n\n```sh\niodyno a   # tests add: --quick\n\
                false  # exit status 1\n# not run here: needs two hosts\nssh b\n```\n\n\
                ```text\nrate  12 MB/s  …\n```\n\n    iodyno dd if=F\n    rm F\n\n    picture ──► 1\n";
    let found = blocks(page);
    assert_eq!(found.len(), 2, "{found:?}");
    let of = |index: usize| &found[0].statements[index];
    assert_eq!((of(0).text.as_str(), of(0).line, of(1).status), ("iodyno a --quick", 4, 1));
    assert_eq!(of(2).not_run.as_deref(), Some("needs two hosts"));
    assert_eq!(found[1].statements.len(), 2);
    assert_eq!(page::missing(&found[0].shown, "x\nrate 3,400 GB/s best 4\n"), None);
    assert_eq!(page::missing(&found[0].shown, "ratio 3 GB/s best 4\n"), Some("rate  12 MB/s  …"));
    assert_eq!(page::masked("RND4K Q1T1  39.4 [ 9,609] < 104 µs> –"), "RND4K Q1T1 #");
    let noted = blocks(
        "<!-- command 2: tests add: --quick -->\n<!-- command 1: not run here: it takes long -->\n```sh\na\nb\n```\n",
    );
    let both = &noted[0].statements;
    assert_eq!((both[0].not_run.as_deref(), both[1].text.as_str()), (Some("it takes long"), "b --quick"));
    let here = blocks("```sh\ncat > a <<'EOF'\nx # exit status 3\nEOF\ncat a\n```\n");
    assert_eq!(here[0].statements.len(), 2, "{here:?}");
    Ok(())
}

/// A page that shows what is not printed, and a command that fails, are found.
fn wrong_pages_are_found() -> Outcome {
    let sandbox = Sandbox::new(tree())?;
    let wrong = |text: &str| sandbox.run("page.md", &blocks(text)[0]).unwrap_err();
    assert!(wrong("```sh\niodyno --version\n```\n```text\nfio 3\n```\n").contains("the page shows `fio 3`"));
    assert!(wrong("```sh\niodyno no-such-command\n```\n").contains("line 2: exit status 2, not 0"));
    Ok(())
}

fn main() -> std::process::ExitCode {
    let mut cases = vec![
        Case::new("blocks_name_their_language", &[], blocks_name_their_language),
        Case::new("contents_are_whole", &[], contents_are_whole),
        Case::new("first_screen_has_the_two_commands", &[], first_screen_has_the_two_commands),
        Case::new("the_notation_is_read", &[], the_notation_is_read),
        Case::new("wrong_pages_are_found", &[], wrong_pages_are_found),
    ];
    for page in pages() {
        let all = blocks(&text(&page));
        if !all.iter().any(is_run) {
            continue;
        }
        let name = page.trim_start_matches("docs/").trim_end_matches(".md").to_lowercase().replace('-', "_");
        if ALWAYS.contains(&page.as_str()) {
            cases.push(Case::new(format!("page_{name}"), &[], move || page_runs(&page, |_| true)));
        } else {
            cases.push(Case::new(format!("page_{name}"), &[], move || page_runs(&page, |_| true)).against());
        }
    }
    testbed::run(cases)
}
