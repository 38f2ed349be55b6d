//! iperf3's command line, as `getopt_long` reads it: letters together, values attached or apart, words shortened.
//!
//! It looks at nothing: keys, passwords and the machine come later.

use iodyno_model::Origin;

use super::amount;
use super::options::{SERVER_ONLY, TABLE, is_client_only};
use super::strftime;
use crate::option::{Entry, Status};

/// Why a command line leads to no test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `-h`.
    Help,
    /// `-v`.
    Version,
    /// Something is wrong; the words that follow `iperf3: parameter error - `.
    Parameter(String),
    /// An option that cannot be; the whole message without `iperf3: `.
    Option(String),
}

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// `-s`.
    pub server: bool,
    /// `-c`.
    pub host: Option<String>,
    /// `-p`.
    pub port: u16,
    /// `-f`.
    pub format: char,
    /// `-i`, s.
    pub interval_s: f64,
    /// `-I`.
    pub pid_file: Option<String>,
    /// `-F`.
    pub file: Option<String>,
    /// How long that is, where it is sent and its length is known.
    pub file_bytes: u64,
    /// `-A`: ours and the server's.
    pub affinity: Option<(u32, Option<u32>)>,
    /// `-B`.
    pub bind: Option<String>,
    /// `--bind-dev`, or what stands behind a `%`.
    pub device: Option<String>,
    /// `-V`.
    pub verbose: bool,
    /// `-J`, or what implies it.
    pub json: bool,
    /// `--json-stream`.
    pub json_stream: bool,
    /// `--json-stream-full-output`.
    pub json_full: bool,
    /// `--logfile`.
    pub log_file: Option<String>,
    /// `--timestamps`.
    pub timestamps: Option<String>,
    /// `--rcv-timeout`, ms.
    pub receive_timeout_ms: u64,
    /// `--snd-timeout`, ms; 0: the system's.
    pub send_timeout_ms: u64,
    /// `--cntl-ka`.
    pub keepalive: Option<String>,
    /// `-m`.
    pub mptcp: bool,
    /// `-d`.
    pub debug: bool,
    /// `-D`.
    pub daemon: bool,
    /// `-1`.
    pub one_off: bool,
    /// `--server-bitrate-limit`: bits per second, and over how many seconds.
    pub rate_limit: Option<(u64, u64)>,
    /// `--idle-timeout`, s.
    pub idle_timeout_s: Option<u64>,
    /// `--server-max-duration`, s.
    pub most_time_s: Option<u64>,
    /// `--rsa-private-key-path`.
    pub private_key: Option<String>,
    /// `--authorized-users-path`.
    pub users: Option<String>,
    /// `--time-skew-threshold`, s.
    pub skew_s: u64,
    /// `--use-pkcs1-padding`.
    pub pkcs1: bool,
    /// `--connect-timeout`, ms; 0: the system's.
    pub connect_timeout_ms: u64,
    /// `--cport`.
    pub near_port: u16,
    /// `-4`, `-6`.
    pub family: Option<u8>,
    /// `--username`.
    pub user: Option<String>,
    /// `--rsa-public-key-path`.
    pub public_key: Option<String>,
    /// `-T`.
    pub title: Option<String>,
    /// What is agreed with the server.
    pub test: super::params::Params,
    /// `-b` was given.
    pub rate_given: bool,
    /// The names of the options that were given, as the table has them.
    pub given: Vec<&'static str>,
}

/// What is wanted, or why there is nothing to do.
///
/// # Errors
/// See [`Stop`].
pub fn parse(arguments: &[String]) -> Result<Command, Stop> {
    let mut wanted = Command {
        port: 5201,
        format: 'a',
        interval_s: 1.0,
        receive_timeout_ms: 120_000,
        skew_s: 10,
        ..Command::default()
    };
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        if let Some(word) = argument.strip_prefix("--").filter(|word| !word.is_empty()) {
            long(word, &mut rest, &mut wanted)?;
        } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            short(letters, &mut rest, &mut wanted)?;
        } else if argument != "--" {
            return Err(parameter(format!("unexpected argument `{argument}`: options begin with a dash")));
        }
    }
    consistent(wanted)
}

