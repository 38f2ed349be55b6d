//! fio's `http` and IOR's `S3` on a store in this process: which requests come of a command line, and that the keys that
//! stood in it are nowhere afterwards: in no output, file, process list or core dump.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::program::{Program, ProgramOutput};
use testbed::store::{
    ACCESS_KEY, LoggedRequest, ObjectStore, SECRET_KEY, StoreFault, StoreOptions, without_keys,
};
use testbed::{Case, Need, Outcome, wait};

use crate::program::{IODYNO, iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("fio's blocks are objects, read, verified and trimmed", &[], fio_blocks),
        Case::new("fio reads ranges of one object, and zeros where none is", &[], fio_reads),
        Case::new("what of fio's engine is not served is said", &[], fio_refusals),
        Case::new("tasks of IOR put the parts of one object", &[], ior_parts),
        Case::new("IOR's other back end keeps an object for each transfer", &[], ior_transfers),
        Case::new("IOR's other back end keeps a bucket for each file", &[], ior_buckets),
        Case::new("an upload of IOR that lacks a part is given up", &[], ior_faults),
        Case::new("mdtest's files and directories are objects", &[], mdtest_objects),
        Case::new("what of mdtest objects cannot do is said", &[], mdtest_refusals),
        Case::new("ranks of IOR put the parts of one object", &[Need::Tool("mpirun")], ior_ranks).computes(),
        Case::new("keys of a command line are in no output and no file", &[], outputs),
        Case::new("keys of a job file are in no output and no file", &[], job_files),
        Case::new("a run is done again with the keys of the environment", &[], rerun),
        Case::new("keys are in no process list and in no core dump", &[], core_dumps),
        Case::new("keys of warp's variables are in no core dump", &[], warps_variables),
    ]
}

const TOKEN: &str = "a token that nobody repeats";
const CUSTOMER_KEY: &str = "32 letters that nobody repeats!!";

fn store() -> ObjectStore {
    ObjectStore::start(StoreOptions::default())
}

fn host(store: &ObjectStore) -> String {
    store.endpoint().replace("http://", "")
}

/// A command with no keys in its environment, whose history lies in its directory.
fn bare(home: &Path, words: &[&str]) -> Command {
    let mut command = iodyno(words);
    command.current_dir(home).env("HOME", home).env("IODYNO_HISTORY", home.join("history"));
    without_keys(&mut command);
    command
}

fn fio(home: &Path, store: &ObjectStore, words: &[&str]) -> Command {
    let (host, id) = (format!("--http_host={}", host(store)), format!("--http_s3_keyid={ACCESS_KEY}"));
    let key = format!("--http_s3_key={SECRET_KEY}");
    let own = ["fio", "--name=j", "--ioengine=http", "--http_mode=s3", &host, &id, &key];
    let more = ["--filename=/bucket/pre/o", "--bs=4k", "--size=32k"];
    bare(home, &[&own[..], &more[..], words].concat())
}

/// Each request as method, key and the named header.
fn requests(store: &ObjectStore, header: &str) -> Vec<String> {
    let one = |request: LoggedRequest| {
        let value = request.headers.get(header).cloned().unwrap_or_default();
        format!("{} {} {value}", request.method, request.key).trim_end().to_string()
    };
    store.log().into_iter().map(one).collect()
}

fn fio_blocks() -> Outcome {
    let (store, home) = (store(), scratch());
    let said = told(fio(home.path(), &store, &["--rw=write", "--verify=crc32c"]));
    said.expect(0, &["write: IOPS=", "ioengine=http"]);
    let keys: Vec<String> = (0..8).map(|block| format!("pre/o_{}_4096", block * 4096)).collect();
    let (mut sorted, log) = (keys.clone(), requests(&store, "x-amz-storage-class"));
    sorted.sort();
    assert_eq!(store.keys(), sorted);
    let written: Vec<String> = keys.iter().map(|key| format!("PUT {key} STANDARD")).collect();
    let read: Vec<String> = keys.iter().map(|key| format!("GET {key}")).collect();
    assert_eq!(log, [written, read].concat());
    assert!(store.log().iter().all(|request| request.headers["x-amz-content-sha256"].len() == 64));
    // Objects of another hand are found to be so.
    store.put("pre/o_4096_4096", vec![7; 4096]);
    let wrong = told(fio(home.path(), &store, &["--rw=read", "--verify=crc32c"]));
    assert!(wrong.code() != 0 && wrong.all().contains("verify"), "{}", wrong.all());
    told(fio(home.path(), &store, &["--rw=trim"])).expect(0, &["trim: IOPS="]);
    assert_eq!((store.keys(), store.count("DELETE")), (Vec::new(), 8));
    Ok(())
}

