//! `iodyno whatif --promises`: the words that describe a store, and what it promises.

use clap::Args;
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_report::promises::{YEAR_NS, json, text};
use iodyno_simulation::promises::chain::MOST_STATES;
use iodyno_simulation::promises::{MOST_PIECES, StoreDesign, promises, rate_of_share};

use super::WhatifArgs;
use crate::runs::{one, paint, print};

/// Of the Monte Carlo, where none is named.
const SEED: u64 = 1;

#[derive(Args)]
pub struct StoreArguments {
    /// Devices whose data is lost within a year, percent
    #[arg(long, value_name = "PERCENT", requires = "promises", value_parser = percentage)]
    afr: Option<f64>,
    /// Full copies of the data
    #[arg(long, value_name = "N", requires = "promises", conflicts_with = "code",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PIECES)))]
    replicas: Option<u32>,
    /// Erasure code: any K of K+M pieces give the data back
    #[arg(long, value_name = "K+M", requires = "promises", value_parser = code)]
    code: Option<(u32, u32)>,
    /// Mean time from the loss of a piece until it is rebuilt
    #[arg(long, value_name = "TIME", requires = "promises", value_parser = duration)]
    repair: Option<u64>,
    /// Failure domains (servers, racks) that the pieces are spread over; default: one for each piece
    #[arg(long, value_name = "N", requires = "promises", value_parser = clap::value_parser!(u32).range(1..))]
    domains: Option<u32>,
    /// Domains that are lost with all their data within a year, percent
    #[arg(long, value_name = "PERCENT", requires = "promises", default_value = "0", value_parser = percentage)]
    domain_afr: f64,
    /// Outages of each domain in a year, which lose no data
    #[arg(long, value_name = "N", requires = "outage", default_value = "0", value_parser = rate)]
    outages: f64,
    /// Mean length of an outage
    #[arg(long, value_name = "TIME", requires = "outages", value_parser = duration)]
    outage: Option<u64>,
    /// Pieces that a read waits for; default: as few as find each write
    #[arg(long, value_name = "R", requires = "promises")]
    read_quorum: Option<u32>,
    /// Pieces that a write waits for; default: K and half of the others
    #[arg(long, value_name = "W", requires = "promises")]
    write_quorum: Option<u32>,
    /// Groups of pieces that hold all the data together
    #[arg(long, value_name = "N", requires = "promises", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..))]
    groups: u64,
}

/// A percentage as a share below 1.
fn percentage(text: &str) -> Result<f64, String> {
    let percent = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    let share = percent.filter(|percent| (0.0..100.0).contains(percent)).map(|percent| percent / 100.0);
    share.ok_or_else(|| "expected 0 to below 100 percent, e.g. 1.5%".into())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.trim().parse::<f64>().ok().filter(|rate| (0.0..=1e6).contains(rate));
    rate.ok_or_else(|| "expected a number a year, e.g. 4 or 0.5".into())
}

fn code(text: &str) -> Result<(u32, u32), String> {
    let parts =
        text.split_once('+').and_then(|(k, m)| Some((k.trim().parse().ok()?, m.trim().parse().ok()?)));
    match parts {
        Some((k @ 1.., m)) if k <= MOST_PIECES && m <= MOST_PIECES - k => Ok((k, m)),
        Some(_) => Err(format!("expected at least 1 and at most {MOST_PIECES} pieces, e.g. 8+3")),
        None => Err("expected data and parity pieces, e.g. 8+3".into()),
    }
}

fn duration(text: &str) -> Result<u64, String> {
    units::parse_ns(text).and_then(|ns| if ns > 0 { Ok(ns) } else { Err("expected more than 0".into()) })
}

/// What is wrong with an option.
fn wrong(option: &str, what: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
    Diagnostic::error(&Origin::argument(option), what).hint(hint)
}

