//! Access specifications: lines of sizes with their shares, and the pattern that they come to.
//!
//! A line's share of reads, its size, its randomness and its alignment belong together, and do so in the pattern, too. It
//! refuses what a pattern cannot keep apart: lines that differ in delay or burst.

use iodyno_model::{
    Blend, Coverage, Diagnostic, Mix, OperationKind, Origin, Pattern, PerDirection, Pick, Share, Size, Span,
    Think, Verb,
};

/// Bytes that one operation may move at most.
const SIZE_MOST: u64 = 1 << 30;
pub const SECTOR: u64 = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLine {
    /// Bytes of an operation.
    pub bytes: u64,
    /// How many of all operations are of this line, percent.
    pub percent: u64,
    /// How many of these read, percent.
    pub reads: u64,
    /// How many of these go anywhere, percent.
    pub random: u64,
    /// Pause after a burst, ms.
    pub delay_ms: u64,
    /// Operations of a burst.
    pub burst: u64,
    /// Places are multiples of this, bytes; 0: of a sector.
    pub align: u64,
    /// A peer's answer, bytes: of networks alone.
    pub reply: u64,
    /// Where it stands.
    pub origin: Origin,
}

impl AccessLine {
    /// `size,% of size,% reads,% random,delay,burst,align,reply`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(text: &str, origin: &Origin) -> Result<Self, Diagnostic> {
        let refuse = |message: String| Err(Diagnostic::error(origin, message).hint(FORM));
        let words: Vec<&str> = text.trim_end_matches(',').split(',').map(str::trim).collect();
        let mut numbers = [0; 8];
        if words.len() != numbers.len() {
            return refuse(format!("{} figures, expected 8", words.len()));
        }
        for (number, word) in numbers.iter_mut().zip(&words) {
            match word.parse::<u64>().ok().filter(|number| *number <= SIZE_MOST) {
                Some(value) => *number = value,
                None => return refuse(format!("`{word}`: no such number")),
            }
        }
        let [bytes, percent, reads, random, delay_ms, burst, align, reply] = numbers;
        let line = AccessLine {
            bytes,
            percent,
            reads,
            random,
            delay_ms,
            burst,
            align,
            reply,
            origin: origin.clone(),
        };
        match () {
            () if bytes == 0 => refuse("a size of 0 bytes".into()),
            () if [percent, reads, random].iter().any(|percent| *percent > 100) => {
                refuse("more than 100 percent".into())
            }
            () if reply > 0 => refuse("replies are of networks, and this is a disk's".into()),
            () => Ok(line),
        }
    }

    /// How much of all operations goes in one direction, percent.
    fn weight(&self, verb: Verb) -> f64 {
        let share = if verb == Verb::Read { self.reads } else { 100 - self.reads };
        self.percent as f64 * share as f64 / 100.0
    }

    /// What its places are multiples of.
    fn align_bytes(&self) -> u64 {
        if self.align == 0 { SECTOR } else { self.align }
    }

    /// Its operations of one direction.
    fn kind(&self, verb: Verb) -> OperationKind {
        let (weight, bytes, align_bytes) = (self.weight(verb), self.bytes, self.align_bytes());
        OperationKind { verb, weight, bytes, pick: pick(self.random as f64), align_bytes }
    }
}

/// So many operations anywhere, and the others one after the other.
fn pick(random_percent: f64) -> Pick {
    match random_percent {
        ..=0.0 => Pick::Sequential,
        100.0.. => Pick::Uniform,
        percent => Pick::Blend(vec![
            Blend { percent, pick: Pick::Uniform },
            Blend { percent: 100.0 - percent, pick: Pick::Sequential },
        ]),
    }
}

const FORM: &str = "bytes, percent of all, percent of reads, percent random, delay in ms, burst, alignment, 0: \
                    4096,100,67,100,0,1,0,0";

/// A named set of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specification {
    pub name: String,
    /// To whom it is given if nobody says: 0 nobody, 1 all, 2 disks, 3 networks.
    pub assignment: u8,
    pub lines: Vec<AccessLine>,
    /// Where it stands.
    pub origin: Origin,
}

impl Specification {
    /// `NAME,NONE`: the last comma ends the name.
    ///
    /// # Errors
    /// An assignment that is none.
    pub fn named(text: &str, origin: &Origin) -> Result<Self, Diagnostic> {
        let (name, word) = text.rsplit_once(',').unwrap_or((text, "NONE"));
        let words = ["NONE", "ALL", "DISK", "NET"];
        let assignment = words.iter().position(|known| word.trim().eq_ignore_ascii_case(known));
        let wrong = || {
            let message = format!("`{}`: no assignment", word.trim());
            Diagnostic::error(origin, message).hint("NONE, ALL, DISK or NET behind the name's comma")
        };
        let assignment = assignment.ok_or_else(wrong)? as u8;
        Ok(Specification { name: name.trim().into(), assignment, lines: Vec::new(), origin: origin.clone() })
    }

