//! `iodyno whatif`: what is computed, and what is said to words that describe no store.

use std::path::Path;

use serde_json::Value;
use testbed::program::ProgramOutput;
use testbed::sandbox::LoopDevice;
use testbed::{Case, Need, Outcome};

use crate::program::{iodyno, names, plan, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("promises of replicas are told by formula and by Monte Carlo", &[], promises),
        Case::new("promises of an erasure code are JSON", &[], promises_json),
        Case::new("a store that cannot be is refused with a hint", &[], no_store),
        Case::new("simulated devices are listed, and their files are read back", &[], devices),
        Case::new("a tool on a simulated device says so and makes no file", &[], tools),
        Case::new("every file of a simulated run says so", &[], exports),
        Case::new("logs and result files of a simulated run have their mark beside them", &[], marks),
        Case::new("the disks and the cap to buy are those of the formula", &[], limits_by_formula),
        Case::new("the engine of virtual time lays out no file", &[], bare_engine),
        Case::new("a seed gives the same record on each device", &[], repeatable),
        Case::new("without direct=1 a simulated device shows what memory does", &[], page_cache),
        Case::new("a plan on a bucket takes the service times that a device file programs", &[], bucket),
        Case::new("what does not go with a simulated device is refused with a hint", &[], refusals),
        Case::new("a comparison says that one run was simulated", &[], comparison),
        Case::new("a workload is simulated on several devices, side by side", &[], side_by_side),
        Case::new("the limit at which a condition holds is found", &[], limits),
        Case::new("a device is fitted to a run of measure and predicts what was held out", &[], calibration),
        Case::new(
            "a loop device is measured and a device is fitted to it",
            &[Need::Loop],
            calibration_of_loop,
        ),
        Case::new("what is no run to calibrate by is refused, and no file is replaced", &[], no_calibration),
    ]
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn promises() -> Outcome {
    let line =
        "whatif --promises --afr 1.5% --replicas 3 --repair 12h --outages 4 --outage 30min --groups 1000";
    let said = told(iodyno(words(line)));
    said.expect(
        0,
        &[
            "Promises of 3 replicas in 3 failure domains",
            "1.5 % of the devices are lost in a year; a lost piece is rebuilt in 12 h;",
            "Computed by formula and by Monte Carlo; nothing was measured.",
            "formula Monte Carlo nines",
            "the data of a group is lost in a year",
            "that of any of 1,000 groups is ",
            "share of time without reads ",
            "a read after a write has an older value 0 0 –",
            "consistency: strong: a read has the last acknowledged write, and writes have one order",
            "an acknowledged write survives the loss of 1 piece at once",
        ],
    );
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{said}");
    assert_eq!(said.out, told(iodyno(words(line))).out);
    Ok(())
}

fn promises_json() -> Outcome {
    let said = told(iodyno(words(
        "whatif --promises --afr 2 --code 4+2 --domains 3 --domain-afr 1% --repair 1d --json",
    )));
    said.expect(0, &["\"format\": \"iodyno.promises/1\""]);
    let value: Value = serde_json::from_str(&said.out)?;
    assert_eq!(value["measured"], false);
    assert_eq!(value["design"]["write_quorum"], 5);
    let lost = &value["group_lost_in_a_year"];
    let (formula, sampled) = (lost["formula"].as_f64(), lost["monte_carlo"].as_f64());
    let distance = sampled.zip(formula).map(|(sampled, formula)| (sampled / formula - 1.0).abs());
    assert!(distance.is_some_and(|distance| distance < 0.02), "{lost}");
    assert_eq!(value["consistency"], "strong");
    Ok(())
}

