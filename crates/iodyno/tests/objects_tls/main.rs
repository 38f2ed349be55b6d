//! Stores over TLS: a store in this process with certificates of its own.
//!
//! The program is built with the feature `tls` for it, by `cargo xtask against objects` or
//! `cargo test -p iodyno --features tls-tests --test objects_tls`.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use testbed::program::{Program, ProgramOutput};
use testbed::store::{ACCESS_KEY, Certificate, ObjectStore, SECRET_KEY, StoreFault, StoreOptions, with_keys};
use testbed::{Case, Outcome};

fn main() -> std::process::ExitCode {
    let case = |name: &str, run: fn() -> Outcome| Case::new(name, &[], run).against();
    testbed::run(vec![
        case("objects are written and read by TLS, and the handshake is told apart", objects),
        case("long objects go through TLS in parts", parts),
        case("sessions are resumed where the store closes connections", resumed),
        case("whose certificate is not trusted is refused in words", certificates),
        case("https to a port of http, and http to one of https, are told", wrong_ports),
        case("a connection that is cut within TLS is counted as such", cut),
        case("s3check speaks TLS", checked),
        case("fio, IOR, mdtest and warp speak TLS where their options say so", tools),
    ])
}

fn scratch() -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("tls-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch directory")
}

/// A store with this certificate, and a directory in which the certificate is the file `ca.pem`.
fn started(certificate: Certificate, fault: StoreFault) -> (ObjectStore, TempDir) {
    let home = scratch();
    std::fs::write(home.path().join("ca.pem"), &certificate.pem).expect("writing a file");
    let program = move |request: &testbed::store::LoggedRequest| match request.headers.contains_key("range") {
        true => fault.clone(),
        false => StoreFault::None,
    };
    let options =
        StoreOptions { tls: Some(certificate), program: Box::new(program), ..StoreOptions::default() };
    (ObjectStore::start(options), home)
}

fn local() -> Certificate {
    Certificate::of(&["localhost", "127.0.0.1"])
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.args(arguments).current_dir(home).env("HOME", home).env("XDG_DATA_HOME", home);
    with_keys(&mut command).env_remove("IODYNO_FINDINGS").env_remove("COLUMNS");
    command
}

/// Reads and, with a phase more, writes of four objects.
fn run(home: &Path, endpoint: &str, settings: &str, job: &str) -> ProgramOutput {
    let text = format!(
        "[target.o]\nbucket = \"s3://bucket/pre\"\ncount = 4\nsize = \"6MiB\"\nprepare = \"filled\"\nremove = true\n\
         [[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"j\"\non = \"o\"\nengine = \"s3\"\ndepth = 4\n{job}\n\
         settings = {{ endpoint = \"{endpoint}\"{settings} }}\n"
    );
    std::fs::write(home.join("plan.toml"), text).expect("writing a plan");
    // Results are not overwritten.
    let _ = std::fs::remove_file(home.join("r.json"));
    Program::new(command(home, &["run", "plan.toml", "--json", "r.json"])).run()
}

const TRUSTED: &str = ", ca = \"ca.pem\"";
const READS: &str = "do = \"read\"\npick = \"random\"\nblock = \"1MiB\"";

fn objects() -> Outcome {
    let (store, home) = started(local(), StoreFault::None);
    let said = run(home.path(), &store.endpoint(), TRUSTED, READS);
    said.expect(0, &["25 requests", "connect mean", "TLS handshake mean", "first byte mean", "body mean"]);
    let record = std::fs::read_to_string(home.path().join("r.json"))?;
    assert!(record.contains("\"handshake\"") && record.contains("handshake_ns"), "{record}");
    assert_eq!((store.keys().len(), store.count("PUT"), store.count("DELETE")), (0, 4, 4));
    assert!(!said.all().contains(SECRET_KEY));
    Ok(())
}

fn parts() -> Outcome {
    let (store, home) = started(local(), StoreFault::None);
    let settings = ", ca = \"ca.pem\", part_size = \"1048576\", parts_at_once = \"3\", checksum = \"crc32c\"";
    let job = "do = \"write\"\nblock = \"6MiB\"\nverify = { when = \"after writes\" }";
    let said = run(home.path(), &store.endpoint(), settings, job);
    said.expect(0, &["24 of them parts of objects", "verify"]);
    assert_eq!(store.open_uploads(), 0);
    Ok(())
}

fn resumed() -> Outcome {
    let (store, home) = started(local(), StoreFault::CloseAfter);
    let said = run(home.path(), &store.endpoint(), TRUSTED, READS);
    said.expect(0, &["TLS sessions with the keys of one before"]);
    Ok(())
}

