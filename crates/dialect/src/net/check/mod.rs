//! `iodyno net check`: one card for a link, in half a minute: is somebody there, how long does an answer take, what can the
//! interface carry, what goes through now, what of it is lost; and, every so often, the day's course.
//!
//! Each card is a run like any other, so that the history keeps it; the course is told from what is kept there.

mod card;
mod course;

pub(super) use card::rate;

use clap::Parser;
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_report::paint::Paint;

use crate::native::{self, Manner};
use crate::netperf::omni_client::{LinkTest, Measurement, ServerAddress};
use crate::{Converse, Loader, Repeat, Request, Run};

use super::ServerArguments;
use super::snmp::{PortAddress, Version};
use super::test_sequence::{TestSequence, TestStage};

const AFTER: &str = "Example: iodyno net check db1 --every 1h\n\
The other end: iodyno netserver -D, or netperf's own, which does not tell what becomes of single datagrams. Cards are kept \
under a tag of the host's; --course shows those of the last day without measuring anything.";

/// One card for a link.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "iodyno net check",
    about = "One card for a link: echo, reachable, response time, capacity, throughput now, utilisation, loss and jitter",
    after_help = AFTER,
    disable_version_flag = true
)]
struct Options {
    #[command(flatten)]
    whom: ServerArguments,
    /// Again after so much time, e.g. 1h, until it is interrupted; every card is kept
    #[arg(long, value_name = "T", value_parser = units::parse_ns)]
    every: Option<u64>,
    /// So many cards, with --every
    #[arg(long, value_name = "N", requires = "every")]
    times: Option<u32>,
    /// Only the last day's course, from what was kept
    #[arg(long, conflicts_with_all = ["every"])]
    course: bool,
    /// For how long each figure is measured, e.g. 2s
    #[arg(long, value_name = "T", default_value = "2s", value_parser = units::parse_ns)]
    time: u64,
    /// Datagrams a second each way, of 160 bytes as a voice's are; 0: none
    #[arg(long, value_name = "N", default_value_t = 500)]
    datagrams: u32,
    /// Also the switch's port at the other end of our cable, by SNMP: its host and its ifIndex, e.g. sw1:24
    #[arg(long, value_name = "HOST:IFINDEX")]
    snmp: Option<String>,
    /// The agent's port
    #[arg(long, value_name = "N", default_value_t = 161, requires = "snmp", value_parser = clap::value_parser!(u16).range(1..))]
    snmp_port: u16,
    /// The community that may read, which travels in clear text
    #[arg(long, value_name = "WORD", default_value = "public", requires = "snmp")]
    snmp_community: String,
    /// 1 or 2c; 1 has only counters of 32 bits
    #[arg(long, value_name = "V", default_value = "2c", requires = "snmp", value_parser = snmp_version)]
    snmp_version: Version,
    #[command(flatten)]
    manner: Manner,
}

fn snmp_version(text: &str) -> Result<Version, String> {
    match text {
        "1" => Ok(Version::One),
        "2c" => Ok(Version::TwoC),
        "3" => {
            Err("version 3 wants keys, which are not read here: let the agent answer 2c to this host".into())
        }
        _ => Err("expected 1 or 2c".into()),
    }
}

/// Content of a datagram, bytes: 20 ms of a voice.
const DATAGRAM_BYTES: u64 = 160;
/// Content of a request, bytes.
const MESSAGE_BYTES: u64 = 64;
/// Requests a second.
const REQUESTS: f64 = 200.0;
/// Sent at a time, bytes.
const BLOCK_BYTES: u64 = 128 << 10;
/// The shortest time between two cards, ns.
const LEAST_EVERY_NS: u64 = 1_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// From arguments to a request.
///
/// # Errors
/// What is wrong with them.
pub fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options: Options = match native::parsed("iodyno net check", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    check(&options).map_err(|wrong| vec![wrong])?;
    let port = switch_port(&options).map_err(|wrong| vec![wrong])?;
    let server = options.whom.server()?;
    let mut probe = TestSequence::new(server.clone(), Vec::new(), Box::new(|_| Default::default())).plan("");
    options.manner.apply(&mut probe).map_err(|wrong| vec![wrong])?;
    let (paint, tag) = (loader.paint(), tag(&server));
    let echo = may_ask_for_echo(loader);
    let make = |options: &Options| converse(options, &server, &tag, port.clone(), (paint, echo));
    if !options.course && options.every.is_none() {
        return Ok(make(&options).into());
    }
    Ok(Request::Repeat(Box::new(Repeat {
        every_ns: options.every.unwrap_or(0),
        times: if options.course { Some(0) } else { options.times },
        tag: tag.clone(),
        make: {
            let (options, server, tag) = (options.clone(), server.clone(), tag.clone());
            let port = port.clone();
            Box::new(move || converse(&options, &server, &tag, port.clone(), (paint, echo)))
        },
        course: Box::new(move |kept| course::text(&server.host, kept, paint)),
    })))
}

