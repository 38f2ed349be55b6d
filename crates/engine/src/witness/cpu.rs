//! Processor time: of the whole machine (`/proc/stat`) and of one worker (`getrusage`).

use iodyno_model::Sighting;

/// Times of all processors since boot, in ticks of the kernel's own unit.
pub struct Times {
    fields: [u64; 8],
    cpus: u32,
}

/// Reads the machine's times; `None` where there is no such file.
pub fn read() -> Option<Times> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

fn parse(text: &str) -> Option<Times> {
    let mut fields = [0; 8];
    let all = text.lines().find(|line| line.starts_with("cpu "))?;
    for (field, word) in fields.iter_mut().zip(all.split_whitespace().skip(1)) {
        *field = word.parse().ok()?;
    }
    let is_cpu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    Some(Times { fields, cpus: text.lines().filter(is_cpu).count() as u32 })
}

impl Times {
    /// Shares of the time since an earlier reading.
    pub fn since(&self, before: &Times) -> Sighting {
        let delta: Vec<u64> = self
            .fields
            .iter()
            .zip(before.fields)
            .map(|(after, before)| after.saturating_sub(before))
            .collect();
        let total = delta.iter().sum::<u64>().max(1) as f64;
        let percent =
            |fields: &[usize]| fields.iter().map(|field| delta[*field]).sum::<u64>() as f64 / total * 100.0;
        Sighting::Cpu {
            user_percent: percent(&[0, 1]),
            system_percent: percent(&[2, 5, 6]),
            iowait_percent: percent(&[4]),
            steal_percent: percent(&[7]),
            cpus: self.cpus,
        }
    }
}

/// User ns, system ns, voluntary and involuntary switches, major and minor faults of the calling thread.
pub fn usage() -> [u64; 6] {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    // SAFETY: the structure is valid for writing and is plain numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(WHO, &raw mut usage);
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
        let after = parse("cpu  150 0 125 900 20 0 0 5 0 0\ncpu0 1\ncpu1 1\n").unwrap();
        let Sighting::Cpu { user_percent, steal_percent, cpus, .. } = after.since(&before) else { panic!() };
        assert_eq!((user_percent, steal_percent, cpus), (25.0, 2.5, 2));
    }
}
