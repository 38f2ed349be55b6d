//! What one program wrote, the other checks; and what was planted in between is named by both.

use super::*;

/// Those that fio 3.33 knows by a name of `verify=`.
fn known() -> impl Iterator<Item = Checksum> {
    Checksum::ALL.into_iter().filter(|checksum| *checksum != Checksum::Pattern)
}

pub fn cases(fio: Original) -> Vec<(String, Body)> {
    let mut cases: Vec<(String, Body)> = Vec::new();
    let newer = fio == Original::Newer;
    let prefix = if newer { "newer_" } else { "" };
    let mut add = |name: String, body: Body| cases.push((format!("{prefix}{name}"), body));
    for checksum in known() {
        let name = checksum.name();
        add(format!("theirs_checked_by_us_{name}"), Box::new(move || theirs(fio, checksum, &[], |_| {})));
        add(format!("ours_checked_by_fio_{name}"), Box::new(move || ours(fio, checksum, &[], |_| {})));
        add(format!("planted_byte_found_by_both_{name}"), Box::new(move || planted(fio, checksum)));
    }
    let interval = |verify: &mut Verify| verify.interval_bytes = 1024;
    let offset = |verify: &mut Verify| header_of(verify).offset_bytes = 1000;
    let pattern = |verify: &mut Verify| header_of(verify).pattern = Some(template());
    type Change = fn(&mut Verify);
    let variants: [(&str, &[&str], Change); 4] = [
        ("interval", &["--verify_interval=1k"], interval),
        ("offset", &["--verify_offset=1000"], offset),
        ("pattern", &["--verify_pattern=0xdeadbeef%o\"abc\"-12"], pattern),
        ("odd_sizes", &["--bs=1000", "--size=65000", "--verify_interval=500"], |verify| {
            verify.interval_bytes = 500
        }),
    ];
    for (name, options, change) in variants {
        for checksum in [Checksum::Crc32c, Checksum::Md5, Checksum::Meta, Checksum::Sha256] {
            let check = checksum.name();
            add(format!("theirs_{name}_{check}"), Box::new(move || theirs(fio, checksum, options, change)));
            add(format!("ours_{name}_{check}"), Box::new(move || ours(fio, checksum, options, change)));
        }
    }
    add("pattern_without_header".into(), Box::new(move || pattern_alone(fio)));
    add("buffer_patterns_are_the_same_bytes".into(), Box::new(move || buffer_pattern(fio)));
    add("random_writes_by_fio_checked_in_order".into(), Box::new(move || random_theirs(fio)));
    add("random_writes_by_us_checked_by_verify_only".into(), Box::new(move || random_ours(fio)));
    add("every_header_field_is_checked_alike".into(), Box::new(move || fields(fio)));
    add("dumps_are_named_and_filled_alike".into(), Box::new(move || dumps(fio)));
    add("state_files_are_read_by_fio_verify_state".into(), Box::new(move || states(fio)));
    cases
}

fn header_of(verify: &mut Verify) -> &mut HeaderStamp {
    match &mut verify.stamp {
        Stamp::Header(header) => header,
        _ => unreachable!("made with a header"),
    }
}

/// `0xdeadbeef%o"abc"-12`.
fn template() -> Template {
    let bytes = b"\xde\xad\xbe\xef\0\0\0\0\0\0\0\0abc\xf4\xff\xff\xff".to_vec();
    Template { bytes, offsets: vec![4] }
}

fn verify_option(checksum: Checksum) -> String {
    format!("--verify={}", checksum.name())
}

fn sized(options: &[&str], verb: Verb) -> Pattern {
    let odd = options.contains(&"--bs=1000");
    Pattern::of(verb, Pick::Sequential, if odd { 1000 } else { BLOCK })
}

/// fio writes, we read.
fn theirs(fio: Original, checksum: Checksum, options: &[&str], change: impl Fn(&mut Verify)) -> Outcome {
    let bench = Bench::of(fio);
    let verify = verify_option(checksum);
    let (right, said) =
        bench.fio(&[&["--rw=write", "--do_verify=0", "--verify_state_save=0", &verify], options].concat());
    expect(right, said)?;
    let mut stamp = header(checksum);
    change(&mut stamp);
    let record = bench.ours(job(sized(options, Verb::Read), stamp));
    expect(record.phases[0].jobs[0].tally.operations(Kind::Read) > 0, "nothing was read")?;
    clean(&record)
}

