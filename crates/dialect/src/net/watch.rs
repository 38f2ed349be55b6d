//! `iodyno net watch INTERFACE`: what goes over an interface, whoever sends it: a row each interval with its rates, the share of
//! the link, and the packets that were dropped.
//!
//! A plan without jobs: one phase that only watches. The figures come from the same witness as everywhere else.

use std::io;

use clap::Parser;
use iodyno_model::{
    Diagnostic, Event, Intent, InterfaceActivity, Origin, Phase, PhaseRecord, Plan, Sighting, Watching, units,
};
use iodyno_report::number::{NONE, percent, significant};
use iodyno_report::{Output, Reporter};

use super::check::rate;
use crate::date;
use crate::native;
use crate::{Loader, Request, Run};

const AFTER: &str = "Example: iodyno net watch eth0 --every 5s --times 12";
/// The shortest interval, ns.
const LEAST_EVERY_NS: u64 = 100_000_000;
const TABLE: &str = "/proc/self/net/dev";

/// The traffic of an interface.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "iodyno net watch",
    about = "The traffic of an interface, whoever sends it: rates, share of the link, packets, drops",
    after_help = AFTER,
    disable_version_flag = true
)]
struct Options {
    /// The interface, e.g. eth0
    interface: String,
    /// The time that a row covers, e.g. 10s
    #[arg(long, value_name = "T", default_value = "1s", value_parser = units::parse_ns)]
    every: u64,
    /// So many rows; else until it is interrupted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    times: Option<u64>,
}

/// From arguments to a request.
///
/// # Errors
/// What is wrong with them.
pub fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options: Options = match native::parsed("iodyno net watch", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    let wrong = |place: &str, what: String, hint: String| {
        Err(vec![Diagnostic::error(&Origin::argument(place), what).hint(hint)])
    };
    if options.every < LEAST_EVERY_NS {
        return wrong(
            "--every",
            "the kernel's counters say little of so short a time".into(),
            "say 1s".into(),
        );
    }
    let table = loader.read(TABLE).unwrap_or_default();
    let known = interfaces(&String::from_utf8_lossy(&table));
    if !known.contains(&options.interface) {
        let what = format!("`{}`: no such interface", options.interface);
        return wrong(&options.interface, what, format!("there is: {}", known.join(", ")));
    }
    let watch =
        Watching { every_ns: options.every, count: options.times.unwrap_or(0), ..Watching::default() };
    let phase = Phase { name: "watch".into(), watch: Some(watch), ..Phase::default() };
    let plan =
        Plan { name: "net watch".into(), intent: Intent::Network, phases: vec![phase], ..Plan::default() };
    let report =
        WatchReport { interface: options.interface, every_ns: options.every, ..WatchReport::default() };
    Ok(Request::Run(Box::new(Run {
        interim_ns: options.every,
        own_voice: true,
        findings: false,
        translate: |_| None,
        status: Some(Box::new(crate::status::until_interrupted)),
        ..Run::of(plan, Box::new(report))
    })))
}

/// The names in the kernel's table: two lines of headings, then a line each.
fn interfaces(table: &str) -> Vec<String> {
    let names = table.lines().skip(2).filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_string()).collect()
}

/// Writes a row for each interval, and what they come to.
#[derive(Debug, Default)]
struct WatchReport {
    interface: String,
    every_ns: u64,
    began_unix_ns: u64,
    /// What it had moved when the last row ended, since the beginning.
    told: InterfaceActivity,
    rows: u64,
    /// The largest rates of a row, bit/s: out and in.
    most: (f64, f64),
    /// What the link carries, as far as it was heard.
    link_bits: Option<u64>,
}

/// A rate in bit/s.
fn bits(bytes: u64, ns: u64) -> f64 {
    bytes as f64 * 8e9 / ns.max(1) as f64
}

fn line(cells: [&str; 8]) -> String {
    let [when, out, back, used_out, used_in, sent, received, dropped] = cells;
    format!("{when:<8}{out:>13}{back:>13}{used_out:>9}{used_in:>9}{sent:>10}{received:>10}{dropped:>8}\n")
}

impl WatchReport {
    /// What the interface has moved since the beginning; what is idle is not seen.
    fn moved(&self, phase: &PhaseRecord) -> InterfaceActivity {
        let seen = phase.sightings.iter().find_map(|seen| match seen {
            Sighting::Interface(one) if one.name == self.interface => Some(one.clone()),
            _ => None,
        });
        InterfaceActivity { interval_ns: phase.elapsed_ns, ..seen.unwrap_or_default() }
    }

