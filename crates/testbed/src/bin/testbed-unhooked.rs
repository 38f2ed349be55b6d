//! `testbed-unhooked`: a program that mounts a staged file system without the hook that would let it serve one.
//!
//! Why: such a program once started itself again and again. The tests run it to see that it is refused before anything
//! is started or made. It refuses to do anything else.

#[cfg(target_os = "linux")]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("device") => drop(testbed::fuse::Device::mount(testbed::fuse::Config::default())),
        Some("rogue") => drop(testbed::rogue::Rogue::mount(None)),
        _ => eprintln!("usage: testbed-unhooked device|rogue"),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("testbed-unhooked: needs Linux");
    std::process::exit(1);
}