fn fio_reads() -> Outcome {
    let (store, home) = (store(), scratch());
    store.put("pre/o", vec![1; 32 << 10]);
    told(fio(home.path(), &store, &["--rw=read", "--http_object_mode=range"])).expect(0, &["read: IOPS="]);
    let ranges = requests(&store, "range");
    assert_eq!((ranges.len(), ranges[1].as_str()), (8, "GET pre/o bytes=4096-8191"));
    // As fio: what is not there is read as zeros.
    told(fio(home.path(), &store, &["--rw=randread"])).expect(0, &["read: IOPS=", "err= 0"]);
    assert_eq!(store.log().iter().filter(|request| request.status == 404).count(), 8);
    // The bucket stands before the host.
    let virtual_host = ["--rw=write", "--filename=/x", "--size=4k", "--http_host=bucket.localhost:1"];
    let said = told(fio(home.path(), &store, &virtual_host));
    assert!(said.code() != 0 && !said.all().contains("names no bucket"), "{}", said.all());
    Ok(())
}

fn fio_refusals() -> Outcome {
    let (store, home) = (store(), scratch());
    for (words, told_words) in [
        (&["--rw=write", "--http_mode=swift"][..], &["Swift is not served", "S3 gateway"][..]),
        (&["--rw=write", "--http_mode=webdav"], &["WebDAV is not served", "http_mode=s3"]),
        (&["--rw=write", "--http_object_mode=range"], &["changes the whole object", "block mode"]),
        (&["--rw=write", "--bsrange=4k-8k"], &["blocks of one length", "one bs="]),
        (&["--rw=write", "--filename=o"], &["begins with a slash", "filename=/BUCKET/NAME"]),
        (&["--rw=write", "--filename=/o"], &["names no bucket", "BUCKET.HOST"]),
        (&["--rw=write", "--https=insecure"], &["may be anybody", "https=on"]),
        (&["--rw=write", "--http_s3_sse_customer_key=short"], &["32 characters"]),
    ] {
        let said = told(fio(home.path(), &store, words));
        assert_ne!(said.code(), 0, "{words:?}");
        for word in told_words {
            assert!(said.all().contains(word), "{words:?}: `{word}`:\n{}", said.all());
        }
        assert!(!said.all().contains(SECRET_KEY) && !said.all().contains("panicked"), "{}", said.all());
    }
    assert_eq!(store.log().len(), 0);
    Ok(())
}

fn ior_words(store: &ObjectStore, line: &str) -> Vec<String> {
    let own = format!("ior --S3.host={} --S3.bucket-name=bucket --S3.access-key={ACCESS_KEY}", host(store));
    let mut words: Vec<String> =
        own.split_whitespace().chain(line.split_whitespace()).map(Into::into).collect();
    words.push(format!("--S3.secret-key={SECRET_KEY}"));
    words
}