fn check(options: &Options) -> Result<(), Diagnostic> {
    let wrong = |option: &str, what: &str, hint: &str| {
        Err(Diagnostic::error(&Origin::argument(option), what).hint(hint.to_string()))
    };
    if options.time == 0 {
        return wrong("--time", "nothing is measured in no time", "say 2s");
    }
    if options.every.is_some_and(|every| every < LEAST_EVERY_NS) {
        return wrong("--every", "cards that follow each other so fast would be the link's load", "say 1h");
    }
    let repeats = options.every.is_some() || options.course;
    if repeats && !options.manner.export.clone().files().is_empty() {
        return wrong(
            "--every",
            "every card would be written to the same file",
            "iodyno runs shows what is kept",
        );
    }
    if options.every.is_some() && options.manner.keep.no_save {
        return wrong(
            "--no-save",
            "the course is told from what is kept",
            "leave it out, or leave --every out",
        );
    }
    Ok(())
}

/// A name by which a host's cards are found.
fn tag(server: &ServerAddress) -> String {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || ".-_:".contains(letter) { letter } else { '_' };
    format!("net-check/{}:{}", server.host.chars().map(plain).collect::<String>(), server.port)
}

/// Whether a group of this user may send ICMP's echo requests without privilege.
fn may_ask_for_echo(loader: &mut dyn Loader) -> bool {
    let mut text = |path: &str| {
        let bytes = loader.read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    is_group_within(&text("/proc/sys/net/ipv4/ping_group_range"), &text("/proc/self/status"))
}

/// Whether one of the groups that a process has, as `status` lists them, is between the two of a range.
fn is_group_within(range: &str, status: &str) -> bool {
    let numbers =
        |text: &str| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    let [first, last] = numbers(range)[..] else { return false };
    let groups = status.lines().filter_map(|line| line.strip_prefix("Gid:").or(line.strip_prefix("Groups:")));
    groups.flat_map(numbers).any(|group| (first..=last).contains(&group))
}

/// The port that `--snmp` names.
fn switch_port(options: &Options) -> Result<Option<PortAddress>, Diagnostic> {
    let Some(text) = &options.snmp else { return Ok(None) };
    let hint = "say the agent's host and the port's ifIndex, e.g. sw1:24 or [fe80::1]:24; `snmpwalk … ifName` lists them";
    let wrong =
        |what: &str| Diagnostic::error(&Origin::argument("--snmp"), format!("`{text}`: {what}")).hint(hint);
    let (host, index) = text.rsplit_once(':').ok_or_else(|| wrong("no ifIndex"))?;
    let index = index.parse().ok().filter(|index: &u32| (1..=i32::MAX as u32).contains(index));
    let index = index.ok_or_else(|| wrong("that is no ifIndex"))?;
    let (host, other) = super::host_and_port(host).map_err(|what| wrong(&what))?;
    if other.is_some() {
        return Err(wrong("the agent's port is told by --snmp-port"));
    }
    let (community, version) = (options.snmp_community.clone(), options.snmp_version);
    Ok(Some(PortAddress { host, port: options.snmp_port, index, community, version }))
}

fn converse(
    options: &Options,
    server: &ServerAddress,
    tag: &str,
    port: Option<PortAddress>,
    (paint, echo): (Paint, bool),
) -> Converse {
    let name = server.host.clone();
    let unasked = (!echo).then_some("no group of this user may (sysctl net.ipv4.ping_group_range)");
    let tell =
        move |outcome: &super::test_sequence::SequenceOutcome| card::report(&name, outcome, paint, unasked);
    let programme = TestSequence::new(server.clone(), stages(options, echo), Box::new(tell)).with_port(port);
    let mut plan = programme.plan("net check");
    // What does not fit was reported when the arguments were parsed.
    let _ = options.manner.apply(&mut plan);
    let mut run = Run::of_conversation(plan);
    options.manner.clone().join(&mut run);
    run.keep.tags.push(tag.into());
    if options.every.is_some() {
        run.keep.wanted = Some(true);
    }
    Converse::new(programme, run)
}

/// What is measured, one after the other.
fn stages(options: &Options, echo: bool) -> Vec<TestStage> {
    let ask = |name: &str, kind, time_ns, rate| LinkTest {
        name: name.into(),
        kind,
        time_ns,
        delay_ns: 0,
        rate,
        leads: false,
    };
    let stage = |name: &str, asks, spare| TestStage { name: name.into(), asks, spare };
    let one = |name: &str, kind, rate| vec![ask(name, kind, options.time, rate)];
    let echoes = ask(card::ECHO, Measurement::Echoes(MESSAGE_BYTES), SECOND_NS, Some(20.0));
    let mut stages = vec![stage(card::ECHO, vec![echoes], true)];
    stages.retain(|_| echo);
    stages.extend([
        stage(card::KNOCK, vec![ask(card::KNOCK, Measurement::Knocks, 2 * SECOND_NS, Some(20.0))], false),
        stage(
            card::RESPONSE,
            one(card::RESPONSE, Measurement::RoundTrips(MESSAGE_BYTES), Some(REQUESTS)),
            false,
        ),
        stage(card::OUT, one(card::OUT, Measurement::Sends(BLOCK_BYTES), None), true),
        stage(card::BACK, one(card::BACK, Measurement::Receives(BLOCK_BYTES), None), true),
    ]);
    if options.datagrams > 0 {
        let rate = Some(f64::from(options.datagrams));
        let mut asks = one(card::DATAGRAMS_OUT, Measurement::SendsDatagrams(DATAGRAM_BYTES), rate);
        asks.extend(one(card::DATAGRAMS_BACK, Measurement::TakesDatagrams(DATAGRAM_BYTES), rate));
        stages.push(stage(card::DATAGRAMS, asks, true));
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_host_and_a_number() {
        let of = |words: &str| {
            let line = format!("check db1 {words}");
            let options =
                Options::try_parse_from(line.split_whitespace()).map_err(|wrong| wrong.to_string())?;
            switch_port(&options).map_err(|wrong| wrong.to_string())
        };
        assert_eq!(of(""), Ok(None));
        let port = of("--snmp [fe80::1]:24 --snmp-version 1 --snmp-port 1161").unwrap().unwrap();
        assert_eq!((port.host.as_str(), port.index, port.port), ("fe80::1", 24, 1161));
        assert_eq!((port.version, port.community.as_str()), (Version::One, "public"));
        for (words, why) in [
            ("--snmp sw1", "no ifIndex"),
            ("--snmp sw1:0", "that is no ifIndex"),
            ("--snmp sw1:eth0", "that is no ifIndex"),
            ("--snmp :3", "that is no host"),
            ("--snmp sw1:161:24", "--snmp-port"),
            ("--snmp sw1:24 --snmp-version 3", "version 3 wants keys"),
            ("--snmp-community x", "--snmp"),
        ] {
            assert!(of(words).is_err_and(|said| said.contains(why)), "{words}: {:?}", of(words));
        }
    }

    #[test]
    fn echo_is_asked_for_by_who_may() {
        let status = "Name:\tx\nGid:\t100\t100\t100\t100\nGroups:\t7 2000 \n";
        for (range, may) in
            [("0\t2147483647\n", true), ("1\t0\n", false), ("2000\t2000\n", true), ("101\t1999\n", false)]
        {
            assert_eq!(is_group_within(range, status), may, "{range}");
        }
        assert!(!is_group_within("", status) && !is_group_within("0 9", ""));
    }
}
