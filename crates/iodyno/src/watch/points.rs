//! The points of a canary: taken out of the history, judged one after the other, and put into it.

use iodyno_dialect::date;
use iodyno_engine::witness;
use iodyno_history::{Entry, Filter, History, Opening, PartFilter, State};
use iodyno_model::{Diagnostic, Level, Origin};
use iodyno_truth::canary::{CanaryChange, CanarySeries};

use super::WatchArgs;
use super::probe::{KeptProbe, Prober, SERIES, series_name, values};
use crate::archive::{self, TypedCommand};

/// What its runs are called in the history.
const TOOL: &str = "watch";
/// The tag of the point from which on all is learned anew.
const ACCEPTED: &str = "accepted";
/// Points that are read again at the beginning. Chosen: three months at ten minutes.
const MOST_READ: u32 = 13_000;

/// A probe's figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanaryPoint {
    pub at_unix_ns: u64,
    pub values: [Option<f64>; SERIES],
}

/// All that is known of a canary.
pub struct PointBook {
    history: Option<History>,
    opening: Opening,
    /// The first point ever, of which the others are parts.
    first: Option<i64>,
    last: Option<i64>,
    forget_after: Option<u64>,
    what: String,
    pub series: Vec<CanarySeries>,
    /// Of the last day at most.
    recent: Vec<CanaryPoint>,
    count: usize,
    pub failures: u64,
}

/// What is shown as the present figures.
const RECENT: usize = 24;

impl PointBook {
    /// Reads the points that are known.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn open(words: &WatchArgs, prober: &Prober, arguments: &[String]) -> Result<PointBook, Diagnostic> {
        let history = archive::for_points()?;
        let asked = TypedCommand::new(TOOL, arguments, true);
        let opening = Opening {
            tool: TOOL.into(),
            words: asked.words,
            folder: archive::folder(),
            ..Opening::default()
        };
        let mut book = PointBook {
            history,
            opening,
            first: None,
            last: None,
            forget_after: words.forget_after,
            what: words.target().into(),
            series: (0..SERIES).map(|_| CanarySeries::new(words.rules())).collect(),
            recent: Vec::new(),
            count: 0,
            failures: 0,
        };
        book.read(prober)?;
        Ok(book)
    }

    fn read(&mut self, prober: &Prober) -> Result<(), Diagnostic> {
        let Some(history) = &self.history else { return Ok(()) };
        let filter = Filter {
            most: MOST_READ,
            tool: Some(TOOL.into()),
            host: Some(witness::machine().host),
            state: Some(State::Complete),
            text: Some(prober.name.clone()),
            parts: PartFilter::All,
            ..Filter::default()
        };
        let mut entries = history.list(&filter)?;
        entries.retain(|entry| entry.name == prober.name);
        self.first = entries.first().map(|entry| entry.part_of.unwrap_or(entry.id));
        self.last = entries.last().map(|entry| entry.id);
        let is_accepted = |entry: &Entry| entry.tags.iter().any(|tag| tag == ACCEPTED);
        let from = entries.iter().rposition(is_accepted).unwrap_or(0);
        // What cannot be read says nothing.
        let known = entries[from..].iter().filter_map(|entry| history.load(&entry.id.to_string()).ok());
        let points: Vec<CanaryPoint> = known
            .map(|run| CanaryPoint { at_unix_ns: run.started.at_unix_ns, values: values(&run.record) })
            .collect();
        points.into_iter().for_each(|point| drop(self.judge(point)));
        Ok(())
    }

    /// Judges a point; the changes that it leaves no doubt of.
    fn judge(&mut self, point: CanaryPoint) -> Vec<(usize, CanaryChange)> {
        self.count += 1;
        self.recent.push(point);
        if self.recent.len() > RECENT {
            self.recent.remove(0);
        }
        let rows = self.series.iter_mut().zip(point.values).enumerate();
        rows.filter_map(|(row, (series, value))| Some((row, series.push(point.at_unix_ns, value?)?)))
            .collect()
    }

    /// A new point is judged and kept; what is to be told.
    ///
    /// # Errors
    /// It could not be kept.
    pub fn take_in(&mut self, point: CanaryPoint, kept: KeptProbe) -> Result<Vec<Diagnostic>, Diagnostic> {
        let changes = self.judge(point);
        let told = changes.iter().map(|(row, change)| self.told(*row, change)).collect();
        let Some(history) = &self.history else { return Ok(told) };
        let KeptProbe { plan, mut started, record } = kept;
        started.at_unix_ns = point.at_unix_ns;
        let opening = Opening { plan, part_of: self.first, ..self.opening.clone() };
        let id = history.put(&opening, &started, &record, State::Complete)?;
        self.first.get_or_insert(id);
        self.last = Some(id);
        self.forget(point.at_unix_ns)?;
        Ok(told)
    }

    fn told(&self, row: usize, change: &CanaryChange) -> Diagnostic {
        let (figure, quantile) = series_name(row);
        let (level, way, by) = match change.ratio > 1.0 {
            true => (Level::Warning, "slower", (change.ratio - 1.0) * 100.0),
            false => (Level::Note, "faster", (1.0 - change.ratio) * 100.0),
        };
        let since = date::stamp(change.since_unix_ns, 0);
        let message = format!("p{quantile} of {figure} is {by:.0} % {way} since {since} UTC");
        let wrong = Diagnostic { level, ..Diagnostic::note(&Origin::argument(&self.what), message) };
        match level {
            Level::Warning => {
                wrong.hint("look at what changed then; `iodyno watch --accept` if it is to be so")
            }
            _ => wrong,
        }
    }

    /// Takes out what is too old; never the first one, of which the others are parts.
    fn forget(&self, now_unix_ns: u64) -> Result<(), Diagnostic> {
        let (Some(history), Some(age), Some(first)) = (&self.history, self.forget_after, self.first) else {
            return Ok(());
        };
        let parts = Filter { parts: PartFilter::Of(first), ..Filter::default() };
        // Each point takes out what has become too old since the one before it: little.
        let is_old = |entry: &&Entry| entry.began_unix_ns < now_unix_ns.saturating_sub(age);
        history.list(&parts)?.iter().take_while(is_old).try_for_each(|entry| history.delete(entry.id))
    }

    /// The newest point begins what is learned from now on; when it was.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn accept(&mut self) -> Result<String, Diagnostic> {
        if let (Some(history), Some(last)) = (&self.history, self.last) {
            history.tag(last, ACCEPTED)?;
        }
        Ok(format!("{} UTC", date::stamp(self.last_unix_ns().unwrap_or(0), 0)))
    }

    /// Points that were read and made.
    pub fn points(&self) -> usize {
        self.count
    }

    pub fn last_unix_ns(&self) -> Option<u64> {
        self.recent.last().map(|point| point.at_unix_ns)
    }

    pub fn is_slower(&self) -> bool {
        self.series.iter().any(CanarySeries::is_slower)
    }

    /// The median of a row's last points.
    pub fn present(&self, row: usize) -> Option<f64> {
        let values: Vec<f64> = self.recent.iter().filter_map(|point| point.values[row]).collect();
        iodyno_truth::statistics::median(&values)
    }

    /// Of the last point alone.
    pub fn newest(&self, row: usize) -> Option<f64> {
        self.recent.last()?.values[row]
    }

    /// Whether points are kept.
    pub fn keeps(&self) -> bool {
        self.history.is_some()
    }
}
