//! The relay's known answers: what is asked for comes back as that.
//!
//! What is lost, overtakes or is held is known from the seed, and told by the relay itself; a peer that does not read is
//! seen in the kernel's table. No round trip is measured: how long a packet is held is proven where time is virtual, in
//! the relay's own tests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use iodyno_dialect::net::relay::path::{Fate, Impairment, Path};
use testbed::program::{Program as Process, ProgramOutput, Running};
use testbed::{Case, Outcome, free_port, wait};

use crate::peers::{Program, client, heard, ours, server};

/// Datagrams of a test.
const COUNT: u64 = 400;
/// So few are under way at once that all sockets have room for them.
const BATCH: u64 = 20;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("relay: ten milliseconds and one percent", &[], echo),
        Case::new("relay: what is delayed is held, and the rest overtakes it", &[], held),
        Case::new("relay: a lossy test", &[], lossy),
        Case::new("relay: a stream is whole", &[], stream),
        Case::new("relay: a peer that is slow holds back the other", &[], slow).computes(),
    ]
}

fn relay(to: u16, more: &[&str]) -> Result<(Running, u16), String> {
    let mut command = ours("net");
    command.args(["relay", "--to", &format!("127.0.0.1:{to}")]).args(more);
    let mut process = Process::new(command).launch()?;
    let said = heard(&mut process, "the relay's place", |text| text.contains(" to 127.0.0.1"))?;
    let port = said.split("127.0.0.1:").nth(1).and_then(|rest| rest.split_whitespace().next());
    let port = port.and_then(|port| port.parse().ok()).ok_or(format!("no port: {said}"))?;
    Ok((process, port))
}

/// Ends a relay, which tells what became of everything.
fn interrupted(process: Running) -> Result<ProgramOutput, String> {
    process.signal(libc::SIGINT);
    let said = process.outcome()?;
    if said.code() == 0 { Ok(said) } else { Err(said.to_string()) }
}

/// How many of so many datagrams survive both ways, by the same draw.
fn survivors(impairment: Impairment, count: u64) -> usize {
    let (mut there, mut back) = (Path::new(impairment, 0), Path::new(impairment, 1));
    let arrive = (0..count).filter(|_| there.datagram(0, 1) != Fate::Never).count();
    (0..arrive).filter(|_| back.datagram(0, 1) != Fate::Never).count()
}

/// A socket that sends to a port, and does not block.
fn near(port: u16) -> std::io::Result<UdpSocket> {
    let near = UdpSocket::bind("127.0.0.1:0")?;
    near.connect(("127.0.0.1", port))?;
    near.set_nonblocking(true)?;
    Ok(near)
}

/// Somebody who sends everything back.
fn echoing(far: UdpSocket) {
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while let Ok((length, from)) = far.recv_from(&mut bytes) {
            let _ = far.send_to(&bytes[..length], from);
        }
    });
}

/// As many come back as the draw lets through, and the relay tells the same.
fn echo() -> Outcome {
    let far = UdpSocket::bind("127.0.0.1:0")?;
    let line = ["--udp", "--delay", "10ms", "--loss", "1%", "--seed", "5"];
    let (process, port) = relay(far.local_addr()?.port(), &line)?;
    echoing(far);
    let near = near(port)?;
    let impairment = Impairment { delay_ns: 10_000_000, loss_percent: 1.0, seed: 5, ..Impairment::default() };
    let mut came = 0;
    for batch in 1..=COUNT / BATCH {
        (0..BATCH).try_for_each(|_| near.send(&[7]).map(drop))?;
        let expected = survivors(impairment, batch * BATCH);
        let all = || {
            came += std::iter::from_fn(|| near.recv(&mut [0; 64]).ok()).count();
            came >= expected
        };
        wait::until("what the draw lets through", all)
            .map_err(|why| format!("{why}: {came} of {expected}"))?;
    }
    let said = interrupted(process)?.all();
    let mut there = Path::new(impairment, 0);
    let lost = (0..COUNT).filter(|_| there.datagram(0, 1) == Fate::Never).count();
    let told = format!("came in {COUNT} datagrams, {lost} lost");
    let surplus = near.recv(&mut [0; 64]).is_ok() || came != survivors(impairment, COUNT);
    match said.contains("udp to the server: ") && said.contains(&told) && !surplus {
        true => Ok(()),
        false => Err(format!("{came} came: {said}").into()),
    }
}

/// Held for an hour are all but those that are not delayed: only these arrive, in their order.
fn held() -> Outcome {
    let far = UdpSocket::bind("127.0.0.1:0")?;
    far.set_nonblocking(true)?;
    let line = ["--udp", "--delay", "1h", "--reorder", "30%", "--seed", "3"];
    let (process, port) = relay(far.local_addr()?.port(), &line)?;
    let hour = 3_600_000_000_000;
    let mut path =
        Path::new(Impairment { delay_ns: hour, reorder_percent: 30.0, seed: 3, ..Impairment::default() }, 0);
    let expected: Vec<u8> = (0..40).filter(|_| path.datagram(0, 1) == Fate::Once(0)).collect();
    // The last one that is sent overtakes all that are held, and so ends the test.
    let last = expected.last().copied().ok_or("nothing overtakes")?;
    let near = near(port)?;
    (0..=last).try_for_each(|number| near.send(&[number]).map(drop))?;
    let mut came = Vec::new();
    wait::until("the last that overtakes", || {
        let mut room = [0; 64];
        came.extend(std::iter::from_fn(|| far.recv(&mut room).ok().map(|_| room[0])));
        came.contains(&last)
    })?;
    let said = interrupted(process)?.all();
    let told = format!("in {} datagrams, 0 lost", u32::from(last) + 1);
    let overtook = format!("{} overtook", expected.len());
    match came == expected && said.contains(&told) && said.contains(&overtook) {
        true => Ok(()),
        false => Err(format!("{came:?} instead of {expected:?}: {said}").into()),
    }
}

