//! Binary block traces that the kernel makes on the spot, beside what blkparse says of them.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use iodyno_recorder::tracefs::{Tracefs, read_available};
use testbed::sandbox::LoopDevice;
use testbed::{Case, Need, Outcome, Skip};

use crate::import::{records, trace};
use crate::program::{scratch, told};

pub fn cases() -> Vec<Case> {
    let needs = &[Need::Root, Need::Loop, Need::Tool("blkparse"), Need::That(tracer)];
    vec![
        Case::new("import_agrees_with_blkparse_on_a_trace_of_the_kernel", needs, agrees_with_blkparse)
            .alone(),
        Case::new("fio_merges_block_traces_and_plays_them_back", &[], merges_for_fio),
    ]
}

/// The kernel's block tracer, which nobody else uses now.
fn tracer() -> Result<(), Skip> {
    let tracefs = Tracefs::open().map_err(|error| Skip::new(error.to_string()))?;
    if !tracefs.has_tracer("blk") {
        return Err(Skip::new("the kernel has no blk tracer"));
    }
    match tracefs.global().read("current_tracer") {
        Ok(name) if name.trim() == "nop" => Ok(()),
        Ok(name) => Err(Skip::new(format!("the tracer {} is in use", name.trim()))),
        Err(error) => Err(Skip::new(error.to_string())),
    }
}

/// Writes, reads and flushes, past the page cache.
fn load(device: &Path) -> std::io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(device)?;
    let mut room = vec![0_u8; 64 << 10];
    let start = room.as_ptr().align_offset(4096);
    for step in 0..64_u64 {
        let bytes = 4096 << (step % 4);
        let block = &mut room[start..start + bytes as usize];
        let offset = step * 37 % 256 * 4096;
        match step % 3 {
            0 => file.write_all_at(block, offset)?,
            1 => drop(file.read_at(block, offset)?),
            _ => {
                file.write_all_at(block, offset)?;
                file.sync_all()?;
            }
        }
    }
    Ok(())
}

fn recorded(home: &Path, device: &LoopDevice) -> Result<usize, Box<dyn std::error::Error>> {
    let tracefs = Tracefs::open()?;
    let mut buffer = tracefs.global();
    // What others left in it, and how much of that was lost.
    buffer.set("buffer_size_kb", "4096")?;
    buffer.write("trace", "")?;
    buffer.set("current_tracer", "blk")?;
    buffer.set_option("context-info", false)?;
    buffer.set_option("bin", true)?;
    let name = device.path().file_name().expect("a device").to_string_lossy().into_owned();
    let enable = format!("/sys/block/{name}/trace/enable");
    buffer.set_outside(Path::new(&enable), "1")?;
    load(device.path())?;
    fs::write(&enable, "0")?;
    let mut files = 0;
    for cpu in 0.. {
        let pipe = buffer.path(&format!("per_cpu/cpu{cpu}/trace_pipe"));
        if !pipe.exists() {
            break;
        }
        let mut pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(pipe)?;
        let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
        loop {
            match read_available(&mut pipe, &mut chunk)? {
                0 => break,
                count => bytes.extend_from_slice(&chunk[..count]),
            }
        }
        if !bytes.is_empty() {
            fs::write(home.join(format!("x.blktrace.{cpu}")), bytes)?;
            files += 1;
        }
    }
    buffer.restore()?;
    Ok(files)
}

