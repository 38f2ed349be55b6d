//! What was measured, as rows: the case, the figure, its median and spread, the aim, and whether it was met.
//!
//! Rows are those of a Markdown table, so that a run can be kept as it is. It refuses to round a missed aim to a met
//! one: the median is judged unrounded.

use super::cases::Aim;
use super::meter::{Spent, Spread};

/// The table's head.
pub const HEAD: &str = "\
| case             | figure                                | median  | least … most        | aim    |        |
|------------------|---------------------------------------|---------|---------------------|--------|--------|";

#[derive(Debug, Clone, Copy, PartialEq)]
enum FigureKind {
    Instructions,
    TimesPeer,
    Start,
    Resident,
    OurUser,
    OurTotal,
    OurWall,
    PeerUser,
    PeerTotal,
    PeerWall,
    WallTimesPeer,
    TimesLoop,
    TimesLoopInAll,
    LoopUser,
    LoopTotal,
}

#[derive(Debug, Clone)]
pub struct BenchFigure {
    what: FigureKind,
    values: Spread,
}

impl BenchFigure {
    /// Instructions per I/O.
    pub fn instructions(per_io: f64) -> Self {
        Self { what: FigureKind::Instructions, values: Spread::of(&[per_io]) }
    }

    /// Start to end, seconds.
    pub fn start(seconds: Spread) -> Self {
        Self { what: FigureKind::Start, values: seconds.times(1e3) }
    }

    /// Resident memory, bytes.
    pub fn resident(bytes: u64) -> Self {
        Self { what: FigureKind::Resident, values: Spread::of(&[bytes as f64 / 1e6]) }
    }

    /// Times of our rounds alone.
    pub fn of_ours(rounds: &[Spent]) -> Vec<Self> {
        times(rounds, [FigureKind::OurUser, FigureKind::OurTotal, FigureKind::OurWall]).into()
    }

    /// Times of both sides' rounds, and theirs over ours round by round: above 1 we need less.
    pub fn of_both(ours: &[Spent], theirs: &[Spent]) -> Vec<Self> {
        let ratio = |what, time: fn(&Spent) -> f64| {
            let rounds = ours.iter().zip(theirs).map(|(ours, theirs)| time(theirs) / time(ours));
            Self { what, values: Spread::of(&rounds.collect::<Vec<_>>()) }
        };
        let ratios = [
            ratio(FigureKind::TimesPeer, Spent::total),
            ratio(FigureKind::WallTimesPeer, |spent| spent.wall),
        ];
        let both = times(ours, [FigureKind::OurUser, FigureKind::OurTotal, FigureKind::OurWall])
            .into_iter()
            .chain(times(theirs, [FigureKind::PeerUser, FigureKind::PeerTotal, FigureKind::PeerWall]));
        ratios.into_iter().chain(both).collect()
    }

    /// User time of ours over that of a bare loop, round by round and of all rounds together, and what both took.
    pub fn of_loop(ours: &[Spent], loops: &[Spent]) -> Vec<Self> {
        let ratios: Vec<f64> =
            ours.iter().zip(loops).map(|(ours, bare)| ours.user / bare.user.max(1e-9)).collect();
        let sum = |rounds: &[Spent]| rounds.iter().map(|spent| spent.user).sum::<f64>();
        let in_all = sum(ours) / sum(loops);
        let mut figures = vec![
            Self { what: FigureKind::TimesLoopInAll, values: Spread::of(&[in_all]) },
            Self { what: FigureKind::TimesLoop, values: Spread::of(&ratios) },
        ];
        figures.extend(
            times(ours, [FigureKind::OurUser, FigureKind::OurTotal, FigureKind::OurWall]).into_iter().take(2),
        );
        figures.extend(
            times(loops, [FigureKind::LoopUser, FigureKind::LoopTotal, FigureKind::OurWall])
                .into_iter()
                .take(2),
        );
        figures
    }