fn ior(home: &Path, store: &ObjectStore, line: &str) -> ProgramOutput {
    let words = ior_words(store, line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    told(bare(home, &words))
}

/// The parts that were put, by number, and how often an upload was begun, completed and given up.
fn uploads(store: &ObjectStore) -> (Vec<u32>, [usize; 3]) {
    let log = store.log();
    let mut parts: Vec<u32> =
        log.iter().filter_map(|request| request.query.get("partNumber")?.parse().ok()).collect();
    parts.sort_unstable();
    let count = |method: &str, name: &str| {
        let is_it = |request: &&LoggedRequest| request.method == method && request.query.contains_key(name);
        log.iter().filter(is_it).count()
    };
    (parts, [count("POST", "uploads"), count("POST", "uploadId"), count("DELETE", "uploadId")])
}

fn ior_parts() -> Outcome {
    let (store, home) = (store(), scratch());
    let shared = "-a S3 -N 3 -t 64k -b 128k -s 2 -C -w -r -W -R -k -o f";
    let said = ior(home.path(), &store, shared);
    said.expect(0, &["api : S3", "aggregate filesize : 786432 bytes"]);
    assert!(!said.all().contains("incorrect data"), "{}", said.all());
    assert_eq!((store.keys(), uploads(&store)), (vec!["f".to_string()], ((1..=12).collect(), [1, 1, 0])));
    assert_eq!(store.object("f").map(|bytes| bytes.len()), Some(768 << 10));
    let own = ior(home.path(), &store, "-a S3-4c -N 2 -F -t 64k -b 128k -w -r -R -k -o own");
    own.expect(0, &["access : file-per-process"]);
    assert_eq!(store.keys(), ["f", "own.00000000", "own.00000001"]);
    // Without -k nothing stays; a time that cuts a task off leaves what was written.
    ior(home.path(), &store, "-a S3_plus -N 2 -F -t 64k -b 128k -w -r -o gone").expect(0, &[]);
    assert_eq!((store.keys().len(), store.open_uploads()), (3, 0));
    for (line, words) in [
        ("-a S3 -N 2 -t 64k -b 1g -w -o f", &["at most 10000 parts", "S3-libs3"][..]),
        ("-a S3 -N 2 -D 5 -t 64k -b 128k -w -o f", &["lacks parts", "-F"]),
        ("-a S3 --S3-libs3.bucket-per-file -w -o f", &["only S3-libs3 has a bucket for each file"]),
        ("-a S3 --S3-libs3.hots=x -w -o f", &["no option"]),
    ] {
        let said = ior(home.path(), &store, line);
        assert_ne!(said.code(), 0, "{line}");
        words.iter().for_each(|word| assert!(said.all().contains(word), "{line}: {word}:\n{}", said.all()));
    }
    Ok(())
}

fn ior_buckets() -> Outcome {
    let options = StoreOptions { bucket: "x-fb".into(), lacks_bucket: true, ..StoreOptions::default() };
    let (store, home) = (ObjectStore::start(options), scratch());
    let line = "-a S3-libs3 --S3-libs3.bucket-per-file --S3-libs3.bucket-name-prefix=x --S3-libs3.dont-suffix-bucket -N 2 \
                -t 64k -b 128k -C -w -r -R -k -o f";
    ior(home.path(), &store, line).expect(0, &["api : S3-libs3"]);
    assert_eq!(store.keys(), ["0", "131072-65536", "196608-65536", "65536-65536"]);
    assert!(store.has_bucket());
    ior(home.path(), &store, &line.replace("-k -o", "-o")).expect(0, &[]);
    assert_eq!((store.keys(), store.has_bucket()), (Vec::new(), false));
    Ok(())
}

fn ior_transfers() -> Outcome {
    let (store, home) = (store(), scratch());
    let bucket = "--S3-libs3.bucket-name-prefix=bucket --S3-libs3.dont-suffix-bucket";
    let line = format!("-a S3-libs3 {bucket} -N 2 -t 64k -b 128k -C -w -r -W -R -k -o a/F.x");
    ior(home.path(), &store, &line).expect(0, &["api : S3-libs3"]);
    let name = "a_fbuxb";
    let names = [65536, 131_072, 196_608].map(|offset| format!("{name}-{offset}-65536"));
    let mut expected: Vec<String> = std::iter::once(name.to_string()).chain(names).collect();
    expected.sort();
    assert_eq!(store.keys(), expected);
    store.put("theirs", b"stays".to_vec());
    ior(home.path(), &store, &line.replace("-k -o", "-o")).expect(0, &[]);
    // A bucket in which somebody else has something stays, too.
    assert_eq!((store.keys(), store.has_bucket()), (vec!["theirs".to_string()], true));
    // One that was there before stays, if it is empty.
    store.remove("theirs");
    ior(home.path(), &store, &line.replace("-k -o", "-o")).expect(0, &[]);
    assert_eq!((store.keys(), store.has_bucket()), (Vec::new(), true));
    // Its own bucket is named after the access key, as IOR does it.
    let said = told(bare(
        home.path(),
        &["plan", "ior", "-a", "S3-libs3", "--S3-libs3.host=h", "--S3-libs3.access-key=abc", "-w"],
    ));
    // 97 + 98 × 10 + 99 × 100, and of that the last three digits.
    said.expect(0, &["bucket s3://ior977 "]);
    Ok(())
}

/// mdtest with the keys and the bucket of a store.
fn mdtest(home: &Path, store: &ObjectStore, line: &str) -> ProgramOutput {
    let (host, id) = (format!("--S3.host={}", host(store)), format!("--S3.access-key={ACCESS_KEY}"));
    let key = format!("--S3.secret-key={SECRET_KEY}");
    let own = ["mdtest", "-a", "S3", &host, &id, &key, "--S3.bucket-name=bucket", "--also", "threads=2"];
    let words: Vec<&str> = own.into_iter().chain(line.split_whitespace()).collect();
    told(bare(home, &words))
}

fn mdtest_objects() -> Outcome {
    let (store, home) = (store(), scratch());
    let line = "-d ./a/b -b 2 -z 1 -I 1 -w 3901 -e 3901 -G 7 -N 1";
    let said = mdtest(home.path(), &store, &format!("{line} -C -T -E -X"));
    said.expect(0, &["Path : s3://bucket", "2 tasks, 6 files/directories"]);
    assert!(
        !said.all().contains(SECRET_KEY) && said.all().contains("'--S3.secret-key=***'"),
        "{}",
        said.all()
    );
    let root = "a/b/test-dir.0-0/mdtest_tree.0/";
    let folders = ["", "mdtest_tree.1/", "mdtest_tree.2/"].map(|below| format!("{root}{below}"));
    let items = folders.iter().zip(0..).flat_map(|(above, item)| {
        [0, 1]
            .map(|task| format!("mdtest.{task}.{item}"))
            .into_iter()
            .flat_map(move |name| [format!("{above}dir.{name}/"), format!("{above}file.{name}")])
    });
    let mut expected: Vec<String> = folders.iter().cloned().chain(items).collect();
    expected.sort();
    assert_eq!(store.keys(), expected);
    let lengths = |method: &str, ends: bool| -> Vec<u64> {
        let is_it = |request: &LoggedRequest| request.method == method && request.key.ends_with('/') == ends;
        let mut lengths: Vec<u64> =
            store.log().into_iter().filter(is_it).map(|request| request.body_bytes).collect();
        lengths.dedup();
        lengths
    };
    assert_eq!((lengths("PUT", true), lengths("PUT", false)), (vec![0], vec![3901]));
    let count = |method: &str| store.log().iter().filter(|request| request.method == method).count();
    // Three directories of the tree, two tasks with three directories and three files each; each is looked at once.
    assert_eq!((count("PUT"), count("HEAD")), (15, 12));
    // Bytes of another run are no bytes of this one.
    let other = mdtest(home.path(), &store, &format!("{} -F -E -X", line.replace("-G 7", "-G 8")));
    assert!(other.code() != 0 && other.all().contains("item"), "{}", other.all());
    mdtest(home.path(), &store, &format!("{line} -r")).expect(0, &["Tree removal", "File removal"]);
    assert_eq!(store.keys(), [""; 0]);
    // A file that is not there is no success.
    let gone = mdtest(home.path(), &store, &format!("{line} -F -T"));
    assert!(gone.code() != 0 && gone.all().contains("6 operations failed"), "{}", gone.all());
    Ok(())
}

fn mdtest_refusals() -> Outcome {
    let (store, home) = (store(), scratch());
    for (line, words) in [
        ("-n 2 -U", &["an object has no other name", "leave -U out"][..]),
        ("-n 2 -k -F", &["an object is no node"]),
        ("-n 2 -F -w 10 -e 5", &["an object is read whole", "-e 0"]),
        ("-n 2 -F -w 10 --verify-write", &["not read back at once", "-X -E"]),
        ("-n 2 --posix.odirect", &["no page cache"]),
        ("-n 2 -d ../x", &["no `..`"]),
        ("-n 2 --S3-libs3.bucket-per-file", &["stores a few hundred buckets"]),
        ("-n 2 --also phases=link", &["objects have none of them"]),
        ("-n 2 --S3.host=a/b", &["more than HOST:PORT"]),
    ] {
        let said = mdtest(home.path(), &store, line);
        assert_ne!(said.code(), 0, "{line}");
        for word in words {
            assert!(said.all().contains(word), "{line}: `{word}`:\n{}", said.all());
        }
    }
    assert_eq!(store.log().len(), 0);
    told(bare(home.path(), &["mdtest", "-a", "S3", "-n", "1"]))
        .expect(1, &["the store's host must be specified"]);
    // What the engine finds before anything begins.
    let user = ["mdtest", "-a", "S3-4c", "--S3-4c.host=127.0.0.1:1", "--S3.user=nobody", "-n", "1"];
    let said = told(bare(home.path(), &user));
    said.expect(1, &["ERROR: ", ".awsAuth"]);
    assert!(said.out.is_empty(), "{}", said.out);
    Ok(())
}

fn ior_faults() -> Outcome {
    let fails = |request: &LoggedRequest| match request.query.get("partNumber").map(String::as_str) {
        Some("3") => StoreFault::Status(500, "InternalError"),
        _ => StoreFault::None,
    };
    let (store, home) =
        (ObjectStore::start(StoreOptions { program: Box::new(fails), ..StoreOptions::default() }), scratch());
    let said = ior(home.path(), &store, "-a S3 -N 2 -t 64k -b 128k -w -k -o f");
    assert!(said.code() != 0 && said.all().contains("the upload was given up"), "{}", said.all());
    assert_eq!((store.keys(), store.open_uploads()), (Vec::new(), 0));
    Ok(())
}

fn ior_ranks() -> Outcome {
    let (store, home) = (store(), scratch());
    let mut command = Command::new("mpirun");
    if Program::of("mpirun", ["--version"]).outcome().is_ok_and(|told| told.out.contains("Open MPI")) {
        command.args(["--allow-run-as-root", "--oversubscribe"]).env("OMPI_MCA_mpi_yield_when_idle", "1");
        let _ = testbed::sandbox::keep_sessions(&mut command, Path::new(env!("CARGO_TARGET_TMPDIR")));
    }
    // The keys stand in a script that the first rank alone reads.
    let script = format!(
        "IOR START\napi=S3\nS3-libs3.host={}\nS3-4c.bucket-name=bucket\nS3-libs3.access-key={ACCESS_KEY}\n\
         S3-libs3.secret-key={SECRET_KEY}\ntestFile=f\nblockSize=128k\ntransferSize=64k\nsegmentCount=2\nkeepFile=1\n\
         reorderTasksConstant=1\ncheckRead=1\nwriteFile=1\nRUN\nIOR STOP\n",
        host(&store)
    );
    let script = script.replace("reorderTasksConstant", "reorderTasks");
    std::fs::write(home.path().join("script"), script)?;
    command
        .args(["-n", "2", IODYNO, "ior", "-f", "script"])
        .current_dir(home.path())
        .env("HOME", home.path());
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    let said = told(command);
    said.expect(0, &["tasks : 2", "aggregate filesize : 524288 bytes"]);
    assert!(!said.all().contains(SECRET_KEY));
    assert_eq!(uploads(&store), ((1..=8).collect(), [1, 1, 0]));
    assert_eq!(store.object("f").map(|bytes| bytes.len()), Some(512 << 10));
    Ok(())
}

/// The files below a directory that hold one of these texts.
fn holders(directory: &Path, texts: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a name").path();
        if path.is_dir() {
            found.extend(holders(&path, texts));
        } else if std::fs::read(&path).is_ok_and(|held| texts.iter().any(|text| has(&held, text))) {
            found.push(path);
        }
    }
    found
}

