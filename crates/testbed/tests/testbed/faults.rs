//! Every fault does what it says, to the request that it names, and to no other.

use crate::raw::{Aligned, open_direct};
use std::fs::File;
use std::os::unix::fs::FileExt;
use testbed::fuse::{Config, Device, Fault, Pick, RequestKind};
use testbed::{Case, Need, Outcome, Skip, wait};

const BLOCK: usize = 4096;

pub fn cases() -> Vec<Case> {
    let fuse = &[Need::Fuse];
    vec![
        Case::new("an_error_meets_the_nth_request_only", fuse, error),
        Case::new("a_short_transfer_says_so", fuse, short),
        Case::new("a_stall_takes_its_time", fuse, stall),
        Case::new("a_freeze_holds_everybody_up", fuse, freeze),
        Case::new("a_bit_flips_on_read", fuse, flip_on_read),
        Case::new("a_bit_flips_on_write", fuse, flip_on_write),
        Case::new("a_lost_write_is_acknowledged", fuse, lost),
        Case::new("a_stale_block_keeps_its_first_write", fuse, stale),
        Case::new("a_torn_write_ends_early", fuse, torn),
        Case::new("a_misdirected_write_lands_elsewhere", fuse, misdirected),
        Case::new("swapped_blocks_read_exchanged", fuse, swapped),
        Case::new("space_runs_out", fuse, space),
        Case::new("an_fsync_can_fail", fuse, failing_sync),
    ]
}

fn staged(faults: Vec<Fault>) -> Result<(Device, File), Box<dyn std::error::Error>> {
    let device = Device::mount(Config { bytes: 1 << 20, ..Config::faulty(faults) })?;
    let file = open_direct(device.path())?;
    Ok((device, file))
}

fn write(file: &File, block: usize, with: u8) -> std::io::Result<()> {
    file.write_all_at(&Aligned::filled(BLOCK, with), (block * BLOCK) as u64)
}

fn read(file: &File, block: usize) -> std::io::Result<Vec<u8>> {
    let mut buffer = Aligned::new(BLOCK);
    file.read_exact_at(&mut buffer, (block * BLOCK) as u64)?;
    Ok(buffer.to_vec())
}

fn all(byte: u8) -> Vec<u8> {
    vec![byte; BLOCK]
}

fn error() -> Outcome {
    let on_third = Fault::Error { on: RequestKind::Read, pick: Pick::Nth(3), errno: libc::EIO };
    let at_block_9 = Fault::Error { on: RequestKind::Write, pick: Pick::At(9 * 4096), errno: libc::EROFS };
    let (device, file) = staged(vec![on_third, at_block_9])?;
    let errors: Vec<_> =
        (0..5).map(|block| read(&file, block).err().and_then(|e| e.raw_os_error())).collect();
    assert_eq!(errors, [None, None, Some(libc::EIO), None, None]);
    assert_eq!(device.log().requests[2].result, -libc::EIO);
    assert_eq!(write(&file, 9, 1).map_err(|e| e.raw_os_error()), Err(Some(libc::EROFS)));
    write(&file, 8, 1)?;
    assert_eq!(read(&file, 9)?, all(0));
    Ok(())
}

fn short() -> Outcome {
    let reads = Fault::Short { on: RequestKind::Read, pick: Pick::Nth(1), bytes: 512 };
    let writes = Fault::Short { on: RequestKind::Write, pick: Pick::Nth(2), bytes: 1024 };
    let (device, file) = staged(vec![reads, writes])?;
    let mut buffer = Aligned::filled(BLOCK, 7);
    assert_eq!(file.read_at(&mut buffer, 0)?, 512);
    assert_eq!(file.read_at(&mut buffer, 0)?, BLOCK);
    buffer.fill(7);
    assert_eq!(file.write_at(&buffer, 0)?, BLOCK);
    assert_eq!(file.write_at(&buffer, 8192)?, 1024);
    assert_eq!(read(&file, 2)?, [vec![7; 1024], vec![0; 3072]].concat());
    assert_eq!(device.log().requests[0].result, 512);
    Ok(())
}

fn stall() -> Outcome {
    let stall = Fault::Stall { on: RequestKind::Read, pick: Pick::Nth(2), ns: 40_000_000 };
    let (device, file) = staged(vec![stall])?;
    (0..3).try_for_each(|block| read(&file, block).map(drop))?;
    let programmed: Vec<_> = device.log().requests.iter().map(|r| r.due_ns - r.start_ns).collect();
    assert_eq!(programmed, [0, 40_000_000, 0]);
    assert!(device.log().requests[1].service_ns() >= 40_000_000);
    Ok(())
}

/// Whoever comes while it stands still begins when it goes on; on a starved machine the second may come after that.
fn freeze() -> Outcome {
    let freeze = Fault::Freeze { on: RequestKind::Read, pick: Pick::At(0), ns: 200_000_000 };
    let (device, file) = staged(vec![freeze])?;
    std::thread::scope(|scope| -> Outcome {
        let frozen = scope.spawn(|| read(&file, 0).map(drop));
        wait::until("the first read on the device", || device.counts().reads > 0)?;
        read(&file, 5)?;
        Ok(frozen.join().expect("no panic")?)
    })?;
    let log = device.log();
    let [first, second] = &log.requests[..] else { panic!("{log:?}") };
    let (first, second) = if first.offset == 0 { (first, second) } else { (second, first) };
    assert_eq!(second.start_ns, first.due_ns.max(second.arrival_ns), "the device stood still: {log:?}");
    match second.arrival_ns.checked_sub(first.due_ns) {
        None => Ok(()),
        Some(late) => {
            Err(Skip::new(format!("the second read came {late} ns after the freeze of 200 ms")).into())
        }
    }
}

