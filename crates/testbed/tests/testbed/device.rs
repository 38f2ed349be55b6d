//! Devices take their programmed times, log what happened, and leave nothing behind.

use crate::raw::{Aligned, mounted_below, open_direct};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use testbed::fuse::{Config, Content, Counts, Device, RequestKind, Service, now_ns};
use testbed::{Case, Need, Outcome, wait};

const BLOCK: u64 = 4096;

pub fn cases() -> Vec<Case> {
    let fuse = &[Need::Fuse];
    vec![
        Case::new("every_read_takes_at_least_its_programmed_time", fuse, constant),
        Case::new("the_floor_and_the_accuracy_at_depth_1", fuse, accuracy),
        Case::new("eight_servers_serve_eight_at_once", fuse, eight_at_once),
        Case::new("direct_writes_of_one_file_are_served_in_parallel", fuse, parallel_writes),
        Case::new("one_server_serves_one_at_a_time_and_the_wait_is_logged", fuse, one_at_a_time),
        Case::new("a_cycle_is_followed_exactly", fuse, cycle),
        Case::new("a_bimodal_device_repeats_itself", fuse, bimodal),
        Case::new("syncs_are_counted_and_cost_their_time", fuse, syncs),
        Case::new("content_is_kept_and_the_size_is_fixed", fuse, content),
        Case::new("a_full_log_says_what_it_dropped", fuse, full_log),
        Case::new("nothing_is_left_after_drop", fuse, dropped),
        Case::new("nothing_is_left_after_drop_while_open", fuse, dropped_while_open),
        Case::new("the_server_ends_with_its_test", fuse, orphaned),
        Case::new("the_binary_writes_its_log_when_terminated", fuse, binary),
    ]
}

/// Reads `count` blocks in turn; what the client saw of each, in ns.
fn read_blocks(device: &Device, count: u64) -> std::io::Result<Vec<u64>> {
    let file = open_direct(device.path())?;
    let mut buffer = Aligned::new(BLOCK as usize);
    let mut seen = Vec::new();
    for index in 0..count {
        let start_ns = now_ns();
        file.read_exact_at(&mut buffer, index * BLOCK)?;
        seen.push(now_ns() - start_ns);
    }
    Ok(seen)
}

fn constant() -> Outcome {
    let device = Device::mount(Config::constant(2_000_000))?;
    let seen = read_blocks(&device, 40)?;
    let log = device.log();
    assert_eq!((log.requests.len(), log.dropped), (40, 0));
    for (index, (request, seen)) in log.requests.iter().zip(seen).enumerate() {
        assert_eq!((request.kind, request.bytes, request.result), (RequestKind::Read, 4096, 4096));
        assert_eq!(request.offset, index as u64 * BLOCK);
        assert_eq!(request.due_ns - request.start_ns, 2_000_000);
        assert!(request.service_ns() >= 2_000_000, "{request:?}");
        assert!(seen >= request.latency_ns(), "the client saw {seen} ns of {request:?}");
    }
    Ok(())
}

/// Asserts only what cannot depend on the machine's load; prints the figures for whoever reads.
fn accuracy() -> Outcome {
    let floor = median_us(read_blocks(&Device::mount(Config::constant(0))?, 2000)?);
    let device = Device::mount(Config::constant(2_000_000))?;
    let seen = median_us(read_blocks(&device, 200)?);
    let logged = median_us(device.log().latencies_ns(RequestKind::Read));
    let overhead = median_us(device.overhead_ns(100)?);
    eprintln!("a plain loop's median overhead: {overhead:.1} µs");
    eprintln!(
        "medians: floor {floor:.1} µs; of 2000 µs the log has {logged:.1} µs, the client saw {seen:.1} µs"
    );
    assert!(logged >= 2000.0 && seen >= logged);
    Ok(())
}

fn median_us(mut times_ns: Vec<u64>) -> f64 {
    times_ns.sort_unstable();
    times_ns[times_ns.len() / 2] as f64 / 1000.0
}

/// The same until so many were in service at once: how many come together is for the machine to say.
fn until_together(device: &Device, threads: u64, kind: RequestKind) -> Outcome {
    let mut moved = Ok(());
    wait::until(&format!("{threads} in service at once"), || {
        moved = together(device, threads, 1, kind);
        moved.is_err() || device.log().overlap_max() == threads as usize
    })?;
    moved
}

