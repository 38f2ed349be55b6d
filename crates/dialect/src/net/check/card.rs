//! The card of a link, from the phases of a run: one that has just ended, or one that was kept.

use iodyno_model::{Histogram, InterfaceActivity, JobRecord, PhaseRecord, Sighting};
use iodyno_report::number::{NONE, RateUnit, latency, percent, percentile_text, significant, thousands};
use iodyno_report::paint::Paint;
use iodyno_report::table::wrapped;

use super::super::snmp::PortActivity;
use super::super::test_sequence::{FinalText, PORT, SequenceOutcome};
use crate::conversation::{fact, fact_of};
use crate::date;

/// Columns before what is said under a name.
const INDENT: usize = 18;

/// Names of phases and jobs.
pub(super) const ECHO: &str = "echo";
pub(super) const KNOCK: &str = "reachable";
pub(super) const RESPONSE: &str = "response";
pub(super) const OUT: &str = "throughput out";
pub(super) const BACK: &str = "throughput in";
pub(super) const DATAGRAMS: &str = "datagrams";
pub(super) const DATAGRAMS_OUT: &str = "datagrams out";
pub(super) const DATAGRAMS_BACK: &str = "datagrams in";

/// What was measured of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Card {
    /// The host's answers to ICMP, and how many did not come; none: it was not asked.
    pub(super) echoes: Option<(Histogram, u64)>,
    /// Connections that were made, each closed at once.
    pub(super) connects: Histogram,
    pub(super) response: Histogram,
    /// Bit/s, as they arrived.
    pub(super) out_bps: Option<f64>,
    pub(super) in_bps: Option<f64>,
    pub(super) interface: Option<Interface>,
    pub(super) datagrams_out: Option<Datagrams>,
    pub(super) datagrams_in: Option<Datagrams>,
    pub(super) port: Option<PortActivity>,
}

/// The interface that the link goes over: the one that moved most while we sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) link_bps: Option<u64>,
    /// Out and in, bit/s: while only requests went over it, and while we sent, and received, as much as goes.
    pub(super) before: (f64, f64),
    pub(super) busy: (f64, f64),
}

/// What became of a flow of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Datagrams {
    pub(super) sent: u64,
    pub(super) came: u64,
    /// Known where they were numbered.
    pub(super) numbered: Option<LossCounts>,
}

/// What their numbers tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LossCounts {
    /// Missing with later ones there.
    pub(super) gaps: u64,
    /// Missing at the end.
    pub(super) tail: u64,
    pub(super) late: u64,
    pub(super) duplicates: u64,
    pub(super) jitter_ns: u64,
}

impl Datagrams {
    fn lost(&self) -> u64 {
        self.numbered.map_or_else(|| self.sent.saturating_sub(self.came), |known| known.gaps + known.tail)
    }

    pub(super) fn lost_percent(&self) -> f64 {
        100.0 * self.lost() as f64 / self.sent.max(1) as f64
    }
}

/// A fact of the other end.
fn theirs(job: &JobRecord, name: &str) -> Option<u64> {
    fact(&job.peer, name)
}

impl Card {
    /// From the phases of a run.
    pub(super) fn of(phases: &[PhaseRecord]) -> Card {
        let phase = |name: &str| phases.iter().find(|phase| phase.name == name);
        let job = |of: &str, name: &str| phase(of)?.jobs.iter().find(|job| job.name == name);
        let latency = |name: &str| {
            let mut all = Histogram::default();
            let lines = job(name, name).into_iter().flat_map(|job| &job.tally.lines);
            lines.for_each(|line| all.merge(&line.latency));
            all
        };
        Card {
            echoes: job(ECHO, ECHO).map(|job| (latency(ECHO), fact_of(job, "lost").unwrap_or(0))),
            connects: latency(KNOCK),
            response: latency(RESPONSE),
            out_bps: job(OUT, OUT).and_then(sent_bps),
            in_bps: job(BACK, BACK).and_then(received_bps),
            interface: interface(phase(RESPONSE), phase(OUT), phase(BACK)),
            datagrams_out: job(DATAGRAMS, DATAGRAMS_OUT).and_then(datagrams_out),
            datagrams_in: job(DATAGRAMS, DATAGRAMS_BACK).and_then(datagrams_in),
            port: phases.first().and_then(|phase| phase.jobs.first()).and_then(port),
        }
    }
}

