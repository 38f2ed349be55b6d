//! Links of the pages: every relative link leads to a file of the tree, and its anchor to a heading of that page.
//!
//! What lies elsewhere (`https:`) is not asked for. Code is left out: a link in it is none. So are the parts of pages that the
//! crates keep, whose links are those of the whole page in `docs/`.

use super::{Tree, Violation};

const HINT: &str =
    "name a file of the tree relative to the page, and an anchor as the headings of that page make it";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let pages = tree.files.iter().filter(|(path, _)| path.ends_with(".md") && !path.starts_with("crates/"));
    pages.flat_map(|(path, text)| page(tree, path, text)).collect()
}

fn page(tree: &Tree, path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.starts_with("    ") {
            continue;
        }
        for link in links(line) {
            if let Some(wrong) = broken(tree, path, link) {
                violations.push(Violation::new(path, index + 1, format!("`{link}`: {wrong}"), HINT));
            }
        }
    }
    violations
}

/// The targets of the links in a line, without those in code.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let outside = move |at: usize| line[..at].matches('`').count().is_multiple_of(2);
    let found = line.match_indices("](").filter(move |(at, _)| outside(*at));
    found.filter_map(|(at, _)| line[at + 2..].split_once(')').map(|(link, _)| link))
}

/// What is wrong with a link of a page.
fn broken(tree: &Tree, page: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { page.to_string() } else { joined(page, file)? };
    let is_folder =
        || tree.files.iter().any(|(path, _)| path.starts_with(&format!("{}/", target.trim_end_matches('/'))));
    let known = tree.files.iter().find(|(path, _)| *path == target);
    let Some((_, text)) = known else {
        return if is_folder() { None } else { Some("there is no such file".into()) };
    };
    let is_missing =
        !anchor.is_empty() && target.ends_with(".md") && !anchors(text).any(|known| known == anchor);
    is_missing.then(|| "the page has no such heading".into())
}

/// A path that a page names, from the root on.
fn joined(page: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a page, as viewers of repositories make them: small letters, blanks as hyphens, no other marks.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let heading = line.trim_start_matches('#');
        let is_heading = heading.len() < line.len() && heading.starts_with(' ');
        is_heading.then(|| slug(heading.trim()))
    })
}

fn slug(heading: &str) -> String {
    let letters = heading.to_lowercase();
    let kept = letters.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    #[test]
    fn a_link_leads_to_a_file_and_to_a_heading() {
        let found = |text: &str| {
            places(&check(&planted(&[
                ("docs/a.md", text),
                ("docs/b.md", "# B\n\n## The `--x` way, twice\n"),
                ("LICENSE", ""),
            ])))
        };
        let good = "[b](b.md) [x](b.md#the---x-way-twice) [l](../LICENSE) [d](../docs) [w](https://x.y/z) `[c](no.md)`\n";
        assert_eq!(found(good), Vec::<String>::new());
        assert_eq!(found("# A\n\n[here](#a) [gone](#b)\n"), ["docs/a.md:3"]);
        assert_eq!(found("[b](c.md)\n\n[b](b.md#c)\n\n[b](../../b.md)\n"), ["docs/a.md:1", "docs/a.md:3"]);
        assert_eq!(found("```\n[b](c.md)\n```\n\n    [b](c.md)\n"), Vec::<String>::new());
    }
}