fn no_store() -> Outcome {
    for (line, wrong) in [
        ("--promises", "error: --replicas: it is not said hint: say --replicas 3, or --code 8+3"),
        ("--promises --replicas 3", "error: --afr: it is not said hint: say how many devices fail"),
        (
            "--promises --replicas 3 --afr 1%",
            "error: --repair: it is not said hint: say how long a rebuild takes",
        ),
        ("--promises --replicas 3 --afr 0 --repair 1h", "error: --afr: devices that never fail lose nothing"),
        ("--promises --replicas 3 --afr 100% --repair 1h", "expected 0 to below 100 percent, e.g. 1.5%"),
        ("--promises --code 8 --afr 1% --repair 1h", "expected data and parity pieces, e.g. 8+3"),
        ("--promises --code 60+5 --afr 1% --repair 1h", "at most 64 pieces"),
        (
            "--promises --replicas 3 --afr 1% --repair 1h --domains 4",
            "error: --domains: 3 pieces cannot use 4 domains hint: name at most 3",
        ),
        (
            "--promises --replicas 3 --afr 1% --repair 1h --write-quorum 4",
            "error: --write-quorum: there are 3 pieces only hint: name at most 3",
        ),
        (
            "--promises --code 4+2 --afr 1% --repair 1h --read-quorum 3",
            "error: --read-quorum: 3 pieces do not hold the data hint: name at least 4",
        ),
        (
            "--promises --replicas 3 --afr 99% --repair 100d",
            "error: --repair: on average 3.8 parts of a group are down at once hint: shorten the repair",
        ),
        (
            "--promises --replicas 64 --domains 9 --afr 1% --repair 1h",
            "error: --domains: the pieces can be lost in ",
        ),
    ] {
        let said = told(iodyno([vec!["whatif"], words(line)].concat()));
        said.expect(2, &[wrong]);
        assert!(said.out.is_empty(), "{said}");
    }
    Ok(())
}

/// Random reads at depth 4 without a device of their own.
const PLAN: &str = r#"
name = "reads"
[target.data]
file = "data"
size = "1GiB"
[[phase]]
name = "random read"
[[phase.job]]
name = "reader"
on = "data"
engine = "psync"
do = "read"
pick = "random"
block = "4KiB"
until = { operations = 2000 }
"#;

fn within(home: &Path, line: &str) -> ProgramOutput {
    let mut command = iodyno(words(line));
    command.current_dir(home).env_remove("IODYNO_ALSO").env("IODYNO_HISTORY", home.join("history"));
    told(command)
}

fn devices() -> Outcome {
    let home = scratch();
    let listed = within(home.path(), "devices");
    listed.expect(0, &["hdd-7200 one SATA disk of 7,200 rpm", "cluster-100 ", "(generic)"]);
    for line in listed.out.lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        let printed = within(home.path(), &format!("devices {name}"));
        printed.expect(0, &[&format!("name = \"{name}\"")]);
        std::fs::write(home.path().join("again.toml"), &printed.out)?;
        let run = "fio --name=j --rw=randread --size=1m --number_ios=4 --also on=./again.toml";
        within(home.path(), run).expect(0, &[&format!("simulated on {name}")]);
    }
    within(home.path(), "devices hdd-720").expect(2, &["no device of that name", "did you mean `hdd-7200`?"]);
    Ok(())
}

fn tools() -> Outcome {
    for line in [
        "fio --name=j --rw=randwrite --size=4m --filename=data --also on=hdd-7200",
        "ior -w -r -t 64k -b 1m -o data --also on=nvme-ssd",
        "mdtest -n 20 -d data -w 4k --also on=nfs-server",
        "md-workbench -I 5 -P 10 -o data --also on=nfs-server",
        "iozone -s 1m -r 64k -i 0 -i 1 -f data --also on=cloud-6000",
        "dd if=/dev/zero of=data bs=1M count=4 --also on=nvme-ssd",
        "hdparm -t /dev/none --also on=nvme-ssd",
        "measure . --quick --time 20ms --on nvme-ssd",
        "measure . --quick --time 20ms --also on=nvme-ssd",
    ] {
        let home = scratch();
        within(home.path(), line).expect(0, &["simulated on "]);
        let made: Vec<String> =
            names(home.path()).into_iter().filter(|name| !name.starts_with("history")).collect();
        assert!(made.is_empty(), "{line}: {made:?}");
    }
    let home = scratch();
    plan(home.path(), PLAN);
    within(home.path(), "run plan.toml --on hdd-7200").expect(0, &["reads, simulated on hdd-7200"]);
    assert!(!home.path().join("data").exists());
    Ok(())
}

