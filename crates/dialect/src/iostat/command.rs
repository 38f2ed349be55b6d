//! iostat's command line: options in any order, names of devices, then the interval and the count.
//!
//! It knows nothing of the machine: what a device is called there is `device.rs`'s business.

use crate::option::Status;

use super::options::TABLE;

/// The unit of amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Sectors of 512 bytes.
    Sectors,
    /// 1024 bytes.
    Kilo,
    /// 1024 × 1024 bytes.
    Mega,
}

/// Which devices `-p` means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partitions {
    /// Those named, if any.
    #[default]
    None,
    /// Those of all devices.
    OfAll,
}

/// A group of devices: `-g NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// Its devices as they were typed, and whether their partitions are meant too; none: all.
    pub devices: Vec<(String, bool)>,
}

/// What the command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// `-c`.
    pub cpu: bool,
    /// `-d`.
    pub disks: bool,
    /// Something that only devices have was asked for.
    pub asks: bool,
    /// `-x`.
    pub extended: bool,
    /// `-s`.
    pub short: bool,
    /// `-y`.
    pub without_first: bool,
    /// `-z`.
    pub without_idle: bool,
    /// `-t`.
    pub timed: bool,
    /// `-o JSON`.
    pub json: bool,
    /// `-k` or `-m`.
    pub unit: Option<Unit>,
    /// `--human`.
    pub human: bool,
    /// `--pretty`.
    pub pretty: bool,
    /// `--compact`.
    pub compact: bool,
    /// `--dec`.
    pub decimals: usize,
    /// `-p` without a device.
    pub partitions: Partitions,
    /// `ALL`: those that were never used, too.
    pub unused: bool,
    /// Named devices before any group, and whether their partitions are meant too.
    pub devices: Vec<(String, bool)>,
    /// `-g`.
    pub groups: Vec<Group>,
    /// `-H`.
    pub only_groups: bool,
    /// `-N`.
    pub mapped: bool,
    /// `-j`: the kind of persistent names.
    pub persistent: Option<String>,
    /// Seconds between reports.
    pub interval: Option<u64>,
    /// Reports.
    pub count: Option<u64>,
}

impl Default for Command {
    fn default() -> Self {
        Command {
            cpu: false,
            disks: false,
            asks: false,
            extended: false,
            short: false,
            without_first: false,
            without_idle: false,
            timed: false,
            json: false,
            unit: None,
            human: false,
            pretty: false,
            compact: false,
            decimals: 2,
            partitions: Partitions::None,
            unused: false,
            devices: Vec::new(),
            groups: Vec::new(),
            only_groups: false,
            mapped: false,
            persistent: None,
            interval: None,
            count: None,
        }
    }
}

/// Why nothing is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `-V`.
    Version,
    /// The command line is wrong, and what about it.
    Wrong(String),
}

fn wrong<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Wrong(what.into()))
}

/// Reads a command line.
///
/// # Errors
/// What keeps it from being followed.
pub fn parse(arguments: &[String]) -> Result<Command, Stop> {
    let mut wanted = Command::default();
    let mut words = arguments.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "-p" => {
                let list = words.next_if(|next| !next.starts_with('-') && number(next).is_none());
                wanted.partitions_of(list);
            }
            "-g" | "-j" | "-o" | "-f" | "+f" => {
                let Some(value) = words.next() else { return wrong(format!("`{word}` needs a value")) };
                wanted.valued(word, value)?;
            }
            _ if word.starts_with("--") => wanted.long(&word[2..])?,
            _ if word.starts_with('-') => word[1..].chars().try_for_each(|letter| wanted.letter(letter))?,
            "ALL" => (wanted.unused, wanted.asks) = (true, true),
            _ => match number(word) {
                Some(value) => wanted.number(word, value)?,
                None => wanted.device(word, false),
            },
        }
    }
    wanted.settled()
}

/// A whole number, if every character is a digit.
fn number(word: &str) -> Option<Option<u64>> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok())
}

impl Command {
    fn device(&mut self, name: &str, partitions: bool) {
        self.asks = true;
        let list = match self.groups.last_mut() {
            Some(group) => &mut group.devices,
            None => &mut self.devices,
        };
        list.push((name.into(), partitions));
    }

    fn partitions_of(&mut self, list: Option<&str>) {
        self.asks = true;
        match list {
            None => self.partitions = Partitions::OfAll,
            Some(list) => list.split(',').filter(|name| !name.is_empty()).for_each(|name| match name {
                "ALL" => (self.partitions, self.unused) = (Partitions::OfAll, true),
                name => self.device(name, true),
            }),
        }
    }

    fn valued(&mut self, option: &str, value: &str) -> Result<(), Stop> {
        match option {
            "-g" => self.groups.push(Group { name: value.into(), devices: Vec::new() }),
            "-j" => (self.persistent, self.pretty) = (Some(value.into()), true),
            "-o" if value == "JSON" => self.json = true,
            "-o" => return wrong(format!("`-o {value}`: expected JSON")),
            _ => return refused("f"),
        }
        Ok(())
    }

    fn long(&mut self, name: &str) -> Result<(), Stop> {
        match name {
            "human" => self.human = true,
            "pretty" => self.pretty = true,
            "compact" => self.compact = true,
            _ => match name.strip_prefix("dec=").map(str::parse) {
                Some(Ok(decimals @ 0..=2)) => self.decimals = decimals,
                Some(_) => return wrong(format!("`--{name}`: expected 0, 1 or 2 digits")),
                None => return unknown(&format!("--{name}"), name),
            },
        }
        Ok(())
    }

