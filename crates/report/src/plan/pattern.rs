//! A drawn workload in words: which verb, how long, where.

use iodyno_model::{
    Coverage, Every, Extent, FileOrder, ItemData, Kind, Mix, OperationKind, Pattern, PerDirection, Pick,
    Size, Span, Verb,
};

use super::exact::{bytes, many, number, time};
use super::phrase::{phrases, word};

/// The lines of a pattern, without their indent; the first may be followed by the job's seed.
pub(crate) fn lines(pattern: &Pattern, seed: Option<u64>) -> Vec<String> {
    let mut words = vec![mix(&pattern.mix)];
    words.extend(by_direction(&pattern.mix, &pattern.size, moves_bytes(&pattern.mix), size));
    words.extend(by_direction(&pattern.mix, &pattern.pick, true, |pick| places(pick, pattern.coverage)));
    if pattern.align_bytes != PerDirection::default() {
        let align = |align: &u64| format!("aligned to {}", bytes(*align));
        words.extend(by_direction(&pattern.mix, &pattern.align_bytes, true, align));
    }
    words.extend(seed.map(|seed| format!("seed {seed}")));
    let mut lines = vec![words.join(" · ")];
    lines.extend(span(&pattern.span));
    lines.extend(order(&pattern.files));
    lines.extend(phrases(pattern, "open_most"));
    lines.extend(pattern.every.iter().map(every));
    lines.extend(phrases(pattern, "overlap"));
    if pattern.size_by_order {
        let (sequential, random) = (size(&pattern.size.read), size(&pattern.size.write));
        lines.push(format!("sequential ones of {sequential}, random ones of {random}"));
    }
    lines.extend(pattern.window.map(|window| {
        let (moved, range) = (bytes(window.bytes), bytes(window.range_bytes));
        format!("{moved} in each window of {range}, {} left out between", bytes(window.skip_bytes))
    }));
    lines.extend(pattern.item_data.map(|data| item_data(pattern, data)));
    lines.extend(phrases(pattern, "chain"));
    let sum: f64 = pattern.kinds.iter().map(|kind| kind.weight).sum();
    lines.extend(pattern.kinds.iter().map(|kind| {
        let OperationKind { verb, weight, bytes: size, align_bytes, .. } = *kind;
        let (percent, size) = (number(weight / sum.max(f64::MIN_POSITIVE) * 100.0), bytes(size));
        let align =
            if align_bytes > 0 { format!(" · aligned to {}", bytes(align_bytes)) } else { String::new() };
        format!("of these {percent} %: {verb} {size} · {}{align}", pick(&kind.pick))
    }));
    lines
}

fn item_data(pattern: &Pattern, data: ItemData) -> String {
    let mut text = format!("items hold {}", size(&pattern.size.write));
    if pattern.size.read != pattern.size.write {
        text.push_str(&format!(", read are {}", size(&pattern.size.read)));
    }
    phrases(&data, "sync read_back").iter().for_each(|word| text.push_str(&format!(", {word}")));
    text
}

fn moves_bytes(mix: &Mix) -> bool {
    mix.shares.iter().any(|share| share.verb.moves_data() || share.verb.kind() == Kind::Trim)
}

fn mix(mix: &Mix) -> String {
    let sum: f64 = mix.shares.iter().map(|share| share.weight).sum();
    let share =
        |verb: Verb, weight: f64| format!("{verb} {} %", number(weight / sum.max(f64::MIN_POSITIVE) * 100.0));
    let mut text: Vec<_> = mix.shares.iter().map(|part| share(part.verb, part.weight)).collect();
    if mix.run > 1 {
        text.push(format!("in runs of {}", mix.run));
    }
    text.extend(phrases(mix, "in_turn"));
    text.join(", ")
}

/// Which directions a mix can take: read, write, trim.
fn directions(mix: &Mix) -> [bool; 3] {
    let any = |which: &dyn Fn(Verb) -> bool| mix.shares.iter().any(|share| which(share.verb));
    [
        any(&|verb| verb.kind() == Kind::Read || matches!(verb, Verb::Recv | Verb::Exchange)),
        any(&|verb| !matches!(verb.kind(), Kind::Read | Kind::Trim) && verb != Verb::Recv),
        any(&|verb| verb.kind() == Kind::Trim),
    ]
}

