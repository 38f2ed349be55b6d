//! A link's course over a day, from the cards that were kept: a row each, or one an hour where there are many.

use iodyno_model::{Histogram, Record};
use iodyno_report::number::{NONE, latency, percent};
use iodyno_report::paint::Paint;
use iodyno_report::table::Table;

use super::card::{Card, rate};
use crate::date;

/// The most rows with a card each: with more cards, those of an hour share a row.
const ROWS_MOST: usize = 24;
const HOUR_NS: u64 = 3_600_000_000_000;
/// Heights of a course's columns.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The cards of one row.
struct CourseRow {
    when: String,
    cards: Vec<Card>,
}

impl CourseRow {
    /// The median of a figure over the row's cards.
    fn of(&self, figure: impl Fn(&Card) -> Option<f64>) -> Option<f64> {
        let mut values: Vec<f64> = self.cards.iter().filter_map(figure).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }
}

/// A figure of a card: its name, where it stands, and how it is written.
type CardFigure = (&'static str, fn(&Card) -> Option<f64>, fn(f64) -> String);

/// The course of a host: when each run began, and its record, the oldest first.
pub(super) fn text(host: &str, kept: &[(u64, Record)], paint: Paint) -> String {
    if kept.is_empty() {
        return format!("no card of {host} was kept in the last day\n");
    }
    let rows = rows(kept);
    let figures: [CardFigure; 6] = [
        ("response", |card| at(&card.response, 50.0), latency),
        ("99 %", |card| at(&card.response, 99.0), latency),
        ("used", used, percent),
        ("out", |card| card.out_bps, rate),
        ("in", |card| card.in_bps, rate),
        ("loss", loss, percent),
    ];
    let mut table = Table::new(1, &["UTC", "reachable", "response", "99 %", "used", "out", "in", "loss"]);
    for row in &rows {
        let there = row.cards.iter().filter(|card| !card.connects.is_empty()).count();
        let mut cells = vec![row.when.clone(), format!("{there} of {}", row.cards.len())];
        cells.extend(figures.map(|(_, figure, show)| row.of(figure).map_or(NONE.into(), show)));
        table.row(&cells);
    }
    let cards = match kept.len() {
        1 => "1 card".to_string(),
        count => format!("{count} cards"),
    };
    let mut text = format!("the last day's course of {host}, {cards}\n{}", table.text(2, paint));
    for (name, figure, show) in
        figures.into_iter().chain([("capacity", capacity as fn(&Card) -> _, rate as _)])
    {
        text += &line(name, &rows, figure, show);
    }
    text + &availability(&rows)
}

/// In how many of the day's cards the host was there; and a netserver on it, where that was not the same.
fn availability(rows: &[CourseRow]) -> String {
    let cards: Vec<&Card> = rows.iter().flat_map(|row| &row.cards).collect();
    let share = |name: &str, up: usize, what: &str| {
        let (all, share) = (cards.len(), percent(100.0 * up as f64 / cards.len().max(1) as f64));
        format!("  {name:<10}{share}: {what} in {up} of {all}\n")
    };
    let up = cards.iter().filter(|card| card.is_up()).count();
    let served = cards.iter().filter(|card| !card.connects.is_empty()).count();
    let host = share("available", up, "somebody answered");
    if up == served { host } else { host + &share("netserver", served, "one took connections") }
}

/// Percent of what the interface can carry that others moved before the test did, in the direction with more.
fn used(card: &Card) -> Option<f64> {
    let interface = card.interface.as_ref()?;
    Some(100.0 * interface.before.0.max(interface.before.1) / interface.link_bps? as f64)
}

fn capacity(card: &Card) -> Option<f64> {
    Some(card.interface.as_ref()?.link_bps? as f64)
}

fn rows(kept: &[(u64, Record)]) -> Vec<CourseRow> {
    let mut rows: Vec<CourseRow> = Vec::new();
    for (began_unix_ns, record) in kept {
        let hourly = kept.len() > ROWS_MOST;
        let at = if hourly { began_unix_ns / HOUR_NS * HOUR_NS } else { *began_unix_ns };
        let (when, card) = (date::stamp(at, 0), Card::of(&record.phases));
        match rows.last_mut().filter(|row| hourly && row.when == when) {
            Some(row) => row.cards.push(card),
            None => rows.push(CourseRow { when, cards: vec![card] }),
        }
    }
    rows
}

fn at(histogram: &Histogram, percent: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.percentile(percent) as f64)
}

