//! The seccomp filter: which calls stop for the tracer.
//!
//! A balanced search over the numbers, so that a call costs few steps; what depends on the number alone and runs at full
//! speed is remembered by the kernel as a bitmap. Calls of other architectures (32-bit programs) are not traced.

use super::calls::{Stops, TracedCall};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn low(argument: u32) -> u32 {
    16 + 8 * argument
}
const fn high(argument: u32) -> u32 {
    low(argument) + 4
}

pub type Instruction = libc::sock_filter;

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: code as u16, jt, jf, k }
}
const fn load(offset: u32) -> Instruction {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}
const fn jump(test: u32, k: u32, jt: u8, jf: u8) -> Instruction {
    instruction(libc::BPF_JMP | test | libc::BPF_K, k, jt, jf)
}
const fn answer(action: u32) -> Instruction {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}
const RUN: Instruction = answer(libc::SECCOMP_RET_ALLOW);
const STOP: Instruction = answer(libc::SECCOMP_RET_TRACE);

/// The filter for these calls, which are in the order of their numbers.
pub fn program(calls: &[TracedCall]) -> Vec<Instruction> {
    let mut ranges: Vec<(u32, Option<Stops>)> = vec![(0, None)];
    let mut begin = |number: u32, stops: Option<Stops>| {
        let last = ranges.len() - 1;
        if ranges[last].0 == number {
            ranges[last].1 = stops;
        } else if ranges[last].1 != stops || stops.is_some_and(|stops| stops != Stops::Always) {
            ranges.push((number, stops));
        }
    };
    for (index, call) in calls.iter().enumerate() {
        let number = call.number as u32;
        begin(number, Some(call.stops));
        if calls.get(index + 1).is_none_or(|next| next.number != call.number + 1) {
            begin(number + 1, None);
        }
    }
    let mut program = vec![load(ARCH), jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0), RUN, load(NUMBER)];
    program.extend(search(&ranges));
    program
}