    /// A row of the table.
    pub fn row(&self, case: &str, aims: &[Aim]) -> String {
        let (median, range) = self.values.shown();
        let (aim, met) = aims.iter().find_map(|aim| self.against(*aim)).unwrap_or_default();
        format!(
            "| {case:<16} | {:<37} | {median:>7} | {range:>19} | {aim:<6} | {met:<6} |",
            self.what.words()
        )
    }

    /// The aim in signs and whether it was met, where it is one for this figure.
    fn against(&self, aim: Aim) -> Option<(String, &'static str)> {
        let (most, limit) = match (aim, self.what) {
            (Aim::Instructions(limit), FigureKind::Instructions)
            | (Aim::UserNs(limit), FigureKind::OurUser)
            | (Aim::StartMs(limit), FigureKind::Start)
            | (Aim::ResidentMb(limit), FigureKind::Resident) => (true, limit),
            (Aim::TimesLoop(limit), FigureKind::TimesLoopInAll) => (true, limit),
            (Aim::TimesPeer(limit), FigureKind::TimesPeer) => (false, limit),
            _ => return None,
        };
        let met = if most { self.values.median <= limit } else { self.values.median >= limit };
        Some((format!("{} {limit}", if most { "≤" } else { "≥" }), if met { "met" } else { "missed" }))
    }
}

/// User, user + system and wall time per I/O, ns.
fn times(rounds: &[Spent], what: [FigureKind; 3]) -> [BenchFigure; 3] {
    let of = |what, time: fn(&Spent) -> f64| {
        let values: Vec<f64> = rounds.iter().map(time).collect();
        BenchFigure { what, values: Spread::of(&values).times(1e9) }
    };
    [of(what[0], |spent| spent.user), of(what[1], Spent::total), of(what[2], |spent| spent.wall)]
}

impl FigureKind {
    fn words(self) -> &'static str {
        match self {
            FigureKind::Instructions => "instructions per I/O",
            FigureKind::TimesPeer => "fio ÷ ours, user + system time",
            FigureKind::WallTimesPeer => "fio ÷ ours, wall time",
            FigureKind::Start => "start to end, ms",
            FigureKind::Resident => "resident at most, MB",
            FigureKind::TimesLoop => "ours ÷ bare loop, user time",
            FigureKind::TimesLoopInAll => "the same of all rounds together",
            FigureKind::LoopUser => "bare loop: user time per I/O, ns",
            FigureKind::LoopTotal => "bare loop: user + system per I/O, ns",
            FigureKind::OurUser => "ours: user time per I/O, ns",
            FigureKind::OurTotal => "ours: user + system time per I/O, ns",
            FigureKind::OurWall => "ours: wall time per I/O, ns",
            FigureKind::PeerUser => "fio: user time per I/O, ns",
            FigureKind::PeerTotal => "fio: user + system time per I/O, ns",
            FigureKind::PeerWall => "fio: wall time per I/O, ns",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_compare_rounds_and_name_the_median() {
        let spent = |total: f64| Spent { user: total / 4.0, system: total * 0.75, wall: total };
        let figures = BenchFigure::of_both(
            &[spent(1.0), spent(1.0), spent(2.0)],
            &[spent(1.5), spent(2.0), spent(2.0)],
        );
        let row = figures[0].row("x", &[Aim::TimesPeer(1.6)]);
        assert!(row.contains("1.50") && row.contains("1.00 … 2.00") && row.contains("missed"), "{row}");
        assert!(figures[0].row("x", &[Aim::TimesPeer(1.5)]).contains("met"));
    }

    #[test]
    fn an_aim_belongs_to_its_figure_only() {
        let row = BenchFigure::instructions(150.4).row("x", &[Aim::StartMs(5.0), Aim::Instructions(150.0)]);
        assert!(row.contains("≤ 150") && row.contains("missed"), "{row}");
        assert!(!BenchFigure::resident(7_000_000).row("x", &[Aim::Instructions(1.0)]).contains('≤'));
    }
}