fn parameter(text: impl Into<String>) -> Stop {
    Stop::Parameter(text.into())
}

type Rest<'a, 'b> = &'b mut dyn Iterator<Item = &'a str>;

fn long<'a>(word: &'a str, rest: Rest<'a, '_>, wanted: &mut Command) -> Result<(), Stop> {
    let (name, attached) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    let entry = named(name)?;
    let optional = entry.value.starts_with('[');
    let value = match (takes(entry), attached) {
        (false, Some(_)) => return Err(Stop::Option(format!("option '--{name}' doesn't allow an argument"))),
        (false, None) => "",
        (true, Some(value)) => value,
        (true, None) if optional => "",
        (true, None) => {
            rest.next().ok_or_else(|| Stop::Option(format!("option '--{name}' requires an argument")))?
        }
    };
    set(entry, value, wanted)
}

/// The option of that name, or the only one that begins so.
fn named(name: &str) -> Result<&'static Entry, Stop> {
    let is_word = |known: &str| known.chars().count() > 1;
    if let Some(entry) = TABLE.find(name).filter(|_| is_word(name)) {
        return Ok(entry);
    }
    let begins = |entry: &&Entry| {
        entry.name.starts_with(name)
            || entry.aliases.iter().any(|alias| is_word(alias) && alias.starts_with(name))
    };
    let found: Vec<&'static Entry> = TABLE.entries.iter().filter(begins).collect();
    match found.as_slice() {
        [entry] => Ok(entry),
        [] => {
            let near =
                TABLE.suggest(name).map(|near| format!(" (did you mean '--{near}'?)")).unwrap_or_default();
            Err(Stop::Option(format!("unrecognized option '--{name}'{near}")))
        }
        several => {
            let names: Vec<String> = several.iter().map(|entry| format!("'--{}'", entry.name)).collect();
            Err(Stop::Option(format!("option '--{name}' is ambiguous; possibilities: {}", names.join(" "))))
        }
    }
}

fn short<'a>(letters: &'a str, rest: Rest<'a, '_>, wanted: &mut Command) -> Result<(), Stop> {
    for (at, letter) in letters.char_indices() {
        let name = &letters[at..at + letter.len_utf8()];
        let entry = TABLE.find(name).ok_or_else(|| Stop::Option(format!("invalid option -- '{letter}'")))?;
        let behind = &letters[at + letter.len_utf8()..];
        if !takes(entry) || entry.value.starts_with('[') {
            set(entry, "", wanted)?;
            continue;
        }
        let missing = || Stop::Option(format!("option requires an argument -- '{letter}'"));
        let value = if behind.is_empty() { rest.next().ok_or_else(missing)? } else { behind };
        return set(entry, value, wanted);
    }
    Ok(())
}

fn takes(entry: &Entry) -> bool {
    !entry.value.is_empty()
}

fn set(entry: &'static Entry, value: &str, wanted: &mut Command) -> Result<(), Stop> {
    if let Status::Refused(..) = entry.status {
        let refused = TABLE.check(entry.name, &Origin::Default).err();
        let (what, hint) = refused.map(|refused| (refused.message, refused.hint)).unwrap_or_default();
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        return Err(parameter(format!("{what}{hint}")));
    }
    wanted.given.push(entry.name);
    if switched(entry.name, wanted)?
        || shared(entry.name, value, wanted)?
        || serving(entry.name, value, wanted)?
    {
        return Ok(());
    }
    measured(entry.name, value, wanted)
}