/// We write, fio reads; and again as it checks what a writing job wrote.
fn ours(fio: Original, checksum: Checksum, options: &[&str], change: impl Fn(&mut Verify)) -> Outcome {
    let bench = Bench::of(fio);
    let mut stamp = Verify { when: VerifyWhen::Never, ..header(checksum) };
    change(&mut stamp);
    clean(&bench.ours(job(sized(options, Verb::Write), stamp)))?;
    let verify = verify_option(checksum);
    let (right, said) = bench.fio(&[&["--rw=read", &verify], options].concat());
    expect(right, said)?;
    let (right, said) =
        bench.fio(&[&["--rw=write", "--verify_only", "--verify_state_save=0", &verify], options].concat());
    expect(right, said)
}

/// One byte of the data is wrong: where the checksum covers it, both say so, of the same block.
fn planted(fio: Original, checksum: Checksum) -> Outcome {
    let bench = Bench::of(fio);
    let verify = verify_option(checksum);
    clean(&bench.ours(job(
        writing(Verb::Write, Pick::Sequential),
        Verify { when: VerifyWhen::Never, ..header(checksum) },
    )))?;
    bench.plant((3 * BLOCK + 4090) as usize, |bytes| bytes[0] ^= 4);
    let (right, said) = bench.fio(&["--rw=read", &verify]);
    let record = bench.ours(job(writing(Verb::Read, Pick::Sequential), header(checksum)));
    let (mismatches, failed) = facts(&record);
    if checksum == Checksum::Meta {
        return expect(right && failed == 0, said);
    }
    expect(!right && said.contains("verify failed") && said.contains("offset 12288"), said)?;
    expect(failed == 1 && mismatches.len() == 1, format!("{failed} {mismatches:?}"))?;
    let one = &mismatches[0];
    expect(one.what == Wrong::Checksum && one.offset == 3 * BLOCK, format!("{one:?}"))?;
    let error = &record.phases[0].jobs[0].tally.errors[0];
    expect(error.system_errno() == ILLEGAL_CONTENT, format!("{error:?}"))?;
    let complaint = &record.phases[0].jobs[0].workers[0].complaints[0];
    expect(complaint.contains("bit flip: bit 2") && complaint.contains("16,378"), complaint)
}

fn pattern_alone(fio: Original) -> Outcome {
    let bench = Bench::of(fio);
    let options = ["--verify=pattern", "--verify_pattern=0xdeadbeef%o\"abc\"-12", "--verify_state_save=0"];
    let fio = |more: &[&str]| bench.fio(&[&options, more].concat());
    let (right, said) = fio(&["--rw=write", "--do_verify=0"]);
    expect(right, said)?;
    let verify = Verify { stamp: Stamp::Pattern(template()), ..Verify::default() };
    let read = || job(writing(Verb::Read, Pick::Sequential), verify.clone());
    clean(&bench.ours(read()))?;
    std::fs::remove_file(bench.path())?;
    let never = Verify { when: VerifyWhen::Never, ..verify.clone() };
    clean(&bench.ours(job(writing(Verb::Write, Pick::Uniform), never)))?;
    let (right, said) = fio(&["--rw=read"]);
    expect(right, said)?;
    bench.plant(5000, |bytes| bytes[0] ^= 1);
    let (right, said) = fio(&["--rw=read"]);
    expect(!right && said.contains("bad pattern block offset 904"), said)?;
    let (mismatches, _) = facts(&bench.ours(read()));
    expect(
        mismatches.len() == 1 && mismatches[0].what == Wrong::Pattern { at: 904 },
        format!("{mismatches:?}"),
    )
}

fn buffer_pattern(fio: Original) -> Outcome {
    let bench = Bench::of(fio);
    let (right, said) = bench.fio(&["--rw=write", "--buffer_pattern=0xdeadbeef\"abc\"-12"]);
    expect(right, said)?;
    let theirs = std::fs::read(bench.path())?;
    std::fs::write(bench.path(), vec![0; BYTES as usize])?;
    let mut write =
        Job::new("j", "psync", vec![0], Workload::Pattern(Box::new(writing(Verb::Write, Pick::Uniform))));
    write.payload.content = iodyno_model::Content::Repeated(Template {
        bytes: b"\xde\xad\xbe\xefabc\xf4\xff\xff\xff".to_vec(),
        offsets: Vec::new(),
    });
    clean(&bench.ours(write))?;
    expect(std::fs::read(bench.path())? == theirs, "the bytes differ")
}

