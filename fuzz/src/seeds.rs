//! What a parser is known to take: the golden cases, the examples, and a few lines a target. What is mangled begins here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::trace;

/// A seed: arguments, and what all files hold.
pub type Seed = Vec<u8>;

/// How a file is named on the command line, and where files of that kind lie.
const FILES: &[(&str, &str, &[&str])] = &[
    ("fio", "job.fio", &["golden/fio/*.fio"]),
    ("fio", "--read_iolog=x --name=a --rw=read --filename=f --size=1m", &["golden/fio/*.log"]),
    ("filebench", "-f script.f", &["golden/filebench/*.f", "suites/filebench/*.f"]),
    ("dbench", "-t 5 -c load.txt 2", &["suites/dbench/*.txt"]),
    ("iometer", "set.icf", &["golden/iometer/*.icf"]),
    ("vdbench", "-f set.parm", &["golden/vdbench/*.parm"]),
    ("diskspd", "-Xprofile.xml", &["golden/diskspd/*.xml"]),
    ("ior", "-f script", &["examples/*.ior"]),
    ("posix", "--rules rules DIR", &["golden/posix/*.toml", "suites/posix/*/*.toml", "suites/posix/*.toml"]),
    (
        "s3check",
        "s3://b/p --endpoint http://h:1 --rules rules",
        &["suites/s3/profiles/*.toml", "suites/s3/*.toml"],
    ),
    (
        "run",
        "",
        &["golden/native/*.toml", "golden/native/*/*.toml", "examples/*.toml", "golden/posix/*.toml"],
    ),
    ("crash", "", &["suites/crash/*.toml"]),
    ("audit", "", &["golden/audit/*.in"]),
    ("import", "", &["golden/report/json/*", "golden/fio/report/*"]),
];

/// Command lines of their own; what follows a line is what files hold and what a peer says.
const LINES: &[(&str, &[&str])] = &[
    (
        "replay",
        &[
            "t.iot DIR --mode think --copies 2",
            "t.iot /dev/x --map a=b --remap hash --skip trim,read",
            "t.iot --engine sim --set service=1us --dry-run",
            "t --engine null --dry-run\nfio version 3 iolog\n0 f add\n0 f open\n5 f write 0 4096\n9 f read 8192 512\n",
        ],
    ),
    ("s3check", &["s3://b --only put --tap", "s3://b/p --explain put/empty", "--list --verbose --class may"]),
    (
        "warp",
        &[
            "get --host a{1...4}:9000,b --concurrent 8 --duration 1m30s --obj.size 1.5MiB --analyze.v",
            "mixed --get-distrib 10 --put-distrib 5 --delete-distrib 5 --autoterm --rps-limit 7 --noclear",
            "delete --objects 100 --batch 5 --concurrent 2 --full --benchdata x --sse-s3-encrypt --lookup host",
            "analyze f --analyze.op get --analyze.skip 1s\nop\tthread\tn_objects\tbytes\tstart\tend\n\
             GET\t1\t1\t5\t2026-11-22T00:15:03.9Z\t2026-11-22T00:15:04+01:00\n",
            "cmp a b --json\n\
             {\"by_op_type\":{\"GET\":{\"total_requests\":3,\"throughput\":{\"segmented\":{\"segments\":[{\"obj_per_sec\":1.5}]}}}}}",
        ],
    ),
    (
        "conversations",
        &[
            "{\"timestamp\": 5, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [4, 5]}\n\
             {\"timestamp\": 9.5, \"input_length\": 512, \"output_length\": 0, \"hash_ids\": [4]}",
            "timestamp,input_length,output_length,hash_ids\n5,600,5,\"[4, 5]\"\n9,512,1,4;7\n",
        ],
    ),
    ("measure", &["DIR --quick", "--size 1g FILE --json", "also:save /dev/sdz"]),
    ("age", &["DIR --to 70%", "DIR --to 70% --remove --seed 3", "DIR --to 40% --files 4k-1m"]),
    ("iperf3", &["-s", "-s -1 --json", "-c h -t 1 -P 4 -J\n\x09\x01\x00\x00\x00\x02{}", "-c h -u -b 10m -R"]),
    ("iperf", &["-s -u", "-s -i 1", "-c h -d -t 2 -i 1", "-c h -u -b 10m -y C", "-s -y C -P 1"]),
    (
        "netperf",
        &["-H h -t TCP_RR -l 1 -- -r 1,1 -o all", "-t UDP_STREAM -- -m 1024", "-t omni -- -d rr -k all"],
    ),
    ("netserver", &["-D -p 1", "-d"]),
    ("net", &["latency h --under tcp:4", "check h", "mesh --address 127.0.0.1", "relay --delay 10ms 1:h:2"]),
    ("io500", &["--mini DIR", "config.ini\n[global]\ndatadir = d\n[ior-easy]\ntransferSize = 1m\n"]),
    ("iozone", &["-a -n 64k -g 4m -b out.xls", "-t 2 -s 1m -r 4k -i 0 -i 1 -+m list\nh /tmp /bin/iozone\n"]),
    (
        "ior",
        &["-a POSIX -b 1m -t 64k -s 2 -w -r -o F", "ranks:4 -z -Z -F -C -e -k -o F -O summaryFormat=JSON"],
    ),
    (
        "md-workbench",
        &["ranks:3 -D 2 -P 20 -I 10 -R 2 -X -w 5 -W -o D", "-2 -T -t 0.5 -L P --run-info-file F"],
    ),
    (
        "bonnie",
        &["-d D -s 2g:64k:1000:3 -n 16:1k:10:3:512 -f1 -z 7 -u root:root -m h", "-Zf -x2 -qbDf\n\x01\x02"],
    ),
    (
        "postmark",
        &[
            "f\nset number 5\nset transactions 20\nset size 5 900\nset location /a 3\nset location +/b\nset location -/a\n\
             show\nrun\nquit\n",
            "\nset buffering false\nset bias read -1\nset report terse\nload f\nset subdirectories 3\nrun out\n\
             help set\n?\n!ls\n",
        ],
    ),
    (
        "smallfile",
        &[
            "--top DIR --operation create --threads 3 --files 9 --file-size 5 --record-size 2 --hash-into-dirs Y",
            "--top=DIR --host-set a,b --operation read --response-times Y --output-json j --prefix p --pause 5",
            "--yaml-input-file f --threads 3\noperation: create\ntop: DIR\nfiles: 3\nfsync: true\nxattr-count: 1\n",
        ],
    ),
    (
        "dbench",
        &[
            "-t 60 -c load -D DIR -sSFx -R 2.5 --clients-per-process 3 --no-resolve --fake-io 4",
            "--run-once -c load --stat-check 1\nMkdir \"\\a\" NT_STATUS_OK\n0.5 ReadX 1 0 4096 4096 0x0\nSleep 5 NT_STATUS_OK\n",
        ],
    ),
    (
        "elbencho",
        &[
            "-d -w --stat -r -F -D -t 2 -n 3 -N 4 -s 10k -b 4k --lat --latpercent --lathisto --sync DIR",
            "ranks:3 -w -r -t 4 -s 1g -b 1m --rand --iodepth 8 --direct --timelimit 3 --infloop F[1-4]",
            "-c F -t 2\nthreads=4\nwrite=true\n# size\nsize=1g\npath=x[01-03]\n",
            "--s3endpoints http://h:1,https://g -w -r -n 2 -N 3 -s 10m -b 5m bucket --rwmixpct 20",
        ],
    ),
    ("mdtest", &["ranks:3 -n 100 -I 10 -z 2 -b 3 -d D", "-F -C -T -r -w 3901 -e 3901 -N 1 -d D@E"]),
    (
        "pjdfstest",
        &["open f O_CREAT,O_RDWR 0644 : fstat 0 size", "-u 65534 -g 65533 mkdir a 0755 : stat a mode"],
    ),
    ("fstest", &["rename a b : lstat b inode,ctime", "xattr a"]),
    (
        "dlio",
        &[
            "workload=unet3d_h100 ++workload.train.epochs=2 +workload.workflow.generate_data=True",
            "workload=w.yaml\nworkflow: {train: True, generate_data: True}\ntrain:\n  computation_time: &t {mean: 1, stdev: 0.1}\n",
        ],
    ),
    (
        "dlio_benchmark",
        &[
            "workload=default --cfg job hydra.run.dir=${workload.model}/${now:%Y}",
            "--config-dir d workload=x",
        ],
    ),
    ("filebench", &["-f varmail.f -D dir=/x -D runtime=1", "ranks:3 -f fileserver.f", "-h"]),
    ("iostat", &["-mxy 1 2", "-o JSON -dk -p sda -g all sda sdb 1"]),
    ("import", &["\n{\"fio version\":\"fio-3.33\",\"jobs\":[{\"jobname\":\"a\",\"read\":{\"iops\":1.5}}]}"]),
];

