//! Calls of a race: what is done to which names, as data and as a line.
//!
//! The name space is tiny on purpose, so that calls meet: three names, and paths of one or two of them.

use std::fmt;

use crate::exercise::operation::nearest;
use iodyno_engine::random::Random;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Makes a file that must not be there.
    Create,
    Mkdir,
    /// Makes a link whose text is one of the names.
    Symlink,
    Unlink,
    Rmdir,
    Rename,
    /// One more name for a file.
    Link,
    /// What a name stands for, links not followed.
    Stat,
}

/// All of them with their names.
pub const VERBS: [(Verb, &str); 8] = [
    (Verb::Create, "create"),
    (Verb::Mkdir, "mkdir"),
    (Verb::Symlink, "symlink"),
    (Verb::Unlink, "unlink"),
    (Verb::Rmdir, "rmdir"),
    (Verb::Rename, "rename"),
    (Verb::Link, "link"),
    (Verb::Stat, "stat"),
];

pub const NAMES: [&str; 3] = ["a", "b", "c"];

/// One name, or one within what another stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The directory, by its name in the root; none: the root itself.
    pub within: Option<u8>,
    /// The last name.
    pub name: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameCall {
    pub verb: Verb,
    pub path: Path,
    /// The new name of rename and link; its last part is the text of a symlink.
    pub other: Path,
}

/// What happens before, and what each process does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub setup: Vec<NameCall>,
    pub processes: Vec<Vec<NameCall>>,
}

impl Verb {
    pub fn name(self) -> &'static str {
        VERBS[self as usize].1
    }

    pub fn of(name: &str) -> Option<Verb> {
        VERBS.iter().find(|(_, known)| *known == name).map(|(verb, _)| *verb)
    }
}

impl Path {
    /// Reads one.
    ///
    /// # Errors
    /// It is not of this name space.
    pub fn parse(text: &str) -> Result<Path, String> {
        let name = |text: &str| {
            let found = NAMES.iter().position(|name| *name == text);
            found.map(|name| name as u8).ok_or_else(|| format!("`{text}`: the names are {}", NAMES.join(" ")))
        };
        match text.split_once('/') {
            Some((within, last)) => Ok(Path { within: Some(name(within)?), name: name(last)? }),
            None => Ok(Path { within: None, name: name(text)? }),
        }
    }

    pub fn draw(random: &mut Random) -> Path {
        let within = (random.below(2) == 0).then(|| random.below(NAMES.len() as u64) as u8);
        Path { within, name: random.below(NAMES.len() as u64) as u8 }
    }
}

impl NameCall {
    /// Reads a call.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<NameCall, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.first().copied().unwrap_or("");
        let verb = Verb::of(name).ok_or_else(|| {
            format!("`{name}`: no call of a race{}", nearest(name, VERBS.iter().map(|(_, name)| *name)))
        })?;
        let two = matches!(verb, Verb::Rename | Verb::Link | Verb::Symlink);
        match words[1..] {
            [path] if !two => Ok(NameCall { verb, path: Path::parse(path)?, other: Path::parse(NAMES[0])? }),
            // As the command says it: the text first.
            [text, path] if verb == Verb::Symlink => {
                Ok(NameCall { verb, path: Path::parse(path)?, other: Path::parse(text)? })
            }
            [path, other] if two => {
                Ok(NameCall { verb, path: Path::parse(path)?, other: Path::parse(other)? })
            }
            _ => Err(format!("`{name}` wants {}", if two { "two names" } else { "one name" })),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            Some(within) => write!(f, "{}/{}", NAMES[within as usize], NAMES[self.name as usize]),
            None => f.write_str(NAMES[self.name as usize]),
        }
    }
}

impl fmt::Display for NameCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verb {
            Verb::Rename | Verb::Link => write!(f, "{} {} {}", self.verb.name(), self.path, self.other),
            Verb::Symlink => write!(f, "symlink {} {}", NAMES[self.other.name as usize], self.path),
            _ => write!(f, "{} {}", self.verb.name(), self.path),
        }
    }
}