/// Finds the range of the number in the accumulator. A jump reaches 255 instructions: farther it takes a jump of its own.
fn search(ranges: &[(u32, Option<Stops>)]) -> Vec<Instruction> {
    let [(_, stops)] = ranges else {
        let (below, above) = ranges.split_at(ranges.len() / 2);
        let (lower, upper) = (search(below), search(above));
        let mut program = match u8::try_from(lower.len()) {
            Ok(distance) => vec![jump(libc::BPF_JGE, above[0].0, distance, 0)],
            Err(_) => {
                let far = instruction(libc::BPF_JMP | libc::BPF_JA, lower.len() as u32, 0, 0);
                vec![jump(libc::BPF_JGE, above[0].0, 0, 1), far]
            }
        };
        program.extend(lower);
        program.extend(upper);
        return program;
    };
    match *stops {
        None => vec![RUN],
        Some(Stops::Always) => vec![STOP],
        Some(Stops::Unless(argument, bits)) => {
            vec![load(low(argument)), jump(libc::BPF_JSET, bits, 0, 1), RUN, STOP]
        }
        Some(Stops::If(argument, bits)) => {
            vec![load(low(argument)), jump(libc::BPF_JSET, bits, 0, 1), STOP, RUN]
        }
        Some(Stops::OneOf(argument, values)) => {
            let mut program = vec![load(low(argument))];
            for (index, value) in values.iter().enumerate() {
                let distance = (values.len() - index) as u8;
                program.push(jump(libc::BPF_JEQ, *value, distance, 0));
            }
            program.extend([RUN, STOP]);
            program
        }
        Some(Stops::UnlessTell) => vec![
            load(low(2)),
            jump(libc::BPF_JEQ, libc::SEEK_CUR as u32, 0, 5),
            load(low(1)),
            jump(libc::BPF_JEQ, 0, 0, 3),
            load(high(1)),
            jump(libc::BPF_JEQ, 0, 0, 1),
            RUN,
            STOP,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::calls::{is_plain, stopping, traced};
    use super::*;

    /// What a filter answers for a call; how many steps it took.
    fn run(program: &[Instruction], arch: u32, number: u32, arguments: [u64; 6]) -> (u32, usize) {
        let (mut at, mut accumulator, mut steps) = (0, 0, 0);
        loop {
            let step = &program[at];
            let (code, k) = (u32::from(step.code), step.k);
            steps += 1;
            at += 1;
            let holds = match code {
                _ if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    accumulator = match k {
                        NUMBER => number,
                        ARCH => arch,
                        k => (arguments[(k as usize - 16) / 8] >> (k % 8 * 8)) as u32,
                    };
                    continue;
                }
                _ if code == libc::BPF_RET | libc::BPF_K => return (k, steps),
                _ if code == libc::BPF_JMP | libc::BPF_JA => {
                    at += k as usize;
                    continue;
                }
                _ if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => accumulator == k,
                _ if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => accumulator >= k,
                _ => accumulator & k != 0,
            };
            at += usize::from(if holds { step.jt } else { step.jf });
        }
    }

    #[test]
    fn exactly_the_calls_of_interest_stop() {
        let calls = traced();
        let program = program(&calls);
        for number in 0..600 {
            let is_traced =
                calls.iter().any(|call| call.number == i64::from(number) && call.stops == Stops::Always);
            let is_partly = calls.iter().any(|call| call.number == i64::from(number)) && !is_traced;
            let (action, steps) = run(&program, ARCHITECTURE, number, [u64::MAX; 6]);
            assert!(is_partly || (action == libc::SECCOMP_RET_TRACE) == is_traced, "{number}");
            assert!(steps < 30, "{number} took {steps} steps");
        }
        assert_eq!(run(&program, 0x4000_0003, 4, [0; 6]).0, libc::SECCOMP_RET_ALLOW);
    }

    #[test]
    fn arguments_decide_where_most_calls_do_not_matter() {
        let program = program(&traced());
        let stops = |number: libc::c_long, arguments: [u64; 6]| {
            run(&program, ARCHITECTURE, number as u32, arguments).0 == libc::SECCOMP_RET_TRACE
        };
        let anonymous = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        assert!(!stops(libc::SYS_mmap, [0, 4096, 3, anonymous, u64::MAX, 0]));
        assert!(stops(libc::SYS_mmap, [0, 4096, 3, libc::MAP_SHARED as u64, 3, 0]));
        assert!(!stops(libc::SYS_lseek, [3, 0, libc::SEEK_CUR as u64, 0, 0, 0]));
        assert!(stops(libc::SYS_lseek, [3, 1 << 32, libc::SEEK_CUR as u64, 0, 0, 0]));
        assert!(stops(libc::SYS_lseek, [3, 0, libc::SEEK_END as u64, 0, 0, 0]));
        assert!(stops(libc::SYS_fcntl, [3, libc::F_SETLK as u64, 0, 0, 0, 0]));
        assert!(!stops(libc::SYS_fcntl, [3, libc::F_GETFL as u64, 0, 0, 0, 0]));
        assert!(!stops(libc::SYS_ioctl, [3, 0x5401, 0, 0, 0, 0]));
        assert!(stops(libc::SYS_unshare, [libc::CLONE_FILES as u64, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn what_is_plain_does_not_stop_where_tracepoints_tell_of_it() {
        let program = program(&stopping());
        let stops = |number: i64, arguments: [u64; 6]| {
            run(&program, ARCHITECTURE, number as u32, arguments).0 == libc::SECCOMP_RET_TRACE
        };
        let without_path = [3, 1, 2, libc::AT_EMPTY_PATH as u64, 0, 0];
        assert!(
            !stops(libc::SYS_newfstatat, without_path) && stops(libc::SYS_newfstatat, [3, 1, 2, 0, 0, 0])
        );
        assert!(!stops(libc::SYS_mmap, [0, 4096, 3, libc::MAP_SHARED as u64, 3, 0]));
        assert!(stops(libc::SYS_close, [3, 0, 0, 0, 0, 0]));
        for arguments in [without_path, [3, 1, libc::AT_EMPTY_PATH as u64, 0, 0, 0], [1; 6]] {
            let both = traced()
                .iter()
                .any(|call| is_plain(call.number, &arguments) && stops(call.number, arguments));
            assert!(!both, "{arguments:?}");
        }
    }
}
