//! Data sets in the formats of training: the programs that read them open what was made.

use std::path::Path;
use std::process::Command;

use testbed::python::environment;
use testbed::{Case, Need, Outcome};

use crate::program::{iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("numpy, h5py and Pillow open the files of a data set", &[Need::Tool("python3")], opened),
        Case::new("training input reads each format as its loader does, and leaves nothing", &[], read),
    ]
}

const PACKAGES: &[&str] = &["numpy", "h5py", "pillow"];

/// A target for each format: name, format, count, size.
const TARGETS: &[(&str, &str, u32, &str)] = &[
    ("npz", "\"npz\"", 3, "65536"),
    ("big", "{ kind = \"npz\", samples = 3 }", 1, "1MiB"),
    ("npy", "{ kind = \"npy\", samples = 2 }", 2, "10000"),
    ("tfrecord", "{ kind = \"tfrecord\", samples = 5 }", 2, "90000"),
    ("hdf5", "{ kind = \"hdf5\", samples = 4 }", 2, "10000"),
    ("chunks", "{ kind = \"hdf5\", samples = 3, chunk = \"1KiB\" }", 2, "10000"),
    ("csv", "{ kind = \"csv\", samples = 3 }", 2, "5000"),
    ("jpeg", "\"jpeg\"", 2, "150001"),
    ("png", "\"png\"", 2, "150001"),
    ("indexed_binary", "{ kind = \"indexed binary\", samples = 7 }", 2, "1000"),
];

/// All targets are made, and each is read by a phase of training input.
fn plan(targets: &[(&str, &str, u32, &str)], ends: &str) -> String {
    let target = |(name, format, count, size): &(&str, &str, u32, &str)| {
        let samples = format.split("samples = ").nth(1).and_then(|rest| rest[..1].parse().ok()).unwrap_or(1);
        format!(
            "[target.{name}]\nfiles = \"set/{name}\"\nname = \"f{{item}}\"\ncount = {count}\nformat = {format}\nsize = \"{size}\"\n\
             prepare = \"filled\"\ncreate = true\ndirectories_made = true\n{ends}\n\
             [[phase]]\nname = \"{name}\"\n[phase.training]\non = \"{name}\"\nsamples = {}\nreaders = 1\ncompute = \"1us\"\n",
            count * samples
        )
    };
    targets.iter().map(target).collect()
}

/// Opens everything, and prints what it found; a record's checksums are computed bit by bit.
const READER: &str = r#"
import struct, numpy, h5py
from PIL import Image
numpy.random.seed(0)
for name, shape in (("npz", (256, 256, 1)), ("big", (1024, 1024, 3))):
    archive = numpy.load(f"set/{name}/f0")
    x, y = archive["x"], archive["y"]
    assert x.shape == shape and x.dtype == numpy.uint8 and y.shape == shape[2:], (x.shape, y.shape)
    assert len(numpy.unique(x)) == 256, "random"
    assert archive.zip.testzip() is None
a, b = (numpy.load(f"set/npz/f{i}")["x"] for i in (0, 1))
assert not numpy.array_equal(a, b), "each file has content of its own"
assert numpy.load("set/npy/f1").shape == (100, 100, 2)
for name, chunks in (("hdf5", None), ("chunks", (1, 32, 32))):
    with h5py.File(f"set/{name}/f1") as file:
        records, labels = file["records"], file["labels"]
        assert records.shape[1:] == (100, 100) and records.chunks == chunks, (records.shape, records.chunks)
        assert len(numpy.unique(records[-1])) == 256 and not labels[:].any() and labels.shape[0] == records.shape[0]
lines = open("set/csv/f0").read().splitlines()
values = [[int(value) for value in line.split(",")] for line in lines]
assert len(values) == 3 and all(len(line) == 5000 and max(line) <= 255 for line in values)
for kind in ("jpeg", "png"):
    image = Image.open(f"set/{kind}/f1")
    image.load()
    assert image.format == kind.upper() and image.size == (8, 8)
    assert len(open(f"set/{kind}/f1", "rb").read()) == 150001
data = open("set/indexed_binary/f1", "rb").read()
offsets = numpy.fromfile("set/indexed_binary/f1.off.idx", dtype="<u8")
sizes = numpy.fromfile("set/indexed_binary/f1.sz.idx", dtype="<u8")
assert list(offsets) == [1000 * i for i in range(7)] and list(sizes) == [1000] * 7 and len(data) == 7000

table = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ 0x82F63B78 if byte & 1 else byte >> 1
    table.append(byte)
def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
data, at, count = open("set/tfrecord/f1", "rb").read(), 0, 0
while at < len(data):
    length, check = struct.unpack("<QI", data[at:at + 12])
    record = data[at + 12:at + 12 + length]
    assert check == masked(data[at:at + 8])
    assert struct.unpack("<I", data[at + 12 + length:at + 16 + length])[0] == masked(record)
    assert b"\x0a\x05image" in record[:24] and record.endswith(b"size\x12\x06\x1a\x04\x0a\x02\xac\x02"), record[-20:]
    at, count = at + 16 + length, count + 1
assert count == 5 and at == len(data)
print("all opened")
"#;

fn opened() -> Outcome {
    let python = environment(Path::new(env!("CARGO_TARGET_TMPDIR")), "datasets", PACKAGES)?;
    let home = scratch();
    std::fs::write(home.path().join("plan.toml"), plan(TARGETS, ""))?;
    let mut command = iodyno(["run", "plan.toml", "--quiet"]);
    command.current_dir(home.path());
    told(command).expect(0, &[]);
    let read = |text: &str| {
        Command::new(python.join("bin/python")).current_dir(home.path()).args(["-c", text]).output()
    };
    let done = read(READER)?;
    assert!(
        String::from_utf8_lossy(&done.stdout).contains("all opened"),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    // The reader finds a single bit.
    let path = home.path().join("set/tfrecord/f1");
    let mut bytes = std::fs::read(&path)?;
    bytes[50_000] ^= 1;
    std::fs::write(&path, bytes)?;
    assert!(!read(READER)?.status.success());
    Ok(())
}

fn read() -> Outcome {
    let home = scratch();
    let plan = plan(TARGETS, "remove = true\ninvalidate = true");
    std::fs::write(home.path().join("plan.toml"), plan)?;
    let mut command = iodyno(["run", "plan.toml", "--quiet", "--json", "record.json"]);
    command.current_dir(home.path());
    told(command).expect(0, &[]);
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(home.path().join("record.json"))?)?;
    let text = record.to_string();
    assert!(text.contains("\"completed\":true"), "{text}");
    let mut left = names(home.path());
    left.retain(|name| name != "plan.toml" && name != "record.json");
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}
