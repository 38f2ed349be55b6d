//! Tables and logs: every preset by its example, maps, packed inputs, wrong lines, several files of one trace.

use std::io::Write;

use iodyno_model::Verb;

use super::testing::{input, named, read_all, read_text};
use super::*;
use crate::{RecordFlags, RecordedContent, TraceClock, TraceLevel};

const MSR: &str = "128166372003061629,usr,0,Read,7014609920,24576,41286\n\
                   128166372003061729,usr,0,Write,0,512,7\n";

fn options() -> ImportOptions {
    ImportOptions::default()
}

fn by_map(map: &str) -> ImportOptions {
    ImportOptions { csv: Some(ColumnMap::parse(map).unwrap()), ..options() }
}

#[test]
fn every_table_is_told_by_its_example_alone() {
    for preset in PRESETS {
        let text = format!("{}\n", preset.example);
        let source = read_text(&text, &options()).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert_eq!(source.header.source, format!("csv:{}", preset.name));
        assert_eq!(source.records.len(), 1, "{}", preset.name);
        let named = read_text(&text, &named(preset.name)).unwrap();
        assert_eq!(source.records, named.records);
    }
}

#[test]
fn units_are_those_of_the_formats() {
    let msr = read_text(MSR, &options()).unwrap();
    let (first, second) = (msr.records[0], msr.records[1]);
    assert_eq!((first.verb, first.offset, first.bytes), (Verb::Read, 7_014_609_920, 24_576));
    assert_eq!((first.latency_ns, second.at_ns), (Some(4_128_600), 10_000));
    assert_eq!(msr.tables.files[0].name, "usr.0");
    assert_eq!((msr.header.clock, msr.header.resolution_ns), (TraceClock::Realtime, 100));
    assert_eq!(msr.header.began_unix_ns, Some(1_172_163_600_306_162_900));

    let spc = read_text("0, 20941264, 8192, W, 0.551706\n1,8,512,r,0.554041,x\n", &options()).unwrap();
    assert_eq!((spc.records[0].offset, spc.records[1].at_ns), (20_941_264 * 512, 2_335_000));
    assert_eq!((spc.records[1].verb, spc.tables.files.len()), (Verb::Read, 2));

    let fiu = read_text(&format!("{}\n", preset("iodedup").example), &options()).unwrap();
    let Some(RecordedContent::Digest(digest)) = fiu.records[0].content else { panic!("no digest") };
    assert_eq!((digest[0], fiu.tables.threads[0].name.as_str()), (0x53, "syslogd"));
    assert_eq!((fiu.records[0].bytes, fiu.tables.threads[0].process), (4096, 4892));

    let systor =
        "Timestamp,Response,IOType,LUN,Offset,Size\n1455592301.1,,R,1,0,512\n1455592301.2,0.5,W,1,0,512\n";
    let systor = read_text(systor, &options()).unwrap();
    assert_eq!((systor.records[0].latency_ns, systor.records[1].latency_ns), (None, Some(500_000_000)));
    assert_eq!(systor.records[1].at_ns, 100_000_000);
}

fn preset(name: &str) -> &'static Preset {
    PRESETS.iter().find(|preset| preset.name == name).unwrap()
}

#[test]
fn whole_seconds_are_spread_and_said() {
    let text = "1538323199,0,8,0,7\n1538323199,8,8,1,7\n1538323200,16,8,1,8\n";
    let tencent = read_text(text, &options()).unwrap();
    let times: Vec<u64> = tencent.records.iter().map(|record| record.at_ns).collect();
    assert_eq!(times, [0, 500_000_000, 1_000_000_000]);
    assert!(tencent.records.iter().all(|record| record.flags.has(RecordFlags::SPREAD)));
    assert!(
        tencent.header.notes[0].contains("spread evenly") && tencent.header.resolution_ns == 1_000_000_000
    );
}

#[test]
fn sizes_of_devices_are_taken_from_their_table() {
    let options = ImportOptions { device_sizes: vec![("419".into(), 42_949_672_960)], ..options() };
    let beyond = "419,R,42949672448,1024,1577808144360768\n419,R,42949672448,512,1577808144360769\n";
    let text = format!("{}\n{beyond}", preset("alibaba").example);
    let alibaba = read_text(&text, &options).unwrap();
    assert_eq!((alibaba.tables.files[0].bytes, alibaba.records.len()), (Some(42_949_672_960), 3));
    assert_eq!(alibaba.header.notes, ["records that reach beyond the size of their device, kept: 1"]);
}

