//! Object stores as a user meets them: a store in this process that checks signatures, and moto, a server of others.
//! What must be nowhere is looked for everywhere: the secret key.

use std::path::Path;
use std::process::Command;

use testbed::metadata::{CONTAINER_TOKEN, MetadataService};
use testbed::program::{Program, ProgramOutput, Running};
use testbed::store::{ACCESS_KEY, ObjectStore, SECRET_KEY, StoreFault, StoreOptions, with_keys};
use testbed::{Case, Need, Outcome, Skip, free_port, wait};

use crate::program::{iodyno, plan, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("objects are read, counted and removed, and the secret is printed nowhere", &[], objects),
        Case::new("a store's complaints are said with their names", &[], complaints),
        Case::new("what keeps every request from succeeding is one message", &[], refusals),
        Case::new("a store that stops serving is named, and what was measured is kept", &[], cut_short),
        Case::new("an instance's credentials are fetched once and renewed", &[], of_an_instance),
        Case::new("a container's credentials, and the order of sources", &[], of_a_container),
        Case::new("a thousand connections of one worker fit in 64 MiB", &[], a_thousand_connections),
        Case::new("Ctrl-C leaves no object behind", &[], interrupted),
        Case::new("moto takes every verb, parts and checksums", &[Need::Tool("python3")], moto).against(),
        // Its 373 checks take moto one to two minutes: `cargo xtask against door`.
        Case::new("s3check finds of moto what its profile says", &[Need::Tool("python3")], moto_is_checked)
            .against(),
    ]
}

/// A plan of one phase on twelve objects, with more keys of its target and its job.
fn text(endpoint: &str, target: &str, job: &str, settings: &str) -> String {
    format!(
        "[target.o]\nbucket = \"s3://bucket/pre\"\ncount = 12\nsize = \"8KiB\"\n{target}\n[[phase]]\nname = \"p\"\n\
         [[phase.job]]\nname = \"j\"\non = \"o\"\nengine = \"s3\"\ndepth = 4\n{job}\n\
         settings = {{ endpoint = \"{endpoint}\"{settings} }}\n"
    )
}

const FILLED: &str = "prepare = \"filled\"\nremove = true";
const READS: &str = "do = \"read\"\npick = \"random\"\nblock = \"4KiB\"";

/// The program on a plan, with the store's keys in the environment.
fn command(home: &Path, text: &str, arguments: &[&str]) -> Command {
    let path = plan(home, text);
    let mut command = iodyno(["run"]);
    command.arg(path).args(arguments).current_dir(home).env("HOME", home).env("XDG_DATA_HOME", home);
    with_keys(&mut command);
    command
}

fn run(home: &Path, text: &str, arguments: &[&str]) -> ProgramOutput {
    told(command(home, text, arguments))
}

/// Whether any file below a directory holds these bytes.
fn holds(directory: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(directory).expect("a directory").any(|entry| {
        let path = entry.expect("a name").path();
        match path.is_dir() {
            true => holds(&path, bytes),
            false => {
                std::fs::read(&path).is_ok_and(|held| held.windows(bytes.len()).any(|part| part == bytes))
            }
        }
    })
}

fn objects() -> Outcome {
    let (store, home) = (ObjectStore::start(StoreOptions::default()), scratch());
    let text = text(&store.endpoint(), FILLED, READS, ", sign_payload = \"on\"");
    let arguments = ["--json", "r.json", "--html", "r.html"];
    let said = run(home.path(), &text, &arguments);
    said.expect(0, &["25 requests", "connections opened", "first byte mean"]);
    assert!(said.out.contains("24"), "{}", said.out);
    assert_eq!((store.keys(), store.count("PUT"), store.count("DELETE")), (Vec::new(), 12, 12));
    assert!(!said.all().contains(SECRET_KEY));
    assert!(holds(home.path(), b"\"engine\""), "a record was written");
    assert!(!holds(home.path(), SECRET_KEY.as_bytes()), "the secret key is in a file");
    Ok(())
}

fn complaints() -> Outcome {
    let denied = |request: &testbed::store::LoggedRequest| match request.headers.contains_key("range") {
        true => StoreFault::Status(403, "AccessDenied"),
        false => StoreFault::None,
    };
    let (store, home) = (
        ObjectStore::start(StoreOptions { program: Box::new(denied), ..StoreOptions::default() }),
        scratch(),
    );
    let job = format!("{READS}\nerrors = \"continue\"");
    let said = run(home.path(), &text(&store.endpoint(), FILLED, &job, ""), &[]);
    assert!(
        said.all().contains("answers: 403 AccessDenied ×24") && said.all().contains("EACCES"),
        "{}",
        said.all()
    );
    assert_ne!(said.code(), 0);
    assert_eq!(store.keys(), [""; 0]);
    Ok(())
}

