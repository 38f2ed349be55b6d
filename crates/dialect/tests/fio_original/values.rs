//! Values: what fio's parser makes of them (`--debug=parse` says) and what ours does.

use iodyno_dialect::fio::number::Base;
use iodyno_dialect::fio::options::find;
use iodyno_dialect::fio::value::{self, Amount, OptionValue};
use testbed::Outcome;

use super::{fio, verdict};

/// The numbers that fio read from each of these values, in its own units, if it took them all.
fn theirs(
    option: &str,
    texts: &[&str],
    base: u32,
) -> Result<Option<Vec<Vec<u64>>>, Box<dyn std::error::Error>> {
    let given: Vec<String> = texts.iter().map(|text| format!("--{option}={text}")).collect();
    let base = format!("--kb_base={base}");
    let mut arguments = vec!["--debug=parse", "--parse-only", "--name=x", &base];
    arguments.extend(given.iter().map(String::as_str));
    let (said, fine) = fio(&arguments)?;
    if !fine {
        return Ok(None);
    }
    // The first two belong to the name and to kb_base; a value with commas is told in parts.
    let begin = format!(" handle_option={option}, ptr=");
    let mut numbers: Vec<Vec<u64>> = Vec::new();
    for line in said.lines() {
        if line.contains(&begin) && !line.contains("__handle_option") {
            numbers.push(Vec::new());
        } else if let (Some((_, number)), Some(last)) = (line.split_once("ret=0, out="), numbers.last_mut()) {
            last.push(number.trim().parse()?);
        }
    }
    Ok(Some(numbers))
}

/// The numbers that we read, in fio's units: microseconds, and percentages counted down from the largest number.
fn ours(option: &str, text: &str, base: u32) -> Option<Vec<u64>> {
    let value = value::read(find(option)?, Some(text), Base(base)).ok()?;
    Some(match value {
        OptionValue::Whole(number) => vec![number.unsigned_abs()],
        OptionValue::Flag(flag) => vec![u64::from(flag)],
        OptionValue::Times(low, high) if low == high => vec![low / 1000],
        OptionValue::Times(low, high) => vec![low / 1000, high / 1000],
        OptionValue::Amount(Amount::Bytes(bytes)) => vec![bytes],
        OptionValue::Amount(Amount::Percent(percent)) => vec![u64::MAX - percent as u64],
        OptionValue::Triple(triple) => {
            [triple.read, triple.write, triple.trim].into_iter().flatten().collect()
        }
        OptionValue::Ranges(ranges) => ranges.read.map(|(low, high)| vec![low, high])?,
        _ => Vec::new(),
    })
}

const SIZES: &[&str] = &[
    "1", "512", "4k", "4K", "4kb", "4KB", "4kB", "4kib", "4KiB", "4Kib", "4ki", "1m", "1M", "1mb", "1MiB",
    "1g", "1G", "2GiB", "1t", "0x1000", "0x10", "010", "4096b", "4096B", "1ki", "3mi",
];

/// Values that both take, with the same meaning.
pub fn as_fio() -> Outcome {
    let mut cases: Vec<(&str, Vec<&str>)> = Vec::new();
    for option in ["bs", "size", "rate", "zonesize", "number_ios", "lockmem", "offset", "io_size"] {
        cases.push((option, SIZES.to_vec()));
    }
    // `5sec` is 5 us to fio 3.33, against its own manual: ours are seconds.
    for option in ["runtime", "ramp_time", "thinktime", "latency_target", "latency_window", "startdelay"] {
        cases.push((
            option,
            vec!["5", "5s", "5S", "10ms", "10msec", "7us", "7usec", "2m", "2M", "1h", "1d", "0"],
        ));
    }
    cases.extend([("thinktime_iotime", vec!["5"]), ("steadystate_duration", vec!["9"])]);
    cases.extend([("size", vec!["10%"]), ("offset", vec!["33%"]), ("rate", vec!["1m,2m,3m"])]);
    cases.extend([("bs", vec!["4k,8k", "4k,8k,16k", ",8k", "4k,,8k"]), ("iodepth", vec!["1", "1k", "0x10"])]);
    cases.extend([
        ("direct", vec!["1", "0"]),
        ("nice", vec!["5"]),
        ("uid", vec!["0"]),
        ("randseed", vec!["0x8b"]),
    ]);
    let mut wrong = Vec::new();
    for (option, texts) in cases {
        for base in [1024, 1000] {
            let Some(theirs) = theirs(option, &texts, base)? else {
                wrong.push(format!("{option}: fio refuses one of {texts:?}"));
                continue;
            };
            if theirs.len() != texts.len() {
                wrong.push(format!("{option}: fio told {} of {} values", theirs.len(), texts.len()));
            }
            for (text, theirs) in texts.iter().zip(theirs) {
                let ours = ours(option, text, base);
                // We fill in what follows the last; fio does that later.
                let alike =
                    ours.as_ref().is_some_and(|ours| theirs.iter().all(|number| ours.contains(number)));
                if !alike || theirs.is_empty() {
                    wrong.push(format!("{option}={text} (kb_base {base}): fio {theirs:?}, we {ours:?}"));
                }
            }
        }
    }
    verdict(wrong)
}

/// Values that fio refuses, we refuse as well; and some that it passes over in silence.
pub fn refused_as_fio() -> Outcome {
    let both = [
        ("bs", "0"),
        ("bs", "abc"),
        ("bs", "1z"),
        ("iodepth", "0"),
        ("direct", "2"),
        ("direct", "yes"),
        ("rw", "reed"),
        ("rw", "READ"),
        ("rwmixread", "101"),
        ("nice", "-30"),
        ("prio", "9"),
        ("verify", "md6"),
        ("random_distribution", "foo"),
        ("percentage_random", "500"),
        ("thread", "true"),
        ("bsrange", "4k"),
        ("runtime", "abc"),
        ("sync_file_range", "8"),
        ("log_entries", "5"),
        ("cgroup_weight", "5"),
        ("percentile_list", "101"),
        ("file_service_type", "foo"),
        ("fallocate", "foo"),
        ("verify_interval", "7"),
    ];
    let silent = [
        ("bs", "4q"),
        ("bs", "4kk"),
        ("bs", "1.5k"),
        ("bs", "4*1024"),
        ("bs", "10%"),
        ("runtime", "10x"),
        ("runtime", "10min"),
        ("runtime", "1h30m"),
        ("runtime", "1.5"),
        ("log_avg_msec", "1s"),
        ("thread", "5x"),
        ("percentile_list", "5.5:a"),
        ("rate", "10mb/s"),
        ("size", "101%"),
        ("bssplit", "4k/50:8k/60"),
    ];
    let mut wrong = Vec::new();
    for (option, text) in both {
        if theirs(option, &[text], 1024)?.is_some() {
            wrong.push(format!("{option}={text}: fio takes it"));
        }
        if ours(option, text, 1024).is_some() {
            wrong.push(format!("{option}={text}: fio refuses it, we take it"));
        }
    }
    for (option, text) in silent {
        if theirs(option, &[text], 1024)?.is_none() {
            wrong.push(format!("{option}={text}: fio refuses it too: no difference"));
        }
        if ours(option, text, 1024).is_some() {
            wrong.push(format!("{option}={text}: we take it"));
        }
    }
    verdict(wrong)
}