/// Eight servers of 5 ms each: 1,600 operations a second, each of 5 ms, without a store.
fn bucket() -> Outcome {
    let home = scratch();
    let device = "name = \"store\"\nabout = \"a store of 5 ms\"\n[part.front.station]\nservers = 8\nservice = \"5 ms\"\nvariation = 0\n";
    std::fs::write(home.path().join("store.toml"), device)?;
    let job = |verb: &str, more: &str| {
        format!(
            "[[phase]]\nname = \"{verb}\"\n[[phase.job]]\nname = \"{verb}\"\non = \"t\"\nengine = \"s3\"\ndepth = 8\n\
             do = \"{verb}\"\nuntil = {{ time = \"10s\" }}\nsettings = {{ endpoint = \"http://127.0.0.1:1\" }}\n{more}\n"
        )
    };
    let text = format!(
        "[target.t]\nbucket = \"s3://bucket/a\"\ncount = 1000\nsize = \"4KiB\"\nprepare = \"filled\"\nremove = true\n{}{}{}{}",
        job("read", "block = \"4KiB\"\npick = \"random\""),
        job("write", "block = \"4KiB\""),
        job("create", "block = \"4KiB\"\nitem_data = {}"),
        job("stat", "")
    );
    plan(home.path(), &text);
    let said = within(home.path(), "run plan.toml --on ./store.toml --json r.json");
    said.expect(0, &["simulated on store"]);
    let record: Value = serde_json::from_slice(&std::fs::read(home.path().join("r.json"))?)?;
    for phase in record["phases"].as_array().ok_or("no phases")? {
        let line = &phase["jobs"][0]["lines"][0];
        assert_eq!(line["operations"], 16_000, "{}: {line}", phase["name"]);
    }
    // The card of a store, and each tool's back end, ask nobody.
    let card = within(home.path(), "measure s3://bucket/a --quick --time 200ms --on ./store.toml");
    card.expect(0, &["simulated on store", "GET 4K Q16T1", "5.00 ms"]);
    assert!(!card.out.contains("stale") && !card.out.contains("class A"), "{card}");
    // Nothing is announced that is not measured.
    assert!(!format!("{card}").contains("consistency"), "{card}");
    for line in [
        "ior -a S3 --S3.host=127.0.0.1:1 -w -r -t 64k -b 1m -o f --also on=./store.toml",
        "mdtest -a S3 --S3.host=127.0.0.1:1 -n 20 -w 4k -e 4k --also on=./store.toml",
        "fio --name=j --ioengine=http --http_mode=s3 --http_host=127.0.0.1:1 --http_s3_keyid=a --http_s3_key=b --filename=/bucket/f \
         --rw=randread --size=1m --bs=64k --also on=./store.toml",
    ] {
        within(home.path(), line).expect(0, &["simulated on store"]);
    }
    warp(home.path())
}

/// warp's requests take what the device says; when an answer began nobody told.
fn warp(home: &Path) -> Outcome {
    let store = "--host 127.0.0.1:1 --bucket b --access-key a --secret-key b --obj.size=4KiB --concurrent=8";
    for kind in ["get --objects 50", "put", "mixed --objects 50"] {
        let line = format!("warp {kind} {store} --duration 5s --benchdata data --also on=./store.toml");
        let said = within(home, &line);
        said.expect(0, &["simulated on store", "1600.00 obj/s"]);
        if kind != "mixed --objects 50" {
            said.expect(0, &["Reqs: Avg: 5.0ms, 50%: 5.0ms, 90%: 5.0ms, 99%: 5.0ms"]);
        }
        assert!(!said.out.contains("TTFB"), "{said}");
        let mark = home.join("data.json.zst.simulated");
        assert_eq!(std::fs::read_to_string(&mark)?, "simulated on store\n");
        ["data.json.zst", "data.json.zst.simulated"]
            .iter()
            .try_for_each(|name| std::fs::remove_file(home.join(name)))?;
    }
    Ok(())
}

