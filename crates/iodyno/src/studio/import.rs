//! Files and command lines of other tools: as a design where the page's table can show them, and as they were written.

use iodyno_model::{Diagnostic, Origin};
use iodyno_studio::design;
use serde_json::{Value, json};

use super::Studio;
use super::command_line::{self, split};
use super::designs::given_up;
use super::explanation::{diagnostic, explained, loader, lowered, written_devices};
use super::folder;
use super::running::Start;

/// What came in: a command line, or a file with the tool that reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadImport {
    pub tool: String,
    /// The tool's words; a file's name among them is that of the file beside.
    pub words: Vec<String>,
    /// A file's name and its text.
    pub file: Option<(String, String)>,
}

impl LoadImport {
    /// From what the page sends: `{ name, text }` of a file, or `{ line }`.
    ///
    /// # Errors
    /// What is neither.
    pub fn of(asked: &Value) -> Result<LoadImport, Vec<Diagnostic>> {
        let refuse = |what: String, hint: &str| {
            Err(vec![Diagnostic::error(&Origin::argument("import"), what).hint(hint)])
        };
        if let Some(line) = asked["line"].as_str() {
            // As it is copied from a terminal or a guide.
            let line = line.trim_start();
            let line = ["$ ", "# "].iter().find_map(|prompt| line.strip_prefix(prompt)).unwrap_or(line);
            let mut words = split(line).map_err(|wrong| vec![wrong])?;
            while words.first().is_some_and(|word| ["sudo", "iodyno"].contains(&word.as_str())) {
                words.remove(0);
            }
            if words.is_empty() {
                return refuse(
                    "no command".into(),
                    "e.g. fio --name=a --rw=randread --filename=/srv/f --size=1g",
                );
            }
            let tool = words.remove(0);
            let tool = tool.rsplit('/').next().unwrap_or(&tool).to_string();
            return Ok(LoadImport { tool, words, file: None });
        }
        let (Some(name), Some(text)) = (asked["name"].as_str(), asked["text"].as_str()) else {
            return refuse(
                "neither a file nor a line".into(),
                "an .icf, a job file of fio, a .f of filebench, a plan (.toml)",
            );
        };
        let name: String = name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or(name)
            .chars()
            .filter(|letter| !letter.is_control())
            .collect();
        let Some(tool) = tool_of(&name, text) else {
            return refuse(
                format!("{name}: no file that is known here"),
                ".icf, .fio, .f, .toml, or a script of IOR",
            );
        };
        let words = match tool {
            "filebench" | "ior" => vec!["-f".into(), name.clone()],
            _ => vec![name.clone()],
        };
        Ok(LoadImport { tool: tool.into(), words, file: Some((name, text.into())) })
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.file.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes())).collect()
    }

    /// What it is called.
    fn name(&self) -> String {
        let stem =
            self.file.as_ref().map(|(name, _)| name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem));
        stem.unwrap_or(&self.tool).to_string()
    }

    /// What it would do, in words; and the design, where it is one.
    pub fn shown(&self) -> Value {
        let (design, notes) = match self.design() {
            Ok((design, notes)) => (Some(design), notes),
            Err(wrong) => (None, wrong.iter().map(|wrong| wrong.message.clone()).collect()),
        };
        let mut loader = loader(self.files());
        let explanation = match lowered(&self.tool, &self.words, &mut loader) {
            Ok(run) => explained(&run, &loader),
            Err(wrong) => json!({ "wrong": wrong.iter().map(diagnostic).collect::<Vec<_>>() }),
        };
        json!({
            "tool": self.tool, "words": self.words, "name": self.name(), "design": design, "notes": notes,
            "explanation": explanation, "kind": if self.file.is_some() { "file" } else { "line" },
        })
    }

    fn design(&self) -> Result<(design::Design, Vec<String>), Vec<Diagnostic>> {
        if let (true, Some((name, text))) = (self.tool == "iometer", &self.file) {
            return design::of_icf(name, text);
        }
        let run = lowered(&self.tool, &self.words, &mut loader(self.files()))?;
        design::of_plan(&self.name(), &run.plan)
    }

    /// What starts it as it was written.
    ///
    /// # Errors
    /// Everything that is wrong with it, and a device whose name was not typed.
    pub fn start<'a>(&self, studio: &'a Studio, typed: &str) -> Result<Start<'a>, Vec<Diagnostic>> {
        let run = lowered(&self.tool, &self.words, &mut loader(self.files()))?;
        let destroy = given_up(&written_devices(&run.plan), typed)?;
        let stem = design::Design { name: self.name(), ..design::Design::default() }.file_stem();
        let mut words = self.words.clone();
        if let Some((name, text)) = &self.file {
            let extension = name.rsplit_once('.').map_or("txt", |(_, extension)| extension);
            let path = folder::keep(&studio.folder, &stem, extension, text.as_bytes())
                .map_err(|wrong| vec![wrong])?;
            let path = path.to_string_lossy().into_owned();
            words.iter_mut().filter(|word| *word == name).for_each(|word| word.clone_from(&path));
        }
        let command =
            command_line::of_tool(&self.tool, &words, destroy.as_deref()).map_err(|wrong| vec![wrong])?;
        Ok(Start { name: self.name(), stem, update_s: 1, command, folder: &studio.folder })
    }
}

