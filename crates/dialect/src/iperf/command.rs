//! iperf 2's command line: short options with their values behind them or next to them, long ones with `=` or a blank.
//!
//! It knows no address and no socket: what cannot be is found out when it is tried.

use std::ops::RangeInclusive;

use iodyno_model::{Diagnostic, Origin};

use crate::option::{Arguments, GivenOption, Misfit, Status, Syntax, Token, setter};

use super::bounceback::{self, Bounce};
use super::frames::{Bins, Frames};
use super::header::{self, Amount};
use super::number;
use super::options::{SETTERS, TABLE};

const SYNTAX: Syntax = Syntax { switches_take: true, ..Syntax::GETOPT };

/// How fast each stream sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// bit/s.
    Bits(f64),
    /// Writes each second.
    Writes(f64),
}

/// Bytes of a write of the load beside round trips: messages of their length would load processors.
pub const LOAD_BYTES: u64 = 128 << 10;

/// The streams beside round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    pub sends: bool,
    pub receives: bool,
    pub streams: u32,
}

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// `-c`: the server; none: we are it.
    pub host: Option<String>,
    /// `-u`.
    pub udp: bool,
    /// `-p`.
    pub port: u16,
    /// `-L`.
    pub listen_port: Option<u16>,
    /// `-i`, ns; 0: no rows.
    pub interval_ns: u64,
    /// `-t` in ns or `-n`; none: neither was given.
    pub amount: Option<Amount>,
    /// `-P`; of a server: how many clients, 0: any.
    pub streams: u32,
    /// `-b`; none: as fast as it goes, of datagrams a megabit.
    pub rate: Option<Rate>,
    /// `-l`.
    pub block_bytes: Option<u64>,
    /// `-w`.
    pub window_bytes: Option<u64>,
    /// Other options of the sockets.
    pub socket_options: Vec<(String, String)>,
    /// `-B`.
    pub bind: Option<String>,
    /// `-V`.
    pub ipv6: bool,
    /// `-f`.
    pub format: char,
    /// `-y C`.
    pub csv: bool,
    /// `-e`.
    pub enhanced: bool,
    /// `-d`.
    pub dual: bool,
    /// `-r`.
    pub trade: bool,
    /// `-R`.
    pub reverse: bool,
    /// `-D`.
    pub daemon: bool,
    /// `-1`.
    pub single: bool,
    /// `-C`.
    pub compatible: bool,
    /// `-o`.
    pub output: Option<String>,
    /// `-F`.
    pub file: Option<String>,
    /// `-x`.
    pub excluded: String,
    /// `--sum-only`.
    pub sum_only: bool,
    /// `--no-udp-fin`.
    pub no_final: bool,
    /// `--connect-retries`.
    pub retries: u32,
    /// `-M`.
    pub mss: Option<u64>,
    /// `-S`, for headings.
    pub tos: u32,
    /// `-N`.
    pub nodelay: bool,
    /// `--full-duplex`.
    pub full_duplex: bool,
    /// `--trip-times`: of datagrams they are measured in any case.
    pub trip_times: bool,
    /// `--isochronous`.
    pub frames: Option<Frames>,
    /// `--histograms`.
    pub bins: Option<Bins>,
    /// `--bounceback-congest`.
    pub load: Option<Congestion>,
    /// `--bounceback`: messages of a burst.
    pub bounces: Option<u32>,
    /// `--bounceback-period`, ns; 0: one after the other.
    pub bounce_period_ns: u64,
    /// `--bounceback-hold`, µs.
    pub bounce_hold_us: u32,
    /// `--bounceback-no-quickack`.
    pub no_quickack: bool,
}

impl Command {
    /// Bytes of a write or datagram.
    pub fn block(&self) -> u64 {
        self.block_bytes.unwrap_or(match (self.udp, self.ipv6) {
            _ if self.bounces.is_some() => 100,
            (true, false) => 1470,
            (true, true) => 1450,
            (false, _) => 128 << 10,
        })
    }