fn sent_bps(job: &JobRecord) -> Option<f64> {
    let (bytes, ns) = (theirs(job, "received_bytes")?, theirs(job, "elapsed_ns")?);
    (bytes > 0 && ns > 0).then(|| bytes as f64 * 8e9 / ns as f64)
}

fn received_bps(job: &JobRecord) -> Option<f64> {
    let worker = job.workers.first()?;
    let ns = worker.ended_ns.checked_sub(worker.began_ns).filter(|ns| *ns > 0)?;
    (worker.bytes > 0).then(|| worker.bytes as f64 * 8e9 / ns as f64)
}

impl LossCounts {
    /// Of so many that were sent, by the facts of the end that took them; none: they were not numbered.
    fn of(sent: u64, fact: impl Fn(&str) -> Option<u64>) -> Option<LossCounts> {
        let of = |name: &str| fact(name).unwrap_or(0);
        Some(LossCounts {
            tail: sent.saturating_sub(fact("highest")?),
            gaps: of("lost"),
            late: of("late"),
            duplicates: of("duplicates"),
            jitter_ns: of("jitter_ns"),
        })
    }
}

fn datagrams_out(job: &JobRecord) -> Option<Datagrams> {
    let sent = fact_of(job, "datagrams")?;
    let of = |name: &str| theirs(job, name);
    let came = of("datagrams").or_else(|| Some(of("received_bytes")? / super::DATAGRAM_BYTES))?;
    Some(Datagrams { sent, came, numbered: LossCounts::of(sent, of) })
}

/// What the first phase keeps of a switch's port.
fn port(job: &JobRecord) -> Option<PortActivity> {
    PortActivity::of(|name| theirs(job, name))
}

fn datagrams_in(job: &JobRecord) -> Option<Datagrams> {
    let sent = theirs(job, "sends").filter(|sent| *sent > 0)?;
    let of = |name: &str| Some(fact_of(job, name).unwrap_or(0));
    Some(Datagrams { sent, came: of("datagrams")?, numbered: LossCounts::of(sent, of) })
}

fn interface(
    before: Option<&PhaseRecord>,
    out: Option<&PhaseRecord>,
    back: Option<&PhaseRecord>,
) -> Option<Interface> {
    let all = |phase: Option<&PhaseRecord>| -> Vec<InterfaceActivity> {
        let seen = phase.into_iter().flat_map(|phase| &phase.sightings);
        seen.filter_map(|seen| if let Sighting::Interface(one) = seen { Some(one.clone()) } else { None })
            .collect()
    };
    let busiest =
        all(out).into_iter().chain(all(back)).max_by_key(|one| one.sent_bytes + one.received_bytes)?;
    let of = |phase| all(phase).into_iter().find(|one| one.name == busiest.name);
    let rates = |one: Option<InterfaceActivity>| {
        let rate = |bytes: u64, ns: u64| bytes as f64 * 8e9 / ns.max(1) as f64;
        one.map_or((0.0, 0.0), |one| {
            (rate(one.sent_bytes, one.interval_ns), rate(one.received_bytes, one.interval_ns))
        })
    };
    let (out, back) = (rates(of(out)).0, rates(of(back)).1);
    Some(Interface {
        link_bps: busiest.link_bits,
        before: rates(of(before)),
        busy: (out, back),
        name: busiest.name,
    })
}

/// The report of one check.
pub(super) fn report(
    host: &str,
    outcome: &SequenceOutcome,
    paint: Paint,
    unasked: Option<&'static str>,
) -> FinalText {
    let phases: Vec<PhaseRecord> = outcome.done.iter().map(|done| done.phase.clone()).collect();
    let mut card = Card::of(&phases);
    card.port = outcome.port.clone().or(card.port);
    let peer = match (outcome.peer.as_str(), outcome.ours) {
        ("", _) => String::new(),
        (peer, true) => format!(" ({peer}, iodyno netserver)"),
        (peer, false) => format!(" ({peer}, netserver)"),
    };
    let when = date::stamp(outcome.began_unix_ns, 0);
    let title = format!("net check: {host}{peer}");
    let when = format!("{when} UTC");
    // Where both do not fit a line, the time has one of its own.
    let fits = title.chars().count() + " · ".len() + when.len() <= paint.columns;
    let joint = if fits { " · " } else { "\n  " };
    let mut out = format!("{}{joint}{when}\n\n", paint.heading(&title));
    out += &card.text(paint);
    let unasked = unasked.map(|why| (ECHO.to_string(), why.to_string()));
    for (name, why) in unasked.iter().chain(&outcome.missing) {
        out += &row(name, &format!("cannot be told: {why}"), paint);
    }
    // There is no card of a host that has no address.
    let out = if outcome.unresolved { String::new() } else { out };
    let mut said = FinalText { out, ..FinalText::default() };
    if let Some((what, hint)) = &outcome.broken {
        said.err = format!("iodyno net check: {what}\n hint: {hint}\n");
        said.status = 1;
    }
    said
}

