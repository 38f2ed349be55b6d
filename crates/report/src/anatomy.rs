//! Where latency goes (`iodyno why`), as text that fits 80 columns and as JSON (`iodyno.anatomy/1`).

use iodyno_model::units;
use iodyno_trace::anatomy::{Anatomy, LatencyPart, PARTS, PartTable};
use serde_json::{Map, Value, json};

use crate::number::{self, SAMPLES_BEYOND, percentile_text, thousands};
use crate::paint::Paint;
use crate::table::{Table, wrapped};

/// Percentiles that are told, with their names.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9")];

/// The whole text; `name` is what ran.
pub fn text(name: &str, anatomy: &Anatomy, paint: Paint) -> String {
    let calls: u64 = anatomy.calls.values().map(|table| table.latency_ns.count()).sum();
    let requests: u64 = anatomy.requests.values().map(|table| table.latency_ns.count()).sum();
    let span = anatomy.last_ns.saturating_sub(anatomy.first_ns.unwrap_or(anatomy.last_ns));
    let lost = match anatomy.lost {
        0 => "no event lost".to_string(),
        lost => format!("{} events lost", thousands(lost)),
    };
    let about = format!(
        "{} calls and {} requests in {}, {lost}",
        thousands(calls),
        thousands(requests),
        units::duration(span as f64)
    );
    let mut text = format!("{}\n{}", paint.heading(&format!("why {name}")), sentence(&about, paint));
    for (verb, table) in &anatomy.calls {
        text.push_str(&format!("\n{}\n", paint.heading(verb.name())));
        text.push_str(&of_calls(table, paint));
    }
    if !anatomy.requests.is_empty() {
        text.push_str(&format!(
            "\n{}\n{}",
            paint.heading("requests to devices"),
            of_requests(anatomy, paint)
        ));
    }
    if anatomy.dropped > 0 {
        let dropped = format!(
            "{} calls and requests are left out: they began before, ended after, or events of theirs were lost",
            thousands(anatomy.dropped)
        );
        text.push_str(&format!("\n{}", sentence(&dropped, paint)));
    }
    if calls == 0 && requests == 0 {
        text.push_str("\n  cannot tell: no read, write or sync was seen\n");
    }
    text
}

fn sentence(text: &str, paint: Paint) -> String {
    format!("  {}\n", wrapped(text, paint.columns.saturating_sub(2), 2))
}

fn share(percent: f64) -> String {
    if percent < 0.05 { "–".into() } else { format!("{percent:.0} %") }
}

/// The percentiles that enough latencies lie beyond.
fn known(table: &PartTable) -> Vec<(f64, &'static str)> {
    let is_known = |(percent, _): &(f64, &str)| table.latency_ns.beyond(*percent) >= SAMPLES_BEYOND;
    PERCENTILES.into_iter().filter(is_known).collect()
}

fn of_calls(table: &PartTable, paint: Paint) -> String {
    let headings: Vec<&str> =
        ["", "latency"].into_iter().chain(LatencyPart::ALL.map(LatencyPart::name)).collect();
    let mut rows = Table::new(1, &headings);
    let mut row = |name: &str, latency: String, shares: [f64; PARTS]| {
        let cells: Vec<String> = [name.to_string(), latency].into_iter().chain(shares.map(share)).collect();
        rows.row(&cells);
    };
    row("mean", number::latency(table.latency_ns.mean()), table.shares());
    for (percent, name) in known(table) {
        row(name, percentile_text(&table.latency_ns, percent), table.shares_at(percent));
    }
    let (what, shares) = match known(table).last() {
        Some((percent, name)) => (*name, table.shares_at(*percent)),
        None => ("the mean", table.shares()),
    };
    let largest = LatencyPart::ALL
        .into_iter()
        .max_by(|a, b| shares[*a as usize].total_cmp(&shares[*b as usize]).then(b.cmp(a)));
    let largest = largest.unwrap_or(LatencyPart::Cache);
    let count = thousands(table.latency_ns.count());
    let said = format!("{what} of {count} is {:.0} % {}", shares[largest as usize], largest.doing());
    rows.text(2, paint) + &sentence(&said, paint)
}

fn of_requests(anatomy: &Anatomy, paint: Paint) -> String {
    let headings = ["", "number", "mean", "p50", "p99", "longest", "scheduler", "device"];
    let mut rows = Table::new(1, &headings);
    for ((is_watched, kind), table) in anatomy.requests.iter().rev() {
        let latency = &table.latency_ns;
        let whose = if *is_watched { "its own" } else { "others'" };
        let shares = table.shares();
        rows.row(&[
            format!("{} ({whose})", kind.name()),
            thousands(latency.count()),
            number::latency(latency.mean()),
            percentile_text(latency, 50.0),
            percentile_text(latency, 99.0),
            number::latency(latency.max as f64),
            share(shares[LatencyPart::Scheduler as usize]),
            share(shares[LatencyPart::Device as usize]),
        ]);
    }
    rows.text(2, paint)
}

/// Shares in percent, times in ns.
pub fn json(name: &str, anatomy: &Anatomy) -> Value {
    let calls: Map<String, Value> =
        anatomy.calls.iter().map(|(verb, table)| (verb.name().to_string(), table_json(table))).collect();
    let request = |((is_watched, kind), table): (&(bool, _), &PartTable)| {
        let kind: iodyno_trace::anatomy::RequestKind = *kind;
        let mut value = table_json(table);
        value["kind"] = kind.name().into();
        value["own"] = (*is_watched).into();
        value
    };
    let requests = anatomy.requests.iter().map(|((own, kind), table)| request((&(*own, *kind), table)));
    json!({
        "format": "iodyno.anatomy/1",
        "name": name,
        "calls": calls,
        "requests": requests.collect::<Vec<_>>(),
        "lost_events": anatomy.lost,
        "dropped": anatomy.dropped,
    })
}

fn table_json(table: &PartTable) -> Value {
    let shares = |shares: [f64; PARTS]| by_part(|part| shares[part].into());
    let percentile = |(percent, name): (f64, &str)| {
        let latency = table.latency_ns.percentile(percent);
        json!({ "percentile": name, "latency_ns": latency, "percent": shares(table.shares_at(percent)) })
    };
    json!({
        "count": table.latency_ns.count(),
        "mean_ns": table.latency_ns.mean(),
        "min_ns": table.latency_ns.min,
        "max_ns": table.latency_ns.max,
        "percent": shares(table.shares()),
        "sums_ns": by_part(|part| (table.sums()[part] as u64).into()),
        "percentiles": known(table).into_iter().map(percentile).collect::<Vec<_>>(),
    })
}

/// A value for each part, by its name.
fn by_part(value: impl Fn(usize) -> Value) -> Value {
    let named = |part: LatencyPart| (part.name().to_string(), value(part as usize));
    LatencyPart::ALL.into_iter().map(named).collect::<Map<_, _>>().into()
}
