//! The text that others read, and what is said of the rest.

use crate::export::{ExportFormat, ExportLosses, export};
use crate::text::TextSource;

const TRACE: &str = "# iodyno trace 1
# file 0 device bytes=1048576 device=8:16 name=sdb
# file 1 file name=/a b
# thread 0 7 7 name=dd
# thread 1 7 8 name=d,\"d
0 open 1 0 0 result=3
0 open 1 0 0 result=4
1000 read 0 4096 512 latency=2500 result=512
2000 write 0 8192 4096 thread=1 latency=500000 result=-5 flags=preflush,fua,sync
2500000 fsync 1 0 0 latency=10 compressible=3
2600000 stat 1 0 0
3000000 trim 0 0 1024 flags=direct
3000001 close 1 0 0
3000002 close 1 0 0
";

fn exported(format: ExportFormat) -> (String, ExportLosses) {
    let (mut source, mut out) = (TextSource::new(TRACE.as_bytes()).unwrap(), Vec::new());
    let losses = export(&mut source, format, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), losses)
}

#[test]
fn fio_gets_times_in_microseconds() {
    let (text, losses) = exported(ExportFormat::Fio3);
    let expected = "fio version 3 iolog
0 file-1 add
0 file-1 open
1 sdb add
1 sdb open
1 sdb read 4096 512
2 sdb write 8192 4096
2500 file-1 sync 0 0
3000 sdb trim 0 1024
3000 file-1 close
3000 sdb close
";
    assert_eq!(text, expected);
    assert_eq!(
        losses.sentences(),
        [
            "left out: 1 close, 1 open, 1 stat",
            "not told: a name with spaces, or longer than 255 bytes (file-N stands for it), of 1 record",
            "not told: digests and compressibility, of 1 record",
            "not told: errors, of 1 record",
            "not told: flags, of 2 records",
            "not told: latencies, of 3 records",
            "not told: threads other than the first, of 1 record",
        ]
    );
}

#[test]
fn fio_before_times_waits() {
    let (text, losses) = exported(ExportFormat::Fio2);
    let expected = "fio version 2 iolog
file-1 add
file-1 open
sdb add
sdb open
sdb read 4096 512
sdb write 8192 4096
file-1 wait 2 0
file-1 sync 0 0
sdb wait 3 0
sdb trim 0 1024
file-1 close
sdb close
";
    assert_eq!(text, expected);
    assert!(losses.sentences().contains(&"not told: times below 1 ms, of 3 records".to_string()));
}

#[test]
fn blkparse_gets_events_in_the_order_of_time() {
    let (text, losses) = exported(ExportFormat::Blkparse);
    let expected = "  8,16   0        1     0.000001000     7  Q   R 8 + 1 [dd]
  8,16   0        2     0.000001000     7  D   R 8 + 1 [dd]
  8,16   0        3     0.000002000     7  Q FWFS 16 + 8 [d,\"d]
  8,16   0        4     0.000002000     7  D FWFS 16 + 8 [d,\"d]
  8,16   0        5     0.000003500     0  C   R 8 + 1 [0]
  8,16   0        6     0.000502000     0  C FWFS 16 + 8 [65531]
  0,1    0        7     0.002500000     7  Q  FN [dd]
  0,1    0        8     0.002500000     7  D  FN [dd]
  0,1    0        9     0.002500010     0  C  FN [0]
  8,16   0       10     0.003000000     7  Q   D 0 + 2 [dd]
  8,16   0       11     0.003000000     7  D   D 0 + 2 [dd]
";
    assert_eq!(text, expected);
    let said = losses.sentences();
    assert_eq!(said[0], "left out: 2 close, 2 open, 1 stat");
    assert!(said.contains(&"not told: flags of calls, of 1 record".to_string()), "{said:?}");
}

#[test]
fn a_table_has_a_row_each_with_quotes_where_they_are_needed() {
    let (text, losses) = exported(ExportFormat::Csv);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10);
    assert!(
        lines[0].starts_with(
            "time_ns,operation,file,offset,bytes,latency_ns,result,process,thread,command,flags"
        )
    );
    assert_eq!(lines[4], "2000,write,sdb,8192,4096,500000,-5,7,8,\"d,\"\"d\",\"preflush,fua,sync\",,,,,");
    assert_eq!(losses.sentences(), ["not told: sizes, kinds and device numbers of files"]);
}

#[test]
fn our_own_text_loses_nothing() {
    let (text, losses) = exported(ExportFormat::Dump);
    assert_eq!(text, TRACE);
    assert!(losses.is_empty());
}