/// Percent of the datagrams both ways.
fn loss(card: &Card) -> Option<f64> {
    let flows = [card.datagrams_out, card.datagrams_in].into_iter().flatten();
    flows.map(|flow| flow.lost_percent()).reduce(f64::max)
}

/// A figure's course in a line: from nothing to the most there was.
fn line(name: &str, rows: &[CourseRow], figure: fn(&Card) -> Option<f64>, show: fn(f64) -> String) -> String {
    let values: Vec<Option<f64>> = rows.iter().map(|row| row.of(figure)).collect();
    let known = || values.iter().flatten().copied();
    let (Some(least), Some(most)) = (known().reduce(f64::min), known().reduce(f64::max)) else {
        return String::new();
    };
    let bar = |value: &Option<f64>| match value {
        Some(value) if most > 0.0 => BARS[((value / most * 7.0).round() as usize).min(7)],
        Some(_) => BARS[0],
        None => ' ',
    };
    let bars: String = values.iter().map(bar).collect();
    format!("  {name:<10}{bars}  {} to {}\n", show(least), show(most))
}

#[cfg(test)]
mod tests {
    use super::super::card;
    use super::*;
    use iodyno_model::{JobRecord, Line, PhaseRecord, Tally, Verb};

    /// A card that was reachable, with this response time.
    fn kept(at_h: u64, response_ns: Option<u64>) -> (u64, Record) {
        let phase = |name: &str, ns: u64| {
            let mut line = Line::empty("exchange", Verb::Exchange);
            line.latency.add(ns);
            let tally = Tally { lines: vec![line], ..Tally::default() };
            let job = JobRecord { name: name.into(), tally, ..JobRecord::default() };
            PhaseRecord { name: name.into(), jobs: vec![job], ..PhaseRecord::default() }
        };
        let phases = response_ns.map(|ns| vec![phase(card::KNOCK, ns), phase(card::RESPONSE, ns)]);
        let record = Record { phases: phases.unwrap_or_default(), ..Record::default() };
        (1_795_287_600_000_000_000 / HOUR_NS * HOUR_NS + at_h * HOUR_NS, record)
    }

    #[test]
    fn a_course_shows_each_card_and_when_nobody_was_there() {
        let text =
            text("db1", &[kept(0, Some(100_000)), kept(1, None), kept(2, Some(800_000))], Paint::PLAIN);
        assert_eq!(text.lines().filter(|line| line.contains(" of 1")).count(), 3, "{text}");
        assert!(text.contains("0 of 1") && text.contains("▂ █"), "{text}");
        assert!(text.contains("100 µs to 800 µs") || text.contains("µs to "), "{text}");
        assert!(super::text("db1", &[], Paint::PLAIN).contains("no card of db1"), "{text}");
        assert!(text.ends_with("  available 66.7 %: somebody answered in 2 of 3\n"), "{text}");
        // One is a course, too.
        let one = super::text("db1", &[kept(0, None)], Paint::PLAIN);
        assert!(one.starts_with("the last day's course of db1, 1 card\n") && one.contains("0 of 1"), "{one}");
        assert!(one.ends_with("  available 0 %: somebody answered in 0 of 1\n"), "{one}");
    }

    #[test]
    fn a_course_says_what_the_interface_can_carry_and_what_others_use_of_it() {
        let interface = |name: &str, sent_bytes| {
            let seen = iodyno_model::InterfaceActivity {
                name: "eth0".into(),
                link_bits: Some(1_000_000_000),
                sent_bytes,
                interval_ns: 1_000_000_000,
                ..Default::default()
            };
            let sightings = vec![iodyno_model::Sighting::Interface(seen)];
            PhaseRecord { name: name.into(), sightings, ..PhaseRecord::default() }
        };
        let (at, mut record) = kept(0, Some(100_000));
        record.phases[1].sightings = interface("", 25_000_000).sightings;
        record.phases.push(interface(card::OUT, 100_000_000));
        let text = text("db1", &[(at, record)], Paint::PLAIN);
        assert!(text.contains("  used      █  20.0 % to 20.0 %\n"), "{text}");
        assert!(text.contains("  capacity  █  1.00 Gbit/s to 1.00 Gbit/s\n"), "{text}");
    }

    #[test]
    fn many_cards_are_told_by_the_hour() {
        let all: Vec<_> = (0..48)
            .map(|n| {
                let (at, record) = kept(n / 2, Some(100_000));
                (at + n % 2 * 1_000_000_000, record)
            })
            .collect();
        let text = text("db1", &all, Paint::PLAIN);
        assert_eq!(text.lines().filter(|line| line.contains("2 of 2")).count(), 24, "{text}");
    }
}