    fn letter(&mut self, letter: char) -> Result<(), Stop> {
        match letter {
            'c' => self.cpu = true,
            'd' => self.disks = true,
            'x' => (self.extended, self.asks) = (true, true),
            's' => self.short = true,
            'y' => self.without_first = true,
            'z' => self.without_idle = true,
            't' => self.timed = true,
            'h' => (self.human, self.pretty) = (true, true),
            'H' => self.only_groups = true,
            'N' => self.mapped = true,
            'p' => self.partitions_of(None),
            'V' => return Err(Stop::Version),
            'k' | 'm' => {
                let unit = if letter == 'k' { Unit::Kilo } else { Unit::Mega };
                if self.unit.replace(unit).is_some_and(|before| before != unit) {
                    return wrong("-k and -m: one unit is enough");
                }
            }
            _ => return unknown(&format!("-{letter}"), letter.encode_utf8(&mut [0; 4])),
        }
        Ok(())
    }

    fn number(&mut self, word: &str, value: Option<u64>) -> Result<(), Stop> {
        match (value, self.interval, self.count) {
            (None, ..) => wrong(format!("`{word}` is too large")),
            (Some(0), Some(_), _) => wrong("0 reports"),
            (_, Some(_), Some(_)) => wrong(format!("`{word}`: there is an interval and a count already")),
            (Some(value), Some(_), None) => {
                self.count = Some(value);
                Ok(())
            }
            // More than the kernel's counters can stand for, and less than ns overflow at.
            (Some(value), None, _) if value <= 1 << 32 => {
                self.interval = Some(value);
                Ok(())
            }
            (Some(_), None, _) => wrong(format!("`{word}` is too large")),
        }
    }

    /// As it is, if it makes sense.
    fn settled(self) -> Result<Self, Stop> {
        match self.only_groups && self.groups.is_empty() {
            true => wrong("-H says how a group is shown, and there is none: name one with -g"),
            false => Ok(self),
        }
    }

    /// Whether the processors' time is shown: only `-d` alone takes it away.
    pub fn shows_cpu(&self) -> bool {
        self.cpu || !self.disks
    }

    /// Whether devices are shown: only `-c` takes them away, where nothing asks for them.
    pub fn shows_disks(&self) -> bool {
        self.disks || self.asks || !self.cpu
    }
}

fn refused<T>(name: &str) -> Result<T, Stop> {
    match TABLE.find(name).map(|entry| entry.status) {
        Some(Status::Refused(why, hint)) => {
            wrong(format!("`-{name}` is not supported: {why}\n hint: {hint}"))
        }
        _ => wrong(format!("`-{name}` is not supported")),
    }
}

fn unknown<T>(written: &str, name: &str) -> Result<T, Stop> {
    let near = TABLE.suggest(name).map(|near| format!("\n hint: did you mean `--{near}`?"));
    wrong(format!("`{written}`: no such option{}", near.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, Stop> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    /// Found by trying the original.
    #[test]
    fn what_is_shown_is_what_the_original_shows() {
        for (line, cpu, disks) in [
            ("", true, true),
            ("-c", true, false),
            ("-d", false, true),
            ("-x", true, true),
            ("-xd", false, true),
            ("-c -x", true, true),
            ("-c -k", true, false),
            ("-c -g g", true, false),
            ("-c -p", true, true),
            ("-c ALL", true, true),
            ("-c vda", true, true),
            ("-p sda", true, true),
            ("-cd", true, true),
        ] {
            let wanted = parsed(line).unwrap();
            assert_eq!((wanted.shows_cpu(), wanted.shows_disks()), (cpu, disks), "{line}");
        }
    }

    #[test]
    fn names_interval_and_count_stand_in_any_order() {
        let wanted = parsed("1 vda 5 -p 5vda,sdb -x").unwrap();
        assert_eq!((wanted.interval, wanted.count), (Some(1), Some(5)));
        let names: Vec<_> =
            [("vda", false), ("5vda", true), ("sdb", true)].map(|(n, p)| (n.into(), p)).into();
        assert_eq!(wanted.devices, names);
        let wanted = parsed("-p 1 3").unwrap();
        assert_eq!((wanted.partitions, wanted.interval, wanted.count), (Partitions::OfAll, Some(1), Some(3)));
        let wanted = parsed("-H -g a sda sdb -g b -p sdc").unwrap();
        assert_eq!(wanted.groups[0].devices.len(), 2);
        assert_eq!(wanted.groups[1], Group { name: "b".into(), devices: vec![("sdc".into(), true)] });
        assert!(parsed("-").is_ok() && parsed("-ymx vda 1 1").is_ok() && parsed("0").is_ok());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bad =
            ["-q", "--foo", "--dec=3", "-o XML", "-o", "-g", "-j", "-H", "-k -m", "1 2 3", "1 0", "-1", "--"];
        for line in bad.into_iter().chain(["-f /tmp", "+f /tmp", "99999999999999999999", "9999999999999"]) {
            assert!(matches!(parsed(line), Err(Stop::Wrong(_))), "{line}");
        }
        assert_eq!(parsed("-x -V --foo"), Err(Stop::Version));
    }
}
