//! Work on three hosts: who ran where, whose data, one report, and what is left when a host is lost.

use std::process::Command;

use serde_json::Value;
use testbed::program::Program;
use testbed::sandbox::{HOST_NEEDS, Hosts};
use testbed::{Case, Outcome};

use crate::going::{built, case, iodyno, listed, staged, well};

pub fn cases() -> Vec<Case> {
    vec![
        case("a_plan_runs_on_three_hosts", a_plan_runs_on_three_hosts),
        case("hosts_starts_the_world_itself", hosts_starts_the_world_itself),
        case("files_travel_to_the_first_host", files_travel_to_the_first_host),
        case("ior_reads_what_another_host_wrote", ior_reads_what_another_host_wrote),
        case("mdtest_runs_on_three_hosts", mdtest_runs_on_three_hosts),
        Case::new("a_mesh_needs_no_mpi", HOST_NEEDS, a_mesh_needs_no_mpi).computes(),
        case("fios_clients_are_hosts", fios_clients_are_hosts),
        case("filebenchs_clients_are_hosts", filebenchs_clients_are_hosts),
        case("vdbenchs_hosts_are_ranks", vdbenchs_hosts_are_ranks),
        case("experiments_have_a_part_on_each_host", experiments_have_a_part_on_each_host),
        case("each_client_may_have_its_own_jobs", each_client_may_have_its_own_jobs),
        case("a_host_that_dies_is_named_in_the_report", a_host_that_dies_is_named),
        case("a_host_that_falls_silent_is_named_too", a_host_that_falls_silent_is_named),
    ]
}