#[test]
fn any_table_is_read_by_a_map() {
    let text = "when;\"what\";where;much;thr;dur\n10.5;\"read\";4;8;17;2\n12;WRITE;0;1;18;3\n";
    let map = "ts=When:ms,op=what,off=where:4096,len=much:sectors,thread=thr,lat=dur:100ns,sep=;,header=yes";
    let source = read_text(text, &by_map(map)).unwrap();
    let (first, second) = (source.records[0], source.records[1]);
    assert_eq!((first.offset, first.bytes, first.latency_ns), (16_384, 4096, Some(200)));
    assert_eq!((second.at_ns, second.verb, second.thread), (1_500_000, Verb::Write, 1));
    let quoted = "1,\"a,\"\"b\",W,5\n";
    let source = read_text(quoted, &by_map("ts=0:s,dev=1,op=2,len=3,header=no")).unwrap();
    assert_eq!((source.tables.files[0].name.as_str(), source.records[0].bytes), ("a,\"b", 5));
    let ends = read_text("5 9 0 7\n", &by_map("ts=0:us,end=1:us,op=2:0read,len=3,sep=space,file=2")).unwrap();
    assert_eq!((ends.records[0].latency_ns, ends.header.level), (Some(4000), TraceLevel::File));
}

#[test]
fn a_map_that_is_wrong_is_refused_with_a_reason() {
    for (map, why) in [
        ("op=1,len=2", "no `ts=`"),
        ("ts=0,op=1,len=2", "needs a unit"),
        ("ts=0:weeks,op=1,len=2", "`weeks` is no unit"),
        ("ts=0:s,op=1", "no `len=`"),
        ("ts=0:s,len=1", "no `op=`"),
        ("ts=0:s,op=1:x,len=2", "no coding"),
        ("ts=0:s,op=1,len=2:0", "no unit of `len`"),
        ("ts=0:s,op=1,len=999", "beyond 256"),
        ("ts=0:s,op=1,len=2,sep=ab", "no separator"),
        ("ts=a:s,op=1,len=2,header=no", "need header=yes"),
        ("ts=0:s,op=1,len=2,color=3", "`color` is no key"),
        ("ts", "KEY=COLUMN"),
    ] {
        let error = ColumnMap::parse(map).unwrap_err();
        assert!(error.message.contains(why), "{map}: {error}");
    }
    let error = read_text("a,b\n1,2\n", &by_map("ts=a:s,op=c,len=b")).unwrap_err();
    assert!(error.to_string().contains("f:1: the header line has no column `c`"), "{error}");
}

#[test]
fn packed_inputs_are_unpacked_whatever_the_order() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd =
        |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    let tar = |files: &[(&str, &[u8])]| {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, name, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    };
    let plain = MSR.as_bytes();
    let (first, second) = plain.split_at(plain.len() / 2);
    let xz = unhex(XZ);
    let skipped = [&[0x52, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd(first), &zstd(second)].concat();
    let archive = tar(&[("README", b"see the paper\n"), ("a/usr.csv.gz", &gzip(plain))]);
    for packed in [
        gzip(plain),
        [gzip(first), gzip(second)].concat(),
        zstd(plain),
        skipped,
        xz.clone(),
        gzip(&xz),
        archive.clone(),
        gzip(&archive),
        zstd(&gzip(&archive)),
    ] {
        let (source, _) = read_all(&[input("p", packed)], &options()).unwrap();
        assert_eq!(source.records.len(), 2);
        assert_eq!(source.records[1].at_ns, 10_000);
    }
    let pipe = Input { is_seekable: false, ..input("-", archive) };
    assert!(read_all(&[pipe], &options()).unwrap_err().message.contains("pipe"));
    let mut damaged = gzip(plain);
    damaged.truncate(damaged.len() / 2);
    assert_eq!(read_all(&[input("d.gz", damaged)], &options()).unwrap_err().place, "d.gz");
    let bomb = (0..7).fold(plain.to_vec(), |bytes, _| gzip(&bytes));
    assert!(read_all(&[input("b", bomb)], &options()).unwrap_err().message.contains("more than 5 times"));
}

/// What `xz` makes of [`MSR`].
const XZ: &str = "fd377a585a000004e6d6b4460200210116000000742fe5a3e0005b00455d00188c836d29330c6408066eef147c55d44ae32e\
    571ad4f4d15c8bfdc1bd57edddca72c01f474a6763f0a790e522f987ecf2ea70e92bf4292c8b74fd5eefa32da74a570cc000\
    00000000a6c021d5def04c850001615c12f2bd3e1fb6f37d010000000004595a";

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn members_of_an_archive_are_merged_by_time() {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, line) in [("b", "9,0,8,0,7\n"), ("a", "1,0,8,0,7\n17,0,8,0,7\n")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(line.len() as u64);
        builder.append_data(&mut header, name, line.as_bytes()).unwrap();
    }
    let archive = input("x.tar", builder.into_inner().unwrap());
    let (source, _) = read_all(&[archive], &by_map("ts=0:ns,off=1,len=2,op=3:0read,dev=4")).unwrap();
    let times: Vec<u64> = source.records.iter().map(|record| record.at_ns).collect();
    assert_eq!(times, [0, 8, 16]);
}