fn random_theirs(fio: Original) -> Outcome {
    let bench = Bench::of(fio);
    let (right, said) = bench.fio(&["--rw=randwrite", "--verify=xxhash", "--verify_state_save=0"]);
    expect(right, said)?;
    for pick in [Pick::Sequential, Pick::Uniform] {
        clean(&bench.ours(job(writing(Verb::Read, pick), header(Checksum::Xxhash))))?;
    }
    let only = Verify { only: true, when: VerifyWhen::AfterWrites, ..header(Checksum::Xxhash) };
    let before = std::fs::read(bench.path())?;
    let record = bench.ours(job(writing(Verb::Write, Pick::Uniform), only));
    let tally = &record.phases[0].jobs[0].tally;
    expect(
        (tally.operations(Kind::Write), tally.operations(Kind::Read)) == (0, 16),
        format!("{:?}", tally.lines),
    )?;
    expect(std::fs::read(bench.path())? == before, "something was written")?;
    clean(&record)
}

fn random_ours(fio: Original) -> Outcome {
    let bench = Bench::of(fio);
    let mut write = job(
        Pattern { coverage: Coverage::Repeating, ..writing(Verb::Write, Pick::Uniform) },
        Verify { when: VerifyWhen::AfterWrites, ..header(Checksum::Crc64) },
    );
    write.limit.operations = Some(200);
    (write.engine, write.depth) = ("libaio".into(), Depth { most: 8, ..Depth::default() });
    clean(&bench.ours(write))?;
    for rw in ["--rw=read", "--rw=randread", "--rw=randwrite"] {
        let only = if rw == "--rw=randwrite" { "--verify_only" } else { "--do_verify=1" };
        let (right, said) = bench.fio(&[rw, only, "--verify=crc64", "--verify_state_save=0"]);
        expect(right, said)?;
    }
    Ok(())
}

/// Each field of a header is damaged, with and without a right checksum of the header: both programs agree.
fn fields(fio: Original) -> Outcome {
    let second = match fio.layout() {
        Some(VerifyLayout::Versioned) => (2, Wrong::Version),
        _ => (24, Wrong::Header),
    };
    let fields: [(usize, Wrong); 9] = [
        (0, Wrong::Magic),
        second,
        (5, Wrong::Length),
        (8, Wrong::Header),
        (17, Wrong::Offset),
        (24, Wrong::Header),
        (32, Wrong::Header),
        (34, Wrong::Header),
        (37, Wrong::Header),
    ];
    for (at, what) in fields {
        let bench = Bench::of(fio);
        let never = Verify { when: VerifyWhen::Never, ..header(Checksum::Md5) };
        clean(&bench.ours(job(writing(Verb::Write, Pick::Sequential), never)))?;
        bench.plant(at, |bytes| bytes[0] ^= 0x10);
        let (_, said) = bench.fio(&["--rw=read", "--verify=md5"]);
        let (mismatches, _) =
            facts(&bench.ours(job(writing(Verb::Read, Pick::Sequential), header(Checksum::Md5))));
        let [one] = &mismatches[..] else { return Err(format!("byte {at}: {mismatches:?}").into()) };
        expect(one.what == what, format!("byte {at}: {one:?}, fio: {said}"))?;
        let sentence = match what {
            Wrong::Version => format!("unsupported header version {}, wanted {}", one.found, one.expected),
            Wrong::Magic => format!("bad magic header {}, wanted {}", one.found, one.expected),
            Wrong::Length => format!("bad header length {}, wanted {}", one.found, one.expected),
            Wrong::Offset => format!("bad header offset {}, wanted {}", one.found, one.expected),
            _ => format!("bad header crc {}, calculated {}", one.found, one.expected),
        };
        expect(said.contains(&sentence), format!("byte {at}: `{sentence}` not in {said}"))?;
    }
    Ok(())
}