    /// The rate in bit/s of one stream; none: as fast as it goes.
    pub fn bits(&self) -> Option<f64> {
        match self.rate {
            None => self.udp.then_some(1_048_576.0),
            Some(Rate::Bits(bits)) => Some(bits).filter(|bits| *bits > 0.0),
            Some(Rate::Writes(writes)) => Some(writes * self.block() as f64 * 8.0),
        }
    }

    /// What each message asks for, where they come back.
    pub fn bounce(&self) -> Option<Bounce> {
        self.bounces.map(|_| Bounce {
            bytes: self.block() as u32,
            hold_us: self.bounce_hold_us,
            quick: !self.no_quickack,
        })
    }

    /// How many of them go out in each period of so many ns; none: one after the other.
    pub fn burst_of_bounces(&self) -> Option<(u32, u64)> {
        self.bounces.filter(|_| self.bounce_period_ns > 0).map(|burst| (burst, self.bounce_period_ns))
    }

    /// Until when a stream sends.
    pub fn until(&self) -> Amount {
        self.amount.unwrap_or_default()
    }
}

/// What is to be done instead of a test.
#[derive(Clone, Debug, PartialEq)]
pub enum EarlyExit {
    /// `-h`.
    Help,
    /// `-v`.
    Version,
    /// Everything that is wrong.
    Wrong(Vec<Diagnostic>),
}

/// Reads a command line.
///
/// # Errors
/// What keeps it from being followed, or what is to be printed instead.
pub fn parse(arguments: &[String]) -> Result<Command, EarlyExit> {
    let command = Command { port: 5001, format: 'a', bounce_period_ns: 1_000_000_000, ..Command::default() };
    let mut parsing =
        Parsing { command, wrong: Vec::new(), is_server: false, has_interval: false, stop: None };
    for token in Arguments::new(&TABLE, SYNTAX, arguments) {
        parsing.token(token);
    }
    parsing.finish()
}

/// A command line that is being read.
#[derive(Debug)]
pub struct Parsing {
    /// What it says so far.
    pub command: Command,
    wrong: Vec<Diagnostic>,
    /// `-s`.
    pub is_server: bool,
    /// `-i` was given.
    pub has_interval: bool,
    /// What is to be printed instead.
    pub stop: Option<EarlyExit>,
}

impl Parsing {
    fn token(&mut self, token: Result<Token<'_>, Misfit<'_>>) {
        let done = match token {
            Ok(Token::Option(given)) => self.option(given),
            Err(Misfit::Unfinished { argument, entry, .. }) => {
                self.option(GivenOption { entry, argument, value: None, is_apart: false })
            }
            Err(Misfit::Unknown { argument, name, .. }) => {
                TABLE.check(name, &Origin::argument(argument)).map(|_| ())
            }
            Ok(Token::Separator) => TABLE.check("", &Origin::argument("--")).map(|_| ()),
            Ok(Token::Operand(argument)) => {
                let what = Diagnostic::error(&Origin::argument(argument), "expected an option");
                Err(what.hint("the server is named by -c HOST"))
            }
            Err(Misfit::Ambiguous { .. } | Misfit::Superfluous { .. }) => Ok(()),
        };
        self.wrong.extend(done.err());
    }

    fn option(&mut self, given: GivenOption<'_>) -> Result<(), Diagnostic> {
        let (entry, origin) = (given.entry, Origin::argument(given.argument));
        TABLE.check(entry.name, &origin)?;
        let value = given.value.unwrap_or_default();
        if matches!(entry.status, Status::Ignored(_)) {
            return Ok(());
        }
        if !entry.value.is_empty() && value.is_empty() && !entry.value.starts_with('[') {
            let what = format!("`{}` wants {}: {}", entry.name, entry.value, entry.help);
            return Err(Diagnostic::error(&origin, what));
        }
        let set = setter(SETTERS, entry).map_or(Ok(()), |setter| setter.apply(self, value, |_| ()));
        set.map_err(|()| {
            Diagnostic::error(&origin, format!("`{value}`: expected {}: {}", entry.value, entry.help))
        })
    }

    pub fn socket_option(&mut self, name: &str, value: &str) {
        self.command.socket_options.push((name.into(), value.into()));
    }

