//! Thousands of mangled job files: lowering answers each with a plan or with errors that name their place, and never
//! panics.

use iodyno_model::Origin;

use super::world::World;
use super::{arguments, cases, lowered};

/// A small generator, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

const VALUES: [&str; 24] = [
    "0",
    "1",
    "-1",
    "4k",
    "10%",
    "100%",
    "1g",
    "9223372036854775807",
    "",
    ":",
    ",",
    "/",
    "4k/50:8k/",
    "1-0",
    "a:b",
    "all",
    "%o",
    "0x",
    "\"",
    "zipf:0",
    "zoned:50/",
    "random",
    "0,,",
    "1s-2s",
];

/// One line changed: its value replaced, cut, doubled, or the line gone or repeated.
fn mangle(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for _ in 0..=dice.below(3) {
        let at = dice.below(lines.len());
        let name = lines[at].split('=').next().unwrap_or_default().to_string();
        match dice.below(5) {
            0 => lines[at] = format!("{name}={}", VALUES[dice.below(VALUES.len())]),
            1 => {
                let letters = lines[at].chars().count();
                lines[at] = lines[at].chars().take(dice.below(letters + 1)).collect();
            }
            2 => {
                let twice = lines[at].clone();
                lines.push(twice);
            }
            3 if lines.len() > 1 => {
                lines.remove(at);
            }
            _ => lines[at] = format!("{}{}", lines[at], VALUES[dice.below(VALUES.len())]),
        }
    }
    lines.join("\n")
}

#[test]
fn mangled_job_files_are_answered() {
    let texts: Vec<(String, String)> = cases()
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    let (mut dice, mut plans, mut errors) = (Dice(1), 0, 0);
    for round in 0..6_000 {
        let (name, text) = &texts[round % texts.len()];
        let mangled = mangle(text, &mut dice);
        match lowered(&arguments(name, &mangled), &mut World::of(name, text).holding(&mangled)) {
            Ok(lowered) => plans += usize::from(!lowered.plan.name.is_empty()),
            Err(wrong) => {
                assert!(!wrong.is_empty(), "{mangled}");
                let placed = |origin: &Origin| *origin != Origin::Default;
                assert!(wrong.iter().all(|wrong| !wrong.message.is_empty()), "{mangled}");
                errors += usize::from(wrong.iter().any(|wrong| placed(&wrong.origin)));
            }
        }
    }
    assert!(plans > 500 && errors > 500, "{plans} plans, {errors} errors");
}