/// Logs and result files are as their readers want them: the mark is a file beside them.
fn marks() -> Outcome {
    let home = scratch();
    let fio = "fio --name=j --rw=randread --size=4m --number_ios=64 --write_lat_log=l --write_bw_log=l --write_iops_log=l \
               --log_avg_msec=10 --also on=hdd-7200";
    within(home.path(), fio).expect(0, &["simulated on hdd-7200"]);
    let logs: Vec<String> = names(home.path()).into_iter().filter(|name| name.ends_with(".log")).collect();
    assert!(logs.len() >= 5 && logs.contains(&"l_bw.1.log".to_string()), "{logs:?}");
    for log in &logs {
        let text = std::fs::read_to_string(home.path().join(log))?;
        let is_number = |word: &str| word.trim().parse::<i64>().is_ok() || word.trim().starts_with("0x");
        // Who submits takes no time there.
        assert!(!text.is_empty() || log.starts_with("l_slat"), "{log} is empty");
        assert!(text.lines().all(|line| line.split(',').all(is_number)), "{log}: {text}");
        let mark = std::fs::read_to_string(home.path().join(format!("{log}.simulated")))?;
        assert_eq!(mark, "simulated on hdd-7200\n", "{log}");
    }
    let said = within(home.path(), "io500 --mini . --on nvme-ssd");
    said.expect(0, &["simulated on nvme-ssd", "the score is 0", "[RESULT] ior-easy-write"]);
    let results =
        std::fs::read_dir(home.path().join("io500-mini/results"))?.next().ok_or("no results")??.path();
    assert_eq!(std::fs::read_to_string(results.join("simulated"))?, "simulated on nvme-ssd\n");
    let summary = std::fs::read_to_string(results.join("result_summary.txt"))?;
    assert!(summary.contains("[SCORE ]") && !summary.contains("simulated"), "{summary}");
    let marks = names(&results).into_iter().filter(|name| name.contains("simulated")).count();
    assert_eq!(marks, 1, "{:?}", names(&results));
    Ok(())
}

fn exports() -> Outcome {
    let home = scratch();
    let run = "fio --name=j --rw=randread --size=4m --output-format=json \
               --also on=hdd-7200,json=r.json,html=r.html,metrics=r.txt,csv=r.csv,csv=tables/,hdr=r.hdr";
    let said = within(home.path(), run);
    let own: Value = serde_json::from_str(&said.out)?;
    assert_eq!(own["simulated"], "hdd-7200", "{said}");
    assert_eq!(own["jobs"][0]["jobname"], "j");
    let text = |name: &str| std::fs::read_to_string(home.path().join(name));
    for name in ["r.json", "r.html", "r.txt", "r.hdr", "tables/about.csv"] {
        assert!(text(name)?.contains("simulated on hdd-7200"), "{name}");
    }
    for name in ["r.csv", "tables/results.csv", "tables/percentiles.csv"] {
        let text = text(name)?;
        let (first, rest) = text.split_once('\n').ok_or("no row")?;
        assert!(first.ends_with(",simulated"), "{name}: {first}");
        assert!(rest.lines().all(|row| row.ends_with(",hdd-7200")) && !rest.is_empty(), "{name}: {rest}");
    }
    Ok(())
}

/// Disks of exactly a millisecond in turn: n of them answer n × 1,000 a second. 2,000 operations at a cap of c take
/// 2,000 / c + 0.001 s: more than 500 a second needs 501.
fn limits_by_formula() -> Outcome {
    let home = scratch();
    let array = "name = \"array\"\n[part.raid.raid]\nover = \"disk\"\ncommand = \"0s\"\nanswer = \"0s\"\n\
        [part.disk.station]\nservice = \"1ms\"\nvariation = 0\ncapacity = \"1TB\"\n";
    let cloud = "name = \"cloud\"\n[part.volume.cloud]\nlatency = \"1ms\"\n";
    std::fs::write(home.path().join("array.toml"), array)?;
    std::fs::write(home.path().join("cloud.toml"), cloud)?;
    plan(
        home.path(),
        &PLAN
            .replace("\"psync\"", "\"io_uring\"\ndepth = 64")
            .replace("\"random\"\nblock = \"4KiB\"", "\"sequential\"\nblock = \"64KiB\""),
    );
    let line = |condition: &str, rest: &str| {
        let mut command = iodyno(["whatif", "plan.toml", "--until", condition]);
        command.args(words(rest)).current_dir(home.path());
        told(command)
    };
    let needed = |said: &ProgramOutput, what: &str| -> String {
        let words: Vec<&str> = said.out.split_whitespace().collect();
        let place = words.windows(2).position(|pair| pair == ["needs", what]);
        place.map_or_else(|| said.to_string(), |place| words[place + 2].trim_end_matches('.').into())
    };
    for (more_than, disks) in [(7_500, "8"), (4_999, "5"), (15_100, "16")] {
        let said = line(&format!("read.iops > {more_than}"), "--on ./array.toml --vary disks");
        assert_eq!(needed(&said, "disks"), disks);
    }
    assert_eq!(needed(&line("read.iops > 500", "--on ./cloud.toml --vary cap"), "cap"), "501");
    Ok(())
}

