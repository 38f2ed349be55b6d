//! Mangled job files and arguments: the answer is a plan, a text or messages, never a panic.
//!
//! Files are cut, their bits flipped, lines doubled and swapped and values replaced by awkward ones, by a seeded draw.

use iodyno_dialect::fio::DIALECT;
use iodyno_dialect::fio::options::OPTIONS;

use super::shelf::Shelf;

const AWKWARD: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "18446744073709551615",
    "9223372036854775807",
    "99999999999999999999999999999",
    "0x",
    "0xé",
    "é",
    "1e308",
    "nan",
    "inf",
    "100%",
    "101%",
    "-5%",
    "%",
    "z",
    "3z",
    "15p",
    "(",
    ")",
    "()",
    "(1/0)",
    "(2^63)",
    "((((1",
    "1k-",
    "-1k",
    ":",
    ",",
    "::",
    ",,",
    ",,,",
    "/",
    "4k/",
    "/50",
    "4k/50:",
    "4k/50,",
    "zipf:",
    "zipf:0",
    "zipf:-1",
    "normal:x",
    "zoned:50/",
    "zoned_abs:/",
    "random:",
    "randrw:",
    "rw:0",
    "write:0",
    "iops:",
    "\"",
    "'",
    "\"\"",
    "$",
    "${",
    "${}",
    "$ncpus",
    "$ncpus*",
    "$ncpus/0",
    "1d",
    "999999999d",
    "5 s",
    "\u{0}",
    "a:b:c",
    "..",
    "/",
    "~",
    "%o",
    "0b1",
];

const FILE: &str = "[global]\nrw=randrw\nbs=4k,8k\nioengine=libaio\niodepth=16\nsize=64m\ninclude j.fio\n[a b]\nfilename=/tmp/x:/tmp/y\n\
    verify=crc32c\nverify_pattern=0xff%o\"a\"\nbssplit=4k/50:8k/50\nrate=1m,2m\nthinktime=3\nstonewall\n\
    [c]\nrandom_distribution=zoned:60/10:40/90\nsync_file_range=write:8\npercentile_list=5:99.9\nlatency_target=10ms\n\
    numjobs=$ncpus\nfilename_format=$jobname.$jobnum\ndirectory=${HOME}\nstartdelay=1-5\nsteadystate=iops:5%\n";

/// SplitMix64: the same mess every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % most.max(1) as u64) as usize
    }
}

fn mangled(draw: &mut Draw) -> Vec<u8> {
    let mut bytes = FILE.as_bytes().to_vec();
    match draw.below(4) {
        0 => bytes.truncate(draw.below(FILE.len())),
        1 => {
            for _ in 0..1 + draw.below(8) {
                let at = draw.below(bytes.len());
                bytes[at] ^= 1 << draw.below(8);
            }
        }
        2 => {
            let (from, to) = (draw.below(bytes.len()), draw.below(bytes.len()));
            bytes.drain(from.min(to)..from.max(to));
        }
        _ => {
            let mut lines: Vec<&str> = FILE.lines().collect();
            let (first, second) = (draw.below(lines.len()), draw.below(lines.len()));
            lines.swap(first, second);
            bytes = lines.join(["\n", "\r\n", "\n\n"][draw.below(3)]).into_bytes();
        }
    }
    bytes
}

fn take(arguments: &[String], world: &mut Shelf) {
    // Whatever it says, it says it.
    let _ = (DIALECT.lower)(arguments, world);
}

#[test]
fn mangled_job_files_make_no_panic() {
    let mut draw = Draw(1);
    for _ in 0..1000 {
        take(&["j.fio".to_string()], &mut Shelf::bytes("j.fio", &mangled(&mut draw)));
    }
}

#[test]
fn awkward_values_make_no_panic() {
    for row in &OPTIONS {
        for text in AWKWARD {
            let option = format!("--{}={text}", row.entry.name);
            let engine = format!("--ioengine={}", row.rule.engines.first().unwrap_or(&"libaio"));
            let line = ["--name=x", "--rw=randrw", "--size=1m", &engine, &option];
            take(&line.map(String::from), &mut Shelf::of(&[]));
        }
    }
}

#[test]
fn mangled_arguments_make_no_panic() {
    let mut draw = Draw(2);
    let words = [
        "--name=x",
        "-name",
        "--rw",
        "read",
        "-",
        "--",
        "---",
        "-=",
        "--=",
        "-é",
        "--bs",
        "--cmdhelp=",
        "--enghelp=,",
        "=",
        "",
    ];
    for _ in 0..3000 {
        let mut line: Vec<String> = Vec::new();
        for _ in 0..draw.below(6) {
            line.push(match draw.below(3) {
                0 => words[draw.below(words.len())].to_string(),
                1 => format!("--{}", OPTIONS[draw.below(OPTIONS.len())].entry.name),
                _ => format!(
                    "--{}={}",
                    OPTIONS[draw.below(OPTIONS.len())].entry.name,
                    AWKWARD[draw.below(AWKWARD.len())]
                ),
            });
        }
        take(&line, &mut Shelf::of(&[]));
    }
}
