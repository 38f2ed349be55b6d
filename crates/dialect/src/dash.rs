//! Typographic dashes as the hyphens they were meant to be: web pages and word processors turn `-` into `–`.
//!
//! Only at the start of an argument: inside one, a dash may be part of a file's name.

/// The arguments with every leading dash as a hyphen: U+2013 and U+2212 as one, U+2014 as the two it was made of.
pub fn dashes(arguments: &[String]) -> Vec<String> {
    arguments.iter().map(|argument| hyphens(argument)).collect()
}

fn hyphens(argument: &str) -> String {
    let rest = argument.trim_start_matches(['-', '\u{2013}', '\u{2014}', '\u{2212}']);
    let lead = &argument[..argument.len() - rest.len()];
    let hyphens: String = lead.chars().map(|c| if c == '\u{2014}' { "--" } else { "-" }).collect();
    format!("{hyphens}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(argument: &str) -> String {
        dashes(&[argument.to_string()]).remove(0)
    }

    #[test]
    fn dashes_are_hyphens_at_the_start_only() {
        assert_eq!(one("\u{2013}t"), "-t");
        assert_eq!(one("\u{2212}l"), "-l");
        assert_eq!(one("\u{2013}\u{2013}json"), "--json");
        assert_eq!(one("\u{2014}json"), "--json");
        assert_eq!(one("-\u{2013}json"), "--json");
        assert_eq!(one("--json"), "--json");
        assert_eq!(one("a\u{2013}b"), "a\u{2013}b");
        assert_eq!(one(""), "");
    }
}