    fn finish(mut self) -> Result<Command, EarlyExit> {
        if let Some(stop) = self.stop {
            return Err(stop);
        }
        self.both();
        self.both_ways();
        self.times();
        let command = &mut self.command;
        // As the original: what has times of its own is told with all that there is to say.
        command.enhanced |= command.frames.is_some() || command.bins.is_some();
        if command.bounces.is_some() {
            // As the original: rows each second with all that there is to say.
            command.enhanced = true;
            if !command.nodelay {
                command.nodelay = true;
                command.socket_options.push(("nodelay".into(), "on".into()));
            }
            if !self.has_interval {
                command.interval_ns = 1_000_000_000;
            }
        }
        for (name, value) in [("mss", command.mss), ("tos", Some(command.tos.into()).filter(|tos| *tos > 0))]
        {
            command.socket_options.extend(value.map(|value| (name.to_string(), value.to_string())));
        }
        if self.wrong.is_empty() { Ok(self.command) } else { Err(EarlyExit::Wrong(self.wrong)) }
    }

    /// What does not go together with data that goes both ways.
    fn both_ways(&mut self) {
        let command = &self.command;
        let mut refuse = |words: &str, what: &str, hint: &str| {
            self.wrong.push(Diagnostic::error(&Origin::argument(words), what).hint(hint));
        };
        let ways =
            [command.dual, command.trade, command.reverse, command.full_duplex, command.bounces.is_some()];
        let both = command.full_duplex || command.bounces.is_some();
        let name = if command.full_duplex { "--full-duplex" } else { "--bounceback" };
        if both && ways.iter().filter(|way| **way).count() > 1 {
            refuse(
                name,
                "it goes together with none of -d, -r, -R, --bounceback and --full-duplex",
                "leave the others out",
            );
        }
        if both && command.compatible {
            refuse("-C", "old servers know no data that goes both ways", "leave it out");
        }
        if command.bounces.is_some() && command.udp {
            refuse(name, "it is TCP's", "use `iodyno netperf -t UDP_RR`");
        }
        if command.bounces.is_none() {
            return;
        }
        let least = bounceback::HEADER_BYTES as u64;
        if !(least..=u64::from(bounceback::BYTES_MOST)).contains(&command.block()) {
            refuse("-l", "a message that comes back has 60 bytes to 128 KiB", "give -l 100");
        }
        if matches!(command.amount, Some(Amount::Bytes(_))) {
            refuse("-n", "messages that come back end with their time", "give -t");
        }
        if command.file.is_some() || command.rate.is_some() {
            let name = if command.file.is_some() { "-F" } else { "-b" };
            refuse(
                name,
                "messages that come back have their own content and times",
                "see --bounceback-period",
            );
        }
    }

    /// What does not go together with bursts, their times and their distribution.
    fn times(&mut self) {
        let command = &self.command;
        let mut refuse = |words: &str, what: &str, hint: &str| {
            self.wrong.push(Diagnostic::error(&Origin::argument(words), what).hint(hint));
        };
        let other_ways = command.dual || command.trade || command.full_duplex || command.bounces.is_some();
        let has_bursts = command.frames.is_some() || command.trip_times && !command.udp;
        let name = if command.frames.is_some() { "--isochronous" } else { "--trip-times" };
        if has_bursts && other_ways {
            refuse(
                name,
                "bursts go one way: not with -d, -r, --full-duplex or --bounceback",
                "leave the others out",
            );
        }
        if command.frames.is_some() && command.reverse {
            refuse(
                "-R",
                "the server would have to be told of frames, and is not",
                "start the client at the other host",
            );
        }
        if command.frames.is_some() && command.rate.is_some() {
            refuse("-b", "frames have their own rate", "give it to --isochronous=FPS:MEAN,STDDEV");
        }
        if (has_bursts || command.trip_times) && (command.compatible || command.file.is_some()) {
            let words = if command.compatible { "-C" } else { "-F" };
            refuse(words, "times lie in a header that this leaves no room for", "leave it out");
        }
        let least = if command.udp { header::LEAST_LONG } else { 64 };
        let in_datagrams = command.udp && command.trip_times;
        if (has_bursts || in_datagrams) && command.block() < least {
            refuse("-l", "times take 64 bytes of a block and 120 of a datagram", "give -l 128 or more");
        }
        if (has_bursts || in_datagrams) && self.is_server {
            refuse(name, "it is the client's word", "a server measures what clients ask for");
        }
        if command.bins.is_some() && !self.is_server && !command.reverse {
            refuse(
                "--histograms",
                "a client's are of waits for room, which is not measured",
                "give it to the server",
            );
        }
        if command.load.is_some() && command.bounces.is_none() {
            refuse("--bounceback-congest", "it is a load beside round trips", "add --bounceback");
        }
    }