#[test]
fn wrong_lines_are_named_counted_and_never_most() {
    let mut text = MSR.repeat(3);
    text.push_str("128166372003061629,usr,0,Reed,1,2,3\n128166372003061629,usr\n");
    text.push_str("128166372003061629,usr,0,Read,9223372036854775807,1,3\n");
    let (source, messages) = read_all(&[input("a.csv", text.clone())], &named("msr")).unwrap();
    assert_eq!(source.records.len(), 6);
    assert_eq!(
        messages,
        [
            "a.csv:7: column 3: no operation that is known: `128166372003061629,usr,0,Reed,1,2,3`",
            "a.csv:8: another number of columns: `128166372003061629,usr`",
            "a.csv:9: it reaches beyond 2^63 bytes: `128166372003061629,usr,0,Read,9223372036854775807,1,3`",
        ]
    );
    let note = "wrong lines, left out: 3; the first: a.csv:7: column 3: no operation that is known";
    assert_eq!(source.header.notes, [note]);
    // They hide no format either.
    let found = read_text(&text, &options()).unwrap();
    assert_eq!((found.header.source.as_str(), found.records.len()), ("csv:msr", 6));
    let strict = ImportOptions { strict: true, ..named("msr") };
    assert_eq!(read_text(&text, &strict).unwrap_err().place, "f:7: column 3");
    let error = read_text(&MSR.repeat(2), &named("spc")).unwrap_err();
    assert!(
        error.message.starts_with("4 of 4 lines are wrong; the first is f:1: column 1: no offset"),
        "{error}"
    );
}

#[test]
fn what_is_unknown_or_ambiguous_lists_what_it_may_be() {
    let error = read_text("hello world\n", &options()).unwrap_err();
    assert_eq!(error.to_string(), "f: no format that is known begins with `hello world`");
    assert_eq!(read_text("", &options()).unwrap_err().to_string(), "f: it is empty");
    let error = read_text(MSR, &named("mrs")).unwrap_err();
    assert!(error.hint.unwrap().contains("msr"));
    let two = [input("a", MSR), input("b", "0,20941264,8192,W,0.551706\n")];
    assert_eq!(read_all(&two, &options()).unwrap_err().to_string(), "b: it is spc, but a is msr");
}

#[test]
fn logs_of_fio_keep_their_times() {
    let third = "fio version 3 iolog\n385 a add\n521 a open\n528 a read 0 4096\n951 a write 45056 4096\n\
                 1441 a sync 61440 0\n1500 a trim 0 4096\n1501 a datasync 0 0\n1600 a close\n";
    let source = read_text(third, &options()).unwrap();
    let told: Vec<_> =
        source.records.iter().map(|record| (record.at_ns, record.verb, record.offset)).collect();
    assert_eq!(
        told,
        [
            (0, Verb::Open, 0),
            (7000, Verb::Read, 0),
            (430_000, Verb::Write, 45_056),
            (920_000, Verb::Fsync, 0),
            (979_000, Verb::Trim, 0),
            (980_000, Verb::Fdatasync, 0),
            (1_079_000, Verb::Close, 0),
        ]
    );
    assert_eq!((source.header.source.as_str(), source.header.level), ("fio iolog 3", TraceLevel::File));
    let second = "fio version 2 iolog\na add\na open\na read 0 1\nx wait 300 0\na read 1 1\nx wait 200 0\na read 2 1\n";
    let times = |options: &ImportOptions| -> Vec<u64> {
        read_text(second, options).unwrap().records.iter().map(|record| record.at_ns).collect()
    };
    assert_eq!(times(&options()), [0, 0, 300_000, 500_000]);
    assert_eq!(times(&ImportOptions { fio_wait: true, ..options() }), [0, 0, 300_000_000, 300_000_000]);
    let first = read_text("0, 4096, 512\n1,0,512\n", &named("fio1")).unwrap();
    assert_eq!((first.records[1].verb, first.records[0].offset), (Verb::Write, 4096));
    let torn = "fio version 3 iolog\n1 a add\n2 a open\n3 a read 0 40965 a read 0 4096\n6 b c read 0 1\n7 a read 0 1\n\
                8 a read 1 1\n9 a wait 5 0\n";
    let (source, messages) = read_all(&[input("log", torn)], &options()).unwrap();
    assert_eq!(source.records.len(), 3);
    assert!(messages[0].starts_with("log:4: more words") && messages[1].starts_with("log:5: more words"));
    assert!(messages[2].starts_with("log:8: `wait`"), "{messages:?}");
    let error = read_text("fio version 4 iolog\n", &options()).unwrap_err();
    assert_eq!(error.to_string(), "f:1: no iolog of version 2 or 3");
}

