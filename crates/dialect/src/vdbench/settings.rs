//! What parameters say, as values: times of a run, transfer sizes, seeks, spans, flags, payloads.
//!
//! It refuses what single parameters show to be impossible; what belongs together is judged where it is lowered.

use iodyno_model::{
    Blend, Content, Dedupe, Direct, Extent, OpenSync, Origin, Payload, PerDirection, Pick, Refresh, Size,
    Span, Stamp, Verify, VerifyWhen, Zone,
};

use super::command::Command;
use super::definition::{Definition, Definitions, MistakeList, numbers};
use super::scan::Parameter;

pub const SECTOR: u64 = 512;
pub const SECOND: u64 = 1_000_000_000;

/// The times of a run, s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTimes {
    /// Measured, without the warm-up.
    pub elapsed: u64,
    pub interval: u64,
    pub warmup: u64,
    pub pause: u64,
}

impl RunTimes {
    pub fn of(run: &Definition, command: &Command, wrong: &mut MistakeList) -> RunTimes {
        let seconds =
            |name: &str, default: u64| run.number(name).map_or(default, |number| number.max(0.0) as u64);
        let times = RunTimes {
            elapsed: command.elapsed_s.unwrap_or(seconds("elapsed", 30)),
            interval: command.interval_s.unwrap_or(seconds("interval", 1)),
            warmup: command.warmup_s.unwrap_or(seconds("warmup", 0)),
            pause: seconds("pause", 0),
        };
        if times.interval == 0 || times.elapsed / times.interval.max(1) < 2 {
            let hint = "e.g. elapsed=30,interval=1";
            wrong.add(run.place("elapsed"), "elapsed= is to be at least twice the interval=", hint);
        } else if !times.elapsed.is_multiple_of(times.interval)
            || !times.warmup.is_multiple_of(times.interval)
        {
            let hint = "e.g. elapsed=30,warmup=10,interval=5";
            wrong.add(run.place("interval"), "elapsed= and warmup= are to be multiples of interval=", hint);
        }
        times
    }
}

/// A list of sizes with percentages, one size, or least, largest and step.
pub fn sizes(parameter: Option<&Parameter>, default: u64, wrong: &mut MistakeList) -> Size {
    let Some(parameter) = parameter else { return Size::Fixed(default) };
    let numbers = numbers(parameter).unwrap_or_default();
    let is_odd = |bytes: &f64| *bytes < 1.0 || bytes.fract() != 0.0;
    let mut refuse = |message: &str, hint: &str| {
        wrong.add(&parameter.origin, format!("`{}=`: {message}", parameter.keyword), hint);
        Size::Fixed(default)
    };
    match numbers[..] {
        [bytes] if !is_odd(&bytes) => Size::Fixed(bytes as u64),
        [least, most, step] => {
            let fits = least < most && step >= 512.0 && step % 512.0 == 0.0 && !is_odd(&least);
            match fits {
                true => Size::Uniform {
                    least_bytes: least as u64,
                    most_bytes: most as u64,
                    step_bytes: step as u64,
                },
                false => refuse("least, largest and a step of whole sectors", "e.g. (4k,64k,4k)"),
            }
        }
        _ if numbers.len() >= 2 && numbers.len().is_multiple_of(2) => {
            let table: Vec<(u64, f64)> = numbers.chunks(2).map(|pair| (pair[0] as u64, pair[1])).collect();
            let sum: f64 = table.iter().map(|(_, percent)| percent).sum();
            match (sum - 100.0).abs() < 0.5
                && !table.iter().any(|(bytes, percent)| *bytes == 0 || *percent < 0.0)
            {
                true => Size::Split(table.into_iter().filter(|(_, percent)| *percent > 0.0).collect()),
                false => refuse(&format!("percentages that make {sum}, not 100"), "e.g. (4k,50,8k,50)"),
            }
        }
        _ => refuse("a size, or sizes each with a percentage", "e.g. 4k or (4k,50,8k,50)"),
    }
}

/// How places are picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seeks {
    /// That percentage of operations at a random place.
    Percent(f64),
    /// Sequential, once through.
    ToEnd,
    /// Sequential, from a random place on.
    FromAnywhere,
}

