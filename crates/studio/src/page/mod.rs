//! The parts of the page, which are in the program: one document, one style sheet, scripts without a build step.

/// A part.
pub struct Part {
    path: &'static str,
    /// What it is, with its character set.
    pub kind: &'static str,
    pub text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! part {
    ($path:literal, $kind:ident, $file:literal) => {
        Part { path: $path, kind: $kind, text: include_str!($file) }
    };
}

const PARTS: &[Part] = &[
    part!("/", HTML, "index.html"),
    part!("/studio.css", CSS, "studio.css"),
    part!("/icon.svg", PICTURE, "icon.svg"),
    part!("/main.js", SCRIPT, "main.js"),
    part!("/parts.js", SCRIPT, "parts.js"),
    part!("/units.js", SCRIPT, "units.js"),
    part!("/charts.js", SCRIPT, "charts.js"),
    part!("/design.js", SCRIPT, "design.js"),
    part!("/specifications.js", SCRIPT, "specifications.js"),
    part!("/workers.js", SCRIPT, "workers.js"),
    part!("/dialogs.js", SCRIPT, "dialogs.js"),
    part!("/run.js", SCRIPT, "run.js"),
    part!("/results.js", SCRIPT, "results.js"),
    part!("/compare.js", SCRIPT, "compare.js"),
    part!("/machine.js", SCRIPT, "machine.js"),
];

/// The part at a path.
pub fn part(path: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_here_and_none_asks_for_another_machine() {
        for Part { path, text, .. } in PARTS {
            let addresses = text
                .match_indices("//")
                .filter(|(at, _)| text[..*at].ends_with("http:") || text[..*at].ends_with("https:"));
            let foreign: Vec<&str> = addresses
                .map(|(at, _)| text[at..].split(['"', '\'', '`', ' ']).next().unwrap_or_default())
                .collect();
            // The name of a kind of document is no address.
            assert!(foreign.iter().all(|address| *address == "//www.w3.org/2000/svg"), "{path}: {foreign:?}");
            assert!(
                !text.contains("innerHTML") && !text.contains("eval("),
                "{path} makes a document of a text"
            );
            for import in text.split("from \"./").skip(1) {
                let name = import.split('"').next().unwrap_or_default();
                assert!(part(&format!("/{name}")).is_some(), "{path} imports {name}");
            }
        }
    }
}