#[test]
fn a_trace_of_ours_is_read_packed_too() {
    let msr = read_text(MSR, &options()).unwrap();
    let mut bytes = Vec::new();
    let mut writer = crate::format::Writer::new(&mut bytes, msr.header.clone()).unwrap();
    writer.write_source(&mut msr.clone()).unwrap();
    writer.finish().unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).unwrap();
    let (source, _) = read_all(&[input("t.iot.gz", packed.finish().unwrap())], &options()).unwrap();
    assert_eq!((source.records, source.header.source.as_str()), (msr.records, "csv:msr"));
    let two = [input("a", bytes.clone()), input("b", bytes.clone())];
    assert_eq!(
        read_all(&two, &options()).unwrap_err().to_string(),
        "b: only one file of iot can be read at a time"
    );
    bytes[9] ^= 0xff;
    assert!(read_all(&[input("a", bytes)], &options()).unwrap_err().place.starts_with('a'));
}

#[test]
fn the_text_of_a_dump_is_read() {
    let msr = read_text(MSR, &options()).unwrap();
    let mut text = Vec::new();
    crate::text::TextWriter::new(&mut text).write_source(&mut msr.clone()).unwrap();
    let (source, _) = read_all(&[input("t", text)], &options()).unwrap();
    assert_eq!((source.records, source.tables), (msr.records, msr.tables));
    // Its records alone would be lines of DiskSim, too.
    let short = "# iodyno trace 1\n# file 0 file name=a\n0 open 0 0 0\n5 close 0 0 0\n";
    assert_eq!(read_text(short, &options()).unwrap().records.len(), 2);
}

#[test]
fn segments_of_darshan_are_put_in_order() {
    let text = "# darshan log version: 3.41\n# start_time: 1700000000\n\n# DXT, file_id: 1, file_name: /a b\n\
                # DXT, rank: 0, hostname: nid1\n# Module    Rank  Wt/Rd  Segment\n\
                 X_POSIX       0  write        0        0   262144    0.0029   0.0032  [OST: 9]\n\
                 X_POSIX       0  read         1     4096      512    0.0050   0.0051\n\n\
                # DXT, file_id: 2, file_name: /c\n# DXT, rank: 1, hostname: nid2\n\
                 X_MPIIO       1  write        0        0      512    0.0020   0.0041\n\
                 X_POSIX       1  write        0        0      512    0.0030   0.0040\n";
    let source = read_text(text, &options()).unwrap();
    let told: Vec<_> =
        source.records.iter().map(|one| (one.at_ns, one.latency_ns, one.file, one.thread)).collect();
    assert_eq!(
        told,
        [(0, Some(300_000), 0, 0), (100_000, Some(1_000_000), 1, 1), (2_100_000, Some(100_000), 0, 0)]
    );
    assert_eq!(
        (source.tables.files[0].name.as_str(), source.tables.threads[1].name.as_str()),
        ("/a b", "nid2")
    );
    assert_eq!(source.header.began_unix_ns, Some(1_700_000_000_002_900_000));
    assert!(source.header.notes[0].ends_with("left out, because the POSIX calls they made are there: 1"));
}

#[test]
fn calls_of_fiu_have_the_sizes_of_their_files() {
    let text = "1 1000 open 71 8192\n2 1500 write 71 8192 8192 512 APPEND\n3 2000 READ 71 8704 0 4096 HIT\n4 2500 fsync 71 8704\n";
    let source = read_text(text, &options()).unwrap();
    let verbs: Vec<Verb> = source.records.iter().map(|record| record.verb).collect();
    assert_eq!(verbs, [Verb::Open, Verb::Write, Verb::Read, Verb::Fsync]);
    assert!(source.records[1].flags.has(RecordFlags::APPEND));
    assert_eq!(source.tables.files[0].bytes, Some(8192));
}

#[test]
fn a_million_threads_and_long_lines_are_bounded() {
    let map = by_map("ts=0:ns,op=1,len=2,thread=3,header=no");
    let mut text = String::new();
    for thread in 0..1_048_600 {
        text.push_str(&format!("{thread},R,1,{thread}\n"));
    }
    text.push_str(&"x".repeat(1 << 20));
    let source = read_text(&text, &map).unwrap();
    assert_eq!((source.records.len(), source.tables.threads.len()), (1_048_600, 1 << 20));
    assert_eq!(source.header.notes.len(), 2, "{:?}", source.header.notes);
}
