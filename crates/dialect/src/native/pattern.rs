//! The keys of a drawn workload: `do` or `mix`, `pick`, `block`, `span` and their kin.

use iodyno_model::{Coverage, Every, FileOrder, Mix, Pattern, Pick, Share, Size, Verb, Window, units};

use super::fields::Fields;
use super::inline::{each, known, may, must, record, table};
use super::tree::Node;
use super::value::{
    Read, bytes, choice, count, flag, number, percent, percent_of, small_count, some_bytes, verb, verb_named,
};

/// The pattern of a job, if it says what to do.
pub(crate) fn read(fields: &Fields<'_>) -> Option<Pattern> {
    let only = fields.get("do", verb).map(Mix::only);
    let mixed = fields.get("mix", mix);
    let run = fields.or("run", small_count, 1);
    let in_turn = fields.flag("in_turn");
    let mut pattern = Pattern::of(Verb::Read, Pick::Sequential, 4096);
    pattern.mix = Mix { run, in_turn, ..only.or(mixed).unwrap_or(pattern.mix) };
    pattern.coverage = match (fields.flag("repeats"), fields.flag("once_by_any")) {
        (true, _) => Coverage::Repeating,
        (false, true) => Coverage::Together,
        (false, false) => Coverage::Once,
    };
    fields.fill(&mut pattern);
    (fields.entry("do").is_some() || fields.entry("mix").is_some()).then_some(pattern)
}

fn mix(node: &Node) -> Read<Mix> {
    let share = |entry: &super::tree::Entry| {
        let weight =
            number(&entry.node).map_err(|error| format!("{error} as the weight of {}", entry.name))?;
        Ok(Share { verb: verb_named(&entry.name)?, weight })
    };
    let shares = node.entries().iter().map(share).collect::<Read<Vec<_>>>()?;
    match shares.iter().any(|share| share.weight > 0.0) {
        true => Ok(Mix { shares, run: 1, in_turn: false }),
        false => Err("expected verbs and weights such as { read = 70, write = 30 }".into()),
    }
}

const PICKS: &str = "expected sequential, backward, random, stream, append, gap:4KiB, strided:64KiB, zipf:1.2, \
                     pareto:0.2, normal:10, or a table with zones, segments, blend, repeat or runs";

/// A way of picking: a word, a word with a number, or a table.
pub(crate) fn pick(node: &Node) -> Read<Pick> {
    let Some(word) = node.word() else { return pick_table(node) };
    let (name, argument) =
        word.split_once(':').map_or((word, None), |(name, argument)| (name, Some(argument)));
    let real = || argument.and_then(|text| text.trim().parse::<f64>().ok()).filter(|number| *number > 0.0);
    let pick = match (name, argument) {
        ("sequential", None) => Some(Pick::Sequential),
        ("backward", None) => Some(Pick::Backward),
        ("random" | "uniform", None) => Some(Pick::Uniform),
        ("stream", None) => Some(Pick::Stream),
        ("append", None) => Some(Pick::Append),
        ("gap", Some(text)) => gap(text).map(Pick::Gap),
        ("strided", Some(text)) => units::parse_bytes(text)
            .ok()
            .filter(|bytes| *bytes > 0)
            .map(|stride_bytes| Pick::Strided { stride_bytes }),
        ("zipf", _) => real().map(|theta| Pick::Zipf { theta, center: None }),
        ("pareto", _) => real().filter(|h| *h < 1.0).map(|h| Pick::Pareto { h, center: None }),
        ("normal", Some(text)) => {
            percent_of(text).map(|deviation_percent| Pick::Normal { deviation_percent })
        }
        _ => None,
    };
    pick.ok_or_else(|| PICKS.into())
}

fn gap(text: &str) -> Option<i64> {
    let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
    units::parse_bytes(size).ok().and_then(|bytes| i64::try_from(bytes).ok()).map(|bytes| sign * bytes)
}

fn pick_table(node: &Node) -> Read<Pick> {
    let of = |name: &str| node.entries().iter().find(|entry| entry.name == name).map(|entry| &entry.node);
    let inner = || of("pick").map_or(Ok(Box::new(Pick::Uniform)), |node| pick(node).map(Box::new));
    if let Some(zones) = of("zones") {
        known(node, &["zones"])?;
        return each(zones, record).map(Pick::Zones);
    }
    if let Some(ways) = of("blend") {
        known(node, &["blend"])?;
        return each(ways, record).map(Pick::Blend);
    }
    if let Some(segments) = of("segments") {
        known(node, &["segments"])?;
        return self::segments(segments);
    }
    if let Some(times) = of("repeat") {
        known(node, &["repeat", "pick"])?;
        return Ok(Pick::Repeat { times: small_count(times)?, pick: inner()? });
    }
    if let Some(operations) = of("runs") {
        known(node, &["runs", "pick"])?;
        return Ok(Pick::Runs { operations: small_count(operations)?, pick: inner()? });
    }
    Err(PICKS.into())
}

