//! Processor time: of the whole machine (`/proc/stat`), of this program and of one worker (`getrusage`).

use iodyno_model::{CpuShares, ProcessorShare, Sighting};

/// What is told of each processor, in ticks of the kernel's own unit: user, nice, system, idle, waiting for I/O,
/// interrupts, soft interrupts, stolen.
type Fields = [u64; 8];

/// Times of all processors since boot.
#[derive(Clone, Debug)]
pub struct Times {
    all: Fields,
    each: Vec<(u32, Fields)>,
    running: u64,
}

/// Reads the machine's times; `None` where there is no such file.
pub fn read() -> Option<Times> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

fn parse(text: &str) -> Option<Times> {
    let (mut all, mut each, mut running) = (None, Vec::new(), 0);
    for line in text.lines() {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name.strip_prefix("cpu") {
            Some("") => all = Some(fields(rest)),
            Some(number) => each.extend(number.parse().ok().map(|number| (number, fields(rest)))),
            None if name == "procs_running" => running = rest.trim().parse().unwrap_or(0),
            None => {}
        }
    }
    Some(Times { all: all?, each, running })
}

/// Fields that a kernel does not have are 0.
fn fields(text: &str) -> Fields {
    let mut fields = [0; 8];
    let numbers = text.split_whitespace().map(|word| word.parse().unwrap_or(0));
    fields.iter_mut().zip(numbers).for_each(|(field, number)| *field = number);
    fields
}

fn difference(after: &Fields, before: &Fields) -> Fields {
    std::array::from_fn(|field| after[field].saturating_sub(before[field]))
}

/// Ticks of a few of the fields.
fn ticks(of: &Fields, fields: &[usize]) -> u64 {
    fields.iter().map(|field| of[*field]).sum()
}

/// How long a tick is, ns.
fn tick_ns() -> u64 {
    // SAFETY: the call only answers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1)
}

impl Times {
    /// Nothing yet: what everything since boot is counted from.
    pub fn zero() -> Times {
        Times { all: [0; 8], each: Vec::new(), running: 0 }
    }

    /// Shares of the time since an earlier reading.
    pub fn since(&self, before: &Times) -> Sighting {
        let shares = self.shares(before);
        Sighting::Cpu {
            user_percent: shares.user_percent + shares.nice_percent,
            system_percent: shares.system_percent,
            iowait_percent: shares.iowait_percent,
            steal_percent: shares.steal_percent,
            cpus: self.each.len() as u32,
        }
    }

    /// The same, finer; and who wants to run now, without the one who asks.
    pub fn shares(&self, before: &Times) -> CpuShares {
        let delta = difference(&self.all, &before.all);
        let total = delta.iter().sum::<u64>().max(1) as f64;
        let percent = |fields: &[usize]| ticks(&delta, fields) as f64 / total * 100.0;
        CpuShares {
            user_percent: percent(&[0]),
            nice_percent: percent(&[1]),
            system_percent: percent(&[2, 5, 6]),
            iowait_percent: percent(&[4]),
            steal_percent: percent(&[7]),
            idle_percent: percent(&[3]),
            runnable: self.running.saturating_sub(1),
        }
    }

    /// The same of each processor of a set.
    pub fn each(&self, before: &Times, allowed: impl Fn(u32) -> bool) -> Vec<ProcessorShare> {
        let share = |(number, fields): &(u32, Fields)| {
            let (_, then) = before.each.iter().find(|(other, _)| other == number)?;
            let delta = difference(fields, then);
            let total = delta.iter().sum::<u64>().max(1) as f64;
            let percent = |fields: &[usize]| ticks(&delta, fields) as f64 / total * 100.0;
            Some(ProcessorShare {
                number: *number,
                user_percent: percent(&[0, 1]),
                system_percent: percent(&[2, 5, 6]),
                interrupt_percent: percent(&[5, 6]),
            })
        };
        self.each.iter().filter(|(number, _)| allowed(*number)).filter_map(share).collect()
    }

    /// Time that the processors of a set were busy, were taken away, and had no work since an earlier reading, ns.
    pub fn spent(&self, before: &Times, allowed: impl Fn(u32) -> bool) -> [u64; 3] {
        let mut spent = [0; 3];
        for (number, fields) in self.each.iter().filter(|(number, _)| allowed(*number)) {
            let Some((_, then)) = before.each.iter().find(|(other, _)| other == number) else { continue };
            let delta = difference(fields, then);
            let parts = [ticks(&delta, &[0, 1, 2, 5, 6]), delta[7], ticks(&delta, &[3, 4])];
            spent.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part * tick_ns());
        }
        spent
    }
}

/// Time that this program took so far, user and kernel, and that its children took that have ended, ns.
pub fn own_ns() -> [u64; 2] {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].map(|who| {
        let [user, system, ..] = usage_of(who);
        user + system
    })
}

/// Time that this program took since then, ns. `workers_ns`: time of workers that are processes of their own, which is
/// among that of children only when somebody has heard of their ends.
pub fn own_since(before: [u64; 2], workers_ns: u64) -> u64 {
    let [own, children] = own_ns();
    own.saturating_sub(before[0]) + children.saturating_sub(before[1]).max(workers_ns)
}

/// User ns, system ns, voluntary and involuntary switches, major and minor faults of the calling thread.
pub fn usage() -> [u64; 6] {
    usage_of(WHO)
}

fn usage_of(who: libc::c_int) -> [u64; 6] {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    // SAFETY: the structure is valid for writing and is plain numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    };
    [
        ns(usage.ru_utime),
        ns(usage.ru_stime),
        usage.ru_nvcsw as u64,
        usage.ru_nivcsw as u64,
        usage.ru_majflt as u64,
        usage.ru_minflt as u64,
    ]
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
const WHO: libc::c_int = libc::RUSAGE_THREAD;
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
const WHO: libc::c_int = libc::RUSAGE_SELF;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_between() {
        let before = parse("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n").unwrap();
        let after = parse("cpu  150 0 125 900 20 0 0 5 0 0\ncpu0 1\ncpu1 1\nprocs_running 4\n").unwrap();
        let Sighting::Cpu { user_percent, steal_percent, cpus, .. } = after.since(&before) else { panic!() };
        assert_eq!((user_percent, steal_percent, cpus), (25.0, 2.5, 2));
        assert_eq!((after.shares(&before).idle_percent, after.shares(&before).runnable), (50.0, 3));
    }

    #[test]
    fn only_allowed_processors_count() {
        let before = parse("cpu  0\ncpu0 10 0 0 0 0 0 0 1\ncpu1 10 0 0 0\n").unwrap();
        let after = parse("cpu  0\ncpu0 15 1 2 9 1 3 4 8\ncpu1 99 0 0 7\ncpu2 5\n").unwrap();
        let tick = tick_ns();
        assert_eq!(after.spent(&before, |number| number == 0), [15 * tick, 7 * tick, 10 * tick]);
        assert_eq!(after.spent(&before, |_| true), [104 * tick, 7 * tick, 17 * tick]);
    }

    #[test]
    fn own_time_grows_with_work() {
        let [before, _] = own_ns();
        while own_ns()[0] < before + 1_000_000 {
            std::hint::spin_loop();
        }
    }
}
