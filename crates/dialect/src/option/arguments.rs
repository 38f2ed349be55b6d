//! Reads a command line by an option table: long names, letters in groups, values attached or apart.
//!
//! What differs between tools is data, [`Syntax`]. It words no message: each tool says in its own words what is wrong.

use iodyno_model::{Diagnostic, Origin};

use super::{Entry, Table};

/// How a tool's command line is split into options, values and operands.
#[derive(Clone, Copy, Debug)]
pub struct Syntax {
    /// The unique beginning of a long name stands for it, as `getopt_long` has it.
    pub is_abbreviated: bool,
    /// A word behind one dash is a long name, as `getopt_long_only` has it.
    pub is_long_only: bool,
    /// `-x=VALUE` is `-x VALUE`.
    pub letters_assign: bool,
    /// `--x=VALUE` is taken of an option without a value, too.
    pub switches_take: bool,
    /// What begins with `-+` is one name.
    pub plus_names: bool,
    /// The first operand ends the options, as POSIX has it.
    pub stops_at_operand: bool,
    /// The option of a long name; none: there are letters only.
    pub long: Option<fn(&Table, &str) -> Option<&'static Entry>>,
    pub letter: fn(&Table, &str) -> Option<&'static Entry>,
    /// Where an option's value is looked for.
    pub place: fn(&Entry) -> ValuePlace,
}

/// Where an option's value is looked for.
#[derive(Clone, Copy, Debug)]
pub enum ValuePlace {
    /// It has none.
    Nowhere,
    /// Attached, or the next argument.
    Anywhere,
    /// Attached to a long name by `=` only.
    Assigned,
    /// The next argument, if it looks like one.
    Next(fn(&str) -> bool),
    /// Attached, or the next argument if it looks like one.
    AttachedOrNext(fn(&str) -> bool),
}

impl Syntax {
    /// That of `getopt_long`, without abbreviations.
    pub const GETOPT: Syntax = Syntax {
        is_abbreviated: false,
        is_long_only: false,
        letters_assign: false,
        switches_take: false,
        plus_names: false,
        stops_at_operand: false,
        long: Some(Table::find),
        letter: Table::find,
        place: ValuePlace::of,
    };

    /// That of IOR and mdtest: flags are counters that may be given a number.
    pub const COUNTED: Syntax = Syntax {
        letters_assign: true,
        switches_take: true,
        place: |entry| if entry.is_flag() { ValuePlace::Nowhere } else { ValuePlace::Anywhere },
        ..Syntax::GETOPT
    };
}

impl ValuePlace {
    /// As the table has it: no value, one in brackets that may be left out, or one that must be there.
    pub fn of(entry: &Entry) -> ValuePlace {
        match entry.value {
            "" => ValuePlace::Nowhere,
            value if value.starts_with('[') => ValuePlace::Assigned,
            _ => ValuePlace::Anywhere,
        }
    }
}

/// A piece of a command line.
#[derive(Clone, Debug)]
pub enum Token<'a> {
    Option(GivenOption<'a>),
    /// What is no option.
    Operand(&'a str),
    /// `--` alone.
    Separator,
}

/// An option as it was given.
#[derive(Clone, Copy, Debug)]
pub struct GivenOption<'a> {
    pub entry: &'static Entry,
    /// The argument it stands in.
    pub argument: &'a str,
    pub value: Option<&'a str>,
    /// Whether its value is an argument of its own.
    pub is_apart: bool,
}

/// An argument that fits no option.
#[derive(Clone, Debug)]
pub enum Misfit<'a> {
    /// No option has this long name or letter.
    Unknown {
        /// The whole argument.
        argument: &'a str,
        /// The name without dashes.
        name: &'a str,
        /// Whether it is a long name.
        is_long: bool,
    },
    /// Several long names begin so.
    Ambiguous {
        /// The beginning.
        name: &'a str,
        /// What it may mean.
        found: Vec<&'static Entry>,
    },
    /// The command line ends before the option's value.
    Unfinished {
        /// The whole argument.
        argument: &'a str,
        /// The option as it was typed, without dashes.
        name: &'a str,
        /// The option.
        entry: &'static Entry,
    },
    /// A value is attached to the long name of an option that has none.
    Superfluous {
        /// The name without dashes.
        name: &'a str,
        /// The option.
        entry: &'static Entry,
    },
}