fn switched(name: &str, wanted: &mut Command) -> Result<bool, Stop> {
    let test = &mut wanted.test;
    match name {
        "help" => return Err(Stop::Help),
        "version" => return Err(Stop::Version),
        "server" => wanted.server = true,
        "verbose" => wanted.verbose = true,
        "json" => wanted.json = true,
        "json-stream" => (wanted.json, wanted.json_stream) = (true, true),
        "json-stream-full-output" => wanted.json_full = true,
        "forceflush" | "no-fq-socket-pacing" => {}
        "mptcp" => (wanted.mptcp, test.mptcp) = (true, true),
        "daemon" => wanted.daemon = true,
        "one-off" => wanted.one_off = true,
        "use-pkcs1-padding" => wanted.pkcs1 = true,
        "udp" => test.udp = true,
        "sctp" => test.sctp = true,
        "reverse" => test.reverse = true,
        "bidir" => test.bidir = true,
        "no-delay" => test.nodelay = true,
        "version4" => wanted.family = Some(4),
        "version6" => wanted.family = Some(6),
        "zerocopy" => test.zerocopy = true,
        "skip-rx-copy" => test.skip_rx_copy = true,
        "get-server-output" => test.get_server_output = true,
        "udp-counters-64bit" => test.counters_64bit = true,
        "gsro" => test.gsro = true,
        "repeating-payload" => test.repeating_payload = true,
        "dont-fragment" => test.dont_fragment = true,
        _ => return Ok(false),
    }
    Ok(true)
}

fn shared(name: &str, value: &str, wanted: &mut Command) -> Result<bool, Stop> {
    let text = || Some(value.to_string());
    match name {
        "port" => wanted.port = number(value, 1, 65_535, "port")? as u16,
        "format" => {
            let letter = value.chars().next().filter(|letter| "kmgtKMGT".contains(*letter));
            wanted.format = letter
                .ok_or_else(|| parameter("bad format specifier (valid formats are in the set [kmgtKMGT])"))?;
        }
        "interval" => {
            let seconds = value.parse().ok().filter(|s: &f64| *s == 0.0 || (0.1..=60.0).contains(s));
            wanted.interval_s =
                seconds.ok_or_else(|| parameter("invalid report interval (min = 0.1, max = 60 seconds)"))?;
        }
        "pidfile" => wanted.pid_file = text(),
        "file" => wanted.file = text(),
        "affinity" => {
            let (ours, theirs) = value.split_once(',').map_or((value, None), |(a, b)| (a, Some(b)));
            let bad = |_| parameter("bad -A affinity specifier: expected N or N,M");
            let theirs = theirs.map(str::parse).transpose().map_err(bad)?;
            wanted.affinity = Some((ours.parse().map_err(bad)?, theirs));
        }
        "bind" => {
            let (address, device) = behind_percent(value);
            wanted.bind = Some(address);
            wanted.device = device.or(wanted.device.take());
        }
        "bind-dev" => wanted.device = text(),
        "logfile" => wanted.log_file = text(),
        "timestamps" => {
            wanted.timestamps = Some(if value.is_empty() { strftime::DEFAULT } else { value }.into())
        }
        "rcv-timeout" => wanted.receive_timeout_ms = number(value, 100, 86_400_000, "receive timeout in ms")?,
        "snd-timeout" => wanted.send_timeout_ms = number(value, 0, 86_400_000, "send timeout in ms")?,
        "cntl-ka" => wanted.keepalive = Some(if value.is_empty() { "on" } else { value }.into()),
        "debug" => wanted.debug = true,
        _ => return Ok(false),
    }
    Ok(true)
}

