//! `iodyno kv-cache` and `iodyno vector-search`: known in virtual time, and on real files.

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::program::{ProgramOutput, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("requests to a cache are served in time as arithmetic says", &[], served),
        Case::new("the largest rate of requests is that of the accelerator", &[], largest_rate),
        Case::new(
            "a key-value cache reads and stores its blocks, and leaves nothing behind",
            &[],
            cache_files,
        ),
        Case::new("recorded conversations find what the ones before have stored", &[], recorded),
        Case::new("a vector search takes its rounds one after the other", &[], searches),
        Case::new("a vector index is laid out and removed, or only read", &[], index_files),
        Case::new("caches and vectors are told what they cannot have", &[], refused),
    ]
}

fn asked(command: &str, arguments: &[&str]) -> ProgramOutput {
    let mut command = iodyno([command]);
    command.args(arguments);
    told(command)
}

fn rows(command: &str, arguments: &[&str]) -> Result<Vec<Vec<f64>>, serde_json::Error> {
    let output = asked(command, &[arguments, &["--json"]].concat());
    let json: Value = serde_json::from_str(&output.expect(0, &[]).out)?;
    let rows = json["sections"][0]["rows"].as_array().cloned().unwrap_or_default();
    let cells = |row: &Value| row.as_array().cloned().unwrap_or_default();
    Ok(rows.iter().map(|row| cells(row).iter().map(|cell| cell.as_f64().unwrap_or(-1.0)).collect()).collect())
}

/// A device that answers one request of up to 256 KiB after the other, each in 100 µs.
fn device(servers: u32) -> String {
    format!(
        "name = \"known\"\n[part.store.station]\nservice = \"100us\"\nvariation = 0\nservers = {servers}\n"
    )
}

fn served() -> Outcome {
    let home = scratch();
    let path = home.path().join("device.toml");
    std::fs::write(&path, device(1))?;
    let path = path.display().to_string();
    // All of a prompt is a common beginning of four blocks of 64 KiB, one after the other.
    let common = ["--on", &path, "--block-tokens", "16", "--bytes-per-token", "4KiB", "--capacity", "1GiB"];
    let all_hits = ["--prefixes", "1", "--prefix-tokens", "64", "--prefix-share", "100", "--prompt", "0"];
    let rest = ["--answer", "0", "--turns", "1", "--rate", "1", "--time", "1s"];
    let row = &rows("kv-cache", &[&common[..], &all_hits[..], &rest[..]].concat())?[0];
    assert!(row[1..4].iter().all(|ns| (ns / 400_000.0 - 1.0).abs() < 0.02), "four reads: {row:?}");
    assert_eq!((row[4], row[6]), (100.0, 0.0), "all was cached, nothing is stored: {row:?}");
    // Nothing is cached: 100 tokens at 1000 a second.
    let none = ["--prefixes", "0", "--prompt", "100", "--prefill", "1000", "--sessions", "1"];
    let rest = ["--answer", "0", "--turns", "1", "--rate", "0.01", "--time", "1s", "--target-ttft", "90ms"];
    let arguments = [&common[..], &none[..], &rest[..]].concat();
    let row = &rows("kv-cache", &arguments)?[0];
    assert!((row[1] / 1e8 - 1.0).abs() < 0.02 && row[4] == 0.0, "{row:?}");
    let output = asked("kv-cache", &arguments);
    output.expect(0, &["At none of these rates", "not a result of it", "compute 10.0 requests/s at most"]);
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output}");
    Ok(())
}

