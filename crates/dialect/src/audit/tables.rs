//! The tables of IOR, mdtest and iozone.

use iodyno_report::audit::{Claim, WorkKind};

use super::{Told, pasted};

const MIB: f64 = 1024.0 * 1024.0;

/// The command line that the output names, where none was pasted.
fn take_command(told: &mut Told, lines: &[String], mark: &str) {
    let line =
        lines.iter().find_map(|line| line.trim().strip_prefix(mark)?.split_once(':').map(|(_, rest)| rest));
    if let (false, Some(mut words)) = (told.whole, line.and_then(pasted::words)) {
        if !words.is_empty() {
            words.remove(0);
        }
        (told.words, told.whole) = (words, true);
    }
}

/// The value of a line `name : value`.
fn value<'a>(lines: &'a [String], name: &str) -> Option<&'a str> {
    lines.iter().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

/// IOR's summary; of a run that was cut off, the rows of its results.
pub fn ior(mut told: Told, lines: &[String]) -> Told {
    take_command(&mut told, lines, "Command line");
    let count = |name: &str| value(lines, name)?.parse::<u32>().ok();
    (told.tasks, told.hosts) = (count("tasks"), count("nodes"));
    let Some(at) = lines.iter().position(|line| line.starts_with("Operation ") && line.contains("Max(MiB)"))
    else {
        told.claims = ior_rows(lines);
        return told;
    };
    let names: Vec<&str> = lines[at].split_whitespace().collect();
    for row in lines[at + 1..].iter().take_while(|line| !line.trim().is_empty()) {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let cell = |name: &str| {
            let index = names.iter().position(|known| *known == name)?;
            cells.get(index)?.parse::<f64>().ok()
        };
        let way = match cells.first() {
            Some(&"write") => WorkKind::Write,
            Some(&"read") => WorkKind::Read,
            _ => continue,
        };
        let (tasks, per_node) = (cell("#Tasks"), cell("tPN"));
        told.tasks = told.tasks.or(tasks.map(|tasks| tasks as u32));
        told.hosts =
            told.hosts.or(tasks.zip(per_node).map(|(tasks, each)| (tasks / each.max(1.0)).ceil() as u32));
        told.claims.push(Claim {
            bytes_per_second: cell("Max(MiB)").map(|rate| rate * MIB),
            operations_per_second: cell("Max(OPs)"),
            bytes: cell("aggs(MiB)").map(|bytes| bytes * MIB),
            seconds: cell("Mean(s)"),
            range: cell("Min(MiB)").zip(cell("Max(MiB)")),
            repeated: cell("reps").map_or(1, |times| times as u32),
            ..Claim::new(cells[0], way)
        });
    }
    told
}

/// `write 2813.20 11276 0.000092 4096 256.00 0.008225 0.011352 0.008411 0.011375 0`; older tables have no IOPS.
fn ior_rows(lines: &[String]) -> Vec<Claim> {
    let Some(at) = lines.iter().position(|line| line.starts_with("access ") && line.contains("bw(MiB/s)"))
    else {
        return Vec::new();
    };
    let names: Vec<&str> = lines[at].split_whitespace().collect();
    let column = |name: &str| names.iter().position(|known| *known == name);
    let mut claims: Vec<Claim> = Vec::new();
    for row in &lines[at + 1..] {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let way = match cells.first() {
            Some(&"write") => WorkKind::Write,
            Some(&"read") => WorkKind::Read,
            _ => continue,
        };
        let cell = |name: &str| cells.get(column(name)?)?.parse::<f64>().ok();
        let Some(rate) = cell("bw(MiB/s)") else { continue };
        let found = claims.iter_mut().find(|claim| claim.way == way);
        if let Some(claim) = found {
            let (least, most) = claim.range.unwrap_or((rate, rate));
            (claim.range, claim.repeated) = (Some((least.min(rate), most.max(rate))), claim.repeated + 1);
            claim.bytes_per_second = claim.bytes_per_second.map(|known| known.max(rate * MIB));
            continue;
        }
        claims.push(Claim {
            bytes_per_second: Some(rate * MIB),
            operations_per_second: cell("IOPS"),
            seconds: cell("total(s)"),
            range: Some((rate, rate)),
            repeated: 1,
            ..Claim::new(cells[0], way)
        });
    }
    claims
}

