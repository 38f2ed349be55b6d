//! The names of the files: `NAME`, `NAME.00000003` of each task, `DIR/3/NAME.00000003`, each with `.REPETITION`.

use crate::ior::test::IorTest;

/// The template that the engine room resolves for each owner.
pub fn template(test: &IorTest) -> String {
    let names: Vec<&str> = test.file.split('@').collect();
    let mut name = match names.as_slice() {
        [only] => (*only).to_string(),
        many => format!("{{worker:{}}}", many.join("|")),
    };
    if test.flag("uniqueDir") {
        name = match name.rsplit_once('/') {
            Some((directory, file)) => format!("{directory}/{{worker}}/{file}"),
            None => format!("{{worker}}/{name}"),
        };
    }
    if test.is_file_per_task() {
        name += ".{worker:08}";
    }
    if test.flag("multiFile") {
        name += ".{repetition}";
    }
    name
}

/// A template as directory and name in it, each dealt in turn where the whole is.
pub fn parts(template: &str) -> (String, String) {
    let dealt = template.strip_prefix("{worker:").and_then(|words| words.split_once('}'));
    match dealt {
        Some((words, rest)) if words.contains('|') => {
            let (directories, names): (Vec<_>, Vec<_>) = words.split('|').map(split).unzip();
            (in_turn(&directories), in_turn(&names) + rest)
        }
        _ => {
            let (directory, name) = split(template);
            (directory.into(), name.into())
        }
    }
}

fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => (".", path),
    }
}

/// A word for all, or a template that deals them.
fn in_turn(words: &[&str]) -> String {
    match words.iter().all(|word| *word == words[0]) {
        true => words[0].into(),
        false => format!("{{worker:{}}}", words.join("|")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_a_directory() {
        for (template, directory, name) in [
            ("/a/b.{worker:08}", "/a", "b.{worker:08}"),
            ("b", ".", "b"),
            ("/b", "/", "b"),
            ("/a/{worker}/f.{worker:08}", "/a/{worker}", "f.{worker:08}"),
            ("{worker:/a/f|/b/f}.{worker:08}", "{worker:/a|/b}", "f.{worker:08}"),
            ("{worker:/a/f|/a/g}.{worker:08}.{repetition}", "/a", "{worker:f|g}.{worker:08}.{repetition}"),
            ("{worker:f|/g}.{worker:08}", "{worker:.|/}", "{worker:f|g}.{worker:08}"),
        ] {
            assert_eq!(parts(template), (directory.into(), name.into()), "{template}");
        }
    }
}
