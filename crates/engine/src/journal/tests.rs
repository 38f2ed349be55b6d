//! Journals: what is put in comes out, in order and in parts, and a full one is a clear failure.

use super::*;

fn job(wants: Journal) -> Job {
    let pattern = iodyno_model::Pattern::of(Verb::Read, iodyno_model::Pick::Uniform, 4096);
    let mut job = Job::new("j", "null", vec![], iodyno_model::Workload::Pattern(Box::new(pattern)));
    job.measure.journal = Some(wants);
    job
}

fn io(verb: Verb, offset: u64, started: Tick) -> Io {
    Io { verb, offset, bytes: 4096, started, ..Io::default() }
}

/// What a worker that does `work` writes down.
fn written(wants: Journal, work: impl Fn(&mut WorkerJournal<'_>)) -> Vec<JournalEntry> {
    let journals = Journals::new(2, 1 << 30).unwrap();
    let published = AtomicU64::new(0);
    let job = job(wants.clone());
    let mut journal = WorkerJournal::new(journals.writer(1, &published), &wants, &job, 1000);
    work(&mut journal);
    assert!(journal.failure().is_none());
    let mut reader = Reader::default();
    let mut all = Vec::new();
    loop {
        let entries = reader.entries(&journals, 1, &published, 1000, 1000).unwrap();
        if entries.is_empty() {
            return all;
        }
        assert!(entries.len() <= 1000);
        all.extend(entries);
    }
}

#[test]
fn many_entries_come_back_in_order() {
    let wants = Journal { completions: true, starts: true, ..Journal::default() };
    let count = 300_000;
    let entries = written(wants, |journal| {
        for n in 0..count {
            let io = io(Verb::Write, n * 4096, 1000 + n * 10);
            journal.began(&io);
            journal.done(&io, 4096, io.started + 2, io.started + 9);
        }
    });
    assert_eq!(entries.len() as u64, 2 * count);
    for (n, pair) in entries.chunks(2).enumerate() {
        let n = n as u64;
        let (at_ns, offset) = (n * 10, n * 4096);
        let began = JournalEntry::Began { at_ns, verb: Verb::Write, file: 0, offset, bytes: 4096 };
        let done = JournalEntry::Done {
            at_ns: at_ns + 9,
            verb: Verb::Write,
            file: 0,
            offset,
            bytes: 4096,
            submission_ns: 2,
            completion_ns: 7,
            latency_ns: 9,
            priority: 0,
        };
        assert_eq!(pair, [began, done]);
    }
}

#[test]
fn windows_sum_up_and_the_last_is_not_lost() {
    let wants = Journal { window_ns: 100, histogram_ns: 1000, ..Journal::default() };
    let entries = written(wants, |journal| {
        for n in 0..25 {
            let io = io(Verb::Read, 0, 1000 + n * 10);
            journal.done(&io, 512, io.started + 1, io.started + 5);
        }
        journal.close(1250);
    });
    let window = |at_ns, length_ns, operations| JournalEntry::Window {
        at_ns,
        kind: Kind::Read,
        length_ns,
        operations,
        bytes: operations * 512,
        submission_ns: (operations, 1),
        completion_ns: (operations * 4, 4),
        latency_ns: (operations * 5, 5),
    };
    assert_eq!(entries[..3], [window(100, 100, 10), window(200, 100, 10), window(250, 50, 5)]);
    let JournalEntry::Distribution { at_ns, kind, completion } = &entries[3] else { panic!("{entries:?}") };
    assert_eq!((*at_ns, *kind, completion.count(), completion.max), (250, Kind::Read, 25, 4));
    assert_eq!(entries.len(), 4);
}

#[test]
fn the_intended_start_counts_where_the_pace_is_open_loop() {
    let wants = Journal { completions: true, ..Journal::default() };
    let entries = written(wants, |journal| {
        let io = Io { flags: PACED, intended: 1000, ..io(Verb::Read, 0, 1500) };
        journal.done(&io, 4096, 1600, 1800);
    });
    let JournalEntry::Done { submission_ns, completion_ns, latency_ns, .. } = entries[0] else { panic!() };
    assert_eq!((submission_ns, completion_ns, latency_ns), (100, 200, 800));
}

#[test]
fn what_was_read_is_given_back_and_a_full_journal_says_so() {
    let journals = Journals::new(1, 1 << 20).unwrap();
    let published = AtomicU64::new(0);
    let wants = Journal { completions: true, ..Journal::default() };
    let job = job(wants.clone());
    let mut journal = WorkerJournal::new(journals.writer(0, &published), &wants, &job, 0);
    let mut reader = Reader::default();
    for n in 0..200_000 {
        journal.done(&io(Verb::Read, n, n), 4096, n, n + 1);
        if n % 1000 == 0 {
            reader.entries(&journals, 0, &published, 0, usize::MAX).unwrap();
        }
    }
    assert!(journal.failure().is_none(), "{:?}", journal.failure());
    for n in 0..200_000 {
        journal.done(&io(Verb::Read, n, n), 4096, n, n + 1);
    }
    let failure = journal.failure().unwrap();
    assert!(failure.message.contains("limit of 1 MiB") && failure.hint.is_some(), "{failure:?}");
}