impl Seeks {
    pub fn of(parameter: Option<&Parameter>, wrong: &mut MistakeList) -> Seeks {
        let Some(parameter) = parameter else { return Seeks::Percent(100.0) };
        let word = parameter.values[0].to_lowercase();
        let begins = |whole: &str| word.len() >= 3 && whole.starts_with(word.as_str());
        let percent = word.parse::<f64>().ok().filter(|percent| (-1.0..=100.0).contains(percent));
        match percent {
            _ if parameter.values.len() > 1 || word == "poisson" => {
                let hint = "hotband=(FROM,TO) makes the first blocks hot; seekpct=random is even";
                wrong.add(&parameter.origin, "a Poisson distribution of places is not drawn", hint);
                Seeks::Percent(100.0)
            }
            Some(percent) if percent < 0.0 => Seeks::ToEnd,
            Some(percent) => Seeks::Percent(percent),
            None if begins("random") => Seeks::Percent(100.0),
            None if begins("seqnz") && word == "seqnz" => Seeks::FromAnywhere,
            None if begins("sequential") => Seeks::Percent(0.0),
            None if word == "eof" => Seeks::ToEnd,
            None => {
                let hint = "a percentage, random, sequential, eof or seqnz";
                wrong.add(&parameter.origin, format!("`seekpct={word}`"), hint);
                Seeks::Percent(100.0)
            }
        }
    }

    /// Whether each place has nothing to do with the one before.
    pub fn is_random(self) -> bool {
        self == Seeks::Percent(100.0)
    }

    pub fn percent(self) -> f64 {
        if let Seeks::Percent(percent) = self { percent } else { 0.0 }
    }

    fn pick(self, sequential: &Pick) -> Pick {
        match self {
            Seeks::Percent(100.0) => Pick::Uniform,
            Seeks::Percent(percent) if percent > 0.0 => Pick::Blend(vec![
                Blend { percent, pick: Pick::Uniform },
                Blend { percent: 100.0 - percent, pick: sequential.clone() },
            ]),
            _ => sequential.clone(),
        }
    }
}

/// Where reads and writes go: hits to the hit area, others as seeks say.
pub fn picks(
    workload: &Definition,
    seeks: Seeks,
    hits: (f64, f64),
    hit_area: u64,
    least: u64,
) -> PerDirection<Pick> {
    let stride = workload.numbers("stride");
    let sequential = match stride[..] {
        [least_gap, ..] if least_gap > 0.0 => Pick::Gap(least_gap as i64 - least as i64),
        _ => Pick::Sequential,
    };
    let pick = match workload.has("hotband") {
        true => hot_band(),
        false => seeks.pick(&sequential),
    };
    let with = |percent: f64| match percent > 0.0 {
        true => Pick::Zones(vec![
            Zone { accesses_percent: percent, extent: Extent::Bytes(hit_area) },
            Zone { accesses_percent: 100.0 - percent, extent: Extent::Rest },
        ]),
        false => pick.clone(),
    };
    PerDirection { read: with(hits.0), write: with(hits.1), trim: pick.clone() }
}

/// Parts of the band, from its start on, in percent of it, each with the percentage of accesses that go there: the
/// original's curve of cache hits at 16, 128, 1024, 4096, 16384 and 32768 MB, of a band of 100 GB. What its curve has beyond
/// the band is spread evenly over it.
const HOT_BAND: [(f64, f64); 7] = [
    (0.016, 8.73),
    (0.112, 7.32),
    (0.896, 17.03),
    (3.072, 7.27),
    (12.288, 14.83),
    (16.384, 11.02),
    (67.232, 33.8),
];

fn hot_band() -> Pick {
    let zone = |(extent, accesses_percent): &(f64, f64)| Zone {
        accesses_percent: *accesses_percent,
        extent: Extent::Percent(*extent),
    };
    Pick::Zones(HOT_BAND.iter().map(zone).collect())
}

