//! iodyno, the door.
fn main() {}