impl GivenOption<'_> {
    /// Where it was given, with its value.
    pub fn origin(&self) -> Origin {
        match self.value.filter(|_| self.is_apart) {
            Some(value) => Origin::argument(&format!("{} {value}", self.argument)),
            None => Origin::argument(self.argument),
        }
    }
}

impl Misfit<'_> {
    /// The message of tools without abbreviations, where an option that is known lacks its value. `list`: the hint for what is not
    /// even nearly an option.
    pub fn diagnostic(&self, table: &Table, list: &str) -> Diagnostic {
        let name = self.name();
        let dashes = if matches!(self, Misfit::Unknown { is_long: true, .. }) { "--" } else { "-" };
        let typed = format!("{dashes}{name}");
        let origin = Origin::argument(&typed);
        match table.check(name, &origin) {
            Ok(entry) => Diagnostic::error(&origin, format!("`{typed}` needs a value"))
                .hint(format!("{typed} {}", entry.value)),
            Err(wrong) if wrong.hint.is_none() => wrong.hint(list),
            Err(wrong) => wrong,
        }
    }

    /// The name as it was typed, without dashes.
    pub fn name(&self) -> &str {
        let (Misfit::Unknown { name, .. }
        | Misfit::Ambiguous { name, .. }
        | Misfit::Unfinished { name, .. }
        | Misfit::Superfluous { name, .. }) = self;
        name
    }

    /// That no value follows, or what `unknown` makes of a name that no option has: `-x`, `name`.
    pub fn or_unknown(&self, unknown: impl Fn(&str, &Origin) -> Diagnostic) -> Diagnostic {
        match self {
            Misfit::Unfinished { argument, entry, .. } => {
                let origin = Origin::argument(argument);
                Diagnostic::error(&origin, format!("{}: no value follows", entry.name)).hint(entry.help)
            }
            Misfit::Unknown { argument, name, is_long: false } => {
                unknown(&format!("-{name}"), &Origin::argument(argument))
            }
            Misfit::Unknown { argument, name, .. } => unknown(name, &Origin::argument(argument)),
            Misfit::Ambiguous { name, .. } | Misfit::Superfluous { name, .. } => {
                unknown(name, &Origin::argument(name))
            }
        }
    }

    /// What glibc's `getopt_long` prints of it, behind the program's name.
    pub fn getopt(&self, table: &Table) -> String {
        let is_long = |argument: &str| argument.starts_with("--");
        match self {
            Misfit::Unknown { name, is_long: true, .. } => {
                let near = table.suggest(name).map(|near| format!(" (did you mean '--{near}'?)"));
                format!("unrecognized option '--{name}'{}", near.unwrap_or_default())
            }
            Misfit::Unknown { name, .. } => format!("invalid option -- '{name}'"),
            Misfit::Ambiguous { name, found } => {
                let names: Vec<String> = found.iter().map(|entry| format!("'--{}'", entry.name)).collect();
                format!("option '--{name}' is ambiguous; possibilities: {}", names.join(" "))
            }
            Misfit::Unfinished { argument, name, .. } if is_long(argument) => {
                format!("option '--{name}' requires an argument")
            }
            Misfit::Unfinished { name, .. } => format!("option requires an argument -- '{name}'"),
            Misfit::Superfluous { name, .. } => format!("option '--{name}' doesn't allow an argument"),
        }
    }
}

/// The pieces of a command line, in its order.
#[derive(Debug)]
pub struct Arguments<'a> {
    table: &'a Table,
    syntax: Syntax,
    rest: &'a [String],
    /// The argument whose letters are being read, and those that are left.
    letters: (&'a str, &'a str),
}