    /// What does not go together.
    fn both(&mut self) {
        let command = &self.command;
        let good = self.wrong.is_empty();
        let mut print_row = |words: &str, what: &str, hint: &str| {
            self.wrong.push(Diagnostic::error(&Origin::argument(words), what).hint(hint));
        };
        match (self.is_server, &command.host) {
            (true, Some(_)) => print_row("-c", "both a server and a client", "give -s or -c"),
            (false, None) if good => {
                return self.wrong.push(
                    Diagnostic::error(&Origin::Default, "neither a server nor a client")
                        .hint("give -s, or -c HOST"),
                );
            }
            _ => {}
        }
        if command.udp && command.file.is_some() {
            print_row(
                "-F",
                "datagrams carry no file here: their content says nothing about the network",
                "leave it out, or -u",
            );
        }
        if command.udp && command.block() > 65_507 {
            print_row("-l", "no datagram holds more than 65507 bytes", "give less, or leave -u out");
        }
        if command.udp && command.block() < 16 {
            print_row("-l", "a datagram's own header has 16 bytes", "give -l 16 or more");
        }
        if command.reverse && (command.dual || command.trade) {
            print_row("-R", "the server sends already with -d and -r", "leave one of them out");
        }
        let much = matches!(command.amount, Some(Amount::Bytes(bytes)) if bytes > i32::MAX as u64);
        if much && (command.reverse || command.dual || command.trade) {
            print_row("-n", "a server can be told of less than 2 GiB", "use -t, or `iodyno iperf3 -R`");
        }
        if matches!(command.amount, Some(Amount::Bytes(0))) {
            print_row("-n", "nothing to send", "give a number of bytes");
        }
        if !self.is_server && command.daemon {
            print_row("-D", "only a server goes on in the background", "start the client with nohup and &");
        }
        if command.compatible && command.reverse {
            print_row("-C", "old servers cannot send on the client's connection", "leave -C or -R out");
        }
    }
}

pub(super) fn bytes(value: &str, bounds: RangeInclusive<u64>) -> Result<u64, ()> {
    number::amount(value).map(|bytes| bytes as u64).filter(|bytes| bounds.contains(bytes)).ok_or(())
}

pub(super) fn seconds(value: &str) -> Result<u64, ()> {
    let seconds = value.parse().ok().filter(|seconds: &f64| (0.0..1e9).contains(seconds));
    seconds.map(|seconds| (seconds * 1e9).round() as u64).ok_or(())
}

/// 0, or at least 5 ms.
pub(super) fn interval(value: &str) -> Result<u64, ()> {
    seconds(value).and_then(|ns| if ns == 0 || ns >= 5_000_000 { Ok(ns) } else { Err(()) })
}

/// So many messages in a burst: ten, where nothing is said.
pub(super) fn bounces(value: &str) -> Result<u32, ()> {
    if value.is_empty() { Ok(10) } else { value.parse().ok().filter(|count| *count > 0).ok_or(()) }
}

/// ms as µs.
pub(super) fn hold(value: &str) -> Result<u32, ()> {
    let ms = value.parse().ok().filter(|ms: &f64| (0.0..=60_000.0).contains(ms));
    ms.map(|ms| (ms * 1000.0) as u32).ok_or(())
}

