//! `iodyno accelerators`: known in virtual time, and on real files.

use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a device feeds as many accelerators as its rate and their pace say", &[], simulated),
        Case::new("accelerators read every byte of their data set, and leave nothing behind", &[], directory),
        Case::new("accelerators are told what they cannot have", &[], refused),
    ]
}

fn accelerators(arguments: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["accelerators"]);
    command.args(arguments);
    told(command)
}

/// A device that answers one read of 256 KiB after the other, each in 100 µs.
const DEVICE: &str =
    "name = \"ten thousand reads a second\"\n[part.store.station]\nservice = \"100us\"\nvariation = 0\n";

fn simulated() -> Outcome {
    let home = scratch();
    let device = home.path().join("device.toml");
    std::fs::write(&device, DEVICE)?;
    let device = device.display().to_string();
    // A sample of cosmoflow is 11 reads: 1.1 ms. An H100 computes 3.5 ms: three are fed, four get 3.5 / 4.4 = 79.5 %.
    let common = ["--on", &device, "--workload", "cosmoflow", "--dataset", "20GB", "--time", "2s"];
    let output = accelerators(&[&common[..], &["--threshold", "90"]].concat());
    output.expect(
        0,
        &[
            "3 accelerators of cosmoflow are utilised 90",
            "With 4 number",
            "the device ten thousand reads a second limits",
            "not a result of it",
        ],
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output}");
    let json = || -> Result<serde_json::Value, serde_json::Error> {
        serde_json::from_str(
            &accelerators(&[&common[..], &["--threshold", "90", "--json"]].concat()).expect(0, &[]).out,
        )
    };
    let (one, other) = (json()?, json()?);
    assert_eq!(one["sections"], other["sections"], "virtual time is the same each time");
    let rows = one["sections"][0]["rows"].as_array().expect("rows");
    let utilised: Vec<(u64, f64)> = rows
        .iter()
        .map(|row| (row[0].as_f64().unwrap_or(0.0) as u64, row[1].as_f64().unwrap_or(0.0)))
        .collect();
    assert_eq!(utilised.iter().map(|row| row.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(utilised[..3].iter().all(|row| row.1 > 99.0), "{utilised:?}");
    assert!((utilised[3].1 - 3.5 / 4.4 * 100.0).abs() < 0.5, "{utilised:?}");
    Ok(())
}

fn directory() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let small =
        ["--dataset", "64MiB", "--most", "2", "--compute", "1ms", "--time", "20ms", "--threshold", "0"];
    for workload in ["cosmoflow", "resnet50"] {
        let dataset: &[&str] = if workload == "resnet50" { &["--dataset", "450MB"] } else { &[] };
        let small: Vec<&str> = match dataset {
            [] => small.to_vec(),
            _ => [dataset, &small[2..]].concat(),
        };
        let output =
            accelerators(&[&[path.as_str(), "--workload", workload], &small[..], &["--json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&output.expect(0, &[]).out)?;
        let rows = json["sections"][0]["rows"].as_array().expect("rows").clone();
        assert!(!rows.is_empty(), "{json}");
        for row in &rows {
            let figures: Vec<f64> =
                row.as_array().expect("cells").iter().filter_map(|cell| cell.as_f64()).collect();
            assert!(figures[3] > 0.0 && figures[4] > 0.0, "samples and bytes: {row}");
        }
        assert!(names(home.path()).is_empty(), "{:?}", names(home.path()));
    }
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let with = |more: &[&str]| accelerators(&[&[path.as_str()], more].concat());
    with(&["--workload", "unet3d", "--dataset", "1GB"]).refused(&["too few samples of unet3d", "--dataset"]);
    with(&["--workload", "resnet50", "--accelerator", "b200"]).refused(&["is not known", "--compute"]);
    with(&["--workload", "unet3d", "--dataset", "0x"]).refused(&["above 0"]);
    accelerators(&["--on", "nvme-ssd", "--workload", "unet3d", "--dataset", "5x"])
        .refused(&["cannot be told"]);
    with(&["--workload", "retinanet", "--accelerator", "h100"]).refused(&["is not known", "--compute"]);
    with(&["--workload", "unet4d"]).refused(&["invalid value 'unet4d'", "unet3d"]);
    with(&[]).refused(&["--workload"]);
    with(&["--workload", "unet3d", "--dataset", "900PB"]).refused(&["are free", "ask for less"]);
    accelerators(&["/nowhere/at/all", "--workload", "unet3d"])
        .refused(&["no such directory", "e.g. /mnt/training"]);
    accelerators(&["--on", "no-such-device", "--workload", "unet3d"]).refused(&["no-such-device"]);
    assert!(names(home.path()).is_empty());
    Ok(())
}
