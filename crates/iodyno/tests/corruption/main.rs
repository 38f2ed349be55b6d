//! Verification end to end: the program writes stamped blocks to a device that damages one of them, reads them back,
//! and must name the damage and its place, and end with status 1. A sound device must not be accused.

#[cfg(target_os = "linux")]
mod generation_map;

#[cfg(target_os = "linux")]
mod linux {
    use testbed::fuse::{Config, Device, Fault, Pick, RequestKind};
    use testbed::program::Program;
    use testbed::{Case, Need, Outcome};

    const BYTES: u64 = 1 << 20;
    /// Where the damage is planted: block 20 of 4 KiB.
    const PLACE: u64 = 20 * 4096;
    /// As the program writes it.
    const PLACE_SAID: &str = "byte 81,920";
    /// A block before it.
    const OTHER: u64 = 5 * 4096;
    const FLIP: u64 = PLACE + 700;

    /// A fault, how often the file is written, and what must be said.
    struct Planted {
        name: &'static str,
        fault: Fault,
        passes: u32,
        words: &'static [&'static str],
    }

    fn planted() -> Vec<Planted> {
        let at = Pick::At(PLACE);
        let second = Pick::NthAt { offset: PLACE, n: 2 };
        let flip = |on| Fault::FlipBit { on, offset: FLIP, bit: 3 };
        let flipped: &[&str] = &["byte 82,620", "bit flip", "bit 3"];
        let plant = |name, fault, passes, words| Planted { name, fault, passes, words };
        vec![
            plant("flipped_when_written", flip(RequestKind::Write), 1, flipped),
            plant("flipped_when_read", flip(RequestKind::Read), 1, flipped),
            plant("stale", Fault::Stale { offset: PLACE }, 2, &[PLACE_SAID, "stale"]),
            // 3 of 8 sectors are new: what is wrong begins behind them.
            plant("torn", Fault::Torn { pick: second, sectors: 3 }, 2, &["byte 83,456", "torn"]),
            plant("torn_at_first", Fault::Torn { pick: at, sectors: 3 }, 1, &["byte 83,456", "torn"]),
            plant(
                "swapped",
                Fault::Swapped { a: OTHER, b: PLACE, bytes: 4096 },
                1,
                &["byte 20,480", "swapped", PLACE_SAID],
            ),
            plant(
                "misdirected",
                Fault::Misdirected { from: PLACE, to: OTHER },
                1,
                &["byte 20,480", "misdirected", PLACE_SAID],
            ),
            plant("lost", Fault::Lost { pick: at }, 1, &[PLACE_SAID, "lost"]),
        ]
    }

    /// Everything that is planted through three engines, and devices without fault.
    pub fn cases() -> Vec<Case> {
        [("psync", 1), ("libaio", 8), ("io_uring", 8)]
            .into_iter()
            .flat_map(|(engine, depth)| of_engine(engine, depth))
            .collect()
    }

    fn of_engine(engine: &'static str, depth: u32) -> Vec<Case> {
        let needs: &[Need] = if engine == "io_uring" { &[Need::Fuse, Need::IoUring] } else { &[Need::Fuse] };
        let named = |name: &str, fault, jobs: String, words: &'static [&'static str]| {
            Case::new(format!("{engine}::{name}"), needs, move || is_named(fault, &jobs, words))
        };
        let silent = |name: &str, jobs: String| {
            Case::new(format!("{engine}::{name}"), needs, move || is_silent(&jobs))
        };
        let mut cases: Vec<Case> = planted()
            .into_iter()
            .map(|plant| {
                named(plant.name, plant.fault, after_writes(engine, depth, plant.passes), plant.words)
            })
            .collect();
        let flip = Fault::FlipBit { on: RequestKind::Read, offset: FLIP, bit: 3 };
        let words = &["byte 82,620", "bit flip"];
        cases.push(named("flipped_in_a_later_phase", flip, later(engine, depth), words));
        cases.push(silent("sound", after_writes(engine, depth, 2)));
        cases.push(silent("sound_in_a_later_phase", later(engine, depth)));
        cases
    }

    /// Written, then read back and checked by the same job.
    fn after_writes(engine: &str, depth: u32, passes: u32) -> String {
        format!(
            "[[phase]]\n[[phase.job]]\non = \"data\"\nengine = \"{engine}\"\ndepth = {depth}\ndo = \"write\"\n\
             block = \"4KiB\"\nverify = {{ when = \"after writes\" }}\nerrors = \"continue\"\n\
             until = {{ passes = {passes} }}\n"
        )
    }

    /// Written in one phase, read and checked in another.
    fn later(engine: &str, depth: u32) -> String {
        let phase = |verb: &str| {
            format!(
                "[[phase]]\n[[phase.job]]\nname = \"stamped\"\nseed = 5\non = \"data\"\nengine = \"{engine}\"\n\
                 depth = {depth}\ndo = \"{verb}\"\nblock = \"4KiB\"\nverify = true\nerrors = \"continue\"\n\
                 until = {{ passes = 1 }}\n"
            )
        };
        phase("write") + &phase("read")
    }

    /// Runs jobs on a device; exit status and all that was said.
    fn run(config: Config, jobs: &str) -> Result<(Option<i32>, String), Box<dyn std::error::Error>> {
        let device = Device::mount(Config { bytes: BYTES, ..config })?;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("plan.toml");
        let target = format!(
            "intent = \"correctness\"\n[target.data]\nfile = {:?}\nsize = {BYTES}\ndirect = true\n\n",
            device.path()
        );
        std::fs::write(&path, target + jobs)?;
        let arguments = ["run".as_ref(), path.as_os_str()];
        let said = Program::of(env!("CARGO_BIN_EXE_iodyno"), arguments).outcome()?;
        Ok((said.status.code(), said.all()))
    }

    fn is_named(fault: Fault, jobs: &str, words: &[&str]) -> Outcome {
        let (status, said) = run(Config::faulty(vec![fault]), jobs)?;
        let missing: Vec<&&str> = words.iter().filter(|word| !said.contains(**word)).collect();
        match (status, missing.as_slice()) {
            (Some(1), []) => Ok(()),
            _ => Err(format!("status {status:?}; not said: {missing:?}\n{said}").into()),
        }
    }

    fn is_silent(jobs: &str) -> Outcome {
        let (status, said) = run(Config::default(), jobs)?;
        let classes = ["bit flip", "stale", "torn", "swapped", "misdirected", "garbage", "foreign", "error"];
        let accused = classes.iter().any(|class| said.contains(class));
        match status {
            Some(0) if !accused => Ok(()),
            _ => Err(format!("status {status:?}\n{said}").into()),
        }
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(linux::cases().into_iter().chain(generation_map::cases()).collect())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("skipped: a FUSE device that damages on command is Linux's");
}
