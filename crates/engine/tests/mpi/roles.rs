//! What a rank does in each role. It fails by its exit code and a sentence; the first rank says what it has seen.

use iodyno_engine::clock;
use iodyno_engine::world::{Reduce, Topic, World};
use testbed::wait;

type Seen = Result<(), String>;

/// Plays a role and ends the process.
pub fn play(role: &str) -> ! {
    // No rank outlives who started it.
    // SAFETY: the call sets an attribute of this process and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut world = match World::find() {
        Ok(world) => world,
        Err(failure) => {
            println!("cannot: {}; hint: {}", failure.message, failure.hint.unwrap_or_default());
            std::process::exit(7);
        }
    };
    let played = match role {
        "together" => together(&world),
        "mail" => mail(&world),
        "clocks" => clocks(&mut world),
        "facts" => facts(&world),
        "abort" => abort(&world),
        "die" => die(&world),
        "crowd" => crowd(&world),
        other => Err(format!("nobody plays {other}")),
    };
    if let Err(wrong) = played {
        println!("rank {} of {}: {wrong}", world.rank(), world.size());
        std::process::exit(1);
    }
    world.leave();
    std::process::exit(0);
}

/// Patience without an end: who hangs is given up by the test that started this.
fn ever() -> impl FnMut() -> bool {
    || true
}

