//! Every back end writes, reads and checks; those of MPI alone, and with 1, 2 and 4 ranks, each for itself and together.
//!
//! What one back end wrote, another reads where both have the same file. A library that is not here is a skip with the
//! engine's own reason.

use std::path::Path;

use testbed::program::Program;
use testbed::{Case, Need, Outcome, Skip};

use super::program::{IODYNO, ior, names, scratch};
use super::world::mpirun;

const ALL: &str = "-t 64k -b 256k -s 2 -w -r -W -R";

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("delays_are_slept", &[], delays),
        Case::new("many_in_flight_write_and_read", &[], in_flight),
        Case::new("mappings_write_and_read", &[], mappings),
        Case::new("mpiio_without_a_launcher", &[], || alone("MPIIO")),
        Case::new("hdf5_without_a_launcher", &[], || alone("HDF5")),
        Case::new("ncmpi_without_a_launcher", &[], || alone("NCMPI")),
        Case::new("damage_is_found_in_a_container", &[], damage),
        Case::new("containers_serve_one_worker_of_a_rank", &[], one_worker),
        Case::new("no_library_is_said_so", &[], no_library),
    ];
    let needs = [Need::Tool("mpirun")];
    for api in ["MPIIO", "HDF5", "NCMPI"] {
        for ranks in [1, 2, 4] {
            let name = |how: &str| format!("{}_{how}_with_{ranks}_ranks", api.to_lowercase());
            let body = move || together(api, ranks, "");
            cases.push(Case::new(name("alone"), &needs, body).computes());
            let body = move || together(api, ranks, "-c");
            cases.push(Case::new(name("together"), &needs, body).computes());
        }
    }
    cases.push(Case::new("hdf5_files_have_iors_data_sets", &needs, data_sets).computes());
    cases.push(Case::new("ncmpi_files_have_iors_variable", &needs, variable).computes());
    cases.push(Case::new("mpiio_files_are_files", &needs, other_back_end).computes());
    cases.push(Case::new("mpiio_with_a_file_for_each", &needs, own_files).computes());
    cases.push(Case::new("mpiio_by_views", &needs, views).computes());
    cases.push(Case::new("all_end_with_the_same_collective_call", &needs, deadline).computes());
    cases.push(Case::new("threads_of_ranks_do_not_share_files", &needs, threads).computes());
    cases
}

/// A skip with the engine's reason, where its library is not here.
fn here(api: &str) -> Result<(), Skip> {
    let text = Program::of(IODYNO, ["engines"]).outcome().map_err(Skip::new)?.out;
    let engine = format!("{} ", api.to_lowercase());
    let line = text.lines().find(|line| line.starts_with(&engine)).unwrap_or_default();
    match line.split_once("(not here: ") {
        Some((_, reason)) => Err(Skip::new(reason.trim_end_matches(')'))),
        None => Ok(()),
    }
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |facts| facts.len())
}

