//! `iodyno whatif`: what is computed, and what is said to words that describe no store.

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::program::{iodyno, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("promises of replicas are told by formula and by Monte Carlo", &[], promises),
        Case::new("promises of an erasure code are JSON", &[], promises_json),
        Case::new("a store that cannot be is refused with a hint", &[], no_store),
    ]
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn promises() -> Outcome {
    let line =
        "whatif --promises --afr 1.5% --replicas 3 --repair 12h --outages 4 --outage 30min --groups 1000";
    let said = told(iodyno(words(line)));
    said.expect(
        0,
        &[
            "Promises of 3 replicas in 3 failure domains",
            "1.5 % of the devices are lost in a year; a lost piece is rebuilt in 12 h;",
            "Computed by formula and by Monte Carlo; nothing was measured.",
            "formula Monte Carlo nines",
            "the data of a group is lost in a year",
            "that of any of 1,000 groups is ",
            "share of time without reads ",
            "a read after a write has an older value 0 0 –",
            "consistency: strong: a read has the last acknowledged write, and writes have one order",
            "an acknowledged write survives the loss of 1 piece at once",
        ],
    );
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{said}");
    assert_eq!(said.out, told(iodyno(words(line))).out);
    Ok(())
}

fn promises_json() -> Outcome {
    let said = told(iodyno(words(
        "whatif --promises --afr 2 --code 4+2 --domains 3 --domain-afr 1% --repair 1d --json",
    )));
    said.expect(0, &["\"format\": \"iodyno.promises/1\""]);
    let value: Value = serde_json::from_str(&said.out)?;
    assert_eq!(value["measured"], false);
    assert_eq!(value["design"]["write_quorum"], 5);
    let lost = &value["group_lost_in_a_year"];
    let (formula, sampled) = (lost["formula"].as_f64(), lost["monte_carlo"].as_f64());
    let distance = sampled.zip(formula).map(|(sampled, formula)| (sampled / formula - 1.0).abs());
    assert!(distance.is_some_and(|distance| distance < 0.02), "{lost}");
    assert_eq!(value["consistency"], "strong");
    Ok(())
}

fn no_store() -> Outcome {
    for (line, wrong) in [
        ("--promises", "error: --replicas: it is not said hint: say --replicas 3, or --code 8+3"),
        ("--promises --replicas 3", "error: --afr: it is not said hint: say how many devices fail"),
        (
            "--promises --replicas 3 --afr 1%",
            "error: --repair: it is not said hint: say how long a rebuild takes",
        ),
        ("--promises --replicas 3 --afr 0 --repair 1h", "error: --afr: devices that never fail lose nothing"),
        ("--promises --replicas 3 --afr 100% --repair 1h", "expected 0 to below 100 percent, e.g. 1.5%"),
        ("--promises --code 8 --afr 1% --repair 1h", "expected data and parity pieces, e.g. 8+3"),
        ("--promises --code 60+5 --afr 1% --repair 1h", "at most 64 pieces"),
        (
            "--promises --replicas 3 --afr 1% --repair 1h --domains 4",
            "error: --domains: 3 pieces cannot use 4 domains hint: name at most 3",
        ),
        (
            "--promises --replicas 3 --afr 1% --repair 1h --write-quorum 4",
            "error: --write-quorum: there are 3 pieces only hint: name at most 3",
        ),
        (
            "--promises --code 4+2 --afr 1% --repair 1h --read-quorum 3",
            "error: --read-quorum: 3 pieces do not hold the data hint: name at least 4",
        ),
        (
            "--promises --replicas 3 --afr 99% --repair 100d",
            "error: --repair: on average 3.8 parts of a group are down at once hint: shorten the repair",
        ),
        (
            "--promises --replicas 64 --domains 9 --afr 1% --repair 1h",
            "error: --domains: the pieces can be lost in ",
        ),
    ] {
        let said = told(iodyno([vec!["whatif"], words(line)].concat()));
        said.expect(2, &[wrong]);
        assert!(said.out.is_empty(), "{said}");
    }
    Ok(())
}
