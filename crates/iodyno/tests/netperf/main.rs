//! netperf and netserver as programs: ours against ours, and against the real ones in both roles, over loopback.
//!
//! The real ones are run as they are installed; where they are not, their cases are counted as skipped. No speed is asked
//! of anybody, and no time: only that the tables have their form and their counts agree. That a test of connections ends
//! without the original's four seconds is proven where time is virtual, in the dialect's own tests.

#[cfg(target_os = "linux")]
mod linux {
    use std::process::Command;

    use testbed::program::{Program, ProgramOutput, Running};
    use testbed::{Case, Need, Outcome, free_port, wait};

    const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");
    /// The tests that both sides know, how many words their last lines have, and how much of them we do with ourselves.
    const TESTS: &[(&str, usize, &str)] = &[
        ("TCP_STREAM", 5, "-l 1"),
        ("TCP_MAERTS", 5, "-l -5000000"),
        ("TCP_SENDFILE", 5, "-l -5000000"),
        ("UDP_STREAM", 4, "-l 1"),
        ("TCP_RR", 2, "-l -200"),
        ("UDP_RR", 2, "-l -200"),
        ("TCP_CRR", 2, "-l 1"),
        ("TCP_CC", 2, "-l -200"),
    ];

    /// A netserver that ends with the test.
    struct Server {
        _running: Running,
        port: u16,
    }

    impl Server {
        fn start(program: &str, first: &[&str], more: &[&str]) -> Result<Server, Box<dyn std::error::Error>> {
            let port = free_port()?;
            let mut command = Command::new(program);
            command.args(first).args(["-D", "-4", "-L", "127.0.0.1", "-p", &port.to_string()]).args(more);
            let mut running = Program::new(command).launch()?;
            // The real one says nothing in time; its port is in the system's table of listeners.
            let is_up = |running: &Running| match program {
                IODYNO => running.out().contains('\n'),
                _ => listens(port),
            };
            wait::until("a netserver", || is_up(&running) || !running.is_there())?;
            match is_up(&running) {
                true => Ok(Server { _running: running, port }),
                false => Err(format!("netserver does not listen: {}", running.outcome()?).into()),
            }
        }

        fn ours() -> Result<Server, Box<dyn std::error::Error>> {
            Server::start(IODYNO, &["netserver"], &[])
        }

        fn real() -> Result<Server, Box<dyn std::error::Error>> {
            Server::start("netserver", &[], &[])
        }

        fn run(&self, program: &[&str], line: &str) -> Result<ProgramOutput, String> {
            let port = self.port.to_string();
            let words: Vec<&str> = line.split_whitespace().collect();
            let mut command = Command::new(program[0]);
            command.args(&program[1..]).args(["-H", "127.0.0.1", "-p", &port]).args(words);
            command.env("IODYNO_FINDINGS", "0");
            Program::new(command).outcome()
        }
    }

    /// Whether somebody listens at a port of IPv4.
    fn listens(port: u16) -> bool {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        table.lines().any(|line| line.contains(&format!(":{port:04X} 00000000:0000 0A")))
    }

    const OURS: &[&str] = &[IODYNO, "netperf"];
    const REAL: &[&str] = &["netperf"];