fn bare_engine() -> Outcome {
    let home = scratch();
    let text = PLAN.replace("engine = \"psync\"", "engine = \"sim\"");
    let text = text.replace("size = \"1GiB\"", "size = \"1GiB\"\nprepare = \"filled\"");
    plan(home.path(), &text);
    within(home.path(), "run plan.toml").expect(0, &["reads"]);
    assert!(!home.path().join("data").exists(), "virtual time has no use for a file");
    Ok(())
}

fn repeatable() -> Outcome {
    let home = scratch();
    let listed = within(home.path(), "devices").out;
    let job = "fio --name=j --rw=randrw --rwmixread=60 --bsrange=4k-64k --size=512m --io_size=24m --numjobs=3 --iodepth=4 --randseed=7";
    for name in listed.lines().filter_map(|line| line.split_whitespace().next()) {
        let mut records = [Value::Null, Value::Null];
        for (pass, record) in records.iter_mut().enumerate() {
            let file = format!("{name}-{pass}.json");
            within(home.path(), &format!("{job} --also on={name},json={file}")).expect(0, &[]);
            let whole: Value = serde_json::from_str(&std::fs::read_to_string(home.path().join(&file))?)?;
            *record = whole["phases"].clone();
            forget_the_machine(record);
        }
        assert!(records[0].is_array(), "{name}: {}", records[0]);
        assert_eq!(records[0], records[1], "{name}");
    }
    Ok(())
}

/// What of a record is of this machine and this moment: processor time, switches and faults of the program, and when it was.
fn forget_the_machine(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !["user_ns", "system_ns", "switches", "faults", "pid", "witness", "waited_ns"]
                    .contains(&name.as_str())
                    && !name.contains("unix_ns")
                    && !name.contains("clock_ns")
            });
            fields.values_mut().for_each(forget_the_machine);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_the_machine),
        _ => {}
    }
}

fn page_cache() -> Outcome {
    let home = scratch();
    let iops = |direct: &str| -> Result<f64, Box<dyn std::error::Error>> {
        let job = format!(
            "fio --name=j --rw=randread --bs=4k --size=64m --io_size=512m --randrepeat=1 {direct} \
             --output-format=json --also on=hdd-7200-cached"
        );
        let said: Value = serde_json::from_str(&within(home.path(), &job).out)?;
        said["jobs"][0]["read"]["iops"].as_f64().ok_or_else(|| said.to_string().into())
    };
    let (cached, direct) = (iops("")?, iops("--direct=1 --io_size=8m")?);
    assert!(direct < 200.0, "each read waits for the arm: {direct}");
    assert!(cached > 10.0 * direct, "the second time it is in memory: {cached}, direct {direct}");
    Ok(())
}

