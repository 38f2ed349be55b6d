//! What object stores are started from: Debian's packages of Ceph, Maven's jars of Hadoop and Hadoop's library, a gateway that Go
//! builds.
//!
//! Programs are installed by apt where we are root and they are missing. Nobody has a build of libhdfs in a registry, but the
//! crate `hdfs-sys` has its source: the C compiler makes the library of it, for the tests alone. It refuses to fail the run:
//! what cannot be had is a sentence, and the cases count themselves as skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Names the folder to the tests.
pub const FETCHED: &str = "IODYNO_OBJECTS";
/// A program of each package, and the package. fio has the engine `rados`.
const INSTALLED: [(&str, &str); 9] = [
    ("radosgw", "radosgw"),
    ("ceph-mon", "ceph-mon"),
    ("ceph-osd", "ceph-osd"),
    ("rados", "ceph-common"),
    ("fio", "fio"),
    ("java", "openjdk-17-jre-headless"),
    ("javac", "openjdk-17-jdk-headless"),
    ("mvn", "maven"),
    ("gcc", "gcc"),
];
/// A name node and a data node with all that they need.
const HADOOP: &str = "3.4.1";
/// Hadoop's C library asks for this one by its own name, which the jars have renamed.
const LANGUAGE: &str = "3.14.0";
/// Has the source of Hadoop 3.3's library, which speaks to later ones.
const SOURCE: &str = "0.3.1";
const LIMIT: Duration = Duration::from_secs(10 * 60);
const GATEWAY: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
/// Compiling the gateway with all that it imports.
const GO_LIMIT: Duration = Duration::from_secs(40 * 60);

/// The folder for what is fetched, once everything is there that can be had; what cannot is told.
///
/// # Errors
/// There can be no folder.
pub fn fetched(root: &Path) -> Result<PathBuf, String> {
    let missing: Vec<&str> =
        INSTALLED.iter().filter(|(program, _)| shell::find(program).is_none()).map(|found| found.1).collect();
    if !missing.is_empty()
        && let Err(why) = install(&missing)
    {
        println!("{} cannot be installed: {why}", missing.join(" and "));
    }
    let folder = root.join("target/objects");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if let Err(why) = jars(&folder) {
        println!("Hadoop cannot be fetched: {why}");
    }
    if let Err(why) = library(&folder) {
        println!("Hadoop's library cannot be built: {why}");
    }
    if let Err(why) = gateway(&folder) {
        println!("versitygw cannot be built: {why}");
    }
    Ok(folder)
}

/// Hadoop's jars, in the folder `hadoop`.
fn jars(folder: &Path) -> Result<(), String> {
    if folder.join("hadoop").is_dir() {
        return Ok(());
    }
    let project = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion><groupId>tests</groupId>\
         <artifactId>tests</artifactId><version>1</version><dependencies><dependency>\
         <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId>\
         <version>{HADOOP}</version></dependency><dependency><groupId>org.apache.commons</groupId>\
         <artifactId>commons-lang3</artifactId><version>{LANGUAGE}</version></dependency></dependencies></project>"
    );
    write(&folder.join("pom.xml"), &project)?;
    // Whole under another name first.
    run("mvn", &["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=fetching"], folder)?;
    std::fs::rename(folder.join("fetching"), folder.join("hadoop")).map_err(|error| error.to_string())
}

/// `libhdfs.so`, made of the source that the crate has.
fn library(folder: &Path) -> Result<(), String> {
    let library = folder.join("libhdfs.so");
    if library.is_file() {
        return Ok(());
    }
    let package = folder.join("source");
    std::fs::create_dir_all(package.join("src")).map_err(|error| error.to_string())?;
    let manifest = format!(
        "[package]\nname = \"source\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
         hdfs-sys = \"={SOURCE}\"\n"
    );
    write(&package.join("Cargo.toml"), &manifest)?;
    write(&package.join("src/lib.rs"), "")?;
    let said = run("cargo", &["metadata", "--format-version", "1"], &package)?;
    let said = said.iter().find(|line| line.starts_with('{')).ok_or("cargo says nothing of it")?;
    let facts: serde_json::Value = serde_json::from_str(said).map_err(|error| error.to_string())?;
    let packages = facts["packages"].as_array().into_iter().flatten();
    let crate_of = packages
        .filter(|package| package["name"] == "hdfs-sys")
        .find_map(|package| package["manifest_path"].as_str());
    let source = Path::new(crate_of.ok_or("no such crate")?).with_file_name("libhdfs");
    let java = shell::find("javac").and_then(|path| path.canonicalize().ok()).ok_or("no Java compiler")?;
    let java = java.ancestors().nth(2).ok_or("no folder of Java")?;
    let (version, machine) = (source.join("hdfs_3_3"), java.join("lib/server"));
    let mut arguments: Vec<String> =
        ["-shared", "-fPIC", "-O1", "-w", "-o", "libhdfs.so.new"].map(String::from).to_vec();
    for folder in [version.clone(), version.join("os/posix")] {
        let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let files = files.flatten().map(|entry| entry.path().display().to_string());
        arguments.extend(files.filter(|path| path.ends_with(".c")));
    }
    let headers = [
        source.clone(),
        version.clone(),
        version.join("os"),
        version.join("os/posix"),
        version.join("include"),
        version.join("include/hdfs"),
        java.join("include"),
        java.join("include/linux"),
    ];
    arguments.extend(headers.iter().map(|folder| format!("-I{}", folder.display())));
    // The tests' programs find the Java machine without a variable.
    arguments.extend([
        format!("-L{}", machine.display()),
        format!("-Wl,-rpath,{}", machine.display()),
        "-ljvm".into(),
        "-ldl".into(),
        "-lpthread".into(),
    ]);
    run("gcc", &arguments.iter().map(String::as_str).collect::<Vec<_>>(), folder)?;
    std::fs::rename(folder.join("libhdfs.so.new"), library).map_err(|error| error.to_string())
}

/// A gateway that speaks the S3 API and keeps objects as files, made by Go of its source; the first time takes minutes.
///
/// # Errors
/// There is no Go, or its module proxy does not answer.
pub fn gateway(folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join("bin/versitygw");
    if !program.is_file() {
        go(folder, &["install", GATEWAY])?;
    }
    Ok(program)
}

/// The Go command, whose programs go to the folder's `bin`.
///
/// # Errors
/// What it said.
pub fn go(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let go = shell::find("go").ok_or("Go (go) is not installed")?;
    let mut command = Command::new(go);
    command.args(arguments).current_dir(folder).env("GOBIN", folder.join("bin"));
    command.env("GOFLAGS", "-mod=mod -buildvcs=false -p=2").env("CGO_ENABLED", "0");
    let outcome = shell::run(command, None, GO_LIMIT)?;
    if outcome.success {
        Ok(())
    } else {
        Err(format!("go {}: {}", arguments.join(" "), outcome.last_words()))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    let outcome = shell::run(command, None, LIMIT)?;
    if outcome.success { Ok(outcome.lines) } else { Err(format!("{program}: {}", outcome.last_words())) }
}

fn install(packages: &[&str]) -> Result<(), String> {
    for arguments in [&["update"][..], &[&["install", "-y", "--no-install-recommends"], packages].concat()] {
        let mut command = Command::new("apt-get");
        command.args(["-q", "-o", "DPkg::Lock::Timeout=120"]).args(arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        let outcome = shell::run(command, None, LIMIT)?;
        // An old list may do.
        if !outcome.success && arguments != ["update"] {
            return Err(outcome.last_words().to_string());
        }
    }
    Ok(())
}