fn serving(name: &str, value: &str, wanted: &mut Command) -> Result<bool, Stop> {
    let text = || Some(value.to_string());
    match name {
        "server-bitrate-limit" => {
            let (rate, seconds) = value.split_once('/').unwrap_or((value, "5"));
            let rate = amount::rate(rate)
                .ok_or_else(|| parameter("server bitrate limit: expected a rate such as 100M"))?;
            wanted.rate_limit =
                Some((rate, number(seconds, 1, 3600, "averaging time in seconds")?)).filter(|_| rate > 0);
        }
        "idle-timeout" => wanted.idle_timeout_s = Some(number(value, 1, 86_400, "idle timeout in seconds")?),
        "server-max-duration" => wanted.most_time_s = Some(number(value, 1, 86_400, "duration in seconds")?),
        "rsa-private-key-path" => wanted.private_key = text(),
        "authorized-users-path" => wanted.users = text(),
        "time-skew-threshold" => wanted.skew_s = number(value, 1, 86_400, "time skew in seconds")?,
        "client" => {
            let (host, device) = behind_percent(value);
            wanted.host = Some(host);
            wanted.device = device.or(wanted.device.take());
        }
        "connect-timeout" => {
            wanted.connect_timeout_ms = number(value, 0, 86_400_000, "connect timeout in ms")?
        }
        "cport" => wanted.near_port = number(value, 1, 65_535, "client port")? as u16,
        "username" => wanted.user = text(),
        "rsa-public-key-path" => wanted.public_key = text(),
        "title" => wanted.title = text(),
        _ => return Ok(false),
    }
    Ok(true)
}

fn measured(name: &str, value: &str, wanted: &mut Command) -> Result<(), Stop> {
    let test = &mut wanted.test;
    let size = |what: &str| {
        amount::size(value).ok_or_else(|| parameter(format!("`{value}`: expected {what} such as 64K or 10M")))
    };
    match name {
        "bitrate" => {
            let (rate, burst) =
                value.split_once('/').map_or((value, None), |(rate, burst)| (rate, Some(burst)));
            let bad = || parameter(format!("`{value}`: expected a rate such as 100M"));
            test.rate = amount::rate(rate).ok_or_else(bad)?;
            test.burst = burst.map_or(Ok(0), |burst| number(burst, 1, 1000, "burst"))? as u32;
            wanted.rate_given = true;
        }
        "pacing-timer" => test.pacing_timer = size("a number of µs")?,
        "fq-rate" => {
            test.fq_rate =
                amount::rate(value).ok_or_else(|| parameter("fq-rate: expected a rate such as 100M"))?;
        }
        "time" => test.time_s = number(value, 0, 86_400, "test duration in seconds")?,
        "bytes" => test.bytes = size("a number of bytes")?,
        "blockcount" => test.blocks = size("a number of blocks")?,
        "length" => test.block_bytes = size("a block size")?,
        "parallel" => {
            let too_large = "number of parallel streams too large (maximum = 128)";
            test.parallel = value
                .parse()
                .ok()
                .filter(|count| (1..=128).contains(count))
                .ok_or_else(|| parameter(too_large))?;
        }
        "window" => {
            let too_large = "socket buffer size too large (maximum = 536870912 bytes)";
            test.window = amount::size(value)
                .filter(|bytes| *bytes <= 512 << 20)
                .ok_or_else(|| parameter(too_large))?;
        }
        "congestion" => test.congestion = value.into(),
        "set-mss" => test.mss = number(value, 1, 32_767, "TCP MSS")? as u32,
        "tos" => {
            test.tos = based(value)
                .filter(|tos| *tos <= 255)
                .ok_or_else(|| parameter("bad TOS value (must be between 0 and 255 inclusive)"))?
        }
        "dscp" => {
            test.tos = dscp(value)
                .ok_or_else(|| parameter("bad DSCP value (0 to 63, or a name such as ef, af11, cs1)"))?
        }
        "flowlabel" => {
            let bad = "bad flow label (must be between 1 and 1048575 inclusive)";
            test.flow_label =
                based(value).filter(|label| (1..=0xf_ffff).contains(label)).ok_or_else(|| parameter(bad))?;
        }
        "omit" => test.omit_s = number(value, 0, 600, "omit time in seconds")?,
        "extra-data" => test.extra_data = Some(value.into()),
        other => return Err(parameter(format!("`{other}` is not known"))),
    }
    Ok(())
}

fn number(value: &str, least: u64, most: u64, what: &str) -> Result<u64, Stop> {
    let bad = || parameter(format!("`{value}`: expected a {what} between {least} and {most}"));
    value.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(bad)
}