impl Program {
    /// Reads one, line by line: `setup: CALL`, `p1: CALL`.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(lines: &[String]) -> Result<Program, String> {
        let mut program = Program::default();
        let said = |(_, line): &(usize, &String)| !line.trim().is_empty() && !line.trim().starts_with('#');
        for (index, line) in lines.iter().enumerate().filter(said) {
            program.add(line).map_err(|wrong| format!("line {}: {wrong}", index + 1))?;
        }
        Ok(program)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let (who, call) = line.split_once(':').ok_or("a line is `setup: CALL` or `p1: CALL`")?;
        let call = NameCall::parse(call)?;
        let list = match who.trim() {
            "setup" => &mut self.setup,
            who => {
                let number = who.strip_prefix('p').and_then(|number| number.parse::<usize>().ok());
                let number = number.filter(|number| (1..=super::processes::MOST_PROCESSES).contains(number));
                let number = number.ok_or_else(|| format!("`{who}`: processes are p1 to p4"))?;
                self.processes.resize(self.processes.len().max(number), Vec::new());
                &mut self.processes[number - 1]
            }
        };
        if list.len() >= super::processes::MOST_CALLS {
            return Err(format!("a process does at most {} calls", super::processes::MOST_CALLS));
        }
        list.push(call);
        Ok(())
    }

    /// Draws one by these weights.
    pub fn draw(random: &mut Random, weights: &[(Verb, u32)]) -> Program {
        let setup = (0..random.below(5)).map(|_| draw(random, &SETUP)).collect();
        let processes = 2 + random.below(super::processes::MOST_PROCESSES as u64 - 1);
        let calls = |random: &mut Random| {
            let count = 1 + random.below(super::processes::MOST_CALLS as u64);
            (0..count).map(|_| draw(random, weights)).collect()
        };
        Program { setup, processes: (0..processes).map(|_| calls(random)).collect() }
    }

    pub fn lines(&self) -> Vec<String> {
        let setup = self.setup.iter().map(|call| format!("setup: {call}"));
        let all = self.processes.iter().enumerate();
        let each =
            all.flat_map(|(index, calls)| calls.iter().map(move |call| format!("p{}: {call}", index + 1)));
        setup.chain(each).collect()
    }

    /// The same lines for programs that differ only in which name and which process is which.
    pub fn shape(&self) -> Vec<String> {
        const ORDERS: [[u8; NAMES.len()]; 6] =
            [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let renamed = |order: &[u8; NAMES.len()]| {
            let path = |path: Path| Path {
                within: path.within.map(|within| order[within as usize]),
                name: order[path.name as usize],
            };
            let lines = |calls: &[NameCall]| {
                let call =
                    |call: &NameCall| NameCall { path: path(call.path), other: path(call.other), ..*call };
                calls.iter().map(|one| call(one).to_string()).collect::<Vec<_>>().join("; ")
            };
            let mut processes: Vec<String> = self.processes.iter().map(|calls| lines(calls)).collect();
            processes.sort();
            processes.insert(0, lines(&self.setup));
            processes
        };
        ORDERS.iter().map(renamed).min().unwrap_or_default()
    }

    pub fn calls(&self) -> usize {
        self.setup.len() + self.processes.iter().map(Vec::len).sum::<usize>()
    }
}

/// What is there before the race: mostly things to race about.
const SETUP: [(Verb, u32); 4] = [(Verb::Mkdir, 4), (Verb::Create, 3), (Verb::Symlink, 1), (Verb::Link, 1)];

fn draw(random: &mut Random, weights: &[(Verb, u32)]) -> NameCall {
    let total: u64 = weights.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let mut place = random.below(total);
    let verb = weights.iter().find(|(_, weight)| {
        let here = place < u64::from(*weight);
        place = place.saturating_sub(u64::from(*weight));
        here
    });
    let verb = verb.map_or(Verb::Stat, |(verb, _)| *verb);
    NameCall { verb, path: Path::draw(random), other: Path::draw(random) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were() {
        let lines =
            ["setup: mkdir a", "p1: rename a b/c", "p1: stat b", "p2: symlink c a/b", "p2: link a/b c"];
        let lines: Vec<String> = lines.map(String::from).to_vec();
        assert_eq!(Program::parse(&lines).unwrap().lines(), lines);
        let wrong = |line: &str| Program::parse(&[line.to_string()]).unwrap_err();
        assert_eq!(wrong("p1: renam a b"), "line 1: `renam`: no call of a race (`rename`?)");
        assert_eq!(wrong("p9: stat a"), "line 1: `p9`: processes are p1 to p4");
        assert_eq!(wrong("p1: stat d"), "line 1: `d`: the names are a b c");
        assert_eq!(wrong("p1: stat a b"), "line 1: `stat` wants one name");
    }

    #[test]
    fn a_shape_does_not_depend_on_names_and_numbers() {
        let shape = |lines: &[&str]| {
            Program::parse(&lines.iter().map(|line| (*line).to_string()).collect::<Vec<_>>()).unwrap().shape()
        };
        let one = shape(&["setup: mkdir a", "p1: rename a b/c", "p2: symlink c a/b"]);
        assert_eq!(shape(&["setup: mkdir c", "p2: rename c a/b", "p1: symlink b c/a"]), one);
        assert_ne!(shape(&["setup: mkdir c", "p2: rename c b/a", "p1: symlink b c/a"]), one);
        assert_ne!(shape(&["setup: mkdir a", "p1: rename a b/c"]), one);
    }
}