fn delays() -> Outcome {
    let home = scratch();
    let told = ior(home.path(), "-a DUMMY --dummy.delay-xfer=2000 -t 64k -b 640k -w");
    told.expect(0, &["api                 : DUMMY"]);
    let total: f64 = told.rows("write")[0].iter().rev().nth(1).ok_or("a total")?.parse()?;
    assert!(total >= 0.02, "ten transfers of 2 ms in {total} s:\n{}", told.out);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

fn in_flight() -> Outcome {
    let home = scratch();
    let line = format!("-a AIO --aio.max-pending=8 --aio.granularity=4 {ALL} -e -k");
    ior(home.path(), &line).expect(0, &["api                 : AIO"]);
    assert_eq!(bytes(&home.path().join("testFile")), 512 << 10);
    Ok(())
}

fn mappings() -> Outcome {
    let home = scratch();
    let line = format!("-a MMAP --mmap.madv_dont_need --mmap.madv_pattern {ALL} -N 2 -F -k");
    ior(home.path(), &line).expect(0, &["api                 : MMAP"]);
    assert_eq!(bytes(&home.path().join("testFile.00000001")), 512 << 10);
    Ok(())
}

fn alone(api: &str) -> Outcome {
    here(api)?;
    let home = scratch();
    ior(home.path(), &format!("-a {api} {ALL} -k")).expect(0, &["tasks               : 1"]);
    assert!(bytes(&home.path().join("testFile")) >= 512 << 10);
    Ok(())
}

fn together(api: &str, ranks: u32, how: &str) -> Outcome {
    here(api)?;
    let home = scratch();
    let told = mpirun(home.path(), ranks, &format!("-a {api} {ALL} -C -e {how} -k"));
    told.expect(0, &[&format!("tasks               : {ranks}")]);
    assert!(!told.out.contains("WARNING"), "{}", told.out);
    let (held, written) = (bytes(&home.path().join("testFile")), u64::from(ranks) * (512 << 10));
    // A container has a header besides.
    let most = if api == "MPIIO" { written } else { written + (64 << 10) };
    assert!((written..=most).contains(&held), "{held} bytes for {written}");
    Ok(())
}

/// The same bytes as POSIX writes, two tasks with three segments each.
fn posix_bytes(home: &Path) -> Result<Vec<u8>, std::io::Error> {
    ior(home, &format!("-a POSIX {LAYOUT} -N 2 -o plain")).expect(0, &[]);
    std::fs::read(home.join("plain"))
}

const LAYOUT: &str = "-t 32k -b 64k -s 3 -w -k -G 7 -l offset";

fn holds(content: &[u8], part: &[u8]) -> bool {
    content.windows(part.len()).any(|window| window == part)
}

/// As `h5ls` shows them: a data set of a segment's size for each segment.
fn data_sets() -> Outcome {
    here("HDF5")?;
    let home = scratch();
    for how in ["", "-c"] {
        mpirun(home.path(), 2, &format!("-a HDF5 {LAYOUT} {how}")).expect(0, &[]);
        let content = std::fs::read(home.path().join("testFile"))?;
        for (index, segment) in posix_bytes(home.path())?.chunks(128 << 10).enumerate() {
            assert!(holds(&content, format!("Dataset-0000.{index:04}").as_bytes()), "data set {index}");
            assert!(holds(&content, segment), "segment {index} in one piece");
        }
        assert!(!holds(&content, b"Dataset-0000.0003"));
        mpirun(home.path(), 2, &format!("-a HDF5 {LAYOUT} {how}").replace("-w", "-r -R -C")).expect(0, &[]);
    }
    let many = mpirun(home.path(), 1, "-a HDF5 -t 8 -b 8 -s 70000 -w -o many");
    many.expect(1, &["70000 data sets, at most 65536 are made"]);
    Ok(())
}

/// As `ncmpidump -h` shows it; the bytes lie behind the header as POSIX has them.
fn variable() -> Outcome {
    here("NCMPI")?;
    let home = scratch();
    mpirun(home.path(), 2, &format!("-a NCMPI {LAYOUT}")).expect(0, &[]);
    let content = std::fs::read(home.path().join("testFile"))?;
    assert!(content.starts_with(b"CDF\x05"));
    // A dimension is its name, padded to four bytes, and its length.
    for (name, length) in
        [("segments_times_np", 6u64), ("number_of_transfers", 2), ("transfer_size", 32 << 10)]
    {
        let padded = [name.as_bytes(), &vec![0; (4 - name.len() % 4) % 4], &length.to_be_bytes()].concat();
        assert!(holds(&content, &padded), "{name}");
    }
    assert!(holds(&content, b"data_var") && content.ends_with(&posix_bytes(home.path())?));
    mpirun(home.path(), 2, &format!("-a NCMPI {LAYOUT}").replace("-w", "-r -R -C")).expect(0, &[]);
    Ok(())
}

fn other_back_end() -> Outcome {
    here("MPIIO")?;
    let home = scratch();
    mpirun(home.path(), 2, "-a MPIIO -c -t 64k -b 256k -s 2 -w -k -G 5").expect(0, &[]);
    let read = "-a POSIX -t 64k -b 256k -s 2 -N 2 -r -R -k -G 5";
    ior(home.path(), read).expect(0, &[]);
    let path = home.path().join("testFile");
    let mut content = std::fs::read(&path)?;
    content[700_000] ^= 1;
    std::fs::write(&path, content)?;
    assert_ne!(ior(home.path(), read).code(), 0);
    assert_ne!(mpirun(home.path(), 2, "-a MPIIO -t 64k -b 256k -s 2 -r -R -k -G 5").code(), 0);
    Ok(())
}

fn own_files() -> Outcome {
    here("MPIIO")?;
    let home = scratch();
    mpirun(home.path(), 2, &format!("-a MPIIO {ALL} -F -C -k")).expect(0, &[]);
    assert_eq!(names(home.path()), ["testFile.00000000", "testFile.00000001"]);
    assert_eq!(bytes(&home.path().join("testFile.00000001")), 512 << 10);
    Ok(())
}

fn views() -> Outcome {
    here("MPIIO")?;
    let home = scratch();
    mpirun(home.path(), 2, "-a MPIIO -c -t 64k -b 256k -s 3 -w -k -G 6 --mpiio.useFileView").expect(0, &[]);
    assert_eq!(bytes(&home.path().join("testFile")), 3 * (512 << 10));
    // Without views the same bytes are at the same places.
    ior(home.path(), "-t 64k -b 256k -s 3 -N 2 -r -R -G 6").expect(0, &[]);
    Ok(())
}

fn deadline() -> Outcome {
    here("MPIIO")?;
    let home = scratch();
    let line = "-a MPIIO -c -t 64k -b 64k -s 400000 -D 1 -w -O stoneWallingWearOut=1";
    mpirun(home.path(), 3, line).expect(0, &["tasks               : 3"]);
    Ok(())
}

fn threads() -> Outcome {
    here("MPIIO")?;
    let home = scratch();
    let told = mpirun(home.path(), 2, &format!("-a MPIIO -c {ALL} -k --also threads=2"));
    assert_ne!(told.code(), 0, "{}", told.out);
    assert!(told.err.contains("start a rank for each task"), "{}", told.err);
    Ok(())
}

fn damage() -> Outcome {
    here("HDF5")?;
    let home = scratch();
    ior(home.path(), "-a HDF5 -t 64k -b 256k -w -k -G 7").expect(0, &[]);
    ior(home.path(), "-a HDF5 -t 64k -b 256k -r -R -k -G 7").expect(0, &[]);
    let path = home.path().join("testFile");
    let mut content = std::fs::read(&path)?;
    let place = content.len() - 1000;
    content[place] ^= 1;
    std::fs::write(&path, content)?;
    assert_ne!(ior(home.path(), "-a HDF5 -t 64k -b 256k -r -R -k -G 7").code(), 0);
    Ok(())
}

fn one_worker() -> Outcome {
    here("HDF5")?;
    let home = scratch();
    let told = ior(home.path(), "-a HDF5 -N 2 -t 64k -b 256k");
    assert_ne!(told.code(), 0, "{}", told.out);
    assert!(told.err.contains("one worker on each rank") || told.out.contains("one worker on each rank"));
    Ok(())
}

fn no_library() -> Outcome {
    let home = scratch();
    let mut command = super::program::command(home.path(), "-a MPIIO -t 64k -b 256k");
    command.env("IODYNO_MPI", "off");
    let told = super::program::told(command);
    assert_ne!(told.code(), 0);
    assert!(format!("{}{}", told.out, told.err).contains("IODYNO_MPI=off"), "{}", told.err);
    Ok(())
}
