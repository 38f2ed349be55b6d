//! The option table: every option of a real tool exactly once, with what we do about it.
//!
//! Help, documentation, completion, near-miss suggestions and the honest error for what is not supported all come from
//! the same entries, so they cannot disagree; so does parsing: [`Arguments`] splits a command line by a table, and a
//! [`Setter`] says what an option sets. What a value means is its dialect's business.

mod arguments;
mod given;
mod setter;

use std::fmt::Write as _;

use iodyno_model::{Diagnostic, Origin};

pub use arguments::{Arguments, GivenOption, Misfit, Syntax, Token, ValuePlace};
pub(crate) use given::refuse;
pub use given::{GivenOptions, ValueRules};
pub use setter::{
    OptionGroup, OptionRow, OutOfBounds, Set, Setter, SetterGroup, count, entries, grouped, setter,
};

/// All options of one tool.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The tool's name.
    pub tool: &'static str,
    /// How an option is written before its value, for help and documents: `--name=`, `name=`.
    pub spelling: Spelling,
    /// The options, in the order help shows them.
    pub entries: &'static [Entry],
}

/// How a tool writes an option down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `name=value` (dd operands, lines of a job file).
    Assigned,
    /// `-x value` for one letter, `--name=value` for a word.
    Dashed,
    /// `-name value`, whatever its length (mpirun's children, netperf).
    SingleDash,
    /// `name value`, as commands are typed (postmark).
    Spoken,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name without dashes.
    pub name: &'static str,
    /// Other names of the same option.
    pub aliases: &'static [&'static str],
    /// What shape its value has.
    pub kind: Kind,
    /// The word that stands for its value in help (`BYTES`, `FILE`); empty: none.
    pub value: &'static str,
    /// The group it is shown under; empty: the first, unnamed one.
    pub category: &'static str,
    /// What it does, one line.
    pub help: &'static str,
    /// Its value when it is not given, as the tool writes it; empty: none.
    pub default: &'static str,
    /// What we do about it.
    pub status: Status,
}

/// What shape a value has. The dialect parses it; this says what help and completion may promise.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// No value: it is there or not.
    Switch,
    /// Yes or no; often without a value.
    Flag,
    /// A whole number within both bounds.
    Whole(i64, i64),
    /// A number with a fraction.
    Decimal,
    /// A number of bytes, with the tool's suffixes.
    Bytes,
    /// A time, with the tool's suffixes.
    Time,
    /// Free text.
    Text,
    Path,
    /// Several values of a shape the help describes.
    List,
    /// Two ends of a range.
    Range,
    /// One of these words.
    Word(&'static [Word]),
    /// Any of these words, with commas.
    Words(&'static [Word]),
}

/// A word that is a value.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// What it means, one line.
    pub help: &'static str,
    /// What we do about it.
    pub status: Status,
}

/// What we do about an option or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what the original's does.
    Done,
    /// It is accepted and changes nothing, for this reason.
    Ignored(&'static str),
    /// It is an error: the reason, and what to do instead.
    Refused(&'static str, &'static str),
}

/// A supported option without a value.
pub const fn switch(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Switch, "", help)
}

impl Entry {
    /// A supported option.
    pub const fn new(name: &'static str, kind: Kind, value: &'static str, help: &'static str) -> Self {
        Entry { name, aliases: &[], kind, value, category: "", help, default: "", status: Status::Done }
    }

    /// With other names.
    pub const fn also(self, aliases: &'static [&'static str]) -> Self {
        Entry { aliases, ..self }
    }

    /// In a group.
    pub const fn under(self, category: &'static str) -> Self {
        Entry { category, ..self }
    }

    /// With a default value.
    pub const fn or(self, default: &'static str) -> Self {
        Entry { default, ..self }
    }

    /// Accepted without effect.
    pub const fn ignored(self, why: &'static str) -> Self {
        Entry { status: Status::Ignored(why), ..self }
    }

    /// An error.
    pub const fn refused(self, why: &'static str, hint: &'static str) -> Self {
        Entry { status: Status::Refused(why, hint), ..self }
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.name].into_iter().chain(self.aliases.iter().copied())
    }

    /// Whether this is its name, or another of its names.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// The words its value may be; none: it is not a choice of words.
    pub const fn words(&self) -> &'static [Word] {
        match self.kind {
            Kind::Word(words) | Kind::Words(words) => words,
            _ => &[],
        }
    }

    pub fn word(&self, name: &str) -> Option<&'static Word> {
        self.words().iter().find(|word| word.name == name)
    }
}

impl Word {
    /// A supported word.
    pub const fn new(name: &'static str, help: &'static str) -> Self {
        Word { name, help, status: Status::Done }
    }

    /// Accepted without effect.
    pub const fn ignored(self, why: &'static str) -> Self {
        Word { status: Status::Ignored(why), ..self }
    }

