//! The relay's known answers: what is asked for comes back as that.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use iodyno_dialect::net::relay::path::{Fate, Impairment, Path};
use testbed::{Case, Outcome, free_port};

use crate::peers::{Process, Program, client, ours, server};

/// Datagrams of a test.
const COUNT: u64 = 400;
/// What did not come so long is lost: others may have the processors.
const LATE_MS: u64 = 8000;

/// All of them.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("relay: ten milliseconds and one percent", &[], echo),
        Case::new("relay: a lossy test", &[], lossy),
        Case::new("relay: a stream is whole", &[], stream),
        Case::new("relay: a peer that is slow holds back the other", &[], slow),
    ]
}

fn relay(to: u16, more: &[&str]) -> Result<(Process, u16), String> {
    let mut command = ours("net");
    command.args(["relay", "--to", &format!("127.0.0.1:{to}")]).args(more);
    let mut process = Process::start(command)?;
    let said = process.says(" to 127.0.0.1")?;
    let port = said.split("127.0.0.1:").nth(1).and_then(|rest| rest.split_whitespace().next());
    let port = port.and_then(|port| port.parse().ok()).ok_or(format!("no port: {said}"))?;
    Ok((process, port))
}

/// How many of the datagrams survive both ways, by the same draw.
fn survivors(impairment: Impairment) -> usize {
    let (mut there, mut back) = (Path::new(impairment, 0), Path::new(impairment, 1));
    let arrive = (0..COUNT).filter(|_| there.datagram(0, 1) != Fate::Never).count();
    (0..arrive).filter(|_| back.datagram(0, 1) != Fate::Never).count()
}

fn echo() -> Outcome {
    let far = UdpSocket::bind("127.0.0.1:0")?;
    far.set_read_timeout(Some(Duration::from_secs(60)))?;
    let (mut process, port) =
        relay(far.local_addr()?.port(), &["--udp", "--delay", "10ms", "--loss", "1%", "--seed", "5"])?;
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while let Ok((length, from)) = far.recv_from(&mut bytes) {
            let _ = far.send_to(&bytes[..length], from);
        }
    });
    let near = UdpSocket::bind("127.0.0.1:0")?;
    near.connect(("127.0.0.1", port))?;
    near.set_read_timeout(Some(Duration::from_millis(LATE_MS)))?;
    let (mut came, mut least) = (0, Duration::MAX);
    for batch in 0..COUNT / 20 {
        let begun = Instant::now();
        (0..20_u8).try_for_each(|one| near.send(&[batch as u8, one]).map(drop))?;
        let mut bytes = [0; 64];
        near.set_read_timeout(Some(Duration::from_millis(LATE_MS)))?;
        while near.recv(&mut bytes).is_ok() {
            least = least.min(begun.elapsed());
            came += 1;
            // The last of a batch may be lost: no long wait for it.
            near.set_read_timeout(Some(Duration::from_millis(if bytes[1] == 19 { 1 } else { LATE_MS })))?;
        }
    }
    let impairment = Impairment { delay_ns: 10_000_000, loss_percent: 1.0, seed: 5, ..Impairment::default() };
    let expected = survivors(impairment);
    let said = process.said();
    if came != expected || least < Duration::from_millis(20) {
        let _ = process.says("relay");
        return Err(format!(
            "{came} of {COUNT} came ({expected} were to), the first after {least:?}: {said}"
        )
        .into());
    }
    let (status, said) = process.interrupt()?;
    if status != 0 || !said.contains("udp to the server: ") {
        return Err(format!("status {status}: {said}").into());
    }
    Ok(())
}

fn lossy() -> Outcome {
    let port = free_port()?;
    let _listener = server(Program::Ours, port, &["-u"])?;
    let (_relay, through) = relay(port, &["--udp", "--loss", "5%", "--seed", "2"])?;
    let (status, said) = client(Program::Ours, through, &["-u", "-n", "500K", "-b", "2m", "-l", "200"])?;
    let lost = said.lines().last().and_then(|line| line.split_whitespace().rev().nth(1)?.split_once('/'));
    let lost = lost.and_then(|(lost, all)| Some((lost.parse::<f64>().ok()?, all.parse::<f64>().ok()?)));
    let (lost, all) = lost.ok_or(format!("status {status}, no report: {said}"))?;
    let percent = lost / all * 100.0;
    // 2560 datagrams: three deviations are 1.3 %.
    if !(3.7..6.3).contains(&percent) {
        return Err(format!("{percent} % of {all}: {said}").into());
    }
    Ok(())
}

/// More comes than the relay would keep for a peer that does not read yet; all of it arrives in the end.
fn slow() -> Outcome {
    use std::io::{Read, Write};
    const BYTES: usize = 96 << 20;
    let far = std::net::TcpListener::bind("127.0.0.1:0")?;
    let (_relay, through) = relay(far.local_addr()?.port(), &["--tcp"])?;
    let sent = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let told = sent.clone();
    let sender = std::thread::spawn(move || -> std::io::Result<()> {
        let mut near = std::net::TcpStream::connect(("127.0.0.1", through))?;
        let block = [7_u8; 1 << 16];
        for _ in 0..BYTES / block.len() {
            near.write_all(&block)?;
            told.fetch_add(block.len(), std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    });
    let (mut far, _) = far.accept()?;
    // Until nothing more is taken: the relay holds what it holds, and the sender waits.
    let taken = || sent.load(std::sync::atomic::Ordering::Relaxed);
    let until = Instant::now() + Duration::from_secs(60);
    let mut last = usize::MAX;
    while taken() != last && Instant::now() < until {
        last = taken();
        std::thread::sleep(Duration::from_millis(1500));
    }
    far.set_read_timeout(Some(Duration::from_secs(60)))?;
    let (mut room, mut came) = (vec![0; 1 << 16], 0);
    loop {
        match far.read(&mut room)? {
            0 => break,
            bytes => came += bytes,
        }
    }
    sender.join().map_err(|_| "the sender panicked")??;
    match came == BYTES && last < BYTES {
        true => Ok(()),
        false => Err(format!("{came} of {BYTES} came; {last} were taken before anybody read").into()),
    }
}

fn stream() -> Outcome {
    let port = free_port()?;
    let mut listener = server(Program::Ours, port, &[])?;
    let (_relay, through) = relay(port, &["--tcp", "--delay", "5ms", "--jitter", "2ms"])?;
    let (status, said) = client(Program::Ours, through, &["-n", "3M"])?;
    let heard = listener.says("3.00 MBytes").map_err(|why| format!("{why}\nclient: {said}"))?;
    if status != 0 || !said.contains("3.00 MBytes") {
        return Err(format!("status {status}: {said}\n{heard}").into());
    }
    Ok(())
}
