//! fio's text: a head for each job with its pattern, then its directions.

use iodyno_report::audit::{Claim, WorkKind};

use super::Told;
use super::lines::{amount, number, rate};

/// The head of a job: its name, and what it says of the pattern.
struct Head {
    name: String,
    words: Vec<String>,
    depth: u32,
}

/// A result for each job; those of a command line that is shown share it.
pub fn read(told: Told, lines: &[String]) -> Vec<Told> {
    let heads: Vec<Head> = lines.iter().filter_map(|line| head(line)).collect();
    let mut results: Vec<Told> = Vec::new();
    for block in blocks(lines) {
        let name = block[0].split(": (groupid=").next().unwrap_or_default().trim().to_string();
        let head = heads.iter().find(|head| head.name == name).or(heads.first());
        let mut one = told.clone();
        if !one.whole {
            one.words = head.map_or_else(Vec::new, |head| head.words.clone());
        }
        let jobs =
            block[0].split("jobs=").nth(1).and_then(|rest| rest.split(')').next()?.parse::<u32>().ok());
        if let Some(jobs) = jobs.filter(|jobs| *jobs > 1 && !one.whole) {
            one.words.push(format!("--numjobs={jobs}"));
        }
        one.claims = claims(&name, block, head.map_or(1, |head| head.depth));
        results.push(one);
    }
    if results.is_empty() {
        let words = heads.first().map_or_else(Vec::new, |head| head.words.clone());
        let claims = claims("", lines, heads.first().map_or(1, |head| head.depth));
        let words = if told.whole { told.words.clone() } else { words };
        results.push(Told { words, claims, ..told });
    }
    results
}

/// `rr: (g=0): rw=randrw, bs=(R) 4096B-4096B, …, ioengine=libaio, iodepth=8`.
fn head(line: &str) -> Option<Head> {
    let (name, rest) = line.split_once(": (g=")?;
    let field = |field: &str| {
        let (_, rest) = rest.split_once(field)?;
        rest.split([',', '-', ' ']).next().map(String::from)
    };
    let block = field("bs=(R) ").or_else(|| field("bs="))?;
    let depth: u32 = field("iodepth=")?.trim().parse().ok()?;
    let words = vec![
        format!("--name={name}"),
        format!("--rw={}", field("rw=")?),
        format!("--bs={}", block.trim_end_matches("iB").trim_end_matches('B')),
        format!("--ioengine={}", field("ioengine=")?),
        format!("--iodepth={depth}"),
        "--size=1g".into(),
    ];
    Some(Head { name: name.into(), words, depth })
}

/// The lines of each job's result.
fn blocks(lines: &[String]) -> impl Iterator<Item = &[String]> {
    let starts: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(": (groupid="))
        .map(|(index, _)| index)
        .collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([lines.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &lines[start..end])
}

fn claims(name: &str, block: &[String], depth: u32) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let (mut is_total, mut processor, mut shallow, mut issued) = (false, None, None, Vec::new());
    for line in block {
        let text = line.trim();
        if text.starts_with("Run status") {
            break;
        }
        if let Some(claim) = direction(name, text) {
            claims.push(claim);
            is_total = false;
            continue;
        }
        if let Some(rest) = text.strip_prefix("cpu ") {
            processor = Some(
                percents(rest)
                    .iter()
                    .filter(|(key, _)| key == "usr" || key == "sys")
                    .map(|(_, value)| value)
                    .sum(),
            );
        }
        if let Some(rest) = text.strip_prefix("IO depths") {
            let reached = 1u32 << depth.max(1).ilog2();
            let below = percents(rest)
                .into_iter()
                .filter(|(key, _)| key.parse::<u32>().is_ok_and(|key| key < reached));
            shallow = Some(below.map(|(_, value)| value).sum());
        }
        if let Some(rest) =
            text.strip_prefix("issued rwts: total=").or_else(|| text.strip_prefix("issued    : total="))
        {
            issued = rest.split([' ', ',']).take(2).filter_map(|count| count.parse::<f64>().ok()).collect();
        }
        if let Some(claim) = claims.last_mut() {
            detail(claim, text, &mut is_total);
        }
    }
    let failed = block
        .first()
        .and_then(|line| line.split("err=").nth(1)?.split(':').next()?.trim().parse::<f64>().ok());
    for claim in &mut claims {
        (claim.processor_percent, claim.shallow_percent) = (processor, shallow);
        claim.operations =
            claim.operations.or_else(|| issued.get(usize::from(claim.way == WorkKind::Write)).copied());
        claim.failed = failed.filter(|errno| *errno > 0.0).map(|_| 1.0);
    }
    claims
}

/// `read: IOPS=43.8k, BW=171MiB/s (179MB/s)(342MiB/2001msec)`.
fn direction(job: &str, text: &str) -> Option<Claim> {
    let (word, rest) = text.split_once(':')?;
    let way = match word.trim() {
        "read" => WorkKind::Read,
        "write" => WorkKind::Write,
        _ => return None,
    };
    let rate_text = rest.split("BW=").nth(1)?.split_whitespace().next()?;
    let moved = rest.rsplit('(').next().and_then(|last| last.split(')').next()?.split_once('/'));
    let name = if job.is_empty() { word.trim().to_string() } else { format!("{job}: {}", word.trim()) };
    Some(Claim {
        bytes_per_second: rate(rate_text.split('(').next()?),
        operations_per_second: rest.split("IOPS=").nth(1).and_then(|iops| number(iops.split(',').next()?)),
        bytes: moved.and_then(|(bytes, _)| amount(bytes)),
        seconds: moved.and_then(|(_, time)| Some(time.strip_suffix("msec")?.parse::<f64>().ok()? / 1e3)),
        ..Claim::new(&name, way)
    })
}

/// Latency, percentiles and the spread over the seconds of a direction.
fn detail(claim: &mut Claim, text: &str, is_total: &mut bool) {
    let unit = [("(nsec)", 1.0), ("(usec)", 1e3), ("(msec)", 1e6)];
    let factor = unit.iter().find(|(name, _)| text.contains(name)).map(|(_, factor)| *factor);
    let field = |name: &str| {
        text.split(name).nth(1).and_then(|rest| number(rest.split([',', ' ']).find(|word| !word.is_empty())?))
    };
    let whole = text.starts_with("lat (");
    if let (Some(factor), true) = (factor, (whole || text.starts_with("clat (")) && text.contains("avg=")) {
        if whole || !*is_total {
            claim.mean_ns = field("avg=").map(|mean| mean * factor);
            claim.longest_ns = field("max=").map(|longest| longest * factor);
        }
        *is_total |= whole;
    }
    if text.starts_with('|') {
        let told =
            text.split("th=[").filter_map(|part| part.rsplit([' ', '|', ',']).next()?.parse::<f64>().ok());
        let all = told.chain(claim.percentile);
        claim.percentile = all.reduce(f64::max);
    }
    let samples = field("samples=").unwrap_or(0.0) as u32;
    if text.starts_with("iops ") && samples >= 5 {
        claim.range = field("min=").zip(field("max="));
        claim.repeated = samples;
    }
}

/// `1=0.1%, 2=0.1%, >=64=0.0%` and the like.
fn percents(text: &str) -> Vec<(String, f64)> {
    let parts = text.trim_start_matches([' ', ':']).split(',');
    parts
        .filter_map(|part| {
            let (name, value) = part.trim().rsplit_once('=')?;
            Some((name.into(), value.strip_suffix('%')?.parse().ok()?))
        })
        .collect()
}