fn has(bytes: &[u8], text: &str) -> bool {
    let (text, first) = (text.as_bytes(), text.as_bytes()[0]);
    let at = |at: &usize| bytes[*at] == first && bytes[*at..].starts_with(text);
    (0..bytes.len()).any(|place| at(&place))
}

const OUTPUTS: &str = "save,json=r.json,html=r.html";

fn outputs() -> Outcome {
    let (store, home) = (store(), scratch());
    let secrets = [SECRET_KEY, TOKEN, CUSTOMER_KEY];
    let (token, customer) =
        (format!("--http_s3_security_token={TOKEN}"), format!("--http_s3_sse_customer_key={CUSTOMER_KEY}"));
    let more =
        ["--also", OUTPUTS, "--rw=write", &token, &customer, "--output-format=json+", "--output=o.json"];
    let said = told(fio(home.path(), &store, &more));
    said.expect(0, &[]);
    let sent = store.log();
    assert!(sent.iter().all(|request| request.headers["x-amz-security-token"] == TOKEN));
    let digest = "x-amz-server-side-encryption-customer-key-md5";
    assert!(sent.iter().all(|request| request.headers.get(digest).is_some_and(|text| text.len() == 24)));
    assert!(!secrets.iter().any(|secret| said.all().contains(secret)), "{}", said.all());
    assert_eq!(holders(home.path(), &secrets), Vec::<PathBuf>::new());
    assert!(!holders(home.path(), &["\"http_s3_key\""]).is_empty(), "fio's own document names its options");
    assert!(!holders(home.path(), &["secret_key"]).is_empty(), "the record names its settings");
    // What is printed before, and what is said of a misspelt option.
    let words =
        ["plan", "fio", "--name=j", "--ioengine=http", "--http_mode=s3", "--http_host=h", "--rw=write"];
    let more = ["--filename=/bucket/o", "--size=4k", &token, &customer];
    let key = format!("--http_s3_key={SECRET_KEY}");
    let planned = told(bare(home.path(), &[&words[..], &more[..], &[&key]].concat()));
    planned.expect(0, &["secret_key = ***", "session_token = ***"]);
    assert!(!secrets.iter().any(|secret| planned.all().contains(secret)), "{}", planned.all());
    let misspelt = format!("--http_s3_kye={SECRET_KEY}");
    let wrong = told(bare(home.path(), &["fio", &misspelt, "--name=j"]));
    assert!(wrong.code() != 0 && !wrong.all().contains(SECRET_KEY), "{}", wrong.all());
    assert!(wrong.all().contains("http_s3_kye"), "{}", wrong.all());
    Ok(())
}

