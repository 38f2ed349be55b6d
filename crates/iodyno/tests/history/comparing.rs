//! Comparisons: the same is no difference, five percent are one, and what is not comparable is said to be.

use std::path::Path;

use testbed::{Case, Outcome};

use crate::keeping::{NULL, says};
use crate::program::{plan, scratch};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("runs of the same thing are no different, about as often as it says", &[], same),
        Case::new(
            "of a hundred pairs of the same about five differ, of those with five percent nearly all",
            &[],
            often,
        ),
        Case::new("five percent are found, and fail a demand", &[], five_percent),
        Case::new("runs of something else are not comparable, and it says why", &[], incomparable),
        Case::new("runs in turns cancel what changes meanwhile", &[], in_turns),
        Case::new("a comparison that cannot be made is refused", &[], refusals),
    ]
}

/// A device with noise, in virtual time: about ten seconds of it, in a hundred rows.
fn device(service_us: f64) -> String {
    let service = format!("{}ns", (service_us * 1000.0) as u64);
    format!(
        "name = \"noisy\"\n[target.t]\nnothing = \"1GiB\"\n[[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"j\"\non = \"t\"\n\
         engine = \"sim\"\nsettings = {{ service = \"exponential:{service}\" }}\ndo = \"read\"\npick = \"random\"\n\
         block = \"4KiB\"\nuntil = {{ time = \"20s\" }}\n"
    )
}

#[track_caller]
fn measured(home: &Path, service_us: f64, seed: u32) {
    plan(home, &device(service_us));
    says(home, ["run", "--quiet", "--seed", &seed.to_string(), "plan.toml"]).expect(0, &[]);
}