/// A part of a target: of its definition's `offset=` and `range=`, or the workload's `range=` or `hotband=`.
pub fn span(storage: &Definition, workload: &Definition, wrong: &mut MistakeList) -> Span {
    let offset = storage.number("offset").unwrap_or(0.0).max(0.0) as u64;
    let whole = Span { offset: Extent::Bytes(offset), ..Span::default() };
    let places = [(workload, "hotband"), (workload, "range"), (storage, "range")];
    let Some((definition, name)) = places.into_iter().find(|(definition, name)| definition.has(name)) else {
        return if offset > 0 { whole } else { Span::default() };
    };
    let place = definition.place(name);
    let numbers = definition.numbers(name);
    let [low, high] = numbers[..] else {
        wrong.add(place, format!("`{name}=` has a beginning and an end"), format!("e.g. {name}=(10,20)"));
        return whole;
    };
    if low < 0.0 || high <= low {
        wrong.add(place, format!("`{name}=` ends before it begins"), format!("e.g. {name}=(10,20)"));
    } else if high > 100.0 && high <= 200.0 {
        wrong.add(
            place,
            format!("`{name}=` goes over the end to the start"),
            "two workloads, one for each part",
        );
    } else if high > 200.0 {
        let offset = Extent::Bytes(offset + low as u64);
        return Span {
            offset,
            length: Extent::Bytes((high - low) as u64),
            align_bytes: SECTOR,
            ..Span::default()
        };
    } else if offset > 0 {
        wrong.add(place, format!("`{name}=` in percent and `offset=`"), "say the range in bytes");
    }
    Span {
        offset: Extent::Percent(low),
        length: Extent::Percent(high - low),
        align_bytes: 4096,
        ..Span::default()
    }
}

/// How files are opened, as far as `openflags=` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    pub direct: Direct,
    pub sync: OpenSync,
    /// Whether what was written is made durable at the end.
    pub fsync: bool,
}

impl OpenFlags {
    /// The flags of the first definition that has any.
    pub fn of(definitions: &[&Definition], wrong: &mut MistakeList) -> OpenFlags {
        let mut flags = OpenFlags::default();
        let Some(parameter) = definitions.iter().find_map(|definition| definition.get("openflags")) else {
            return flags;
        };
        for word in &parameter.values {
            match word.to_lowercase().as_str() {
                "o_direct" | "directio" | "direct" => flags.direct = Direct::Yes,
                "o_dsync" | "o_rsync" => flags.sync = OpenSync::Data,
                "o_sync" => flags.sync = OpenSync::All,
                "fsync" => flags.fsync = true,
                _ => {
                    let hint = "o_direct, directio, o_sync, o_dsync, o_rsync or fsync";
                    wrong.add(&parameter.origin, format!("`openflags={word}`: no such flag here"), hint);
                }
            }
        }
        flags
    }
}

/// What is written: compressible, repeating, stamped.
pub fn payload(
    all: &Definitions,
    storage: Option<&Definition>,
    run: &Definition,
    wrong: &mut MistakeList,
) -> Payload {
    let general = &all.general;
    let ratio_of = |name: &str, own: Option<&Definition>| {
        let definition = own.filter(|definition| definition.has(name)).unwrap_or(general);
        (definition.number(name), definition.place(name).clone())
    };
    let old = general.number("compression").map(|percent| 100.0 / percent);
    let (general_ratio, place) = ratio_of("compratio", None);
    let compression = run.number("forcompratio").or(general_ratio).or(old);
    let (deduplication, dedup_place) = ratio_of("dedupratio", storage);
    let mut share = |ratio: Option<f64>, name: &str, place: &Origin| match ratio {
        Some(ratio) if !(1.0..=100.0).contains(&ratio) => {
            wrong.add(place, format!("`{name}={ratio}`"), "a ratio from 1 to 100: 2 halves what is stored");
            0
        }
        Some(ratio) => (100.0 - 100.0 / ratio).round() as u8,
        None => 0,
    };
    let compress_percent = share(compression, "compratio", &place);
    let dedupe_percent = share(deduplication, "dedupratio", &dedup_place);
    let (unit, _) = ratio_of("dedupunit", storage);
    let is_plain = compress_percent == 0 && dedupe_percent == 0;
    Payload {
        content: Content::Random,
        compress_percent,
        dedupe_percent,
        dedupe_chunk_bytes: if dedupe_percent > 0 { unit.unwrap_or(131_072.0) as u64 } else { 0 },
        dedupe: dedupe(all, storage, dedupe_percent > 0),
        refresh: if is_plain { Refresh::Once } else { Refresh::EachWrite },
        ..Payload::default()
    }
}