fn refusals() -> Outcome {
    let fio = "fio --name=j --rw=read --size=1m --also";
    for (line, wrong, hint) in [
        (
            format!("{fio} on=hdd-720"),
            "`hdd-720`: there is no device of that name",
            "did you mean `hdd-7200`?",
        ),
        (format!("{fio} on=./none.toml"), "./none.toml: No such file", "iodyno devices lists"),
        (
            format!("{fio} on=hdd-7200,engine=psync"),
            "`engine` does not go with `on=hdd-7200`",
            "leave one of them",
        ),
        (format!("{fio} on=hdd-7200,hosts=h1"), "`hosts` does not go with", "leave one of them"),
        (format!("{fio} on=hdd-7200,why"), "`why` does not go with", "leave one of them"),
        (format!("{fio} on=hdd-7200,age=50%"), "age cannot be simulated", "leave it out"),
        (
            "fio --name=j --rw=write --verify=crc32c --size=1m --also on=hdd-7200".into(),
            "job j cannot be simulated: it verifies data, and a simulated device keeps none",
            "leave it out",
        ),
        (
            "fio --name=j --ioengine=cpuio --cpuload=9 --also on=hdd-7200".into(),
            "job j cannot be simulated: its engine burns processor time or runs a program",
            "leave it out",
        ),
        (
            "iperf3 -c 127.0.0.1 --also on=hdd-7200".into(),
            "cannot be simulated: it goes over a network to a peer",
            "leave it out",
        ),
        ("iostat --also on=hdd-7200".into(), "there is nothing to watch", "leave it out"),
        ("measure . --on".into(), "--on: a device must follow", "e.g. --on hdd-7200"),
        (
            "measure . --on hdd-7200 --hosts h1".into(),
            "a simulated device is on one machine",
            "leave the hosts out",
        ),
        ("whatif plan.toml".into(), "--on: no device is named", "e.g. --on hdd-7200"),
        ("whatif".into(), "required", ""),
        ("whatif plan.toml --on hdd-7200 --until read.p99".into(), "no `<` or `>` in it", "read.p99 > 5ms"),
        ("whatif nothing --on hdd-7200".into(), "nothing", ""),
    ] {
        let home = scratch();
        plan(home.path(), PLAN);
        let said = within(home.path(), &line);
        said.expect(2, &[wrong, hint]);
        assert!(said.out.is_empty(), "{said}");
    }
    Ok(())
}

fn comparison() -> Outcome {
    let home = scratch();
    let text = PLAN.replace("1GiB\"", "1MiB\"\nprepare = \"filled\"").replace("2000", "200");
    plan(home.path(), &text);
    within(home.path(), "run plan.toml").expect(0, &["reads"]);
    within(home.path(), "run plan.toml --on hdd-7200").expect(0, &["reads, simulated on hdd-7200"]);
    let said = within(home.path(), "compare last~1 last");
    said.expect(0, &["not comparable", "origin of the figures: measured → simulated on hdd-7200"]);
    Ok(())
}

fn side_by_side() -> Outcome {
    let home = scratch();
    plan(home.path(), PLAN);
    let said = within(home.path(), "whatif plan.toml --on hdd-7200,nvme-ssd --html page.html");
    said.expect(
        0,
        &[
            "plan.toml, simulated on 2 devices",
            "device IOPS MB/s p50 p99 p99.9 bottleneck",
            "hdd-7200: disk is the bottleneck, ",
            "no headroom",
            "nvme-ssd: no bottleneck; ",
            " times this load would fill it",
            "All figures are simulated: no storage was touched.",
            "Generic, with the figures of no product: nvme-ssd.",
        ],
    );
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{said}");
    assert!(std::fs::read_to_string(home.path().join("page.html"))?.contains("simulated on 2 devices"));
    let json = within(home.path(), "whatif plan.toml --on hdd-7200 --json");
    let value: Value = serde_json::from_str(&json.out)?;
    assert_eq!(value["format"], "iodyno.whatif/1");
    assert_eq!(value["title"], "plan.toml, simulated on 1 device");
    // A kept run is a workload, too.
    within(home.path(), "run plan.toml --on hdd-7200").expect(0, &[]);
    within(home.path(), "whatif last --on cloud-6000")
        .expect(0, &["last, simulated on 1 device", "cloud-6000: "]);
    Ok(())
}

