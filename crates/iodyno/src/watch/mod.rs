//! `iodyno watch DIR`: a canary. Tiny probes for months, each point kept in the history, changes told by a test whose false alarms
//! are bounded, an alert for a monitoring system.
//!
//! It refuses to take more of the storage's time than its budget: the next probe waits as long as the last ones were long.
//! Exit status: 0; of `--status` 1 while something is slower than it was; 2 the command is wrong.

mod page;
mod points;
mod probe;
mod report;
mod wait;

use clap::Parser;
use iodyno_engine::signal;
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_truth::canary::{CanaryRules, HOUR_NS, Rhythm};

use self::points::{CanaryPoint, PointBook};
use self::probe::{Prober, SERIES};
use self::wait::{ProbeBudget, WatchClock};
use crate::archive;
use crate::option_values::{positive_number, positive_time, share};
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{ended, one, parsed, print};
use crate::session::say;
use crate::sink::MetricsText;

#[derive(Parser)]
#[command(name = "iodyno watch", about = "Watch a storage for months by tiny probes, and tell when it becomes slower",
    disable_version_flag = true, after_help = AFTER)]
pub struct WatchArgs {
    /// A directory: a file and names are made in one of its own, which is removed at the end
    #[arg(value_name = "DIR", required_unless_present = "on", conflicts_with = "on")]
    pub directory: Option<String>,
    /// In place of a directory: a simulated device, in virtual time (iodyno devices lists them)
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<String>,
    /// Share of the storage's time that probes may take, percent
    #[arg(long, value_name = "PERCENT", default_value = "0.1%", value_parser = budget)]
    pub budget: f64,
    /// Time from probe to probe; longer where the budget asks for it
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = positive_time)]
    pub every: u64,
    /// End after so many probes [default: with SIGTERM or Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub times: Option<u64>,
    /// Size of the file
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::parse_bytes)]
    pub size: u64,
    /// What a point is compared with: day, the same hour of other days; none, any point before it
    #[arg(long, value_name = "WORD", default_value = "day", value_parser = rhythm)]
    pub rhythm: Rhythm,
    /// How much slower or faster is worth telling, percent
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = least)]
    pub least: f64,
    /// Years between two false alarms, at least, on average
    #[arg(long, value_name = "YEARS", default_value = "10", value_parser = positive_number)]
    pub false_alarm_years: f64,
    /// OpenMetrics: to this file (replaced at each probe), or at this address of the machine (127.0.0.1:9464)
    #[arg(long, value_name = "FILE|ADDRESS")]
    pub metrics: Option<String>,
    /// Take points out of the history that are older than this
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub forget_after: Option<u64>,
    /// Make no probe: report what the history tells
    #[arg(long, conflicts_with_all = ["times", "accept", "metrics"])]
    pub status: bool,
    /// Make no probe: take what is now for what it is to be, and learn anew
    #[arg(long, conflicts_with_all = ["times", "metrics"])]
    pub accept: bool,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "Points of the same directory on the same host continue each other in the history. Changes are told on standard \
error as they are found; the report comes at the end. docs/watch.md has the method, a unit for systemd and an alert rule.";

/// A file smaller than this has too few places.
const LEAST_BYTES: u64 = 1 << 20;

fn budget(text: &str) -> Result<f64, String> {
    share(text.trim_end_matches('%')).and_then(|percent| match percent {
        percent if percent > 0.0 => Ok(percent),
        _ => Err("expected more than 0 %".into()),
    })
}

fn least(text: &str) -> Result<f64, String> {
    positive_number(text.trim_end_matches('%'))
}

fn rhythm(text: &str) -> Result<Rhythm, String> {
    match text {
        "day" => Ok(Rhythm::Day),
        "none" => Ok(Rhythm::None),
        _ => Err("expected day or none".into()),
    }
}

impl WatchArgs {
    fn rules(&self) -> CanaryRules {
        const YEAR_NS: f64 = 365.25 * 24.0 * HOUR_NS as f64;
        let block_ns = match self.rhythm {
            Rhythm::Day => self.every.max(HOUR_NS),
            Rhythm::None => self.every,
        };
        CanaryRules {
            rhythm: self.rhythm,
            least_percent: self.least,
            // All figures together raise no more.
            blocks_between_false_alarms: self.false_alarm_years * YEAR_NS / block_ns as f64 * SERIES as f64,
        }
    }

    /// What is watched, as it was typed.
    fn target(&self) -> &str {
        self.directory.as_deref().or(self.on.as_deref()).unwrap_or_default()
    }
}

