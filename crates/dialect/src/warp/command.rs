//! warp's command line: a command, then options as Go programs have them: `--name VALUE`, `--name=VALUE`, `-name`.

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;
use super::settings::{self, Settings};
use crate::option::{Arguments, GivenOption, Syntax, Token, nearest};

/// What is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarpCommand {
    #[default]
    Get,
    Put,
    Mixed,
    List,
    Stat,
    Delete,
    MultipartPut,
    Multipart,
    Retention,
    /// A file of results is told again.
    Analyze,
    /// Two of them are held against each other.
    Compare,
    /// Several of them become one.
    Merge,
}

use WarpCommand as C;

/// Those that ask a store.
pub const BENCHMARKS: [C; 9] =
    [C::Get, C::Put, C::Mixed, C::List, C::Stat, C::Delete, C::MultipartPut, C::Multipart, C::Retention];

/// Those that read files of results.
pub const ON_RESULTS: [C; 3] = [C::Analyze, C::Compare, C::Merge];

/// Why commands on catalogs are not served, and what to do.
const CATALOGS: (&str, &str) =
    ("catalogs of tables are no object store", "warp get and warp put measure what lies below them");

/// Commands of warp that are not served: their names, why, and what to do.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "versioned",
        "mixed operations keep account of objects, and not of their versions",
        "warp mixed does the same without versions, and warp get, stat, list and delete have --versions",
    ),
    ("zip", "MinIO alone serves files inside of archives", "warp get reads objects"),
    ("snowball", "MinIO alone takes archives as objects", "warp put writes objects"),
    ("fanout", "MinIO alone writes one object to many names", "warp put writes objects"),
    ("append", "S3 Express alone appends", "warp put writes objects"),
    ("select", "the engine asks for no S3 Select", "warp get reads objects"),
    ("iceberg", CATALOGS.0, CATALOGS.1),
    ("tables", CATALOGS.0, CATALOGS.1),
    (
        "client",
        "warp's clients speak to warp alone",
        "iodyno warp … --syncstart=HH:MM on each machine: runs do not touch each other",
    ),
    ("run", "runs of a file are not read", "give the options on the command line"),
    ("replay", "requests are not sent again", "iodyno replay sends recorded I/O again"),
    ("update", "iodyno comes as it was installed", "install a newer one"),
];

impl C {
    pub fn name(self) -> &'static str {
        match self {
            C::Get => "get",
            C::Put => "put",
            C::Mixed => "mixed",
            C::List => "list",
            C::Stat => "stat",
            C::Delete => "delete",
            C::MultipartPut => "multipart-put",
            C::Multipart => "multipart",
            C::Retention => "retention",
            C::Analyze => "analyze",
            C::Compare => "cmp",
            C::Merge => "merge",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            C::Get => "read objects at random",
            C::Put => "write objects",
            C::Mixed => "read, look at, write and remove objects",
            C::List => "list prefixes",
            C::Stat => "look at objects at random",
            C::Delete => "remove objects, many by one request",
            C::MultipartPut => "write objects in parts",
            C::Multipart => "write one object in parts, and read its parts at random",
            C::Retention => "retain objects at random",
            C::Analyze => "tell a file of results again",
            C::Compare => "hold two files of results against each other",
            C::Merge => "make one file of requests of several",
        }
    }

    /// What follows the command.
    pub fn usage(self) -> &'static str {
        match self {
            C::Analyze => "[FLAGS] FILE",
            C::Compare => "[FLAGS] BEFORE AFTER",
            C::Merge => "[FLAGS] FILE FILE…",
            _ => "[FLAGS]",
        }
    }

    fn named(name: &str) -> Option<C> {
        let all = BENCHMARKS.into_iter().chain(ON_RESULTS);
        all.into_iter().find(|command| command.name() == name)
    }

    /// Files that it takes, at least and at most.
    fn operands(self) -> (usize, usize) {
        match self {
            C::Analyze => (1, 1),
            C::Compare => (2, 2),
            C::Merge => (2, usize::MAX),
            _ => (0, 0),
        }
    }
}

/// A command line in its parts.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// None: the commands are asked for.
    pub command: Option<C>,
    pub settings: Settings,
    pub files: Vec<String>,
}