    /// An error.
    pub const fn refused(self, why: &'static str, hint: &'static str) -> Self {
        Word { status: Status::Refused(why, hint), ..self }
    }
}

impl Table {
    /// The option of that name or alias.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.entries.iter().find(|entry| entry.answers_to(name))
    }

    /// The option the user may have meant.
    pub fn suggest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.entries.iter().flat_map(Entry::names))
    }

    /// The option of that name, if we do anything about it but refuse.
    ///
    /// # Errors
    /// That there is no such option (with what may have been meant), or why it is refused.
    pub fn check(&self, name: &str, origin: &Origin) -> Result<&'static Entry, Diagnostic> {
        let Some(entry) = self.find(name) else {
            let unknown = Diagnostic::error(origin, format!("{} has no option `{name}`", self.tool));
            return Err(match self.suggest(name) {
                Some(near) => unknown.hint(format!("did you mean `{near}`?")),
                None => unknown,
            });
        };
        match entry.status {
            Status::Refused(why, hint) => {
                Err(Diagnostic::error(origin, format!("`{name}` is not supported: {why}")).hint(hint))
            }
            _ => Ok(entry),
        }
    }

    /// One word of an option's value, if we do anything about it but refuse.
    ///
    /// # Errors
    /// That the option knows no such word (with what may have been meant), or why it is refused.
    pub fn check_word(
        &self,
        entry: &Entry,
        name: &str,
        origin: &Origin,
    ) -> Result<&'static Word, Diagnostic> {
        let Some(word) = entry.word(name) else {
            let near = nearest(name, entry.words().iter().map(|word| word.name));
            let list = || entry.words().iter().map(|word| word.name).collect::<Vec<_>>().join(", ");
            let hint =
                near.map_or_else(|| format!("one of: {}", list()), |near| format!("did you mean `{near}`?"));
            return Err(Diagnostic::error(origin, format!("`{}` knows no `{name}`", entry.name)).hint(hint));
        };
        match word.status {
            Status::Refused(why, hint) => {
                let message = format!("`{}={name}` is not supported: {why}", entry.name);
                Err(Diagnostic::error(origin, message).hint(hint))
            }
            _ => Ok(word),
        }
    }

    /// The options as help text: categories, names, one line each, what is refused marked so.
    pub fn help(&self) -> String {
        let width =
            self.entries.iter().map(|entry| self.written(entry).chars().count()).max().unwrap_or(0).min(28);
        let mut text = String::new();
        for category in self.categories() {
            if !category.is_empty() {
                let _ = writeln!(text, "\n{category}:");
            }
            for entry in self.entries.iter().filter(|entry| entry.category == category) {
                let left = self.written(entry);
                let _ = writeln!(text, "  {left:width$}  {}{}", entry.help, entry.status.remark());
                for word in entry.words() {
                    let _ = writeln!(
                        text,
                        "  {:width$}    {:<12} {}{}",
                        "",
                        word.name,
                        word.help,
                        word.status.remark()
                    );
                }
            }
        }
        text
    }

    /// The options as Markdown tables, one for each category, with the reason wherever we differ.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for category in self.categories() {
            let title = if category.is_empty() { "Options" } else { category };
            let _ = writeln!(text, "## {title}\n\n| option | default | meaning | here |\n|---|---|---|---|");
            for entry in self.entries.iter().filter(|entry| entry.category == category) {
                let mut names = format!("`{}`", self.written(entry));
                entry.aliases.iter().for_each(|alias| names += &format!(", `{alias}`"));
                let (help, status) = (cell(entry.help), cell(&entry.status.explained()));
                let _ = writeln!(text, "| {} | {} | {help} | {status} |", cell(&names), cell(entry.default));
                for word in entry.words() {
                    // Of an option that is refused no word is served.
                    let status = match entry.status {
                        Status::Refused(..) if word.status == Status::Done => "**no**".to_string(),
                        _ => cell(&word.status.explained()),
                    };
                    let help = cell(word.help);
                    let _ = writeln!(text, "| `{}` `{}` | | {help} | {status} |", entry.name, word.name);
                }
            }
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }

    /// What may be typed: every spelling of every option that is not refused, and `name=word` for choices.
    pub fn completion_words(&self) -> Vec<String> {
        let offered = |status: Status| !matches!(status, Status::Refused(..));
        let mut words = Vec::new();
        for entry in self.entries.iter().filter(|entry| offered(entry.status)) {
            for name in entry.names() {
                let start = self.spelled(name, !entry.value.is_empty());
                let choices = entry.words().iter().filter(|word| offered(word.status));
                words.extend(choices.map(|word| format!("{start}{}", word.name)));
                words.push(start);
            }
        }
        words
    }

    /// What is wrong with the table itself: names that occur twice, options without help. Tests demand none.
    pub fn defects(&self) -> Vec<String> {
        let mut seen = std::collections::BTreeSet::new();
        let mut defects = Vec::new();
        for entry in self.entries {
            for name in entry.names() {
                if !seen.insert(name) {
                    defects.push(format!("`{name}` occurs twice"));
                }
            }
            if entry.help.is_empty() {
                defects.push(format!("`{}` has no help", entry.name));
            }
        }
        defects
    }

    fn categories(&self) -> Vec<&'static str> {
        let mut categories = Vec::new();
        for entry in self.entries {
            if !categories.contains(&entry.category) {
                categories.push(entry.category);
            }
        }
        categories
    }

    fn written(&self, entry: &Entry) -> String {
        self.spelled(entry.name, !entry.value.is_empty()) + entry.value
    }

    fn spelled(&self, name: &str, valued: bool) -> String {
        match (self.spelling, valued, name.chars().count() == 1) {
            (Spelling::Assigned, true, _) => format!("{name}="),
            (Spelling::Assigned | Spelling::Spoken, false, _) => name.to_string(),
            (Spelling::Spoken, true, _) => format!("{name} "),
            (Spelling::Dashed, true, false) => format!("--{name}="),
            (Spelling::Dashed, false, false) => format!("--{name}"),
            (_, true, _) => format!("-{name} "),
            (_, false, _) => format!("-{name}"),
        }
    }
}

