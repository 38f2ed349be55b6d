//! What other programs take out of mdtest's text: rules of theirs, re-stated, find their figures in both layouts.

use super::texts::told;

/// Rows of the summary, as programs read them that split at white space: the name, then four numbers.
fn by_columns(text: &str) -> Vec<(String, Vec<f64>)> {
    let table = text.split("SUMMARY").nth(1).unwrap().lines().skip(3);
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Option<Vec<f64>> = words.get(2..6)?.iter().map(|word| word.parse().ok()).collect();
        Some((words[..2].join(" "), numbers?))
    };
    table.map_while(row).collect()
}

/// Programs of older days: the name up to a colon, then the numbers.
fn by_colon(text: &str) -> Vec<(String, Vec<f64>)> {
    let row = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let numbers: Option<Vec<f64>> = rest.split_whitespace().map(|word| word.parse().ok()).collect();
        Some((name.trim().to_string(), numbers.filter(|numbers| numbers.len() == 4)?))
    };
    text.lines().filter_map(row).collect()
}

const NAMES: [&str; 10] = [
    "Directory creation",
    "Directory stat",
    "Directory rename",
    "Directory removal",
    "File creation",
    "File stat",
    "File read",
    "File removal",
    "Tree creation",
    "Tree removal",
];

#[test]
fn every_row_is_found_by_its_columns() {
    let (text, err, _) = told("mdtest -n 1000 -d dir -i 3", &[("threads", "4")], |_| ());
    let rows = by_columns(&text);
    assert_eq!(rows.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), NAMES);
    assert!(rows.iter().all(|(_, numbers)| numbers[0] >= numbers[2] && numbers[2] >= numbers[1]));
    assert!(text.contains("SUMMARY rate (in ops/sec): (of 3 iterations)\n") && err.is_empty());
    assert!(by_colon(&text).is_empty(), "no name has a colon");
}

#[test]
fn the_older_layout_has_colons() {
    let (text, _, _) = told("mdtest -n 1000 -d dir -i 3", &[("threads", "4"), ("text", "3")], |_| ());
    let rows = by_colon(&text);
    assert_eq!(rows.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), NAMES);
    assert!(text.contains("\nSUMMARY rate: (of 3 iterations)\n"));
    assert!(rows.iter().all(|(_, numbers)| numbers[0] >= numbers[2]));
}

#[test]
fn columns_stand_where_they_stood() {
    let (text, _, _) = told("mdtest -n 1000 -d dir", &[("threads", "4")], |_| ());
    for line in text.lines().filter(|line| NAMES.iter().any(|name| line.starts_with(&format!("   {name}")))) {
        let ends: Vec<usize> =
            [40, 55, 70, 85].into_iter().filter(|end| line.is_char_boundary(*end)).collect();
        assert_eq!((line.len(), ends.len()), (85, 4), "{line:?}");
        assert!(line.as_bytes()[36] == b'.' && line.as_bytes()[51] == b'.', "{line:?}");
    }
}
