//! dd's, hdparm's and iperf3's lines, and the numbers that all tools print.

use iodyno_model::units;
use iodyno_report::audit::{Claim, Data, MeasuredLoad, WorkKind};

use super::Told;

/// A number with `k`, `M` or `G` of thousands behind it.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_start_matches('[').trim();
    let (digits, factor) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1e3),
        'M' => (&text[..text.len() - 1], 1e6),
        'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    digits.parse::<f64>().ok().map(|number| number * factor).filter(|number| number.is_finite())
}

/// Bytes per second of `171MiB/s`, `33.1 Gbits/sec`, `124.25 MB/s`.
pub fn rate(text: &str) -> Option<f64> {
    let text = text.trim().replace("/sec", "/s").replace("bits", "bit").replace("Bytes", "iB");
    let bits = units::parse_bits(text.strip_suffix("/s").unwrap_or(&text)).ok()?;
    Some(bits as f64 / 8.0)
}

/// Bytes of `342MiB`, `7.71 GBytes`.
pub fn amount(text: &str) -> Option<f64> {
    units::parse_bytes(&text.trim().replace("Bytes", "iB")).ok().map(|bytes| bytes as f64)
}

/// `67108864 bytes (67 MB, 64 MiB) copied, 0.318508 s, 211 MB/s`, the last one of a copy.
pub fn dd(mut told: Told, lines: &[String]) -> Told {
    let line =
        lines.iter().rev().find(|line| line.contains(" copied, ") || line.contains("bytes transferred in"));
    let claim = line.and_then(|line| {
        let bytes = line.split_whitespace().next()?.parse::<f64>().ok()?;
        let behind = line.split(" copied, ").nth(1).or_else(|| line.split("transferred in ").nth(1))?;
        let seconds = behind
            .split_whitespace()
            .next()?
            .trim_end_matches(',')
            .parse::<f64>()
            .ok()
            .filter(|seconds| *seconds > 0.0)?;
        let way = if operand(&told, "of") == Some("/dev/null") { WorkKind::Read } else { WorkKind::Write };
        Some(Claim {
            bytes_per_second: Some(bytes / seconds),
            bytes: Some(bytes),
            seconds: Some(seconds),
            ..Claim::new("copy", way)
        })
    });
    told.claims.extend(claim);
    told
}

fn operand<'a>(told: &'a Told, name: &str) -> Option<&'a str> {
    told.words.iter().rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// ` Timing buffered disk reads: 374 MB in  3.01 seconds = 124.25 MB/sec`; its MB are of 1024².
pub fn hdparm(mut told: Told, lines: &[String]) -> Told {
    for line in lines {
        let Some((name, rest)) = line.trim().strip_prefix("Timing ").and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        let seconds = rest.split(" in ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        let told_rate =
            rest.split('=').nth(1).map(|rate| rate.trim().replace("MB/", "MiB/").replace("kB/", "KiB/"));
        let bytes = rest.split(" in ").next().and_then(|bytes| amount(&bytes.trim().replace("MB", "MiB")));
        told.claims.push(Claim {
            bytes_per_second: told_rate.and_then(|told| rate(&told)),
            bytes,
            seconds,
            is_of_cache: name.contains("cached"),
            ..Claim::new(name, WorkKind::Read)
        });
    }
    told
}

/// The sums of iperf3: `[SUM]` where there are several flows, what arrived where both are told.
pub fn iperf3(mut told: Told, lines: &[String]) -> Told {
    let sums: Vec<&String> = lines
        .iter()
        .filter(|line| line.ends_with("sender") || line.trim_end().ends_with("receiver"))
        .collect();
    let is_sum = |line: &&&String| line.contains("[SUM]");
    let flows = sums.iter().filter(|line| line.trim_end().ends_with("receiver") && !is_sum(line)).count();
    let chosen: Vec<&String> = match sums.iter().any(|line| is_sum(&line)) {
        true => sums.iter().filter(is_sum).copied().collect(),
        false => sums.clone(),
    };
    let retransmits = chosen
        .iter()
        .find(|line| line.trim_end().ends_with("sender"))
        .and_then(|line| fields(line).nth(6)?.parse::<f64>().ok());
    let processor = lines.iter().find_map(|line| {
        let rest = line.strip_prefix("CPU Utilization: ")?;
        rest.split(' ')
            .filter_map(|word| word.trim_end_matches(',').strip_suffix('%')?.parse::<f64>().ok())
            .reduce(f64::max)
    });
    let mut arrived = chosen.iter().filter(|line| line.trim_end().ends_with("receiver")).peekable();
    let has_arrived = arrived.peek().is_some();
    let sent = chosen.iter().filter(|_| !has_arrived);
    for line in arrived.chain(sent) {
        let words: Vec<&str> = fields(line).collect();
        let (Some(span), Some(bytes), Some(moved)) = (words.first(), words.get(2..4), words.get(4..6)) else {
            continue;
        };
        let seconds = span
            .split_once('-')
            .and_then(|(from, to)| Some(to.parse::<f64>().ok()? - from.parse::<f64>().ok()?));
        let lost = words.iter().find_map(|word| {
            let (lost, all) = word.split_once('/')?;
            all.parse::<u64>().ok().and_then(|_| lost.parse::<f64>().ok())
        });
        told.claims.push(Claim {
            bytes_per_second: rate(&moved.concat()),
            bytes: amount(&bytes.concat()),
            seconds,
            failed: lost.filter(|lost| *lost > 0.0),
            retransmits: if lost.is_none() { retransmits } else { None },
            processor_percent: processor,
            ..Claim::new(if line.contains("[SUM]") { "all flows" } else { "flow" }, WorkKind::Network)
        });
    }
    told.tasks = told.tasks.or(Some(flows as u32).filter(|flows| *flows > 0));
    told
}

/// The words behind a flow's number: `0.00-2.00 sec 7.71 GBytes 33.1 Gbits/sec 9 sender`.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split_once(']').map_or("", |(_, rest)| rest).split_whitespace()
}

