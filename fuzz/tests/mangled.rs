//! Every parser is fed with mangled seeds, the same in every run: none panics, and none takes for ever.
//!
//! `IODYNO_FUZZ_ROUNDS=100000` feeds more of them; `IODYNO_FUZZ_SEED=N` others. `cargo xtask fuzz NAME` looks for what these
//! do not find, guided by what was covered.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use iodyno_fuzz::{Seed, feed, seeds, targets};
use libtest_mimic::{Arguments, Failed, Trial};

/// Mangled inputs a target, where nobody asks for more.
const ROUNDS: u64 = 3000;

/// Between two looks at whether an input has come to its end; and after how many of them it hangs. What is counted are
/// looks: a starved machine takes fewer of them.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: usize = 3000;

/// What nobody expects, beside the words of all seeds.
const ODD: &[&str] = &[
    "",
    "-",
    "--",
    "=",
    "-1",
    "0",
    "1",
    "00",
    "1.5",
    "1e308",
    "nan",
    "inf",
    "0x",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "1k",
    "8e",
    "16e",
    "1z",
    "100%",
    "101%",
    "%",
    "%s%n",
    "$",
    "${",
    "$x",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "\\",
    "#",
    ";",
    ":",
    ",",
    "..",
    "/",
    "//",
    "ä",
    "\u{1F600}",
    "\u{7f}",
    "\r",
    "\t",
    "\0",
    "a=b,,=c",
    "1-2",
    "2-1",
    "1:2:3",
    "[::1]:5",
    "@FILE",
    "true",
    "null",
    "-h",
    "--version",
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (rounds, seed) = (number("IODYNO_FUZZ_ROUNDS", ROUNDS), number("IODYNO_FUZZ_SEED", 1));
    let mut trials: Vec<Trial> = targets()
        .map(|target| {
            Trial::test(format!("mangled::{}", target.name), move || {
                mangled(target.name, rounds / target.cost, seed)
            })
        })
        .collect();
    trials.push(Trial::test("every_parser_has_seeds_and_a_program", every_parser_has_seeds_and_a_program));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What is mangled must be something: seeds from the golden cases, or written for it.
fn every_parser_has_seeds_and_a_program() -> Result<(), Failed> {
    for target in targets() {
        let seeds = seeds(target.name);
        if seeds == [b"--help".to_vec()] {
            return Err(format!("{} has no seeds", target.name).into());
        }
        let program = format!("{}/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), target.name);
        if !std::path::Path::new(&program).exists() {
            return Err(format!("{} has no program for a fuzzer", target.name).into());
        }
    }
    Ok(())
}

fn mangled(name: &'static str, rounds: u64, seed: u64) -> Result<(), Failed> {
    let seeds = seeds(name);
    let words = words(&seeds);
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ name.len() as u64);
    let (inputs, taken) = mpsc::sync_channel::<Seed>(0);
    let (answers, answered) = mpsc::channel::<Result<(), String>>();
    let feeder = std::thread::Builder::new().stack_size(8 << 20).spawn(move || {
        for input in taken {
            let fed = catch_unwind(AssertUnwindSafe(|| feed(name, &input)));
            let told = fed.map_err(|cause| {
                let text = cause.downcast_ref::<String>().cloned();
                text.or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
            });
            if answers.send(told).is_err() {
                return;
            }
        }
    });
    feeder.map_err(|error| error.to_string())?;
    for round in 0..seeds.len() as u64 + rounds {
        let input = match seeds.get(round as usize) {
            Some(seed) => seed.clone(),
            None => dice.mangle(&seeds, &words),
        };
        inputs.send(input.clone()).map_err(|error| error.to_string())?;
        let shown = || format!("round {round} of {name}: \"{}\"", input.escape_ascii());
        match (0..LOOKS).find_map(|_| answered.recv_timeout(LOOK).ok()) {
            Some(Ok(())) => {}
            Some(Err(why)) => return Err(format!("it panics: {why}\n{}", shown()).into()),
            None => return Err(format!("it does not come to its end\n{}", shown()).into()),
        }
    }
    Ok(())
}

/// The words of all seeds: whatever stands between blanks and signs.
fn words(seeds: &[Seed]) -> Vec<Vec<u8>> {
    let signs = |byte: &u8| byte.is_ascii_whitespace() || b"=,:;\"{}[]".contains(byte);
    let parts = seeds.iter().flat_map(|seed| seed.split(signs));
    let mut words: Vec<Vec<u8>> = parts.filter(|part| part.len() < 40).map(<[u8]>::to_vec).collect();
    words.extend(ODD.iter().map(|word| word.as_bytes().to_vec()));
    words.sort();
    words.dedup();
    words
}

/// A small generator, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }

    /// A seed with a few faults.
    fn mangle(&mut self, seeds: &[Seed], words: &[Vec<u8>]) -> Seed {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            match self.below(8) {
                0..4 => self.replace_word(&mut input, words),
                4 => self.move_line(&mut input),
                5 => self.splice(&mut input, seeds),
                6 if !input.is_empty() => {
                    let at = self.below(input.len());
                    input[at] = self.below(256) as u8;
                }
                _ => input.truncate(self.below(input.len() + 1)),
            }
        }
        input
    }

    /// Another word where one stands, or before it, or none.
    fn replace_word(&mut self, input: &mut Seed, words: &[Vec<u8>]) {
        let end = |byte: &u8| byte.is_ascii_whitespace() || b"=,:;\"{}[]".contains(byte);
        let from = self.below(input.len() + 1);
        let from = input[..from].iter().rposition(end).map_or(0, |at| at + 1);
        let to = input[from..].iter().position(end).map_or(input.len(), |length| from + length);
        let mut new = match self.below(6) {
            0 => Vec::new(),
            1 | 2 => ODD[self.below(ODD.len())].as_bytes().to_vec(),
            _ => words[self.below(words.len())].clone(),
        };
        let to = if self.below(5) == 0 { from } else { to };
        if to == from {
            new.push(b" =,\n"[self.below(4)]);
        }
        input.splice(from..to, new);
    }

    /// A line goes, or comes twice, or stands elsewhere.
    fn move_line(&mut self, input: &mut Seed) {
        let mut lines: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let line = lines[self.below(lines.len())].clone();
        let (from, to) = (self.below(lines.len()), self.below(lines.len() + 1));
        match self.below(3) {
            0 => drop(lines.remove(from)),
            1 => lines.insert(to, line),
            _ => {
                let line = lines.remove(from);
                lines.insert(to.min(lines.len()), line);
            }
        }
        *input = lines.join(&b'\n');
    }

    /// The beginning of one and the end of another.
    fn splice(&mut self, input: &mut Seed, seeds: &[Seed]) {
        let other = &seeds[self.below(seeds.len())];
        input.truncate(self.below(input.len() + 1));
        input.extend(&other[self.below(other.len() + 1)..]);
    }
}
