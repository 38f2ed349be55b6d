//! Command lines and job files in the shape of those that well-known wrappers write.
//!
//! Re-stated by us from what the tools are known to call; sizes and times are cut down. Each must parse with
//! `--parse-only` and then run like the original.

use testbed::Case;

use crate::job::Holds;
use crate::pairs::Line;

/// Command lines, by whose they resemble.
const LINES: &[(&str, &str)] = &[
    (
        "disk_mark_prepare",
        "--output-format=json --create_only=1 --filename=mark.tmp --size=8m --zero_buffers=0 --name=prepare",
    ),
    (
        "disk_mark_seq1m_q8",
        "--output-format=json --ioengine=libaio --direct=1 --randrepeat=0 --refill_buffers --end_fsync=1 \
         --rwmixread=70 --filename=mark.tmp --name=read --loops=2 --size=8m --bs=1m --rw=read --iodepth=8 --numjobs=1 \
         --group_reporting",
    ),
    (
        "disk_mark_rnd4k_q32",
        "--output-format=json --ioengine=libaio --direct=1 --randrepeat=0 --refill_buffers --end_fsync=1 \
         --filename=mark.tmp --name=write --size=2m --bs=4k --rw=randwrite --iodepth=32 --numjobs=2 --group_reporting",
    ),
    (
        "disk_mark_zeroes",
        "--output-format=json --ioengine=libaio --direct=1 --zero_buffers=1 --filename=mark.tmp --name=z --size=2m \
         --bs=128k --rw=write --iodepth=4",
    ),
    (
        "yabs_4k",
        "--name=rand_rw_4k --ioengine=libaio --rw=randrw --rwmixread=50 --bs=4k --iodepth=64 --numjobs=2 --size=4m \
         --runtime=30 --gtod_reduce=1 --direct=1 --filename=test.fio --group_reporting --minimal",
    ),
    (
        "yabs_setup",
        "--name=setup --ioengine=libaio --rw=read --bs=64k --iodepth=64 --numjobs=2 --size=4m --runtime=1 \
         --gtod_reduce=1 --filename=test.fio --direct=1 --minimal",
    ),
    (
        "steady_state_rounds",
        "--output-format=terse --terse-version=3 --filename=tk.dat --direct=1 --minimal --numjobs=2 \
         --group_reporting --refill_buffers --norandommap --randrepeat=0 --random_generator=tausworthe64 \
         --ioengine=libaio --iodepth=16 --name=round --bs=8k --rw=randrw --rwmixread=65 --size=4m",
    ),
    (
        "dbench_read_iops",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_iops \
         --filename=./fiotest --bs=4K --iodepth=64 --size=4M --readwrite=randread --time_based --ramp_time=0s \
         --runtime=1s",
    ),
    (
        "dbench_write_bw",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=write_bw \
         --filename=./fiotest --bs=128K --iodepth=64 --size=8M --readwrite=randwrite",
    ),
    (
        "dbench_latency",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --name=read_latency --filename=./fiotest --bs=4K \
         --iodepth=4 --size=4M --readwrite=randread",
    ),
    (
        "dbench_seq_streams",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_seq \
         --filename=./fiotest --bs=1M --iodepth=16 --size=8M --readwrite=read --thread --numjobs=4 \
         --offset_increment=2M",
    ),
    (
        "dbench_mixed",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=rw_mix \
         --filename=./fiotest --bs=4k --iodepth=64 --size=4M --readwrite=randrw --rwmixread=75",
    ),
    (
        "cloud_random_write_iops",
        "-direct=1 -iodepth=128 -rw=randwrite -ioengine=libaio -bs=4k -size=4M -numjobs=1 -runtime=1000 \
         -group_reporting -filename=iotest -name=Rand_Write_Testing",
    ),
    (
        "cloud_random_read_latency",
        "-direct=1 -iodepth=1 -rw=randread -ioengine=libaio -bs=4k -size=1M -numjobs=1 -group_reporting \
         -filename=iotest -name=Rand_Read_Latency_Testing",
    ),
    (
        "cloud_throughput",
        "-direct=1 -iodepth=64 -rw=write -ioengine=libaio -bs=1024k -size=8M -numjobs=1 -runtime=1000 \
         -group_reporting -filename=iotest -name=Write_PPS_Testing",
    ),
    (
        "cloud_guide_double_dashes",
        "--directory=. --name fio_test_file --direct=1 --rw=randwrite --bs=16k --size=2M --numjobs=4 --time_based \
         --runtime=1 --group_reporting --norandommap",
    ),
    (
        "cloud_guide_warm_up",
        "--filename=warm --rw=read --bs=1M --iodepth=32 --ioengine=libaio --direct=1 --size=4m --name=volume-initialize",
    ),
    (
        "etcd_disk_check",
        "--rw=write --ioengine=sync --fdatasync=1 --directory=. --size=230k --bs=2300 --name=mytest",
    ),
    ("database_wal", "--name=wal --rw=write --bs=8k --size=512k --fdatasync=1 --fallocate=none --unlink=1"),
    (
        "fstests_aio_verify",
        "--name=verify --directory=. --ioengine=libaio --iodepth=16 --bs=16k --size=1m --numjobs=2 --rw=randwrite \
         --verify=crc32c --verify_fatal=1 --direct=1 --fallocate=none --do_verify=1",
    ),
    (
        // The first to end ends the other: both need a time in which they certainly have written something.
        "fstests_mmap_mix",
        "--name=mix --filename=common --size=1m --bs=4k --rw=randwrite --ioengine=mmap --numjobs=2 --thread \
         --norandommap --invalidate=1 --exitall --time_based --runtime=1",
    ),
    (
        "blktests_verify",
        "--bs=4k --rw=randwrite --norandommap --verify=0 --name=reads --direct=1 --filename=blk --size=1m \
         --numjobs=2 --ioengine=libaio --iodepth=8 --group_reporting=1 --gtod_reduce=1 --clat_percentiles=0",
    ),
    (
        "blktests_write_and_verify",
        "--name=verify --filename=blk --rw=randwrite --direct=1 --ioengine=libaio --bs=4k --iodepth=16 --verify=crc32c \
         --verify_state_save=0 --size=2m --loops=1",
    ),
    (
        "blktests_terse",
        "--output-format=terse --terse-version=4 --group_reporting=1 --name=t --filename=blk --size=1m --rw=randread \
         --bs=4k --thread --numjobs=2",
    ),
    (
        "gcsfuse_perf",
        "--output-format=json --name=seq --directory=. --rw=read --bs=1M --nrfiles=4 --filesize=1M --numjobs=2 \
         --thread --openfiles=1 --filename_format=$jobname.$jobnum/$filenum --invalidate=1 --ioengine=libaio \
         --group_reporting=1 --create_serialize=0 --fadvise_hint=0 --allrandrepeat=1 --iodepth=4 --direct=0",
    ),
    (
        "perfkit_sequential",
        "--output-format=json --random_generator=lfsr --ioengine=libaio --filename=pk --invalidate=1 --direct=1 \
         --randrepeat=0 --name=sequential_write --blocksize=512k --rw=write --size=4m --iodepth=64 --fill_device=0 \
         --clat_percentiles=1 --percentile_list=1:5:10:50:90:95:99:99.9",
    ),
    (
        "null_overhead",
        "--name=null --ioengine=null --size=64m --bs=4k --rw=randread --norandommap --gtod_reduce=1 --thread",
    ),
    (
        "two_jobs_on_the_line",
        "--name=one --size=64k --bs=4k --rw=write --name=two --size=64k --bs=8k --rw=read",
    ),
    ("global_then_jobs", "--name=global --size=64k --bs=4k --name=one --rw=write --name=two --rw=randread"),
    ("output_file", "--output=result.json --output-format=json --name=o --size=64k --bs=4k --ioengine=null"),
    ("append_terse", "--append-terse --name=o --size=64k --bs=4k --ioengine=null"),
    ("eta_always", "--eta=always --name=o --size=64k --bs=4k --ioengine=null"),
    ("bandwidth_log", "--bandwidth-log --name=o --size=64k --bs=4k --ioengine=null --runtime=1 --time_based"),
    (
        "alternative_values",
        "--name=o --ioengine=null --size=1M --bs=4KiB --rw=read --direct=0 --thread=1 --loops=0x2",
    ),
];