/// `mpirun` over a host file, as a user would.
fn mpirun(hosts: &Hosts, arguments: &[&str]) -> Command {
    let list = hosts.shared().join("list");
    std::fs::write(&list, "h1 slots=1\nh2 slots=1\nh3 slots=1\n").expect("a host file");
    let mut command = hosts.command(1, "mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "3", "--hostfile"]).arg(&list);
    command.arg(built(hosts)).args(arguments);
    command
}

fn json(path: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The world as a result file tells it: three hosts with a rank each.
#[track_caller]
fn three_hosts(record: &Value) {
    let world = record.pointer("/record/world").or_else(|| record.pointer("/world"));
    let world = world.unwrap_or_else(|| panic!("no world: {record:#}"));
    assert_eq!(world["hosts"], serde_json::json!(["h1", "h2", "h3"]), "{world:#}");
    assert_eq!(world["nodes"], serde_json::json!([0, 1, 2]), "{world:#}");
    assert!(world["library"].as_str().is_some_and(|name| name.starts_with("Open MPI")), "{world:#}");
    assert!(
        world["clock_error_ns"].as_u64().is_some_and(|error| error > 0 && error < 1_000_000_000),
        "{world:#}"
    );
}

/// One worker on each rank writes to the host's own file system.
fn plan(hosts: &Hosts) -> String {
    let file = hosts.local().join("f.{worker}");
    format!(
        "name = \"three\"\n\n[target.data]\nfile = \"{}\"\nsize = \"4MiB\"\ncreate = true\n\n\
         [[phase]]\nname = \"write\"\n[[phase.job]]\nname = \"w\"\non = \"data\"\ndo = \"write\"\n\
         block = \"64KiB\"\nuntil = {{ passes = 1 }}\n",
        file.display()
    )
}

fn a_plan_runs_on_three_hosts() -> Outcome {
    let hosts = staged(3)?;
    std::fs::write(hosts.shared().join("plan.toml"), plan(&hosts))?;
    let said = well(hosts.run(mpirun(&hosts, &["run", "plan.toml", "--quiet", "--json", "r.json"])));
    let record = json(&hosts.shared().join("r.json"));
    three_hosts(&record);
    for (number, file) in [(1, "f.0"), (2, "f.1"), (3, "f.2")] {
        let mut files = listed(&hosts, number, &hosts.local())?;
        files.retain(|name| name.starts_with("f."));
        assert_eq!(files, [file], "host {number}: {said:#?}");
    }
    Ok(())
}

fn hosts_starts_the_world_itself() -> Outcome {
    let hosts = staged(3)?;
    std::fs::write(hosts.shared().join("plan.toml"), plan(&hosts))?;
    let run = ["run", "--hosts", "h1,h2,h3", "plan.toml", "--quiet", "--json=r.json"];
    well(hosts.run(iodyno(&hosts, &run)));
    three_hosts(&json(&hosts.shared().join("r.json")));
    // The order is the user's, wherever the launcher itself is; two ranks on the last host.
    let directory = format!("--directory={}", hosts.local().display());
    let job = ["--name=x", "--rw=write", "--bs=4k", "--size=1m", &directory, "--output-format=json"];
    let also = ["fio", "--also", "json=all.json,hosts=h3,h1:2"];
    let said = well(hosts.run(iodyno(&hosts, &[&also[..], &job].concat())));
    let report: Value = serde_json::from_str(&said.out).map_err(|error| format!("{error}: {said:#?}"))?;
    let jobs = report["jobs"].as_array().expect("jobs");
    let bytes: u64 = jobs.iter().filter_map(|job| job["write"]["io_bytes"].as_u64()).sum();
    assert_eq!(bytes, 3 << 20, "{said:#?}");
    let world = json(&hosts.shared().join("all.json"));
    let world = world.pointer("/record/world").or_else(|| world.pointer("/world")).expect("a world").clone();
    assert_eq!(
        (&world["hosts"], &world["nodes"]),
        (&serde_json::json!(["h3", "h1"]), &serde_json::json!([0, 1, 1]))
    );
    Ok(())
}

fn files_travel_to_the_first_host() -> Outcome {
    let hosts = staged(2)?;
    // In the first host's own /tmp; the ranks are on the second.
    let job = "[global]\nioengine=null\n[x]\nsize=64k\n";
    let script = format!(
        "printf '{job}' > /tmp/job.fio; \"$0\" fio --also hosts=h2 /tmp/job.fio --minimal; \
         printf '{job}' | \"$0\" fio --also hosts=h2:2 - --minimal"
    );
    let mut command = hosts.command(1, "sh");
    command.args(["-ec", &script, &built(&hosts)]);
    let said = well(hosts.run(command));
    let lines: Vec<_> = said.out.lines().filter(|line| line.starts_with("3;fio-3")).collect();
    let kilobytes: Vec<_> = lines.iter().filter_map(|line| line.split(';').nth(5)).collect();
    // One clone on the first run, one on each of two ranks on the second.
    assert_eq!(kilobytes, ["64", "64", "64"], "{said:#?}");
    Ok(())
}

fn ior_reads_what_another_host_wrote() -> Outcome {
    let hosts = staged(3)?;
    let file = hosts.shared().join("ior");
    let ior = ["ior", "-w", "-r", "-W", "-R", "-F", "-C", "-e", "-t", "64k", "-b", "256k", "-s", "2", "-o"];
    let said = well(hosts.run(mpirun(&hosts, &[&ior[..], &[&file.to_string_lossy()]].concat())));
    assert!(said.out.contains("\nwrite ") && said.out.contains("\nread "), "{said:#?}");
    let nodes = said.out.lines().find(|line| line.starts_with("nodes")).unwrap_or_default();
    assert!(nodes.ends_with(": 3"), "{said:#?}");
    // Files of one's own file system are not there on the neighbour's host.
    let file = hosts.local().join("ior");
    let said = hosts.run(mpirun(&hosts, &[&ior[..], &[&file.to_string_lossy()]].concat()));
    assert!(!said.status.success(), "{said:#?}");
    Ok(())
}

fn mdtest_runs_on_three_hosts() -> Outcome {
    let hosts = staged(3)?;
    let folder = hosts.shared().join("md");
    std::fs::create_dir(&folder)?;
    let mdtest = ["mdtest", "-n", "20", "-u", "-N", "1", "-w", "100", "-e", "100", "-d"];
    let said = well(hosts.run(mpirun(&hosts, &[&mdtest[..], &[&folder.to_string_lossy()]].concat())));
    assert!(said.out.contains("3 total task(s) on 3 node(s)"), "{said:#?}");
    assert!(said.out.contains("File creation"), "{said:#?}");
    Ok(())
}

/// Over a netserver on each host, which the user's ssh starts; the links are those between the hosts.
fn a_mesh_needs_no_mpi() -> Outcome {
    let hosts = staged(3)?;
    let mesh = ["net", "mesh", "--hosts", "h1,h2,h3", "--pattern", "all"];
    let mut command = iodyno(&hosts, &mesh);
    command.args(["--time", "1s", "--latency-time", "1s"]).env("IODYNO_SSH", hosts.ssh());
    let said = well(hosts.run(command));
    assert!(said.out.contains("3 hosts, 1 rounds") && !said.out.contains("not measured"), "{said:#?}");
    for heading in ["throughput, Gbit/s", "round trip, median, µs"] {
        let below = said.out.split(heading).nth(1).unwrap_or_default();
        let cells = below.lines().skip(2).take(3).flat_map(|row| row.split_whitespace().skip(1));
        let figures =
            cells.filter(|cell| cell.replace(',', "").parse::<f64>().is_ok_and(|value| value > 0.0));
        assert_eq!(figures.count(), 6, "{heading}: {said:#?}");
    }
    Ok(())
}

fn fios_clients_are_hosts() -> Outcome {
    let hosts = staged(3)?;
    let job = format!(
        "[global]\nsize=1m\ndirectory={}\n[a]\nrw=write\n[b]\nstonewall\nrw=read\nnumjobs=2\n",
        hosts.shared().display()
    );
    std::fs::write(hosts.shared().join("job.fio"), job)?;
    let client = ["fio", "--client=h2,h3", "job.fio"];
    let said = well(hosts.run(iodyno(&hosts, &[&client[..], &["--output-format=json"]].concat())));
    let report: Value = serde_json::from_str(&said.out).map_err(|error| format!("{error}: {said:#?}"))?;
    let stats = report["client_stats"].as_array().expect("client_stats");
    let told: Vec<_> = stats.iter().map(|job| (job["hostname"].as_str(), job["jobname"].as_str())).collect();
    let (h2, h3) = (Some("h2"), Some("h3"));
    let (a, b) = (Some("a"), Some("b"));
    assert_eq!(told[..6], [(h2, a), (h2, b), (h2, b), (h3, a), (h3, b), (h3, b)], "{said:#?}");
    assert_eq!(told[6].1, Some("All clients"), "{said:#?}");
    assert_eq!(stats[6]["write"]["io_bytes"], 2 << 20);
    assert_eq!(stats[6]["read"]["io_bytes"], 4 << 20);
    assert!(hosts.shared().join("h2.a.0.0").exists() && hosts.shared().join("h3.b.1.0").exists());
    let said = well(hosts.run(iodyno(&hosts, &client)));
    for words in [
        "hostname=h2, be=0",
        "<h3> Starting 3 processes",
        "<h2> \na: (groupid=0, jobs=1)",
        "\nAll clients: (groupid",
    ] {
        assert!(said.out.contains(words), "{words}: {said:#?}");
    }
    Ok(())
}

/// On a file system that all see, on one that each has for itself, and over mpirun as the master's name wants it.
fn filebenchs_clients_are_hosts() -> Outcome {
    let hosts = staged(3)?;
    let script = "enable multi master=h1,client=$clienthost\nset mode quit alldone\n\
        define fileset name=mail,path=$dir,entries=40,dirwidth=10,prealloc=50,size=4k\n\
        define fileset name=web,path=$dir,entries=20,dirwidth=10,prealloc,size=8k,readonly\n\
        define process name=p { thread name=t {\n\
          flowop createfile name=c,filesetname=mail,fd=1\n flowop closefile name=e,fd=1\n\
          flowop deletefile name=d,filesetname=mail\n\
          flowop openfile name=o,filesetname=web,fd=2\n flowop readwholefile name=r,fd=2\n\
          flowop closefile name=f,fd=2\n flowop finishoncount name=n,value=40,target=c\n} }\n\
        create files\nsystem \"echo $clienthost sees `ls $dir | grep -c ^client`\"\n\
        domultisync value=1\nrun 30\n";
    for (directory, sees) in [(hosts.shared(), 3), (hosts.local(), 1)] {
        let dir = format!("dir={}", directory.join("data").display());
        std::fs::write(hosts.shared().join("x.f"), script)?;
        let words = ["filebench", "-f", "x.f", "-D", &dir];
        let runs = [
            iodyno(&hosts, &[&words[..], &["--also", "ranks,hosts=h1,h2,h3"]].concat()),
            mpirun(&hosts, &[&words[..], &["--also", "ranks"]].concat()),
        ];
        for run in runs {
            let said = well(hosts.run(run));
            let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
            for words in
                ["3 clients: h1 on h1, h2 on h2, h3 on h3", "c 120ops", "r 120ops", "IO Summary: 720 ops"]
            {
                assert!(flat.contains(words), "{words}: {said:#?}");
            }
            assert!(!said.err.lines().any(|line| line.starts_with("note:")), "{said:#?}");
            for host in ["h1", "h2", "h3"] {
                assert!(said.err.contains(&format!("{host} sees {sees}")), "{said:#?}");
            }
            for number in 1..=3 {
                let listed = listed(&hosts, number, &directory)?;
                assert!(!listed.contains(&"data".into()), "host {number}: {listed:?}");
            }
        }
    }
    Ok(())
}

/// Each host writes to a file of its own; rates and threads are divided.
fn vdbenchs_hosts_are_ranks() -> Outcome {
    let hosts = staged(3)?;
    let file = hosts.local().join("data");
    let parameters = format!(
        "hd=default,shell=ssh,user=bench\nhd=one,system=h1\nhd=two,system=h2\n\
         sd=sd1,lun={},size=1m,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n",
        file.display()
    );
    std::fs::write(hosts.shared().join("p"), parameters)?;
    let output = hosts.shared().join("results").display().to_string();
    let said = well(hosts.run(iodyno(&hosts, &["vdbench", "-f", "p", "-o", &output])));
    assert!(said.out.contains("Starting RD=rd1") && said.out.contains("completed successfully"), "{said:#?}");
    for number in 1..=2 {
        let listed = listed(&hosts, number, &hosts.local())?;
        assert!(listed.contains(&"data".into()), "host {number}: {listed:?}");
    }
    Ok(())
}

fn each_client_may_have_its_own_jobs() -> Outcome {
    let hosts = staged(2)?;
    let write = |name: &str, text: &str| std::fs::write(hosts.shared().join(name), text);
    write("one.fio", "[one]\nioengine=null\nsize=64k\n")?;
    write("two.fio", "[two]\nioengine=null\nsize=128k\nrw=write\n[three]\nioengine=null\nsize=4k\n")?;
    let line = ["fio", "--client=h2", "one.fio", "--client=h1", "two.fio", "--output-format=json"];
    let said = well(hosts.run(iodyno(&hosts, &line)));
    let report: Value = serde_json::from_str(&said.out).map_err(|error| format!("{error}: {said:#?}"))?;
    let stats = report["client_stats"].as_array().expect("client_stats");
    let told: Vec<_> = stats.iter().map(|job| format!("{} {}", job["hostname"], job["jobname"])).collect();
    assert_eq!(told[..3], ["\"h2\" \"one\"", "\"h1\" \"two\"", "\"h1\" \"three\""], "{said:#?}");
    assert_eq!(
        (&stats[0]["read"]["io_bytes"], &stats[1]["write"]["io_bytes"]),
        (&(64 << 10).into(), &(128 << 10).into())
    );
    Ok(())
}

/// How much each host has written when it has told how it stands: it does so every second, and writes 200 blocks in one.
const WRITTEN: u64 = 500 * 4096;

/// The length of the file that a host's rank writes, whose number the clone has.
fn written(hosts: &Hosts, number: usize) -> u64 {
    let file = hosts.local().join(format!("x.{}.0", number - 1));
    std::fs::metadata(hosts.seen(number, &file)).map_or(0, |facts| facts.len())
}

/// A job that would run for an hour, on three hosts by `hosts=`; one of them is lost when all have worked for a while.
fn lose_a_host(lose: impl FnOnce(&mut Hosts) -> Outcome) -> Outcome {
    let mut hosts = staged(3)?;
    let directory = format!("--directory={}", hosts.local().display());
    let job = ["--name=x", "--rw=write", "--bs=4k", "--size=1g", "--fallocate=none", "--time_based"];
    let more = ["--runtime=3600", "--thread", "--rate_iops=200", &directory];
    let line = [&["fio", "--also", "hosts=h1,h2,h3"][..], &job, &more].concat();
    let mut running = Program::new(iodyno(&hosts, &line)).start();
    running.until("work on all hosts", || (1..=3).all(|number| written(&hosts, number) >= WRITTEN));
    lose(&mut hosts)?;
    let said = running.end();
    assert!(!said.status.success(), "{said:#?}");
    // What the first rank knew is told, and who is missing.
    assert!(said.out.contains("x: (groupid=0, jobs="), "{said:#?}");
    let ours =
        said.err.lines().chain(said.out.lines()).any(|line| line.contains("h3") && line.contains("lost"));
    assert!(ours, "{said:#?}");
    Ok(())
}

fn a_host_that_dies_is_named() -> Outcome {
    lose_a_host(|hosts| {
        hosts.kill(3);
        Ok(())
    })
}

fn a_host_that_falls_silent_is_named() -> Outcome {
    lose_a_host(|hosts| Ok(hosts.cut(3)?))
}

/// One index on each host's own file system, and checkpoints in a directory of both.
fn experiments_have_a_part_on_each_host() -> Outcome {
    let hosts = staged(2)?;
    let local = hosts.local().display().to_string();
    let search =
        format!("vector-search {local} --vectors 1k --list 5 --threads 1 --time 200ms --hosts h1,h2");
    let said = well(hosts.run(iodyno(&hosts, &search.split(' ').collect::<Vec<_>>())));
    assert!(said.out.contains("by 2 threads") && said.out.contains("2 on h1, h2"), "{said:#?}");
    assert!(["Rank 0 on h1 was", "Rank 1 on h2 was"].iter().any(|late| said.out.contains(late)), "{said:#?}");
    for number in [1, 2] {
        let left: Vec<String> = listed(&hosts, number, &hosts.local())?;
        assert!(!left.iter().any(|name| name.contains("iodyno")), "host {number}: {left:?}");
    }
    let save = "checkpoint . --model 8b --scale 1e-6 --times 1 --shift 4 --hosts h1,h2";
    let said = well(hosts.run(iodyno(&hosts, &save.split(' ').collect::<Vec<_>>())));
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!([" of rank 0 on h1", " of rank 1 on h2"].iter().any(|late| flat.contains(late)), "{said:#?}");
    let mut left = listed(&hosts, 1, &hosts.shared())?;
    left.retain(|name| name.contains("iodyno-") || name.starts_with("global"));
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}
