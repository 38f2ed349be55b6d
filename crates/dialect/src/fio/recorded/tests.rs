//! Both formats, their playing back, and what is left of them when they are mangled.

use super::*;

fn how() -> How {
    How {
        redirect: None,
        scale: 0,
        align: 0,
        speed_percent: 100.0,
        no_stall: false,
        skip: [false; 4],
        readonly: false,
    }
}

fn parsed(text: &[u8], how: &How) -> Result<Recording, String> {
    read(text, how, &mut |major, minor| (major == 8).then(|| format!("/dev/sd{minor}")))
}

/// Time (µs), verb, target, offset, bytes.
fn told(recording: &Recording) -> Vec<(u64, Verb, usize, u64, u64)> {
    let one = |entry: &TraceEntry| (entry.at_ns / 1000, entry.verb, entry.target, entry.offset, entry.bytes);
    recording.entries.iter().map(one).collect()
}

const SECOND: &[u8] = b"fio version 2 iolog\na add\nb add\na open\na read 0 4096\nb open\nx wait 300 0\n\
    b write 1000 512\na sync 0 0\nb trim 512 512\na nonsense\nwhat is this line\na close\n";

const THIRD: &[u8] =
    b"fio version 3 iolog\n1000 a add\n1000 a open\n2000 a read 0 4096\n102000 a read 9000 4096\n\
    102500 a datasync 0 0\n102600 a close\n";

#[test]
fn version_2_waits_from_the_start() {
    let recording = parsed(SECOND, &how()).unwrap();
    assert_eq!((recording.timing, recording.files.len()), (Timing::NoEarlier, 2));
    let expected = [
        (0, Verb::Read, 0, 0, 4096),
        (300_000, Verb::Write, 1, 1000, 512),
        (300_000, Verb::Fsync, 0, 0, 0),
        (300_000, Verb::Discard, 1, 512, 512),
    ];
    assert_eq!(told(&recording), expected);
    assert_eq!(recording.notes.len(), 2);
}

#[test]
fn version_3_keeps_the_time_between_starts() {
    let recording = parsed(THIRD, &how()).unwrap();
    let times: Vec<u64> = told(&recording).iter().map(|entry| entry.0).collect();
    assert_eq!((recording.timing, times), (Timing::Gaps, vec![2000, 100_000, 500]));
    let faster = parsed(THIRD, &How { speed_percent: 200.0, align: 4096, scale: 2, ..how() }).unwrap();
    assert_eq!(told(&faster)[1], (50_000, Verb::Read, 0, 4096, 4096));
    let plain = parsed(THIRD, &How { no_stall: true, ..how() }).unwrap();
    assert!(plain.timing == Timing::AsFast && told(&plain).iter().all(|entry| entry.0 == 0));
    // What is left out leaves its time to the next.
    let fewer = parsed(THIRD, &How { skip: [true, false, false, false], ..how() }).unwrap();
    assert_eq!(told(&fewer), [(102_500, Verb::Fdatasync, 0, 0, 0)]);
}

#[test]
fn several_files_become_one_and_writes_are_left_out() {
    let one = parsed(SECOND, &How { redirect: Some("c".into()), ..how() }).unwrap();
    assert_eq!((one.files.as_slice(), one.entries.len()), (["c".to_string()].as_slice(), 4));
    let readonly = parsed(SECOND, &How { readonly: true, ..how() }).unwrap();
    assert_eq!((readonly.entries.len(), readonly.forbidden), (2, 2));
}

#[test]
fn what_would_crash_is_refused() {
    for (text, why) in [
        ("fio version 2 iolog\na add\na read 0 4096\n", "opens"),
        ("fio version 2 iolog\nz open\n", "adds"),
        ("fio version 2 iolog\na add\na open\na close\n", "nothing"),
        ("fio version 1 iolog\na add\n", "versions 2 and 3"),
        ("", "neither"),
        ("fio version 3 iolog\n0 a add\n0 a open\n5 a wait 3 0\n", "wait"),
    ] {
        let said = parsed(text.as_bytes(), &how()).unwrap_err();
        assert!(said.contains(why), "{text}: {said}");
    }
}

fn record(big: bool, time_ns: u64, place: (u64, u32), action: u32, data: &[u8]) -> Vec<u8> {
    let short = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let long = |number: u64| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let mut out = Vec::new();
    [0x6561_7407, 1].iter().for_each(|number| out.extend(short(*number)));
    [time_ns, place.0].iter().for_each(|number| out.extend(long(*number)));
    [place.1, action, 1, 8 << 20 | 3, 0].iter().for_each(|number| out.extend(short(*number)));
    let length = data.len() as u16;
    out.extend([0, 0]);
    out.extend(if big { length.to_be_bytes() } else { length.to_le_bytes() });
    out.extend(data);
    out
}

fn trace(big: bool) -> Vec<u8> {
    [
        record(big, 0, (0, 0), 1 << 26, b"note"),
        record(big, 1000, (8, 4096), 1 << 16 | 1, b""),
        record(big, 50_001_000, (16, 8192), 2 << 16 | 1, b"x"),
        record(big, 50_002_000, (16, 8192), 2 << 16 | 8, b""),
        record(big, 100_001_000, (32, 1000), (1 << 13 | 2) << 16 | 1, b""),
        record(big, 100_001_000, (0, 0), (4 | 2) << 16 | 1, b""),
    ]
    .concat()
}

#[test]
fn blktraces_of_both_byte_orders_are_read() {
    let expected = [
        (0, Verb::Read, 0, 4096, 4096),
        (50_000, Verb::Write, 0, 8192, 8192),
        (50_000, Verb::Discard, 0, 16_384, 1024),
        (0, Verb::Fsync, 0, 0, 0),
    ];
    for big in [false, true] {
        let recording = parsed(&trace(big), &How { align: 512, ..how() }).unwrap();
        assert_eq!(told(&recording), expected);
        assert_eq!((recording.files[0].as_str(), recording.depth), ("/dev/sd3", Some(1)));
    }
    let nowhere = read(&trace(false), &how(), &mut |_, _| None).unwrap_err();
    assert!(nowhere.contains("8:3"), "{nowhere}");
}

#[test]
fn mangled_recordings_never_panic() {
    let mut state = 1_u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most.max(1)
    };
    for whole in [SECOND.to_vec(), THIRD.to_vec(), trace(false), trace(true)] {
        for length in 0..whole.len() {
            let _ = parsed(&whole[..length], &how());
        }
        for _ in 0..2000 {
            let mut mangled = whole.clone();
            for _ in 0..=draw(4) {
                let at = draw(mangled.len());
                mangled[at] = draw(256) as u8;
            }
            let odd = How { align: draw(3) as u64 * 512, scale: draw(4) as u64, ..how() };
            let _ = parsed(&mangled, &odd);
        }
    }
    let long = format!("fio version 3 iolog\n{0} a add\n{0} a open\n{0} a read {0} {0}\n", u64::MAX);
    assert!(parsed(long.as_bytes(), &how()).is_err());
}