/// Job files, by whose they resemble.
const FILES: &[(&str, &str)] = &[
    (
        "kubestr",
        "[global]\nrandrepeat=0\nverify=0\nioengine=libaio\ndirect=1\ngtod_reduce=1\n[job1]\nname=read_iops\nbs=4K\n\
         iodepth=64\nsize=2M\nreadwrite=randread\ntime_based\nramp_time=0s\nruntime=1s\n[job2]\nname=write_iops\nbs=4K\n\
         iodepth=64\nsize=2M\nreadwrite=randwrite\ntime_based\nramp_time=0s\nruntime=1s\n",
    ),
    (
        "phoronix",
        "[global]\nrw=randread\nioengine=io_uring\niodepth=64\nsize=1m\ndirect=1\nbuffered=0\nstartdelay=0\n\
         force_async=4\nramp_time=0\nruntime=1\ntime_based\ndisk_util=0\nclat_percentiles=0\ndisable_lat=1\n\
         disable_clat=1\ndisable_slat=1\nfilename=fiofile\n[test]\nname=test\nbs=4k\nstonewall\n",
    ),
    (
        "bench_fio",
        "[global]\nrw=randread\nioengine=libaio\ndirect=1\niodepth=4\nnumjobs=2\nbs=4k\nsize=1m\nruntime=1\n\
         time_based=1\nloops=1\ninvalidate=1\nlog_avg_msec=500\ngroup_reporting=1\nwrite_bw_log=b-randread-iodepth-4\n\
         write_lat_log=b-randread-iodepth-4\nwrite_iops_log=b-randread-iodepth-4\n[iotest]\nfilename=bf\n",
    ),
    (
        "pbench",
        "[global]\nbs=4k\nioengine=libaio\niodepth=8\ndirect=1\nsync=0\ntime_based=1\nclocksource=gettimeofday\n\
         ramp_time=0\nwrite_bw_log=fio\nwrite_iops_log=fio\nwrite_lat_log=fio\nlog_avg_msec=1000\n\
         write_hist_log=fio\nlog_hist_msec=1000\nruntime=1\n[job-0]\nfilename=pb\nrw=randread\nsize=1M\nnumjobs=1\n",
    ),
    (
        "spdk",
        "[global]\nthread=1\ngroup_reporting=1\ndirect=1\nnorandommap=1\nbs=4k\niodepth=8\nioengine=libaio\n\
         verify=crc32c-intel\nverify_dump=1\nverify_backlog=64\nverify_state_save=0\ndo_verify=1\nsize=512k\n\
         [filename0]\nfilename=sp0\nrw=write\n[filename1]\nfilename=sp1\nrw=write\n",
    ),
    (
        "zfs_sequential",
        "[global]\nfilename_format=file$filenum\ngroup_reporting=1\nfallocate=0\nioengine=psync\nbs=128k\n\
         numjobs=2\nnrfiles=2\nsize=512k\nscramble_buffers=1\nbuffer_compress_percentage=66\n\
         buffer_compress_chunk=4096\nrandrepeat=0\n[job]\nrw=write\nunlink=0\n",
    ),
    (
        "file_server",
        "[global]\ndescription=a file server\ndirectory=.\n[files]\nrw=randrw\nrwmixread=80\n\
         bssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10\nsize=2m\ndirect=0\nioengine=libaio\niodepth=64\n",
    ),
    (
        "old_job_file",
        "; written long ago\n[global]\nbs=4k\nrw=randwrite\nsize=256k\nioengine=libaio\niodepth=4\niodepth_low=2\n\
         iodepth_batch=2\nbuffered=0\n[file1]\nfilename=f1\n[file2]\niodepth=16\nfilename=f2\n",
    ),
];