fn refusals() -> Outcome {
    let (store, home) = (ObjectStore::start(StoreOptions::default()), scratch());
    let endpoint = store.endpoint();
    let plain = text(&endpoint, FILLED, READS, "");
    let mut wrong = command(home.path(), &plain, &[]);
    wrong.env("AWS_SECRET_ACCESS_KEY", "another secret");
    let said = told(wrong);
    said.expect(1, &["SignatureDoesNotMatch", "check the secret key"]);
    assert!(!said.all().contains("another secret"));
    let mut nobody = command(home.path(), &plain, &[]);
    nobody.env_remove("AWS_ACCESS_KEY_ID");
    told(nobody).refused(&["no credentials", "AWS_SECRET_ACCESS_KEY"]);
    let tls = endpoint.replace("http:", "https:");
    let said = run(home.path(), &text(&tls, FILLED, READS, ""), &[]);
    match cfg!(feature = "tls") {
        true => said.expect(1, &["the port speaks no TLS", "say http://"]),
        false => said.refused(&["this build speaks no TLS", "--features tls"]),
    };
    run(home.path(), &text(&endpoint, "direct = true", READS, ""), &[]).refused(&["no page cache", "direct"]);
    run(home.path(), &text(&endpoint, FILLED, READS, ", endpont = \"x\""), &[])
        .refused(&["did you mean `endpoint`?"]);
    let part = "do = \"write\"\nblock = \"4KiB\"";
    run(home.path(), &text(&endpoint, FILLED, part, ""), &[]).refused(&["whole objects", "block = \"8192\""]);
    let files = plain.replace("engine = \"s3\"", "engine = \"psync\"");
    run(home.path(), &files, &[]).expect(2, &["engine psync does not reach the store", "engine = \"s3\""]);
    store.put("pre/somebody's", vec![1]);
    run(home.path(), &plain, &[]).expect(1, &["objects are there already", "not in use"]);
    assert_eq!(store.keys(), ["pre/somebody's"]);
    Ok(())
}

/// What goes wrong after the start line: one name for each, a status other than 0, and the figures of what went well.
fn cut_short() -> Outcome {
    for (fault, name) in [
        (StoreFault::Cut, "none Cut"),
        (StoreFault::ResetInBody, "none Cut"),
        (StoreFault::Status(400, "ExpiredToken"), "400 ExpiredToken"),
        (StoreFault::Status(403, "RequestTimeTooSkewed"), "403 RequestTimeTooSkewed"),
        (StoreFault::Status(404, "NoSuchBucket"), "404 NoSuchBucket"),
        (StoreFault::Garbled(b"\x15\x03\x01\x00\x02\x02\x0a"), "none NotHttp"),
    ] {
        let (home, asked) = (scratch(), std::sync::atomic::AtomicU32::new(0));
        let program = move |request: &testbed::store::LoggedRequest| {
            let is_read = request.headers.contains_key("range");
            let goes_wrong = is_read && asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= 10;
            if goes_wrong { fault.clone() } else { StoreFault::None }
        };
        let store =
            ObjectStore::start(StoreOptions { program: Box::new(program), ..StoreOptions::default() });
        let job = READS.to_string() + "\nrepeats = true\nuntil = { operations = 1000 }";
        let said = run(home.path(), &text(&store.endpoint(), FILLED, &job, ""), &["--json", "r.json"]);
        assert_ne!(said.code(), 0, "{name}: {}", said.all());
        assert!(
            said.all().contains("first byte mean") && said.all().contains(name),
            "{name}: {}",
            said.all()
        );
        let kept = std::fs::read_to_string(home.path().join("r.json"))?;
        assert!(kept.contains("\"first_byte\""), "{name}: {kept}");
        assert_eq!(store.keys(), [""; 0], "{name}");
    }
    Ok(())
}

/// The tokens that came with requests, in their order.
fn tokens(store: &ObjectStore) -> Vec<String> {
    let token = |request: testbed::store::LoggedRequest| request.headers.get("x-amz-security-token").cloned();
    let mut all: Vec<_> = store.log().into_iter().filter_map(token).collect();
    all.dedup();
    all
}