fn segments(node: &Node) -> Read<Pick> {
    known(node, &["block", "count", "stride", "shuffled"])?;
    Ok(Pick::Segmented {
        block_bytes: must(node, "block", some_bytes)?,
        count: may(node, "count", count, 0)?,
        stride_bytes: may(node, "stride", bytes, 0)?,
        shuffled: may(node, "shuffled", flag, false)?,
    })
}

const SIZES: &str = "expected a size such as \"4KiB\", a range \"4KiB-64KiB\", \"whole\", or a table with least and \
                     most, split, gamma, blend or result_of";

/// How many bytes: a size, a range, or a table.
pub(crate) fn size(node: &Node) -> Read<Size> {
    match node.word() {
        Some("whole") => Ok(Size::Whole),
        Some(word) => match word.split_once('-') {
            Some((least, most)) => range(least, most).ok_or_else(|| SIZES.into()),
            None => bytes(node).map(Size::Fixed).map_err(|_| SIZES.into()),
        },
        None => size_table(node),
    }
}

/// A range in steps of its smaller end.
fn range(least: &str, most: &str) -> Option<Size> {
    let (least_bytes, most_bytes) = (units::parse_bytes(least).ok()?, units::parse_bytes(most).ok()?);
    (least_bytes <= most_bytes).then_some(Size::Uniform {
        least_bytes,
        most_bytes,
        step_bytes: least_bytes.max(1),
    })
}

fn size_table(node: &Node) -> Read<Size> {
    if node.has(&["least", "most"]) {
        known(node, &["least", "most", "step"])?;
        let (least_bytes, most_bytes) = (must(node, "least", bytes)?, must(node, "most", bytes)?);
        if least_bytes > most_bytes {
            return Err("`least` is larger than `most`".into());
        }
        return Ok(Size::Uniform { least_bytes, most_bytes, step_bytes: may(node, "step", some_bytes, 1)? });
    }
    known(node, &["split", "gamma", "normal", "poisson", "blend", "result_of"])?;
    let Some(entry) = node.entries().first() else { return Err(SIZES.into()) };
    match entry.name.as_str() {
        "split" => entry.node.entries().iter().map(part).collect::<Read<Vec<_>>>().map(Size::Split),
        "gamma" => gamma(&entry.node),
        "normal" => normal(&entry.node),
        "poisson" => number(&entry.node).map(|mean| Size::Poisson { mean }),
        "blend" => each(&entry.node, |node| {
            known(node, &["size", "percent"])?;
            Ok((must(node, "size", size)?, must(node, "percent", percent)?))
        })
        .map(Size::Blend),
        _ => super::value::text(&entry.node).map(Size::ResultOf),
    }
}

fn part(entry: &super::tree::Entry) -> Read<(u64, f64)> {
    Ok((units::parse_bytes(&entry.name)?, percent(&entry.node)?))
}

fn gamma(node: &Node) -> Read<Size> {
    known(node, &["mean", "shape"])?;
    let shape = must(node, "shape", number)?;
    if shape == 0.0 {
        return Err("`shape` must be larger than 0".into());
    }
    Ok(Size::Gamma { mean_bytes: must(node, "mean", some_bytes)? as f64, shape })
}

fn normal(node: &Node) -> Read<Size> {
    known(node, &["mean", "deviation"])?;
    let mean_bytes = must(node, "mean", some_bytes)? as f64;
    Ok(Size::Normal { mean_bytes, deviation_bytes: must(node, "deviation", bytes)? as f64 })
}

/// A part of the span that moves on; all of its range where nothing else is said.
pub(super) fn window(node: &Node) -> Read<Window> {
    let mut window = Window { bytes: 0, range_bytes: 0, skip_bytes: 0 };
    table(node, &mut window, &[])?;
    if window.bytes == 0 {
        window.bytes = window.range_bytes;
    }
    Ok(window)
}

pub(super) fn order(node: &Node) -> Read<FileOrder> {
    if node.word().is_some() {
        return choice(&[
            ("one by one", FileOrder::InTurn),
            ("round robin", FileOrder::RoundRobin { operations: 1 }),
        ])(node);
    }
    known(node, &["round_robin", "drawn", "operations"])?;
    if node.has(&["round_robin"]) {
        return Ok(FileOrder::RoundRobin { operations: must(node, "round_robin", small_count)? });
    }
    let pick = Box::new(must(node, "drawn", pick)?);
    Ok(FileOrder::Drawn { pick, operations: may(node, "operations", small_count, 1)? })
}

/// Verbs with their counts; a verb's mistake is told without a table's key.
pub(super) fn every(node: &Node) -> Read<Vec<Every>> {
    let one = |entry: &super::tree::Entry| {
        let mut every = Every::new(verb_named(&entry.name)?, 1);
        match table(&entry.node, &mut every, &[]) {
            Err(error) if entry.node.word().is_some() => Err(format!("{error} for {}", entry.name)),
            read => read.map(|()| every),
        }
    };
    match node.entries() {
        [] => Err("expected verbs and counts such as { fsync = 32 }".into()),
        entries => entries.iter().map(one).collect(),
    }
}
