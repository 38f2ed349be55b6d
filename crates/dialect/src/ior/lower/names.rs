//! The names of the files: `NAME`, `NAME.00000003` of each task, `DIR/3/NAME.00000003`, each with `.REPETITION`.

use crate::ior::test::Test;

/// The template that the engine room resolves for each owner.
pub fn template(test: &Test) -> String {
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

/// A template as directory and name in it.
pub fn parts(template: &str) -> (&str, &str) {
    let slash = template.rfind('/');
    // Names that are dealt in turn may have slashes between their braces: such a file is named from here.
    match slash.filter(|_| !template.contains("{worker:0") || !template.contains('|')) {
        Some(0) => ("/", &template[1..]),
        Some(at) => (&template[..at], &template[at + 1..]),
        None => (".", template),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_a_directory() {
        assert_eq!(parts("/a/b.{worker:08}"), ("/a", "b.{worker:08}"));
        assert_eq!(parts("b"), (".", "b"));
        assert_eq!(parts("/b"), ("/", "b"));
        assert_eq!(parts("{worker:/a/f|/b/f}.{worker:08}"), (".", "{worker:/a/f|/b/f}.{worker:08}"));
    }
}
