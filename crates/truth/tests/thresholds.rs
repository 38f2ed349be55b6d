//! Every number by which a check decides says where it comes from: in its docstring, `Source:` a text or an experiment, or
//! `Chosen:` a reason and the tests that hold it. Reads the crate's own source.

use std::fs;
use std::path::{Path, PathBuf};

/// Numbers that decide nothing, by file and name.
const NO_THRESHOLDS: [(&str, &str); 5] = [
    // How long an hour is, and how many a day has.
    ("canary.rs", "HOUR_NS"),
    ("canary.rs", "HOURS"),
    // Which finding may bring which about, by code, and what each is called.
    ("causes.rs", "EXPLAINS"),
    ("causes.rs", "NAMES"),
    // The kernel's numbers of errors.
    ("errors.rs", "NAMES"),
];

/// A constant of a source file.
struct Constant {
    file: String,
    name: String,
    doc: String,
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether a value of this type holds a number; the length of an array is none.
fn is_numeric(of: &str) -> bool {
    let mut words = of.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| {
        matches!(word, "usize" | "isize")
            || word
                .strip_prefix(['u', 'i', 'f'])
                .is_some_and(|bits| bits.parse::<u8>().is_ok_and(|bits| bits >= 8))
    })
}

/// The numeric constants of a text outside of its tests.
fn constants(file: &str, text: &str) -> Vec<Constant> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let (mut doc, mut found) = (String::new(), Vec::new());
    for line in code.lines().map(str::trim_start) {
        if let Some(more) = line.strip_prefix("///") {
            doc += more;
            continue;
        }
        let public = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) "));
        let declared = public.unwrap_or(line).strip_prefix("const ").and_then(|rest| rest.split_once(": "));
        if let Some((name, rest)) = declared.filter(|(name, _)| !name.contains(['(', ' '])) {
            let of = rest.split(" = ").next().unwrap_or_default();
            if is_numeric(of) && !NO_THRESHOLDS.contains(&(file, name)) {
                found.push(Constant { file: file.into(), name: name.into(), doc: doc.clone() });
            }
        }
        doc.clear();
    }
    found
}

/// What a docstring lacks; `tests` is the text in which the tests stand that it names.
fn lacks(doc: &str, tests: &str) -> Option<String> {
    if doc.contains("Source: ") {
        return None;
    }
    let Some((_, chosen)) = doc.split_once("Chosen: ") else {
        return Some("names neither a source nor a choice".into());
    };
    let mut named = chosen.split('`').skip(1).step_by(2).peekable();
    if named.peek().is_none() {
        return Some("names no test".into());
    }
    let missing: Vec<&str> = named.filter(|name| !tests.contains(&format!("fn {name}("))).collect();
    (!missing.is_empty()).then(|| format!("names what is no test: {}", missing.join(", ")))
}

#[test]
fn every_threshold_names_its_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["src", "tests", "../iodyno/tests/lies"].map(|folder| sources(&root.join(folder)));
    let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
    let tests: String = folders.iter().flatten().map(text).collect();
    let mut found = Vec::new();
    for path in &folders[0] {
        let file = path.strip_prefix(root.join("src")).unwrap().to_str().unwrap();
        found.extend(constants(file, &text(path)));
    }
    assert!(found.len() > 100, "only {} thresholds were found", found.len());
    let wrong = found
        .iter()
        .filter_map(|one| Some(format!("{}: {} {}\n", one.file, one.name, lacks(&one.doc, &tests)?)));
    let wrong: String = wrong.collect();
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn a_threshold_without_a_source_is_found() {
    let text = "/// Percent.\nconst A: f64 = 1.0;\n/// Source: x(7).\npub const B: (u64, u64) = (1, 2);\n\
                const C: &str = \"u64\";\n\
                const fn d(e: u64) {}\n/// Chosen: so;\n/// `is_so`.\nconst F: [(&str, f64); 1] = [(\"\", 1.0)];\n\
                #[cfg(test)]\nmod tests {\n    const G: u8 = 1;\n}\n";
    let found = constants("x.rs", text);
    assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["A", "B", "F"]);
    let lacking = |tests: &str| found.iter().filter_map(|one| lacks(&one.doc, tests)).collect::<Vec<_>>();
    assert_eq!(lacking("fn is_so() {"), ["names neither a source nor a choice"]);
    assert_eq!(lacking("")[1], "names what is no test: is_so");
    assert_eq!(lacks("Chosen: so.", ""), Some("names no test".into()));
}