/// A name, and what is said under it: as wide as the paint says.
fn row(name: &str, text: &str, paint: Paint) -> String {
    format!("  {name:<16}{}\n", wrapped(text, paint.columns.saturating_sub(INDENT), INDENT))
}

impl Card {
    fn text(&self, paint: Paint) -> String {
        self.rows(paint.rates).iter().map(|(name, text)| row(name, text, paint)).collect()
    }

    /// Names and what there is to say.
    fn rows(&self, unit: RateUnit) -> Vec<(&'static str, String)> {
        let echo = self.echoes.as_ref().map(|(trips, lost)| (ECHO, echo(trips, *lost)));
        let mut rows: Vec<_> = echo.into_iter().collect();
        rows.push(("reachable", self.reachable()));
        if !self.response.is_empty() {
            rows.push(("response time", spread(&self.response, "requests")));
        }
        if let Some(interface) = &self.interface {
            let name = &interface.name;
            rows.push((
                "capacity",
                match interface.link_bps {
                    Some(bps) => format!("{} ({name})", rate(bps as f64)),
                    None => format!("{name} does not tell what its link can carry"),
                },
            ));
        }
        rows.extend(self.out_bps.map(|bps| ("throughput out", in_both(bps, unit))));
        rows.extend(self.in_bps.map(|bps| ("throughput in", in_both(bps, unit))));
        rows.extend(self.interface.as_ref().map(|interface| ("utilisation", interface.utilisation())));
        if let Some(port) = &self.port {
            rows.extend([(PORT, carried(port)), ("port's faults", faults(port))]);
        }
        let flows = [("loss out", self.datagrams_out), ("loss in", self.datagrams_in)];
        rows.extend(flows.into_iter().filter_map(|(name, flow)| Some((name, flow?.text()))));
        let jitter = |flow: Option<Datagrams>| flow?.numbered.map(|known| latency(known.jitter_ns as f64));
        let jitters: Vec<String> = [(jitter(self.datagrams_out), "out"), (jitter(self.datagrams_in), "in")]
            .into_iter()
            .filter_map(|(jitter, way)| Some(format!("{} {way}", jitter?)))
            .collect();
        rows.extend((!jitters.is_empty()).then(|| ("jitter", jitters.join(", "))));
        rows
    }

    /// Whether the host was there: it answered ICMP, or somebody took a connection.
    pub(super) fn is_up(&self) -> bool {
        !self.connects.is_empty() || self.echoes.as_ref().is_some_and(|(trips, _)| !trips.is_empty())
    }

    fn reachable(&self) -> String {
        match self.connects.is_empty() {
            true => "no".into(),
            false => format!("yes: {}", spread(&self.connects, "connects")),
        }
    }
}

fn echo(trips: &Histogram, lost: u64) -> String {
    match (trips.is_empty(), lost) {
        // None went out: there is no way to the host.
        (true, 0) => "no answer".into(),
        (true, _) => format!("no answer to {} requests", thousands(lost)),
        (false, _) => format!("{}, {} unanswered", spread(trips, "answers"), thousands(lost)),
    }
}

