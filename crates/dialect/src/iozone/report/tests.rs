//! Blocks and tables from given figures, to the letter.

use super::figures::{PassFigures, StreamFigures};
use super::{sheets, streams};
use crate::iozone::access::Access;
use crate::iozone::lower::Pass;
use crate::iozone::matrix::{Matrix, SizeCell};
use crate::iozone::settings::Settings;
use crate::iozone::view::ReportContext;
use crate::iozone::{command, settings, testing::Nowhere};

fn settings_of(line: &str) -> Settings {
    let words = line.split_whitespace().map(String::from).collect::<Vec<_>>();
    settings::judge(command::parse(&words).unwrap(), &mut Nowhere).unwrap()
}

fn stream(kb: f64, rate: f64, cpu_s: f64) -> StreamFigures {
    let seconds = if rate > 0.0 { kb / rate } else { 0.0 };
    StreamFigures {
        bytes: (kb * 1024.0) as u64,
        operations: (kb / 4.0) as u64,
        seconds,
        wall_s: seconds,
        cpu_s,
    }
}

#[test]
fn a_block_is_iozones_and_hides_no_idle_stream() {
    let settings = settings_of("-i 0 -i 1 -s 4m -r 4k -t 3 -C");
    let cell = SizeCell { file: 4 << 20, record: 4096 };
    let part = Pass { access: Access::Write, cell, streams: 3 };
    let figures = PassFigures {
        streams: vec![stream(2376.0, 76568.97, 0.0), stream(0.0, 0.0, 0.0), stream(4096.0, 232_831.19, 0.0)],
        elapsed_s: 6472.0 / 179_654.59,
    };
    let wanted = "\tThroughput test with 3 processes\n\tEach process writes a 4096 kByte file in 4 kByte records\n\n\
        \tChildren see throughput for  3 initial writers \t=  309400.16 kB/sec\n\
        \tParent sees throughput for  3 initial writers \t=  179654.59 kB/sec\n\
        \tMin throughput per process \t\t\t=       0.00 kB/sec \n\
        \tMax throughput per process \t\t\t=  232831.19 kB/sec\n\
        \tAvg throughput per process \t\t\t=  103133.39 kB/sec\n\
        \tMin xfer \t\t\t\t\t=       0.00 kB\n\
        \tChild[0] xfer count =    2376.00 kB, Throughput =   76568.97 kB/sec\n\
        \tChild[1] xfer count =       0.00 kB, Throughput =       0.00 kB/sec\n\
        \tChild[2] xfer count =    4096.00 kB, Throughput =  232831.19 kB/sec\n";
    assert_eq!(streams::block(&settings, part, &figures, true, true), wanted);
    let readers = streams::block(&settings, Pass { access: Access::Reread, ..part }, &figures, false, false);
    assert!(readers.starts_with("\n\tChildren see throughput for 3 re-readers \t=  309400.16 kB/sec\n"));
    let readers = streams::block(&settings, Pass { access: Access::Read, ..part }, &figures, false, false);
    assert!(readers.starts_with("\n\tChildren see throughput for  3 readers \t\t=  309400.16 kB/sec\n"));
}

#[test]
fn processor_time_stands_where_iozone_has_it() {
    let settings = settings_of("-t 1 -s 64m -r 64k -+u -C");
    let part =
        Pass { access: Access::Write, cell: SizeCell { file: 64 << 20, record: 64 << 10 }, streams: 1 };
    let figures = PassFigures { streams: vec![stream(65536.0, 2_161_418.0, 0.030_285)], elapsed_s: 0.031 };
    let text = streams::block(&settings, part, &figures, true, true);
    assert!(text.starts_with("\tThroughput test with 1 process\n"));
    let wanted = "\tCPU Utilization: Wall time    0.030    CPU time    0.030    CPU utilization  99.88 %\n\n\
        \tChild[0] xfer count =   65536.00 kB, Throughput = 2161418.00 kB/sec, wall= 0.030, cpu= 0.030, %= 99.88\n";
    assert!(text.ends_with(wanted), "{text}");
}

#[test]
fn tables_for_spreadsheets_are_ragged_and_carry_their_own_names() {
    let settings = settings_of("-a -n 64 -g 128 -y 32 -q 128 -R -i 0 -i 3");
    let matrix = Matrix::of(&settings);
    let part = |access, file: u64, record: u64| Pass {
        access,
        cell: SizeCell { file: file << 10, record: record << 10 },
        streams: 0,
    };
    let of = |rate: f64| PassFigures { streams: vec![stream(64.0, rate, 0.0)], elapsed_s: 1.0 };
    let mut done =
        vec![(part(Access::Write, 64, 32), of(1_879_725.9)), (part(Access::Write, 64, 64), of(2_298_136.0))];
    done.push((part(Access::Backward, 128, 128), of(14_200_794.0)));
    let view = ReportContext { settings, matrix, ..ReportContext::default() };
    let text = sheets::matrix(&view, &done);
    let wanted = "Excel output is below:\n\n\"Writer report\"\n        \"32\"  \"64\"  \"128\"\n\
        \"64\"   1879725  2298136 \n\"128\"   0  0  0 \n\n\"Backward read report\"\n        \"32\"  \"64\"  \"128\"\n\
        \"64\"   0  0 \n\"128\"   0  0  14200794 \n";
    assert_eq!(text, wanted);
}