/// What each of them that is bounded by time lasts, ms, less what its clock may round off.
const TIMED_MS: u64 = 990;

/// The cases: each line twice, parsed only and run.
pub fn cases() -> Vec<Case> {
    let of_lines = LINES.iter().map(|(name, text)| {
        let words = text.split_ascii_whitespace().map(str::to_string).collect();
        line(name, words, Vec::new())
    });
    let of_files = FILES.iter().map(|(name, text)| {
        let words = ["--output-format=normal,terse,json", "job.fio"].map(str::to_string).to_vec();
        line(name, words, vec![("job.fio".to_string(), text.as_bytes().to_vec())])
    });
    let lines: Vec<Line> = of_lines.chain(of_files).collect();
    lines.into_iter().flat_map(|line| [parsed(line.clone()), line]).map(Line::case).collect()
}

fn line(name: &str, arguments: Vec<String>, files: Vec<(String, Vec<u8>)>) -> Line {
    let text: String =
        arguments.join(" ") + &files.iter().map(|(_, t)| String::from_utf8_lossy(t)).collect::<String>();
    let timed = text.contains("time_based");
    let amount = match () {
        () if timed => Some(Holds::Runtime),
        // Drawn sizes give another number of I/Os for the same bytes.
        () if text.contains("bssplit") => None,
        () if text.contains("randrw") => Some(Holds::Total),
        () => Some(Holds::Counts),
    };
    // The amounts are read from JSON alone.
    let amount = amount.filter(|_| text.contains("json"));
    let holds = [Holds::Text].into_iter().chain(amount).collect::<Vec<_>>();
    let least_ms = if timed && holds.contains(&Holds::Runtime) { TIMED_MS } else { 0 };
    Line { name: format!("wrapper_{name}"), arguments, files, holds, devices: 0, least_ms }
}

fn parsed(line: Line) -> Line {
    let arguments = std::iter::once("--parse-only".to_string()).chain(line.arguments).collect();
    Line { name: format!("{}_parses", line.name), arguments, holds: vec![Holds::Text], least_ms: 0, ..line }
}