/// What a switch's port sent and received, from its own side.
fn carried(port: &PortActivity) -> String {
    let bits = |bytes: u64| bytes as f64 * 8e9 / port.interval_ns.max(1) as f64;
    let (sent, received) = (bits(port.sent_bytes), bits(port.received_bytes));
    // A virtual one is faster than it says.
    let link = port.link_bits.map(|link| link as f64).filter(|link| sent.max(received) <= 1.05 * link);
    let share = |bps: f64| link.map_or_else(|| rate(bps), |link| percent(100.0 * bps / link));
    let of = link.map_or_else(String::new, |link| format!(" of {}", rate(link)));
    let seconds = port.interval_ns as f64 / 1e9;
    format!("sent {}, received {}{of} in {seconds:.1} s", share(sent), share(received))
}

/// What was wrong at a port: errors, and frames that it discarded.
fn faults(port: &PortActivity) -> String {
    let [received, sent, received_discards, sent_discards] =
        port.faults.map(|count| count.map_or_else(|| NONE.to_string(), thousands));
    format!("errors sent {sent}, received {received}; discards {sent_discards}, {received_discards}")
}

fn spread(histogram: &Histogram, what: &str) -> String {
    let (median, high) = (histogram.percentile(50.0), percentile_text(histogram, 99.0));
    let most = latency(histogram.max as f64);
    let median = latency(median as f64);
    format!("median {median}, 99 % {high}, most {most} ({} {what})", thousands(histogram.count()))
}

/// A rate with its unit.
pub(in super::super) fn rate(bps: f64) -> String {
    let (factor, unit) = match bps {
        bps if bps >= 1e9 => (1e9, "Gbit/s"),
        bps if bps >= 1e6 => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    };
    format!("{} {unit}", significant(bps / factor))
}

/// A rate as networks tell it, and in the unit of everything else that is printed.
fn in_both(bps: f64, unit: RateUnit) -> String {
    match unit {
        RateUnit::GigabitsPerSecond => format!("{} {}", unit.figure(bps / 8.0), unit.name()),
        unit => format!("{} · {} {}", rate(bps), unit.figure(bps / 8.0), unit.name()),
    }
}

impl Interface {
    fn utilisation(&self) -> String {
        let share = |bps: f64| match self.link_bps {
            Some(link) => percent(100.0 * bps / link.max(1) as f64),
            None => rate(bps),
        };
        let (before, busy) = (self.before, self.busy);
        format!(
            "{} out and {} in before we sent, {} and {} with us",
            share(before.0),
            share(before.1),
            share(busy.0),
            share(busy.1)
        )
    }
}

