//! What needs no other program: rounds, helpers, trims, sizes that vary, the last write of many, and planted faults.

use super::*;

pub fn cases() -> Vec<(String, Body)> {
    let mut cases: Vec<(String, Body)> = Vec::new();
    let mut add = |name: &str, body: Body| cases.push((name.to_string(), body));
    for helpers in [0, 2] {
        add(&format!("every_way_to_read_back_{helpers}_helpers"), Box::new(move || read_back(helpers)));
        add(&format!("planted_faults_are_named_{helpers}_helpers"), Box::new(move || planted(helpers)));
    }
    add("the_first_bad_block_ends_it", Box::new(fatal));
    add("trimmed_blocks_read_as_zeros", Box::new(trims));
    add("helpers_keep_to_their_cpus", Box::new(cpus));
    add("only_what_was_synced_is_read_back", Box::new(synced));
    add("what_an_earlier_run_wrote_is_counted", Box::new(counted));
    add("intervals_that_do_not_divide_the_block_are_as_long_as_it", Box::new(uneven));
    add("page_faults_keep_what_was_written", Box::new(page_faults));
    cases
}

/// Blocks of several sizes, at any multiple of the smallest, over and over.
fn varied() -> Pattern {
    let mut pattern = Pattern { coverage: Coverage::Repeating, ..writing(Verb::Write, Pick::Uniform) };
    pattern.size.write = Size::Split(vec![(512, 40.0), (1024, 30.0), (4096, 30.0)]);
    pattern.align_bytes.write = 512;
    pattern
}

fn read_back(helpers: u32) -> Outcome {
    let backlog = VerifyWhen::Backlog { writes: 8, batch: 4 };
    let template = Template { bytes: b"abc\0\0\0\0\0\0\0\0".to_vec(), offsets: vec![3] };
    let stamps = [
        Stamp::Header(HeaderStamp::new(Checksum::Sha1)),
        Stamp::Header(HeaderStamp { pattern: Some(template.clone()), ..HeaderStamp::new(Checksum::Pattern) }),
        Stamp::Pattern(template),
        Stamp::Block,
        Stamp::Nothing,
    ];
    for stamp in stamps {
        for when in [VerifyWhen::AfterWrites, backlog] {
            for pattern in [writing(Verb::Write, Pick::Uniform), varied()] {
                let bench = Bench::new();
                let verify = Verify { stamp: stamp.clone(), when, helpers, ..Verify::default() };
                let mut write = job(pattern, verify);
                write.limit.operations = Some(100);
                (write.engine, write.depth) = ("io_uring".into(), Depth { most: 4, ..Depth::default() });
                let record = bench.ours(write);
                clean(&record).map_err(|error| format!("{stamp:?} {when:?}: {error}"))?;
                let tally = &record.phases[0].jobs[0].tally;
                expect(
                    tally.operations(Kind::Read) > 0,
                    format!("{stamp:?} {when:?}: nothing was read back"),
                )?;
            }
        }
    }
    Ok(())
}

/// Faults that are there before a job of reads comes.
fn planted(helpers: u32) -> Outcome {
    let bench = Bench::new();
    let verify = Verify { interval_bytes: 1024, helpers, ..header(Checksum::Crc32c) };
    let never = Verify { when: VerifyWhen::Never, helpers: 0, ..verify.clone() };
    clean(&bench.ours(job(writing(Verb::Write, Pick::Sequential), never)))?;
    bench.plant(BLOCK as usize, |bytes| {
        bytes[100] ^= 0x40; // the first interval of block 1
        bytes[1024..2048].fill(0); // the second
        bytes.copy_within(9 * 1024..10 * 1024, 2 * 1024); // the third: another's
        bytes[4096 + 2048 + 300..4096 + 2048 + 400].fill(b'!'); // the third of block 2
    });
    let record = bench.ours(job(writing(Verb::Read, Pick::Sequential), verify));
    let (mut mismatches, failed) = facts(&record);
    mismatches.sort_by_key(|one| one.offset); // helpers find them in any order
    let kinds: Vec<_> = mismatches.iter().map(|one| (one.offset, one.what)).collect();
    let expected =
        [(4096, Wrong::Checksum), (5120, Wrong::Magic), (6144, Wrong::Offset), (10_240, Wrong::Checksum)];
    expect(failed == 2 && kinds == expected, format!("{failed} failed: {mismatches:?}"))?;
    let job = &record.phases[0].jobs[0];
    // Helpers find it when the read was counted already.
    let right = if helpers == 0 { 14 } else { 16 };
    expect(job.tally.operations(Kind::Read) == right, "two of sixteen reads were wrong")?;
    let complaints = job.workers[0].complaints.join("\n");
    for name in ["bit flip", "lost", "misdirected: holds the data of byte 13,312", "overwritten"] {
        expect(complaints.contains(name), format!("no `{name}` in {complaints}"))?;
    }
    Ok(())
}