/// All seeds of a target: there is always one.
pub fn seeds(name: &str) -> Vec<Seed> {
    let mut seeds: Vec<Seed> = trace::seeds(name).into_iter().collect();
    for (_, arguments, patterns) in FILES.iter().filter(|(target, ..)| *target == name) {
        let files = patterns.iter().flat_map(|pattern| matching(pattern));
        let held = files.filter_map(|path| fs::read(path).ok());
        seeds.extend(held.map(|bytes| [arguments.as_bytes(), b"\n", &bytes].concat()));
    }
    let own = LINES.iter().filter(|(target, _)| *target == name);
    seeds.extend(own.flat_map(|(_, lines)| lines.iter().map(|line| line.as_bytes().to_vec())));
    seeds.extend(crate::traces::seeds(name));
    let prompt = format!("$ {name} ");
    for path in matching(&format!("golden/{name}/*.txt")) {
        let text = fs::read_to_string(path).unwrap_or_default();
        seeds.extend(text.lines().filter_map(|line| line.strip_prefix(&prompt)).map(|line| line.into()));
    }
    seeds.sort();
    seeds.dedup();
    if seeds.is_empty() {
        seeds.push(b"--help".to_vec());
    }
    seeds
}

/// Files that a path with stars names, in the tree, sorted.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    pattern.split('/').fold(vec![root.to_path_buf()], |places, part| {
        let Some((before, after)) = part.split_once('*') else {
            return places.iter().map(|place| place.join(part)).collect();
        };
        let below =
            |place: &PathBuf| fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
        let fits = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.len() >= part.len() - 1 && name.starts_with(before) && name.ends_with(after)
        };
        let mut found: Vec<PathBuf> = places.iter().flat_map(below).filter(fits).collect();
        found.sort();
        found
    })
}