fn recorded() -> Outcome {
    let home = scratch();
    let (device_path, trace) = (home.path().join("device.toml"), home.path().join("trace.jsonl"));
    std::fs::write(&device_path, device(1))?;
    let line = |ms: u32, tokens: u32, ids: &str| {
        format!(
            "{{\"timestamp\": {ms}, \"input_length\": {tokens}, \"output_length\": 9, \"hash_ids\": [{ids}]}}\n"
        )
    };
    // Blocks of 16 tokens. The second finds three blocks of the first, and computes 16 tokens; the third is the first again.
    let text = line(0, 64, "1, 2, 3, 4") + &line(2000, 64, "1, 2, 3, 9") + &line(4000, 64, "1, 2, 3, 4");
    std::fs::write(&trace, text)?;
    let (device_path, path) = (device_path.display().to_string(), trace.display().to_string());
    let common = [
        "--on",
        &device_path,
        "--trace",
        &path,
        "--block-tokens",
        "16",
        "--bytes-per-token",
        "4KiB",
        "--capacity",
        "1GiB",
        "--prefill",
        "1000",
    ];
    let row = &rows("kv-cache", &[&common[..], &["--as-recorded"]].concat())?[0];
    // Three requests in four seconds; of 192 tokens 48 and 64 were cached.
    assert!((row[0] - 0.5).abs() < 1e-9, "{row:?}");
    assert!((row[4] - 112.0 / 192.0 * 100.0).abs() < 1e-6, "{row:?}");
    // 64 ms of computing; three reads of 100 µs and 16 ms; four reads.
    assert!((row[1] / 16.3e6 - 1.0).abs() < 0.03, "the median is the second request's: {row:?}");
    assert!((row[3] / 64e6 - 1.0).abs() < 0.03, "{row:?}");
    asked("kv-cache", &[&common[..], &["--rate", "3"]].concat())
        .expect(0, &["3 recorded, 0.50 a second", "the cache is empty at first"]);
    asked("kv-cache", &[&common[..], &["--turns", "2"]].concat()).refused(&["cannot be used with"]);
    std::fs::write(&trace, line(5, 64, "1") + &line(4, 64, "1"))?;
    asked("kv-cache", &common).refused(&["trace.jsonl:2", "before the request of the line above", "sort"]);
    asked("kv-cache", &["/tmp", "--trace", "/nowhere/t"]).refused(&["/nowhere/t", "docs/kv-cache.md"]);
    Ok(())
}

fn largest_rate() -> Outcome {
    let home = scratch();
    let path = home.path().join("device.toml");
    std::fs::write(&path, device(64))?;
    let path = path.display().to_string();
    // Each computes 100 ms. The M/D/1 queue: at 8 a second 95 % wait less than 0.9 s, and at 9.9 hardly anybody does.
    let arguments = [
        "--on",
        &path,
        "--block-tokens",
        "16",
        "--bytes-per-token",
        "4KiB",
        "--capacity",
        "1GiB",
        "--prefixes",
        "0",
        "--prompt",
        "100",
        "--answer",
        "0",
        "--turns",
        "1",
        "--prefill",
        "1000",
        "--target-ttft",
        "900ms",
        "--time",
        "60s",
        "--concurrency",
        "64",
    ];
    let output = asked("kv-cache", &arguments);
    output.expect(0, &["have their first token within 900", "the accelerators computed", "which limits"]);
    let one = rows("kv-cache", &arguments)?;
    let kept: Vec<f64> = one.iter().filter(|row| row[2] >= 0.0 && row[2] <= 9e8).map(|row| row[0]).collect();
    let best = kept.last().copied().unwrap_or(0.0);
    assert!((7.5..9.8).contains(&best), "{one:?}");
    Ok(())
}

fn cache_files() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    for layout in ["files", "slab"] {
        let arguments = [
            &path,
            "--layout",
            layout,
            "--bytes-per-token",
            "4KiB",
            "--block-tokens",
            "4",
            "--capacity",
            "8MiB",
            "--sessions",
            "4",
            "--turns",
            "3",
            "--prompt",
            "8-40",
            "--answer",
            "8",
            "--prefix-tokens",
            "16",
            "--prefill",
            "1e6",
            "--rate",
            "500",
            "--time",
            "100ms",
        ];
        let row = &rows("kv-cache", &arguments)?[0];
        assert!(row[1] > 0.0 && row[4] > 0.0 && row[5] > 0.0 && row[6] > 0.0, "{layout}: {row:?}");
        assert!(names(home.path()).is_empty(), "{layout}: {:?}", names(home.path()));
    }
    Ok(())
}