fn job_files() -> Outcome {
    let (store, home) = (store(), scratch());
    let job = format!(
        "[j]\nioengine=http\nhttp_mode=s3\nhttp_host={}\nhttp_s3_keyid = {ACCESS_KEY}\nhttp_s3_key = ${{MY_KEY}} # here\n\
         filename=/bucket/o\nbs=4k\nsize=32k\nrw=write\n",
        host(&store)
    );
    // Outside of the directory that is looked through.
    let apart = scratch();
    let path = apart.path().join("job.fio").display().to_string();
    std::fs::write(&path, &job)?;
    let run = |words: &[&str]| {
        let mut command = bare(home.path(), &[&["fio"][..], words, &[&path]].concat());
        command.env("MY_KEY", SECRET_KEY);
        told(command)
    };
    run(&["--also", OUTPUTS]).expect(0, &["write: IOPS="]);
    assert_eq!(store.count("PUT"), 8);
    let shown = run(&["--showcmd"]);
    assert!(shown.all().contains("--http_s3_key=***"), "{}", shown.all());
    std::fs::write(&path, job.replace("${MY_KEY}", SECRET_KEY))?;
    let said = run(&["--debug=parse"]);
    assert!(!said.all().contains(SECRET_KEY) && !shown.all().contains(SECRET_KEY), "{}", said.all());
    assert_eq!(store.count("PUT"), 16);
    assert_eq!(holders(home.path(), &[SECRET_KEY]), Vec::<PathBuf>::new());
    Ok(())
}

