//! Log files from journals made by hand, byte for byte.

use super::*;
use crate::fio::view::LogWindow;
use iodyno_model::{Histogram, JournalEntry, Kind, Verb};
use iodyno_report::FilesInMemory;

const MS: u64 = 1_000_000;

fn job(logs: Logs) -> JobView {
    let mut job = JobView { clones: 2, asynchronous: true, logs, ..JobView::default() };
    (job.blocks.read, job.blocks.write) = ((4096, 4096), (512, 8192));
    job
}

fn logs() -> Logs {
    Logs { per_job: true, first_number: 3, ..Logs::default() }
}

fn done(at_ns: u64, verb: Verb, submission_ns: u64, completion_ns: u64) -> JournalEntry {
    let latency_ns = submission_ns + completion_ns;
    let (offset, bytes, priority) = (8192, 4096, 0);
    JournalEntry::Done {
        at_ns,
        verb,
        file: 0,
        offset,
        bytes,
        submission_ns,
        completion_ns,
        latency_ns,
        priority,
    }
}

fn window(at_ns: u64, length_ns: u64, operations: u64) -> JournalEntry {
    JournalEntry::Window {
        at_ns,
        kind: Kind::Write,
        length_ns,
        operations,
        bytes: operations * 4096,
        submission_ns: (operations * 10, 30),
        completion_ns: (operations * 100, 300),
        latency_ns: (operations * 110, 330),
    }
}

fn part(worker: u32, entries: Vec<JournalEntry>) -> Event {
    Event::Journal(Box::new(JournalPart {
        worker,
        files: vec!["/f".into()],
        began_ns: 5 * MS,
        clocks: vec![(0, 1_700_000_000_000 * MS), (1, 77 * MS)],
        entries,
        ..JournalPart::default()
    }))
}

fn written(job: JobView, parts: Vec<Event>) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut log = LogFiles::new(&ReportContext { jobs: vec![job], ..ReportContext::default() });
    let mut files = FilesInMemory::default();
    let end = Event::PhaseEnded(Box::default());
    for event in parts.iter().chain([&end]) {
        log.event(event, &mut files).unwrap();
    }
    files.0
}

fn text(files: &std::collections::BTreeMap<String, Vec<u8>>, name: &str) -> String {
    String::from_utf8(files[name].clone()).unwrap()
}

#[test]
fn a_line_for_each_operation_in_the_columns_of_the_original() {
    let all = |prefix: &str| Some(prefix.to_string());
    let asked = Logs { bandwidth: all("b"), latency: all("l"), iops: all("i"), ..logs() };
    let entries = vec![
        done(6 * MS, Verb::Read, 119_253, 114_349),
        done(8 * MS + 7, Verb::Fsync, 1, 1),
        done(9 * MS, Verb::Trim, 5, 0),
    ];
    let files = written(job(asked), vec![part(1, entries)]);
    assert_eq!(text(&files, "b_bw.4.log"), "1, 35820, 0, 4096, 0\n4, 0, 2, 4096, 0\n");
    assert_eq!(text(&files, "l_lat.4.log"), "1, 233602, 0, 4096, 0\n4, 5, 2, 4096, 0\n");
    assert_eq!(text(&files, "l_slat.4.log"), "1, 119253, 0, 4096, 0\n4, 5, 2, 4096, 0\n");
    assert_eq!(text(&files, "l_clat.4.log"), "1, 114349, 0, 4096, 0\n4, 0, 2, 4096, 0\n");
    assert_eq!(text(&files, "i_iops.4.log"), "1, 1, 0, 4096, 0\n4, 1, 2, 4096, 0\n");
    // The other clone did nothing: its files are there all the same.
    assert!(files["l_lat.3.log"].is_empty() && files.len() == 10);
}

#[test]
fn further_columns_where_they_are_asked_for() {
    let asked = Logs {
        latency: Some("l".into()),
        offsets: true,
        priorities: true,
        issue_times: true,
        epoch: Epoch::Unix,
        per_job: false,
        ..logs()
    };
    let mut one = job(asked);
    one.figures.shown = (false, false, true);
    let mut entry = done(6 * MS, Verb::Write, 10, 90);
    if let JournalEntry::Done { priority, .. } = &mut entry {
        *priority = 2 << 13 | 3;
    }
    let files = written(one, vec![part(0, vec![entry])]);
    assert_eq!(text(&files, "l_lat.log"), "1700000000006, 100, 1, 4096, 8192, 0x4003, 999910\n");
    assert_eq!(files.len(), 1);
}

