//! A page for each finding: what happens, how it is seen, what to do about it. `iodyno explain` prints one, and
//! `docs/lies.md` has all of them.
//!
//! Refuses to know a threshold: those stand beside the checks, and in `docs/findings.md`.

use iodyno_model::{Diagnostic, FindingKind, Origin, Remedy};
use iodyno_report::table::wrapped;

use crate::advice::{self, WORDINGS};
use crate::{Translate, native};

/// All pages: a heading of the second level with its number for each finding, after an introduction.
const PAGES: &str = include_str!("pages.md");

/// Columns by which an item of a list is moved in.
const INDENT: usize = 2;

/// The finding that a user names by its number or by its name.
///
/// # Errors
/// There is none of that number or name.
pub fn named(word: &str) -> Result<FindingKind, Diagnostic> {
    let wrong = |message: &str| Diagnostic::error(&Origin::argument(word), message);
    if let Ok(number) = word.parse::<u8>() {
        let last = FindingKind::ALL.len();
        return FindingKind::numbered(number).ok_or_else(|| {
            wrong("no finding has this number").hint(format!("they are numbered 1 to {last}"))
        });
    }
    let name = word.replace('-', "_");
    FindingKind::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
        let names: Vec<&str> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
        wrong("no finding has this name").hint(native::suggestion(&name, &names))
    })
}

/// What a tool calls its remedies; nothing: the plan's own keys.
///
/// # Errors
/// No tool of that name words findings.
pub fn wording(tool: &str) -> Result<Translate, Diagnostic> {
    WORDINGS.iter().find(|(name, _)| *name == tool).map(|(_, translate)| *translate).ok_or_else(|| {
        let names: Vec<&str> = WORDINGS.iter().map(|(name, _)| *name).collect();
        Diagnostic::error(&Origin::argument(tool), "no tool of this name has words for findings")
            .hint(native::suggestion(tool, &names))
    })
}

/// One line for each finding: its number, its name, what it is.
pub fn list() -> String {
    FindingKind::ALL
        .iter()
        .map(|kind| format!("{:>2}  {:<22} {}\n", kind.number(), kind.name(), kind.about()))
        .collect()
}

/// The page of a finding for a screen of so many columns, with what to set in a tool's words.
pub fn text(kind: FindingKind, translate: Translate, columns: usize) -> String {
    let mut text = plain(section(kind), columns);
    // A tool may have the same words for several remedies.
    let mut remedies: Vec<String> = Vec::new();
    for words in self::remedies(kind).filter_map(|remedy| advice::translated(remedy, translate)) {
        if !remedies.contains(&words) {
            remedies.push(words);
        }
    }
    if !remedies.is_empty() {
        text.push_str("\nWhat to set:\n");
    }
    for words in remedies {
        text.push_str(&format!("- {}\n", wrapped(&words, columns - INDENT, INDENT)));
    }
    text
}

fn remedies(kind: FindingKind) -> impl Iterator<Item = Remedy> {
    Remedy::ALL.iter().copied().filter(move |remedy| remedy.kind() == kind)
}

/// The lines below a finding's heading, its heading included.
fn section(kind: FindingKind) -> &'static str {
    let heading = format!("## {}. ", kind.number());
    let Some(start) = PAGES.find(&heading) else { return "" };
    let page = &PAGES[start..];
    page[3..].find("\n## ").map_or(page, |end| &page[..end + 4])
}

/// Markdown as plain text: headings without their marks, paragraphs broken anew, indented lines as they are.
fn plain(markdown: &str, columns: usize) -> String {
    let mut text = String::new();
    for block in markdown.trim_end().split("\n\n") {
        let block = block.trim_matches('\n');
        if !text.is_empty() {
            text.push('\n');
        }
        if block.starts_with("    ") {
            text.push_str(block);
        } else {
            let words = block.trim_start_matches("## ").replace("**", "").replace('*', "");
            text.push_str(&wrapped(&words, columns, 0));
        }
        text.push('\n');
    }
    text
}

/// All pages with their remedies, as Markdown.
pub fn document() -> String {
    let (introduction, _) = PAGES.split_once("\n## ").unwrap_or((PAGES, ""));
    let mut document = format!("{introduction}\n");
    for kind in FindingKind::ALL {
        document.push_str(&format!("{}\n", section(*kind).trim_end()));
        let words: String =
            remedies(*kind).map(|remedy| format!("- {}\n", wrapped(remedy.words(), 118, INDENT))).collect();
        document.push_str(&format!("\nIn a plan:\n\n{words}\n"));
    }
    document.trim_end().to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_has_a_page_that_names_it() {
        for kind in FindingKind::ALL {
            let page = section(*kind);
            assert!(page.contains(&format!("*{}*", kind.name())), "{} has no page", kind.name());
            assert!(page.contains("**Instead:**"), "{}: nothing to do", kind.name());
            assert!(remedies(*kind).next().is_some(), "{}: no remedy", kind.name());
        }
        assert_eq!(PAGES.matches("\n## ").count(), FindingKind::ALL.len());
    }

    #[test]
    fn a_page_has_the_tools_own_options() {
        let kind = named("depth-not-reached").unwrap();
        assert_eq!(kind, named("13").unwrap());
        let fio = text(kind, wording("fio").unwrap(), 80);
        assert!(fio.contains("ioengine=") && !fio.contains("engine = \""), "{fio}");
        assert!(text(kind, advice::native, 80).contains("engine = \"io_uring\""));
        let is_narrow = |line: &str| line.starts_with("    ") || line.chars().count() <= 80;
        assert!(fio.lines().all(is_narrow), "{fio}");
        assert!(!fio.contains("##") && !fio.contains("**"));
    }

    #[test]
    fn no_page_says_a_remedy_twice() {
        for (tool, translate) in WORDINGS {
            for kind in FindingKind::ALL {
                let page = text(*kind, *translate, 10_000);
                let mut said: Vec<&str> = page.lines().filter(|line| line.starts_with("- ")).collect();
                let count = said.len();
                said.sort_unstable();
                said.dedup();
                assert_eq!(said.len(), count, "{tool}: {}", kind.name());
            }
        }
    }

    #[test]
    fn what_is_no_finding_is_told_with_the_nearest() {
        assert!(named("42").unwrap_err().to_string().contains("1 to 41"));
        assert!(named("cached_read").unwrap_err().to_string().contains("did you mean `cached_reads`"));
        assert!(wording("foi").unwrap_err().to_string().contains("did you mean `fio`"));
    }
}