/// `threads` threads each move `count` blocks at the same time.
fn together(device: &Device, threads: u64, count: u64, kind: RequestKind) -> Outcome {
    let start_line = std::sync::Barrier::new(threads as usize);
    std::thread::scope(|scope| -> Outcome {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let start_line = &start_line;
                scope.spawn(move || -> std::io::Result<()> {
                    let file = open_direct(device.path())?;
                    let mut buffer = Aligned::new(BLOCK as usize);
                    start_line.wait();
                    (0..count).try_for_each(|index| match kind {
                        RequestKind::Write => file.write_all_at(&buffer, (thread * count + index) * BLOCK),
                        _ => file.read_exact_at(&mut buffer, (thread * count + index) * BLOCK),
                    })
                })
            })
            .collect();
        for worker in workers {
            worker.join().expect("a worker panicked")?;
        }
        Ok(())
    })
}

fn eight_at_once() -> Outcome {
    let device = Device::mount(Config { parallelism: 8, ..Config::constant(30_000_000) })?;
    until_together(&device, 8, RequestKind::Read)?;
    let log = device.log();
    assert_eq!(log.overlap_max(), 8);
    assert!(log.requests.iter().all(|request| request.start_ns == request.arrival_ns), "none had to wait");
    Ok(())
}

fn parallel_writes() -> Outcome {
    let device = Device::mount(Config { parallelism: 4, ..Config::constant(30_000_000) })?;
    until_together(&device, 4, RequestKind::Write)?;
    assert_eq!(device.log().overlap_max(), 4);
    Ok(())
}

/// Each begins when it has come and the one before is over, whichever is later, and some have had to wait.
fn one_at_a_time() -> Outcome {
    let device = Device::mount(Config { parallelism: 1, ..Config::constant(5_000_000) })?;
    let waits = |device: &Device| device.log().of(RequestKind::Read).any(|one| one.start_ns > one.arrival_ns);
    let mut read = Ok(());
    wait::until("a request that has to wait", || {
        read = together(&device, 4, 3, RequestKind::Read);
        read.is_err() || waits(&device)
    })?;
    read?;
    let mut requests = device.log().requests;
    requests.sort_by_key(|request| request.start_ns);
    assert!(requests.windows(2).all(|pair| pair[1].start_ns == pair[1].arrival_ns.max(pair[0].due_ns)));
    assert!(requests.iter().all(|request| request.due_ns - request.start_ns == 5_000_000));
    assert_eq!(device.log().overlap_max(), 1);
    Ok(())
}

fn programmed(device: &Device) -> Vec<u64> {
    device.log().of(RequestKind::Read).map(|request| request.due_ns - request.start_ns).collect()
}

fn cycle() -> Outcome {
    let read = Service::Cycle(vec![100_000, 200_000, 3_000_000]);
    let device = Device::mount(Config { read, ..Config::default() })?;
    read_blocks(&device, 7)?;
    assert_eq!(programmed(&device), [100_000, 200_000, 3_000_000, 100_000, 200_000, 3_000_000, 100_000]);
    Ok(())
}

fn bimodal() -> Outcome {
    let read = Service::Bimodal { a_ns: 20_000, b_ns: 60_000, b_percent: 25, seed: 7 };
    let device = Device::mount(Config { read, ..Config::default() })?;
    read_blocks(&device, 400)?;
    let first = programmed(&device);
    let slow = first.iter().filter(|ns| **ns == 60_000).count();
    assert!(first.iter().all(|ns| [20_000, 60_000].contains(ns)));
    assert!((60..=140).contains(&slow), "{slow} of 400 instead of about 100");
    device.reset();
    read_blocks(&device, 400)?;
    assert_eq!(programmed(&device), first);
    Ok(())
}

fn syncs() -> Outcome {
    let device = Device::mount(Config { sync_ns: 3_000_000, ..Config::default() })?;
    let file = open_direct(device.path())?;
    file.write_all_at(&Aligned::new(8192), 0)?;
    file.sync_all()?;
    file.sync_data()?;
    file.sync_data()?;
    let expected =
        Counts { reads: 0, writes: 1, syncs: 3, data_syncs: 2, read_bytes: 0, written_bytes: 8192 };
    assert_eq!(device.counts(), expected);
    assert!(device.log().of(RequestKind::Sync).all(|request| request.service_ns() >= 3_000_000));
    Ok(())
}