/// `[up|down|bidir][,N]`.
pub(super) fn congestion(value: &str) -> Result<Congestion, ()> {
    let (way, streams) = match value.split_once(',') {
        Some((way, streams)) => {
            (way, streams.parse().ok().filter(|streams| (1..=64).contains(streams)).ok_or(())?)
        }
        None => (value, 1),
    };
    let (sends, receives) = match way {
        "up" => (true, false),
        "down" => (false, true),
        "" | "bidir" => (true, true),
        _ => return Err(()),
    };
    Ok(Congestion { sends, receives, streams })
}

pub(super) fn rate(value: &str) -> Result<Rate, ()> {
    let writes = value.strip_suffix("pps").or_else(|| value.strip_suffix("PPS"));
    let rate = match writes {
        Some(writes) => number::amount(writes.trim()).map(Rate::Writes),
        None => number::amount(value).map(Rate::Bits),
    };
    rate.ok_or(())
}

/// A rate in bit/s, as the sockets take it.
pub(super) fn bytes_per_second(value: &str) -> Result<String, ()> {
    number::amount(value).map(|bits| format!("{:.0}", bits / 8.0)).ok_or(())
}

pub(super) fn unit(value: &str) -> Result<char, ()> {
    let letter = value.chars().next().filter(|letter| "bkmgtaBKMGTA".contains(*letter));
    letter.filter(|_| value.chars().count() == 1).ok_or(())
}

pub(super) fn excluded(value: &str) -> Result<String, ()> {
    let is_known = value.chars().all(|letter| "CDMSVcdmsv".contains(letter));
    if is_known { Ok(value.to_ascii_uppercase()) } else { Err(()) }
}

pub(super) fn is_csv(value: &str) -> Result<(), ()> {
    if matches!(value, "C" | "c") { Ok(()) } else { Err(()) }
}

