//! Commands that explain: pages of findings, the page cache of files, what a machine lacks.

use serde_json::Value;
use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

use crate::program::{iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a finding is explained in the words of a tool", &[], page),
        Case::new("all findings are listed, and what is none is refused", &[], list),
        Case::new("pages of a file are counted, dropped and counted again", &[Need::Loop], cached_file),
        Case::new("a directory's files are counted, and what is no file is refused", &[], cached_directory),
        Case::new("what a machine lacks is told with a remedy", &[], machine),
    ]
}

fn page() -> Outcome {
    let said = told(iodyno(["explain", "depth-not-reached", "--tool", "fio"]));
    said.expect(0, &["13. A depth that was not reached", "What to set:", "ioengine="]);
    told(iodyno(["explain", "13"])).expect(0, &["engine = \"io_uring\""]);
    Ok(())
}

fn list() -> Outcome {
    told(iodyno(["explain"])).expect(0, &["1 cached_reads", "41 starved_accelerators"]);
    told(iodyno(["explain", "99"])).refused(&["no finding has this number", "1 to 41"]);
    told(iodyno(["explain", "cached_read"])).refused(&["did you mean `cached_reads`"]);
    told(iodyno(["explain", "1", "--tool", "fioo"])).refused(&["did you mean `fio`"]);
    Ok(())
}

/// The bytes of a key of the only file in the JSON of `iodyno cache`.
fn of_file(json: &[u8], key: &str) -> Option<u64> {
    serde_json::from_slice::<Value>(json).ok()?["files"][0][key].as_u64()
}

fn cached_file() -> Outcome {
    let device = LoopDevice::new(32 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let file = mount.path().join("data");
    std::fs::write(&file, vec![1; 1 << 20])?;
    let name = file.to_string_lossy().into_owned();
    let before = told(iodyno(["cache", "--json", &name]));
    assert_eq!(of_file(before.out.as_bytes(), "cached_bytes"), Some(1 << 20), "{before:?}");
    let after = told(iodyno(["cache", "--json", "--evict", &name]));
    assert_eq!(of_file(after.out.as_bytes(), "after_bytes"), Some(0), "{after:?}");
    assert_eq!(of_file(told(iodyno(["cache", "--json", &name])).out.as_bytes(), "cached_bytes"), Some(0));
    Ok(())
}

fn cached_directory() -> Outcome {
    let folder = scratch();
    std::fs::create_dir(folder.path().join("inner"))?;
    std::fs::write(folder.path().join("a"), [1; 8192])?;
    std::fs::write(folder.path().join("inner/b"), [1; 4096])?;
    let name = folder.path().to_string_lossy().into_owned();
    told(iodyno(["cache", &name])).expect(0, &["inner/b", "12 KiB", "all 2 files"]);
    told(iodyno(["cache", "/dev/null"])).refused(&["neither a file nor a directory"]);
    told(iodyno(["cache", &format!("{name}/none")])).refused(&["cannot be read"]);
    told(iodyno(["cache"])).refused(&["PATH"]);
    Ok(())
}

fn machine() -> Outcome {
    told(iodyno(["doctor"])).expect(0, &["root", "fuse", "io_uring", "device counters", "mpiio"]);
    let said = told(iodyno(["doctor", "--json"]));
    let checks: Value = serde_json::from_str(&said.out)?;
    for check in checks["checks"].as_array().ok_or("no checks")? {
        let (works, remedy) = (check["works"].as_bool(), check["remedy"].as_str());
        assert_eq!(works == Some(true), remedy == Some(""), "{check}");
    }
    Ok(())
}