fn of_an_instance() -> Outcome {
    let (store, home, service) =
        (ObjectStore::start(StoreOptions::default()), scratch(), MetadataService::start());
    let job = format!("{READS}\nworkers = 3\nrepeats = true\nuntil = {{ time = \"600s\" }}");
    let mut command = command(home.path(), &text(&store.endpoint(), FILLED, &job, ""), &[]);
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_EC2_METADATA_DISABLED");
    command.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.endpoint());
    let running = Program::new(command).start();
    wait::until("renewed credentials", || tokens(&store).contains(&"TOKEN-2".to_string()))?;
    running.signal(libc::SIGINT);
    let said = running.end();
    assert!(said.all().contains("stopped by signal") && !said.all().contains("answers:"), "{}", said.all());
    assert!(tokens(&store).starts_with(&["TOKEN-1".into()]), "{:?}", tokens(&store));
    // Once for all workers, and once more.
    let asked = |path: &str| service.log().iter().filter(|asked| asked.ends_with(path)).count();
    assert_eq!((asked("/tester"), asked("/token")), (2, 2), "{:?}", service.log());
    assert!(!said.all().contains(SECRET_KEY) && !holds(home.path(), SECRET_KEY.as_bytes()));
    Ok(())
}

fn of_a_container() -> Outcome {
    let (store, home, service) =
        (ObjectStore::start(StoreOptions::default()), scratch(), MetadataService::start());
    let plain = text(&store.endpoint(), FILLED, READS, "");
    let contained = |url: String| {
        let mut command = command(home.path(), &plain, &[]);
        command.env_remove("AWS_ACCESS_KEY_ID").env("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
        command.env("AWS_CONTAINER_AUTHORIZATION_TOKEN", CONTAINER_TOKEN);
        command
    };
    let url = format!("{}/container", service.endpoint());
    told(contained(url.clone())).expect(0, &["25 requests"]);
    assert_eq!(tokens(&store), ["TOKEN-1"]);
    // The environment comes before the container, and so does a profile.
    let mut first = contained(url.clone());
    first.env("AWS_ACCESS_KEY_ID", ACCESS_KEY);
    told(first).expect(0, &["25 requests"]);
    std::fs::create_dir(home.path().join(".aws"))?;
    let profile = format!("[default]\naws_access_key_id={ACCESS_KEY}\naws_secret_access_key={SECRET_KEY}\n");
    std::fs::write(home.path().join(".aws/credentials"), profile)?;
    told(contained(url)).expect(0, &["25 requests"]);
    std::fs::remove_dir_all(home.path().join(".aws"))?;
    assert_eq!((tokens(&store), service.log().len()), (vec!["TOKEN-1".to_string()], 1));
    // Secrets are not sent for without TLS from anywhere else.
    told(contained("http://192.0.2.1/x".into())).refused(&["192.0.2.1", "without TLS"]);
    let wrong = format!("{}/elsewhere", service.endpoint());
    told(contained(wrong)).refused(&["the container's credential service", "it answers 404", "FULL_URI"]);
    let nowhere = text(&store.endpoint(), FILLED, READS, ", credentials = \"container\"");
    run(home.path(), &nowhere, &[]).refused(&["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "environment"]);
    Ok(())
}

/// `VmHWM` is a count of pages, and no matter of time.
fn a_thousand_connections() -> Outcome {
    let (gate, home) = (std::sync::Arc::new(std::sync::Barrier::new(1001)), scratch());
    let theirs = std::sync::Arc::clone(&gate);
    let program = move |request: &testbed::store::LoggedRequest| {
        if request.headers.contains_key("range") {
            // Once when all are in flight, and once when the memory was looked at.
            theirs.wait();
            theirs.wait();
        }
        StoreFault::None
    };
    let store = ObjectStore::start(StoreOptions { program: Box::new(program), ..StoreOptions::default() });
    store.put("pre/0", vec![7; 4 << 20]);
    let plan = text(&store.endpoint(), "", &format!("{READS}\nuntil = {{ operations = 1000 }}"), "");
    let plan = plan.replace("count = 12\nsize = \"8KiB\"", "count = 1\nsize = \"4MiB\"");
    let plan = plan.replace("depth = 4", "depth = 1000");
    let running = Program::new(command(home.path(), &plan, &[])).start();
    gate.wait();
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid()))?;
    gate.wait();
    running.end().expect(0, &["1,001 requests"]);
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let most: u64 = most.and_then(|most| most.trim().parse().ok()).ok_or("no VmHWM")?;
    eprintln!("{most} KiB at most");
    assert!(most <= 64 << 10, "{most} KiB:\n{status}");
    Ok(())
}

fn interrupted() -> Outcome {
    let (store, home) = (ObjectStore::start(StoreOptions::default()), scratch());
    let job = format!("{READS}\nrepeats = true\nuntil = {{ time = \"600s\" }}");
    let running = Program::new(command(home.path(), &text(&store.endpoint(), FILLED, &job, ""), &[])).start();
    wait::until("reads", || {
        store.log().iter().filter(|request| request.headers.contains_key("range")).count() > 50
    })?;
    running.signal(libc::SIGINT);
    let said = running.end();
    assert!(said.all().contains("stopped by signal"), "{}", said.all());
    assert_eq!(store.keys(), [""; 0]);
    Ok(())
}

/// Everything that the engine asks a store for.
const VERBS: &str = r#"
[target.small]
bucket = "s3://bucket/small"
count = 6
size = "3000"
[target.large]
bucket = "s3://bucket/large"
count = 2
size = "11MiB"
remove = true
[[phase]]
name = "write"
[[phase.job]]
name = "w"
on = "large"
engine = "s3"
depth = 2
do = "write"
block = "11MiB"
verify = { when = "after writes" }
settings = { endpoint = "ENDPOINT", checksum = "crc32c", part_size = "5242880", parts_at_once = "2", sign_payload = "on" }
"#;

/// moto with an empty bucket `bucket`, and its address.
fn moto_server(home: &Path) -> Result<(Running, String), Box<dyn std::error::Error>> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Its server for S3 alone: all that `moto[server]` names takes twice as long to install.
    let python = testbed::python::environment(kept, "moto", &["moto[s3]", "flask", "flask-cors"])?;
    let port = free_port()?;
    let mut server = Command::new(python.join("bin/moto_server"));
    server.args(["-H", "127.0.0.1", "-p", &port.to_string()]).current_dir(home);
    let server = Program::new(server).start();
    let endpoint = format!("http://127.0.0.1:{port}");
    wait::until("moto answers", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let mut make = Command::new(python.join("bin/python"));
    let request =
        format!("import urllib.request as u; u.urlopen(u.Request('{endpoint}/bucket', method='PUT'))");
    let made = make.args(["-c", &request]).output()?;
    if !made.status.success() {
        return Err(Box::new(Skip::new(format!(
            "moto makes no bucket: {}",
            String::from_utf8_lossy(&made.stderr)
        ))));
    }
    Ok((server, endpoint))
}

fn moto_is_checked() -> Outcome {
    let home = scratch();
    let (server, endpoint) = moto_server(home.path())?;
    let mut command = iodyno(["s3check", "s3://bucket/a", "--endpoint", &endpoint, "--strict"]);
    // Its lists fail while another request changes what they list.
    command.args(["--at-once", "1", "--profile", "moto"]).current_dir(home.path());
    with_keys(&mut command);
    let said = told(command);
    drop(server);
    said.expect(
        0,
        &["s3://bucket/a: S3 on http://127.0.0.1:", "profile moto", ", 0 failed, 18 failed as expected"],
    );
    Ok(())
}

fn moto() -> Outcome {
    let home = scratch();
    let (server, endpoint) = moto_server(home.path())?;
    let mut text = VERBS.to_string();
    for verb in ["create", "open", "stat", "clone", "readdir", "unlink"] {
        let data = if matches!(verb, "create" | "open") { "block = \"3000\"\nitem_data = {}\n" } else { "" };
        text.push_str(&format!(
            "[[phase]]\nname = \"{verb}\"\n[[phase.job]]\nname = \"{verb}\"\non = \"small\"\nengine = \"s3\"\ndepth = 3\n\
             do = \"{verb}\"\n{data}until = {{ operations = 6 }}\nsettings = {{ endpoint = \"ENDPOINT\" }}\n"
        ));
    }
    let said = run(home.path(), &text.replace("ENDPOINT", &endpoint), &[]);
    drop(server);
    said.expect(0, &["of them parts of objects", "verify", "create", "readdir", "unlink"]);
    assert!(!said.all().contains("answers:"), "{}", said.all());
    Ok(())
}
