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

/// What a figure is of.
#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
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

/// One figure.
#[derive(Debug, Clone)]
pub struct Figure {
    what: What,
    values: Spread,
}

impl Figure {
    /// Instructions per I/O.
    pub fn instructions(per_io: f64) -> Self {
        Self { what: What::Instructions, values: Spread::of(&[per_io]) }
    }

    /// Start to end, seconds.
    pub fn start(seconds: Spread) -> Self {
        Self { what: What::Start, values: seconds.times(1e3) }
    }

    /// Resident memory, bytes.
    pub fn resident(bytes: u64) -> Self {
        Self { what: What::Resident, values: Spread::of(&[bytes as f64 / 1e6]) }
    }

    /// Times of our rounds alone.
    pub fn of_ours(rounds: &[Spent]) -> Vec<Self> {
        times(rounds, [What::OurUser, What::OurTotal, What::OurWall]).into()
    }

    /// Times of both sides' rounds, and theirs over ours round by round: above 1 we need less.
    pub fn of_both(ours: &[Spent], theirs: &[Spent]) -> Vec<Self> {
        let ratio = |what, time: fn(&Spent) -> f64| {
            let rounds = ours.iter().zip(theirs).map(|(ours, theirs)| time(theirs) / time(ours));
            Self { what, values: Spread::of(&rounds.collect::<Vec<_>>()) }
        };
        let ratios = [ratio(What::TimesPeer, Spent::total), ratio(What::WallTimesPeer, |spent| spent.wall)];
        let both = times(ours, [What::OurUser, What::OurTotal, What::OurWall])
            .into_iter()
            .chain(times(theirs, [What::PeerUser, What::PeerTotal, What::PeerWall]));
        ratios.into_iter().chain(both).collect()
    }

    /// User time of ours over that of a bare loop, round by round and of all rounds together, and what both took.
    pub fn of_loop(ours: &[Spent], loops: &[Spent]) -> Vec<Self> {
        let ratios: Vec<f64> =
            ours.iter().zip(loops).map(|(ours, bare)| ours.user / bare.user.max(1e-9)).collect();
        let sum = |rounds: &[Spent]| rounds.iter().map(|spent| spent.user).sum::<f64>();
        let in_all = sum(ours) / sum(loops);
        let mut figures = vec![
            Self { what: What::TimesLoopInAll, values: Spread::of(&[in_all]) },
            Self { what: What::TimesLoop, values: Spread::of(&ratios) },
        ];
        figures.extend(times(ours, [What::OurUser, What::OurTotal, What::OurWall]).into_iter().take(2));
        figures.extend(times(loops, [What::LoopUser, What::LoopTotal, What::OurWall]).into_iter().take(2));
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
            (Aim::Instructions(limit), What::Instructions)
            | (Aim::UserNs(limit), What::OurUser)
            | (Aim::StartMs(limit), What::Start)
            | (Aim::ResidentMb(limit), What::Resident) => (true, limit),
            (Aim::TimesLoop(limit), What::TimesLoopInAll) => (true, limit),
            (Aim::TimesPeer(limit), What::TimesPeer) => (false, limit),
            _ => return None,
        };
        let met = if most { self.values.median <= limit } else { self.values.median >= limit };
        Some((format!("{} {limit}", if most { "≤" } else { "≥" }), if met { "met" } else { "missed" }))
    }
}

/// User, user + system and wall time per I/O, ns.
fn times(rounds: &[Spent], what: [What; 3]) -> [Figure; 3] {
    let of = |what, time: fn(&Spent) -> f64| {
        let values: Vec<f64> = rounds.iter().map(time).collect();
        Figure { what, values: Spread::of(&values).times(1e9) }
    };
    [of(what[0], |spent| spent.user), of(what[1], Spent::total), of(what[2], |spent| spent.wall)]
}

impl What {
    fn words(self) -> &'static str {
        match self {
            What::Instructions => "instructions per I/O",
            What::TimesPeer => "fio ÷ ours, user + system time",
            What::WallTimesPeer => "fio ÷ ours, wall time",
            What::Start => "start to end, ms",
            What::Resident => "resident at most, MB",
            What::TimesLoop => "ours ÷ bare loop, user time",
            What::TimesLoopInAll => "the same of all rounds together",
            What::LoopUser => "bare loop: user time per I/O, ns",
            What::LoopTotal => "bare loop: user + system per I/O, ns",
            What::OurUser => "ours: user time per I/O, ns",
            What::OurTotal => "ours: user + system time per I/O, ns",
            What::OurWall => "ours: wall time per I/O, ns",
            What::PeerUser => "fio: user time per I/O, ns",
            What::PeerTotal => "fio: user + system time per I/O, ns",
            What::PeerWall => "fio: wall time per I/O, ns",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_compare_rounds_and_name_the_median() {
        let spent = |total: f64| Spent { user: total / 4.0, system: total * 0.75, wall: total };
        let figures =
            Figure::of_both(&[spent(1.0), spent(1.0), spent(2.0)], &[spent(1.5), spent(2.0), spent(2.0)]);
        let row = figures[0].row("x", &[Aim::TimesPeer(1.6)]);
        assert!(row.contains("1.50") && row.contains("1.00 … 2.00") && row.contains("missed"), "{row}");
        assert!(figures[0].row("x", &[Aim::TimesPeer(1.5)]).contains("met"));
    }

    #[test]
    fn an_aim_belongs_to_its_figure_only() {
        let row = Figure::instructions(150.4).row("x", &[Aim::StartMs(5.0), Aim::Instructions(150.0)]);
        assert!(row.contains("≤ 150") && row.contains("missed"), "{row}");
        assert!(!Figure::resident(7_000_000).row("x", &[Aim::Instructions(1.0)]).contains('≤'));
    }
}
