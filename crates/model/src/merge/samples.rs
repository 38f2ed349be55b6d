//! Samples made one: neighbours in time, and those of several machines at one time.
//!
//! Counts and times are summed together with the intervals they are parts of, so that every rate and share of the whole is
//! the mean of its parts.

use super::fields;
use crate::sighting::{CpuShares, DeviceActivity, InterfaceActivity, Pressure, QueueActivity, Sample};

impl Sample {
    /// Adds the interval that follows. Levels are those of its end.
    pub fn join(&mut self, later: &Sample) {
        devices(&mut self.devices, &later.devices);
        interfaces(&mut self.interfaces, &later.interfaces);
        for device in &mut self.devices {
            let level = later.devices.iter().find(|other| other.device == device.device);
            device.in_flight = level.map_or(device.in_flight, |other| other.in_flight);
        }
        let (mine, theirs) = (self.interval_ns as f64, later.interval_ns as f64);
        shares(&mut self.cpu, later.cpu, mine, theirs);
        if let (Some(mine), Some(later)) = (&mut self.cpu, later.cpu) {
            mine.runnable = later.runnable;
        }
        self.memory = later.memory.or(self.memory);
        pressure(&mut self.pressure, later.pressure);
        // They count from the phase's start, and those that are over are still reported.
        self.connections.clone_from(&later.connections);
        self.interval_ns += later.interval_ns;
        (self.at_ns, self.at_unix_ns) = (later.at_ns, later.at_unix_ns);
    }

    /// Adds another machine's of the same interval; `machines` are in this one already.
    pub fn merge(&mut self, other: &Sample, machines: u32) {
        devices(&mut self.devices, &other.devices);
        interfaces(&mut self.interfaces, &other.interfaces);
        shares(&mut self.cpu, other.cpu, f64::from(machines), 1.0);
        match (&mut self.memory, other.memory) {
            (Some(mine), Some(theirs)) => fields::add(mine, &theirs),
            (mine, theirs) => *mine = mine.or(theirs),
        }
        pressure(&mut self.pressure, other.pressure);
        self.connections.extend(other.connections.iter().cloned());
    }
}

/// Halves the resolution of a row of samples: pairs of neighbours become one.
pub fn coarsen(samples: &mut Vec<Sample>) {
    let pairs = samples.chunks(2).map(|pair| {
        let mut joined = pair[0].clone();
        pair[1..].iter().for_each(|later| joined.join(later));
        joined
    });
    *samples = pairs.collect();
}

/// Samples of several machines, one row each, as one machine's: those that end at about the same time are one.
pub fn together(rows: Vec<Vec<Sample>>) -> Vec<Sample> {
    let mut rows = rows.into_iter().filter(|row| !row.is_empty());
    let mut all = rows.next().unwrap_or_default();
    for (machines, mut row) in (1..).zip(rows) {
        while row.len() > 2 * all.len() {
            coarsen(&mut row);
        }
        while all.len() > 2 * row.len() {
            coarsen(&mut all);
        }
        all.iter_mut().zip(&row).for_each(|(mine, theirs)| mine.merge(theirs, machines));
    }
    all
}

fn devices(mine: &mut Vec<DeviceActivity>, theirs: &[DeviceActivity]) {
    for device in theirs {
        match mine.iter_mut().find(|known| known.device == device.device) {
            Some(known) => known.merge(device.clone()),
            None => mine.push(device.clone()),
        }
    }
}

fn interfaces(mine: &mut Vec<InterfaceActivity>, theirs: &[InterfaceActivity]) {
    for interface in theirs {
        match mine.iter_mut().find(|known| known.name == interface.name) {
            Some(known) => known.merge(interface.clone()),
            None => mine.push(interface.clone()),
        }
    }
}

fn shares(mine: &mut Option<CpuShares>, theirs: Option<CpuShares>, of_mine: f64, of_theirs: f64) {
    match (mine.as_mut(), theirs) {
        (Some(mine), Some(theirs)) => fields::mean(mine, &theirs, of_mine, of_theirs),
        (_, theirs) => *mine = mine.or(theirs),
    }
}

