//! Ranges in names of hosts, as Slurm and Flux write them: `node[01-03,07]`, `rack[1-2]n[1-4]`.
//!
//! Text to names, and nothing is looked up. It refuses a range that runs backwards, and lists without end.

/// The names that a word stands for, in the order they are written; `most` is how many there may be.
///
/// # Errors
/// The part that is no range, as a lower-case fragment.
pub fn expanded(word: &str, most: usize) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('[') {
        let (inside, after) = behind.split_once(']').ok_or_else(|| format!("`{word}`: `[` has no `]`"))?;
        let mut numbers = Vec::new();
        for range in inside.split(',') {
            numbers.extend(numbers_of(range, word, most)?);
        }
        if names.len().saturating_mul(numbers.len()) > most {
            return Err(format!("`{word}` stands for more than {most} hosts"));
        }
        names =
            names.iter().flat_map(|name| numbers.iter().map(move |n| format!("{name}{before}{n}"))).collect();
        rest = after;
    }
    if rest.contains(']') {
        return Err(format!("`{word}`: `]` has no `[`"));
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// `7`, or `01-12` with the zeros of its first number.
fn numbers_of(range: &str, word: &str, most: usize) -> Result<Vec<String>, String> {
    let wrong = || format!("`{word}`: `{range}` is no range of numbers");
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    let (from, to) = (number(first).ok_or_else(wrong)?, number(last).ok_or_else(wrong)?);
    let count = to.checked_sub(from).ok_or_else(wrong)?;
    if count >= most as u64 {
        return Err(format!("`{word}` stands for more than {most} hosts"));
    }
    let width = first.len();
    Ok((from..=to).map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_their_zeros_and_their_order() {
        let of = |word: &str| expanded(word, 100).unwrap().join(" ");
        assert_eq!(of("node[01-03,07]"), "node01 node02 node03 node07");
        assert_eq!(of("r[1-2]n[8-9].x"), "r1n8.x r1n9.x r2n8.x r2n9.x");
        assert_eq!(
            (of("plain"), of("n[5]"), of("n[9-11]")),
            ("plain".into(), "n5".into(), "n9 n10 n11".into())
        );
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for wrong in
            ["n[", "n]", "n[]", "n[1-]", "n[2-1]", "n[a-b]", "n[1-200]", "n[+1-2]", "n[1-60]m[1-60]", "n[[1]"]
        {
            assert!(expanded(wrong, 100).is_err(), "{wrong}");
        }
    }
}
