//! What a scrambled write carries, and how often a buffer is filled for it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use iodyno_model::{Content, Mix, Pattern, Payload, PerDirection, Pick, Size, Verb, Workload};

use super::*;
use crate::io::Io;
use crate::source::testing::SourceBench;

const BLOCK: u64 = 4096;
const SPAN: u64 = 64 * BLOCK;

fn scrambled(mix: Mix, size: Size, operations: u64) -> SourceBench {
    let pattern =
        Pattern { mix, size: PerDirection::same(size), ..Pattern::of(Verb::Write, Pick::Uniform, BLOCK) };
    let mut stage = SourceBench::new(Workload::Pattern(Box::new(pattern)), &[SPAN]);
    stage.depth = 4;
    stage.job().payload = Payload { content: Content::Scrambled, ..Payload::default() };
    stage.job().limit.operations = Some(operations);
    stage
}

/// Sets a word that scrambling never changes, and counts the writes that no longer carry it.
fn fills(mut stage: SourceBench) -> (usize, usize) {
    let (writes, fills) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let counted = (writes.clone(), fills.clone());
    stage.meddle = Box::new(move |_, io, _| {
        if io.verb == Verb::Write {
            // SAFETY: every operation has a buffer of at least a block.
            let word = unsafe { std::slice::from_raw_parts_mut(io.buffer, 8) };
            counted.0.set(counted.0.get() + 1);
            counted.1.set(counted.1.get() + usize::from(word != b"the mark"));
            word.copy_from_slice(b"the mark");
        }
        None
    });
    stage.run();
    (writes.get(), fills.get())
}

#[test]
fn a_buffer_is_filled_once_and_again_after_a_read() {
    let fixed = || Size::Fixed(BLOCK);
    assert_eq!(fills(scrambled(Mix::only(Verb::Write), fixed(), 400)), (400, 4));
    let mixed = Mix::reads(50.0);
    let (writes, filled) = fills(scrambled(mixed, fixed(), 400));
    assert!(filled > 50 && filled < writes, "{filled} of {writes} writes were filled");
}

#[test]
fn what_is_written_follows_from_the_place_alone() {
    let uniform = Size::Uniform { least_bytes: 512, most_bytes: 2 * BLOCK, step_bytes: 512 };
    for size in [Size::Fixed(BLOCK), uniform] {
        let mut stage = scrambled(Mix::reads(30.0), size, 600);
        let payload = stage.job().payload.clone();
        let most = stage_block(&stage);
        let filler = Filler::new(&payload, stage.plan.seed, most).unwrap();
        let seen = Rc::new(RefCell::new(0));
        let counted = seen.clone();
        stage.meddle = Box::new(move |_, io: &Io, _| {
            if io.verb == Verb::Write {
                let mut expected = vec![0; io.bytes as usize];
                let file = BlockAddress::file_id("f0");
                filler.fill(&mut expected, BlockAddress { file, offset: io.offset, generation: io.other });
                // SAFETY: every operation has a buffer of its length.
                let buffer = unsafe { std::slice::from_raw_parts(io.buffer, expected.len()) };
                assert!(buffer == expected, "{io:?}");
                *counted.borrow_mut() += 1;
            }
            None
        });
        stage.run();
        assert!(*seen.borrow() > 300);
    }
}

fn stage_block(stage: &SourceBench) -> usize {
    let Workload::Pattern(pattern) = &stage.plan.phases[0].jobs[0].workload else { unreachable!() };
    pattern.size.write.most_bytes().unwrap() as usize
}