fn pressure(mine: &mut Option<Pressure>, theirs: Option<Pressure>) {
    match (mine.as_mut(), theirs) {
        (Some(mine), Some(theirs)) => mine.merge(&theirs),
        (None, Some(_)) => *mine = theirs,
        _ => {}
    }
}

impl Pressure {
    /// Adds what was waited in another interval, or on another machine.
    pub fn merge(&mut self, other: &Pressure) {
        fields::add(self, other);
    }
}

impl InterfaceActivity {
    /// Adds what it moved in another interval, or what the one of this name moved on another machine.
    pub fn merge(&mut self, other: InterfaceActivity) {
        fields::add(self, &other);
        self.link_bits = self.link_bits.or(other.link_bits);
        self.queue = match (self.queue.take(), other.queue) {
            (Some(a), Some(b)) => Some(QueueActivity {
                backlog_bytes: a.backlog_bytes.max(b.backlog_bytes),
                overlimits: a.overlimits + b.overlimits,
                dropped: a.dropped + b.dropped,
                ..a
            }),
            (a, b) => a.or(b),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighting::MemoryLevels;

    fn sample(second: u64, bytes: u64, user_percent: f64) -> Sample {
        let interval_ns = 1_000_000_000;
        let device = DeviceActivity {
            device: "sda".into(),
            read_bytes: bytes,
            in_flight: second,
            interval_ns,
            ..DeviceActivity::default()
        };
        let interface =
            InterfaceActivity { name: "eth0".into(), sent: bytes, ..InterfaceActivity::default() };
        Sample {
            at_ns: second * interval_ns,
            interval_ns,
            devices: vec![device],
            interfaces: vec![interface],
            cpu: Some(CpuShares { user_percent, runnable: second, ..CpuShares::default() }),
            memory: Some(MemoryLevels { dirty_bytes: second, ..MemoryLevels::default() }),
            pressure: Some(Pressure { cpu_some_ns: bytes, interval_ns, ..Pressure::default() }),
            ..Sample::default()
        }
    }

    #[test]
    fn neighbours_joined_keep_every_sum_and_the_last_levels() {
        let mut samples: Vec<Sample> = (1..=5).map(|second| sample(second, 10 * second, 0.0)).collect();
        coarsen(&mut samples);
        coarsen(&mut samples);
        assert_eq!(samples.len(), 2);
        let first = &samples[0];
        assert_eq!((first.at_ns, first.interval_ns), (4_000_000_000, 4_000_000_000));
        assert_eq!((first.devices[0].read_bytes, first.devices[0].in_flight), (100, 4));
        assert_eq!((first.devices[0].interval_ns, first.interfaces[0].sent), (4_000_000_000, 100));
        assert_eq!((first.memory.unwrap().dirty_bytes, first.pressure.unwrap().cpu_some_ns), (4, 100));
    }

    #[test]
    fn shares_of_unequal_intervals_are_weighted() {
        let mut joined = sample(1, 0, 10.0);
        joined.join(&sample(2, 0, 20.0));
        joined.join(&sample(3, 0, 60.0));
        assert_eq!(joined.cpu.unwrap().user_percent, 30.0);
    }

    #[test]
    fn machines_are_one_machine() {
        let row = |share: f64| (1..=3).map(|second| sample(second, 5, share)).collect::<Vec<_>>();
        let all = together(vec![row(0.0), Vec::new(), row(30.0), row(60.0)]);
        assert_eq!(all.len(), 3);
        assert_eq!((all[2].devices[0].read_bytes, all[2].devices[0].interval_ns), (15, 3_000_000_000));
        assert_eq!(all[0].cpu.unwrap().user_percent, 30.0);
        assert_eq!((all[1].memory.unwrap().dirty_bytes, all[1].at_ns), (6, 2_000_000_000));
    }
}