/// The numbers before a word and after another one.
fn number(text: &str, behind: &str, before: &str) -> Option<u64> {
    text.split(behind).nth(1)?.split(before).next()?.trim().parse().ok()
}

/// What a server misses is what the relay has lost; other datagrams may be lost to a busy machine besides.
fn lossy() -> Outcome {
    let port = free_port()?;
    let _listener = server(Program::Ours, port, &["-u"])?;
    let (process, through) = relay(port, &["--udp", "--loss", "5%", "--seed", "2"])?;
    let (status, said) = client(Program::Ours, through, &["-u", "-n", "500K", "-b", "2m", "-l", "200"])?;
    let missed = said.lines().last().and_then(|line| line.split_whitespace().rev().nth(1)?.split_once('/'));
    let missed = missed.and_then(|(lost, all)| Some((lost.parse::<u64>().ok()?, all.parse::<u64>().ok()?)));
    let (missed, all) = missed.ok_or(format!("status {status}, no report: {said}"))?;
    let told = interrupted(process)?.all();
    let line = told.lines().find(|line| line.contains("udp to the server")).unwrap_or_default();
    let came = number(line, " came in ", " datagrams").ok_or_else(|| told.clone())?;
    let lost = number(line, " datagrams, ", " lost").ok_or_else(|| told.clone())?;
    let mut path = Path::new(Impairment { loss_percent: 5.0, seed: 2, ..Impairment::default() }, 0);
    let drawn = (0..came).filter(|_| path.datagram(0, 200) == Fate::Never).count() as u64;
    // The server counts up to the last datagram, of which some more may have come and been lost.
    let farewells = came.saturating_sub(all);
    match all >= 2560 && lost == drawn && lost > 0 && missed + farewells >= lost {
        true => Ok(()),
        false => {
            Err(format!("{missed} of {all} missed, {lost} of {came} lost, {drawn} drawn: {said}{told}")
                .into())
        }
    }
}

/// Whether a connection's other end has no room and its own end asks whether it has again, by the own end's and the
/// peer's port. Source: `/proc/net/tcp`, whose timer 4 is that of a closed window.
fn is_held_back(own: u16, peer: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    table.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() > 5
            && words[1].ends_with(&format!(":{own:04X}"))
            && words[2].ends_with(&format!(":{peer:04X}"))
            && words[5].starts_with("04:")
    })
}

/// The most memory that a process has had, bytes. Source: proc(5).
fn most_memory(process: i32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok()? << 10)
}

/// More comes than the relay would keep for a peer that does not read yet; all of it arrives in the end.
fn slow() -> Outcome {
    const BYTES: usize = 160 << 20;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (process, through) = relay(listener.local_addr()?.port(), &["--tcp"])?;
    let near = TcpStream::connect(("127.0.0.1", through))?;
    let near_port = near.local_addr()?.port();
    let sent = Arc::new(AtomicUsize::new(0));
    let sender = std::thread::spawn(sending(near, sent.clone(), BYTES));
    let (mut far, relays) = listener.accept()?;
    let own = listener.local_addr()?.port();
    // Nobody reads: the relay is held back by its peer, and holds back the sender.
    wait::until("a relay that holds back", || {
        is_held_back(relays.port(), own) && is_held_back(near_port, through)
    })?;
    let taken = sent.load(Ordering::Relaxed);
    let (mut room, mut came) = (vec![0; 1 << 16], 0);
    loop {
        match far.read(&mut room)? {
            0 => break,
            bytes => came += bytes,
        }
    }
    sender.join().map_err(|_| "the sender panicked")??;
    let most = most_memory(process.pid()).ok_or("no memory is told")?;
    match came == BYTES && taken < BYTES && most < BYTES / 2 {
        true => Ok(()),
        false => {
            Err(format!("{came} of {BYTES} came, {taken} taken before anybody read, {most} of memory").into())
        }
    }
}

/// Writes so many bytes, and counts them.
fn sending(
    mut near: TcpStream,
    sent: Arc<AtomicUsize>,
    bytes: usize,
) -> impl FnOnce() -> std::io::Result<()> {
    move || {
        let block = [7_u8; 1 << 16];
        for _ in 0..bytes / block.len() {
            near.write_all(&block)?;
            sent.fetch_add(block.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}

fn stream() -> Outcome {
    let port = free_port()?;
    let mut listener = server(Program::Ours, port, &[])?;
    let (_relay, through) = relay(port, &["--tcp", "--delay", "5ms", "--jitter", "2ms"])?;
    let (status, said) = client(Program::Ours, through, &["-n", "3M"])?;
    let theirs = heard(&mut listener, "3 MiB at the server", |text| text.contains("3.00 MBytes"))
        .map_err(|why| format!("{why}\nclient: {said}"))?;
    if status != 0 || !said.contains("3.00 MBytes") {
        return Err(format!("status {status}: {said}\n{theirs}").into());
    }
    Ok(())
}