fn limits() -> Outcome {
    let home = scratch();
    plan(home.path(), PLAN);
    let line = |condition: &str, rest: &str| {
        let mut command = iodyno(["whatif", "plan.toml", "--until", condition]);
        command.args(words(rest)).current_dir(home.path());
        told(command)
    };
    let load = line("read.p95 < 10ms", "--on cloud-6000");
    load.expect(0, &["until read.p95 < 10ms", "cloud-6000: read.p95 < 10ms holds up to depth "]);
    // 6,000 operations a second and 10 ms: Little's law.
    let depth = load.out.split("holds up to depth ").nth(1).and_then(|rest| rest.lines().next());
    let depth: u32 = depth.unwrap_or_default().trim_end_matches('.').parse()?;
    assert!((55..=62).contains(&depth), "{load}");
    plan(home.path(), &PLAN.replace("\"psync\"", "\"io_uring\"\ndepth = 16"));
    let cap = line("read.iops > 1000", "--on cloud-6000 --vary cap");
    cap.expect(0, &["cloud-6000: read.iops > 1000 needs cap 1,0"]);
    plan(home.path(), &PLAN.replace("\"psync\"", "\"io_uring\"\ndepth = 64\nrate = \"500/s\""));
    let rate = line("read.p95 < 20ms", "--on cloud-6000");
    rate.expect(0, &["The rate is varied.", "cloud-6000: read.p95 < 20ms holds up to rate 1"]);
    let none = line("read.iops > 1000", "--on hdd-7200 --vary disks");
    none.expect(0, &["hdd-7200: it has no array and no cluster"]);
    Ok(())
}

/// A device with known figures.
const KNOWN: &str = r#"
name = "known"
[part.link.station]
over = "flash"
service = "4us"
variation = 0
rate = "1GB/s"
[part.flash.station]
servers = 8
service = "90us"
variation = 0.25
"#;

fn calibration() -> Outcome {
    let home = scratch();
    std::fs::write(home.path().join("known.toml"), KNOWN)?;
    within(home.path(), "measure . --quick --time 200ms --on ./known.toml")
        .expect(0, &["simulated on known"]);
    let said = within(home.path(), "whatif --calibrate last --to fitted.toml");
    said.expect(
        0,
        &[
            "fitted fitted to run 1",
            "fitted reads, writes",
            "block order reads, % depth measured IOPS simulated off, %",
            "4 KiB random 70 32 ",
            "write p99",
            "held out",
            "Held-out cells are within 10 %: 4, each in turn, are at most ",
            "The run asked for no block size both in order and at random at depth 1: on the device the order makes \
             no difference, only the block does.",
            "Not fitted: APPEND4K fsync, create, stat, open, rename, unlink.",
        ],
    );
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{said}");
    within(home.path(), "devices ./fitted.toml").expect(0, &["name = \"fitted\"", "[part.link.station]"]);
    plan(home.path(), PLAN);
    within(home.path(), "whatif plan.toml --on ./known.toml,./fitted.toml").expect(0, &["fitted", "known"]);
    Ok(())
}

/// How near it is depends on how busy this machine is: it is said, and not judged here.
fn calibration_of_loop() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    let home = scratch();
    let path = device.path().display().to_string();
    within(home.path(), &format!("measure {path} --quick --time 50ms")).expect(0, &["RND4K"]);
    let said = within(home.path(), "whatif --calibrate last --to loop.toml");
    assert!([0, 1].contains(&said.code()), "{said}");
    assert!(said.out.contains("Held-out cells are "), "{said}");
    within(home.path(), "devices ./loop.toml").expect(0, &["name = \"loop\""]);
    Ok(())
}

fn no_calibration() -> Outcome {
    let home = scratch();
    plan(home.path(), PLAN);
    within(home.path(), "run plan.toml --on hdd-7200").expect(0, &[]);
    let said = within(home.path(), "whatif --calibrate last --to new.toml");
    said.expect(2, &["error: last: its cells are too few", "name a run of iodyno measure"]);
    assert!(!home.path().join("new.toml").exists());
    within(home.path(), "whatif --calibrate last").expect(2, &["--to"]);
    within(home.path(), "whatif --calibrate none --to new.toml").expect(2, &["none"]);
    std::fs::write(home.path().join("known.toml"), KNOWN)?;
    within(home.path(), "measure . --quick --time 50ms --on ./known.toml").expect(0, &[]);
    std::fs::write(home.path().join("mine.toml"), "mine")?;
    within(home.path(), "whatif --calibrate last --to mine.toml").expect(2, &["mine.toml"]);
    assert_eq!(std::fs::read_to_string(home.path().join("mine.toml"))?, "mine");
    Ok(())
}
