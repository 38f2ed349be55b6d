//! `iodyno checkpoint`: known in virtual time, and on real files.

use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, Running, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a device saves a checkpoint in the time that its rate says", &[], simulated),
        Case::new("checkpoints leave nothing behind, or exactly their files", &[], directory),
        Case::new("a checkpoint that is stopped leaves nothing behind", &[], stopped),
        Case::new("checkpoints are told what they cannot have", &[], refused),
    ]
}

fn checkpoint(arguments: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["checkpoint"]);
    command.args(arguments);
    told(command)
}

/// A device that answers one transfer of 4 MiB after the other, each in 1 ms.
const DEVICE: &str =
    "name = \"a thousand transfers a second\"\n[part.store.station]\nservice = \"1ms\"\nvariation = 0\n";

fn simulated() -> Outcome {
    let home = scratch();
    let device = home.path().join("device.toml");
    std::fs::write(&device, DEVICE)?;
    let device = device.display().to_string();
    let common =
        ["--on", &device, "--model", "llama3-8b", "--scale", "0.01", "--interval", "10s", "--times", "2"];
    let output = checkpoint(&common);
    output.expect(
        0,
        &[
            "scale 0.01",
            "8 processes",
            "ZeRO 3",
            "synchronous",
            "20 GB/s for each process",
            "not a result of it",
        ],
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output}");
    let json = || -> Result<serde_json::Value, serde_json::Error> {
        serde_json::from_str(&checkpoint(&[&common[..], &["--json"]].concat()).expect(0, &[]).out)
    };
    let (one, other) = (json()?, json()?);
    assert_eq!(one["sections"], other["sections"], "virtual time is the same each time");
    let number = |section: usize, row: usize, column: usize| {
        one["sections"][section]["rows"][row][column].as_f64().expect("a figure")
    };
    // Each process has two files in one place: 8.03e9 parameters · 14 bytes · 0.01 / 8, in transfers of 4 MiB, and a flush.
    let requests = 8.0 * ((8.03e9 * 14.0 * 0.01 / 8.0 / f64::from(4 << 20)).ceil() + 1.0);
    let save_s = number(0, 0, 1) / 1e9;
    assert!((save_s / (requests / 1000.0) - 1.0).abs() < 0.02, "{save_s} of {requests} requests");
    let (stop, training) = (number(1, 0, 1) / 1e9, number(1, 0, 3));
    assert!(
        (stop - save_s).abs() < 1e-6 && (training - 100.0 * 10.0 / (10.0 + save_s)).abs() < 0.1,
        "{stop} {training}"
    );
    assert!(number(1, 1, 1) < number(1, 0, 1), "an asynchronous one stops for less");
    written_behind(&device, save_s)
}

/// Checkpoints of a device that saves one in `save_s`.
fn written_behind(device: &str, save_s: f64) -> Outcome {
    // Written behind training, which goes on for twice a save: each stops for its copy alone. In a quarter of a save the next
    // one waits for three quarters, less the copy.
    let copy_rate = ["--copy-rate", "1GB", "--async"];
    let behind = |interval: &str| -> Result<serde_json::Value, serde_json::Error> {
        let words = [
            "--on",
            device,
            "--model",
            "llama3-8b",
            "--scale",
            "0.01",
            "--times",
            "2",
            "--interval",
            interval,
        ];
        serde_json::from_str(&checkpoint(&[&words[..], &copy_rate, &["--json"]].concat()).expect(0, &[]).out)
    };
    let cell = |run: &serde_json::Value, row: usize, column: usize| {
        run["sections"][2]["rows"][row][column].as_f64().expect("a figure") / 1e9
    };
    let copy_s = 8.03e9 * 14.0 * 0.01 / 8.0 / 1e9;
    let long = behind(&format!("{}ms", (save_s * 2000.0) as u64))?;
    for row in 0..2 {
        assert!(cell(&long, row, 1) < 1e-3, "nothing is waited for: {long:#}");
        assert!((cell(&long, row, 2) / copy_s - 1.0).abs() < 0.02, "{long:#}");
        assert!((cell(&long, row, 4) / save_s - 1.0).abs() < 0.02, "{long:#}");
    }
    let short = behind(&format!("{}ms", (save_s * 250.0) as u64))?;
    assert!(
        cell(&short, 0, 1) < 1e-3 && (cell(&short, 1, 1) / (save_s * 0.75) - 1.0).abs() < 0.03,
        "{short:#}"
    );
    Ok(())
}

fn directory() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let small =
        [path.as_str(), "--model", "llama3-405b", "--scale", "0.000002", "--subset", "9", "--times", "2"];
    let output = checkpoint(&small);
    output.expect(0, &["the first 9 processes", "Cached pages were dropped", "scale 0.000002"]);
    assert!(names(home.path()).is_empty(), "{:?}", names(home.path()));
    checkpoint(&[&small[..], &["--keep", "--shift", "8"]].concat()).expect(0, &[]);
    assert_eq!(names(home.path()), ["global_epoch1_step1", "global_epoch1_step2"]);
    let files = names(&home.path().join("global_epoch1_step1"));
    // Eight tensor ranks of the first stage with the embedding and four layers, one of the second with four, and nine optimisers.
    assert_eq!(files.len(), 8 * 5 + 4 + 9, "{files:?}");
    assert!(files.contains(&"layer_5-model_0_model_states.pt".to_string()), "{files:?}");
    let behind = checkpoint(&[&small[..], &["--async", "--interval", "20ms"]].concat());
    behind.expect(0, &["Written behind training", "A checkpoint stopped training for", "was computed"]);
    assert_eq!(names(home.path()).len(), 2, "{behind}");
    checkpoint(&[&small[..], &["--keep"]].concat()).refused(&["exists already", "is not overwritten"]);
    Ok(())
}

fn stopped() -> Outcome {
    let home = scratch();
    let mut command = iodyno(["checkpoint", "--model", "8b", "--scale", "0.0001", "--times", "1000"]);
    command.arg(home.path());
    let mut running = Running::start(command);
    running.until("a folder", || !names(home.path()).is_empty());
    running.signal(libc::SIGINT);
    let told = running.end();
    told.expect(130, &["the checkpoint ended with status 130"]);
    assert!(names(home.path()).is_empty(), "{told}: {:?}", names(home.path()));
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let with = |more: &[&str]| checkpoint(&[&[path.as_str()], more].concat());
    with(&["--model", "llama4"]).refused(&["llama3-8b, llama3-70b"]);
    with(&["--model", "llama3-1t"]).refused(&["a checkpoint has", "is free", "--scale 0.0"]);
    with(&["--model", "70b", "--ranks", "12"]).refused(&["no multiple of 8", "--ranks 16"]);
    with(&["--model", "8b", "--scale", "2"]).refused(&["at most 1"]);
    with(&["--model", "8b", "--subset", "9"]).refused(&["9 of 8 processes"]);
    with(&["--model", "8b", "--scale", "1e-6", "--set", "part_size=8"]).refused(&["a bucket's engine"]);
    checkpoint(&["/nowhere/at/all", "--model", "8b"]).refused(&["no such directory"]);
    checkpoint(&["swift://bucket/x", "--model", "8b"]).refused(&["s3://BUCKET/PREFIX"]);
    checkpoint(&["--on", "no-such-device", "--model", "8b"]).refused(&["no-such-device"]);
    assert!(names(home.path()).is_empty());
    Ok(())
}
