//! `--showcmd`: job files as the command lines that would run them.
//!
//! It refuses to sort options in any other order than fio's: units first, file names and engines' options last.

use super::options;
use super::section::{OptionLine, Section};

/// One line for each file.
pub fn commands(files: &[Vec<Section>]) -> String {
    files.iter().filter(|sections| !sections.is_empty()).map(|sections| command(sections)).collect()
}

fn command(sections: &[Section]) -> String {
    let mut text = String::from("fio ");
    for section in sections {
        if !section.global {
            text += &format!("--name={} ", section.name);
        }
        // The name stands before already.
        let named = |line: &&OptionLine| line.name == "name" && line.text.as_deref() == Some(&section.name);
        let mut lines: Vec<&OptionLine> = section.lines.iter().filter(|line| !named(line)).collect();
        lines.sort_by_key(|line| rank(&line.name));
        lines.iter().for_each(|line| text += &shown(line));
    }
    text.push('\n');
    text
}

/// Where fio puts an option of a section: units first, file names and engines' options last.
pub fn rank(name: &str) -> i32 {
    match options::find(name) {
        Some(row) if !row.is_general() => 2,
        Some(row) => match row.entry.name {
            "kb_base" | "unit_base" | "lockfile" | "cpus_allowed_policy" => -1,
            "filename" | "filename_format" => 1,
            _ => 0,
        },
        None => 0,
    }
}

fn shown(line: &OptionLine) -> String {
    let name = options::find(&line.name).map_or(line.name.as_str(), |row| row.entry.name);
    match &line.text {
        None => format!("--{name} "),
        Some(text) if name == "description" => format!("--{name}=\"{text}\" "),
        Some(text) => format!("--{name}={text} "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Shelf;
    use super::*;

    #[test]
    fn a_job_file_is_shown_as_fio_shows_it() {
        let text = "[global]\nrw=read\nblocksize=4k\n[j one]\nfilename=a b\nsize=1m\nthread\nkb_base=1000\n\
                    [two]\nuserspace_reap=1\nioengine=libaio\ndescription=a b\n";
        let mut sections = Vec::new();
        super::super::file::read("j", &mut Shelf::of(&[("j", text)]), &mut sections);
        assert_eq!(
            commands(&[sections]),
            "fio --rw=read --bs=4k --name=j one --kb_base=1000 --size=1m --thread --filename=a b \
             --name=two --ioengine=libaio --description=\"a b\" --userspace_reap=1 \n"
        );
    }
}
