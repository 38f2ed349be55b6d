//! A loop device under the tracer. The tracer is the machine's: a case that finds it in use is skipped.

use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use iodyno_model::Verb;
use iodyno_recorder::device::DeviceTrace;
use iodyno_trace::MemorySource;
use iodyno_trace::import::{ImportOptions, Input, import};
use testbed::sandbox::LoopDevice;
use testbed::{Case, Need, Outcome, Skip};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "requests_of_a_device_are_recorded_and_the_tracer_is_put_back",
            &[Need::Root, Need::Loop],
            requests,
        )
        .alone(),
        Case::new("what_is_no_device_is_refused", &[], refused),
    ]
}

fn begin(path: &Path) -> Result<DeviceTrace, Skip> {
    DeviceTrace::begin(path).map_err(|error| Skip::new(error.to_string()))
}

const BLOCK: usize = 64 << 10;
const BLOCKS: usize = 8;

fn requests() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let trace = begin(device.path())?;
    let again = DeviceTrace::begin(device.path()).err().expect("it is being traced");
    assert_eq!(again.to_string(), "it is being traced already");
    assert_eq!(trace.bytes, Some(16 << 20));
    let is_over = Arc::new(AtomicBool::new(false));
    let look = Arc::clone(&is_over);
    let mut events = trace.events(Box::new(move || look.load(SeqCst)))?;
    let mut file = File::options().write(true).open(device.path())?;
    for _ in 0..BLOCKS {
        file.write_all(&vec![0x5a; BLOCK])?;
        file.sync_data()?;
    }
    is_over.store(true, SeqCst);
    let mut bytes = Vec::new();
    events.read_to_end(&mut bytes)?;
    let enable = format!("/sys/dev/block/{}:{}/trace/enable", trace.device.0, trace.device.1);
    assert_eq!(trace.end()?, 0);
    assert_eq!(fs::read_to_string(enable)?.trim(), "0");
    let input = Input {
        name: "tracer".into(),
        open: Box::new(move || Ok(Box::new(Cursor::new(bytes.clone())))),
        is_seekable: true,
    };
    let trace = MemorySource::of(&mut import(&[input], &ImportOptions::default())?)?;
    let writes: Vec<_> = trace.records.iter().filter(|record| record.verb == Verb::Write).collect();
    assert_eq!(writes.iter().map(|write| write.bytes).sum::<u64>(), (BLOCK * BLOCKS) as u64);
    assert!(writes.iter().all(|write| write.latency_ns.is_some()), "{writes:?}");
    let mut offsets: Vec<u64> = writes.iter().map(|write| write.offset).collect();
    offsets.sort_unstable();
    assert_eq!((offsets[0], offsets.len() >= BLOCKS), (0, true));
    // Whoever comes next has the tracer.
    drop(begin(device.path())?);
    Ok(())
}

fn refused() -> Outcome {
    let wrong = DeviceTrace::begin(Path::new("/dev/null")).err().expect("no block device");
    assert_eq!(wrong.to_string(), "it is no block device");
    assert!(wrong.hint.is_some());
    assert!(DeviceTrace::begin(Path::new("/dev/no-such-device")).is_err());
    Ok(())
}