/// A type of service by its number or name (RFC 2474, 2597, 3246; RFC 1349 for the oldest).
pub(crate) fn tos(word: &str) -> Option<u32> {
    const NAMES: &[(&str, u32)] = &[
        ("ef", 46 << 2),
        ("le", 1 << 2),
        ("nqb", 45 << 2),
        ("nqb2", 42 << 2),
        ("ac_be", 0),
        ("ac_bk", 1 << 5),
        ("ac_vi", 4 << 5),
        ("ac_vo", 7 << 5),
        ("lowdelay", 0x10),
        ("throughput", 0x08),
        ("reliability", 0x04),
    ];
    let lower = word.to_ascii_lowercase();
    let digit = |at: usize, least: u32, most: u32| {
        let digit = lower.as_bytes().get(at).map(|digit| u32::from(digit.wrapping_sub(b'0')))?;
        (least..=most).contains(&digit).then_some(digit)
    };
    let number = match lower.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => lower.parse().ok(),
    };
    let named = || NAMES.iter().find(|(name, _)| *name == lower).map(|(_, value)| *value);
    let class = || (lower.len() == 3 && lower.starts_with("cs")).then(|| digit(2, 0, 7)).flatten();
    let assured = || {
        let fits = lower.len() == 4 && lower.starts_with("af");
        fits.then(|| Some((digit(2, 1, 4)? << 5) | (digit(3, 1, 3)? << 3))).flatten()
    };
    number
        .or_else(named)
        .or_else(|| class().map(|class| class << 5))
        .or_else(assured)
        .filter(|tos| *tos < 256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, EarlyExit> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn wrong(line: &str) -> String {
        let Err(EarlyExit::Wrong(wrong)) = read(line) else { panic!("`{line}` was taken") };
        wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn usual_lines() {
        let server = read("-s -u -p 5002").unwrap();
        assert!(server.host.is_none() && server.udp && server.port == 5002);
        let client = read("-c host -u -p5002 -e -i 1 -b 10m -l 1200 -t2.5 -P 4").unwrap();
        assert_eq!(client.host.as_deref(), Some("host"));
        assert_eq!((client.interval_ns, client.block(), client.streams), (1_000_000_000, 1200, 4));
        assert_eq!(client.bits(), Some(1e7));
        assert_eq!(client.until(), Amount::Time(2_500_000_000));
        let long = read("--client=host --num 10M --parallel 2 --window=64K --nodelay --format m").unwrap();
        assert_eq!(long.until(), Amount::Bytes(10 << 20));
        assert_eq!((long.window_bytes, long.format), (Some(65_536), 'm'));
        assert_eq!(long.socket_options, [("nodelay".to_string(), "on".to_string())]);
        assert_eq!(read("-c h -u").unwrap().bits(), Some(1_048_576.0));
        let bounces = read("-c h --bounceback").unwrap();
        assert_eq!(bounces.bounce(), Some(Bounce { bytes: 100, hold_us: 0, quick: true }));
        assert_eq!(
            (bounces.burst_of_bounces(), bounces.interval_ns),
            (Some((10, 1_000_000_000)), 1_000_000_000)
        );
        let more = "-c h --bounceback=3 --bounceback-period=0.5 --bounceback-hold 1.5 --bounceback-no-quickack -i 0 -l 60";
        let bounces = read(more).unwrap();
        assert_eq!(bounces.bounce(), Some(Bounce { bytes: 60, hold_us: 1500, quick: false }));
        assert_eq!((bounces.burst_of_bounces(), bounces.interval_ns), (Some((3, 500_000_000)), 0));
        assert_eq!(read("-c h --bounceback --bounceback-period=0").unwrap().burst_of_bounces(), None);
        assert!(read("-c h --full-duplex").unwrap().full_duplex);
        assert!(read("-c h -u --full-duplex").unwrap().full_duplex);
        assert_eq!(read("-c h").unwrap().bits(), None);
        assert_eq!(read("-c h -ub 100pps -l 1000").unwrap().bits(), Some(800_000.0));
        assert_eq!(read("-c h -S af11").unwrap().tos, 0x28);
        assert_eq!(read("-c h -S ef").unwrap().tos, 184);
    }

    #[test]
    fn what_is_wrong_is_said_at_once() {
        assert!(wrong("-c h --bounceback -u").contains("hint: use `iodyno netperf -t UDP_RR`"));
        assert!(wrong("-c h --bounceback -l 20").contains("60 bytes"));
        assert!(wrong("-c h --bounceback -n 5").contains("end with their time"));
        assert!(wrong("-c h --bounceback --full-duplex").contains("goes together with none"));
        assert!(wrong("-c h --full-duplex -R").contains("goes together with none"));
        assert!(wrong("-c h --bounceback=0").contains("`0`"));
        assert!(wrong("-c h --trip-times --full-duplex").contains("bursts go one way"));
        assert!(wrong("-c h -u --isochronous -R").contains("hint: start the client at the other host"));
        assert!(wrong("-c h -u --isochronous=30:2m -b 5m").contains("frames have their own rate"));
        assert!(wrong("-c h -u --isochronous -l 100").contains("give -l 128"));
        assert!(wrong("-c h --isochronous=0:5").contains("`0:5`"));
        assert!(wrong("-s --trip-times").contains("the client's word"));
        assert!(wrong("-c h --histograms").contains("hint: give it to the server"));
        assert!(wrong("-s --histograms=0").contains("`0`"));
        assert!(wrong("-c h --bounceback-congest").contains("hint: add --bounceback"));
        assert!(wrong("-c h --bounceback --bounceback-congest=left").contains("`left`"));
        assert!(read("-c h -u --trip-times").is_ok() && read("-c h --trip-times -R").is_ok());
        let load = read("-c h --bounceback --bounceback-congest=down,4").unwrap().load;
        assert_eq!(load, Some(Congestion { sends: false, receives: true, streams: 4 }));
        assert!(read("-s -u --histograms=10u,1000").unwrap().enhanced);
        assert!(wrong("-c h -p 0 -P 200").matches("error").count() == 2);
        assert!(wrong("-c h -s").contains("both"));
        assert!(wrong("-t 1").contains("neither"));
        assert!(wrong("-c h -n 5G -R").contains("2 GiB"));
        assert!(wrong("-c h -i 0.001").contains("`0.001`"));
        assert!(wrong("-c h -u -l 70000").contains("65507"));
        assert!(wrong("-c h --paralel 3").contains("did you mean `parallel`"));
        assert!(wrong("-c").contains("wants HOST"));
        assert_eq!(read("-h"), Err(EarlyExit::Help));
    }
}