#[test]
fn windows_are_averaged_or_the_largest_or_both() {
    let asked = |window| Logs {
        bandwidth: Some("x".into()),
        latency: Some("x".into()),
        iops: Some("x".into()),
        average_ms: 250,
        window,
        ..logs()
    };
    let entries = || vec![window(255 * MS, 250 * MS, 13), window(300 * MS, 45 * MS, 2)];
    let of = |window| written(job(asked(window)), vec![part(0, entries())]);
    let files = of(LogWindow::Average);
    // What is sampled by time has no last, short window.
    assert_eq!(text(&files, "x_bw.3.log"), "250, 208, 1, 0, 0\n");
    assert_eq!(text(&files, "x_iops.3.log"), "250, 52, 1, 0, 0\n");
    assert_eq!(text(&files, "x_clat.3.log"), "250, 100, 1, 0, 0\n295, 100, 1, 0, 0\n");
    assert_eq!(text(&of(LogWindow::Most), "x_lat.3.log"), "250, 330, 1, 0, 0\n295, 330, 1, 0, 0\n");
    assert_eq!(text(&of(LogWindow::Both), "x_lat.3.log"), "250, 110, 330, 1, 0, 0\n295, 110, 330, 1, 0, 0\n");
}

#[test]
fn rows_of_bins_coarse_or_fine() {
    let mut completion = Histogram::default();
    [3, 3, 1_000, 20_000_000_000].iter().for_each(|ns| completion.add(*ns));
    let entry = JournalEntry::Distribution { at_ns: 505 * MS, kind: Kind::Write, completion };
    for (coarseness, columns) in [(0, 1859), (3, 235), (6, 32)] {
        let asked = Logs { histogram: Some("h".into()), histogram_ms: 500, coarseness, ..logs() };
        let files = written(job(asked), vec![part(0, vec![entry.clone()])]);
        let text = text(&files, "h_clat_hist.3.log");
        let numbers: Vec<u64> = text.trim_end().split(", ").map(|number| number.parse().unwrap()).collect();
        assert_eq!((numbers.len(), &numbers[..3]), (columns, &[500, 1, 512][..]));
        assert_eq!(numbers[3..].iter().sum::<u64>(), 4);
        // What lies beyond fio's last bin is counted in it.
        assert_eq!((numbers[3 + (3 >> coarseness)], numbers.last()), (2, Some(&1)));
    }
}

#[test]
fn what_was_done_can_be_replayed() {
    let began = |at_us: u64, verb, offset, bytes| JournalEntry::Began {
        at_ns: 5 * MS + at_us * 1000,
        verb,
        file: 0,
        offset,
        bytes,
    };
    let first = vec![began(1, Verb::Open, 0, 0), began(4, Verb::Write, 4096, 512)];
    let rest =
        vec![began(9, Verb::Fsync, 0, 0), began(10, Verb::Trim, 0, 4096), began(12, Verb::Close, 0, 0)];
    let asked = Logs { iolog: Some("w".into()), ..logs() };
    let files = written(job(asked), vec![part(0, first), part(0, rest), part(1, Vec::new())]);
    let lines = "fio version 3 iolog\n0 /f add\n1 /f open\n4 /f write 4096 512\n9 /f sync 0 0\n10 /f trim 0 4096\n\
                 12 /f close\nfio version 3 iolog\n0 /f add\n";
    assert_eq!(text(&files, "w"), lines);
}

#[test]
fn packed_logs_unpack_to_the_samples() {
    use std::io::Read;
    let asked = Logs { latency: Some("z".into()), compressed: true, ..logs() };
    let files = written(job(asked), vec![part(0, vec![done(6 * MS, Verb::Write, 10, 90)])]);
    let mut samples = Vec::new();
    flate2::read::ZlibDecoder::new(&files["z_lat.3.log.fz"][..]).read_to_end(&mut samples).unwrap();
    let mut expected = [1u64.to_le_bytes(), 100u64.to_le_bytes(), 1u64.to_le_bytes(), 4096u64.to_le_bytes()];
    expected[2][4..].fill(0);
    assert_eq!(samples, expected.concat());
}

#[test]
fn a_packed_log_is_printed_as_if_it_had_not_been_packed() {
    for (offsets, priorities) in [(false, false), (true, false), (false, true), (true, true)] {
        let plain = Logs { latency: Some("z".into()), offsets, priorities, ..logs() };
        let entries =
            || vec![part(0, vec![done(6 * MS, Verb::Write, 10, 90), done(7 * MS, Verb::Trim, 1, 2)])];
        let packed = written(job(Logs { compressed: true, ..plain.clone() }), entries());
        let printed = written(job(plain), entries());
        let found = inflated(&packed["z_lat.3.log.fz"]).unwrap();
        assert_eq!(found, text(&printed, "z_lat.3.log"));
        // Two streams, and half of one.
        let twice = [&packed["z_lat.3.log.fz"][..], &packed["z_lat.3.log.fz"]].concat();
        assert_eq!(inflated(&twice).unwrap(), format!("{found}{found}"));
        assert_eq!(inflated(&twice[..twice.len() - 8]).unwrap().lines().next(), found.lines().next());
    }
    assert!(inflated(b"1, 2, 3\n").unwrap_err().starts_with("it is no compressed log"));
}
