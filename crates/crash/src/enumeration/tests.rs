//! The space of short workloads has the size that arithmetic says, and each of them can be done.

use super::*;
use std::collections::BTreeSet;

/// 33 operations on a file with 8 persistence points, 4 on an entry with 4, 2 on a directory with 5.
const ELEMENTS: u64 = 33 * 8 + 4 * 4 + 2 * 5;

#[test]
fn counts_are_powers_of_operations_times_persistence_points() {
    let count = |length| Enumeration::new(length).unwrap().count();
    assert_eq!(ELEMENTS, 290);
    assert_eq!([count(1), count(2), count(3)], [290, 84_100, 24_389_000]);
    assert!(
        Enumeration::new(4).unwrap_err().ends_with("hint: 1, 2 or 3 operations; 3 are 24389000 workloads")
    );
}

#[test]
fn every_operation_follows_every_other() {
    let all = Enumeration::new(1).unwrap().sample(1000, 1).unwrap();
    let texts: BTreeSet<_> = all.iter().map(|workload| workload.about.clone()).collect();
    assert_eq!((all.len(), texts.len()), (290, 290), "two of them are alike");
    for length in [2, 3] {
        let enumeration = Enumeration::new(length).unwrap();
        let step = (enumeration.count() / 1_000).max(1) as usize;
        for number in (0..enumeration.count()).step_by(step) {
            enumeration.workload(number).unwrap();
        }
    }
}

#[test]
fn a_name_is_a_workload_and_a_sample_is_its_seed() {
    let workload = Enumeration::named("enumerated:2:417").unwrap().unwrap();
    assert_eq!(workload.name, "enumerated:2:417");
    assert_eq!(workload, Enumeration::new(2).unwrap().workload(417).unwrap());
    assert_eq!(Enumeration::named("maildir"), None);
    let error = Enumeration::named("enumerated:1:290").unwrap().unwrap_err();
    assert_eq!(error, "no workload 290 of length 1\n hint: numbers 0 to 289");
    let sample = |seed| Enumeration::new(3).unwrap().sample(50, seed).unwrap();
    assert_eq!(sample(1), sample(1));
    assert_ne!(sample(1), sample(2));
    assert_eq!(sample(1).len(), 50);
}

#[test]
fn names_select_known_workloads_and_samples() {
    let known = crate::script::builtin().unwrap();
    let names = |name: &str| {
        select_workloads(name, &known, 1)
            .map(|chosen| chosen.into_iter().map(|workload| workload.name).collect::<Vec<_>>())
    };
    assert_eq!(names("maildir"), Ok(vec!["maildir".to_string()]));
    assert_eq!(names("enumerated:1:7"), Ok(vec!["enumerated:1:7".to_string()]));
    assert_eq!(names("written").map(|names| names.len()), Ok(34));
    assert_eq!(names("seq-1").map(|names| names.len()), Ok(290));
    assert_eq!(names("seq-3:20").map(|names| names.len()), Ok(20));
    assert_ne!(
        names("seq-3:20"),
        select_workloads("seq-3:20", &known, 2)
            .map(|chosen| chosen.into_iter().map(|workload| workload.name).collect())
    );
    for (name, expected) in [
        ("maildirr", "there is no workload maildirr\n hint: did you mean maildir?"),
        (
            "nothing-like-it",
            "there is no workload nothing-like-it\n hint: `iodyno crash --list` prints those that there are",
        ),
        ("seq-4", "no workloads of length 4\n hint: 1, 2 or 3 operations"),
        ("seq-2:many", "there are no workloads seq-2:many\n hint: seq-1, seq-2 or seq-3 are all"),
        (
            "seq-3",
            "seq-3 are 24389000 workloads\n hint: take a sample, seq-3:100000 at most, and another --seed for the next one",
        ),
    ] {
        assert!(names(name).unwrap_err().starts_with(expected), "{:?}", names(name));
    }
}
