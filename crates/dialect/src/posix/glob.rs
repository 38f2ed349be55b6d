//! Names with `*` and `?`, as profiles and `--only` take them.
//!
//! No sets, no braces: names hold letters, digits and `_ . - + : , /` only.

/// Whether a name is what a pattern means: `*` is any letters, `?` any one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Where the last `*` stood, and how much of the name it has taken.
    let (mut at, mut in_name, mut star) = (0, 0, None);
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((before, taken)) => {
                    star = Some((before, taken + 1));
                    (at, in_name) = (before + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_mean_names() {
        for (pattern, name) in
            [("*", ""), ("a*c", "abc"), ("a*c", "abcbc"), ("?b", "ab"), ("chmod/*", "chmod/x"), ("*x*", "x")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("a*c", "abd"), ("?", ""), ("chmod", "chmod/x"), ("a?", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
