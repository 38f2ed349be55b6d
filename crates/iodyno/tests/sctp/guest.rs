//! A guest without hardware acceleration, its script, and what it said.

use std::path::{Path, PathBuf};

use testbed::{Case, Need, Outcome, Skip};

use crate::archive::Archive;
use crate::boot::{add_programs, boot};

/// Where `cargo xtask against sctp` has laid a kernel, its modules, a shell and the library of SCTP.
const PARTS: &str = "IODYNO_SCTP_GUEST";
/// In the order in which they need each other.
const MODULES: [&str; 5] =
    ["crc32c_generic.ko", "libcrc32c.ko", "udp_tunnel.ko", "ip6_udp_tunnel.ko", "sctp.ko"];
/// Who asks whom for what. 3.12's `--nstreams N` also sets its rate to N bit/s, which the `-b` behind it takes back.
const LINES: [&str; 4] = [
    "--sctp -n 512K -l 8K",
    "--sctp -n 512K -l 8K -R",
    "--sctp -t 1 -P 2 -l 8K",
    "--sctp -n 256K -l 8K --nstreams 4 -b 0",
];
/// The same of ours alone, because 3.12's own `-X` fails: with several addresses, as sent at once.
const NEAR: [&str; 2] =
    ["--sctp -n 256K -l 8K -X 127.0.0.1 -X 127.0.0.2", "--sctp -n 256K -l 8K -B 127.0.0.1 -X 127.0.0.2 -N"];
/// netperf's tests over SCTP, and what stands in their reports. Debian's client knows the first two alone, and its netserver
/// ends where it is to send.
const TESTS: [(&str, &str); 5] = [
    ("-t omni -- -T sctp -d send -o PROTOCOL,THROUGHPUT_UNITS", "SCTP,10^6bits/s"),
    ("-t omni -- -T sctp -d rr -o PROTOCOL,THROUGHPUT_UNITS", "SCTP,Trans/s"),
    ("-t SCTP_STREAM", "SCTP STREAM TEST"),
    ("-t SCTP_RR", "SCTP REQUEST/RESPONSE TEST"),
    ("-t SCTP_MAERTS", "SCTP MAERTS TEST"),
];
const NETPERFS: [(&str, u16, usize); 3] =
    [("netperf", 12866, 2), ("iodyno netperf", 12865, 4), ("iodyno netperf", 12866, 5)];
const PAIRS: [(&str, &str); 3] =
    [("iodyno iperf3", "iodyno iperf3"), ("iodyno iperf3", "iperf3"), ("iperf3", "iodyno iperf3")];

/// The first program of the guest: modules, loopback, the tests one after the other, the end.
const FIRST: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib IODYNO_HISTORY=off IODYNO_FINDINGS=0
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir /etc
echo 127.0.0.1 localhost > /etc/hosts
echo sctp 132 SCTP > /etc/protocols
for module in MODULES; do insmod /lib/$module; done
ifconfig lo 127.0.0.1 up
ifconfig lo:1 127.0.0.2 up
ifconfig lo:2 10.0.0.1 netmask 255.255.255.0 up
port=6000
listens() { grep -qi \":$(printf %04x $1) .* 0A \" /proc/net/tcp /proc/net/tcp6; }
pair() {
    port=$((port + 1))
    $2 -s -1 -p $port > /tmp/server 2>&1 &
    while ! listens $port; do usleep 50000; done
    echo \"== $1 to $2: $3\"
    timeout 60 $1 -c 127.0.0.1 -p $port $3 2>&1
    echo \"== status $?\"
    timeout 20 sh -c 'while [ -d /proc/'$!' ]; do usleep 50000; done'
    echo \"== server\"
    cat /tmp/server
}
netperfs() {
    echo \"== $1 at $2: $3\"
    timeout 60 $1 -H 127.0.0.1 -p $2 -l 1 $3 2>&1
    echo \"== status $?\"
}
PAIRS
netserver -p 12865
iodyno netserver -D -p 12866 > /tmp/netserver 2>&1 &
for port in 12865 12866; do while ! listens $port; do usleep 50000; done; done
NETPERFS
cat /tmp/netserver
echo \"== over\"
poweroff -f
";

pub fn cases() -> Vec<Case> {
    let tools = ["qemu-system-x86_64", "iperf3", "netperf", "netserver", "ldd"].map(Need::Tool);
    let needs: Vec<Need> = [Need::That(parts_there)].into_iter().chain(tools).collect();
    vec![Case::new("sctp_in_a_guest_both_ways_with_the_original", &needs, both_ways).alone().against()]
}

fn parts() -> Option<PathBuf> {
    std::env::var_os(PARTS).map(PathBuf::from)
}

fn parts_there() -> Result<(), Skip> {
    match parts().is_some_and(|folder| folder.join("vmlinuz").is_file()) {
        true => Ok(()),
        false => Err(Skip::new("only `cargo xtask against sctp` fetches a kernel for a guest")),
    }
}

fn found(program: &str) -> Result<PathBuf, String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{program} is gone"))
}

