//! Golden text of where latency goes, and of how far a fitted load is from its trace.

mod sample;

use iodyno_model::Verb;
use iodyno_report::paint::Paint;
use iodyno_report::{anatomy, trace_fit};
use iodyno_trace::anatomy::{Anatomy, AnatomyAnalysis, AnatomyEvent, BlockRange, RequestKind, TimedEvent};
use iodyno_trace::fit;

/// Reads of which one in fifty waits long in the scheduler, reads from the cache, and syncs that wait for a journal.
fn watched() -> Anatomy {
    let mut analysis = AnatomyAnalysis::default();
    let mut add = |at_ns, thread, event| analysis.add(&TimedEvent { at_ns, thread, event });
    let range = |kind, sector| BlockRange { device: 8 << 20, sector, sectors: 8, kind };
    for index in 0..2000u64 {
        let at = index * 10_000_000;
        let waits = if index % 50 == 0 { 2_500_000 } else { 9_000 };
        let here = range(RequestKind::Read, index * 8);
        add(at, 7, AnatomyEvent::Enter(Verb::Read));
        if index % 3 > 0 {
            add(at + 4_000, 7, AnatomyEvent::Queued(here));
            add(at + 4_000 + waits, 7, AnatomyEvent::Issued(here));
            add(at + 94_000 + waits, 0, AnatomyEvent::Completed(here));
            add(at + 101_000 + waits, 7, AnatomyEvent::Exit);
        } else {
            add(at + 3_000, 7, AnatomyEvent::Exit);
        }
        if index % 20 == 0 {
            let log = range(RequestKind::Write, 9_000_000 + index * 8);
            add(at + 5_000_000, 7, AnatomyEvent::Enter(Verb::Fsync));
            add(at + 5_010_000, 60, AnatomyEvent::CommitBegan(8 << 20));
            add(at + 5_020_000, 60, AnatomyEvent::Queued(log));
            add(at + 5_025_000, 60, AnatomyEvent::Issued(log));
            add(at + 6_500_000, 0, AnatomyEvent::Completed(log));
            add(at + 6_510_000, 60, AnatomyEvent::CommitEnded(8 << 20));
            add(at + 6_530_000, 7, AnatomyEvent::Exit);
        }
    }
    add(20_000_000_000, 0, AnatomyEvent::Lost(17));
    analysis.finish()
}

#[test]
fn the_anatomy_is_golden_and_fits() {
    let text = anatomy::text("4711 database", &watched(), Paint::PLAIN);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    sample::golden("report", "anatomy.txt", &text);
    let json = anatomy::json("4711 database", &watched());
    assert_eq!((&json["format"], &json["lost_events"]), (&"iodyno.anatomy/1".into(), &17.into()));
    assert_eq!(json["calls"]["fsync"]["count"], 100);
    let nothing = anatomy::text("1 init", &Anatomy::default(), Paint::PLAIN);
    assert!(nothing.contains("cannot tell: no read, write or sync was seen"), "{nothing}");
}

#[test]
fn the_fit_says_how_far_it_is() {
    let (statistics, load) = fit::fit(&mut sample::recorded::recorded(12_000)).unwrap();
    let distance = fit::distance(&statistics, &load, u64::MAX, 1).unwrap();
    let text = trace_fit::text("database.iot", &load, &distance, Paint::PLAIN);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in [
        "file0 random",
        "file1 sequential",
        "offsets in file0",
        "dispersion of arrivals in 100 ms",
        "Not as in the trace",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}