/// Does `iodyno watch ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<WatchArgs>("iodyno watch", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let prober = match Prober::of(world, &words) {
        Ok(prober) => prober,
        Err(wrong) => return ended(Err(wrong)),
    };
    if words.status || words.accept {
        return ended(looked_up(&words, &prober).map_err(one));
    }
    let opened = PointBook::open(&words, &prober, arguments).and_then(|book| {
        let page = words.metrics.as_deref().map(MetricsText::open).transpose()?;
        Ok((book, page, ReportOutput::open(&words.output)?))
    });
    match opened {
        Ok((book, page, files)) => {
            let mut canary = Canary { words: &words, prober, book, page };
            match canary.probes(world, arguments) {
                Ok(used) => files.write(&report::of(&words, &canary.prober, &canary.book, Some(used))),
                Err(status) => status,
            }
        }
        Err(wrong) => ended(Err(one(wrong))),
    }
}

/// `--status` and `--accept`: the history alone.
fn looked_up(words: &WatchArgs, prober: &Prober) -> Result<u8, Diagnostic> {
    archive::open()?;
    let mut book = PointBook::open(words, prober, &[])?;
    if book.points() == 0 {
        let wrong = Diagnostic::error(&Origin::argument(words.target()), "the history has no point of it");
        return Err(wrong.hint(format!("iodyno watch {} makes some", words.target())));
    }
    if words.accept {
        let at = book.accept()?;
        return Ok(print(&format!("{}: what is now is what it is to be, from {at} on\n", words.target())));
    }
    let files = ReportOutput::open(&words.output)?;
    let is_slower = book.is_slower();
    Ok(files.write(&report::of(words, prober, &book, None)).max(u8::from(is_slower)))
}

struct Canary<'a> {
    words: &'a WatchArgs,
    prober: Prober,
    book: PointBook,
    page: Option<MetricsText>,
}

impl Canary<'_> {
    /// Probes until it is told to end; the share of the time that was used, percent.
    fn probes(&mut self, world: &mut World, arguments: &[String]) -> Result<f64, u8> {
        signal::install();
        let mut clock =
            WatchClock::of(self.prober.is_simulated(), self.book.last_unix_ns(), self.words.every);
        let mut budget = ProbeBudget::new(self.words.budget, self.words.every, clock.now_ns());
        let work = self.prober.make_directory()?;
        let mut experiment = self.prober.experiment(world, arguments);
        let mut done = 0;
        loop {
            let began_ns = clock.now_ns();
            let probed = self.prober.probe(&mut experiment, self.book.points());
            if signal::interruptions().0 > 0 {
                break;
            }
            match probed {
                Ok(probe) => {
                    clock.pass(probe.elapsed_ns);
                    self.take_in(CanaryPoint { at_unix_ns: clock.unix_ns(), ..probe.point }, probe.kept);
                }
                // A storage that fails once is to be watched all the more; one that fails at first was not the one meant.
                Err(status) if done == 0 => return Err(status),
                Err(_) => self.book.failures += 1,
            }
            budget.spend(clock.now_ns().saturating_sub(began_ns));
            done += 1;
            self.tell_page(budget.used_percent(clock.now_ns()));
            let is_over = self.words.times.is_some_and(|times| done >= times);
            if is_over || !clock.wait_until(budget.next_ns(began_ns)) {
                break;
            }
        }
        drop(work);
        Ok(budget.used_percent(clock.now_ns()))
    }

    fn take_in(&mut self, point: CanaryPoint, kept: probe::KeptProbe) {
        match self.book.take_in(point, kept) {
            Ok(told) => told.iter().for_each(say),
            // The canary goes on: its alerts do not depend on what is kept.
            Err(wrong) => say(archive::note(wrong)),
        }
    }

    fn tell_page(&mut self, used_percent: f64) {
        let Some(page) = &self.page else { return };
        let text = page::text(self.words.target(), &self.book, used_percent / 100.0);
        if let Err(wrong) = page.put(text.into_bytes()) {
            say(wrong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_others_refused() {
        assert_eq!((budget("0.1%"), budget("2")), (Ok(0.1), Ok(2.0)));
        assert!(budget("0").is_err() && budget("101%").is_err() && least("-1").is_err());
        assert!(rhythm("week").unwrap_err().contains("day or none"));
        let words = WatchArgs::try_parse_from(["watch", "/srv", "--every", "1h"]).expect("it is right");
        let rules = words.rules();
        assert!((rules.blocks_between_false_alarms - 10.0 * 8766.0 * SERIES as f64).abs() < 1.0);
        assert!(WatchArgs::try_parse_from(["watch", "--status", "--times", "1", "/srv"]).is_err());
    }
}