    fn row(&mut self, phase: &PhaseRecord) -> String {
        let now = self.moved(phase);
        self.link_bits = now.link_bits.or(self.link_bits);
        let heading = if self.rows == 0 { self.heading() } else { String::new() };
        let then = std::mem::replace(&mut self.told, now.clone());
        let ns = now.interval_ns.saturating_sub(then.interval_ns);
        let delta = |of: fn(&InterfaceActivity) -> u64| of(&now).saturating_sub(of(&then));
        let moved = InterfaceActivity {
            sent_bytes: delta(|one| one.sent_bytes),
            received_bytes: delta(|one| one.received_bytes),
            sent: delta(|one| one.sent),
            received: delta(|one| one.received),
            dropped: delta(|one| one.dropped),
            interval_ns: ns,
            ..InterfaceActivity::default()
        };
        let (out, back) = (bits(moved.sent_bytes, ns), bits(moved.received_bytes, ns));
        self.most = (self.most.0.max(out), self.most.1.max(back));
        self.rows += 1;
        let when = date::stamp(self.began_unix_ns + phase.elapsed_ns, 0);
        heading + &self.cells(&when[11..], &moved)
    }

    fn heading(&self) -> String {
        let link = match self.link_bits {
            Some(bits) => format!("its link carries {}", rate(bits as f64)),
            None => "it does not tell what its link can carry".into(),
        };
        let columns = ["UTC", "out", "in", "out used", "in used", "out pkt/s", "in pkt/s", "dropped"];
        format!("{}: {link}\n{}", self.interface, line(columns))
    }

    fn cells(&self, name: &str, moved: &InterfaceActivity) -> String {
        let ns = moved.interval_ns;
        let (out, back) = (bits(moved.sent_bytes, ns), bits(moved.received_bytes, ns));
        let used = |bits: f64| match self.link_bits {
            Some(link) => percent(100.0 * bits / link.max(1) as f64),
            None => NONE.into(),
        };
        let each = |packets: u64| significant(packets as f64 * 1e9 / ns.max(1) as f64);
        line([
            name,
            &rate(out),
            &rate(back),
            &used(out),
            &used(back),
            &each(moved.sent),
            &each(moved.received),
            &moved.dropped.to_string(),
        ])
    }

    /// The last row, and what all come to.
    fn end(&mut self, phase: &PhaseRecord) -> String {
        let left_ns = phase.elapsed_ns.saturating_sub(self.told.interval_ns);
        let last = if left_ns > self.every_ns / 2 { self.row(phase) } else { String::new() };
        if self.rows < 2 {
            return last;
        }
        let (out, back) = self.most;
        let most = line(["most", &rate(out), &rate(back), "", "", "", "", ""]);
        last + &self.cells("mean", &self.moved(phase)) + most.trim_end() + "\n"
    }
}

impl Reporter for WatchReport {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let text = match event {
            Event::Started(started) => {
                self.began_unix_ns = started.at_unix_ns;
                return Ok(());
            }
            Event::Interim(phase) => self.row(phase),
            Event::Ended(record) => record.phases.last().map_or_else(String::new, |phase| self.end(phase)),
            _ => return Ok(()),
        };
        output.out.write_all(text.as_bytes())?;
        output.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn seen(elapsed_ns: u64, sent_bytes: u64, received_bytes: u64) -> PhaseRecord {
        let moved = InterfaceActivity {
            name: "eth0".into(),
            link_bits: Some(1_000_000_000),
            sent_bytes,
            received_bytes,
            sent: sent_bytes / 1000,
            received: received_bytes / 1000,
            dropped: received_bytes / 10_000_000,
            ..InterfaceActivity::default()
        };
        let sightings = if sent_bytes > 0 { vec![Sighting::Interface(moved)] } else { Vec::new() };
        PhaseRecord { elapsed_ns, sightings, ..PhaseRecord::default() }
    }

    #[test]
    fn rows_are_what_was_moved_in_their_time() {
        let began_unix_ns = 1_795_287_600 * SECOND;
        let mut report = WatchReport {
            interface: "eth0".into(),
            every_ns: SECOND,
            began_unix_ns,
            ..WatchReport::default()
        };
        let text = report.row(&seen(SECOND, 1_250_000, 12_500_000))
            + &report.row(&seen(2 * SECOND, 1_250_000, 62_500_000))
            + &report.end(&seen(3 * SECOND, 1_250_000, 62_500_000));
        let expected = "\
eth0: its link carries 1.00 Gbit/s
UTC               out           in out used  in used out pkt/s  in pkt/s dropped
19:00:01  10.0 Mbit/s   100 Mbit/s    1.0 %   10.0 %     1,250    12,500       1
19:00:02     0 kbit/s   400 Mbit/s      0 %   40.0 %         0    50,000       5
19:00:03     0 kbit/s     0 kbit/s      0 %      0 %         0         0       0
mean      3.33 Mbit/s   167 Mbit/s    0.3 %   16.7 %       417    20,833       6
most      10.0 Mbit/s   400 Mbit/s
";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_idle_interface_has_rows_and_no_sums() {
        let mut report = WatchReport { interface: "eth1".into(), every_ns: SECOND, ..WatchReport::default() };
        let text = report.row(&seen(SECOND, 5, 5)) + &report.end(&seen(SECOND, 5, 5));
        assert!(text.starts_with("eth1: it does not tell what its link can carry\n"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        let table = "Inter-|   Receive\n face |bytes\n    lo: 5 6\n  eth0:7 8\n";
        assert_eq!(interfaces(table), ["lo", "eth0"]);
    }
}