/// Parses a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<CommandLine, Vec<Diagnostic>> {
    let asks = |word: &str| matches!(word, "help" | "h" | "--help" | "-h" | "--version" | "-v" | "version");
    let (command, rest) = match arguments.split_first() {
        None => (None, arguments),
        Some((word, _)) if asks(word) => (None, arguments),
        Some((word, rest)) => (Some(command(word).map_err(|wrong| vec![wrong])?), rest),
    };
    let mut line = CommandLine { command, settings: settings::none(), files: Vec::new() };
    let Some(command) = command else {
        let version = arguments.first().is_some_and(|word| word.ends_with("version") || word == "-v");
        let entry = TABLE.find(if version { "version" } else { "help" });
        entry.into_iter().for_each(|entry| drop(line.settings.raise(entry, &Origin::Default)));
        return Ok(line);
    };
    let syntax = Syntax { is_long_only: true, switches_take: true, ..Syntax::GETOPT };
    let mut wrong = Vec::new();
    let unknown = |name: &str, origin: &Origin| {
        TABLE.check(name, origin).err().unwrap_or_else(|| Diagnostic::error(origin, format!("`{name}`")))
    };
    for token in Arguments::new(&TABLE, syntax, rest) {
        let set = token.map_err(|misfit| misfit.or_unknown(unknown)).and_then(|token| match token {
            Token::Option(GivenOption { entry, value: None, argument, .. }) => {
                line.settings.raise(entry, &Origin::argument(argument))
            }
            Token::Option(given) => {
                line.settings.set(given.entry, given.value.unwrap_or_default(), &given.origin())
            }
            Token::Separator => Ok(()),
            Token::Operand(word) => {
                line.files.push(word.into());
                Ok(())
            }
        });
        wrong.extend(set.err());
    }
    if !line.settings.flag("help") {
        wrong.extend(wrong_operands(command, &line.files));
    }
    if wrong.is_empty() { Ok(line) } else { Err(wrong) }
}

fn wrong_operands(command: C, files: &[String]) -> Option<Diagnostic> {
    let (least, most) = command.operands();
    if (least..=most).contains(&files.len()) {
        return None;
    }
    let message = match (least, most) {
        (0, _) => format!("warp {} takes no arguments besides options", command.name()),
        (1, _) => "one file of results is needed".into(),
        (_, 2) => "two files of results are needed".into(),
        _ => "two files of requests or more are needed".to_string(),
    };
    let origin = Origin::argument(files.last().map_or(command.name(), String::as_str));
    Some(Diagnostic::error(&origin, message).hint(format!("warp {} {}", command.name(), command.usage())))
}

fn command(word: &str) -> Result<C, Diagnostic> {
    let origin = Origin::argument(word);
    if let Some((name, why, hint)) = REFUSED.iter().find(|(name, ..)| *name == word) {
        return Err(Diagnostic::error(&origin, format!("warp {name} is not supported: {why}")).hint(*hint));
    }
    C::named(word).ok_or_else(|| {
        let names = BENCHMARKS.into_iter().chain(ON_RESULTS).map(C::name);
        let near = nearest(word, names.clone());
        let list = || names.collect::<Vec<_>>().join(", ");
        let hint =
            near.map_or_else(|| format!("one of: {}", list()), |near| format!("did you mean `{near}`?"));
        Diagnostic::error(&origin, format!("warp has no command `{word}`")).hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<CommandLine, String> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        parse(&words).map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn options_have_one_dash_or_two_and_a_value_apart_or_attached() {
        for line in ["put --concurrent 4 --tls -q", "put -concurrent=4 -tls=true --quiet"] {
            let line = said(line).unwrap();
            assert_eq!((line.command, line.settings.count("concurrent")), (Some(C::Put), 4));
            assert!(line.settings.flag("tls") && line.settings.flag("quiet"));
        }
        let line = said("cmp -analyze.v a b --analyze.skip 2s").unwrap();
        assert_eq!((line.files.len(), line.settings.text("analyze.skip")), (2, Some("2s")));
        assert!(!said("get --tls=false").unwrap().settings.flag("tls"));
        assert!(said("get -h").unwrap().settings.flag("help"));
        assert_eq!(said("").unwrap().command, None);
    }

    #[test]
    fn what_cannot_be_is_told_with_a_way_out() {
        for (line, words) in [
            ("gte", "did you mean `get`"),
            ("versioned", "warp mixed does the same"),
            ("get file", "takes no arguments"),
            ("analyze", "one file of results"),
            ("get --objcts 3", "did you mean `objects`"),
            ("get --concurrent x", "expected a whole number"),
            ("get --concurrent", "no value follows"),
            ("get --md5", "--checksum=CRC32C"),
            ("merge a", "two files of requests or more"),
            ("put --post", "leave it out"),
            ("put --checksum md4", "one of: CRC32C"),
            ("get --warp-client h", "--syncstart"),
        ] {
            let wrong = said(line).unwrap_err();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
        assert!(said("get --versions 1 --host-select weighed").is_ok());
    }
}
