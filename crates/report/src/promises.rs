//! What a store can promise (`iodyno whatif --promises`), as text and as JSON (`iodyno.promises/1`).

use iodyno_simulation::promises::{Consistency, Promise, Promises, StoreDesign};
use serde_json::{Value, json};

use crate::number::{NONE, latency, percent, significant, thousands};
use crate::paint::Paint;
use crate::table::{Table, wrapped};

/// A year of 365.25 days, ns.
pub const YEAR_NS: f64 = 31_557_600e9;

/// Promises as text. `name` is the layout as it was asked for, `about` how its parts fail.
pub fn text(name: &str, about: &str, design: &StoreDesign, promises: &Promises, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.heading(&format!("Promises of {name}")));
    let sentence = |words: &str| format!("  {}\n", wrapped(words, paint.columns.saturating_sub(2), 2));
    text += &sentence(about);
    text += &sentence("Computed by formula and by Monte Carlo; nothing was measured.");
    let mut table = Table::new(1, &["", "formula", "Monte Carlo", "nines"]);
    let group = "the data of a group is lost in a year";
    row(&mut table, group, &promises.group_lost);
    if design.groups > 1 {
        let any = format!("that of any of {} groups is", thousands(design.groups));
        row(&mut table, &any, &promises.any_lost);
    }
    row(&mut table, "share of time without reads", &promises.no_reads);
    row(&mut table, "share of time without writes", &promises.no_writes);
    row(&mut table, "a read after a write has an older value", &promises.stale_read);
    text += &format!("\n{}\n", table.text(2, paint));
    text += &sentence(&format!("mean time to loss of a group: {}", years(promises.years_to_loss.formula)));
    let reads = latency(promises.no_reads.formula * YEAR_NS);
    let writes = latency(promises.no_writes.formula * YEAR_NS);
    text += &sentence(&format!("in a year {reads} without reads, {writes} without writes"));
    text += &sentence(&format!("consistency: {}", consistency(promises.consistency)));
    text += &sentence(&survival(promises.survived));
    text
}

fn row(table: &mut Table, name: &str, promise: &Promise) {
    let nines = promise.nines().map_or(NONE.into(), |nines| format!("{nines:.1}"));
    let sampled = match promise.error {
        0.0 => probability(promise.sampled),
        error => format!("{} ± {}", probability(promise.sampled), percent(100.0 * error)),
    };
    table.row(&[name.to_string(), probability(promise.formula), sampled, nines]);
}

/// A probability: in percent from a thousandth on, else with its power of ten.
fn probability(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value >= 0.001 => format!("{} %", significant(100.0 * value)),
        value => format!("{value:.2e}"),
    }
}

fn years(years: f64) -> String {
    match years {
        years if years < 0.01 => latency(years * YEAR_NS),
        years if years < 1e6 => format!("{} years", significant(years)),
        years => format!("{years:.2e} years"),
    }
}

fn consistency(consistency: Consistency) -> &'static str {
    match consistency {
        Consistency::Strong => "strong: a read has the last acknowledged write, and writes have one order",
        Consistency::Unordered => {
            "a read has the last acknowledged write, but two writes at once can both succeed: write quorums do not \
             overlap"
        }
        Consistency::Eventual => "eventual: quorums of reads and writes do not overlap enough",
    }
}

fn survival(pieces: u32) -> String {
    match pieces {
        0 => "an acknowledged write is lost with the first of its pieces, until the others have it".into(),
        1 => "an acknowledged write survives the loss of 1 piece at once".into(),
        pieces => format!("an acknowledged write survives the loss of {pieces} pieces at once"),
    }
}

/// Promises as JSON.
pub fn json(design: &StoreDesign, promises: &Promises, seed: u64) -> Value {
    let both = |promise: &Promise| {
        json!({
            "formula": promise.formula,
            "monte_carlo": promise.sampled,
            "monte_carlo_standard_error": promise.error * promise.sampled,
            "nines": promise.nines(),
        })
    };
    let years = &promises.years_to_loss;
    json!({
        "format": "iodyno.promises/1",
        "measured": false,
        "seed": seed,
        "design": {
            "pieces": design.pieces,
            "needed": design.needed,
            "domains": design.domains,
            "groups": design.groups,
            "device_losses_per_year": design.device_rate,
            "domain_losses_per_year": design.domain_rate,
            "repair_years": design.repair,
            "outages_per_year": design.outage_rate,
            "outage_years": design.outage,
            "read_quorum": design.read_quorum,
            "write_quorum": design.write_quorum,
        },
        "mean_years_to_loss": {
            "formula": years.formula,
            "monte_carlo": years.sampled,
            "monte_carlo_standard_error": years.error * years.sampled,
        },
        "group_lost_in_a_year": both(&promises.group_lost),
        "any_group_lost_in_a_year": both(&promises.any_lost),
        "time_without_reads": both(&promises.no_reads),
        "time_without_writes": both(&promises.no_writes),
        "stale_read": both(&promises.stale_read),
        "consistency": promises.consistency.name(),
        "losses_survived_by_a_write": promises.survived,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_probabilities_keep_their_digits() {
        assert_eq!(probability(0.0), "0");
        assert_eq!(probability(1.0 / 3.0), "33.3 %");
        assert_eq!(probability(4.567e-12), "4.57e-12");
        assert_eq!(years(12_345.0), "12,345 years");
        assert_eq!(years(4.2e9), "4.20e9 years");
        assert_eq!(years(1.0 / 8766.0), "3600 s");
    }
}