/// Decimal, `0x` hexadecimal or `0` octal.
fn based(value: &str) -> Option<u32> {
    match (value.strip_prefix("0x").or(value.strip_prefix("0X")), value.strip_prefix('0')) {
        (Some(digits), _) => u32::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) if !digits.is_empty() => u32::from_str_radix(digits, 8).ok(),
        _ => value.parse().ok(),
    }
}

/// The traffic class byte of a DSCP. Source of the names: RFC 2474, 2597, 3246, 5865, 8622.
fn dscp(value: &str) -> Option<u32> {
    let name = value.to_ascii_lowercase();
    let class = |digits: &str| digits.parse::<u32>().ok();
    let code = match name.as_str() {
        "ef" => Some(46),
        "le" => Some(1),
        "voice-admit" | "va" => Some(44),
        _ if name.starts_with("cs") => class(&name[2..]).filter(|class| *class < 8).map(|class| class * 8),
        _ if name.starts_with("af") => class(&name[2..])
            .filter(|pair| (1..=4).contains(&(pair / 10)) && (1..=3).contains(&(pair % 10)))
            .map(|pair| pair / 10 * 8 + pair % 10 * 2),
        _ => based(&name).filter(|code| *code < 64),
    }?;
    Some(code << 2)
}

fn behind_percent(value: &str) -> (String, Option<String>) {
    match value.split_once('%') {
        // A link-local address keeps its zone: the name service needs it.
        Some((host, device)) if !host.to_ascii_lowercase().starts_with("fe80") => {
            (host.to_string(), Some(device.to_string()))
        }
        _ => (value.to_string(), None),
    }
}

fn consistent(mut wanted: Command) -> Result<Command, Stop> {
    if wanted.server && wanted.host.is_some() {
        return Err(parameter("cannot be both server and client"));
    }
    if !wanted.server && wanted.host.is_none() {
        return Err(parameter("must either be a client (-c) or server (-s)"));
    }
    if !wanted.server && wanted.given.iter().any(|name| SERVER_ONLY.contains(name)) {
        return Err(parameter("some option you are trying to set is server only"));
    }
    if wanted.server && wanted.given.iter().any(|name| is_client_only(name)) {
        return Err(parameter("some option you are trying to set is client only"));
    }
    if wanted.private_key.is_some() != wanted.users.is_some() {
        return Err(parameter(
            "you must specify a path to a valid RSA private key and a user credential file",
        ));
    }
    if wanted.user.is_some() != wanted.public_key.is_some() {
        return Err(parameter("you must specify a username and a path to a valid RSA public key"));
    }
    if wanted.file.is_some() {
        one_way(&wanted.test)?;
    }
    wanted.json_stream |= wanted.json_full;
    wanted.json |= wanted.json_full;
    test_of(&mut wanted)?;
    Ok(wanted)
}

/// A file goes one way, through one stream.
fn one_way(test: &super::params::Params) -> Result<(), Stop> {
    match test {
        test if test.udp => Err(parameter("cannot transfer file using UDP")),
        test if test.bidir => {
            Err(parameter("cannot transfer file both ways at once: leave --bidir or -F out"))
        }
        test if test.parallel > 1 => {
            Err(parameter("cannot transfer file over several streams: leave -P or -F out"))
        }
        _ => Ok(()),
    }
}

