//! From words to commands, both dialects; a mistake costs its command, and what follows is read all the same.
//!
//! Every message has its line and a hint. Refuses to evaluate: variables may be set later than they are named.

use iodyno_model::{Diagnostic, Origin};

use super::lexer::{Token, TokenKind, tokens};
use super::script::{
    Attribute, Attributes, Definition, Directive, Expression, Flowop, Statement, Stats, Thread,
};

/// Words that begin a command; where one is found after a mistake, reading goes on.
const COMMANDS: &str = "\
    define set eventgen create run psrun sleep system echo list debug version quit enable domultisync \
    usage include load foreach warmup stats shutdown log vars help warning unlink";

fn commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.split(' ')
}

fn is_command(word: &str) -> bool {
    commands().any(|known| known == word)
}

/// What a script says, and what is wrong with it.
pub fn parse(path: &str, text: &str) -> (Vec<Statement>, Vec<Diagnostic>) {
    let (found, unended) = tokens(text);
    let mut parser = Parser { path: path.into(), found, at: 0, depth: 0, wrong: Vec::new() };
    if let Some(line) = unended {
        let wrong = Diagnostic::error(&parser.place(line), "a quotation without an end");
        parser.wrong.push(wrong.hint("close it with \" on the same line"));
    }
    let commands = parser.commands(false);
    parser.wrong.sort_by_key(|wrong| match &wrong.origin {
        Origin::File { line, .. } => *line,
        _ => 0,
    });
    (commands, parser.wrong)
}

struct Parser {
    path: std::sync::Arc<str>,
    found: Vec<Token>,
    at: usize,
    /// How many brackets and blocks are open.
    depth: u32,
    wrong: Vec<Diagnostic>,
}

/// More brackets and blocks inside each other than anybody writes.
const DEPTH_MOST: u32 = 64;

/// A mistake was told; whoever stands above finds a place to go on.
struct ErrorReported;

type Read<T> = Result<T, ErrorReported>;

impl Parser {
    fn place(&self, line: u32) -> Origin {
        Origin::File { path: self.path.clone(), line }
    }

    /// Where the next word stands, or the last one.
    fn here(&self) -> Origin {
        let token = self.found.get(self.at).or_else(|| self.found.last());
        self.place(token.map_or(1, |token| token.line))
    }

    fn peek(&self) -> Option<&TokenKind> {
        self.found.get(self.at).map(|token| &token.kind)
    }

    fn is_sign(&self, sign: char) -> bool {
        self.peek() == Some(&TokenKind::Sign(sign))
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let taken = self.is_sign(sign);
        self.at += usize::from(taken);
        taken
    }