impl<'a> Arguments<'a> {
    /// Of these arguments.
    pub fn new(table: &'a Table, syntax: Syntax, arguments: &'a [String]) -> Self {
        Arguments { table, syntax, rest: arguments, letters: ("", "") }
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [String] {
        self.rest
    }

    /// Takes the next argument as it is.
    pub fn shift(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn long(&mut self, argument: &'a str) -> Result<Token<'a>, Misfit<'a>> {
        let word = argument.strip_prefix("--").unwrap_or(&argument[1..]);
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let entry = self.named(argument, name)?;
        if attached.is_some() && is_valueless(self.syntax, entry) && !self.syntax.switches_take {
            return Err(Misfit::Superfluous { name, entry });
        }
        self.given(entry, argument, name, attached)
    }

    fn named(&self, argument: &'a str, name: &'a str) -> Result<&'static Entry, Misfit<'a>> {
        let unknown = Misfit::Unknown { argument, name, is_long: true };
        let is_word = |known: &str| known.chars().count() > 1;
        let exact = self.syntax.long.and_then(|find| find(self.table, name));
        if !self.syntax.is_abbreviated {
            return exact.ok_or(unknown);
        }
        if let Some(entry) = exact.filter(|_| is_word(name)) {
            return Ok(entry);
        }
        let begins = |entry: &&Entry| {
            entry.name.starts_with(name)
                || entry.aliases.iter().any(|alias| is_word(alias) && alias.starts_with(name))
        };
        let found: Vec<&'static Entry> = self.table.entries.iter().filter(begins).collect();
        match found.as_slice() {
            [entry] => Ok(entry),
            [] => Err(unknown),
            _ => Err(Misfit::Ambiguous { name, found }),
        }
    }

    fn letter(&mut self) -> Result<Token<'a>, Misfit<'a>> {
        let (argument, letters) = self.letters;
        let first = letters.chars().next().map_or(0, char::len_utf8);
        let is_plus = self.syntax.plus_names && argument.starts_with("-+");
        let (name, behind) = letters.split_at(if is_plus { letters.len() } else { first });
        self.letters.1 = "";
        let entry = (self.syntax.letter)(self.table, name).ok_or(Misfit::Unknown {
            argument,
            name,
            is_long: false,
        })?;
        if let Some(value) = behind.strip_prefix('=').filter(|_| self.syntax.letters_assign) {
            return self.given(entry, argument, name, Some(value));
        }
        match (self.syntax.place)(entry) {
            ValuePlace::Anywhere | ValuePlace::AttachedOrNext(_) => {
                self.given(entry, argument, name, Some(behind).filter(|behind| !behind.is_empty()))
            }
            ValuePlace::Nowhere | ValuePlace::Assigned | ValuePlace::Next(_) => {
                self.letters.1 = behind;
                self.given(entry, argument, name, None)
            }
        }
    }

    fn given(
        &mut self,
        entry: &'static Entry,
        argument: &'a str,
        name: &'a str,
        attached: Option<&'a str>,
    ) -> Result<Token<'a>, Misfit<'a>> {
        let apart = match (self.syntax.place)(entry) {
            _ if attached.is_some() => None,
            ValuePlace::Nowhere | ValuePlace::Assigned => None,
            ValuePlace::Anywhere => Some(self.shift().ok_or(Misfit::Unfinished { argument, name, entry })?),
            ValuePlace::Next(fits) | ValuePlace::AttachedOrNext(fits) => {
                if self.rest.first().is_some_and(|word| fits(word)) { self.shift() } else { None }
            }
        };
        Ok(Token::Option(GivenOption {
            entry,
            argument,
            value: attached.or(apart),
            is_apart: apart.is_some(),
        }))
    }
}

impl<'a> Iterator for Arguments<'a> {
    type Item = Result<Token<'a>, Misfit<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.letters.1.is_empty() {
            return Some(self.letter());
        }
        let argument = self.rest.first()?.as_str();
        let is_option = argument.starts_with('-') && argument.len() > 1;
        if !is_option && self.syntax.stops_at_operand {
            return None;
        }
        self.shift();
        let is_letter =
            || argument.chars().count() == 2 && (self.syntax.letter)(self.table, &argument[1..]).is_some();
        let is_long = is_option && (argument.starts_with("--") || self.syntax.is_long_only && !is_letter());
        Some(match argument {
            "--" => Ok(Token::Separator),
            _ if !is_option => Ok(Token::Operand(argument)),
            _ if is_long && self.syntax.long.is_some() => self.long(argument),
            _ => {
                self.letters = (argument, &argument[1..]);
                self.letter()
            }
        })
    }
}