fn certificates() -> Outcome {
    let (store, home) = started(local(), StoreFault::None);
    let endpoint = store.endpoint();
    let refused = |endpoint: &str, settings: &str, words: &[&str]| {
        run(home.path(), endpoint, settings, READS).expect(1, words);
    };
    refused(&endpoint, "", &["nobody who is trusted has signed the certificate", "ca ="]);
    // The name by which it is called is the one that counts.
    run(home.path(), &endpoint.replace("127.0.0.1", "localhost"), TRUSTED, READS).expect(0, &["25 requests"]);
    let (store, home) = started(Certificate::of(&["elsewhere.example"]), StoreFault::None);
    run(home.path(), &store.endpoint(), TRUSTED, READS).expect(1, &["the certificate is of another host"]);
    let (store, home) = started(Certificate::expired(&["127.0.0.1"]), StoreFault::None);
    run(home.path(), &store.endpoint(), TRUSTED, READS).expect(1, &["the certificate has expired", "clock"]);
    run(home.path(), &store.endpoint(), ", ca = \"missing.pem\"", READS)
        .refused(&["missing.pem", "No such file"]);
    std::fs::write(home.path().join("empty.pem"), "no certificate\n")?;
    run(home.path(), &store.endpoint(), ", ca = \"empty.pem\"", READS)
        .refused(&["empty.pem", "no certificate"]);
    assert_eq!(store.log().len(), 0);
    Ok(())
}

fn wrong_ports() -> Outcome {
    let (store, home) = started(local(), StoreFault::None);
    let plain = store.endpoint().replace("https:", "http:");
    run(home.path(), &plain, "", READS).expect(1, &["the port speaks TLS", "say https://"]);
    let store = ObjectStore::start(StoreOptions::default());
    let tls = store.endpoint().replace("http:", "https:");
    run(home.path(), &tls, TRUSTED, READS).expect(1, &["the port speaks no TLS", "say http://"]);
    Ok(())
}

fn cut() -> Outcome {
    let (store, home) = started(local(), StoreFault::ResetInBody);
    let said = run(home.path(), &store.endpoint(), TRUSTED, &format!("{READS}\nerrors = \"continue\""));
    assert_ne!(said.code(), 0);
    assert!(said.all().contains("none Cut ×24"), "{}", said.all());
    assert_eq!(store.keys(), [""; 0]);
    Ok(())
}

fn checked() -> Outcome {
    let (store, home) = started(local(), StoreFault::None);
    let endpoint = store.endpoint();
    let mut command = command(home.path(), &["s3check", "s3://bucket/a", "--endpoint", &endpoint]);
    command.env("SSL_CERT_FILE", home.path().join("ca.pem"));
    let said = Program::new(command).run();
    // The store knows no more than what the engine sends: what counts is that it was asked.
    assert!(said.all().contains("S3 on https://"), "{}", said.all());
    assert!(store.log().len() > 20);
    Ok(())
}

/// Each trusts what the system trusts, and is refused where it is not told so.
fn tools() -> Outcome {
    let (store, home) = started(local(), StoreFault::None);
    let host = store.endpoint().replace("https://", "");
    let keys = format!("--S3.host={host} --S3.access-key={ACCESS_KEY} --S3.secret-key=SECRET --S3.use-ssl");
    let lines = [
        format!(
            "fio --name=j --ioengine=http --http_mode=s3 --https=on --http_host={host} --http_s3_keyid={ACCESS_KEY} \
             --http_s3_key=SECRET --filename=/bucket/pre/o --rw=write --bs=4k --size=32k --verify=crc32c"
        ),
        format!("ior -a S3 {keys} --S3.bucket-name=bucket -t 64k -b 256k -w -r -W -R -o pre/f"),
        format!("mdtest -a S3 {keys} --S3.bucket-name=bucket -n 4 -w 100 -e 100 -d pre/d"),
        format!(
            "warp put --host {host} --tls --access-key {ACCESS_KEY} --secret-key SECRET --bucket bucket \
             --obj.size 64KiB --concurrent 2 --duration 1s --benchdata w"
        ),
    ];
    // The key has blanks.
    let asked = |line: &str| {
        let words: Vec<String> =
            line.split_whitespace().map(|word| word.replace("SECRET", SECRET_KEY)).collect();
        command(home.path(), &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for line in &lines {
        let mut trusting = asked(line);
        trusting.env("SSL_CERT_FILE", home.path().join("ca.pem"));
        let before = store.count("PUT");
        Program::new(trusting).run().expect(0, &[]);
        assert!(store.count("PUT") > before, "{line}");
        // Results are not overwritten.
        let _ = std::fs::remove_file(home.path().join("w.json.zst"));
        let told = Program::new(asked(line)).run();
        // fio asks nothing before its first block, as the original, and says the error's number.
        let why = if line.starts_with("fio") { "Protocol error" } else { "nobody who is trusted" };
        assert!(told.code() != 0 && told.all().contains(why), "{line}\n{}", told.all());
    }
    let plain = lines[1].replace(" --S3.use-ssl", "");
    let told = Program::new(asked(&plain)).run();
    assert!(told.code() != 0 && told.all().contains("the port speaks TLS"), "{}", told.all());
    Ok(())
}
