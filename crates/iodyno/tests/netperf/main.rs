//! netperf and netserver as programs: ours against ours, and against the real ones in both roles, over loopback.
//!
//! The real ones are run as they are installed; where they are not, their cases are counted as skipped. Ports are free
//! ones, and no speed is asked of anybody: only that the tables have their form and their counts agree.

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Output, Stdio};
    use std::time::{Duration, Instant};

    use testbed::{Case, Need, Outcome, free_port};

    const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");
    /// Longer than any test takes on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(60);
    /// The tests that both sides know, and how their last lines look: how many words.
    const TESTS: &[(&str, usize)] = &[
        ("TCP_STREAM", 5),
        ("TCP_MAERTS", 5),
        ("TCP_SENDFILE", 5),
        ("UDP_STREAM", 4),
        ("TCP_RR", 2),
        ("UDP_RR", 2),
        ("TCP_CRR", 2),
        ("TCP_CC", 2),
    ];

    /// A netserver that ends with the test.
    struct Server {
        child: Child,
        port: u16,
    }

    impl Drop for Server {
        fn drop(&mut self) {
            // It may have ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    impl Server {
        fn start(program: &str, first: &[&str], more: &[&str]) -> Result<Server, Box<dyn std::error::Error>> {
            let port = free_port()?;
            let number = port.to_string();
            let mut command = Command::new(program);
            command.args(first).args(["-D", "-4", "-L", "127.0.0.1", "-p", &number]).args(more);
            let mut child =
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
            let mut line = String::new();
            if program == IODYNO {
                let out = child.stdout.take().ok_or("no standard output")?;
                BufReader::new(out).read_line(&mut line)?;
            }
            let server = Server { child, port };
            let until = Instant::now() + PATIENCE;
            // The real one says nothing in time; its port is in the system's table of listeners.
            while program != IODYNO && !listens(port)? {
                if Instant::now() > until {
                    return Err("netserver does not listen".into());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(server)
        }

        fn ours() -> Result<Server, Box<dyn std::error::Error>> {
            Server::start(IODYNO, &["netserver"], &[])
        }

        fn real() -> Result<Server, Box<dyn std::error::Error>> {
            Server::start("netserver", &[], &[])
        }

        fn run(&self, program: &[&str], line: &str) -> Result<Output, Box<dyn std::error::Error>> {
            let port = self.port.to_string();
            let words: Vec<&str> = line.split_whitespace().collect();
            let mut command = Command::new(program[0]);
            command.args(&program[1..]).args(["-H", "127.0.0.1", "-p", &port]).args(words);
            Ok(command.stdin(Stdio::null()).env("IODYNO_FINDINGS", "0").output()?)
        }
    }

    /// Whether somebody listens at a port of IPv4.
    fn listens(port: u16) -> std::io::Result<bool> {
        let table = std::fs::read_to_string("/proc/net/tcp")?;
        Ok(table.lines().any(|line| line.contains(&format!(":{port:04X} 00000000:0000 0A"))))
    }

    const OURS: &[&str] = &[IODYNO, "netperf"];
    const REAL: &[&str] = &["netperf"];

    /// The output of a test that must succeed.
    fn succeed(server: &Server, program: &[&str], line: &str) -> Result<String, Box<dyn std::error::Error>> {
        let output = server.run(program, line)?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match output.status.success() {
            true => Ok(out.into_owned()),
            false => Err(format!("{line}: {}\n{out}\n{err}", output.status).into()),
        }
    }

    /// The value of a selector.
    fn value(text: &str, name: &str) -> Result<f64, Box<dyn std::error::Error>> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        Ok(line.ok_or_else(|| format!("no {name} in {text}"))?.parse()?)
    }

    /// The lines with every number as `#`, which is what two runs have in common.
    fn shape(text: &str) -> String {
        let mask = |part: &str| {
            let (number, mark) = part.split_at(part.trim_end_matches([',', '=', ' ']).len());
            if number.parse::<f64>().is_ok() { format!("#{}", mark.trim()) } else { part.trim().to_string() }
        };
        let parts = |line: &str| line.split_inclusive([',', '=', ' ']).map(mask).collect::<Vec<_>>();
        let words = |line: &str| {
            parts(line).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        text.replace(" : histogram", "").lines().map(|line| words(line) + "\n").collect()
    }

    /// Every test, by one client, against one server.
    fn matrix(server: &Server, client: &[&str], expected: Option<&[&str]>) -> Outcome {
        for (test, words) in TESTS {
            let line = format!("-t {test} -l 1");
            let text = succeed(server, client, &line)?;
            let last = text.trim_end().lines().last().unwrap_or("");
            if last.split_whitespace().count() != *words {
                return Err(format!("{test}: {text}").into());
            }
            if let Some(other) = expected {
                let theirs = succeed(server, other, &line)?;
                if shape(&text) != shape(&theirs) {
                    return Err(format!("{test}: ours\n{text}theirs\n{theirs}").into());
                }
            }
        }
        Ok(())
    }

    fn ours_against_ours() -> Outcome {
        matrix(&Server::ours()?, OURS, None)
    }

    fn real_client() -> Outcome {
        let server = Server::ours()?;
        matrix(&server, REAL, None)?;
        let text = succeed(&server, REAL, "-t TCP_RR -l 1 -c -C -- -k REMOTE_CPU_METHOD,TRANSACTION_RATE")?;
        if !text.contains("REMOTE_CPU_METHOD=S") || value(&text, "TRANSACTION_RATE")? <= 0.0 {
            return Err(text.into());
        }
        Ok(())
    }

    fn real_server() -> Outcome {
        let server = Server::real()?;
        for (test, words) in TESTS {
            // The real one waits four seconds after these, which is shown once.
            let line = if matches!(*test, "TCP_CRR" | "TCP_CC") { "-l -200" } else { "-l 1" };
            let text = succeed(&server, OURS, &format!("-t {test} {line}"))?;
            let last = text.trim_end().lines().last().unwrap_or("");
            if last.split_whitespace().count() != *words {
                return Err(format!("{test}: {text}").into());
            }
        }
        Ok(())
    }

    /// The same line to the same server: the same table but for its numbers.
    fn tables() -> Outcome {
        let server = Server::ours()?;
        let lines = [
            "-t TCP_STREAM -l 1",
            "-t TCP_MAERTS -l 1 -c -C",
            "-t TCP_RR -l 1 -c -C",
            "-t TCP_RR -l 1 -P 0",
            "-t UDP_STREAM -l 1 -v 0",
            "-t TCP_STREAM -l 1 -f M -P 0 -v 0",
            "-t TCP_RR -l 1 -- -k",
            "-t TCP_RR -l 1 -- -O throughput,throughput_units",
            "-t TCP_STREAM -l 1 -- -o LSS_SIZE_REQ,LSS_SIZE,LOCAL_SEND_SIZE,SOCKET_TYPE,PROTOCOL,DIRECTION",
        ];
        for line in lines {
            let (ours, theirs) = (succeed(&server, OURS, line)?, succeed(&server, REAL, line)?);
            if shape(&ours) != shape(&theirs) {
                return Err(format!("{line}: ours\n{ours}theirs\n{theirs}").into());
            }
        }
        Ok(())
    }

    /// Both ends count the same, and exactly what was asked for.
    fn counts() -> Outcome {
        let server = Server::ours()?;
        let names = "LOCAL_SEND_CALLS,REMOTE_SEND_CALLS,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,MIN_LATENCY,P99_LATENCY,\
                     MAX_LATENCY";
        let text = succeed(&server, OURS, &format!("-t TCP_RR -l -1000 -- -r 100,300 -b 3 -k {names}"))?;
        if value(&text, "LOCAL_SEND_CALLS")? != 1000.0 || value(&text, "REMOTE_SEND_CALLS")? != 1000.0 {
            return Err(text.into());
        }
        let (least, high, most) =
            (value(&text, "MIN_LATENCY")?, value(&text, "P99_LATENCY")?, value(&text, "MAX_LATENCY")?);
        if !(least <= high && high <= most) {
            return Err(text.into());
        }
        let text = succeed(&server, OURS, &format!("-t TCP_STREAM -l -1000000 -- -k {names}"))?;
        let (sent, came) = (value(&text, "LOCAL_BYTES_SENT")?, value(&text, "REMOTE_BYTES_RECVD")?);
        if sent != came || sent < 1e6 {
            return Err(text.into());
        }
        Ok(())
    }

    /// The time after a test of connections, which the real netserver makes four seconds, is short.
    fn no_wasted_seconds() -> Outcome {
        let server = Server::ours()?;
        let mut least = f64::INFINITY;
        // What is built into the original is there every time; what others take from us is not.
        for _ in 0..5 {
            let began = Instant::now();
            let text = succeed(&server, OURS, "-t TCP_CRR -l 1 -- -k ELAPSED_TIME")?;
            least = least.min(began.elapsed().as_secs_f64() - value(&text, "ELAPSED_TIME")?);
            if least < 3.5 {
                return Ok(());
            }
        }
        Err(format!("at least {least} s beyond the test, five times").into())
    }

    fn interim_results() -> Outcome {
        let server = Server::ours()?;
        let text = succeed(&server, OURS, "-t TCP_STREAM -l 4 -D 0.5 -P 0")?;
        let told = text.lines().filter(|line| line.starts_with("Interim result: ")).count();
        let text_of_names = succeed(&server, OURS, "-t TCP_RR -l 1 -D -0.2 -P 0 -- -k THROUGHPUT")?;
        match told >= 2 && text_of_names.contains("NETPERF_UNITS[0]=Trans/s\n") {
            true => Ok(()),
            false => Err(format!("{text}{text_of_names}").into()),
        }
    }

    /// One word opens, another does not; a stranger's bytes do not end the server.
    fn words_and_strangers() -> Outcome {
        use std::io::Write;
        let server = Server::start(IODYNO, &["netserver"], &["-Z", "secret"])?;
        for garbage in [vec![0xffu8; 656], vec![0u8; 656 * 3], b"GET / HTTP/1.1\r\n\r\n".to_vec()] {
            let mut stranger = std::net::TcpStream::connect(("127.0.0.1", server.port))?;
            stranger.write_all(&garbage)?;
        }
        if server.run(OURS, "-l 1 -Z wrong")?.status.success() || server.run(OURS, "-l 1")?.status.success() {
            return Err("a client without the word was served".into());
        }
        succeed(&server, OURS, "-l 1 -Z secret -t TCP_RR").map(drop)
    }

    fn many_at_once() -> Outcome {
        let server = Server::ours()?;
        let port = server.port.to_string();
        let start = || {
            let mut command = Command::new(IODYNO);
            command.args([
                "netperf",
                "-H",
                "127.0.0.1",
                "-p",
                &port,
                "-t",
                "TCP_RR",
                "-l",
                "1",
                "-P",
                "0",
                "-v",
                "0",
            ]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
        };
        let clients: Vec<Child> = (0..4).map(|_| start()).collect::<Result<_, _>>()?;
        for client in clients {
            let output = client.wait_with_output()?;
            let rate: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
            if rate <= 0.0 {
                return Err("a client without transactions".into());
            }
        }
        Ok(())
    }

    fn nobody_there() -> Outcome {
        let port = free_port()?.to_string();
        let output = Command::new(IODYNO).args(["netperf", "-H", "127.0.0.1", "-p", &port]).output()?;
        let err = String::from_utf8_lossy(&output.stderr);
        let said = err.contains("are you sure there is a netserver listening on 127.0.0.1 at port");
        if said && output.status.code() == Some(255) { Ok(()) } else { Err(err.into_owned().into()) }
    }

    /// A port that is taken is told to who starts a server in the background, with its status; others are asked for a
    /// priority of their sockets.
    fn taken_ports_and_priorities() -> Outcome {
        let server = Server::ours()?;
        let port = server.port.to_string();
        let second =
            Command::new(IODYNO).args(["netserver", "-4", "-L", "127.0.0.1", "-p", &port]).output()?;
        let said = String::from_utf8_lossy(&second.stderr).contains("Address already in use");
        if second.status.code() != Some(1) || !said {
            return Err(format!("{second:?}").into());
        }
        let names = "LOCAL_SOCKET_PRIO,REMOTE_SOCKET_PRIO";
        let text = succeed(&server, OURS, &format!("-t TCP_RR -l -10 -y 3,5 -- -k {names}"))?;
        if value(&text, "LOCAL_SOCKET_PRIO")? != 3.0 || value(&text, "REMOTE_SOCKET_PRIO")? != 5.0 {
            return Err(text.into());
        }
        // What has no end is not read to its end.
        succeed(&server, OURS, "-t TCP_STREAM -l -100000 -F /dev/urandom").map(drop)
    }

    pub fn cases() -> Vec<Case> {
        let real = [Need::Tool("netperf"), Need::Tool("netserver")];
        vec![
            Case::new("ours_against_ours", &[], ours_against_ours),
            Case::new("the_real_client", &real, real_client),
            Case::new("the_real_server", &real, real_server),
            Case::new("tables_are_alike", &real, tables),
            Case::new("counts_agree", &[], counts),
            Case::new("no_wasted_seconds", &[], no_wasted_seconds).alone(),
            Case::new("interim_results", &[], interim_results),
            Case::new("words_and_strangers", &[], words_and_strangers),
            Case::new("many_at_once", &[], many_at_once),
            Case::new("taken_ports_and_priorities", &[], taken_ports_and_priorities),
            Case::new("nobody_there", &[], nobody_there),
        ]
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run(linux::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