    /// The pattern over a part of a target.
    ///
    /// # Errors
    /// Everything that no pattern can say.
    pub fn pattern(&self, span: Span) -> Result<Pattern, Vec<Diagnostic>> {
        let mut wrong = Vec::new();
        let sum: u64 = self.lines.iter().map(|line| line.percent).sum();
        if sum != 100 {
            let message = format!("`{}`: its lines make {sum} percent", self.name);
            wrong.push(Diagnostic::error(&self.origin, message).hint("shares of all lines make 100"));
        }
        let (read, write) = (self.direction(Verb::Read), self.direction(Verb::Write));
        if let Some(line) = self.lines.iter().find(|line| {
            let first = &self.lines[0];
            (line.delay_ms, line.burst) != (first.delay_ms, first.burst)
        }) {
            wrong.push(unlike(line, "delay and burst"));
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let shares = [(Verb::Read, read.weight), (Verb::Write, write.weight)];
        let shares = shares.into_iter().filter(|(_, weight)| *weight > 0.0);
        let mix = Mix {
            shares: shares.map(|(verb, weight)| Share { verb, weight }).collect(),
            run: 1,
            in_turn: false,
        };
        // What never comes is said by the other direction's values.
        let (read, write) = match (read.weight > 0.0, write.weight > 0.0) {
            (true, false) => (read.clone(), read),
            (false, true) => (write.clone(), write),
            _ => (read, write),
        };
        let pick = PerDirection { read: read.pick.clone(), write: write.pick.clone(), trim: write.pick };
        let size = PerDirection { read: read.size.clone(), write: write.size.clone(), trim: write.size };
        let align_bytes = PerDirection { read: read.align, write: write.align, trim: write.align };
        let base = Pattern::of(Verb::Read, Pick::Sequential, SECTOR);
        let kinds = self.kinds();
        Ok(Pattern { mix, pick, size, align_bytes, coverage: Coverage::Repeating, span, kinds, ..base })
    }

    /// The operations of each line, where lines of one direction differ in more than their sizes.
    fn kinds(&self) -> Vec<OperationKind> {
        let of = |verb: Verb| self.lines.iter().filter(move |line| line.weight(verb) > 0.0);
        let differ = |verb: Verb| {
            of(verb)
                .zip(of(verb).skip(1))
                .any(|(one, next)| (one.random, one.align_bytes()) != (next.random, next.align_bytes()))
        };
        match [Verb::Read, Verb::Write].into_iter().any(differ) {
            true => [Verb::Read, Verb::Write]
                .into_iter()
                .flat_map(|verb| of(verb).map(move |line| line.kind(verb)))
                .collect(),
            false => Vec::new(),
        }
    }

    /// What the lines come to in one direction: sizes, places and weight.
    fn direction(&self, verb: Verb) -> Direction {
        let lines: Vec<&AccessLine> = self.lines.iter().filter(|line| line.weight(verb) > 0.0).collect();
        let weight: f64 = lines.iter().map(|line| line.weight(verb)).sum();
        let size = match lines[..] {
            [] => return Direction::default(),
            [only] => Size::Fixed(only.bytes),
            _ => Size::Split(
                lines.iter().map(|line| (line.bytes, line.weight(verb) / weight * 100.0)).collect(),
            ),
        };
        let random = match lines.iter().all(|line| line.random == lines[0].random) {
            true => lines[0].random as f64,
            false => lines.iter().map(|line| line.random as f64 * line.weight(verb)).sum::<f64>() / weight,
        };
        let align = lines.iter().map(|line| line.align_bytes()).min().unwrap_or(SECTOR);
        Direction { weight, size, pick: pick(random), align }
    }

    /// The pause after each burst.
    pub fn think(&self) -> Option<Think> {
        let line = self.lines.first().filter(|line| line.delay_ms > 0)?;
        Some(Think { sleep_ns: line.delay_ms * 1_000_000, every: line.burst.max(1), ..Think::default() })
    }

    /// Whether it writes at all.
    pub fn writes(&self) -> bool {
        self.lines.iter().any(|line| line.weight(Verb::Write) > 0.0)
    }
}

#[derive(Clone, Debug, Default)]
struct Direction {
    weight: f64,
    size: Size,
    pick: Pick,
    align: u64,
}

fn unlike(line: &AccessLine, what: &str) -> Diagnostic {
    let message = format!("{what} unlike the lines before it");
    let hint = "lines that differ in delay or burst go into specifications of their own";
    Diagnostic::error(&line.origin, message).hint(hint)
}
