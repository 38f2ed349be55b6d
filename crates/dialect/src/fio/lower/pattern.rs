//! What is done where: the mix of directions, the way places are picked, which file comes next, what is inserted.

use iodyno_model::{
    Blend, Coverage, Every, Extent, FileOrder, Mix, Overlap, Pattern, PerDirection, Pick, Share, Span, Verb,
    Window, Zone,
};

use super::JobContext;
use super::direction::Direction;
use super::number;
use super::option_reader::OptionReader;
use super::preconditioning;
use super::size::Sizes;

/// The pattern of a job on its files.
pub fn pattern(ask: &mut OptionReader<'_>, found: &JobContext) -> Pattern {
    let JobContext { direction, blocks, sizes, .. } = found;
    if let Some(verb) = found.engine.names {
        return Pattern::of(verb, Pick::Sequential, 0);
    }
    let pick = match preconditioning::pick(ask, found) {
        Some(pick) => PerDirection::same(pick),
        None => picks(ask, direction),
    };
    Pattern {
        mix: mix(ask, found),
        coverage: coverage(ask, found, &pick),
        pick,
        size: blocks.size.clone(),
        align_bytes: blocks.align.clone(),
        // Neither a stream nor what moves nothing has places, and so no end of its own.
        span: if found.engine.peer || found.engine.sizeless { Span::default() } else { span(sizes) },
        files: if found.files.len() > 1 { order(ask) } else { FileOrder::default() },
        open_most: open_most(ask, found.files.len()),
        every: every(ask, direction),
        overlap: match ask.flag("serialize_overlap", false) {
            true => Overlap::Serialised,
            false => Overlap::Allowed,
        },
        size_by_order: ask.flag("bs_is_seq_rand", false),
        item_data: None,
        chain: false,
        kinds: Vec::new(),
        window: window(ask),
    }
}

/// Where the files differ in length, each ends where its target says.
fn span(sizes: &Sizes) -> Span {
    let length = match sizes.parts.first() {
        Some(Some(bytes)) if sizes.parts.iter().all(|part| *part == Some(*bytes)) => Extent::Bytes(*bytes),
        _ => Extent::Rest,
    };
    let relative = [sizes.offset, sizes.increment].iter().any(|extent| matches!(extent, Extent::Percent(_)));
    Span {
        offset: sizes.offset,
        length,
        increment: sizes.increment,
        align_bytes: if relative { sizes.offset_align } else { 0 },
        overhang: true,
    }
}

/// Random blocks come once, whichever direction and size comes to them, unless a job says otherwise.
fn coverage(ask: &mut OptionReader<'_>, found: &JobContext, pick: &PerDirection<Pick>) -> Coverage {
    let JobContext { direction, blocks, .. } = found;
    if !direction.random {
        return Coverage::Once;
    }
    let aligned = blocks.align != PerDirection::default() && blocks.moves_align(direction);
    if aligned && !ask.flag("norandommap", false) {
        ask.warn("ba", "Any use of blockalign= turns off randommap");
    }
    let skewed = [&pick.read, &pick.write, &pick.trim].into_iter().any(is_skewed);
    let shift_register = ask.word("random_generator") == Some("lfsr");
    match () {
        () if aligned || skewed => Coverage::Repeating,
        () if ask.flag("norandommap", false) && !shift_register => Coverage::Repeating,
        () if direction.mixed() || (direction.writes && direction.trims) || !blocks.all_alike(direction) => {
            Coverage::Together
        }
        () => Coverage::Once,
    }
}

/// `zonemode=strided`.
fn window(ask: &mut OptionReader<'_>) -> Option<Window> {
    match ask.word("zonemode") {
        Some("strided") => {}
        // Before it had a name, a zone size alone was enough.
        None if ask.bytes("zonesize").is_some_and(|bytes| bytes > 0) => {}
        _ => return None,
    }
    let Some(bytes) = ask.bytes("zonesize").filter(|bytes| *bytes > 0) else {
        ask.refuse(
            "zonemode",
            "--zonesize must be specified when using --zonemode=strided",
            "for example zonesize=1m",
        );
        return None;
    };
    let range_bytes = ask.bytes("zonerange").filter(|bytes| *bytes > 0).unwrap_or(bytes);
    Some(Window { bytes, range_bytes, skip_bytes: ask.bytes("zoneskip").unwrap_or(0) })
}

fn mix(ask: &OptionReader<'_>, found: &JobContext) -> Mix {
    let JobContext { direction, engine, .. } = found;
    if direction.mixed() {
        return Mix::reads(reads_percent(ask));
    }
    // fio's engines discard ranges of devices, which a file refuses; `falloc` makes holes in files.
    let trim = if matches!(engine.name, "falloc" | "s3") { Verb::Trim } else { Verb::Discard };
    match (direction.reads, direction.writes, direction.trims) {
        (true, ..) => Mix::only(Verb::Read),
        (_, true, true) => {
            let share = |verb| Share { verb, weight: 50.0 };
            Mix { shares: vec![share(trim), share(Verb::Write)], in_turn: true, ..Mix::only(trim) }
        }
        (_, true, _) => Mix::only(Verb::Write),
        _ => Mix::only(trim),
    }
}

