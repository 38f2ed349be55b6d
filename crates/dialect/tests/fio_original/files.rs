//! Job files: taken or refused as fio does, and shown by `--showcmd` to the letter.

use std::path::PathBuf;

use iodyno_dialect::fio::DIALECT;
use iodyno_dialect::{Loader, PathFacts, Request};
use iodyno_model::Machine;
use testbed::Outcome;

use super::{fio, verdict};

/// Files that both must show alike.
const FILES: &[&str] = &[
    "[global]\nrw=read\nbs=4k\n\n[j one]\nsize=1m\nthread\n[two]\nfilename=\"a b\"\nstonewall\n",
    "; head\n# more\n[global] ; g\nrw=randread # r\nbs=4k;x\n[a]\nsize=1m\n",
    "[a]\r\nrw=read\r\nsize=1m\r\n[b]\r\nrw=write",
    "[a]\nreadwrite=read\nblocksize=4k\nfill_fs=1\ntimeout=3\n",
    "[a]\nkb_base=1000\nsize=1m\nunit_base=8\n",
    "[a]\nsize=1m\nkb_base=1000\nfilename=/tmp/x\nloops=2\nfilename_format=a$jobnum\n",
    "[a]\nuserspace_reap=1\nioengine=libaio\nsize=1m\n[b]\nhipri\nfixedbufs=1\nioengine=io_uring\nrw=read\n",
    "[a]\ndescription=one two\nsize=1m\n[global]\nbs=8k\n[b]\nname=c\n",
    "[a]\nlockfile=none\nsize=1m\nlockfile=exclusive\n",
    "[a]\ntime_based=1\ngroup_reporting\nexitall=0\nstonewall\n[b]\nnew_group\nexitall_on_error\n",
    "[a]\nrw=randread:8\nrw=write\nbssplit=4k/50:8k/50\nbsrange=1k-4k,2k-8k\npercentile_list=5:10:99.9\n",
    "[a]\nrandom_distribution=zipf:1.2\nfile_service_type=random:4\nsync_file_range=wait_before,write:8\n",
    "[a]\nnumjobs=$ncpus\nsize=$mb_memory\nbs=$pagesize\n",
    "[a]\ndirectory=${HOME}/x${NOT_SET_AT_ALL}\n",
    "[  a  ]\nsize=1m\n",
    "[global]\n[a]\n[b]\n",
    "\n\n\t\n[a]\n  size=1m  \n\tbs=4k\t\n",
    "[a]\nstartdelay=1-5\nramp_time=2s\nthinktime=10ms\nlatency_target=10us\nsteadystate=iops:10%\n",
    "[a]\nwrite_bw_log\nwrite_lat_log=x\nwrite_iolog=y\nlog_avg_msec=500\n",
    "[a]\nverify=crc32c\nverify_pattern=0xff\ndo_verify=0\nverify_backlog=10\n",
];

/// Files that both must refuse.
const REFUSED: &[&str] = &[
    "rw=read\n[a]\nsize=1m\n",
    "[a]\nfoo=1\n",
    "[a]\nbs=\n",
    "[a]\nbs\n",
    "[a]\nrw=reed\n",
    "[a]\nhipri=1\nioengine=libaio\n",
    "[a]\nwrite_iolog\n",
    "[a]\niodepth=0\n",
];

struct Disk;

impl Loader for Disk {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is typed here".into())
    }
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
    fn machine(&self) -> Machine {
        let count = |line: &str| line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = memory.lines().next().and_then(count).unwrap_or(0);
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        Machine { cpus, memory_bytes: kib << 10, ..Machine::default() }
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        std::fs::metadata(path).ok().map(|_| PathFacts::default())
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}

fn ours(arguments: &[&str]) -> (String, bool) {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    match (DIALECT.lower)(&arguments, &mut Disk) {
        Ok(Request::Print { out, status }) => (out, status == 0),
        Ok(Request::Refuse { err, .. }) => (err, false),
        _ => ("neither printed nor refused".into(), false),
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the next cleaning of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn as_fio() -> Outcome {
    let folder = Folder(std::env::temp_dir().join(format!("fio-words-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0)?;
    let mut wrong = Vec::new();
    for (index, (text, fine)) in
        FILES.iter().map(|text| (text, true)).chain(REFUSED.iter().map(|text| (text, false))).enumerate()
    {
        let file = folder.0.join(format!("{index}.fio"));
        std::fs::write(&file, text)?;
        let path = file.to_string_lossy().into_owned();
        let (theirs, their_end) = fio(&["--showcmd", &path])?;
        let (shown, _) = ours(&["--showcmd", &path]);
        if fine && theirs != shown {
            wrong.push(format!("{text:?}:\n  fio {theirs:?}\n  we  {shown:?}"));
        }
        let (_, their_parse) = fio(&["--parse-only", &path])?;
        let (said, our_parse) = ours(&["--parse-only", &path]);
        if their_parse != our_parse || our_parse != fine {
            wrong.push(format!("{text:?}: fio takes it: {their_parse} {their_end}, we: {our_parse} {said}"));
        }
        if our_parse && !said.is_empty() {
            wrong.push(format!("{text:?}: --parse-only says {said:?}"));
        }
    }
    verdict(wrong)
}
