//! The engine `hdfs`, IOR and fio's chunks by Hadoop's own library in a Hadoop of this machine, whose own shell counts the files.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::hadoop::Hadoop;
use testbed::program::Program;
use testbed::{Case, Need, Outcome, Skip};

use super::program::{command, expect, fetched, is_fetched, scratch};

pub fn cases() -> Vec<Case> {
    let needs = [Need::That(is_fetched)];
    vec![Case::new("hadoop_holds_what_was_written_and_verified", &needs, all).against()]
}

/// Where the library and the jars are, as xtask lays them.
fn parts() -> Result<(PathBuf, PathBuf), Skip> {
    let folder = fetched()?;
    let library = folder.join("libhdfs.so");
    match library.is_file() {
        true => Ok((library, folder.join("hadoop"))),
        false => Err(Skip::new("Hadoop's library was not built")),
    }
}

struct Beside<'a> {
    hadoop: &'a Hadoop,
    library: PathBuf,
    home: &'a Path,
}

impl Beside<'_> {
    fn command(&self, line: &str) -> Command {
        let mut command = command(self.home, line);
        command.env("IODYNO_HDFS", &self.library).env("CLASSPATH", self.hadoop.class_path());
        command
    }

    fn plan(&self, text: &str, words: &[&str]) -> Outcome {
        std::fs::write(self.home.join("p.toml"), text)?;
        expect(self.command("run p.toml"), 0, words);
        Ok(())
    }
}

/// Files and bytes below a directory, as Hadoop's shell counts them.
fn count(hadoop: &Hadoop, directory: &str) -> Result<(u64, u64), String> {
    let text = hadoop.shell(&["-count", directory])?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [_, files, bytes, ..] => Ok((files, bytes)),
        _ => Err(format!("no counts: {text}")),
    }
}

fn all() -> Outcome {
    let (library, jars) = parts()?;
    let hadoop = Hadoop::start(&jars)?;
    let home = scratch();
    let beside = Beside { hadoop: &hadoop, library, home: home.path() };
    let address = hadoop.address();
    let phase = |verb: &str, more: &str| {
        format!(
            "[[phase]]\nname = \"{verb}\"\n[[phase.job]]\nname = \"{verb}\"\nengine = \"hdfs\"\non = \"t\"\ndo = \"{verb}\"\n\
             until = {{ passes = 1 }}\n{more}\n"
        )
    };
    let target = format!("[target.t]\nbucket = \"hdfs://{address}/run\"\ncount = 8\nsize = \"256KiB\"\n");
    let data = "block = \"16KiB\"\nverify = true\n";
    let read = phase("read", &format!("{data}pick = \"random\"\nworkers = 2"));
    beside.plan(&format!("{target}{}{read}", phase("write", data)), &["128", "2 MiB"])?;
    assert_eq!(count(&hadoop, "/run")?, (8, 2 << 20));
    let items: String = ["stat", "readdir", "unlink"].iter().map(|verb| phase(verb, "")).collect();
    beside.plan(&format!("{target}{items}"), &["unlink"])?;
    assert_eq!(count(&hadoop, "/run")?, (0, 0));
    let line =
        format!("ior -a HDFS --hdfs.name_node={address} -t 64k -b 256k -N 2 -F -w -r -R -e -k -o /ior");
    expect(beside.command(&line), 0, &["api                 : HDFS", "write  ", "read  "]);
    assert_eq!(count(&hadoop, "/ior.00000000")?, (1, 256 << 10));
    let line = format!(
        "mdtest -a HDFS --hdfs.name_node={address} -I 4 -b 2 -z 1 -w 3901 -e 3901 -N 1 -G 5 -d /mdtest --also threads=2"
    );
    expect(beside.command(&format!("{line} -C -T -E -X -y")), 0, &["File creation", "File read"]);
    assert_eq!(count(&hadoop, "/mdtest")?, (24, 24 * 3901));
    expect(beside.command(&format!("{line} -r")), 0, &["File removal", "Tree removal"]);
    let left = hadoop.shell(&["-count", "/mdtest"])?;
    let left: Vec<&str> = left.split_whitespace().take(3).collect();
    assert_eq!(left, ["1", "0", "0"], "the directory of -d stays, and nothing in it");
    // The next card removes what a killed one left, and leaves no directory itself.
    let line = format!("measure hdfs://{address}/card --quick --time 100ms");
    let mut run = Program::new(beside.command(&line.replace("100ms", "5s"))).start();
    run.until("a file of the run", || count(&hadoop, "/card").is_ok_and(|(files, _)| files > 0));
    run.signal(libc::SIGKILL);
    run.end();
    let words = ["left by a run that was killed", "removed", "Strong as far as this was tried"];
    expect(beside.command(&line), 0, &words);
    let left = hadoop.shell(&["-count", "/card"])?;
    assert_eq!(left.split_whitespace().take(3).collect::<Vec<_>>(), ["1", "0", "0"]);
    let port = address.rsplit(':').next().unwrap_or_default();
    let line = format!(
        "fio --name=j --ioengine=libhdfs --namenode=127.0.0.1 --port={port} --hdfsdirectory=/fio --bs=16k --size=512k \
         --chunk_size=65536 --rw=randread"
    );
    expect(beside.command(&line), 0, &["err= 0", "total=32,0,0,0 short=0"]);
    assert_eq!(count(&hadoop, "/fio")?, (8, 512 << 10));
    Ok(())
}