    fn peek_word(&self) -> Option<&str> {
        match self.peek() {
            Some(TokenKind::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// The next word in small letters: keywords are the same in capitals.
    fn keyword(&self) -> Option<String> {
        self.peek_word().map(str::to_lowercase)
    }

    fn is_keyword(&self, word: &str) -> bool {
        self.peek_word().is_some_and(|found| found.eq_ignore_ascii_case(word))
    }

    fn take_keyword(&mut self) -> Option<String> {
        let word = self.keyword()?;
        self.at += 1;
        Some(word)
    }

    fn take_word(&mut self) -> Option<String> {
        let word = self.peek_word()?.to_string();
        self.at += 1;
        Some(word)
    }

    /// What stands here, as the user wrote it.
    fn shown(&self) -> String {
        match self.peek() {
            None => "the end of the script".into(),
            Some(TokenKind::Word(word)) => format!("`{word}`"),
            Some(TokenKind::Number(number)) => format!("`{number}`"),
            Some(TokenKind::Text(text)) => format!("\"{text}\""),
            Some(TokenKind::Variable(name)) => format!("`${name}`"),
            Some(TokenKind::Sign(sign)) => format!("`{sign}`"),
        }
    }

    fn stumble<T>(&mut self, wanted: &str, hint: &str) -> Read<T> {
        let message = format!("{} where {wanted} is expected", self.shown());
        // What is missing at the end of a line is told of that line, not of the next.
        let line = self.at.checked_sub(1).map_or(1, |last| self.found[last].line);
        self.wrong.push(Diagnostic::error(&self.place(line), message).hint(hint));
        Err(ErrorReported)
    }

    /// Tells that something else stands here.
    fn misplaced<T>(&mut self, wanted: &str, hint: &str) -> Read<T> {
        let message = format!("{} where {wanted} is expected", self.shown());
        self.complain(message, hint)
    }

    /// Whether the next word stands on the last one's line.
    fn goes_on(&self) -> bool {
        let line = self.at.checked_sub(1).map_or(0, |last| self.found[last].line);
        self.found.get(self.at).is_some_and(|token| token.line == line)
    }

    fn complain<T>(&mut self, message: String, hint: &str) -> Read<T> {
        self.wrong.push(Diagnostic::error(&self.here(), message).hint(hint));
        Err(ErrorReported)
    }

    fn expect(&mut self, sign: char, hint: &str) -> Read<()> {
        if self.take_sign(sign) { Ok(()) } else { self.stumble(&format!("`{sign}`"), hint) }
    }

    /// Commands up to the end, or up to the brace that ends a block.
    fn commands(&mut self, inner: bool) -> Vec<Statement> {
        let mut commands = Vec::new();
        while self.at < self.found.len() && !(inner && self.is_sign('}')) {
            let (origin, before) = (self.here(), self.at);
            match self.command() {
                Ok(order) => commands.push(Statement { order, origin }),
                Err(ErrorReported) => {
                    self.at = self.at.max(before + 1);
                    self.recover();
                }
            }
        }
        commands
    }

    /// Goes on at the next line that begins with a command, or with what was meant as one.
    fn recover(&mut self) {
        while let Some(token) = self.found.get(self.at) {
            let first = self.at == 0 || self.found[self.at - 1].line < token.line;
            let names = self.found.get(self.at + 1).is_some_and(|next| next.kind == TokenKind::Sign('='));
            let meant = |known: &str, word: &str| strsim::damerau_levenshtein(known, word) <= 2;
            let begins = |word: &str| {
                let word = word.to_lowercase();
                commands().any(|known| known == word || !names && meant(known, &word))
            };
            if first && matches!(&token.kind, TokenKind::Word(word) if begins(word)) {
                return;
            }
            self.at += 1;
        }
    }

    /// One level further in.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == DEPTH_MOST {
            return self.complain("too many brackets inside each other".into(), "64 levels are read");
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn command(&mut self) -> Read<Directive> {
        let Some(word) = self.keyword() else {
            return self.misplaced("a command", "a line begins with define, set, run, …");
        };
        if !is_command(&word) {
            let near = commands().min_by_key(|known| strsim::damerau_levenshtein(known, &word));
            let near = near.filter(|known| strsim::damerau_levenshtein(known, &word) <= 2);
            let hint = near
                .map_or("commands: define set run psrun create eventgen echo system sleep".into(), |near| {
                    format!("did you mean `{near}`?")
                });
            return self.complain(format!("no command `{word}`"), &hint);
        }
        self.at += 1;
        match word.as_str() {
            "define" if self.is_keyword("randvar") => self.random_variable(),
            "define" => self.definition().map(Directive::Define),
            "set" => self.assignment(),
            "foreach" => self.each(),
            "run" => Ok(Directive::Run(self.optional()?)),
            "psrun" => Ok(Directive::Periodic(self.optional()?, self.optional()?)),
            "warmup" => self.expression().map(Directive::Warmup),
            "sleep" => self.expression().map(Directive::Sleep),
            "echo" | "log" => self.expression().map(Directive::Echo),
            "usage" => self.expression().map(Directive::Usage),
            "system" => self.expression().map(Directive::System),
            "include" | "load" => self.expression().map(Directive::Include),
            "version" => Ok(Directive::Version),
            "quit" => Ok(Directive::End),
            "vars" => Ok(Directive::List("variables".into())),
            _ => self.minor(&word),
        }
    }

    /// Commands of a few words.
    fn minor(&mut self, word: &str) -> Read<Directive> {
        match word {
            "eventgen" => {
                let attributes = self.attributes(&mut Vec::new())?;
                let others: Vec<&Attribute> = attributes.0.iter().filter(|one| one.name != "rate").collect();
                for other in &others {
                    let message = format!("`{}` where rate= is expected", other.name);
                    self.wrong.push(Diagnostic::error(&other.origin, message).hint("eventgen rate=100"));
                }
                match attributes.get(&["rate"]).and_then(|rate| rate.value.clone()) {
                    Some(rate) => Ok(Directive::Rate(rate)),
                    None if others.is_empty() => self.stumble("rate=", "eventgen rate=100"),
                    None => Err(ErrorReported),
                }
            }
            "enable" => match self.take_keyword().as_deref() {
                Some("lathist") => Ok(Directive::Latencies),
                Some("multi") => Ok(Directive::Multi(self.attributes(&mut Vec::new())?)),
                _ => self.instead("lathist or multi", "enable lathist"),
            },
            "list" => Ok(Directive::List(self.take_keyword().unwrap_or_default())),
            "debug" => self
                .expression()
                .map(|_| Directive::Nothing("debug".into(), "filebench -h -f FILE.f shows its variables")),
            "create" => match self.take_keyword().as_deref() {
                Some("file" | "files" | "fileset" | "filesets") => Ok(Directive::Laid),
                Some("process" | "processes") => Ok(Directive::Begin),
                _ => self.instead("files or processes", "create files"),
            },
            "shutdown" => match self.take_keyword().as_deref() {
                Some("process" | "processes") => Ok(Directive::Shutdown),
                _ => self.instead("processes", "shutdown processes"),
            },
            "stats" => self.stats().map(Directive::Stats),
            "domultisync" => Ok(Directive::Meet(self.attributes(&mut Vec::new())?)),
            _ => {
                let line = self.found[self.at - 1].line;
                while self.found.get(self.at).is_some_and(|token| token.line == line) {
                    self.at += 1;
                }
                Ok(Directive::Nothing(word.into(), "leave it out: every run is reported at its end"))
            }
        }
    }

    /// Tells that the word just taken is not the one.
    fn instead<T>(&mut self, wanted: &str, hint: &str) -> Read<T> {
        let taken =
            self.at.checked_sub(1).is_some_and(|last| matches!(self.found[last].kind, TokenKind::Word(_)));
        self.at -= usize::from(taken && self.at > 1);
        self.stumble(wanted, hint)
    }

    fn stats(&mut self) -> Read<Stats> {
        const WORDS: &str = "clear, snap, dump, multidump, xmldump, directory or command";
        let same_line = self.goes_on();
        match self.take_keyword().filter(|_| same_line).as_deref() {
            Some("clear") => Ok(Stats::Clear),
            Some("snap") => Ok(Stats::Snap),
            Some("dump" | "multidump") => self.rest("stats dump FILE").map(|file| Stats::Dump(file, false)),
            Some("xmldump") => self.rest("stats xmldump FILE").map(|file| Stats::Dump(file, true)),
            Some("directory") => self.rest("stats directory DIR").map(Stats::Directory),
            Some("command") => self.rest("stats command \"iostat 5\"").map(Stats::Command),
            _ => self.instead(WORDS, "stats snap"),
        }
    }

    /// A value on the same line.
    fn rest(&mut self, hint: &str) -> Read<Expression> {
        if self.goes_on() { self.expression() } else { self.stumble("a value", hint) }
    }

    fn assignment(&mut self) -> Read<Directive> {
        if self.is_keyword("mode") {
            self.at += 1;
            return match self.take_keyword().as_deref() {
                Some("nousestats" | "usestats") => {
                    Ok(Directive::Nothing("set mode usestats".into(), "the processors' time is always told"))
                }
                Some("cpufeature") => {
                    self.take_word();
                    Ok(Directive::Nothing("set mode cpufeature".into(), "what the processor can do is used"))
                }
                Some("noreadahead") => Ok(Directive::NoReadAhead),
                Some("quit") => match self.take_keyword() {
                    Some(word) if ["timeout", "alldone", "firstdone"].contains(&word.as_str()) => {
                        Ok(Directive::Quit(word))
                    }
                    _ => {
                        self.at -= 1;
                        self.stumble("timeout, alldone or firstdone", "set mode quit firstdone")
                    }
                },
                _ => self.instead("quit, noreadahead or nousestats", "set mode quit timeout"),
            };
        }
        let name = self.variable("set $name=value")?;
        self.expect('=', "set $name=value")?;
        Ok(Directive::Set(name, self.expression()?))
    }

    fn variable(&mut self, hint: &str) -> Read<String> {
        match self.peek() {
            Some(TokenKind::Variable(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.stumble("a variable", hint),
        }
    }

    fn each(&mut self) -> Read<Directive> {
        let name = self.variable("foreach $name in 1, 2, 4 { … }")?;
        if !self.is_keyword("in") {
            return self.stumble("`in`", "foreach $name in 1, 2, 4 { … }");
        }
        self.at += 1;
        let mut values = vec![self.expression()?];
        while self.take_sign(',') {
            values.push(self.expression()?);
        }
        self.expect('{', "foreach $name in 1, 2, 4 { … }")?;
        let commands = self.inside(|parser| Ok(parser.commands(true)))?;
        self.expect('}', "a block ends with }")?;
        Ok(Directive::Each(name, values, commands))
    }

    fn definition(&mut self) -> Read<Definition> {
        match self.take_keyword().as_deref() {
            Some(word @ ("file" | "fileset" | "filesets")) => {
                let single = word == "file";
                Ok(Definition::Fileset { single, attributes: self.attributes(&mut Vec::new())? })
            }
            Some("process" | "processes") => {
                let attributes = self.attributes(&mut Vec::new())?;
                Ok(Definition::Process { attributes, threads: self.threads()? })
            }
            Some("flowop") => {
                let mut locals = Vec::new();
                let attributes = self.attributes(&mut locals)?;
                Ok(Definition::Composite { attributes, locals, flowops: self.flowops()? })
            }
            _ => {
                self.at -= 1;
                self.stumble("file, fileset, process or flowop", "define fileset name=…,path=…,entries=…")
            }
        }
    }

    /// `define randvar name=$x, …`, as version 1.4 has it.
    fn random_variable(&mut self) -> Read<Directive> {
        const HINT: &str = "define randvar name=$size,type=gamma,mean=16k";
        self.at += 1;
        let mut attributes = self.attributes(&mut Vec::new())?.0;
        let named = attributes.iter().position(|attribute| attribute.name == "name");
        match named.map(|at| attributes.remove(at).value) {
            Some(Some(Expression::Variable(name) | Expression::Text(name))) => {
                Ok(Directive::Set(name, Expression::Random(attributes, false)))
            }
            _ => self.complain("a random variable without name=$…".into(), HINT),
        }
    }

    fn threads(&mut self) -> Read<Vec<Thread>> {
        self.expect('{', "a process is { thread … { flowop … } }")?;
        let mut threads = Vec::new();
        while !self.take_sign('}') {
            let origin = self.here();
            if !self.is_keyword("thread") {
                return self.misplaced("thread or `}`", "a process is { thread … { flowop … } }");
            }
            self.at += 1;
            let attributes = self.attributes(&mut Vec::new())?;
            threads.push(Thread { attributes, flowops: self.flowops()?, origin });
        }
        Ok(threads)
    }

    /// The flowops between braces; a mistake in one costs that one.
    fn flowops(&mut self) -> Read<Vec<Flowop>> {
        self.expect('{', "flowops stand between { and }")?;
        let mut flowops = Vec::new();
        while !self.take_sign('}') {
            if self.peek().is_none() || self.is_keyword("thread") || self.is_keyword("define") {
                return self.misplaced("flowop or `}`", "a brace is missing before this");
            }
            let before = self.at;
            match self.flowop() {
                Ok(flowop) => flowops.push(flowop),
                Err(ErrorReported) => {
                    self.at = self.at.max(before + 1);
                    self.next_flowop();
                }
            }
        }
        Ok(flowops)
    }

    /// Goes on at the next flowop, the next line that begins with a word, or the brace.
    fn next_flowop(&mut self) {
        while let Some(token) = self.found.get(self.at) {
            let first = self.found[self.at - 1].line < token.line;
            let names = self.found.get(self.at + 1).is_some_and(|next| next.kind == TokenKind::Sign('='));
            match &token.kind {
                TokenKind::Sign('}') => return,
                TokenKind::Word(word) if word.eq_ignore_ascii_case("flowop") || (first && !names) => return,
                _ => self.at += 1,
            }
        }
    }

    fn flowop(&mut self) -> Read<Flowop> {
        let origin = self.here();
        if !self.is_keyword("flowop") {
            return self.misplaced("flowop or `}`", "flowop read name=read1,filesetname=files,iosize=4k");
        }
        self.at += 1;
        let kind = if self.is_over() { None } else { self.take_word() };
        let Some(kind) = kind else {
            return self.stumble("a flowop's type", "flowop read name=read1,filesetname=files,iosize=4k");
        };
        let mut locals = Vec::new();
        let attributes = self.attributes(&mut locals)?;
        Ok(Flowop { kind, attributes, locals, origin })
    }

    /// `name=value, name, $local=value, …`.
    fn attributes(&mut self, locals: &mut Vec<(String, Expression)>) -> Read<Attributes> {
        let mut attributes = Attributes::default();
        self.take_sign(',');
        loop {
            let origin = self.here();
            match self.peek() {
                Some(TokenKind::Variable(name)) => {
                    let name = name.clone();
                    self.at += 1;
                    let given = self.take_sign('=');
                    let value = if given { self.value()? } else { Expression::Variable(name.clone()) };
                    locals.push((name.clone(), value.clone()));
                    attributes.0.push(Attribute { name: format!("${name}"), value: Some(value), origin });
                }
                Some(TokenKind::Word(word)) => {
                    let name = word.to_lowercase();
                    self.at += 1;
                    let value = if self.take_sign('=') { Some(self.value()?) } else { None };
                    attributes.0.push(Attribute { name, value, origin });
                }
                _ => return self.stumble("an attribute", "attributes are name=value, name=value"),
            }
            if !self.take_sign(',') || self.is_over() {
                return Ok(attributes);
            }
        }
    }

    /// Whether a comma was the last word of attributes: something else begins behind it.
    fn is_over(&self) -> bool {
        let begins = |word: &str| {
            let word = word.to_lowercase();
            is_command(&word) || ["flowop", "thread"].contains(&word.as_str())
        };
        match self.peek() {
            None | Some(TokenKind::Sign('{' | '}' | ')')) => true,
            Some(TokenKind::Word(word)) => !self.goes_on() && begins(word),
            _ => false,
        }
    }

    /// Whether what begins the next line can only be the value that is due.
    fn is_value(&self) -> bool {
        let next = self.found.get(self.at + 1).map(|token| &token.kind);
        match self.peek() {
            Some(TokenKind::Sign('{')) => next == Some(&TokenKind::Sign('{')),
            Some(TokenKind::Word(_)) => next != Some(&TokenKind::Sign('=')) && !self.is_over(),
            Some(TokenKind::Number(_) | TokenKind::Text(_) | TokenKind::Variable(_)) => {
                next != Some(&TokenKind::Sign('='))
            }
            _ => false,
        }
    }

    /// An attribute's value: a sum, or a table.
    fn value(&mut self) -> Read<Expression> {
        if !self.goes_on() && !self.is_value() {
            return self.stumble("a value", "attributes are name=value, name=value");
        }
        if !self.take_sign('{') {
            return self.expression();
        }
        let mut rows = Vec::new();
        loop {
            self.expect('{', "a table is {{50,1k,4k},{50,4k,1m}}")?;
            let mut row = vec![self.expression()?];
            while self.take_sign(',') {
                row.push(self.expression()?);
            }
            self.expect('}', "a table is {{50,1k,4k},{50,4k,1m}}")?;
            rows.push(row);
            if !self.take_sign(',') {
                break;
            }
        }
        self.expect('}', "a table is {{50,1k,4k},{50,4k,1m}}")?;
        Ok(Expression::Table(rows))
    }

    /// A value, where one follows on the same line.
    fn optional(&mut self) -> Read<Option<Expression>> {
        let starts = match self.peek() {
            Some(
                TokenKind::Number(_)
                | TokenKind::Variable(_)
                | TokenKind::Text(_)
                | TokenKind::Sign('-' | '('),
            ) => true,
            Some(TokenKind::Word(word)) => !is_command(&word.to_lowercase()),
            _ => false,
        };
        if self.goes_on() && starts { self.product().map(Some) } else { Ok(None) }
    }

    fn expression(&mut self) -> Read<Expression> {
        let mut left = self.product()?;
        while let Some(sign) = ['+', '-'].into_iter().find(|sign| self.is_sign(*sign)) {
            self.at += 1;
            left = Expression::Binary(Box::new(left), sign, Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Read<Expression> {
        let mut left = self.term()?;
        while let Some(sign) = ['*', '/'].into_iter().find(|sign| self.is_sign(*sign)) {
            self.at += 1;
            left = Expression::Binary(Box::new(left), sign, Box::new(self.term()?));
        }
        Ok(left)
    }

    fn term(&mut self) -> Read<Expression> {
        // A sum that lacks its end does not take the next command for it.
        let kind = self.peek().filter(|_| self.at == 0 || self.goes_on() || !self.is_over()).cloned();
        self.at += usize::from(kind.is_some());
        Ok(match kind {
            Some(TokenKind::Number(number)) => Expression::Number(number),
            Some(TokenKind::Text(text)) => Expression::Text(text),
            Some(TokenKind::Variable(name)) => Expression::Variable(name),
            Some(TokenKind::Word(word))
                if ["randvar", "cvar"].contains(&word.as_str()) && self.take_sign('(') =>
            {
                let attributes = self.inside(|parser| parser.attributes(&mut Vec::new()))?;
                self.expect(')', "randvar(type=uniform,min=4k,mean=16k)")?;
                Expression::Random(attributes.0, word == "cvar")
            }
            Some(TokenKind::Word(word)) => Expression::Text(word),
            Some(TokenKind::Sign('-')) => {
                Expression::Binary(Box::new(Expression::Number(0.0)), '-', Box::new(self.inside(Self::term)?))
            }
            Some(TokenKind::Sign('(')) => {
                let inner = self.inside(Self::expression)?;
                self.expect(')', "what is opened with ( is closed with )")?;
                inner
            }
            other => {
                self.at -= usize::from(other.is_some());
                return self.stumble("a value", "numbers, names, \"text\", $variables and sums of them");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_is_a_message_with_its_line() {
        let text = "defin file name=a\nset $x 5\nrun 10\nset mode quit never\ndefine fileset name=\nforeach x in 1\n\
                    define process name=p {\n thread name=t {\n  flowop read name=,fd=1\n  flopop x\n  flowop write name=w\n }\n}\nrum 5\n";
        let (commands, wrong) = parse("x.f", text);
        let lines: Vec<String> = wrong.iter().map(|wrong| wrong.origin.to_string()).collect();
        assert_eq!(
            lines,
            ["x.f:1", "x.f:2", "x.f:4", "x.f:5", "x.f:6", "x.f:9", "x.f:10", "x.f:14"],
            "{wrong:#?}"
        );
        assert!(wrong.iter().all(|wrong| wrong.hint.is_some()));
        assert!(commands.iter().any(|command| matches!(command.order, Directive::Run(_))));
        let process = commands.iter().find_map(|command| match &command.order {
            Directive::Define(Definition::Process { threads, .. }) => Some(threads),
            _ => None,
        });
        assert_eq!(process.unwrap()[0].flowops.len(), 1, "what is right in it is read");
    }

    #[test]
    fn nothing_makes_it_panic() {
        let text =
            "define process name=p,instances=$n{thread name=t{flowop read name=r,iosize=$a*(2+4k)-1}}\nrun 5";
        for cut in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            drop(parse("x.f", &text[..cut]));
            drop(parse("x.f", &text[cut..]));
            for sign in ["{", "}", "\"", "$", "=", ",", "(", "randvar("] {
                drop(parse("x.f", &format!("{}{sign}{}", &text[..cut], &text[cut..])));
            }
        }
    }
}