    /// The output of a test that must succeed.
    fn succeed(server: &Server, program: &[&str], line: &str) -> Result<String, Box<dyn std::error::Error>> {
        let said = server.run(program, line)?;
        match said.status.success() {
            true => Ok(said.out),
            false => Err(format!("{line}: {said}").into()),
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

    /// One test: its last line has so many words.
    fn told(server: &Server, client: &[&str], test: &str, words: usize, length: &str) -> Outcome {
        let text = succeed(server, client, &format!("-t {test} {length}"))?;
        let last = text.trim_end().lines().last().unwrap_or("");
        match last.split_whitespace().count() == words {
            true => Ok(()),
            false => Err(format!("{test}: {text}").into()),
        }
    }

    fn ours_against_ours() -> Outcome {
        let server = Server::ours()?;
        TESTS.iter().try_for_each(|(test, words, length)| told(&server, OURS, test, *words, length))
    }

    fn real_client() -> Outcome {
        let server = Server::ours()?;
        TESTS.iter().try_for_each(|(test, words, _)| told(&server, REAL, test, *words, "-l 1"))?;
        let text = succeed(&server, REAL, "-t TCP_RR -l 1 -c -C -- -k REMOTE_CPU_METHOD,TRANSACTION_RATE")?;
        if !text.contains("REMOTE_CPU_METHOD=S") || value(&text, "TRANSACTION_RATE")? <= 0.0 {
            return Err(text.into());
        }
        Ok(())
    }

    fn real_server() -> Outcome {
        let server = Server::real()?;
        TESTS.iter().try_for_each(|(test, words, _)| {
            // The real one waits four seconds after these when they are timed.
            let length = if matches!(*test, "TCP_CRR" | "TCP_CC") { "-l -200" } else { "-l 1" };
            told(&server, OURS, test, *words, length)
        })
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

    fn interim_results() -> Outcome {
        let server = Server::ours()?;
        let text = succeed(&server, OURS, "-t TCP_STREAM -l 2 -D 0.2 -P 0")?;
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
        let served = |line: &str| server.run(OURS, line).map(|said| said.status.success());
        if served("-l 1 -Z wrong")? || served("-l 1")? {
            return Err("a client without the word was served".into());
        }
        succeed(&server, OURS, "-l -100 -Z secret -t TCP_RR").map(drop)
    }

    fn many_at_once() -> Outcome {
        let server = Server::ours()?;
        let port = server.port.to_string();
        let line =
            ["netperf", "-H", "127.0.0.1", "-p", &port, "-t", "TCP_RR", "-l", "1", "-P", "0", "-v", "0"];
        let clients: Vec<Running> =
            (0..4).map(|_| Program::of(IODYNO, line).launch()).collect::<Result<_, _>>()?;
        for client in clients {
            let rate: f64 = client.outcome()?.out.trim().parse()?;
            if rate <= 0.0 {
                return Err("a client without transactions".into());
            }
        }
        Ok(())
    }

    /// Datagrams that find a small buffer full: the client warns before it sends, and both say where they were lost.
    fn small_buffer() -> Outcome {
        let port = free_port()?;
        let mut command = Command::new(IODYNO);
        command.args(["netserver", "-D", "-4", "-L", "127.0.0.1", "-p", &port.to_string()]);
        command.env("IODYNO_FINDINGS", "1");
        let mut running = Program::new(command).launch()?;
        wait::until("a netserver", || running.out().contains('\n') || !running.is_there())?;
        let mut client = Command::new(IODYNO);
        client.args(["netperf", "-H", "127.0.0.1", "-p", &port.to_string(), "-t", "UDP_STREAM", "-l", "1"]);
        client.args(["--", "-s", "1M", "-S", "4K", "-m", "1400"]).env("IODYNO_FINDINGS", "1");
        let said = Program::new(client).outcome()?;
        if said.code() != 0
            || !said.err.contains("the receiver's buffer is of")
            || !said.err.contains("-S behind --")
        {
            return Err(said.to_string().into());
        }
        let counts =
            |line: &str| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = said.out.lines().map(counts).filter(|row| row.len() >= 4).collect();
        let [sent, came] = [rows[0][3], rows[1][2]];
        if came >= sent * 0.999 {
            return Err(format!("nothing to find was staged: {said}").into());
        }
        wait::until("the finding", || running.err().contains("[27]"))
            .map_err(|why| format!("{why}: {}{}", running.out(), running.err()))?;
        let named = |told: &str| {
            let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
            words.contains("[27]") && words.contains("found the receiver's buffer full")
        };
        match named(&running.err()) && named(&said.err) {
            true => Ok(()),
            false => Err(format!("{}{said}", running.err()).into()),
        }
    }

    /// What -F names goes out whole, two buffers of it in turn, as the original's do.
    fn files_go_out_whole() -> Outcome {
        let file = tempfile::NamedTempFile::new()?;
        let content: Vec<u8> = (0..3 << 18_u32).flat_map(u32::to_be_bytes).collect();
        std::fs::write(file.path(), &content)?;
        let place = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = place.local_addr()?.port();
        let sink = std::thread::spawn(move || {
            let mut came = Vec::new();
            let (mut stream, _) = place.accept()?;
            std::io::Read::read_to_end(&mut stream, &mut came).map(|_| came)
        });
        let ports = format!("0,{port}");
        let mut client = Command::new(IODYNO);
        client.args(["netperf", "-N", "-H", "127.0.0.1", "-t", "TCP_STREAM", "-l", "-8388608", "-F"]);
        client.arg(file.path()).args(["--", "-m", "2M", "-P", &ports]).env("IODYNO_FINDINGS", "0");
        let said = Program::new(client).outcome()?;
        let came = sink.join().map_err(|_| "the sink")??;
        let two: Vec<u8> = content.iter().chain(&content[..1 << 20]).copied().collect();
        match said.code() == 0 && came == [&two[..], &two[..]].concat() {
            true => Ok(()),
            false => Err(format!("{} bytes came: {said}", came.len()).into()),
        }
    }

    fn nobody_there() -> Outcome {
        let port = free_port()?.to_string();
        let told = Program::of(IODYNO, ["netperf", "-H", "127.0.0.1", "-p", &port]).outcome()?;
        let said = told.err.contains("are you sure there is a netserver listening on 127.0.0.1 at port");
        if !said || told.code() != 255 {
            return Err(told.to_string().into());
        }
        // Without a netserver a refused port is an error, too.
        let line =
            ["netperf", "-N", "-t", "TCP_CRR", "-H", "127.0.0.1", "-l", "1", "--", "-P", &format!(",{port}")];
        let told = Program::of(IODYNO, line).outcome()?;
        let said = told.err.contains("netperf: no connection to 127.0.0.1:");
        if said && told.code() == 1 { Ok(()) } else { Err(told.to_string().into()) }
    }

    /// A port that is taken is told to who starts a server in the background, with its status; others are asked for a
    /// priority of their sockets.
    fn taken_ports_and_priorities() -> Outcome {
        let server = Server::ours()?;
        let port = server.port.to_string();
        let second = Program::of(IODYNO, ["netserver", "-4", "-L", "127.0.0.1", "-p", &port]).outcome()?;
        if second.code() != 1 || !second.err.contains("Address already in use") {
            return Err(second.to_string().into());
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
            // At full speed for a second each, which keeps a processor busy.
            Case::new("ours_against_ours", &[], ours_against_ours).computes(),
            Case::new("the_real_client", &real, real_client).computes().against(),
            Case::new("the_real_server", &real, real_server).computes().against(),
            Case::new("tables_are_alike", &real, tables).computes().against(),
            Case::new("counts_agree", &[], counts),
            Case::new("interim_results", &[], interim_results).computes(),
            Case::new("words_and_strangers", &[], words_and_strangers),
            Case::new("many_at_once", &[], many_at_once).computes(),
            Case::new("taken_ports_and_priorities", &[], taken_ports_and_priorities),
            Case::new("a_buffer_that_is_too_small_is_named", &[], small_buffer).computes(),
            Case::new("files_go_out_whole", &[], files_go_out_whole),
            Case::new("nobody_there", &[], nobody_there),
        ]
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    testbed::run_waiting(linux::cases())
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    testbed::run(Vec::new())
}