/// Patience for so many looks.
fn looks(count: u32) -> impl FnMut() -> bool {
    let mut left = count;
    move || {
        left = left.saturating_sub(1);
        left > 0
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, seen: T, expected: T) -> Seen {
    if seen == expected { Ok(()) } else { Err(format!("{what}: {seen:?} instead of {expected:?}")) }
}

fn broken<T>(result: Result<T, iodyno_engine::world::BrokenWorld>) -> Result<T, String> {
    result.map_err(|broken| broken.0)
}

/// Bytes that tell whose they are and where they stand.
fn bytes(rank: u32, length: usize) -> Vec<u8> {
    (0..length).map(|place| (place as u32).wrapping_mul(31).wrapping_add(rank * 7 + 1) as u8).collect()
}

fn together(world: &World) -> Seen {
    let (rank, size) = (world.rank(), world.size());
    let patience = &mut ever();
    for _ in 0..20 {
        broken(world.barrier(patience))?;
    }
    for length in [0, 1, 1000, 8 << 20] {
        let own = if rank == 0 { bytes(0, length) } else { vec![9; 3] };
        let heard = broken(world.broadcast(own, patience))?;
        same("length that was broadcast", heard.len(), length)?;
        if heard != bytes(0, length) {
            return Err(format!("a broadcast of {length} bytes arrives otherwise"));
        }
    }
    for lengths in [[0, 0, 0], [5, 0, 8 << 20], [8 << 20, 3, 0], [1, 100_000, 77]] {
        let length = |rank: u32| lengths[rank as usize % 3];
        let gathered = broken(world.gather(bytes(rank, length(rank)), patience))?;
        let expected =
            if rank == 0 { (0..size).map(|rank| bytes(rank, length(rank))).collect() } else { vec![] };
        if gathered != expected {
            let seen: Vec<usize> = gathered.iter().map(Vec::len).collect();
            return Err(format!("gathered {seen:?} of {lengths:?}"));
        }
    }
    let own = vec![u64::from(rank) + 1, u64::MAX - u64::from(rank), 7];
    let sum: u64 = (1..=u64::from(size)).sum();
    same("sum", broken(world.reduce(Reduce::Sum, vec![own[0]], patience))?, vec![sum])?;
    let least = vec![1, u64::MAX - u64::from(size) + 1, 7];
    same("least", broken(world.reduce(Reduce::Least, own.clone(), patience))?, least)?;
    same("most", broken(world.reduce(Reduce::Most, own, patience))?, vec![u64::from(size), u64::MAX, 7])?;
    begun(world)
}

/// Two reductions at once, with a barrier between their beginning and their end.
fn begun(world: &World) -> Seen {
    let mut first = broken(world.begin(Reduce::Sum, vec![1]))?;
    let mut second = broken(world.begin(Reduce::Most, vec![u64::from(world.rank())]))?;
    broken(world.barrier(&mut ever()))?;
    let mut results = (None, None);
    while results.0.is_none() || results.1.is_none() {
        results.0 = results.0.or(broken(world.poll(&mut first))?);
        results.1 = results.1.or(broken(world.poll(&mut second))?);
    }
    same("first of two", results.0, Some(vec![u64::from(world.size())]))?;
    same("second of two", results.1, Some(vec![u64::from(world.size()) - 1]))
}

/// Every rank sends to every other on two topics; each topic arrives in order, also what is large.
fn mail(world: &World) -> Seen {
    const EACH: u32 = 40;
    let (rank, size) = (world.rank(), world.size());
    let length = |number: u32| if number == 13 { 3 << 20 } else { number as usize * 50 };
    for number in 0..EACH {
        for to in (0..size).filter(|to| *to != rank) {
            let message = [number.to_le_bytes().to_vec(), bytes(rank, length(number))].concat();
            world.send(to, Topic::Event, message);
            world.send(to, Topic::Progress, number.to_le_bytes().to_vec());
        }
    }
    for topic in [Topic::Progress, Topic::Event] {
        let mut next = vec![0; size as usize];
        while next.iter().enumerate().any(|(from, next)| from as u32 != rank && *next < EACH) {
            let received = wait::for_some("mail", || world.receive(topic));
            let (from, message) = received.map_err(|_| format!("of {topic:?} only {next:?} have arrived"))?;
            let number = u32::from_le_bytes(message[..4].try_into().map_err(|_| "short")?);
            same("order", number, next[from as usize])?;
            next[from as usize] += 1;
            if topic == Topic::Event && message[4..] != bytes(from, length(number)) {
                return Err(format!("message {number} of rank {from} arrives otherwise"));
            }
        }
    }
    same("nothing of a topic nobody used", world.receive(Topic::Stop), None)
}

/// Says how far each rank's clock is from the first one's, and by how much that may be wrong.
fn clocks(world: &mut World) -> Seen {
    clock::calibrate();
    broken(world.compare_clocks(&mut ever()))?;
    let now = 1 << 60;
    let ahead = world.mine(now) as i64 - now as i64;
    let gathered = broken(world.gather(ahead.to_le_bytes().to_vec(), &mut ever()))?;
    for (rank, bytes) in gathered.iter().enumerate() {
        let ahead = i64::from_le_bytes(bytes[..].try_into().map_err(|_| "short")?);
        println!("clock {rank} {ahead} {}", world.facts().clock_error_ns);
    }
    Ok(())
}

fn facts(world: &World) -> Seen {
    let facts = world.facts();
    println!(
        "facts {} of {} place {} hosts {} nodes {:?} library {}",
        world.rank(),
        world.size(),
        world.place_on_node(),
        facts.hosts.join(","),
        facts.nodes,
        facts.library.as_deref().unwrap_or("none")
    );
    Ok(())
}

/// The last rank ends everybody while the others wait.
fn abort(world: &World) -> Seen {
    if world.rank() + 1 == world.size() {
        world.abort(3);
    }
    broken(world.barrier(&mut ever()))
}

/// How often who has lost a rank looks for it.
const SHORT: u32 = 4000;

/// The second rank is killed while the others wait, whose patience is short.
fn die(world: &World) -> Seen {
    broken(world.barrier(&mut ever()))?;
    if world.rank() == 1 {
        // SAFETY: the signal goes to this process itself.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    let result = world.barrier(&mut looks(SHORT));
    let again = world.gather(vec![1], &mut looks(SHORT));
    println!("survivor {}: {result:?}, then {again:?}", world.rank());
    Err("lost a rank".into())
}

/// What waiting has cost this process: how often it has left a processor by itself, how often it was thrown off one, and
/// its processor time, µs.
fn costs() -> [u64; 3] {
    // SAFETY: the structure is plain memory, valid for writing.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    [usage.ru_nvcsw as u64, usage.ru_nivcsw as u64, micros(usage.ru_utime) + micros(usage.ru_stime)]
}

/// How often a process has left a processor, by itself or not. Source: proc(5).
fn switches(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let counts = status.lines().filter(|line| line.contains("voluntary_ctxt_switches:"));
    counts.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

/// How often each of a crowd has looked when it has waited long enough.
const LOOKS: u64 = 200;

/// Many ranks wait for the first one, until each has looked often enough: what does that cost?
fn crowd(world: &World) -> Seen {
    let patience = &mut ever();
    for _ in 0..10 {
        broken(world.barrier(patience))?;
    }
    let before = costs();
    let gathered = broken(world.gather(std::process::id().to_le_bytes().to_vec(), patience))?;
    if world.is_first() {
        let number = |bytes: &Vec<u8>| u32::from_le_bytes(bytes[..].try_into().unwrap_or_default());
        let others: Vec<u32> = gathered.iter().skip(1).map(number).collect();
        let then: Vec<u64> = others.iter().map(|process| switches(*process)).collect();
        let mut left = others.iter().zip(then).peekable();
        wait::until("a crowd that has waited", || {
            while left.next_if(|(process, then)| switches(**process) >= then + LOOKS).is_some() {}
            left.peek().is_none()
        })?;
    }
    broken(world.barrier(patience))?;
    let after = costs();
    let cost: Vec<u8> = (0..3).flat_map(|of| (after[of] - before[of]).to_le_bytes()).collect();
    let gathered = broken(world.gather(cost, patience))?;
    if world.is_first() {
        let sum = |of: usize| {
            let number =
                |bytes: &Vec<u8>| u64::from_le_bytes(bytes[of * 8..][..8].try_into().unwrap_or_default());
            // The first one has looked at files meanwhile.
            gathered.iter().skip(1).map(number).sum::<u64>()
        };
        println!("crowd {} {} {} {}", gathered.len(), sum(0), sum(1), sum(2));
    }
    Ok(())
}