fn is_valueless(syntax: Syntax, entry: &Entry) -> bool {
    matches!((syntax.place)(entry), ValuePlace::Nowhere)
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Spelling, switch};
    use super::*;

    const TABLE: Table = Table {
        tool: "demo",
        spelling: Spelling::Dashed,
        entries: &[
            switch("udp", "x").also(&["u"]),
            Entry::new("block", Kind::Bytes, "N", "x").also(&["b"]),
            Entry::new("blink", Kind::Text, "[WHEN]", "x").also(&["d"]),
        ],
    };

    fn pieces(syntax: Syntax, line: &str) -> Vec<String> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        let mut arguments = Arguments::new(&TABLE, syntax, &words);
        let mut pieces: Vec<String> = Vec::new();
        for piece in arguments.by_ref() {
            pieces.push(match piece {
                Ok(Token::Option(given)) => format!("{}={}", given.entry.name, given.value.unwrap_or("-")),
                Ok(Token::Operand(word)) => word.to_string(),
                Ok(Token::Separator) => "--".to_string(),
                Err(misfit) => misfit.getopt(&TABLE),
            });
        }
        pieces.extend(arguments.rest().iter().map(|word| format!("left {word}")));
        pieces
    }

    #[test]
    fn values_are_attached_or_apart_and_letters_bundle() {
        let all = ["udp=-", "block=4k"];
        for line in ["-u -b 4k", "-ub4k", "-ub 4k", "--udp --block=4k", "-u --block 4k"] {
            assert_eq!(pieces(Syntax::GETOPT, line), all, "{line}");
        }
        let assigns = Syntax { letters_assign: true, ..Syntax::GETOPT };
        assert_eq!(pieces(assigns, "-ub=4k"), all);
        assert_eq!(pieces(Syntax::GETOPT, "-b=4k"), ["block==4k"]);
        assert_eq!(
            pieces(Syntax::GETOPT, "--blink -du --blink=now"),
            ["blink=-", "blink=-", "udp=-", "blink=now"]
        );
    }

    #[test]
    fn operands_stand_anywhere_or_end_the_options() {
        assert_eq!(pieces(Syntax::GETOPT, "a -u -- -"), ["a", "udp=-", "--", "-"]);
        let posix = Syntax { stops_at_operand: true, ..Syntax::GETOPT };
        assert_eq!(pieces(posix, "-u a -u"), ["udp=-", "left a", "left -u"]);
        let letters = Syntax { long: None, ..Syntax::GETOPT };
        assert_eq!(pieces(letters, "-u --udp"), ["udp=-", "invalid option -- '-'"]);
        let plus = Syntax { plus_names: true, ..letters };
        assert_eq!(pieces(plus, "-+ub -u"), ["invalid option -- '+ub'", "udp=-"]);
    }

    #[test]
    fn one_dash_may_begin_a_long_name() {
        let long_only = Syntax { is_long_only: true, is_abbreviated: true, ..Syntax::GETOPT };
        assert_eq!(
            pieces(long_only, "-udp -block=4k -bloc 4k -u"),
            ["udp=-", "block=4k", "block=4k", "udp=-"]
        );
        assert_eq!(pieces(long_only, "-b 4k -d"), ["block=4k", "blink=-"]);
        assert_eq!(
            pieces(long_only, "-x é -é"),
            ["unrecognized option '--x'", "é", "unrecognized option '--é'"]
        );
    }

    #[test]
    fn misfits_are_worded_as_getopt_words_them() {
        let short = Syntax { is_abbreviated: true, ..Syntax::GETOPT };
        assert_eq!(pieces(short, "--ud --blo=1"), ["udp=-", "block=1"]);
        assert_eq!(pieces(short, "--bl"), ["option '--bl' is ambiguous; possibilities: '--block' '--blink'"]);
        assert_eq!(pieces(short, "--udp=1"), ["option '--udp' doesn't allow an argument"]);
        assert_eq!(
            pieces(Syntax::GETOPT, "--blok"),
            ["unrecognized option '--blok' (did you mean '--block'?)"]
        );
        assert_eq!(
            pieces(Syntax::GETOPT, "-uéu -b"),
            ["udp=-", "invalid option -- 'é'", "option requires an argument -- 'b'"]
        );
        assert_eq!(pieces(Syntax::GETOPT, "--block"), ["option '--block' requires an argument"]);
    }
}
