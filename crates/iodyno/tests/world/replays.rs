//! A trace that several ranks replay: each record is issued once, by the rank that it fell to, and certified once.

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::launch::{LAUNCHER, ranks};
use crate::program::{scratch, told};

pub fn cases() -> Vec<Case> {
    vec![Case::new("ranks divide a trace, and its replay is certified once", LAUNCHER, divided)]
}

/// Writes of 64 blocks, one each millisecond, by two threads in turn.
fn divided() -> Outcome {
    let home = scratch();
    let rows: String =
        (0..64).map(|row| format!("{},{},W,{},4096\n", row * 1000, row % 2, row * 4096)).collect();
    std::fs::write(home.path().join("t.csv"), rows)?;
    let mut import = crate::program::iodyno(["trace", "import", "t.csv", "-o", "t.iot"]);
    import.args(["--csv", "ts=0:us,thread=1,op=2,off=3:bytes,len=4:bytes"]).current_dir(home.path());
    told(import).expect(0, &["t.iot: 64 records of 1 file"]);
    let words =
        ["replay", "t.iot", "disk", "--workers", "2", "--divide", "turns", "--no-save", "--json", "r.json"];
    let run = told(ranks(2, home.path(), &words));
    run.expect(0, &["2 ranks on 1 node", "issued 64 of 64 operations"]);
    assert_eq!(run.out.matches("issued   64 of 64").count(), 1, "{run}");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(home.path().join("r.json"))?)?;
    let workers = record["phases"][0]["jobs"][0]["workers"].as_array().ok_or("no workers")?;
    let mut by_rank = [0, 0];
    for worker in workers {
        let rank = worker["rank"].as_u64().ok_or("no rank")?;
        by_rank[rank as usize] += worker["operations"].as_u64().unwrap_or(0);
    }
    assert_eq!(by_rank, [32, 32], "{run}");
    Ok(())
}
