//! Names with `*` and `?`. No sets, no braces.

/// Whether a name is what a pattern means: `*` is any letters, also `/`, `?` any one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut taken, mut star) = (0, 0, None);
    while taken < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, taken));
                at += 1;
            }
            // Of a letter of several bytes `?` takes all.
            Some(b'?') => {
                at += 1;
                taken += 1;
                while name.get(taken).is_some_and(|byte| byte & 0xc0 == 0x80) {
                    taken += 1;
                }
            }
            Some(letter) if *letter == name[taken] => (at, taken) = (at + 1, taken + 1),
            _ => match star {
                Some((before, first)) => {
                    star = Some((before, first + 1));
                    (at, taken) = (before + 1, first + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_mean_names() {
        for (pattern, name) in
            [("*", ""), ("*.db", "/home/a.db"), ("/v*/l?g", "/var/log"), ("?x", "äx"), ("sd?", "sdb")]
                .into_iter()
                .chain([("a*c", "abc"), ("a*c", "abcbc"), ("?b", "ab"), ("chmod/*", "chmod/x"), ("*x*", "x")])
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("*.db", "a.db-wal"), ("sd?", "sd"), ("a", "b")]
            .into_iter()
            .chain([("a*c", "abd"), ("?", ""), ("chmod", "chmod/x"), ("a?", "a")])
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