fn rerun() -> Outcome {
    let (store, home) = (store(), scratch());
    told(fio(home.path(), &store, &["--also", "save", "--rw=write"])).expect(0, &[]);
    let again = |keys: bool| {
        let mut command = bare(home.path(), &["rerun", "last"]);
        if keys {
            command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        }
        told(command)
    };
    let without = again(false);
    assert_ne!(without.code(), 0);
    for word in ["not stored", "AWS_SECRET_ACCESS_KEY"] {
        assert!(without.all().contains(word), "{}", without.all());
    }
    let with = again(true);
    with.expect(0, &["its keys were not stored: those of the environment are used", "write: IOPS="]);
    assert_eq!(store.count("PUT"), 16);
    assert!(!with.all().contains(SECRET_KEY));
    Ok(())
}

/// What a core dump of a process would hold: all of its memory but what is marked to be left out (`dd` in proc(5)).
fn dumpable(pid: i32) -> std::io::Result<Vec<Vec<u8>>> {
    use std::os::unix::fs::FileExt;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps"))?;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
    let (mut parts, mut range) = (Vec::new(), 0..0);
    for line in maps.lines() {
        let bounds = line.split_once(' ').and_then(|(bounds, _)| bounds.split_once('-'));
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        if let Some((first, last)) = bounds.and_then(|(first, last)| Some((hex(first)?, hex(last)?))) {
            range = first..last;
        }
        let Some(flags) = line.strip_prefix("VmFlags:") else { continue };
        let flags: Vec<&str> = flags.split_whitespace().collect();
        if flags.contains(&"rd") && !flags.contains(&"dd") && !flags.contains(&"io") {
            let mut part = vec![0; (range.end - range.start) as usize];
            // The kernel's own pages cannot be read, and are in no dump.
            if memory.read_exact_at(&mut part, range.start).is_ok() {
                parts.push(part);
            }
        }
    }
    Ok(parts)
}