fn test_of(wanted: &mut Command) -> Result<(), Stop> {
    let test = &mut wanted.test;
    let ends = [wanted.given.contains(&"time"), test.bytes > 0, test.blocks > 0];
    if ends.iter().filter(|end| **end).count() > 1 {
        return Err(parameter("only one test end condition (-t, -n, -k) may be specified"));
    }
    if test.sctp {
        let of_tcp = ["udp", "mptcp", "no-delay", "set-mss", "congestion"];
        if let Some(name) = of_tcp.into_iter().find(|name| wanted.given.contains(name)) {
            return Err(parameter(format!("--{name} cannot be had over SCTP: leave one of them out")));
        }
    }
    if test.reverse && test.bidir {
        return Err(parameter("cannot be both reverse and bidirectional"));
    }
    if !wanted.given.contains(&"time") && test.bytes == 0 && test.blocks == 0 {
        test.time_s = 10;
    }
    if test.udp && !wanted.rate_given {
        test.rate = 1 << 20;
    }
    test.parallel = test.parallel.max(1);
    if test.pacing_timer == 0 {
        test.pacing_timer = 1000;
    }
    test.affinity = wanted.affinity.and_then(|(_, theirs)| theirs);
    if test.udp && test.block_bytes != 0 && !(16..=65_507).contains(&test.block_bytes) {
        return Err(parameter("block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"));
    }
    if test.block_bytes > 1 << 20 {
        return Err(parameter("block size too large (maximum = 1048576 bytes)"));
    }
    if test.udp && test.zerocopy {
        test.zerocopy = false;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, Stop> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        let wanted =
            of("-c h%eth0 -ub 100M/10 -P4 -t 5 --bidir -O 1 --get-server --dscp af11 -i .5 -fm -w 64K")
                .unwrap();
        assert_eq!((wanted.host.as_deref(), wanted.device.as_deref()), (Some("h"), Some("eth0")));
        let test = &wanted.test;
        assert_eq!((test.rate, test.burst, test.parallel, test.time_s), (100_000_000, 10, 4, 5));
        assert!(test.udp && test.bidir && test.get_server_output);
        assert_eq!((test.omit_s, test.tos, test.window), (1, 40, 65_536));
        assert_eq!((wanted.interval_s, wanted.format), (0.5, 'm'));
        let server = of("-s -1 -p 5999 --timestamps --server-bitrate-limit 1G/3").unwrap();
        assert_eq!((server.port, server.one_off, server.rate_limit), (5999, true, Some((1_000_000_000, 3))));
        assert_eq!(server.timestamps.as_deref(), Some("%c "));
        assert_eq!(of("-c h -u").unwrap().test.rate, 1 << 20);
        assert_eq!(of("-c h -n 64M").unwrap().test.time_s, 0);
        assert_eq!(
            (dscp("ef"), dscp("CS3"), dscp("0x0a"), dscp("af99"), dscp("64")),
            (Some(184), Some(96), Some(40), None, None)
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |line| match of(line) {
            Err(Stop::Parameter(text) | Stop::Option(text)) => text,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(wrong("-c x -s"), "cannot be both server and client");
        assert_eq!(wrong(""), "must either be a client (-c) or server (-s)");
        assert_eq!(wrong("-c x -D"), "some option you are trying to set is server only");
        assert_eq!(wrong("-s -R"), "some option you are trying to set is client only");
        assert_eq!(wrong("-c x -P 200"), "number of parallel streams too large (maximum = 128)");
        assert_eq!(wrong("-c x -t 1 -n 5"), "only one test end condition (-t, -n, -k) may be specified");
        assert_eq!(wrong("-c x -F a -u"), "cannot transfer file using UDP");
        assert!(wrong("-c x -F a -P 2").contains("several streams"));
        assert!(wrong("-c x --sctp -N").contains("--no-delay cannot be had over SCTP"));
        assert!(wrong("-c x --sctp --nstreams 3").contains("one stream"));
        assert!(wrong("--nonsense").starts_with("unrecognized option '--nonsense'"));
        assert!(wrong("-c x --re").contains("ambiguous"));
        assert_eq!(wrong("-c"), "option requires an argument -- 'c'");
        assert_eq!(of("-h"), Err(Stop::Help));
        assert_eq!(of("-v"), Err(Stop::Version));
        // No argument breaks it, whatever it is.
        for text in ["-", "--", "-é", "--=", "-t=", "-b/", "-A,", "-c%", "-l-1", "-S0x", "-w1e400"] {
            let _ = of(text);
        }
    }
}
