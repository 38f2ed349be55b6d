//! The words of a run: those that a user would type for the same thing.

use iodyno_dialect::DIALECTS;
use iodyno_model::{Diagnostic, Origin};
use iodyno_studio::design::Design;

/// The tag of runs that were started here.
const TAG: &str = "studio";
/// Where the lines about the run go: they come through a launcher as well.
const PROGRESS: &str = "/dev/stderr";

/// What is run, and how it is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StudioCommand {
    /// The program's arguments.
    pub words: Vec<String>,
    /// Its report's name ends in this.
    pub extension: &'static str,
}

/// A design as it is run: IOMeter's dialect on its file.
pub fn of_design(design: &Design, path: &str, destroy: Option<&str>) -> StudioCommand {
    let mut also = vec![format!("save={TAG}"), format!("progress={PROGRESS}")];
    also.extend(design.rate.map(|rate| format!("rate={rate}")));
    also.extend(destroy.map(|device| format!("destroy={device}")));
    let hosts = design.hosts.trim();
    if !hosts.is_empty() {
        also.push(format!("hosts={hosts}"));
    }
    let words = vec!["iometer".into(), path.into(), format!("--also={}", also.join(","))];
    StudioCommand { words, extension: "csv" }
}

/// A command line of a tool, or a native plan (`run FILE`), as it was typed or imported.
///
/// # Errors
/// A tool that is none, or that does not run a plan.
pub fn of_tool(tool: &str, words: &[String], destroy: Option<&str>) -> Result<StudioCommand, Diagnostic> {
    let all = std::iter::once(tool.to_string()).chain(words.iter().cloned());
    let is_native = ["run", "measure"].contains(&tool);
    let is_drop_in = DIALECTS.iter().any(|dialect| dialect.drop_in && dialect.name == tool);
    match (is_native, is_drop_in) {
        (true, _) => {
            let own = ["--tag", TAG, "--progress", PROGRESS].into_iter().map(String::from);
            let destroy =
                destroy.into_iter().flat_map(|device| ["--destroy".to_string(), device.to_string()]);
            Ok(StudioCommand { words: all.chain(own).chain(destroy).collect(), extension: "txt" })
        }
        (false, true) => {
            let destroy = destroy.map(|device| format!(",destroy={device}")).unwrap_or_default();
            let also = format!("--also=save={TAG},progress={PROGRESS}{destroy}");
            let own = std::iter::once(also);
            Ok(StudioCommand {
                words: all.take(1).chain(own).chain(words.iter().cloned()).collect(),
                extension: "txt",
            })
        }
        (false, false) => Err(Diagnostic::error(&Origin::argument(tool), "no tool that is run here")
            .hint("fio, ior, iozone, filebench, iometer, …: iodyno dialects lists them")),
    }
}

/// The words of a command line as a shell splits them, without what a shell would do besides.
///
/// # Errors
/// A quote that is not closed, and what only a shell can do.
pub fn split(line: &str) -> Result<Vec<String>, Diagnostic> {
    let refuse = |what: &str| {
        Diagnostic::error(&Origin::argument("command"), what).hint("one command, as it is typed")
    };
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut letters = line.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => word.push(letter),
                        None => return Err(refuse("a quote is not closed")),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('"') => break,
                        Some('\\') => word.extend(letters.next()),
                        Some('$' | '`') => return Err(refuse("a shell would put something in here")),
                        Some(letter) => word.push(letter),
                        None => return Err(refuse("a quote is not closed")),
                    }
                }
            }
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(letter) => word.get_or_insert_default().push(letter),
            },
            '|' | '&' | ';' | '<' | '>' | '$' | '`' => return Err(refuse("only a shell can do this")),
            letter if letter.is_whitespace() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_is_run_by_words_that_can_be_typed() {
        let design = Design { hosts: " h1,h2:4 ".into(), rate: Some(250.0), ..Design::default() };
        let words = of_design(&design, "/d/mix.icf", Some("/dev/loop0")).words;
        let also = "--also=save=studio,progress=/dev/stderr,rate=250,destroy=/dev/loop0,hosts=h1,h2:4";
        assert_eq!(words, ["iometer", "/d/mix.icf", also]);
        assert_eq!(
            of_design(&Design::default(), "/d/mix.icf", None).words[2],
            "--also=save=studio,progress=/dev/stderr"
        );
    }

    #[test]
    fn only_what_runs_a_plan_is_run() {
        let run =
            |tool: &str| of_tool(tool, &["x".into()], None).map(|line| line.words.join(" ")).map_err(drop);
        assert_eq!(run("fio"), Ok("fio --also=save=studio,progress=/dev/stderr x".into()));
        assert_eq!(run("run"), Ok("run x --tag studio --progress /dev/stderr".into()));
        for tool in ["sh", "rerun", "runs", "cache", "crash", "/bin/sh", "", "record", "posix"] {
            assert_eq!(run(tool), Err(()), "{tool}");
        }
    }

    #[test]
    fn a_line_is_split_as_a_shell_does() {
        let words = |line: &str| split(line).map_err(drop);
        assert_eq!(
            words("fio --name='a b' \"c\\\"d\" e\\ f  g"),
            Ok(["fio", "--name=a b", "c\"d", "e f", "g"].map(String::from).into())
        );
        for line in ["fio 'x", "fio x; rm y", "fio $(x)", "fio `x`", "fio > x", "fio \"$x\"", "a | b"] {
            assert_eq!(words(line), Err(()), "{line}");
        }
    }
}
