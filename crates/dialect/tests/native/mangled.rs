//! Mangled plan files: whatever is typed, the answer is a plan or messages, never a panic.
//!
//! Lines of real files are dropped, doubled and swapped, and words are replaced by awkward ones, by a seeded draw.

use iodyno_dialect::native;
use iodyno_model::Machine;
use iodyno_report::plan::print;

use super::root;

const AWKWARD: &[&str] = &[
    "0",
    "-1",
    "18446744073709551615",
    "\"18446744073709551615\"",
    "1e308",
    "nan",
    "\"\"",
    "\"{worker}\"",
    "\"100%\"",
    "\"15EiB\"",
    "\"-\"",
    "\":\"",
    "[]",
    "{}",
    "true",
    "[[1]]",
    "\"zipf:0\"",
    "\"0x\"",
    "\"0xé\"",
    "\"é\"",
    "1979-05-27",
    "\"584y\"",
    "\"213503d\"",
    "\"0-4294967295\"",
    "\"= =\"",
    "0x7fffffffffffffff",
    "4294967295",
];

/// SplitMix64: the same mess every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % most as u64) as usize
    }
}

fn mangle(text: &str, draw: &mut Draw) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for _ in 0..1 + draw.below(3) {
        let at = draw.below(lines.len());
        match draw.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = draw.below(lines.len());
                lines.swap(at, other);
            }
            _ => {
                let key = lines[at].split('=').next().unwrap_or("").to_string();
                if lines[at].contains('=') {
                    lines[at] = format!("{key}= {}", AWKWARD[draw.below(AWKWARD.len())]);
                }
            }
        }
    }
    lines.join("\n")
}

#[test]
fn mangled_files_never_panic() {
    let (mut taken, mut refused) = (0, 0);
    let mut draw = Draw(1);
    for name in
        ["golden/native/everything.toml", "examples/mail-server-script.toml", "examples/open-loop-rate.toml"]
    {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        for _ in 0..400 {
            match native::parse(&mangle(&text, &mut draw), "mangled.toml") {
                Ok(mut plan) => {
                    taken += 1;
                    assert!(print(&plan).starts_with("plan"));
                    plan.sweep.truncate(2);
                    super::explained::explained(
                        &plan,
                        &[],
                        &Machine { cpus: 2, memory_bytes: 1 << 30, ..Machine::default() },
                    );
                }
                Err(wrong) => {
                    refused += 1;
                    assert!(!wrong.is_empty());
                }
            }
        }
    }
    assert!(taken > 100 && refused > 100, "{taken} taken, {refused} refused");
}
