//! `sprandom`: random preconditioning of SSDs by regions.
//!
//! What it sets and what it refuses beside it is what fio 3.41 sets and refuses, in its words. It refuses too what fio takes
//! and makes nothing of: reads in between, blocks of several sizes, an amount of its own.

use iodyno_model::{Pick, RegionSchedule};

use super::JobContext;
use super::option_reader::OptionReader;
use super::size::{SizeContext, Sizes};

/// Its numbers, where a job asks for it.
struct RegionOptions {
    regions: u32,
    over_provisioning: f64,
    cache_bytes: u64,
}

impl RegionOptions {
    fn of(ask: &OptionReader<'_>) -> Option<RegionOptions> {
        ask.flag("sprandom", false).then(|| RegionOptions {
            regions: ask.whole("spr_num_regions").map_or(100, |regions| regions as u32),
            over_provisioning: ask
                .decimals("spr_op")
                .and_then(|numbers| numbers.first().copied())
                .unwrap_or(0.15),
            cache_bytes: ask.bytes("spr_cs").unwrap_or(0),
        })
    }

    fn schedule(&self, bytes: u64, block: u64) -> Result<RegionSchedule, (String, &'static str)> {
        RegionSchedule::new(bytes, block, self.regions, self.over_provisioning)
    }
}

/// How places are picked, where a job asks for it.
pub fn pick(ask: &mut OptionReader<'_>, found: &JobContext) -> Option<Pick> {
    let asked = RegionOptions::of(ask)?;
    let direction = &found.direction;
    let writes_alone = direction.writes && !direction.reads && !direction.trims;
    if !writes_alone || !direction.random {
        let message = "sprandom requires random write, random_generator=lfsr, norandommap=1";
        ask.refuse("rw", message, "rw=randwrite");
    }
    if direction.operations > 1 {
        ask.refuse("rw", "sprandom places each block by itself", "rw=randwrite without a number");
    }
    set_to(ask, "norandommap", "norandommap=1", ask.has("norandommap"), ask.flag("norandommap", false));
    let generator = ask.word("random_generator");
    let is_given = ask.has("random_generator");
    set_to(ask, "random_generator", "random_generator=lfsr", is_given, generator == Some("lfsr"));
    for name in ["random_distribution", "percentage_random", "zonemode", "io_size"] {
        let is_default = match name {
            "random_distribution" => ask.tailed(name).is_none_or(|(word, _)| word == "random"),
            "percentage_random" => {
                ask.triple(name).and_then(|percent| percent.write).is_none_or(|percent| percent == 100)
            }
            "zonemode" => ask.word(name).is_none_or(|word| word == "none"),
            _ => false,
        };
        if ask.has(name) && !is_default {
            ask.refuse(name, format!("sprandom itself says what `{name}` would"), "leave one of the two out");
        }
    }
    blocks(ask, found);
    schedules(ask, &asked, found);
    let RegionOptions { regions, over_provisioning, cache_bytes } = asked;
    Some(Pick::Preconditioning { regions, over_provisioning, cache_bytes })
}

/// An option that is set where it was not given, and refused where it was given otherwise.
fn set_to(ask: &mut OptionReader<'_>, name: &str, needed: &str, is_given: bool, is_so: bool) {
    match (is_given, is_so) {
        (true, false) => {
            ask.refuse(name, format!("sprandom requires {needed}"), format!("{needed}, or neither"))
        }
        (false, _) => ask.note("sprandom", format!("sprandom sets {needed}")),
        (true, true) => {}
    }
}

fn blocks(ask: &mut OptionReader<'_>, found: &JobContext) {
    let (least, most) = found.blocks.ends.write;
    if least != most || found.blocks.moves_align(&found.direction) {
        ask.refuse(
            "sprandom",
            "sprandom needs blocks of one size, side by side",
            "bs=4k, without bsrange, bssplit and ba",
        );
    } else if !least.is_power_of_two() {
        ask.refuse("bs", format!("sprandom: bs [{least}] should be power of 2"), "bs=4k");
    }
}

/// Refuses what makes no schedule on one of the files.
fn schedules(ask: &mut OptionReader<'_>, asked: &RegionOptions, found: &JobContext) {
    let block = found.blocks.ends.write.0.max(1);
    for bytes in found.sizes.parts.iter().flatten() {
        match asked.schedule(*bytes, block) {
            Err((message, hint)) => return ask.refuse("sprandom", format!("sprandom: {message}"), hint),
            Ok(schedule) if asked.cache_bytes >= schedule.region_bytes => {
                let message = format!(
                    "a cache of {} bytes holds a region of {} bytes",
                    asked.cache_bytes, schedule.region_bytes
                );
                return ask.refuse("spr_cs", message, "a smaller spr_num_regions");
            }
            Ok(_) => {}
        }
    }
}

/// What a pass moves is more than the files hold.
pub fn amount_moved(ask: &OptionReader<'_>, scene: &SizeContext<'_>, sizes: &mut Sizes) {
    let Some(asked) = RegionOptions::of(ask) else { return };
    let block = scene.blocks.ends.write.0.max(1);
    let start = sizes.start();
    let each = sizes.parts.iter().zip(scene.files).map(|(part, file)| {
        let bytes = part.unwrap_or_else(|| file.bytes().saturating_sub(start));
        Some(asked.schedule(bytes, block).ok()?.writes(bytes / block).saturating_mul(block))
    });
    if let Some(sum) = each.sum::<Option<u64>>().filter(|sum| *sum > 0) {
        sizes.pass_bytes = Some(sum);
    }
}