fn core_dumps() -> Outcome {
    let slow = StoreOptions { service: std::time::Duration::from_millis(20), ..StoreOptions::default() };
    let (store, home) = (ObjectStore::start(slow), scratch());
    let secrets = [SECRET_KEY, TOKEN, CUSTOMER_KEY];
    let words = [
        format!("--http_s3_security_token={TOKEN}"),
        format!("--http_s3_sse_customer_key={CUSTOMER_KEY}"),
        "--rw=randwrite".to_string(),
        "--time_based".to_string(),
        "--runtime=600".to_string(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let by_words = fio(home.path(), &store, &words);
    // The limit is the shell's to raise; what it starts takes its place.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited; exec \"$@\"", "sh"]).arg(by_words.get_program());
    shell.args(by_words.get_args()).current_dir(home.path()).env("HOME", home.path());
    let running = Program::new(shell).start();
    wait::until("writes", || store.count("PUT") > 20)?;
    let line = std::fs::read(format!("/proc/{}/cmdline", running.pid()))?;
    assert!(has(&line, "--http_s3_key=***") && has(&line, "--rw=randwrite"), "{line:?}");
    assert!(!secrets.iter().any(|secret| has(&line, secret)));
    let parts = dumpable(running.pid())?;
    assert!(parts.iter().any(|part| has(part, "/bucket/pre/o_")), "what is looked through is its memory");
    for secret in secrets {
        assert!(!parts.iter().any(|part| has(part, secret)), "`{secret}` is in memory that is dumped");
    }
    running.signal(libc::SIGABRT);
    let _ = running.outcome();
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let cores = holders(home.path(), &["/bucket/pre/o_"]);
    // A pattern with a pipe or a directory puts it elsewhere; what it would hold was looked through above.
    if !pattern.starts_with('|') && !pattern.contains('/') {
        assert!(!cores.is_empty(), "no core dump in {}", home.path().display());
    }
    assert_eq!(holders(home.path(), &secrets), Vec::<PathBuf>::new());
    Ok(())
}

/// The environment lies in pages of the process, where no option's value was taken out.
fn warps_variables() -> Outcome {
    let slow = StoreOptions { service: std::time::Duration::from_millis(5), ..StoreOptions::default() };
    let (store, home) = (ObjectStore::start(slow), scratch());
    let host = host(&store);
    let words = ["warp", "put", "--host", &host, "--bucket", "bucket", "--obj.size=4KiB", "--concurrent=2"];
    let mut command = bare(home.path(), &[&words[..], &["--duration=10m"]].concat());
    command.env("WARP_ACCESS_KEY", ACCESS_KEY).env("WARP_SECRET_KEY", SECRET_KEY);
    let running = Program::new(command).start();
    wait::until("writes", || store.count("PUT") > 20)?;
    let parts = dumpable(running.pid())?;
    running.signal(libc::SIGINT);
    let _ = running.outcome();
    assert!(parts.iter().any(|part| has(part, &host)), "what is looked through is its memory");
    assert!(!parts.iter().any(|part| has(part, SECRET_KEY)), "the key is in memory that is dumped");
    Ok(())
}