/// What only the words of a tool tell, and what follows from its figures.
pub fn settle(asked: &mut MeasuredLoad, told: &Told) {
    let has = |way: WorkKind| told.claims.iter().any(|claim| claim.way == way);
    let is_shown = !told.words.is_empty();
    match told.tool {
        "dd" if is_shown => of_dd(asked, told),
        "hdparm" => {
            asked.reads = true;
            let is_direct = told.words.iter().any(|word| word == "--direct")
                || told.claims.iter().any(|claim| claim.name.contains("O_DIRECT"));
            // `-t` flushes the buffers of the device before it reads.
            (asked.direct, asked.invalidated, asked.holes) = (Some(is_direct), Some(true), None);
            (asked.workers, asked.depth, asked.random) = (Some(1), None, Some(false));
            asked.repeated = None;
        }
        "iperf3" => {
            asked.network = true;
            let option =
                |name: &str| told.words.windows(2).find(|pair| pair[0] == name)?[1].parse::<u32>().ok();
            let asked_for = option("-P").or_else(|| option("--parallel"));
            asked.workers = asked_for.or(told.tasks).or(asked.workers);
            (asked.reads, asked.writes, asked.repeated) = (false, false, None);
        }
        _ => {
            asked.reads |= has(WorkKind::Read);
            asked.writes |= has(WorkKind::Write);
            asked.names |= has(WorkKind::Names);
        }
    }
    if told.tool == "mdtest" {
        (asked.reads, asked.writes) = (has(WorkKind::Read), has(WorkKind::Write));
    }
    if !is_shown && told.tool == "dd" {
        asked.writes = true;
    }
}

fn of_dd(asked: &mut MeasuredLoad, told: &Told) {
    let (from, to) = (operand(told, "if").unwrap_or("-"), operand(told, "of").unwrap_or("-"));
    let is_made = ["/dev/zero", "/dev/urandom", "/dev/random"].contains(&from);
    asked.reads = !is_made && from != "-";
    asked.writes = to != "/dev/null" && to != "-";
    asked.data = match from {
        "/dev/zero" => Some(Data::Zeros),
        _ if is_made => Some(Data::Random),
        _ => None,
    };
    asked.slow_generator = from == "/dev/urandom" || from == "/dev/random";
    let flags = |name: &str, flag: &str| {
        operand(told, name).is_some_and(|flags| flags.split(',').any(|known| known == flag))
    };
    let is_direct = (!asked.reads || flags("iflag", "direct")) && (!asked.writes || flags("oflag", "direct"));
    asked.direct = Some(is_direct);
    let synced = ["fsync", "fdatasync"].iter().any(|flag| flags("conv", flag))
        || ["sync", "dsync"].iter().any(|flag| flags("oflag", flag));
    asked.synced = Some(synced);
    asked.invalidated = Some(flags("iflag", "nocache"));
    (asked.reads_own, asked.holes, asked.random, asked.shared_file) = (None, None, Some(false), None);
    (asked.workers, asked.depth, asked.repeated) = (Some(1), Some(1), None);
    asked.span_bytes = told.claims.iter().find_map(|claim| claim.bytes).map(|bytes| bytes as u64);
    let is_memory = |path: &str| path.starts_with("/dev/shm/") || path == "/dev/null";
    let storage = if asked.writes { to } else { from };
    let pretends = is_memory(storage) || (is_made && to == "/dev/null");
    asked.pretended = pretends
        .then(|| if asked.writes { to } else { if is_made { "/dev/null" } else { from } }.to_string());
}