/// `rwmixread` and `rwmixwrite` overrule each other: the later one counts.
fn reads_percent(ask: &OptionReader<'_>) -> f64 {
    let (reads, writes) = (ask.position("rwmixread"), ask.position("rwmixwrite"));
    match (reads > writes, ask.whole("rwmixread"), ask.whole("rwmixwrite")) {
        (true, Some(percent), _) => percent as f64,
        (false, _, Some(percent)) => 100.0 - percent as f64,
        _ => 50.0,
    }
}

fn picks(ask: &mut OptionReader<'_>, direction: &Direction) -> PerDirection<Pick> {
    if !direction.random {
        return PerDirection::same(if direction.gap == 0 {
            Pick::Sequential
        } else {
            Pick::Gap(direction.gap)
        });
    }
    let share = ask.triple("percentage_random").cloned().unwrap_or_default();
    distributions(ask).zip(share).map(|(pick, percent)| {
        let pick = match percent {
            Some(0) => Pick::Sequential,
            Some(percent) if percent < 100 => Pick::Blend(vec![
                Blend { percent: percent as f64, pick },
                Blend { percent: 100.0 - percent as f64, pick: Pick::Sequential },
            ]),
            _ => pick,
        };
        match (direction.operations, direction.identical) {
            (0 | 1, _) => pick,
            (times, true) => Pick::Repeat { times, pick: Box::new(pick) },
            (operations, false) => Pick::Runs { operations, pick: Box::new(pick) },
        }
    })
}

/// Whether some places come more often than others, which excludes that each comes once.
fn is_skewed(pick: &Pick) -> bool {
    match pick {
        Pick::Zipf { .. }
        | Pick::Pareto { .. }
        | Pick::Normal { .. }
        | Pick::Zones(_)
        | Pick::Preconditioning { .. }
        | Pick::Listed { .. } => true,
        Pick::Blend(ways) => ways.iter().any(|way| is_skewed(&way.pick)),
        Pick::Repeat { pick, .. } | Pick::Runs { pick, .. } => is_skewed(pick),
        _ => false,
    }
}

/// `random_distribution` for reads, writes and trims.
fn distributions(ask: &mut OptionReader<'_>) -> PerDirection<Pick> {
    let uniform = || PerDirection::same(Pick::Uniform);
    let (name, arguments) = ask.tailed("random_distribution").unwrap_or(("random", ""));
    let picked = match name {
        "random" => return uniform(),
        "zoned" | "zoned_abs" => zones(ask, name == "zoned_abs", arguments),
        "sequence" => listed(arguments, ask.flag("random_sequence_stride", false)).map(PerDirection::same),
        _ => skewed(name, arguments).map(PerDirection::same),
    };
    picked.unwrap_or_else(|reason| {
        let hint = "random, zipf:1.2, pareto:0.2, normal:20, zoned:60/10:30/20:8/30:2/40, zoned_abs:60/20g:40/100g or sequence:2,0,1";
        ask.refuse_value("random_distribution", reason, hint);
        uniform()
    })
}

/// `sequence:2,0,1`: blocks by their numbers, again and again.
fn listed(arguments: &str, advances: bool) -> Result<Pick, String> {
    let number =
        |text: &str| text.trim().parse().map_err(|_| format!("`{}` is no block number", text.trim()));
    let blocks: Vec<u64> = arguments.split(',').map(number).collect::<Result<_, _>>()?;
    Ok(Pick::Listed { blocks, advances })
}

/// Defaults of fio where the number is left out.
const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;

fn skewed(name: &str, arguments: &str) -> Result<Pick, String> {
    let mut numbers = arguments.split(':').map(str::trim).filter(|part| !part.is_empty());
    let number = |text: Option<&str>| {
        text.map(|text| text.parse::<f64>().map_err(|_| format!("`{text}` is no number"))).transpose()
    };
    let first = number(numbers.next())?;
    let center = number(numbers.next())?.filter(|center| *center >= 0.0);
    if center.is_some_and(|center| center > 1.0) {
        return Err("the centre lies between 0 and 1".into());
    }
    match name {
        "zipf" => match first.unwrap_or(ZIPF_THETA) {
            1.0 => Err("zipf input value 1.0 is not possible".into()),
            theta if theta > 0.0 => Ok(Pick::Zipf { theta, center }),
            _ => Err("theta is above 0".into()),
        },
        "pareto" => match first.unwrap_or(PARETO_H) {
            h if h > 0.0 && h < 1.0 => Ok(Pick::Pareto { h, center }),
            _ => Err("pareto input is out of range, it lies between 0 and 1".into()),
        },
        _ if center.is_some_and(|center| center != 0.5) => {
            Err("a normal distribution around another place than the middle is not served yet".into())
        }
        _ => match first.unwrap_or(0.0) {
            deviation_percent if deviation_percent > 0.0 && deviation_percent <= 100.0 => {
                Ok(Pick::Normal { deviation_percent })
            }
            _ => Err("normal deviation lies between 0 and 100 percent".into()),
        },
    }
}