fn verdict(home: &Path, words: &[&str]) -> serde_json::Value {
    let said = says(home, ["compare", "--json"].into_iter().chain(words.iter().copied()));
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn same() -> Outcome {
    let home = scratch();
    let home = home.path();
    let runs = 24;
    (0..runs).for_each(|seed| measured(home, 1000.0, seed));
    let mut silent = 0;
    for pair in 0..runs / 2 {
        let (a, b) = ((2 * pair + 1).to_string(), (2 * pair + 2).to_string());
        let found = &verdict(home, &[&a, &b])["comparisons"][0];
        assert_eq!(found["comparable"], true, "{found}");
        silent += u32::from(found["differs"] == false);
    }
    // Of twelve, with 95 in 100: fewer than nine come once in five hundred times.
    assert!(silent >= 9, "{silent} of {} silent", runs / 2);
    Ok(())
}

/// A run whose record alone is kept, in a file.
#[track_caller]
fn recorded(home: &Path, service_us: f64, seed: u32) -> String {
    let name = format!("{seed}.json");
    plan(home, &device(service_us));
    let seed = seed.to_string();
    says(home, ["run", "--quiet", "--no-save", "--seed", &seed, "--json", &name, "plan.toml"]).expect(0, &[]);
    name
}

/// Whether two files differ, without a history that knows how much such runs vary.
fn differ(home: &Path, a: &str, b: &str, words: &[&str]) -> bool {
    let found = &verdict(home, &[words, &[a, b]].concat())["comparisons"][0];
    assert_eq!(found["comparable"], true, "{found}");
    found["differs"] == true
}

fn often() -> Outcome {
    let home = scratch();
    let home = home.path();
    let pairs: u32 = 100;
    let same = (0..pairs).filter(|pair| {
        let (a, b) = (recorded(home, 1000.0, 2 * pair + 1), recorded(home, 1000.0, 2 * pair + 2));
        differ(home, &a, &b, &[])
    });
    let alarms = same.count();
    // Five are promised; of a hundred with that chance, more than twelve come once in seven hundred times.
    assert!(alarms <= 12, "{alarms} of {pairs} pairs of the same differ");
    let apart = (0..20).filter(|pair| {
        let (a, b) = (format!("{}.json", 2 * pair + 1), recorded(home, 1050.0, 1001 + pair));
        differ(home, &a, &b, &["--across", "settings"])
    });
    let found = apart.count();
    assert!(found >= 17, "five percent were found in {found} of 20 pairs");
    println!("{alarms} of {pairs} pairs of the same differ, {found} of 20 with five percent");
    Ok(())
}

fn five_percent() -> Outcome {
    let home = scratch();
    let home = home.path();
    measured(home, 1000.0, 1);
    measured(home, 1050.0, 2);
    let found = &verdict(home, &["--across", "settings", "1", "2"])["comparisons"][0];
    assert_eq!((&found["comparable"], &found["differs"]), (&true.into(), &true.into()), "{found}");
    let rate = &found["figures"][0];
    assert_eq!((&rate["quantity"], &rate["verdict"]), (&"read.iops".into(), &"worse".into()));
    let percent = rate["difference"]["percent"].as_f64().expect("a difference");
    assert!((percent + 4.8).abs() < 2.0, "{percent} %");
    let compare = |demand: &str, status: i32, word: &str| {
        says(home, ["compare", "1", "2", "--across", "settings", "--fail-if", demand])
            .expect(status, &[word]);
    };
    compare("read.iops < -2%", 1, "FAILED");
    compare("read.iops < -20%", 0, "kept");
    compare("read.p99 > +50%", 1, "nothing to hold it against in p.j: percentiles of one run on each side");
    compare("read.p50 > 1ms", 0, "kept");
    compare("read.p50 > 100us", 1, "FAILED");
    compare("write.iops < -2%", 1, "nothing to hold it against");
    Ok(())
}

fn incomparable() -> Outcome {
    let home = scratch();
    let home = home.path();
    for block in ["4KiB", "8KiB"] {
        plan(home, &NULL.replace("4KiB", block));
        says(home, ["run", "--quiet", "plan.toml"]).expect(0, &[]);
    }
    let said = says(home, ["compare", "1", "2"]);
    said.expect(0, &["not comparable", "I/O size: 4 KiB → 8 KiB"]);
    says(home, ["compare", "1", "2", "--fail-if", "read.iops < -99%"]).expect(1, &["FAILED"]);
    let said = says(home, ["compare", "1", "2", "--across", "size"]);
    said.expect(0, &["meant to differ", "I/O size"]);
    assert!(!said.out.contains("not comparable"), "{said}");
    Ok(())
}

fn in_turns() -> Outcome {
    let home = scratch();
    let home = home.path();
    let short = |service_us| device(service_us).replace("20s", "2s");
    std::fs::write(home.join("a.toml"), short(1000.0)).expect("a plan");
    std::fs::write(home.join("b.toml"), short(1050.0)).expect("a plan");
    let words = ["compare", "--interleave", "a.toml", "b.toml", "-n", "4", "--across", "settings"];
    let said = says(home, words);
    said.expect(0, &["a.toml", "b.toml", "read.iops", "worse"]);
    assert_eq!(says(home, ["runs"]).out.lines().count(), 9);
    says(home, ["compare", "1,3,5,7", "2,4,6,8", "--across", "settings"]).expect(0, &["worse"]);
    // Two turns leave intervals that hold anything; what is called the same needs some that hold little.
    let said = says(home, ["compare", "--interleave", "1", "3", "-n", "2"]);
    said.expect(0, &["cannot tell"]);
    assert!(!said.out.contains("no difference"), "{said}");
    let many = ["compare", "--interleave", "1", "3", "-n", "10", "--margin", "60"];
    says(home, many).expect(0, &["no difference of more than 60 %"]);
    Ok(())
}

fn refusals() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, NULL);
    says(home, ["run", "--quiet", "plan.toml"]).expect(0, &[]);
    says(home, ["compare", "1", "2"]).refused(&["2", "no such run"]);
    says(home, ["compare", "1"]).refused(&["RUN"]);
    says(home, ["compare", "1", "1", "--across", "nonsense"])
        .refused(&["`nonsense`", "or any field of a plan"]);
    says(home, ["compare", "1", "1", "--across", "kernel,depth,settings"]).expect(0, &[]);
    says(home, ["compare", "1", "1", "--fail-if", "read.speed > 1"]).refused(&["`speed` is no quantity"]);
    says(home, ["compare", "--interleave", "nowhere.toml", "1"]).refused(&["nowhere.toml"]);
    says(home, ["compare", "--interleave", "1", "1", "1"]).refused(&["it takes two"]);
    Ok(())
}