fn content() -> Outcome {
    let config = Config { bytes: 1 << 20, content: Content::Random(3), ..Config::default() };
    let device = Device::mount(config)?;
    let file = open_direct(device.path())?;
    assert_eq!(file.metadata()?.len(), 1 << 20);
    file.set_len(0)?;
    assert_eq!(file.metadata()?.len(), 1 << 20);
    let (mut first, mut second) = (Aligned::new(4096), Aligned::new(4096));
    file.read_exact_at(&mut first, 0)?;
    file.read_exact_at(&mut second, 4096)?;
    assert!(first[..] != second[..] && first.iter().any(|byte| *byte != first[0]));
    file.write_all_at(&Aligned::filled(4096, 0xA5), 4096)?;
    file.read_exact_at(&mut second, 4096)?;
    assert!(second.iter().all(|byte| *byte == 0xA5));
    let mut media = vec![0; 4096];
    device.media()?.read_exact_at(&mut media, 4096)?;
    assert_eq!(media, second[..]);
    assert_eq!(file.read_at(&mut first, 1 << 20)?, 0, "reads end where the device ends");
    let beyond = file.write_at(&first, 1 << 20).map_err(|error| error.raw_os_error());
    assert_eq!(beyond, Err(Some(libc::ENOSPC)));
    Ok(())
}

fn full_log() -> Outcome {
    let device = Device::mount(Config { log_capacity: 5, ..Config::default() })?;
    read_blocks(&device, 8)?;
    let log = device.take_log();
    assert_eq!((log.requests.len(), log.dropped), (5, 3));
    assert_eq!((device.log(), device.counts()), (Default::default(), Default::default()));
    read_blocks(&device, 2)?;
    assert_eq!(device.log().requests.len(), 2);
    Ok(())
}

fn dropped() -> Outcome {
    let device = Device::mount(Config::default())?;
    let (directory, pid) = (device.directory().to_path_buf(), device.server_pid());
    assert!(mounted_below(&directory));
    drop(device);
    gone(&directory, pid)
}

fn dropped_while_open() -> Outcome {
    let device = Device::mount(Config::constant(1_000_000))?;
    let (directory, pid) = (device.directory().to_path_buf(), device.server_pid());
    let file = open_direct(device.path())?;
    drop(device);
    let read = file.read_at(&mut Aligned::new(4096), 0).map_err(|error| error.raw_os_error());
    assert_eq!(read, Err(Some(libc::ENOTCONN)));
    gone(&directory, pid)
}

fn gone(directory: &std::path::Path, pid: u32) -> Outcome {
    assert!(!mounted_below(directory));
    assert!(!directory.exists());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    Ok(())
}

/// A server whose standard input closes unmounts by itself: nobody else is left to do it when a test was killed.
fn orphaned() -> Outcome {
    let home = tempfile::tempdir()?;
    let mountpoint = home.path().join("mnt");
    std::fs::create_dir(&mountpoint)?;
    let mut order = testbed::fuse::order_for(Config::default(), mountpoint.clone(), home.path(), None);
    order.tied_to_stdin = true;
    order.home = Some(home.path().to_path_buf());
    let path = home.path().join("order.json");
    std::fs::write(&path, serde_json::to_vec(&order)?)?;
    let mut server = Command::new(env!("CARGO_BIN_EXE_testbed-device"))
        .env("TESTBED_DEVICE", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    wait_for_ready(&mut server)?;
    assert!(mounted_below(&mountpoint));
    drop(server.stdin.take());
    assert!(server.wait()?.success());
    assert!(!mounted_below(&mountpoint) && !home.path().exists());
    Ok(())
}

fn wait_for_ready(server: &mut std::process::Child) -> Outcome {
    use std::io::BufRead;
    let mut line = String::new();
    let stdout = server.stdout.as_mut().ok_or("no pipe")?;
    std::io::BufReader::new(stdout).read_line(&mut line)?;
    assert_eq!(line, "ready\n");
    Ok(())
}

fn binary() -> Outcome {
    let home = tempfile::tempdir()?;
    let (mountpoint, report) = (home.path().join("mnt"), home.path().join("log.jsonl"));
    std::fs::create_dir(&mountpoint)?;
    let mut server = Command::new(env!("CARGO_BIN_EXE_testbed-device"))
        .arg(r#"{"bytes": 1048576, "read": {"constant": 1000000}}"#)
        .args([&mountpoint, &report])
        .stdout(Stdio::piped())
        .spawn()?;
    wait_for_ready(&mut server)?;
    let mut buffer = Aligned::new(4096);
    open_direct(&mountpoint.join("device"))?.read_exact_at(&mut buffer, 8192)?;
    // SAFETY: plain integers; the process is our child and not yet waited for.
    unsafe { libc::kill(server.id() as i32, libc::SIGTERM) };
    assert!(server.wait()?.success());
    assert!(!mounted_below(&mountpoint));
    let lines = std::fs::read_to_string(&report)?;
    let request: serde_json::Value = serde_json::from_str(lines.trim())?;
    assert_eq!((&request["kind"], &request["offset"]), (&"read".into(), &8192.into()));
    Ok(())
}