impl StoreArguments {
    fn design(&self) -> Result<StoreDesign, Diagnostic> {
        let missing = |option, hint: &str| wrong(option, "it is not said", hint);
        let (needed, pieces) = match (self.replicas, self.code) {
            (Some(replicas), _) => (1, replicas),
            (None, Some((k, m))) => (k, k + m),
            (None, None) => return Err(missing("--replicas", "say --replicas 3, or --code 8+3")),
        };
        let afr =
            self.afr.ok_or_else(|| missing("--afr", "say how many devices fail in a year: --afr 1.5%"))?;
        if afr == 0.0 {
            return Err(wrong(
                "--afr",
                "devices that never fail lose nothing",
                "name a share above 0, e.g. 1.5%",
            ));
        }
        let repair =
            self.repair.ok_or_else(|| missing("--repair", "say how long a rebuild takes: --repair 12h"))?;
        let domains = self.domains.unwrap_or(pieces);
        if domains > pieces {
            let what = format!("{pieces} pieces cannot use {domains} domains");
            return Err(wrong(
                "--domains",
                what,
                format!("name at most {pieces}: each group uses only so many"),
            ));
        }
        let by_default = needed + (pieces - needed).div_ceil(2);
        let write_quorum = quorum("--write-quorum", self.write_quorum.unwrap_or(by_default), needed, pieces)?;
        let by_default = pieces + needed - write_quorum;
        let read_quorum = quorum("--read-quorum", self.read_quorum.unwrap_or(by_default), needed, pieces)?;
        let design = StoreDesign {
            pieces,
            needed,
            domains,
            device_rate: rate_of_share(afr),
            domain_rate: rate_of_share(self.domain_afr),
            repair: repair as f64 / YEAR_NS,
            outage_rate: self.outages,
            outage: self.outage.unwrap_or(0) as f64 / YEAR_NS,
            read_quorum,
            write_quorum,
            groups: self.groups,
        };
        if design.failures_at_once() >= 1.0 {
            let what =
                format!("on average {:.1} parts of a group are down at once", design.failures_at_once());
            return Err(wrong("--repair", what, "shorten the repair or the outages: nothing is promised so"));
        }
        Ok(design)
    }

    /// The layout, and how its parts fail.
    fn words(&self, design: &StoreDesign) -> (String, String) {
        let pieces = match self.code {
            Some((k, m)) => format!("{k}+{m} pieces"),
            None if design.pieces == 1 => "1 copy".into(),
            None => format!("{} replicas", design.pieces),
        };
        let domains = if design.domains == 1 { "domain" } else { "domains" };
        let name = format!("{pieces} in {} failure {domains}", design.domains);
        let mut about = format!(
            "{} of the devices are lost in a year; a lost piece is rebuilt in {}",
            percent(self.afr.unwrap_or_default()),
            duration_text(self.repair.unwrap_or_default())
        );
        if self.domain_afr > 0.0 {
            about += &format!("; {} of the domains are lost in a year", percent(self.domain_afr));
        }
        if let Some(outage) = self.outage.filter(|_| self.outages > 0.0) {
            let length = duration_text(outage);
            about += &format!("; each domain is out {} times a year for {length}", self.outages);
        }
        about += &format!("; reads wait for {}, writes for {}.", design.read_quorum, design.write_quorum);
        (name, about)
    }
}

fn duration_text(ns: u64) -> String {
    const HOUR_NS: u64 = 3_600_000_000_000;
    if ns >= HOUR_NS && ns.is_multiple_of(HOUR_NS) {
        format!("{} h", ns / HOUR_NS)
    } else {
        units::duration(ns as f64)
    }
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

fn quorum(option: &str, quorum: u32, needed: u32, pieces: u32) -> Result<u32, Diagnostic> {
    match quorum {
        quorum if quorum < needed => Err(wrong(
            option,
            format!("{quorum} pieces do not hold the data"),
            format!("name at least {needed}"),
        )),
        quorum if quorum > pieces => {
            Err(wrong(option, format!("there are {pieces} pieces only"), format!("name at most {pieces}")))
        }
        quorum => Ok(quorum),
    }
}

/// Prints what a store promises.
pub fn told(words: &WhatifArgs) -> Result<u8, Vec<Diagnostic>> {
    if words.report.html.is_some() || words.report.xlsx.is_some() {
        return Err(one(wrong(
            "--promises",
            "they are told as text and as JSON alone",
            "leave --html and --xlsx out",
        )));
    }
    let design = words.store.design().map_err(one)?;
    let seed = words.seed.unwrap_or(SEED);
    let promises = promises(&design, seed).map_err(|states| {
        let what = format!("the pieces can be lost in {states} ways or more, over {MOST_STATES}");
        one(wrong("--domains", what, "name as many domains as pieces, or fewer spare pieces"))
    })?;
    if words.report.json {
        return Ok(print(&format!("{:#}\n", json(&design, &promises, seed))));
    }
    let (name, about) = words.store.words(&design);
    Ok(print(&text(&name, &about, &design, &promises, paint())))
}