/// The tool that reads a file: by its name, else by what is in it.
fn tool_of(name: &str, text: &str) -> Option<&'static str> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let lines = || text.lines().map(str::trim);
    match extension.as_str() {
        "icf" => Some("iometer"),
        "fio" | "job" => Some("fio"),
        "f" => Some("filebench"),
        "toml" => Some("run"),
        "ior" => Some("ior"),
        _ if text.trim_start_matches('\u{feff}').starts_with("Version ") => Some("iometer"),
        _ if lines().any(|line| line.eq_ignore_ascii_case("IOR START")) => Some("ior"),
        _ if lines().any(|line| line.starts_with("define ")) => Some("filebench"),
        _ if lines().any(|line| line.starts_with("[[phase")) => Some("run"),
        _ if lines().any(|line| line.starts_with('[') && line.ends_with(']')) => Some("fio"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_lines_find_their_tools() {
        let file = |name: &str, text: &str| {
            LoadImport::of(&json!({ "name": name, "text": text })).map(|found| found.tool).ok()
        };
        for (name, text, tool) in [
            ("../a.icf", "", "iometer"),
            ("x.txt", "Version 1.1.0\n", "iometer"),
            ("x.txt", "[global]\nrw=read\n", "fio"),
            ("x.txt", "IOR START\n", "ior"),
            ("x", "define fileset name=a\n", "filebench"),
            ("p.toml", "", "run"),
        ] {
            assert_eq!(file(name, text).as_deref(), Some(tool), "{name}");
        }
        assert_eq!(file("x.doc", "hello"), None);
        let line = LoadImport::of(&json!({ "line": "$ sudo /usr/bin/fio --name=a" })).unwrap();
        assert_eq!((line.tool.as_str(), line.words.len()), ("fio", 1));
        assert!(LoadImport::of(&json!({ "line": "" })).is_err() && LoadImport::of(&json!({})).is_err());
    }

    #[test]
    fn what_is_no_table_is_still_explained() {
        let job = "[a]\nrw=randread\nbs=4k\nsize=1m\nfilename=/tmp/x\nruntime=5\ntime_based\n";
        let shown = LoadImport::of(&json!({ "name": "a.fio", "text": job })).unwrap().shown();
        assert_eq!(shown["design"]["specifications"][0]["lines"][0]["bytes"], json!(4096));
        assert!(
            shown["explanation"]["sections"].as_array().is_some_and(|sections| sections.len() > 2),
            "{shown}"
        );
        let pool = "define fileset name=a,path=/tmp,entries=10,size=1k,dirwidth=20,prealloc\n\
                    define process name=p,instances=1 {\n thread name=t,instances=1 {\n \
                    flowop statfile name=s,filesetname=a\n }\n}\nrun 1\n";
        let shown = LoadImport::of(&json!({ "name": "a.f", "text": pool })).unwrap().shown();
        assert_eq!(shown["design"], Value::Null);
        assert!(shown["explanation"]["sections"].is_array(), "{shown}");
    }
}