/// The nearest of some names, near enough to be a slip of the finger: one edit, or a third of its letters.
pub fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let most = (name.chars().count() / 3).max(1);
    names
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        // Of a one-letter name everything is one edit away.
        .filter(|(distance, known)| *distance <= most && *distance < known.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

impl Status {
    /// What help adds to an option or a word.
    pub fn remark(self) -> &'static str {
        match self {
            Status::Done => "",
            Status::Ignored(_) => " (accepted, no effect)",
            Status::Refused(..) => " (not supported)",
        }
    }

    fn explained(self) -> String {
        match self {
            Status::Done => "yes".to_string(),
            Status::Ignored(why) => format!("accepted, no effect: {why}"),
            Status::Refused(why, hint) => format!("**no**: {why}; {hint}"),
        }
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table {
        tool: "demo",
        spelling: Spelling::Dashed,
        entries: &[
            Entry::new("iodepth", Kind::Whole(1, i64::MAX), "N", "in flight").or("1").under("Load"),
            Entry::new("blocksize", Kind::Bytes, "BYTES", "size of an I/O").also(&["bs"]).under("Load"),
            Entry::new(
                "rw",
                Kind::Word(&[Word::new("read", "reads"), Word::new("trim", "x").refused("no", "use y")]),
                "WORD",
                "which",
            )
            .under("Load"),
            Entry::new("zonemode", Kind::Text, "WORD", "zones")
                .refused("no zoned devices here", "leave it out"),
            Entry::new("q", Kind::Switch, "", "quiet").ignored("nothing is said anyway"),
        ],
    };

    #[test]
    fn finds_by_name_and_alias_and_suggests_near_misses() {
        assert_eq!(TABLE.find("bs").map(|entry| entry.name), Some("blocksize"));
        assert_eq!(TABLE.suggest("iodetph"), Some("iodepth"));
        assert_eq!(TABLE.suggest("completely"), None);
        assert_eq!(TABLE.suggest("z"), None);
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }

    #[test]
    fn says_why_an_option_or_a_word_is_refused() {
        let origin = Origin::argument("--zonemode=zbd");
        let refused = TABLE.check("zonemode", &origin).unwrap_err().to_string();
        assert_eq!(
            refused,
            "error: --zonemode=zbd: `zonemode` is not supported: no zoned devices here\n hint: leave it out"
        );
        let unknown = TABLE.check("iodeph", &Origin::Default).unwrap_err().to_string();
        assert_eq!(unknown, "error: demo has no option `iodeph`\n hint: did you mean `iodepth`?");
        let rw = TABLE.check("rw", &Origin::Default).unwrap();
        assert_eq!(TABLE.check_word(rw, "raed", &origin).unwrap_err().hint.unwrap(), "did you mean `read`?");
        assert!(
            TABLE.check_word(rw, "trim", &origin).unwrap_err().message.contains("`rw=trim` is not supported")
        );
        assert!(TABLE.check_word(rw, "read", &origin).is_ok());
    }

    #[test]
    fn help_documents_and_completion_come_from_the_same_entries() {
        let (help, markdown) = (TABLE.help(), TABLE.markdown());
        assert!(
            help.contains("\nLoad:\n  --iodepth=N")
                && help.contains("-q")
                && help.contains("(not supported)")
        );
        assert!(markdown.contains("| `--blocksize=BYTES`, `bs` |  | size of an I/O | yes |"));
        assert!(markdown.contains("**no**: no zoned devices here; leave it out"));
        let words = TABLE.completion_words();
        assert!(
            words.contains(&"--rw=read".into())
                && words.contains(&"-q".into())
                && words.contains(&"--bs=".into())
        );
        assert!(!words.iter().any(|word| word.contains("zonemode") || word.contains("trim")));
    }
}