/// `zoned:60/10:40/`: a share of the accesses, and the part of the span that they go to. Zones of a left-out part share
/// what the others leave.
fn zones(ask: &OptionReader<'_>, absolute: bool, arguments: &str) -> Result<PerDirection<Pick>, String> {
    let mut picks = [Pick::Uniform, Pick::Uniform, Pick::Uniform];
    for (pick, part) in picks.iter_mut().zip(number::directions(arguments)) {
        let Some(part) = part else { continue };
        let texts = part.split(':').filter(|zone| !zone.trim().is_empty());
        let zones: Result<Vec<_>, _> = texts.map(|text| zone(ask, absolute, text)).collect();
        *pick = Pick::Zones(filled(zones?)?);
    }
    let [read, write, trim] = picks;
    Ok(PerDirection { read, write, trim })
}

fn zone(ask: &OptionReader<'_>, absolute: bool, text: &str) -> Result<Zone, String> {
    let (share, extent) = text.split_once('/').unwrap_or((text, ""));
    let extent = match (extent.trim(), absolute) {
        ("" | "0", true) => {
            return Err(format!("`{text}` has no size; zoned: shares what is left, zoned_abs: does not"));
        }
        ("" | "0", false) => Extent::Rest,
        (extent, true) => {
            Extent::Bytes(number::bytes(extent, ask).ok_or_else(|| format!("`{extent}` is no size"))?)
        }
        (extent, false) => Extent::Percent(percent(extent)?),
    };
    Ok(Zone { accesses_percent: percent(share)?, extent })
}

/// The zones with what each open one gets; the accesses are 100 percent, and the parts at most that.
fn filled(mut zones: Vec<Zone>) -> Result<Vec<Zone>, String> {
    let accesses: f64 = zones.iter().map(|zone| zone.accesses_percent).sum();
    let part = |zone: &Zone| if let Extent::Percent(part) = zone.extent { part } else { 0.0 };
    let parts: f64 = zones.iter().map(part).sum();
    if accesses > 100.0 || parts > 100.0 {
        return Err("zone_split percentages add to more than 100%".into());
    }
    if accesses < 100.0 {
        return Err(format!(
            "access percentage don't add up to 100 for zoned random distribution (got={accesses})"
        ));
    }
    let open = zones.iter().filter(|zone| zone.extent == Extent::Rest).count();
    let each = Extent::Percent((100.0 - parts) / open.max(1) as f64);
    zones.iter_mut().filter(|zone| zone.extent == Extent::Rest).for_each(|zone| zone.extent = each);
    Ok(zones)
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').parse::<f64>().ok();
    number
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| format!("`{text}` is no percentage"))
}

/// `openfiles`, where it leaves some files out.
fn open_most(ask: &OptionReader<'_>, files: usize) -> u32 {
    let most = ask.whole("openfiles").and_then(|most| u32::try_from(most).ok()).unwrap_or(0);
    if (most as usize) < files { most } else { 0 }
}

/// `file_service_type`: round robin where nothing is said.
fn order(ask: &mut OptionReader<'_>) -> FileOrder {
    let (name, argument) = ask.tailed("file_service_type").unwrap_or(("roundrobin", ""));
    let operations = argument.parse::<u32>().unwrap_or(1).max(1);
    let drawn = |pick, operations| FileOrder::Drawn { pick: Box::new(pick), operations };
    match name {
        "roundrobin" => FileOrder::RoundRobin { operations },
        "sequential" => FileOrder::InTurn,
        "random" => drawn(Pick::Uniform, operations),
        _ => skewed(name, argument).map(|pick| drawn(pick, 1)).unwrap_or_else(|reason| {
            ask.refuse_value("file_service_type", reason, "for example zipf:1.2");
            FileOrder::default()
        }),
    }
}

/// What is inserted after every so many writes.
fn every(ask: &mut OptionReader<'_>, direction: &Direction) -> Vec<Every> {
    let mut inserted = Vec::new();
    if !direction.writes {
        return inserted;
    }
    for (name, verb) in [("fsync", Verb::Fsync), ("fdatasync", Verb::Fdatasync)] {
        let operations = ask.number(name).filter(|operations| *operations > 0);
        inserted.extend(operations.map(|operations| Every { between: true, ..Every::new(verb, operations) }));
    }
    inserted.extend(range_syncs(ask));
    inserted
}

/// `sync_file_range=wait_before,write:8`: words with their flags, and after how many writes.
fn range_syncs(ask: &mut OptionReader<'_>) -> Option<Every> {
    let (words, count) = ask.words("sync_file_range")?;
    let flag = |word: &&str| match *word {
        "wait_before" => 1,
        "write" => 2,
        _ => 4,
    };
    let flags = words.iter().map(flag).fold(0, |flags, flag| flags | flag);
    match count.parse::<u64>() {
        Ok(operations) if operations > 0 => {
            Some(Every { flags, between: true, ..Every::new(Verb::SyncFileRange, operations) })
        }
        _ => {
            let hint = "for example sync_file_range=wait_before,write:8";
            ask.refuse_value("sync_file_range", "expected words and a number", hint);
            None
        }
    }
}