impl Datagrams {
    fn text(&self) -> String {
        let all = format!(
            "{} ({} of {})",
            percent(self.lost_percent()),
            thousands(self.lost()),
            thousands(self.sent)
        );
        match self.numbered {
            Some(known) => format!(
                "{all}: {} in gaps, {} at the end; {} late, {} twice",
                known.gaps, known.tail, known.late, known.duplicates
            ),
            None => format!("{all}: a netserver that is not ours does not tell more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::WorkerRecord;

    fn job(name: &str, facts: &[(&str, u64)], peer: &[(&str, u64)]) -> JobRecord {
        let owned = |facts: &[(&str, u64)]| facts.iter().map(|(n, v)| (n.to_string(), *v)).collect();
        let worker = WorkerRecord {
            bytes: 1_000_000,
            ended_ns: 1_000_000_000,
            facts: owned(facts),
            ..Default::default()
        };
        JobRecord { name: name.into(), workers: vec![worker], peer: owned(peer), ..JobRecord::default() }
    }

    #[test]
    fn loss_is_told_apart() {
        let out = job(
            DATAGRAMS_OUT,
            &[("datagrams", 1000)],
            &[
                ("datagrams", 980),
                ("lost", 15),
                ("late", 2),
                ("duplicates", 1),
                ("highest", 994),
                ("jitter_ns", 12_000),
            ],
        );
        let back = job(DATAGRAMS_BACK, &[("datagrams", 1000), ("highest", 1000)], &[("sends", 1000)]);
        let phase = PhaseRecord { name: DATAGRAMS.into(), jobs: vec![out, back], ..PhaseRecord::default() };
        let card = Card::of(&[phase]);
        let text = card.datagrams_out.unwrap().text();
        assert_eq!(text, "2.1 % (21 of 1,000): 15 in gaps, 6 at the end; 2 late, 1 twice");
        assert_eq!(card.datagrams_in.unwrap().lost_percent(), 0.0);
        assert!(
            card.rows(RateUnit::default())
                .iter()
                .any(|(name, text)| *name == "jitter" && text.starts_with("12.0 µs out"))
        );
    }

    #[test]
    fn a_netserver_that_is_not_ours_tells_totals() {
        let peer = [("received_bytes", 160 * 90), ("elapsed_ns", 1_000_000_000)];
        let out = job(DATAGRAMS_OUT, &[("datagrams", 100)], &peer);
        let text = datagrams_out(&out).unwrap().text();
        assert!(text.starts_with("10.0 % (10 of 100): a netserver"), "{text}");
    }

    #[test]
    fn throughput_is_what_arrived() {
        let out = job(OUT, &[], &[("received_bytes", 125_000_000), ("elapsed_ns", 1_000_000_000)]);
        let phase =
            |name: &str, job| PhaseRecord { name: name.into(), jobs: vec![job], ..PhaseRecord::default() };
        let card = Card::of(&[phase(OUT, out), phase(BACK, job(BACK, &[], &[]))]);
        assert_eq!((card.out_bps, card.in_bps), (Some(1e9), Some(8e6)));
        assert_eq!(
            (rate(1e9), rate(8e6), rate(500.0)),
            ("1.00 Gbit/s".into(), "8.00 Mbit/s".into(), "0.50 kbit/s".into())
        );
        assert_eq!(Card::of(&[]).reachable(), "no");
        let told = |unit| in_both(1e9, unit);
        assert_eq!(told(RateUnit::default()), "1.00 Gbit/s · 125 MB/s");
        assert_eq!(told(RateUnit::MebibytesPerSecond), "1.00 Gbit/s · 119 MiB/s");
        assert_eq!(told(RateUnit::GigabitsPerSecond), "1.00 Gbit/s");
    }

    #[test]
    fn the_card_is_as_wide_as_the_terminal() {
        let mut flow =
            job(DATAGRAMS_OUT, &[("datagrams", 1000)], &[("datagrams", 980), ("lost", 15), ("highest", 994)]);
        flow.peer.push(("jitter_ns".into(), 12_000));
        let phase = PhaseRecord { name: DATAGRAMS.into(), jobs: vec![flow], ..PhaseRecord::default() };
        let card = Card::of(&[phase]);
        for columns in [50, 60, 120] {
            let said = card.text(Paint { columns, ..Paint::PLAIN });
            let widest = said.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns && said.contains("in gaps"), "{columns}: {widest}\n{said}");
        }
    }

    #[test]
    fn a_host_without_a_netserver_is_up_where_it_answers_icmp() {
        let mut echo = job(ECHO, &[("lost", 2)], &[]);
        let mut line = iodyno_model::Line::empty(ECHO, iodyno_model::Verb::Exchange);
        line.latency.add(40_000);
        echo.tally.lines = vec![line];
        let phase =
            |name: &str, job| PhaseRecord { name: name.into(), jobs: vec![job], ..PhaseRecord::default() };
        let card = Card::of(&[phase(ECHO, echo.clone()), phase(KNOCK, job(KNOCK, &[], &[]))]);
        let text = "median 40.0 µs, 99 % –, most 40.0 µs (1 answers), 2 unanswered";
        assert_eq!(card.rows(RateUnit::default())[..2], [(ECHO, text.into()), (KNOCK, "no".into())]);
        assert!(card.is_up());
        echo.tally.lines.clear();
        let card = Card::of(&[phase(ECHO, echo)]);
        assert_eq!(
            (card.rows(RateUnit::default())[0].1.as_str(), card.is_up()),
            ("no answer to 2 requests", false)
        );
        let card = Card::of(&[phase(ECHO, job(ECHO, &[], &[]))]);
        assert_eq!(card.rows(RateUnit::default())[0].1, "no answer");
        // What was not asked is neither.
        assert_eq!(Card::of(&[]).rows(RateUnit::default()), [(KNOCK, "no".to_string())]);
        let outcome = SequenceOutcome {
            unresolved: true,
            broken: Some(("nohost: no such name".into(), "say another")),
            ..SequenceOutcome::default()
        };
        let said = report("nohost", &outcome, Paint::PLAIN, None);
        assert_eq!((said.out.as_str(), said.status), ("", 1));
        assert_eq!(said.err, "iodyno net check: nohost: no such name\n hint: say another\n");
    }
}
