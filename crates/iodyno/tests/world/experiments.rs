//! Commands that make several runs, over the ranks of one world: one report, which names the late rank, and nothing left.

use testbed::{Case, Outcome};

use crate::launch::{LAUNCHER, ranks};
use crate::program::{names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![Case::new(
        "accelerators, checkpoints, caches and searches have a part on each rank",
        LAUNCHER,
        parts,
    )]
}

fn parts() -> Outcome {
    let home = scratch();
    let run = |words: &str| told(ranks(2, home.path(), &words.split(' ').collect::<Vec<_>>()));
    let fed = run("accelerators . --workload cosmoflow --dataset 40MB --most 2 --time 20ms --threshold 1");
    fed.expect(0, &["2 accelerators of cosmoflow", "ranks", "2 on "]);
    let starved =
        run("accelerators . --workload cosmoflow --dataset 40MB --most 2 --time 20ms --compute 1us");
    starved.expect(0, &["Not one accelerator", "of rank ", "waited longest"]);
    let saved = run("checkpoint . --model 8b --scale 1e-6 --times 1 --shift 4 --async --interval 20ms");
    saved.expect(0, &["The slowest save took", " of rank ", "in 16 files", "Written behind training"]);
    // Two servers take the requests of one list in turn.
    let cache = "kv-cache . --bytes-per-token 4KiB --block-tokens 4 --capacity 4MiB --sessions 4 --turns 3 --prompt 8-40 \
                 --answer 8 --prefix-tokens 16 --prefill 1e6 --rate 500,600 --time 100ms --concurrency 2";
    let served = run(cache);
    served.expect(0, &["was the latest", "first token within", "2 on "]);
    let search = run("vector-search . --vectors 2k --list 5 --threads 1 --time 200ms");
    search.expect(0, &["by 2 threads", "was the latest"]);
    assert!(names(home.path()).is_empty(), "{:?}", names(home.path()));
    run("kv-cache --on nvme-ssd").expect(2, &["one clock", "leave the launcher out"]);
    Ok(())
}