/// One word where all directions agree, else one for each.
fn by_direction<T: PartialEq>(
    mix: &Mix,
    of: &PerDirection<T>,
    wanted: bool,
    text: impl Fn(&T) -> String,
) -> Option<String> {
    let used = directions(mix);
    let exchange = mix.shares.iter().all(|share| share.verb == Verb::Exchange);
    let (read, write) = if exchange { ("response", "request") } else { ("read", "write") };
    let all = [(read, &of.read), (write, &of.write), ("trim", &of.trim)];
    let values: Vec<_> = all.iter().zip(used).filter(|(_, used)| *used).map(|(value, _)| *value).collect();
    if !wanted || values.is_empty() {
        return None;
    }
    if values.iter().all(|(_, value)| *value == values[0].1) {
        return Some(text(values[0].1));
    }
    Some(values.iter().map(|(name, value)| format!("{name} {}", text(value))).collect::<Vec<_>>().join(", "))
}

/// A size in words.
pub(crate) fn size(size: &Size) -> String {
    amount(size, &bytes)
}

/// A number that may be drawn, of some unit.
pub(crate) fn amount(size: &Size, of: &dyn Fn(u64) -> String) -> String {
    match size {
        Size::Fixed(fixed) => of(*fixed),
        Size::Uniform { least_bytes, most_bytes, step_bytes } => {
            format!("{} to {} in steps of {}", of(*least_bytes), of(*most_bytes), of(*step_bytes))
        }
        Size::Split(table) => {
            let part = |(size, percent): &(u64, f64)| format!("{} {} %", of(*size), number(*percent));
            table.iter().map(part).collect::<Vec<_>>().join(" + ")
        }
        Size::Gamma { mean_bytes, shape } => {
            format!("gamma {} around {}", number(*shape), of(mean_bytes.max(0.0) as u64))
        }
        Size::Normal { mean_bytes, deviation_bytes } => {
            let deviation = of(deviation_bytes.max(0.0) as u64);
            format!("normal around {}, deviation {deviation}", of(mean_bytes.max(0.0) as u64))
        }
        Size::Poisson { mean } => format!("Poisson around {}", number(*mean)),
        Size::Blend(table) => {
            let part =
                |(size, percent): &(Size, f64)| format!("({}) {} %", amount(size, of), number(*percent));
            table.iter().map(part).collect::<Vec<_>>().join(" + ")
        }
        Size::ResultOf(label) => format!("as much as \"{label}\""),
        Size::Whole => "the whole file".into(),
    }
}

fn places(pick: &Pick, coverage: Coverage) -> String {
    let text = self::pick(pick);
    match (coverage, pick) {
        (Coverage::Repeating, _) => format!("{text}, with repeats"),
        (Coverage::Once, Pick::Uniform) => format!("{text}, no repeat"),
        (Coverage::Together, Pick::Uniform) => format!("{text}, no repeat by any"),
        (Coverage::Once | Coverage::Together, _) => text,
    }
}

/// A way of picking in words.
pub(crate) fn pick(pick: &Pick) -> String {
    match pick {
        Pick::Sequential => "sequential".into(),
        Pick::Backward => "backward".into(),
        Pick::Gap(gap) if *gap < 0 => {
            format!("sequential, going back {} after each", bytes(gap.unsigned_abs()))
        }
        Pick::Gap(gap) => format!("sequential, skipping {} after each", bytes(gap.unsigned_abs())),
        Pick::Strided { stride_bytes } => format!("strided by {}", bytes(*stride_bytes)),
        Pick::Segmented { block_bytes, count, stride_bytes, shuffled } => {
            segmented(*block_bytes, *count, *stride_bytes, *shuffled)
        }
        Pick::Uniform => "uniform".into(),
        Pick::Zipf { theta, center } => format!("zipf {}{}", number(*theta), around(*center)),
        Pick::Pareto { h, center } => format!("pareto {}{}", number(*h), around(*center)),
        Pick::Normal { deviation_percent } => format!("normal, deviation {} %", number(*deviation_percent)),
        Pick::Zones(zones) => {
            let zone = |zone: &iodyno_model::Zone| {
                format!("{} % in {}", number(zone.accesses_percent), rest_or(&zone.extent, "the rest"))
            };
            format!("zones {}", zones.iter().map(zone).collect::<Vec<_>>().join(", "))
        }
        Pick::Blend(ways) => {
            let way =
                |way: &iodyno_model::Blend| format!("{} % {}", number(way.percent), self::pick(&way.pick));
            ways.iter().map(way).collect::<Vec<_>>().join(" + ")
        }
        Pick::Repeat { times, pick } => format!("{}, each place {times} times", self::pick(pick)),
        Pick::Runs { operations, pick } => format!("{}, runs of {operations}", self::pick(pick)),
        Pick::Listed { blocks, advances } => {
            let numbers: Vec<_> = blocks.iter().map(u64::to_string).collect();
            let further = if *advances { ", each time one list further on" } else { "" };
            format!("blocks {} in turn{further}", numbers.join(", "))
        }
        Pick::Preconditioning { regions, over_provisioning, cache_bytes } => {
            let cache = match cache_bytes {
                0 => String::new(),
                some => format!(", {} of cache", bytes(*some)),
            };
            let spare = number(over_provisioning * 100.0);
            format!("preconditioning, {}, {spare} % spare{cache}", many(u64::from(*regions), "region"))
        }
        Pick::Stream => "as a stream".into(),
        Pick::Append => "at the end".into(),
    }
}

