//! Lies of flows through the network: loss that is the receiver's, or the pace's; throughput that is a processor's, or a
//! window's. All of it over the loop.

use std::net::UdpSocket;

use testbed::{Need, Skip, free_port};

use crate::stage::{Lie, StagedFindings, processors, run};

/// Buffers beyond what everybody may have are the administrator's.
const GRANTED: &[Need] = &[Need::Root];

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    let lie = |code, title, lie: fn() -> StagedFindings, twin: fn() -> StagedFindings| {
        Lie::new(code, title, GRANTED, lie, twin)
    };
    vec![
        lie(27, "loss by the receiver's own buffer", || datagrams(SMALL, BURSTS), || datagrams(LARGE, "")),
        lie(28, "a processor taken for the network", at_full_speed, || into_the_void("5MB/s")).alone(),
        lie(29, "loss by bursts of the pace", || datagrams(SMALL, PAUSES), || datagrams(LARGE, "")),
        lie(30, "a window taken for the network", slow_reader, quick_reader),
    ]
}

/// Receive buffers in bytes: one that holds a few datagrams, and one that holds more than a second of them.
const SMALL: u64 = 8192;
const LARGE: u64 = 8 << 20;
/// Several datagrams at once, which is not the pace's fault: it is what was asked for.
const BURSTS: &str = "burst = 64\n";
/// Pauses that the pace catches up with.
const PAUSES: &str = "think = { sleep = \"100ms\", every = 1000 }\n";

/// A flow of datagrams at a rate that the loop carries without effort.
fn datagrams(buffer: u64, more: &str) -> StagedFindings {
    let port = free_port()?;
    run(&format!(
        "intent = \"network\"\n[target.to]\nlisten = \"udp:127.0.0.1:{port}\"\n\
         [target.from]\nconnect = \"udp:127.0.0.1:{port}\"\n\
         [[phase]]\nstop = \"first job done\"\n\
         [[phase.job]]\nname = \"receiver\"\non = \"to\"\nengine = \"socket\"\ndo = \"recv\"\nblock = 65507\n\
         settings = {{ datagram_bytes = 1460, stamp = \"seconds_micros_u64\", receive_buffer_bytes = {buffer} }}\n\
         until = {{ time = \"3s\" }}\n\
         [[phase.job]]\nname = \"sender\"\non = \"from\"\nengine = \"socket\"\ndo = \"send\"\nblock = 1460\n\
         settings = {{ datagram_bytes = 1460, stamp = \"seconds_micros_u64\" }}\nrate = \"5MB/s\"\n{more}\
         until = {{ time = \"2s\" }}\n"
    ))
}

/// A flow that has a processor for itself while another idles; where others took that one, or the machine's owner took
/// from both, there is nothing to be caught.
fn at_full_speed() -> StagedFindings {
    let before = processors()?;
    let findings = into_the_void("unlimited")?;
    let after = processors()?;
    let [all, stolen, idle] = [0, 1, 2].map(|which| after[which] - before[which]);
    let of_all = |ticks: f64| {
        ticks / all.max(1.0) * std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
    };
    let [stolen, idle] = [stolen, idle].map(of_all);
    let caught = findings.iter().any(|finding| finding.code == 28);
    if !caught && (idle < 0.7 || stolen > 0.02) {
        let why = format!("{idle:.2} processors idled beside the flow, {stolen:.2} were stolen");
        return Err(Skip::new(why).into());
    }
    Ok(findings)
}

/// A flow to somebody who never reads.
fn into_the_void(rate: &str) -> StagedFindings {
    let void = UdpSocket::bind("127.0.0.1:0")?;
    run(&format!(
        "intent = \"network\"\n[target.void]\nconnect = \"udp:{}\"\n[[phase]]\n\
         [[phase.job]]\nname = \"sender\"\non = \"void\"\nengine = \"socket\"\n\
         do = \"send\"\nblock = 1460\nsettings = {{ datagram_bytes = 1460 }}\nrate = \"{rate}\"\nuntil = {{ time = \"2s\" }}\n",
        void.local_addr()?
    ))
}

/// A reader with little room that takes its time: however busy the machine is, the sender waits for room.
fn slow_reader() -> StagedFindings {
    stream("unlimited", "2MB/s", 4096)
}

/// A reader with room for more than a second of what is sent.
fn quick_reader() -> StagedFindings {
    stream("20MB/s", "unlimited", 32 << 20)
}

/// A stream at a rate, to a receiver that reads at a rate from a buffer of so many bytes.
fn stream(sent: &str, read: &str, buffer: u64) -> StagedFindings {
    let port = free_port()?;
    run(&format!(
        "intent = \"network\"\n[target.to]\nlisten = \"tcp:127.0.0.1:{port}\"\n\
         [target.from]\nconnect = \"tcp:127.0.0.1:{port}\"\n[[phase]]\n\
         [[phase.job]]\nname = \"receiver\"\non = \"to\"\nengine = \"socket\"\ndo = \"recv\"\nblock = \"16KiB\"\n\
         settings = {{ receive_buffer_bytes = {buffer} }}\nrate = \"{read}\"\nuntil = {{ time = \"3s\" }}\n\
         [[phase.job]]\nname = \"sender\"\non = \"from\"\nengine = \"socket\"\ndo = \"send\"\nblock = \"16KiB\"\n\
         rate = \"{sent}\"\nuntil = {{ time = \"2s\" }}\n"
    ))
}
