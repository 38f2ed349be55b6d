//! Thousands of mangled command lines and scripts: each is answered with a plan or with errors, and none panics.

use super::world::World;
use super::{cases, head, lowered, words};

/// A small generator, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

const WORDS: [&str; 28] = [
    "-b",
    "-b4k",
    "-t=0",
    "-s",
    "9223372036854775807",
    "-1",
    "-N",
    "1g",
    "-F",
    "-C",
    "-Z",
    "-z",
    "-O",
    "a=b,,=c",
    "-W",
    "-R",
    "-G",
    "-f",
    "script",
    "--",
    "-",
    "=",
    "--randomPrefill",
    "-M",
    "75%",
    "-ä",
    "-D",
    "#",
];

fn mangle(mut words: Vec<String>, dice: &mut Dice) -> Vec<String> {
    for _ in 0..=dice.below(3) {
        let at = dice.below(words.len());
        let new = WORDS[dice.below(WORDS.len())].to_string();
        match dice.below(4) {
            0 if !words.is_empty() => words[at] = new,
            1 if !words.is_empty() => drop(words.remove(at)),
            2 if !words.is_empty() => {
                let letters = words[at].chars().count();
                words[at] = words[at].chars().take(dice.below(letters + 1)).collect();
            }
            _ => words.insert(at, new),
        }
    }
    words
}

#[test]
fn mangled_command_lines_are_answered() {
    let cases = cases();
    let (mut dice, mut plans, mut errors) = (Dice(3), 0, 0);
    for round in 0..3_000 {
        let text = head(&cases[round % cases.len()].1);
        let mangled = mangle(words(&text), &mut dice);
        match lowered(&mangled, &mut World::of(&text)) {
            // Printing looks at all of it; a plan of a million phases would only be slow.
            Ok(lowered) if lowered.plan.phases.len() < 100 => {
                plans += usize::from(!iodyno_report::plan::print(&lowered.plan).is_empty());
            }
            Ok(_) => plans += 1,
            Err(wrong) => {
                assert!(wrong.iter().all(|wrong| !wrong.message.is_empty()), "{mangled:?}");
                errors += 1;
            }
        }
    }
    assert!(plans > 300 && errors > 300, "{plans} plans, {errors} errors");
}

#[test]
fn mangled_scripts_are_answered() {
    let script = "prose|IOR START|api=POSIX,blockSize=4m|RUN|filePerProc=1|fsync=1|RUN|IOR STOP";
    let mut dice = Dice(4);
    for _ in 0..3_000 {
        let mut letters: Vec<char> = script.chars().collect();
        for _ in 0..=dice.below(4) {
            let at = dice.below(letters.len());
            match dice.below(3) {
                0 => letters[at] = ['=', ',', '|', '#', '0', 'ä', ' ', '-'][dice.below(8)],
                1 if letters.len() > 3 => drop(letters.remove(at)),
                _ => letters.truncate(at.max(3)),
            }
        }
        let text = format!("# file: s {}", letters.into_iter().collect::<String>());
        let _ = lowered(&["-f".into(), "s".into()], &mut World::of(&text));
    }
}