/// Of 16 writes the last 4 follow the last sync: what damages one of them is not looked at.
fn synced() -> Outcome {
    let mut pattern = writing(Verb::Write, Pick::Sequential);
    pattern.every.push(Every { between: true, ..Every::new(Verb::Fsync, 6) });
    let verify =
        Verify { when: VerifyWhen::AfterWrites, policy: VerifyPolicy::Synced, ..header(Checksum::Crc32c) };
    let never_synced = Verify { ..verify.clone() };
    let record = Bench::new().ours(job(pattern, verify));
    clean(&record)?;
    let reads = |record: &Record| record.phases[0].jobs[0].tally.operations(Kind::Read);
    expect(reads(&record) == 12, format!("{} of 16 were read back", reads(&record)))?;
    let record = Bench::new().ours(job(writing(Verb::Write, Pick::Sequential), never_synced));
    clean(&record)?;
    expect(reads(&record) == 0, "nothing was synced")
}

fn counted() -> Outcome {
    let bench = Bench::new();
    let verify = Verify { when: VerifyWhen::AfterWrites, ..header(Checksum::Crc32c) };
    clean(&bench.ours(job(writing(Verb::Write, Pick::Sequential), verify.clone())))?;
    for only_counts in [false, true] {
        let verify = Verify { only: true, only_counts, ..verify.clone() };
        let record = bench.ours(job(writing(Verb::Write, Pick::Sequential), verify));
        clean(&record)?;
        let tally = &record.phases[0].jobs[0].tally;
        let found = (tally.operations(Kind::Write), tally.bytes(Kind::Write), tally.operations(Kind::Read));
        let wanted = if only_counts { (16, 16 * BLOCK, 16) } else { (0, 0, 16) };
        expect(found == wanted, format!("{found:?}"))?;
    }
    Ok(())
}

/// Each header says that it stands for a whole block.
fn uneven() -> Outcome {
    let bench = Bench::new();
    let verify = Verify { when: VerifyWhen::AfterWrites, interval_bytes: 1000, ..header(Checksum::Crc32c) };
    clean(&bench.ours(job(writing(Verb::Write, Pick::Sequential), verify)))?;
    let bytes = std::fs::read(bench.path())?;
    let is_whole =
        |block: &[u8]| block.starts_with(&[0xca, 0xac]) && block[4..8] == (BLOCK as u32).to_le_bytes();
    let headers = bytes.chunks(BLOCK as usize).filter(|block| is_whole(block)).count();
    expect(headers == 16, format!("{headers} of 16 blocks have one header for all of them"))
}

/// What the memory lost or mixed up would be found by the checksums.
fn page_faults() -> Outcome {
    let verify = Verify { when: VerifyWhen::AfterWrites, ..header(Checksum::Crc32c) };
    let mut write = job(writing(Verb::Write, Pick::Uniform), verify);
    write.engine = "page_fault".into();
    let record = Bench::new().ours(write);
    clean(&record)?;
    let tally = &record.phases[0].jobs[0].tally;
    let counts = (tally.operations(Kind::Write), tally.operations(Kind::Read));
    expect(counts == (16, 16), format!("{counts:?}"))
}

fn fatal() -> Outcome {
    let bench = Bench::new();
    let verify = header(Checksum::Xxhash);
    let never = Verify { when: VerifyWhen::Never, ..verify.clone() };
    clean(&bench.ours(job(writing(Verb::Write, Pick::Sequential), never)))?;
    bench.plant(BLOCK as usize + 77, |bytes| bytes[0] ^= 1);
    let record = bench.ours(job(writing(Verb::Read, Pick::Sequential), Verify { fatal: true, ..verify }));
    let tally = &record.phases[0].jobs[0].tally;
    expect((tally.operations(Kind::Read), tally.failed()) == (1, 1), format!("{:?}", tally.lines))
}

fn trims() -> Outcome {
    let bench = Bench::new();
    let trim = iodyno_model::TrimBack { percent: 50, every_writes: 4, batch: 0, reads_zero: true };
    let verify = Verify { when: VerifyWhen::AfterWrites, trim: Some(trim), ..header(Checksum::Crc32c) };
    let record = bench.ours(job(writing(Verb::Write, Pick::Uniform), verify));
    clean(&record)?;
    let tally = &record.phases[0].jobs[0].tally;
    let counts = (tally.operations(Kind::Write), tally.operations(Kind::Trim), tally.operations(Kind::Read));
    expect(counts.0 == 16 && counts.2 == 16 && (2..15).contains(&counts.1), format!("{counts:?}"))?;
    let zeros = std::fs::read(bench.path())?
        .chunks(BLOCK as usize)
        .filter(|block| block.iter().all(|b| *b == 0))
        .count();
    expect(zeros as u64 == counts.1, format!("{zeros} blocks are zeros, {} were trimmed", counts.1))
}

fn cpus() -> Outcome {
    let bench = Bench::new();
    let verify = |cpus| Verify {
        when: VerifyWhen::AfterWrites,
        helpers: 1,
        helper_cpus: cpus,
        ..header(Checksum::Md5)
    };
    clean(&bench.ours(job(writing(Verb::Write, Pick::Sequential), verify(vec![0]))))?;
    let record = bench.ours(job(writing(Verb::Write, Pick::Sequential), verify(vec![1000])));
    expect(!record.errors.is_empty(), "a CPU that is not there was taken")
}