/// What blocks that repeat are copies of: so many different ones, 5 % of all where nothing is said.
fn dedupe(all: &Definitions, storage: Option<&Definition>, is_wanted: bool) -> Dedupe {
    let own = storage.filter(|storage| storage.has("dedupsets")).unwrap_or(&all.general);
    let percent = match own.number("dedupsets") {
        Some(number) if number < 0.0 => -number,
        Some(_) if !own.text("dedupsets").is_some_and(|text| text.ends_with('%')) => return Dedupe::Few,
        _ => 5.0,
    };
    let shared = all.general.text("dedupacross").is_none_or(|text| !text.starts_with('n'));
    if is_wanted { Dedupe::WorkingSet { percent, shared } } else { Dedupe::default() }
}

/// What data validation is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    pub is_on: bool,
    /// Each block is read right after it was written.
    pub read_after_write: bool,
    /// Writes are remembered in a journal.
    pub journal: bool,
    pub recovers: bool,
    pub only: bool,
}

impl Validation {
    pub fn of(all: &Definitions, command: &Command, wrong: &mut MistakeList) -> Validation {
        let mut validation = Validation::default();
        let begins = |whole: &str, word: &str| word.len() >= 2 && whole.starts_with(word);
        if let Some(letters) = &command.validate {
            validation.is_on = true;
            validation.read_after_write = letters.contains(['r', '2']);
        }
        if let Some(letters) = &command.journal {
            (validation.is_on, validation.journal) = (true, true);
            validation.recovers = letters.contains(['r', 'o']);
            validation.only = letters.contains('o');
        }
        for word in all.general.values("validate") {
            match word.to_lowercase().as_str() {
                "no" | "n" => validation.is_on = command.validate.is_some() || command.journal.is_some(),
                "y" | "time" => validation.is_on = true,
                word if begins("read_after_write", word) => {
                    (validation.is_on, validation.read_after_write) = (true, true);
                }
                word if begins("yes", word)
                    || begins("no_preread", word)
                    || begins("ignore_zero_reads", word) =>
                {
                    validation.is_on = true;
                }
                _ => wrong.add(all.general.place("validate"), format!("`validate={word}`"), VALIDATIONS),
            }
        }
        for word in all.general.values("journal") {
            match word.to_lowercase().as_str() {
                "no" => return Validation { journal: false, recovers: false, ..validation },
                "only" => {
                    (validation.is_on, validation.journal, validation.recovers, validation.only) =
                        (true, true, true, true)
                }
                word if begins("recover", word) => {
                    (validation.is_on, validation.journal, validation.recovers) = (true, true, true)
                }
                word if ["yes", "noflush", "maponly", "ignore_pending"]
                    .iter()
                    .any(|whole| begins(whole, word))
                    || word == "y" =>
                {
                    (validation.is_on, validation.journal) = (true, true);
                }
                _ => wrong.add(all.general.place("journal"), format!("`journal={word}`"), JOURNALS),
            }
        }
        validation
    }

    /// How blocks are checked; `map` is where their generations are kept.
    pub fn verify(&self, map: Option<String>, only: bool) -> Option<Verify> {
        let when = match (only, self.read_after_write) {
            (true, _) => VerifyWhen::AfterWrites,
            (false, true) => VerifyWhen::Backlog { writes: 1, batch: 1 },
            (false, false) => VerifyWhen::OnRead,
        };
        let stamp = Stamp::Block;
        let map_live = map.is_some() && !only;
        self.is_on.then(|| Verify { stamp, when, only, map, map_live, ..Verify::default() })
    }
}

const VALIDATIONS: &str = "yes, no, read_after_write, no_preread, time or ignore_zero_reads";
const JOURNALS: &str = "yes, no, recover, only, noflush, maponly or ignore_pending";