/// The same damaged file, dumped by both: the same names and the same bytes.
fn dumps(fio: Original) -> Outcome {
    let bench = Bench::of(fio);
    let (right, said) =
        bench.fio(&["--rw=write", "--do_verify=0", "--verify=crc32c", "--verify_state_save=0"]);
    expect(right, said)?;
    bench.plant((2 * BLOCK + 700) as usize, |bytes| bytes[..9].fill(b'x'));
    bench.fio(&["--rw=read", "--verify=crc32c", "--verify_dump=1"]);
    let names = [format!("data.{}.received", 2 * BLOCK), format!("data.{}.expected", 2 * BLOCK)];
    let theirs = names.clone().map(|name| std::fs::read(bench.folder.path().join(name)));
    let mut read = job(writing(Verb::Read, Pick::Sequential), header(Checksum::Crc32c));
    read.payload.verify.as_mut().expect("it verifies").dump = true;
    // Dumps lie in the current directory, which belongs to the whole process: this is the only case that writes there.
    let (mismatches, _) = facts(&bench.ours(read));
    let [one] = &mismatches[..] else { return Err(format!("{mismatches:?}").into()) };
    let ours = names.clone().map(std::fs::read);
    names.iter().for_each(|name| drop(std::fs::remove_file(name)));
    let dumped = one.dumped.clone().unwrap_or_default();
    expect([dumped.0, dumped.1] == names, format!("{one:?}"))?;
    let bare_bytes = if fio.layout() == Some(VerifyLayout::Versioned) { 48 } else { 40 };
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        let (ours, theirs) = (ours?, theirs?);
        // Time, thread and number in the header, and so its checksum, are those of the dump in fio's.
        let same = |at: &usize| (24..bare_bytes).contains(at) || ours[*at] == theirs[*at];
        let differs = (0..ours.len().min(theirs.len())).find(|at| !same(at));
        expect(ours.len() == theirs.len() && differs.is_none(), format!("byte {differs:?} differs"))?;
    }
    Ok(())
}

fn states(fio: Original) -> Outcome {
    let bench = Bench::of(fio);
    let path = bench.folder.path().join("local-j-{worker}-verify.state");
    let state = VerifyState {
        path: path.display().to_string(),
        name: "j".into(),
        save: true,
        load: false,
        given: Vec::new(),
    };
    let verify = Verify { state: Some(state.clone()), first_worker: 2, ..header(Checksum::Crc32c) };
    let mut write =
        job(writing(Verb::Write, Pick::Sequential), Verify { when: VerifyWhen::Never, ..verify.clone() });
    write.limit.operations = Some(7);
    (write.engine, write.depth) = ("libaio".into(), Depth { most: 4, ..Depth::default() });
    std::fs::File::create(bench.path())?.set_len(BYTES)?;
    clean(&bench.ours(write))?;
    let file = bench.folder.path().join("local-j-2-verify.state");
    // The installed one's reader knows the installed one's version alone.
    if fio == Original::Installed && bench.layout == VerifyLayout::Unversioned {
        let output = Command::new("fio-verify-state").arg(&file).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["Name: j", "Completions: 4", "Depth: 4", "Number IOs: 7", "Index: 2", "24576"] {
            expect(output.status.success() && said.contains(part), format!("no `{part}` in {said}"))?;
        }
    }
    // Beyond what the state tells, nothing is read: the file has only seven good blocks.
    let read = |state: VerifyState| {
        let verify = Verify { state: Some(state), ..verify.clone() };
        job(writing(Verb::Read, Pick::Sequential), verify)
    };
    let record = bench.ours(read(VerifyState { save: false, load: true, ..state.clone() }));
    clean(&record)?;
    expect(record.phases[0].jobs[0].tally.operations(Kind::Read) == 7, "not seven blocks were read")?;
    let (_, failed) = facts(&bench.ours(read(VerifyState { save: false, load: false, ..state })));
    expect(failed == 9, format!("{failed} of the nine unwritten blocks were found"))?;
    // And fio goes by our state as we do.
    std::fs::rename(&file, bench.folder.path().join("local-j-0-verify.state"))?;
    let (right, said) = bench.fio(&["--rw=read", "--verify=crc32c", "--verify_state_load=1"]);
    expect(right, said)?;
    // And we by fio's.
    let theirs = Bench::of(fio);
    let (right, said) = theirs.fio(&["--rw=write", "--verify=crc32c", "--number_ios=5", "--do_verify=0"]);
    expect(right, said)?;
    let path = theirs.folder.path().join("local-j-{worker}-verify.state").display().to_string();
    let state = VerifyState { path, name: "j".into(), save: false, load: true, given: Vec::new() };
    let record = theirs.ours(job(
        writing(Verb::Read, Pick::Sequential),
        Verify { state: Some(state), ..header(Checksum::Crc32c) },
    ));
    expect(record.phases[0].jobs[0].tally.operations(Kind::Read) == 5, "not five blocks were read")?;
    clean(&record)
}
