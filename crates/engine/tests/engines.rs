//! Every engine equals `call`.
fn main() {}