/// mdtest's summary, of several versions: with a colon behind the name or without.
pub fn mdtest(mut told: Told, lines: &[String]) -> Told {
    take_command(&mut told, lines, "Command line used");
    let launched = lines.iter().find_map(|line| {
        let words: Vec<&str> = line.split_once(" was launched with ")?.1.split_whitespace().collect();
        let node = words.iter().position(|word| *word == "on")? + 1;
        Some((words.first()?.parse::<u32>().ok()?, words.get(node)?.parse::<u32>().ok()?))
    });
    (told.tasks, told.hosts) = launched.unzip();
    let items = lines.iter().find_map(|line| {
        let (_, rest) = line.split_once(" tasks, ")?;
        rest.split_whitespace().next()?.parse::<f64>().ok()
    });
    let Some(at) = lines.iter().position(|line| line.starts_with("SUMMARY rate")) else { return told };
    let repeated = lines[at]
        .split("(of ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(1);
    for row in &lines[at + 1..] {
        let words: Vec<&str> = row.split_whitespace().filter(|word| *word != ":").collect();
        let named = words.iter().take_while(|word| word.parse::<f64>().is_err()).count();
        let numbers: Vec<f64> = words[named..].iter().filter_map(|word| word.parse().ok()).collect();
        let [most, least, mean, _] = numbers[..] else { continue };
        let name = words[..named].join(" ");
        if mean <= 0.0 || name.starts_with("Tree") {
            continue;
        }
        told.claims.push(Claim {
            operations_per_second: Some(mean),
            operations: items,
            seconds: items.map(|items| items / mean),
            range: Some((least, most)),
            repeated,
            ..Claim::new(&name, WorkKind::Names)
        });
    }
    told
}

/// The tests of iozone's table, in its order.
const IOZONE: [(&str, WorkKind); 13] = [
    ("write", WorkKind::Write),
    ("rewrite", WorkKind::Write),
    ("read", WorkKind::Read),
    ("reread", WorkKind::Read),
    ("random read", WorkKind::Read),
    ("random write", WorkKind::Write),
    ("backward read", WorkKind::Read),
    ("record rewrite", WorkKind::Write),
    ("stride read", WorkKind::Read),
    ("fwrite", WorkKind::Write),
    ("frewrite", WorkKind::Write),
    ("fread", WorkKind::Read),
    ("freread", WorkKind::Read),
];

/// iozone's table of one process, of which the row with the largest file is told, and its throughput lines.
pub fn iozone(mut told: Told, lines: &[String]) -> Told {
    take_command(&mut told, lines, "Command line used");
    let is_operations = lines.iter().any(|line| line.contains("Output is in operations"));
    if is_operations {
        told.notes.push("its figures are operations per second, which are not read as rates".into());
        return told;
    }
    for line in lines {
        let Some((what, figure)) =
            line.trim().strip_prefix("Children see throughput for").and_then(|rest| rest.split_once('='))
        else {
            continue;
        };
        let (count, name) = what.trim().split_once(' ').unwrap_or(("1", what));
        let rate = figure.split_whitespace().next().and_then(|rate| rate.parse::<f64>().ok());
        told.tasks = count.parse().ok().or(told.tasks);
        let way = if name.contains("writ") { WorkKind::Write } else { WorkKind::Read };
        told.claims
            .push(Claim { bytes_per_second: rate.map(|rate| rate * 1024.0), ..Claim::new(name.trim(), way) });
    }
    told.claims.extend(iozone_row(lines).unwrap_or_default());
    told
}

fn iozone_row(lines: &[String]) -> Option<Vec<Claim>> {
    let at = lines.iter().position(|line| line.trim_start().to_lowercase().starts_with("kb  reclen"))?;
    let ends = columns(&lines[at]);
    let is_row =
        |line: &&String| line.split_whitespace().next().is_some_and(|word| word.parse::<u64>().is_ok());
    let row = lines[at + 1..]
        .iter()
        .filter(is_row)
        .max_by_key(|line| line.split_whitespace().next().and_then(|size| size.parse::<u64>().ok()))?;
    let bytes = row.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0;
    let places = columns(row);
    let claims = places.iter().skip(2).filter_map(|(end, word)| {
        let (column, _) =
            ends.iter().enumerate().skip(2).min_by_key(|(_, (known, _))| known.abs_diff(*end))?;
        let (name, way) = IOZONE.get(column - 2)?;
        let rate = word.parse::<f64>().ok()? * 1024.0;
        let seconds = (rate > 0.0).then(|| bytes / rate);
        Some(Claim { bytes_per_second: Some(rate), bytes: Some(bytes), seconds, ..Claim::new(name, *way) })
    });
    Some(claims.collect())
}

/// Words with where each ends.
fn columns(line: &str) -> Vec<(usize, &str)> {
    let mut columns = Vec::new();
    let mut from = 0;
    for word in line.split_whitespace() {
        let Some(at) = line[from..].find(word) else { continue };
        from += at + word.len();
        columns.push((from, word));
    }
    columns
}