fn flip_on_read() -> Outcome {
    let flip = Fault::FlipBit { on: RequestKind::Read, offset: 4096 + 100, bit: 3 };
    let (device, file) = staged(vec![flip])?;
    (0..3).try_for_each(|block| write(&file, block, 0xFF))?;
    let mut bad = all(0xFF);
    bad[100] = 0xF7;
    assert_eq!((read(&file, 0)?, read(&file, 1)?, read(&file, 2)?), (all(0xFF), bad, all(0xFF)));
    let mut byte = [0];
    device.media()?.read_exact_at(&mut byte, 4196)?;
    assert_eq!(byte, [0xFF], "the media itself is good");
    Ok(())
}

fn flip_on_write() -> Outcome {
    let flip = Fault::FlipBit { on: RequestKind::Write, offset: 4095, bit: 0 };
    let (device, file) = staged(vec![flip])?;
    write(&file, 0, 0)?;
    let mut byte = [0];
    device.media()?.read_exact_at(&mut byte, 4095)?;
    assert_eq!((byte, read(&file, 0)?[4095]), ([1], 1));
    Ok(())
}

fn lost() -> Outcome {
    let (device, file) = staged(vec![Fault::Lost { pick: Pick::Nth(2) }])?;
    (0..3).try_for_each(|block| write(&file, block, 9))?;
    assert_eq!((read(&file, 0)?, read(&file, 1)?, read(&file, 2)?), (all(9), all(0), all(9)));
    assert_eq!(device.counts().written_bytes, 3 * 4096);
    Ok(())
}

fn stale() -> Outcome {
    let (device, file) = staged(vec![Fault::Stale { offset: 4096 }])?;
    for generation in 1..=2 {
        (0..3).try_for_each(|block| write(&file, block, generation))?;
    }
    assert_eq!((read(&file, 0)?, read(&file, 1)?, read(&file, 2)?), (all(2), all(1), all(2)));
    write(&file, 1, 3)?;
    assert_eq!(read(&file, 1)?, all(3), "only the second one is dropped");
    device.reset();
    (4..=5).try_for_each(|generation| write(&file, 1, generation))?;
    assert_eq!(read(&file, 1)?, all(4), "a reset counts anew");
    Ok(())
}

fn torn() -> Outcome {
    let (_device, file) = staged(vec![Fault::Torn { pick: Pick::At(8192), sectors: 3 }])?;
    (1..4).try_for_each(|block| write(&file, block, 5))?;
    assert_eq!((read(&file, 1)?, read(&file, 3)?), (all(5), all(5)));
    assert_eq!(read(&file, 2)?, [vec![5; 1536], vec![0; 2560]].concat());
    Ok(())
}

fn misdirected() -> Outcome {
    let (_device, file) = staged(vec![Fault::Misdirected { from: 4096, to: 40960 }])?;
    (0..3).try_for_each(|block| write(&file, block, 6))?;
    assert_eq!((read(&file, 0)?, read(&file, 1)?, read(&file, 2)?), (all(6), all(0), all(6)));
    assert_eq!((read(&file, 10)?, read(&file, 11)?), (all(6), all(0)));
    Ok(())
}

fn swapped() -> Outcome {
    let (_device, file) = staged(vec![Fault::Swapped { a: 4096, b: 12288, bytes: 4096 }])?;
    (0..4).try_for_each(|block| write(&file, block, block as u8))?;
    let found: Vec<u8> =
        (0..4).map(|block| read(&file, block).map(|data| data[0])).collect::<Result<_, _>>()?;
    assert_eq!(found, [0, 3, 2, 1]);
    let mut whole = Aligned::new(4 * BLOCK);
    file.read_exact_at(&mut whole, 0)?;
    assert_eq!(whole[..], [all(0), all(3), all(2), all(1)].concat());
    Ok(())
}

fn space() -> Outcome {
    let config = Config { bytes: 1 << 20, space_bytes: Some(10_000), ..Config::default() };
    let device = Device::mount(config)?;
    let file = open_direct(device.path())?;
    let buffer = Aligned::filled(BLOCK, 1);
    let written: Vec<_> = (0..4)
        .map(|block| file.write_at(&buffer, block * 4096).map_err(|error| error.raw_os_error()))
        .collect();
    assert_eq!(written, [Ok(4096), Ok(4096), Ok(1808), Err(Some(libc::ENOSPC))]);
    Ok(())
}

fn failing_sync() -> Outcome {
    let fault = Fault::Error { on: RequestKind::Sync, pick: Pick::Nth(2), errno: libc::EIO };
    let (_device, file) = staged(vec![fault])?;
    file.sync_all()?;
    assert_eq!(file.sync_all().map_err(|error| error.raw_os_error()), Err(Some(libc::EIO)));
    file.sync_all()?;
    Ok(())
}