/// Where the most popular place lies.
fn around(center: Option<f64>) -> String {
    center.map_or(String::new(), |center| format!(" around {} %", number(center * 100.0)))
}

fn segmented(block_bytes: u64, count: u64, stride_bytes: u64, shuffled: bool) -> String {
    let count = if count == 0 { "segments".into() } else { many(count, "segment") };
    let apart = match stride_bytes {
        0 => "one block of each worker apart".into(),
        stride => format!("{} apart", bytes(stride)),
    };
    let order = if shuffled { ", shuffled inside" } else { "" };
    format!("{count} of {}, {apart}{order}", bytes(block_bytes))
}

/// An extent in words, or what an open one is.
fn rest_or(extent: &Extent, rest: &str) -> String {
    if *extent == Extent::Rest { rest.into() } else { word(extent) }
}

fn span(span: &Span) -> Option<String> {
    if *span == Span::default() {
        return None;
    }
    let mut words = vec![format!("touching {}", rest_or(&span.length, "all"))];
    words.extend(phrases(span, "offset increment align_bytes overhang"));
    Some(words.join(", "))
}

fn order(order: &FileOrder) -> Option<String> {
    match order {
        FileOrder::InTurn => None,
        FileOrder::RoundRobin { operations } => {
            Some(format!("files in turn, {} on each", many((*operations).into(), "operation")))
        }
        FileOrder::Drawn { pick, operations } => Some(format!(
            "files drawn {}, {} on each",
            self::pick(pick),
            many((*operations).into(), "operation")
        )),
    }
}

fn every(every: &Every) -> String {
    let what = if every.verb.kind() == Kind::Sync { "write" } else { "operation" };
    let flags = if every.flags > 0 { format!(" (flags {})", every.flags) } else { String::new() };
    let between = if every.between { ", but the last" } else { "" };
    let after = many(every.operations, what);
    format!("{}{flags} after every {}{between}", every.verb, after.trim_start_matches("1 "))
}

/// A pause in words.
pub(crate) fn think(think: &iodyno_model::Think) -> String {
    let mut words = Vec::new();
    if think.spin_ns > 0 {
        words.push(format!("computes {}", time(think.spin_ns)));
    }
    if think.spin_cycles > 0 {
        words.push(format!("turns {} times", think.spin_cycles));
    }
    if think.purge_bytes > 0 {
        words.push(format!("writes {} of memory", bytes(think.purge_bytes)));
    }
    if think.times_latency > 0.0 {
        words.push(format!("pauses {} times as long as the operation took", think.times_latency));
    }
    if think.sleep_ns > 0 || (think.spin_ns == 0 && think.purge_bytes == 0 && think.times_latency == 0.0) {
        words.push(format!("sleeps {}", time(think.sleep_ns)));
    }
    let mut text = format!("{} after every ", words.join(" and "));
    let operation = if think.completed { "completed operation" } else { "operation" };
    let operations = || many(think.every.max(1), operation).trim_start_matches("1 ").to_string();
    text.push_str(&match (think.after_ns, think.every) {
        (0, _) => operations(),
        (ns, 0) => format!("{} of I/O", time(ns)),
        (ns, _) => format!("{} of I/O or {}", time(ns), operations()),
    });
    if think.drain {
        text.push_str(", once nothing is in flight");
    }
    text
}