/// Who asks whom for what, of iperf3.
fn pairs() -> Vec<(&'static str, &'static str, &'static str)> {
    let all = LINES.iter().flat_map(|line| PAIRS.map(|(asks, serves)| (asks, serves, *line)));
    let ours = PAIRS.iter().filter(|(asks, _)| asks.starts_with("iodyno"));
    all.chain(ours.flat_map(|(asks, serves)| NEAR.map(|line| (*asks, *serves, line)))).collect()
}

fn first_file_system(parts: &Path) -> Result<Vec<u8>, String> {
    let mut archive = Archive::default();
    ["bin", "lib", "lib64", "proc", "sys", "dev", "tmp"].iter().for_each(|name| archive.directory(name));
    let pairs =
        pairs().into_iter().map(|(asks, serves, line)| format!("pair \"{asks}\" \"{serves}\" \"{line}\"\n"));
    let netperfs = NETPERFS.iter().flat_map(|(asks, port, count)| {
        TESTS[..*count].iter().map(move |(line, _)| format!("netperfs \"{asks}\" {port} \"{line}\"\n"))
    });
    let first = FIRST.replace("MODULES", &MODULES.join(" "));
    let first =
        first.replace("NETPERFS", &netperfs.collect::<String>()).replace("PAIRS", &pairs.collect::<String>());
    archive.program("init", first.as_bytes());
    archive.copy("bin/busybox", &parts.join("busybox"))?;
    let mut programs = vec![("iodyno", PathBuf::from(env!("CARGO_BIN_EXE_iodyno")))];
    for theirs in ["iperf3", "netperf", "netserver"] {
        programs.push((theirs, found(theirs)?));
    }
    // SCTP's own is loaded when it is asked for.
    let needed = vec![parts.join("libsctp.so.1")];
    add_programs(&mut archive, &programs, needed)?;
    for module in MODULES {
        archive.copy(&format!("lib/{module}"), &parts.join(module))?;
    }
    Ok(archive.done())
}

/// Every pair moves what it was asked to, and both ends say so.
fn both_ways() -> Outcome {
    let parts = parts().ok_or("no parts")?;
    let said = boot(&parts, &first_file_system(&parts)?, 1024)?;
    let after = |title: &str| -> Result<&str, String> {
        let pair = said.split(title).nth(1).ok_or_else(|| format!("{title} was not run:\n{said}"))?;
        Ok(pair.split("\n== i").next().unwrap_or(pair))
    };
    for (asks, serves, line) in pairs() {
        let title = format!("== {asks} to {serves}: {line}\n");
        let pair = after(&title)?;
        agrees(pair, serves, line).map_err(|why| format!("{title}{why}\n{pair}"))?;
    }
    for (asks, port, count) in NETPERFS {
        for (line, words) in &TESTS[..count] {
            let title = format!("== {asks} at {port}: {line}\n");
            let pair = after(&title)?;
            let pair = pair.split("== status ").collect::<Vec<_>>();
            if !pair[0].contains(words) || pair.get(1).is_none_or(|status| !status.starts_with('0')) {
                return Err(format!(
                    "{title}{words} and status 0 were expected:\n{}\n{said}",
                    pair.join("status ")
                )
                .into());
            }
        }
    }
    Ok(())
}

/// The totals of both ends, and no word of retransmits, which the kernel does not tell of SCTP.
///
/// A server of 3.12 counts no more once its client has said that all is sent, though some is still under way: what it counts
/// is less, and the same at both ends.
fn agrees(pair: &str, serves: &str, line: &str) -> Result<(), String> {
    let (client, server) = pair.split_once("== server\n").ok_or("no server")?;
    if !client.contains("== status 0") {
        return Err("it failed".into());
    }
    if pair.contains("Retr") || pair.contains("Cwnd") {
        return Err("retransmits of SCTP".into());
    }
    let (bytes, streams) = match line {
        line if line.contains("-P 2") => ("Bytes", 2),
        line if line.contains("512K") => ("512 KBytes", 1),
        _ => ("256 KBytes", 1),
    };
    let total = |text: &str, role: &str| {
        let is = |line: &&str| line.ends_with(role) && line.contains(bytes) && !line.contains("[SUM]");
        text.lines().map(str::trim_end).filter(|line| is(line)).count()
    };
    if serves == "iperf3" && !line.contains("-R") {
        let received = |text: &str| {
            let row =
                text.lines().map(str::trim_end).find(|row| row.ends_with("receiver")).unwrap_or_default();
            row.split_whitespace().skip_while(|word| *word != "sec").nth(1).unwrap_or("0").to_string()
        };
        let (sent, told) = (total(client, "sender"), (received(client), received(server)));
        let is_same = told.0 == told.1 && !told.0.starts_with("0");
        return if sent == streams && is_same {
            Ok(())
        } else {
            Err(format!("{sent} totals, received {told:?}"))
        };
    }
    match (
        total(client, "sender"),
        total(client, "receiver"),
        total(server, if line.contains("-R") { "sender" } else { "receiver" }),
    ) {
        (sent, received, told) if sent.min(received).min(told) >= streams => Ok(()),
        counts => Err(format!("totals of {bytes}, sender and receiver and at the server: {counts:?}")),
    }
}