fn searches() -> Outcome {
    let home = scratch();
    let file = home.path().join("device.toml");
    let path = file.display().to_string();
    let point = |servers: u32, more: &[&str]| -> Result<Vec<f64>, Box<dyn std::error::Error>> {
        std::fs::write(&file, device(servers))?;
        let common = ["--on", &path, "--vectors", "1M", "--threads", "1", "--time", "1s"];
        Ok(rows("vector-search", &[&common[..], more].concat())?.remove(0))
    };
    // The entry and 25 rounds of four, of which the last has three; each round takes one service.
    let wide = point(64, &[])?;
    assert!((wide[2] / 2.6e6 - 1.0).abs() < 0.01, "{wide:?}");
    assert!((wide[1] / (1.0 / 0.0026) - 1.0).abs() < 0.01, "{wide:?}");
    // One after the other: a hundred services.
    let narrow = point(1, &[])?;
    assert!((narrow[2] / 1e7 - 1.0).abs() < 0.01, "{narrow:?}");
    let cached = point(64, &["--cached-levels", "2", "--compute", "10us"])?;
    assert!((cached[2] / (24.0 * 110_000.0) - 1.0).abs() < 0.01, "{cached:?}");
    let short = point(64, &["--recall", "95", "--beam", "1"])?;
    assert!((short[2] / 2e6 - 1.0).abs() < 0.01, "{short:?}");
    // Eight services at a time are 80,000 a second: 800 searches, whatever the threads. Four threads keep 10 ms.
    std::fs::write(&file, device(8))?;
    let found =
        asked("vector-search", &["--on", &path, "--vectors", "1M", "--time", "2s", "--target-p99", "8ms"]);
    found.expect(
        0,
        &["searches/s, 99 % of them within", "the device known limits", "100 reads of 4 KiB in 26 rounds"],
    );
    assert!(found.out.lines().all(|line| line.chars().count() <= 80), "{found}");
    Ok(())
}

fn index_files() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let small = ["--vectors", "2k", "--threads", "1,2", "--list", "5", "--time", "500ms"];
    let made = rows("vector-search", &[&[path.as_str()], &small[..]].concat())?;
    assert!(made.len() == 2 && made.iter().all(|row| row[1] > 0.0 && row[6] > 0.0), "{made:?}");
    assert!(names(home.path()).is_empty(), "{:?}", names(home.path()));
    let file = home.path().join("disk.index");
    let content = vec![7u8; 4 << 20];
    std::fs::write(&file, &content)?;
    let found = rows(
        "vector-search",
        &[&file.display().to_string(), "--threads", "1", "--list", "5", "--time", "500ms"],
    )?;
    assert!(found[0][1] > 0.0, "{found:?}");
    assert!(std::fs::read(&file)? == content, "it was only read");
    assert_eq!(names(home.path()), ["disk.index"]);
    Ok(())
}

fn refused() -> Outcome {
    let home = scratch();
    let path = home.path().display().to_string();
    let cache = |more: &[&str]| asked("kv-cache", &[&[path.as_str()], more].concat());
    cache(&["--capacity", "900PB"]).refused(&["are free", "ask for less"]);
    cache(&["--capacity", "8MiB"]).refused(&["the longest conversation has", "or more"]);
    cache(&["--prompt", "9-4"]).refused(&["expected a number, or two"]);
    cache(&["--rate", "0"]).refused(&["above 0"]);
    cache(&["--model", "llama3-9b"]).refused(&["llama3-8b"]);
    asked("kv-cache", &["/nowhere/at/all"]).refused(&["no such directory"]);
    asked("kv-cache", &["--on", "no-such-device"]).refused(&["no-such-device"]);
    let vectors = |more: &[&str]| asked("vector-search", &[&[path.as_str()], more].concat());
    vectors(&["--vectors", "900G"]).refused(&["are free", "ask for less"]);
    vectors(&["--cached-levels", "90"]).refused(&["lies in memory", "say fewer levels"]);
    vectors(&["--recall", "99.99"]).refused(&["at most 99.91"]);
    vectors(&["--engine", "psync"]).refused(&["several operations in flight"]);
    asked("vector-search", &["/nowhere/at/all"]).refused(&["no such directory"]);
    assert!(names(home.path()).is_empty());
    Ok(())
}