fn agrees_with_blkparse() -> Outcome {
    let home = scratch();
    let home = home.path();
    let device = LoopDevice::new(4 << 20)?;
    assert!(recorded(home, &device)? > 0, "the tracer gave nothing");
    let inputs: Vec<String> =
        crate::program::names(home).into_iter().filter(|name| name.starts_with("x.blktrace")).collect();
    let mut words = vec!["import", "-o", "t.iot"];
    words.extend(inputs.iter().map(String::as_str));
    trace(home, &words).expect(0, &["from blktrace 7"]);
    let mut command = std::process::Command::new("blkparse");
    command.args(["-i", "x", "-o", "text"]).current_dir(home);
    let parsed = told(command);
    assert_eq!(parsed.code(), 0, "{}", parsed.all());
    trace(home, &["import", "text", "-o", "u.iot"]).expect(0, &["from blkparse text"]);
    let ours = records(home, "t.iot");
    // The names of processes are in the text alone, before the records.
    assert_eq!(ours, records(home, "u.iot"));
    let merged = {
        let mut command = std::process::Command::new("blkparse");
        command.args(["-i", "x", "-d", "merged", "-O"]).current_dir(home);
        told(command)
    };
    assert_eq!(merged.code(), 0, "{}", merged.all());
    trace(home, &["import", "merged", "-o", "m.iot"]).expect(0, &["from blktrace 7"]);
    assert_eq!(ours, records(home, "m.iot"));
    let count =
        |verb: &str| ours.iter().filter(|line| line.split_whitespace().any(|word| word == verb)).count();
    assert_eq!(count("read"), 21, "{ours:#?}");
    assert!(count("write") >= 43 && count("fsync") >= 21, "{ours:#?}");
    Ok(())
}

/// A blktrace of requests that were queued: times and sectors.
fn queued(requests: &[(u64, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (time_ns, sector) in requests {
        out.extend([0x6561_7407_u32, 1].iter().flat_map(|word| word.to_le_bytes()));
        out.extend([*time_ns, *sector].iter().flat_map(|word| word.to_le_bytes()));
        out.extend([4096_u32, 1 << 16 | 1, 7, 8 << 20, 0, 0].iter().flat_map(|word| word.to_le_bytes()));
    }
    out
}

fn merges_for_fio() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("a.bin"), queued(&[(0, 8), (1_000_000, 16)]))?;
    fs::write(home.join("b.bin"), queued(&[(100_000, 80), (900_000, 88)]))?;
    let job = "[merged]\nread_iolog=a.bin:b.bin\nmerge_blktrace_file=out.bin\nmerge_blktrace_scalars=50:100\n\
               merge_blktrace_iters=2:1\nreplay_redirect=data\nioengine=null\nfilesize=1m\n";
    fs::write(home.join("job.fio"), job)?;
    let fio = |words: &[&str]| {
        let mut command = crate::program::iodyno(["fio"].iter().chain(words));
        command.current_dir(home);
        told(command)
    };
    fio(&["--merge-blktrace-only", "job.fio"]).expect(0, &[]);
    trace(home, &["import", "out.bin", "-o", "t.iot"]).expect(0, &["6 records"]);
    let told: Vec<String> = records(home, "t.iot");
    let fields = |line: &String| line.split(' ').take(4).collect::<Vec<_>>().join(" ");
    let expected = [
        "0 read 0 4096",
        "100000 read 0 40960",
        "500000 read 0 8192",
        "500000 read 0 4096",
        "900000 read 0 45056",
        "1000000 read 0 8192",
    ];
    assert_eq!(told.iter().map(fields).collect::<Vec<_>>(), expected);
    fio(&["job.fio"]).expect(0, &["issued rwts: total=6,0,0,0"]);
    fs::write(home.join("out.bin"), "my own notes")?;
    let refused = fio(&["job.fio"]);
    assert!(
        refused.code() != 0 && refused.err.contains("it exists and is no block trace"),
        "{}",
        refused.all()
    );
    assert_eq!(fs::read_to_string(home.join("out.bin"))?, "my own notes");
    fs::write(home.join("job.fio"), job.replace("50:100", "50"))?;
    let refused = fio(&["--merge-blktrace-only", "job.fio"]);
    assert!(
        refused.code() != 0 && refused.err.contains("merge_blktrace_scalars has 1 values for 2"),
        "{}",
        refused.all()
    );
    Ok(())
}
